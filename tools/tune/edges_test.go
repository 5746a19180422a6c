package tune

import (
	"strings"
	"testing"
	"time"

	"fettle/tools/measure/ksm"
)

// The last minute begins with the last reading that is at least a minute old.
func TestLastMinute(t *testing.T) {
	var l ledger
	start := time.Unix(1e9, 0)
	for _, c := range []struct {
		after, cpu, want time.Duration
	}{
		{0, 0, 0},
		{40 * time.Second, time.Second, time.Second},
		{70 * time.Second, 3 * time.Second, 3 * time.Second},                  // since 0 s: the one of 40 s is too young
		{100 * time.Second, 4 * time.Second, 3 * time.Second},                 // since 40 s, exactly a minute old
		{101 * time.Second, 4500 * time.Millisecond, 3500 * time.Millisecond}, // still since 40 s
	} {
		l.add(start.Add(c.after), c.cpu)
		if got := l.lastMinute(); got != c.want {
			t.Errorf("at %s: %s in the last minute, want %s", c.after, got, c.want)
		}
	}
}

// The worst minute stays the worst when calmer ones follow.
func TestWorstMinute(t *testing.T) {
	b, c := newBook(), &Controller{Policy: Default}
	r := Reading{Page: 4096, State: ksm.State{At: time.Unix(1e9, 0)}}
	for _, cpu := range []time.Duration{0, 9 * time.Second, 9 * time.Second, 9100 * time.Millisecond} {
		r.CPU = cpu
		c.spent.add(r.At, r.CPU)
		b.enter(r, Order{}, c)
		r.At = r.At.Add(45 * time.Second)
	}
	if b.worst != 9*time.Second {
		t.Errorf("worst minute %s, want 9s", b.worst)
	}
	if s := b.line(r, Order{State: Resting}); !strings.Contains(s, "worst minute 15.0 %") {
		t.Error(s)
	}
}

// Memory that shrinks has not grown.
func TestShrunkMemory(t *testing.T) {
	s := rested(Default)
	s.c.rested.offered = s.r.Offered
	s.r.Offered -= 1 << 30
	if n := s.c.growth(s.r); n != 0 {
		t.Errorf("grew by %d pages", n)
	}
}

// After a pass that merged something, but little, ksmd rests as long as before;
// after one that merged next to nothing, longer.
func TestRestFollowsTheGain(t *testing.T) {
	const saved = 400_000 // pages; tolerated of them is 10,000
	for _, c := range []struct {
		gain uint64
		want time.Duration
	}{{25_000, restMin}, {12_000, 30 * time.Second}, {7_000, time.Minute}, {3_000, 3 * time.Minute}} {
		s := rested(Default)
		s.c.rest, s.c.due = time.Minute, 1
		s.r.Scans++
		s.r.Sharing = saved
		s.c.pass = markOf(s.r)
		s.c.pass.scans--
		s.c.pass.saved = saved - c.gain
		s.r.CPU += 10 * time.Millisecond // cheap: not poor
		s.c.passEnded(s.r)
		if s.c.rest != c.want {
			t.Errorf("a gain of %d pages: rests %s, want %s", c.gain, s.c.rest, c.want)
		}
	}
}

// A node whose counters stepped back is not busy.
func TestNodeWithoutTicks(t *testing.T) {
	k := fakeHost(t)
	e := &eyes{kernel: k, programs: k.Programs(), limit: 0.2}
	put(t, k.Root, "sys/devices/system/node/node0/cpulist", "0-1\n")
	put(t, k.Root, "sys/devices/system/node/node1/cpulist", "2-3\n")
	if _, err := k.Read(); err != nil {
		t.Fatal(err)
	}
	put(t, k.Root, "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 9 0 0 5 0 0 0 0 0 0\ncpu1 9 0 0 5 0 0 0 0 0 0\n")
	e.look()
	// The kernel's counters of one CPU may step back (proc_stat(5), iowait).
	put(t, k.Root, "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 8 0 0 5 0 0 0 0 0 0\ncpu1 9 0 0 5 0 0 0 0 0 0\n")
	if e.look(); e.suffers != "" {
		t.Errorf("%q", e.suffers)
	}
}

func TestSettingsBudget(t *testing.T) {
	for text, want := range map[string]float64{"20%": 0.2, "0.1%": 0.001, "100%": 1, "": Default.Budget} {
		if p, err := policy(text, text != ""); err != nil || p.Budget < want*0.999 || p.Budget > want*1.001 {
			t.Errorf("%q: %+v, %v; want a budget of %v", text, p, err, want)
		}
	}
	for _, bad := range []string{"0%", "0.09%", "101%", "20", "%", "x%", "NaN%"} {
		if p, err := policy(bad, true); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

// Growth that brings nothing must be twice as large the next time, up to 64 times: 1 GiB
// is noticed however often growth came to nothing.
func TestBackoffOfGrowthIsBounded(t *testing.T) {
	s := rested(Default)
	for i, want := range []float64{2, 4, 8, 16, 32, 64, 64, 64} {
		s.c.due, s.c.knownAtWake, s.c.grownAtWake = 0, s.r.Known(), 100
		if i == 0 {
			s.c.wakeBackoff = 1
		}
		if s.c.judgeWake(s.r); s.c.wakeBackoff != want {
			t.Errorf("after growth %d that brought nothing: %v, want %v", i+1, s.c.wakeBackoff, want)
		}
	}
	s.c.rested.offered = s.r.Offered
	s.r.Sharing, s.r.Unshared = 0, 0
	for more, want := range map[uint64]bool{1<<30 - 4096: false, 1 << 30: true} {
		r := s.r
		if r.Offered += more; (s.c.growth(r) > 0) != want {
			t.Errorf("growth by %d bytes: noticed %t, want %t", more, !want, want)
		}
	}
}
