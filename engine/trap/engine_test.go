package trap

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fettle/engine/remedy"
	"fettle/host"
	"fettle/internal/means"
)

func testTrap(id string, check func(ctx context.Context, h *host.Host, r *Report) error) *Trap {
	return &Trap{Lore: Lore("---\nid: " + id + "\ntitle: t\n---\n"), Check: check}
}

func say(id, subject string) *Trap {
	return testTrap(id, func(_ context.Context, _ *host.Host, r *Report) error { r.Clear(subject, "fine"); return nil })
}

func results(ctx context.Context, traps []*Trap, opt Options) (out []Result) {
	Run(ctx, nil, traps, opt, func(r Result) { out = append(out, r) })
	return out
}

func TestRunKeepsOrder(t *testing.T) {
	var traps []*Trap
	for i := range 40 {
		traps = append(traps, testTrap(fmt.Sprint("t", i), func(_ context.Context, _ *host.Host, r *Report) error {
			time.Sleep(time.Duration((i*7)%13) * time.Millisecond)
			r.Clear("", "fine")
			return nil
		}))
	}
	for i, r := range results(t.Context(), traps, Options{}) {
		if r.Trap != fmt.Sprint("t", i) || r.Outcomes[0].Status != Clear {
			t.Fatalf("place %d: %+v", i, r)
		}
	}
}

func TestMisbehavingChecks(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	traps := []*Trap{
		testTrap("hangs", func(context.Context, *host.Host, *Report) error { <-block; return nil }),
		testTrap("waits", func(ctx context.Context, _ *host.Host, r *Report) error {
			r.Clear("half", "was looked at")
			<-ctx.Done()
			return fmt.Errorf("reading: %w", ctx.Err())
		}),
		testTrap("panics", func(context.Context, *host.Host, *Report) error { panic(errors.New("oh no")) }),
		testTrap("goexit", func(context.Context, *host.Host, *Report) error { runtime.Goexit(); return nil }),
		testTrap("silent", func(context.Context, *host.Host, *Report) error { return nil }),
		testTrap("denied", func(context.Context, *host.Host, *Report) error { return host.ErrDenied }),
		say("good", ""),
	}
	start := time.Now()
	got := results(t.Context(), traps, Options{Limit: 200 * time.Millisecond, Parallel: 2})
	if d := time.Since(start); d > means.Patience {
		t.Errorf("took %s", d)
	}
	for i, want := range []string{"took too long (over 200ms)", "took too long (over 200ms)", "oh no", "ended its goroutine",
		"reported nothing", "needs root"} {
		o := got[i].Outcomes[len(got[i].Outcomes)-1]
		if o.Status != Unknown || !strings.Contains(o.Reason, want) {
			t.Errorf("%s: %+v, want unknown with %q", got[i].Trap, o, want)
		}
	}
	if o := got[1].Outcomes; len(o) != 2 || o[0].Status != Clear {
		t.Errorf("what a check said before it was cut off is kept: %+v", o)
	}
	if o := got[6].Outcomes; o[0].Status != Clear {
		t.Errorf("good: %+v", o)
	}
}

// After a check was cut off it may go on; nothing that it says arrives.
func TestLateReportIsDropped(t *testing.T) {
	late := make(chan struct{})
	tr := testTrap("late", func(_ context.Context, _ *host.Host, r *Report) error {
		<-late
		r.Clear("", "too late")
		late <- struct{}{}
		return nil
	})
	got := results(t.Context(), []*Trap{tr}, Options{Limit: 10 * time.Millisecond})
	late <- struct{}{}
	<-late
	if o := got[0].Outcomes; len(o) != 1 || o[0].Status != Unknown {
		t.Errorf("%+v", o)
	}
}

func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ran atomic.Int32
	var traps []*Trap
	for i := range 20 {
		traps = append(traps, testTrap(fmt.Sprint(i), func(ctx context.Context, _ *host.Host, r *Report) error {
			if ran.Add(1) == 2 {
				cancel()
			}
			<-ctx.Done()
			return ctx.Err()
		}))
	}
	got := results(ctx, traps, Options{Parallel: 2})
	for _, r := range got {
		if o := r.Outcomes[0]; o.Status != Unknown || o.Reason != "interrupted" {
			t.Errorf("%+v", o)
		}
	}
	if len(got) != 20 || ran.Load() > 3 {
		t.Errorf("%d results, %d checks ran", len(got), ran.Load())
	}
	if results(t.Context(), nil, Options{}) != nil {
		t.Error("no traps, no results")
	}
}

func TestSlowReaderHoldsNoCheckUp(t *testing.T) {
	var done atomic.Int32
	var traps []*Trap
	for i := range 30 {
		traps = append(traps, testTrap(fmt.Sprint(i), func(_ context.Context, _ *host.Host, r *Report) error {
			done.Add(1)
			r.Clear("", "fine")
			return nil
		}))
	}
	first := true
	Run(t.Context(), nil, traps, Options{Parallel: 2}, func(Result) {
		if first {
			first = false
			for end := time.Now().Add(means.Patience); done.Load() < 30 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if done.Load() < 30 {
				t.Errorf("only %d checks ran while the first result was written", done.Load())
			}
		}
	})
}

func TestIntervalAndLimits(t *testing.T) {
	tr := testTrap("s", func(ctx context.Context, _ *host.Host, r *Report) error {
		dl, _ := ctx.Deadline()
		r.Clear("", fmt.Sprint(Interval(ctx), (time.Until(dl)-waitLimit).Round(time.Second)))
		return nil
	})
	tr.Cost = Sampled
	got := results(t.Context(), []*Trap{tr}, Options{Interval: 10 * time.Second})
	if s := got[0].Outcomes[0].Summary; s != "10s 15s" {
		t.Error(s)
	}
}

func TestFixable(t *testing.T) {
	tr := testTrap("f", func(_ context.Context, _ *host.Host, r *Report) error {
		r.Found(Finding{Subject: "a", Severity: Notice, Summary: "x"})
		r.Clear("b", "fine")
		return nil
	})
	tr.Plan = func(context.Context, *host.Host, Finding) (remedy.Plan, error) { return remedy.Plan{}, nil }
	o := results(t.Context(), []*Trap{tr}, Options{})[0].Outcomes
	if !o[0].Fixable || o[1].Fixable {
		t.Errorf("%+v", o)
	}
}

func TestReportBounds(t *testing.T) {
	means.Short(t, "takes seconds")
	r := &Report{trap: "t"}
	for i := range 5000 {
		r.Clear(fmt.Sprint("s", i), "fine")
	}
	r.Found(Finding{Subject: "last", Severity: Critical, Summary: "met"})
	r.Unknown("", host.ErrDenied)
	out := r.seal()
	more := out[len(out)-1]
	if len(out) != maxOutcomes+2 || more.Status != Found || more.Severity != Critical || more.Detail != "1 more found\n4000 more clear" {
		t.Errorf("%d outcomes, the last %+v", len(out), more)
	}
	if whole := out[len(out)-2]; whole.Subject != "" || whole.Status != Unknown {
		t.Errorf("the host as a whole: %+v", whole)
	}

	r = &Report{trap: "t"}
	for range 4000 { // one subject, again and again
		r.Unknown("s", errors.New(strings.Repeat("x", 100)))
		r.Found(Finding{Subject: "s", Severity: Notice, Summary: strings.Repeat("y", 100), Evidence: []Evidence{Ev("a", "b")}})
	}
	out = r.seal()
	if n := size(out[0]); len(out) != 1 || out[0].Status != Found || n > 64<<10 {
		t.Errorf("%d outcomes, %d bytes", len(out), n)
	}

	r = &Report{trap: "t"}
	for i := range 1000 {
		r.Clear(fmt.Sprint(i), strings.Repeat("é", 2000), Ev("a", "%s", strings.Repeat("v", 1<<20>>min(i, 8))))
	}
	total := 0
	for _, o := range r.seal() {
		total += size(o)
		if strings.Contains(o.Summary, "\ufffd") {
			t.Fatal("a character was cut in two")
		}
	}
	if total > 3*maxBytes {
		t.Errorf("%d bytes", total)
	}
}

func TestMergeOfSubjects(t *testing.T) {
	r := &Report{trap: "t"}
	r.Clear("a", "fine")
	r.Unknown("a", errors.New("half of it"))
	r.Found(Finding{Subject: "a", Severity: Warning, Summary: "met"})
	r.Clear("a", "fine")
	out := r.seal()
	if len(out) != 1 || out[0].Status != Found || out[0].Detail != "not all could be looked at: half of it" {
		t.Errorf("%+v", out)
	}
}

func TestReceive(t *testing.T) {
	in := Result{Trap: "another", Took: 7, Outcomes: []Outcome{
		{Trap: "another", Subject: "a", Status: "wonderful", Severity: Critical, Fixable: true},
		{Subject: "b", Status: Found, Severity: 99, Fixable: true},
		{Subject: "c", Status: Clear, Severity: Critical, Fixable: true},
		{Subject: "c", Status: Unknown, Reason: "twice"},
		{Subject: "d", Status: Found, Severity: Critical, Accepted: &Acceptance{Reason: "trust me"}, Known: true,
			Facts: FactsOf(map[string]string{"x": strings.Repeat("y", 1<<20)})},
	}}
	got := Receive(say("mine", ""), in)
	if got.Trap != "mine" || got.Took != 7 || len(got.Outcomes) != 4 {
		t.Fatalf("%+v", got)
	}
	a, b, c := got.Outcomes[0], got.Outcomes[1], got.Outcomes[2]
	if a.Trap != "mine" || a.Status != Unknown || a.Fixable || a.Severity != 0 {
		t.Errorf("%+v", a)
	}
	if b.Status != Found || b.Severity != Warning || b.Fixable {
		t.Errorf("%+v", b)
	}
	if c.Status != Unknown {
		t.Errorf("%+v", c)
	}
	if d := got.Outcomes[3]; d.Hidden() || d.Status != Found || size(d) > 64<<10 {
		t.Errorf("%d bytes, %+v", size(d), d.Accepted)
	}
	if got := Receive(say("mine", ""), Result{}); len(got.Outcomes) != 1 || got.Outcomes[0].Status != Unknown {
		t.Errorf("nothing said: %+v", got)
	}
}

// Reports may be written from several goroutines at once (run with -race).
func TestReportConcurrently(t *testing.T) {
	tr := testTrap("t", func(_ context.Context, _ *host.Host, r *Report) error {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() { r.Clear(fmt.Sprint(i%10), "fine", Ev("a", "b")) })
		}
		wg.Wait()
		return nil
	})
	if o := results(t.Context(), []*Trap{tr}, Options{})[0].Outcomes; len(o) != 10 {
		t.Errorf("%d outcomes", len(o))
	}
}

// BenchmarkEngine shows what one more trap costs beyond what it reads.
func BenchmarkEngine(b *testing.B) {
	for _, n := range []int{1, 50, 200} {
		var traps []*Trap
		for i := range n {
			traps = append(traps, say(fmt.Sprintf("synthetic-%03d", i), "subject"))
		}
		b.Run(fmt.Sprintf("traps=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Run(b.Context(), nil, traps, Options{}, func(Result) {})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/trap")
		})
	}
}

// TestByHand: a finding that the remedy does not serve is not offered a fix.
func TestByHand(t *testing.T) {
	tr := &Trap{
		Plan: func(context.Context, *host.Host, Finding) (remedy.Plan, error) { return remedy.Plan{}, nil },
	}
	r := &Report{}
	r.Found(Finding{Subject: "a", Severity: Notice, Summary: "s"})
	r.Found(Finding{Subject: "b", Severity: Notice, Summary: "s", ByHand: "log out and in again"})
	for _, o := range r.result(tr, 0).Outcomes {
		if want := o.Subject == "a"; o.Fixable != want {
			t.Errorf("%s: fixable %v, want %v", o.Subject, o.Fixable, want)
		}
	}
}
