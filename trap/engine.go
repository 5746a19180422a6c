package trap

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
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

// Run runs the checks of traps over h, several at once, and calls emit once
// per trap in the order of traps: an early result waits for those before it,
// a stuck one holds the list up no longer than its own limit. emit is never
// called twice at once. Run returns when every trap was emitted or ctx ends;
// whatever had not finished by then is reported unknown.
func Run(ctx context.Context, h *host.Host, traps []*Trap, opt Options, emit func(Result)) {
	if opt.Parallel <= 0 {
		opt.Parallel = defaultParallel
	}
	if opt.Interval > 0 {
		ctx = context.WithValue(ctx, intervalKey{}, opt.Interval)
	}
	results := make([]chan Result, len(traps))
	for i := range results {
		results[i] = make(chan Result, 1)
	}
	slots := make(chan struct{}, opt.Parallel)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i, t := range traps {
			slots <- struct{}{} // freed at the latest when the check's limit has passed
			wg.Add(1)
			go func() {
				defer wg.Done()
				defer func() { <-slots }()
				results[i] <- runOne(ctx, h, t, opt)
			}()
		}
	}()
	for _, c := range results {
		emit(<-c)
	}
	wg.Wait()
}

// runOne runs one check under its limit. A check that does not come back is
// left behind: its report is sealed, and what is missing becomes unknown.
func runOne(ctx context.Context, h *host.Host, t *Trap, opt Options) Result {
	limit := t.limit()
	if opt.Limit > 0 {
		limit = opt.Limit
	}
	if t.Cost == Sampled {
		limit += opt.Interval
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := &Report{trap: t.ID()}
	start := time.Now()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("the check crashed, which is a bug in fettle: %v\n%s", p, debug.Stack())
			}
		}()
		done <- t.Check(ctx, h, r)
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = fmt.Errorf("%w (over %s)", host.ErrTimeout, limit)
		if ctx.Err() == context.Canceled {
			err = ctx.Err()
		}
	}
	if err != nil {
		r.Unknown("", err)
	}
	out := r.seal()
	if len(out) == 0 {
		out = []Outcome{{Trap: t.ID(), Status: Unknown, Reason: "the check said nothing, which is a bug in fettle"}}
	}
	for i := range out {
		out[i].Fixable = out[i].Status == Found && t.Plan != nil
	}
	return Result{Trap: t.ID(), Outcomes: out, Took: time.Since(start)}
}
