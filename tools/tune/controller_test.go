package tune

import (
	"strings"
	"testing"
	"time"

	"fettle/tools/measure/ksm"
)

// script gives a controller readings of one's own, a second apart.
type script struct {
	c *Controller
	r Reading
	// still: ksmd does nothing, whatever it is made to do.
	still bool
}

func newScript(p Policy) *script {
	return &script{
		c: &Controller{Policy: p},
		r: Reading{Page: 4096, State: ksm.State{At: time.Unix(1e9, 0), Total: 16 << 30, Available: 2 << 30}, Offered: 4 << 30},
	}
}

// step lets so much time pass and returns the order.
func (s *script) step(d time.Duration, change func(r *Reading)) Order {
	s.r.At = s.r.At.Add(d)
	s.r.Started, s.r.Suffers = 0, ""
	if s.c.state == Working && !s.still {
		s.r.CPU += 2 * time.Millisecond
	}
	if change != nil {
		change(&s.r)
	}
	return s.c.Step(s.r)
}

// pass ends a pass over 100,000 pages that took so much CPU time, with so many saved.
func pass(cpu time.Duration, saved uint64) func(r *Reading) {
	return func(r *Reading) {
		r.Scans++
		r.Scanned += 100_000
		r.CPU += cpu
		r.Sharing, r.Unshared = saved, 100_000-min(saved, 100_000)
	}
}

// rested makes two first passes, of which the second saves much, and a third
// that finds nothing.
func rested(p Policy) *script {
	s := newScript(p)
	s.step(0, nil)
	s.step(time.Second, pass(250*time.Millisecond, 0))
	s.step(time.Second, pass(250*time.Millisecond, 50_000))
	for range 3 {
		s.step(time.Second, nil)
	}
	s.step(time.Second, pass(250*time.Millisecond, 50_000))
	return s
}

func wantOrder(t *testing.T, o Order, state Activity, why string) {
	t.Helper()
	if o.State != state || !strings.Contains(o.Why, why) || (o.State == Working) != (o.Pages > 0) {
		t.Errorf("%s, %d pages, %q; expected %s, %q", o.State, o.Pages, o.Why, state, why)
	}
}

func TestFirstPasses(t *testing.T) {
	s := newScript(Default)
	wantOrder(t, s.step(0, nil), Working, "first two passes")
	wantOrder(t, s.step(time.Second, pass(250*time.Millisecond, 0)), Working, "first two passes")
	wantOrder(t, s.step(time.Second, pass(250*time.Millisecond, 50_000)), Resting, "")
}

// What each reason to work or rest comes to.
func TestReasons(t *testing.T) {
	s := rested(Default)
	wantOrder(t, s.step(time.Second, nil), Resting, "merged little")
	wantOrder(t, s.step(time.Second, func(r *Reading) { r.Started = 2 }), Working, "2 guests started")
	wantOrder(t, s.step(time.Second, pass(250*time.Millisecond, 50_000)), Working, "2 guests started")
	wantOrder(t, s.step(time.Second, pass(250*time.Millisecond, 60_000)), Resting, "")

	// A guest that starts while a pass runs: that pass doesn't come by its memory.
	s = newScript(Default)
	s.step(0, nil)
	s.step(time.Second, func(r *Reading) { r.Started = 1 })
	s.step(time.Second, pass(time.Second/4, 0))
	s.step(time.Second, pass(time.Second/4, 0))
	wantOrder(t, s.step(0, nil), Working, "1 guest started")
	wantOrder(t, s.step(time.Second, pass(time.Second/4, 50_000)), Resting, "")

	s = rested(Default)
	s.step(2*time.Second, nil)
	wantOrder(t, s.step(time.Second, func(r *Reading) { r.Offered += 64 << 20 }), Working, "memory that may merge grew by 64 MiB")

	s = rested(Policy{Budget: 0.2, Peak: 1, Free: 1, Pressure: 1, Target: 50_000 * 4096})
	wantOrder(t, s.step(time.Hour, nil), Resting, "the target is saved")
	wantOrder(t, s.step(time.Second, func(r *Reading) { r.Sharing = 40_000 }), Working, "")
}

// ksmd does nothing at all while no program offers memory, and no pass ends.
func TestNothingOffered(t *testing.T) {
	s := newScript(Default)
	s.still = true
	var o Order
	for range 5 {
		o = s.step(time.Second, nil)
	}
	if o.State != Resting || !strings.Contains(o.Why, "no program offers memory") || o.Next != quiet || o.Pages == 0 {
		t.Errorf("%+v", o)
	}
	wantOrder(t, s.step(time.Second, func(r *Reading) { r.CPU += 3 * time.Millisecond; r.Scanned += 1000 }), Working, "first two passes")
}

// Growth that turns out to be nothing that merges must be larger the next time.
func TestDeaf(t *testing.T) {
	s := rested(Default)
	woken := 0
	for range 40 {
		o := s.step(3*time.Second, func(r *Reading) { r.Offered += 20 << 20 }) // a build, say
		if o.State == Working && strings.Contains(o.Why, "grew") {
			woken++
			s.step(time.Second, pass(time.Second/4, 50_000))
			s.step(time.Second, pass(time.Second/4, 50_000))
		}
	}
	if woken < 2 || woken > 8 {
		t.Errorf("woken %d times by 800 MiB of growth that cannot be merged", woken)
	}
	wantOrder(t, s.step(3*time.Second, func(r *Reading) { r.Started = 1 }), Working, "started")
}

// Passes that merge nothing become rare; those that merge come again.
func TestRests(t *testing.T) {
	s := rested(Default)
	var gaps []time.Duration
	since := time.Duration(0)
	for len(gaps) < 12 {
		since += time.Second
		if s.step(time.Second, nil).State == Working {
			gaps = append(gaps, since)
			since = 0
			s.step(time.Second, pass(time.Second/4, 50_000))
		}
	}
	for i := 1; i < len(gaps); i++ {
		if gaps[i] < gaps[i-1] && gaps[i] < restMax {
			t.Errorf("rests of %v", gaps)
			break
		}
	}
	if last := gaps[len(gaps)-1]; last < restMax-5*time.Second || last > restMax+5*time.Second {
		t.Errorf("the last rest took %s, expected %s", last, restMax)
	}
	// Merged pages come apart; a pass merges a tenth of them again.
	for s.step(time.Second, nil).State != Working {
	}
	s.step(time.Second, func(r *Reading) { r.Breaks += 5000; pass(time.Second/4, 50_000)(r) })
	if s.c.rest >= restMax {
		t.Errorf("rests for %s after a pass that merged much", s.c.rest)
	}
}

func TestShare(t *testing.T) {
	s := rested(Default)
	full, _ := s.c.share(s.r)
	s.step(time.Second, func(r *Reading) { r.Available = 12 << 30 })
	if got, why := s.c.share(s.r); got > full/9 || !strings.Contains(why, "free anyway") {
		t.Errorf("with memory free: %.4f of %.4f, %q", got, full, why)
	}
	s.step(time.Second, func(r *Reading) { r.Available = 2 << 30 })
	var o Order
	for range 30 {
		o = s.step(yieldEvery, func(r *Reading) { r.Suffers = "vm-7 waits for CPU 40 % of the time"; r.Started = 1 })
	}
	if got, _ := s.c.share(s.r); got > full*giveWay*1.01 {
		t.Errorf("under pressure: %.4f of %.4f", got, full)
	}
	wantOrder(t, o, Working, "vm-7 waits")
	for range 30 {
		s.step(yieldEvery, nil)
	}
	if got, _ := s.c.share(s.r); got != full {
		t.Errorf("after pressure: %.4f of %.4f", got, full)
	}
}

// Kernels before 6.6 do not count pages: the pass tells what one costs.
func TestCostWithoutCount(t *testing.T) {
	s := newScript(Default)
	s.step(0, nil)
	for range 12 {
		s.step(time.Second, func(r *Reading) { pass(time.Second, 0)(r); r.Scanned = 0; r.Started = 1 })
	}
	if s.c.cost < 9*time.Microsecond || s.c.cost > 11*time.Microsecond {
		t.Errorf("a page costs %s, expected 10 µs", s.c.cost)
	}
}

// The budget holds in any minute, whatever comes.
func TestBudget(t *testing.T) {
	for _, budget := range []float64{0.02, 0.2, 0.7, 1} {
		for _, cost := range []time.Duration{20 * time.Microsecond, 200 * time.Microsecond} {
			p := Policy{Budget: budget, Peak: 1, Free: 1, Pressure: 1}
			always := func(w *world, second int) { // never done: a guest a second
				if second < 90 {
					w.guest(int(400*time.Millisecond/cost), 0.5)
				}
			}
			out := play(always, cost, 0, 120, &p, Order{})
			if limit := time.Duration(budget * float64(window)); out.worst > limit {
				t.Errorf("budget %.2f, %s a page: %s in a minute, over %s", budget, cost, out.worst, limit)
			} else if budget < 1 && out.worst < limit*3/4 {
				t.Errorf("budget %.2f, %s a page: only %s in the busiest "+
					"minute of %s, with guests that start each second", budget, cost, out.worst, limit)
			}
		}
	}
}

// --peak holds at any moment.
func TestPeak(t *testing.T) {
	p := Policy{Budget: 0.5, Peak: 0.3, Free: 1, Pressure: 1}
	w := newWorld(10 * time.Microsecond)
	w.guest(400_000, 0.5)
	c := &Controller{Policy: p}
	for range 100 {
		before, began := w.cpu, w.now
		for w.now.Sub(began) < time.Second {
			w.order = c.Step(w.read())
			w.run(w.order.Next)
		}
		if got := (w.cpu - before).Seconds() / w.now.Sub(began).Seconds(); got > 0.36 {
			t.Fatalf("%.2f of a CPU, over the peak of 0.30", got)
		}
	}
}

func TestPace(t *testing.T) {
	for _, duty := range []float64{0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 1} {
		pages, sleep := pace(duty, 2*time.Microsecond)
		work := time.Duration(pages) * 2 * time.Microsecond
		if got := float64(work) / float64(work+sleep); got < 0.8*duty || got > 1.2*duty {
			t.Errorf("%d pages and %s come to %.3f, expected %.3f", pages, sleep, got, duty)
		}
		if work > batch {
			t.Errorf("a batch of %s", work)
		}
	}
}
