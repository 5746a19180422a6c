package trap

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"fettle/host"
)

// Options says how Run runs checks.
type Options struct {
	// Parallel is how many checks run at once; 0 takes a default.
	Parallel int
	// Limit, if set, replaces every trap's own limit.
	Limit time.Duration
	// Interval is how long sampled checks sample; they find it with Interval(ctx).
	Interval time.Duration
	// Network allows checks to talk to other hosts; they ask MayTalk(ctx).
	Network bool
}

// defaultParallel is more than the cores: checks wait for files and commands
// more than they compute.
const defaultParallel = 8

type intervalKey struct{}

// Interval is the sampling interval that the user asked for (check --sample);
// zero outside a sampled run.
func Interval(ctx context.Context) time.Duration {
	d, _ := ctx.Value(intervalKey{}).(time.Duration)
	return d
}

type networkKey struct{}

// MayTalk tells whether the user allowed talking to other hosts (check
// --network). Of a capture it tells whether their recorded answers are wanted.
func MayTalk(ctx context.Context) bool {
	ok, _ := ctx.Value(networkKey{}).(bool)
	return ok
}

// Run runs the checks of traps over h, several concurrently, and calls emit once
// per trap in the order of traps: an early result waits for those before it,
// a stuck one holds the list up no longer than its own limit. emit is never
// called concurrently. Run returns when every trap was emitted; when ctx
// ends, whatever has not finished by then is reported unknown.
func Run(ctx context.Context, h *host.Host, traps []*Trap, opt Options, emit func(Result)) {
	Each(ctx, h, traps, opt, InOrder(len(traps), emit))
}

// InOrder turns results that come as they settle, each with its place in the
// list, into calls of emit in the list's order. Each of the n places must be
// given once.
func InOrder(n int, emit func(Result)) (settled func(i int, r Result)) {
	early := make([]*Result, n)
	next := 0
	return func(i int, r Result) {
		early[i] = &r
		for next < n && early[next] != nil {
			emit(*early[next])
			next++
		}
	}
}

// Each is Run without the order: settled is called, never concurrently, with
// a trap's place in the list as soon as its check has ended or was cut off. A
// slow settled holds no check up.
func Each(ctx context.Context, h *host.Host, traps []*Trap, opt Options, settled func(i int, r Result)) {
	if opt.Parallel <= 0 {
		opt.Parallel = defaultParallel
	}
	if opt.Interval > 0 {
		ctx = context.WithValue(ctx, intervalKey{}, opt.Interval)
	}
	if opt.Network {
		ctx = context.WithValue(ctx, networkKey{}, true)
	}
	type place struct {
		i int
		r Result
	}
	ended := make(chan place, len(traps))
	var next atomic.Int64
	for range min(opt.Parallel, len(traps)) {
		go func() {
			w := &worker{}
			defer w.leave()
			for i := int(next.Add(1)) - 1; i < len(traps); i = int(next.Add(1)) - 1 {
				ended <- place{i, runOne(ctx, h, traps[i], opt, w)}
			}
		}()
	}
	for range traps {
		p := <-ended
		settled(p.i, p.r)
	}
}

// errSilent and errExited are what a check must not do.
var (
	errSilent = errors.New("the check reported nothing, which is a bug in fettle")
	errExited = errors.New("the check ended its goroutine, which is a bug in fettle")
)

// runOne runs one check under its limit. A check that does not come back is
// left behind: its report is sealed, and what is missing becomes unknown.
func runOne(ctx context.Context, h *host.Host, t *Trap, opt Options, w *worker) Result {
	limit := t.limit(opt.Network)
	if opt.Limit > 0 {
		limit = opt.Limit
	}
	if t.Cost == Sampled || t.Samples {
		limit += opt.Interval
	}
	r := &Report{trap: t.ID()}
	start := time.Now()
	if err := ctx.Err(); err != nil {
		r.Unknown("", err)
	} else if err := call(ctx, h, t, r, limit, w); err != nil {
		r.Unknown("", err)
	}
	return r.result(t, time.Since(start))
}

// result seals the report and completes it. A check that says nothing is unknown.
func (r *Report) result(t *Trap, took time.Duration) Result {
	out := r.seal()
	if len(out) == 0 {
		out = []Outcome{{Trap: r.trap, Status: Unknown, Reason: errSilent.Error()}}
	}
	for i := range out {
		out[i].Fixable = out[i].Status == Found && t.Plan != nil && out[i].ByHand == ""
	}
	return Result{Trap: r.trap, Outcomes: out, Took: took}
}

// NotRun is the result of a check that nobody could run, and why.
func NotRun(t *Trap, err error) Result {
	r := &Report{trap: t.ID()}
	r.Unknown("", err)
	return r.result(t, 0)
}

// waitLimit is how much longer than its limit a check may take that waits for
// tables of running state.
const waitLimit = 30 * time.Second

// worker is a goroutine that runs checks one after the other: growing a stack costs more
// than most checks. A worker that does not come back is left, and the next check gets another.
type worker struct{ jobs chan func() }

func (w *worker) do(f func()) {
	if w.jobs == nil {
		w.jobs = make(chan func())
		go func(jobs chan func()) {
			for f := range jobs {
				f()
			}
		}(w.jobs)
	}
	w.jobs <- f
}

func (w *worker) leave() {
	if w.jobs != nil {
		close(w.jobs)
		w.jobs = nil
	}
}

// call runs the check itself and waits no longer than limit, besides what the
// host takes to read tables for it.
func call(ctx context.Context, h *host.Host, t *Trap, r *Report, limit time.Duration, w *worker) error {
	ctx, cancel := context.WithTimeout(ctx, limit+waitLimit)
	defer cancel()
	watch := newStopwatch(limit)
	defer watch.timer.Stop()
	ctx = host.TellWaiting(ctx, watch.wait)
	done := make(chan error, 1) // the check may end after call has
	w.do(func() {
		err := errExited // stands if Check calls runtime.Goexit
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the check crashed, which is a bug in fettle: %v\n%s", p, debug.Stack())
			}
			done <- err
		}()
		err = t.Check(ctx, h, r)
	})
	var err error
	select {
	case err = <-done:
		if err == errExited {
			w.leave()
		}
	case <-watch.out:
		w.leave()
		return tooLong(limit)
	case <-ctx.Done():
		w.leave()
		err = ctx.Err()
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) {
		return tooLong(limit)
	}
	return err
}

func tooLong(limit time.Duration) error { return fmt.Errorf("%w (over %s)", host.ErrTimeout, limit) }

// TookTooLong tells whether a reason is that a check reached its limit, not that
// something the check waited for did; longer is a limit to try next, as flags are
// given it.
func TookTooLong(reason string) (longer string, ok bool) {
	text, ok := strings.CutPrefix(reason, host.ErrTimeout.Error()+" (over ")
	text, closed := strings.CutSuffix(text, ")")
	limit, err := time.ParseDuration(text)
	if !ok || !closed || err != nil || limit <= 0 {
		return "", false
	}
	longer = (4*limit + time.Second - 1).Truncate(time.Second).String()
	if cut, whole := strings.CutSuffix(longer, "m0s"); whole {
		longer = cut + "m"
	}
	return longer, true
}
