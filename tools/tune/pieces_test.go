package tune

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/tools/measure/ksm"
)

// TestPaceExactly: batches and sleeps, up to a whole CPU and down to one page.
func TestPaceExactly(t *testing.T) {
	for _, c := range []struct {
		duty  float64
		cost  time.Duration
		pages uint64
		sleep time.Duration
	}{
		{1, time.Microsecond, 100_000, 0}, {0.99, time.Microsecond, 100_000, 0}, {1, time.Second, 1, 0},
		{0.5, time.Microsecond, 20_000, 20 * time.Millisecond}, {0.5, time.Second, 1, 20 * time.Millisecond},
		{0.8, time.Microsecond, 80_000, 20 * time.Millisecond}, {0.9, time.Microsecond, 100_000, 11 * time.Millisecond},
		{0.98, time.Microsecond, 100_000, 2 * time.Millisecond},
	} {
		if pages, sleep := pace(c.duty, c.cost); pages != c.pages || sleep != c.sleep {
			t.Errorf("%.2f of a CPU, %s a page: %d pages, %s; want %d, %s", c.duty, c.cost, pages, sleep, c.pages, c.sleep)
		}
	}
}

// TestCostOfAPage: of what it is learnt, and of what it is not.
func TestCostOfAPage(t *testing.T) {
	at := func(scanned uint64, cpu time.Duration) Reading {
		return Reading{Page: 4096, State: ksm.State{At: time.Unix(1e9, 0), Scanned: scanned, CPU: cpu}}
	}
	const us = time.Microsecond
	for _, c := range []struct {
		name         string
		first, later Reading
		want         time.Duration
		learnt       bool
	}{
		{"nothing counted", at(0, 0), at(0, time.Second), assumedCost, false},
		{"499 pages", at(0, 0), at(499, time.Second), assumedCost, false},
		{"500 pages", at(0, 0), at(500, 5000*us), 10 * us, true},
		{"without CPU time", at(0, 0), at(1000, 0), assumedCost, false},
		{"counted from the first reading on", at(1000, 2000*us), at(2000, 7000*us), 5 * us, true},
		{"the count began again", at(5000, 0), at(1000, 7000*us), assumedCost, false},
		{"since boot", at(2e6, 8*time.Second), at(2e6, 8*time.Second), 4 * us, true},
		{"since boot, few pages", at(1e6, 8*time.Second), at(1e6, 8*time.Second), assumedCost, false},
		{"since boot, little time", at(2e6, time.Second), at(2e6, time.Second), assumedCost, false},
		{"a quarter of what is new", at(2e6, 8*time.Second), at(2e6+1000, 8*time.Second+8000*us), 5 * us, true},
		{"too cheap to be true", at(0, 0), at(1e6, us), 100 * time.Nanosecond, true},
		{"too dear to be true", at(0, 0), at(500, time.Minute), time.Millisecond, true},
	} {
		ctl := &Controller{Policy: Default}
		ctl.Step(c.first)
		if ctl.Step(c.later); ctl.cost != c.want || ctl.learnt != c.learnt {
			t.Errorf("%s: %s, learnt %v; want %s, %v", c.name, ctl.cost, ctl.learnt, c.want, c.learnt)
		}
	}
}

// TestGivesWay: halved each five seconds down to a sixteenth, and raised by as much again.
func TestGivesWay(t *testing.T) {
	c := &Controller{Policy: Default}
	r := Reading{Page: 4096, State: ksm.State{At: time.Unix(1e9, 0)}}
	c.Step(r)
	for i, want := range []float64{1, 0.5, 0.25, 0.125, giveWay, giveWay} {
		r.Suffers = "the host"
		if i == 0 {
			r.At = r.At.Add(yieldEvery - time.Nanosecond)
		} else if i == 1 {
			r.At = r.At.Add(time.Nanosecond)
		} else {
			r.At = r.At.Add(yieldEvery)
		}
		if c.Step(r); c.budgetShare != want {
			t.Errorf("after %d: %v, want %v", i, c.budgetShare, want)
		}
	}
	share, why := c.share(r)
	if r.Suffers = ""; share != 0.2*giveWay || why != "giving way: the host; " {
		t.Errorf("%v, %q", share, why)
	}
	if r.At = r.At.Add(yieldEvery); c.Step(r).State == "" || c.budgetShare != 2*giveWay {
		t.Errorf("raised to %v", c.budgetShare)
	}
	r.Total, r.Available = 100, 50
	if _, why := c.share(r); why != "giving way; " {
		t.Errorf("half of it free: %q", why)
	}
	r.Available = 51
	if share, why := c.share(r); share > 0.00251 || share < 0.00249 || why != "memory is free anyway; giving way; " {
		t.Errorf("more than half free: %v, %q", share, why)
	}
}

// TestOrders: what is due, what is left of the minute, and when it is looked again.
func TestOrders(t *testing.T) {
	start := time.Unix(1e9, 0)
	r := Reading{Page: 4096, State: ksm.State{At: start, Scans: 5, Unshared: 1000}, Offered: 2000 * 4096}
	for _, c := range []struct {
		name   string
		policy Policy
		set    func(c *Controller, r *Reading)
		want   string
	}{
		{"nothing due", Default, func(c *Controller, r *Reading) { c.due = 0 }, "resting 0 1s 1s: the last pass merged little"},
		{"fast: 2 ms are left to do", Default, func(c *Controller, r *Reading) { c.due = 2 }, "working 100000 0s 100ms: x"},
		{"the last pass, 1 ms", Default, func(c *Controller, r *Reading) {}, "working 100000 0s 10ms: x"},
		{"the last pass, 90 ms", Default, func(c *Controller, r *Reading) { c.cost = 90 * time.Microsecond }, "working 1111 0s 90ms: x"},
		{"the last pass, 90 of 100 ms", Default, func(c *Controller, r *Reading) { c.cost, r.CPU = 100*time.Microsecond, 10*time.Millisecond },
			"working 1000 0s 90ms: x"},
		{"the last pass, 100 ms", Default, func(c *Controller, r *Reading) { c.cost = 100 * time.Microsecond }, "working 1000 0s 100ms: x"},
		{"more than the minute has", Default, func(c *Controller, r *Reading) { c.cost, r.Unshared = time.Millisecond, 20000 },
			"working 5 20ms 100ms: x"},
		{"with a peak", Policy{Budget: 0.5, Peak: 0.5, Free: 1}, func(c *Controller, r *Reading) {}, "working 20000 20ms 10ms: x"},
		{"not learnt", Default, func(c *Controller, r *Reading) { c.learnt = false }, "working 1000 0s 10ms: x"},
		{"before the first scan all that is in use counts", Default,
			func(c *Controller, r *Reading) { r.Scans, c.cost = 0, 40*time.Microsecond },
			"working 2500 0s 80ms: x"},
		{"after growth too", Default,
			func(c *Controller, r *Reading) { c.knownAtWake, c.cost = 1, 40*time.Microsecond }, "working 2500 0s 80ms: x"},
		{"4 ms left", Default, spent(4 * time.Millisecond), "waiting 0 1s 1s: the budget of this minute is spent"},
		{"5 ms left", Default, spent(5 * time.Millisecond), "working 1052 20ms 10ms: x"},
		{"50 ms left of 11.4 s", Default, spent(50 * time.Millisecond), "working 2857 20ms 10ms: x"},
		{"200 ms left", Default, spent(200 * time.Millisecond), "working 20000 20ms 10ms: x"},
		{"the target", Policy{Budget: 0.2, Peak: 1, Free: 1, Target: 4096}, func(c *Controller, r *Reading) { r.Sharing = 1 },
			"resting 0 1s 1s: the target is saved"},
		{"less than the target", Policy{Budget: 0.2, Peak: 1, Free: 1, Target: 4097}, func(c *Controller, r *Reading) { r.Sharing = 1 },
			"working 100000 0s 10ms: x"},
		{"no CPU for it", Policy{Budget: 0.0001, Peak: 1, Free: 1}, func(c *Controller, r *Reading) {}, "working 289 20ms 10ms: x"},
	} {
		r := r
		ctl := &Controller{Policy: c.policy, due: 1, why: "x", cost: time.Microsecond, learnt: true, budgetShare: 1}
		c.set(ctl, &r)
		o := ctl.order(r)
		if got := fmt.Sprintf("%s %d %s %s: %s", o.State, o.Pages, o.Sleep, o.Next, o.Why); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// spent leaves so much of a minute's budget.
func spent(left time.Duration) func(c *Controller, r *Reading) {
	return func(c *Controller, r *Reading) {
		c.spent.add(r.At, 0)
		c.spent.add(r.At, time.Duration(aimed*0.2*float64(time.Minute))-left)
		c.pass.cpu = r.CPU
	}
}

// TestWakes: what makes passes due, how many, and which rest follows.
func TestWakes(t *testing.T) {
	start := time.Unix(1e9, 0)
	for _, c := range []struct {
		name string
		due  int
		r    Reading
		want string
	}{
		{"guests", 0, Reading{Started: 2}, "2: 2 guests started, rest 2s"},
		{"a guest while a pass runs", 1, Reading{Started: 1}, "3: 1 guest started, rest 2s"},
		{"16 MiB, too soon", 0, Reading{Offered: 16 << 20, State: ksm.State{At: start.Add(restMin - 1)}}, "0: , rest 1m0s"},
		{"16 MiB", 0, Reading{Offered: 16 << 20, State: ksm.State{At: start.Add(restMin)}}, "2: memory that may merge grew by 16 MiB, rest 2s"},
		{"less", 0, Reading{Offered: 16<<20 - 4096, State: ksm.State{At: start.Add(restMin)}}, "0: , rest 1m0s"},
		{"16 MiB of a GiB", 0, Reading{Offered: 16 << 20, State: ksm.State{At: start.Add(restMin), Unshared: 1 << 18}}, "0: , rest 1m0s"},
		{"16 MiB while a pass runs", 1, Reading{Offered: 16 << 20, State: ksm.State{At: start.Add(restMin)}}, "1: , rest 1m0s"},
		{"nearly rested", 0, Reading{State: ksm.State{At: start.Add(time.Minute - 1)}}, "0: , rest 1m0s"},
		{"rested", 0, Reading{State: ksm.State{At: start.Add(time.Minute)}}, "1: looked again after 1 min, rest 1m0s"},
	} {
		ctl := &Controller{due: c.due, rest: time.Minute, wakeBackoff: 1, rested: mark{at: start}}
		c.r.Page = 4096
		if c.r.At.IsZero() {
			c.r.At = start
		}
		ctl.wake(c.r)
		if got := fmt.Sprintf("%d: %s, rest %s", ctl.due, ctl.why, ctl.rest); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestLineOfABook: what one reads of the last minutes.
func TestLineOfABook(t *testing.T) {
	start := time.Unix(1e9, 0)
	b, c := newBook(), &Controller{Policy: Default}
	r := Reading{Page: 4096, State: ksm.State{At: start, CPU: time.Second, Sharing: 1 << 20}}
	b.enter(r, Order{State: Working, Why: "first two passes"}, c)
	const head = "saved 4 GiB (+0 bytes in 1 s) for 0 µs of ksmd's CPU (0.0 % of one; worst minute 0.0 %), 0 passes; " +
		"worked: first two passes; " +
		"now working: y"
	if got := b.line(r, Order{State: Working, Why: "y"}); got != head {
		t.Errorf("at once:\n%s", got)
	}
	r.At, r.CPU, r.Sharing, r.Started, r.Suffers, c.Passes = start.Add(20*time.Second), 3*time.Second, 1<<20+256, 2, "the host", 2
	b.enter(r, Order{State: Resting, Why: "z"}, c)
	r.Started, r.Suffers = 1, ""
	b.enter(r, Order{State: Resting, Why: "z"}, c)
	for saved, want := range map[uint64]string{1<<20 + 256: "saved 4 GiB (+1 MiB in 20 s)", 1 << 20: "saved 4 GiB (+0 bytes in 20 s)",
		1<<20 - 256: "saved 4 GiB (-1 MiB in 20 s)"} {
		r.Sharing = saved
		want += " for 2 s of ksmd's CPU (10.0 % of one; worst minute 0.0 %), 2 passes; worked: first two passes; 3 guests started; " +
			"gave way: the host; now resting: z"
		if got := b.line(r, Order{State: Resting, Why: "z"}); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	if b.in[Working] != 20*time.Second || b.in[Resting] != 0 {
		t.Errorf("%v", b.in)
	}
	b.begin(r)
	if got := b.line(r, Order{State: Resting}); strings.Contains(got, "guest") || strings.Contains(got, "gave way") ||
		!strings.Contains(got, " 0 passes") {
		t.Errorf("begun again: %s", got)
	}
}

// TestMetrics: each with what it counts.
func TestMetrics(t *testing.T) {
	r := Reading{Page: 4096, Guests: 3,
		State: ksm.State{At: time.Unix(1e9, 0), Sharing: 2, Shared: 1, Unshared: 4, CPU: 1500 * time.Millisecond, Breaks: 7}}
	c := &Controller{Policy: Default, budgetShare: 1, Passes: 9}
	got := string(newBook().metrics(r, Order{State: Waiting}, c))
	for _, want := range []string{"saved_bytes 8192", "known_bytes 28672", "cpu_seconds_total 1.5", "breaks_total 7", "passes_total 9",
		"last_minute_cpu_seconds 0", "budget_share 0.2", "guests 3", `state{state="working"} 0`, `state{state="waiting"} 1`,
		"last_look_seconds 1000000000"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "profit") {
		t.Error("a profit of a kernel that does not tell it")
	}
}

// TestStalled: the share of the kind asked for.
func TestStalled(t *testing.T) {
	const both = "\nsome avg10=1.50 avg60=0.00\nfull avg10=25.00 avg60=0.00\n"
	for _, c := range []struct {
		text, kind string
		share      float64
		ok         bool
	}{{both, "some", 0.015, true}, {both, "full", 0.25, true}, {both, "none", 0, false}, {"some\n", "some", 0, false},
		{"some avg60=1\n", "some", 0, false},
		{"some avg10=x\n", "some", 0, false}, {"some avg10=100.00\n", "some", 1, true}} {
		if share, ok := stalled([]byte(c.text), c.kind); ok != c.ok || ok && share != c.share {
			t.Errorf("%s of %q: %v, %v", c.kind, c.text, share, ok)
		}
	}
	for text, want := range map[string]string{"0-2,8\n": "[0 1 2 8]", "5": "[5]", "1-1": "[1]", "3-1": "[]", "x,2,1-x,4": "[2 4]", "": "[]"} {
		if got := fmt.Sprint(cpuList(text)); got != want {
			t.Errorf("CPUs %q: %s, want %s", text, got, want)
		}
	}
}

// TestTicks: of CPUs one by one; guests are part of user time, and waiting for disks is idle.
func TestTicks(t *testing.T) {
	k := fakeHost(t)
	e := &eyes{kernel: k}
	if got := e.perCPU(); got != nil {
		t.Errorf("without /proc/stat: %v", got)
	}
	put(t, k.Root, "proc/stat", "cpu 9 9 9 9 9 9 9 9 9 9\nintr 1 2 3 4 5 6\ncpu0 1 2 3 4 5 6 7 8 100 100\ncpu1 1 1\ncpu7 1 1 1 10 20\n"+
		"cpu8 1 x 1 10\n")
	if got := fmt.Sprint(e.perCPU()); got != "map[0:{36 9} 7:{33 30}]" {
		t.Error(got)
	}
}

// TestSlices: where guests' control groups are, and who waits long enough to be told.
func TestSlices(t *testing.T) {
	k := fakeHost(t)
	e := &eyes{kernel: k, programs: k.Programs(), limit: 0.2}
	for dir, share := range map[string]string{"machine.slice/a.scope": "19.99",
		"machine/b.libvirt-qemu": "20.00", "qemu.slice/100.scope": "50.00"} {
		put(t, k.Root, "sys/fs/cgroup/"+dir+"/cpu.pressure", "some avg10="+share+" avg60=0\n")
	}
	if got := strings.Join(e.guestGroups(), " "); got != "/sys/fs/cgroup/machine.slice/a.scope /sys/fs/cgroup/machine/b.libvirt-qemu "+
		"/sys/fs/cgroup/qemu.slice/100.scope" {
		t.Error(got)
	}
	if e.look(); e.suffers != "b.libvirt-qemu waits for CPU 20 % of the time" {
		t.Error(e.suffers)
	}
}

// TestNodes: the one that ksmd ran on, and only where there are several.
func TestNodes(t *testing.T) {
	ticks := func(busy, idle int) string { return fmt.Sprintf("cpu0 0 0 0 50 0 0\ncpu1 %d 0 0 %d 0 0\n", busy, idle) }
	for _, c := range []struct {
		name       string
		nodes      map[string]string
		busy, idle int
		want       string
	}{
		{"one node", map[string]string{"node0": "0-1"}, 100, 0, ""},
		{"97 busy, 3 idle", map[string]string{"node0": "0", "node1": "1"}, 97, 3, ""},
		{"98 busy, 2 idle", map[string]string{"node0": "0", "node1": "1"}, 98, 2, "NUMA node 1 has no idle CPU"},
		{"another node", map[string]string{"node0": "1", "node1": "0"}, 98, 2, "NUMA node 0 has no idle CPU"},
		{"where ksmd did not run", map[string]string{"node0": "0", "node1": "7"}, 98, 2, ""},
		{"after others without a list", map[string]string{"node0": "", "node0x": "1", "node1": "1"}, 98, 2, "NUMA node 1 has no idle CPU"},
		{"no time went by", map[string]string{"node0": "0", "node1": "1"}, 0, 0, ""},
	} {
		k := fakeHost(t)
		e := &eyes{kernel: k, programs: k.Programs(), limit: 0.2}
		for n, cpus := range c.nodes {
			if cpus == "" {
				put(t, k.Root, "sys/devices/system/node/"+n+"/meminfo", "")
				continue
			}
			put(t, k.Root, "sys/devices/system/node/"+n+"/cpulist", cpus+"\n")
		}
		if _, err := k.Read(); err != nil { // finds ksmd, on CPU 1
			t.Fatal(err)
		}
		put(t, k.Root, "proc/stat", ticks(100, 100))
		if e.look(); e.suffers != "" {
			t.Errorf("%s, at first: %q", c.name, e.suffers)
		}
		put(t, k.Root, "proc/stat", ticks(100+c.busy, 100+c.idle))
		if e.look(); e.suffers != c.want {
			t.Errorf("%s: %q, want %q", c.name, e.suffers, c.want)
		}
	}
}

// TestSet: what an order writes, in which order of names, and which write failed.
func TestSet(t *testing.T) {
	k := fakeHost(t)
	l, _, err := ksm.Take(k, filepath.Join(t.TempDir(), "lease"))
	if err != nil {
		t.Fatal(err)
	}
	tuner := &Tuner{Kernel: k, Lease: l}
	if err := tuner.set(Order{Pages: 7, Sleep: 30 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if got := value(t, k, "pages_to_scan") + " " + value(t, k, "sleep_millisecs") + " " + value(t, k, "smart_scan"); got != "7 30 1" {
		t.Error(got)
	}
	put(t, k.Root, ksm.Dir+"/pages_to_scan", "9\n")
	var taken *ksm.Taken
	if err := tuner.others(ksm.Seen{}); !errors.As(err, &taken) {
		t.Error(err)
	}
	put(t, k.Root, ksm.Dir+"/pages_to_scan", "7\n")
	if err := tuner.others(ksm.Seen{Tuned: 12}); err == nil || !strings.Contains(err.Error(), "ksmtuned runs (process 12)") {
		t.Error(err)
	}
	put(t, k.Root, ksm.Dir+"/advisor_mode", "none [scan-time]\n")
	if err := tuner.others(ksm.Seen{}); !errors.Is(err, ErrTwo) {
		t.Error(err)
	}
}
