package render

import (
	"fmt"
	"testing"
	"time"

	"fettle/tools/measure/ksm"
)

func TestKSM(t *testing.T) {
	start := time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC)
	// run saves so many pages more every ten seconds.
	run := func(name string, readings int, pages uint64, cpu time.Duration, profit int64) ksm.Run {
		r := ksm.Run{Name: name, Series: ksm.Series{Page: 4096}}
		for i := range readings {
			n := uint64(i)
			r.States = append(r.States, ksm.State{At: start.Add(time.Duration(i) * 10 * time.Second), Shared: 10, Sharing: 1000 + n*pages, Zero: n,
				Unshared: 5 * n, Scans: 7 + n, Breaks: 100 + 3*n, CPU: time.Minute + time.Duration(i)*cpu, Profit: profit, HasProfit: profit != 0})
		}
		return r
	}
	now := run("now", 10, 512, 1300*time.Millisecond, -5<<20)
	idle := run("as-is", 3, 0, 0, 0)
	fast := run("tune:20%", 3, 60000, 5*time.Second, 700<<20)
	some := []ksm.Process{
		{PID: 4242, Comm: "qemu-system-x86", Merging: 90000, Known: 200000, Profit: 300 << 20, HasProfit: true},
		{PID: 43, Comm: "evil\x1b[31m\n", Merging: 1, Known: 2, Profit: -4096, HasProfit: true},
		{PID: 44, Comm: "old", Merging: 1},
	}
	var many []ksm.Process
	for i := range 17 {
		many = append(many, ksm.Process{PID: 100 + i, Comm: fmt.Sprintf("guest%d", i), Merging: uint64(1000 - i)})
	}
	for _, c := range []struct {
		name string
		of   ksm.Result
		on   Terminal
	}{
		{"now", ksm.Result{Page: 4096, Runs: []ksm.Run{now}, Processes: some, Closed: 1}, plain},
		{"one-reading", ksm.Result{Page: 4096, Runs: []ksm.Run{run("now", 1, 0, 0, 0)}}, plain},
		{"compared", ksm.Result{Page: 4096, Runs: []ksm.Run{idle, fast}, Processes: many}, Terminal{Width: 100}},
		{"colour", ksm.Result{Page: 4096, Runs: []ksm.Run{idle, fast}, Processes: some}, Terminal{Width: 80, Colour: true}},
		{"narrow", ksm.Result{Page: 4096, Runs: []ksm.Run{idle, fast}, Processes: some}, Terminal{Width: 40}},
		{"old-kernel", ksm.Result{Page: 16384, Runs: []ksm.Run{idle}, Unknown: ksm.ErrPerProcess}, plain},
		{"nothing-mergeable", ksm.Result{Page: 4096, Runs: []ksm.Run{
			{Name: "now", Series: ksm.Series{Page: 4096, States: []ksm.State{{At: start}, {At: start.Add(10 * time.Second)}}}}}}, plain},
		{"not-root", ksm.Result{Page: 4096, Runs: []ksm.Run{now}, Closed: 12}, plain},
	} {
		golden(t, "ksm/"+c.name, KSM(c.of), c.on)
	}
}
