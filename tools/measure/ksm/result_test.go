package ksm

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestResult(t *testing.T) {
	k := fake(t)
	runs := []Run{{Name: "now"}}
	r, err := k.Result(runs)
	if err != nil || r.Page != k.PageSize || len(r.Runs) != 1 || !errors.Is(r.Unknown, ErrPerProcess) {
		t.Errorf("a kernel that does not tell: %+v, %v", r, err)
	}
	must(t, os.MkdirAll(k.proc("self"), 0o755))
	must(t, os.WriteFile(k.proc("self/ksm_merging_pages"), []byte("0\n"), 0o644))
	if r, err = k.Result(runs); err != nil || r.Unknown != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSeriesInFigures(t *testing.T) {
	start := time.Now()
	series := func(every, cpu time.Duration, n int) Series {
		s := Series{Page: 4096}
		for i := range n {
			s.States = append(s.States, State{At: start.Add(time.Duration(i) * every), Sharing: uint64(i) * 256, CPU: time.Duration(i) * cpu})
		}
		return s
	}
	for _, c := range []struct {
		name   string
		s      Series
		perCPU float64 // bytes
		known  bool
		worst  float64
	}{
		{"half a CPU for two minutes", series(10*time.Second, 5*time.Second, 13), 256 * 4096 / 5.0, true, 0.5},
		{"half a minute", series(10*time.Second, 5*time.Second, 4), 256 * 4096 / 5.0, true, 0.5},
		{"no CPU time to speak of", series(10*time.Second, time.Millisecond, 4), 0, false, 0.0001},
		{"one reading", series(time.Second, time.Second, 1), 0, false, 0},
	} {
		per, known := c.s.SavedPerCPU()
		if worst := c.s.WorstShare(); per != c.perCPU || known != c.known || worst != c.worst {
			t.Errorf("%s: %v (%v) a second, worst %v", c.name, per, known, worst)
		}
	}
}
