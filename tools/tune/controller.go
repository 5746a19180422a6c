// Package tune sets the pace of ksmd, the kernel's thread that merges equal
// pages, so that its CPU time goes where merging pays.
//
// The controller has no input or output of its own: it is given readings and
// returns what to set. What it knows of the kernel (mm/ksm.c):
//
//   - A page is merged at the second pass that sees it unchanged, so new memory
//     takes two passes, and no number of slower ones does it sooner.
//   - ksmd ends a batch at the end of a pass, so a pass can be stopped after.
//   - A pass over memory that is merged already costs as much as the first.
//
// So it makes the passes that are due as fast as the budget allows, and then
// none until there is a reason: new guests, more memory in use, or the time
// after which as much as is tolerated will have come apart again.
package tune

import (
	"time"

	"fettle/internal/units"
	"fettle/tools/measure/ksm"
)

// Policy is what the admin wants.
type Policy struct {
	// Budget is ksmd's share of one CPU, over any minute; 0.2 is 20 %.
	Budget float64
	// Peak is its share at any moment; 1 is a whole CPU.
	Peak float64
	// Free is the share of memory that may be available before saving more is
	// pointless; 1 means that there is never enough.
	Free float64
	// Target is how many bytes saved are enough; 0 means as many as possible.
	Target uint64
	// Pressure is for what share of the time tasks may wait for CPU or memory
	// before ksmd gives way; 1 means never.
	Pressure float64
}

// Default is a fifth of one CPU while less than half of the memory is available.
var Default = Policy{Budget: 0.2, Peak: 1, Free: 0.5, Pressure: 0.2}

// Laws of the controller.
const (
	window = time.Minute // over which the budget holds

	restMin = 2 * time.Second
	restMax = 10 * time.Minute
	// backOff is how many times longer the rest is after a pass that merged little.
	backOff = 3
	// tolerated is the share of saved memory that may have come apart before
	// the next pass.
	tolerated = 0.025
	// worth is how many bytes a CPU second must save for passes to go on as often.
	worth = 1 << 20

	// aimed is the part of the budget that is spent on purpose; the rest is for
	// readings that come late on a busy host.
	aimed = 0.95
	// idle is the share of the budget while memory is free anyway: enough to be
	// ready when it no longer is.
	idle = 0.1
	// giveWay is the least share of the budget under pressure.
	giveWay = 1.0 / 16
	// yieldEvery is how often that share is halved, or raised by giveWay.
	yieldEvery = 5 * time.Second

	// batch is the CPU time of one batch at most: the kernel takes some settings
	// only between batches.
	batch = 100 * time.Millisecond
	// assumedCost is the CPU time for a page until it is measured.
	assumedCost = 2500 * time.Nanosecond
	// cautious is how many pages a batch has until their cost is measured: the
	// kernel does not end a batch early.
	cautious = 1000
	// stuck is after how long without any work ksmd has nothing to scan.
	stuck = 2 * time.Second
	// tick is the time between two readings while ksmd works, and quiet while it rests.
	tick  = 100 * time.Millisecond
	quiet = time.Second
)

// Reading is what the controller is given.
type Reading struct {
	ksm.State
	Page uint64 // bytes
	// Offered is the memory that may be merged, in bytes, as far as that is
	// known: that of guests, or all anonymous memory where there are none.
	Offered uint64
	Guests  int // virtual machines that run
	// Started is how many of them were not there at the reading before.
	Started int
	// Suffers names what waits too much; "" for nothing.
	Suffers string
}

// Order is what to set, and when to ask again.
type Order struct {
	Pages uint64        // pages_to_scan; 0: ksmd looks at nothing
	Sleep time.Duration // sleep_millisecs
	Next  time.Duration
	State Activity
	Why   string
}

// Activity is what ksmd is made to do.
type Activity string

const (
	Working Activity = "working"
	Resting Activity = "resting" // nothing is due
	Waiting Activity = "waiting" // the budget of this minute is spent
)

// Controller decides. The zero value with a Policy is ready.
type Controller struct {
	Policy Policy

	spent  ledger
	cost   time.Duration // CPU time a page
	learnt bool          // cost is measured
	costAt struct {      // when it was measured last
		scanned uint64
		cpu     time.Duration
	}
	begun  bool
	due    int // passes
	why    string
	pass   mark // when the pass that runs began
	rested mark // when the last pass ended
	rest   time.Duration
	moved  mark // when ksmd last did something while it was made to
	state  Activity
	// wakeBackoff multiplies the growth of memory that wakes ksmd: it rises when
	// growth turned out to be nothing that can be merged.
	wakeBackoff float64
	knownAtWake uint64    // what was known when growth woke ksmd; 0: it did not
	grownAtWake uint64    // by how many pages
	budgetShare float64   // of the policy's, 1 while nothing suffers
	pressureAt  time.Time // when it was judged last

	// Passes is how many ended; LastGain is what the last one merged, in pages,
	// and LastCost its CPU time.
	Passes   int
	LastGain uint64
	LastCost time.Duration
}

// mark is a moment with its figures.
type mark struct {
	at            time.Time
	scans         uint64
	saved, breaks uint64
	cpu           time.Duration
	offered       uint64
}

func markOf(r Reading) mark {
	return mark{r.At, r.Scans, r.Saved(), r.Breaks, r.CPU, r.Offered}
}

// Step takes a reading and returns what to set.
func (c *Controller) Step(r Reading) Order {
	if !c.begun {
		c.begin(r)
	}
	c.spent.add(r.At, r.CPU)
	c.measure(r)
	c.pressure(r)
	if r.Scans > c.pass.scans {
		c.passEnded(r)
	}
	c.wake(r)
	o := c.order(r)
	if c.state != Working || r.Scans != c.moved.scans || r.CPU-c.moved.cpu >= time.Millisecond {
		c.moved = markOf(r)
	}
	c.state = o.State
	if o.State == Working && r.At.Sub(c.moved.at) >= stuck {
		// ksmd sleeps while no program offers memory (mm/ksm.c, ksmd_should_run).
		// It begins by itself when one does.
		return Order{Pages: cautious, Sleep: quiet, Next: quiet, State: Resting, Why: "no program offers memory for merging"}
	}
	return o
}

func (c *Controller) begin(r Reading) {
	c.begun, c.due, c.why = true, 2, "first two passes"
	c.rest, c.wakeBackoff, c.budgetShare = restMin, 1, 1
	c.cost, c.pass, c.rested, c.pressureAt = assumedCost, markOf(r), markOf(r), r.At
	c.costAt.scanned, c.costAt.cpu = r.Scanned, r.CPU
	if r.Scanned > 1e6 && r.CPU > time.Second {
		c.learn(r.CPU / time.Duration(r.Scanned))
	}
}

// bounded keeps a reading gone wrong from stopping ksmd, or from running it
// away. An emulated CPU takes some 100 µs for a page.
func bounded(cost time.Duration) time.Duration {
	return min(max(cost, 100*time.Nanosecond), time.Millisecond)
}

// measure learns what a page costs, from 500 pages or more. Kernels before 6.6
// do not count them: there the pass tells (passEnded).
func (c *Controller) measure(r Reading) {
	pages := r.Scanned - min(c.costAt.scanned, r.Scanned)
	if pages < 500 || r.CPU <= c.costAt.cpu {
		return
	}
	c.learn((r.CPU - c.costAt.cpu) / time.Duration(pages))
	c.costAt.scanned, c.costAt.cpu = r.Scanned, r.CPU
}

func (c *Controller) learn(cost time.Duration) {
	now := bounded(cost)
	if !c.learnt {
		c.cost, c.learnt = now, true
	}
	c.cost += (now - c.cost) / 4
}

// pressure halves the budget while something suffers, and raises it slowly
// again when nothing does.
func (c *Controller) pressure(r Reading) {
	if r.At.Sub(c.pressureAt) < yieldEvery {
		return
	}
	c.pressureAt = r.At
	if r.Suffers != "" {
		c.budgetShare = max(c.budgetShare/2, giveWay)
	} else {
		c.budgetShare = min(c.budgetShare+giveWay, 1)
	}
}

func (c *Controller) passEnded(r Reading) {
	gain := r.Saved() - min(c.pass.saved, r.Saved())
	gain += r.Breaks - min(c.pass.breaks, r.Breaks)
	cost := r.CPU - c.pass.cpu
	n := int(min(r.Scans-c.pass.scans, 1<<20))
	c.Passes += n
	c.LastGain, c.LastCost = gain, cost
	c.due = max(c.due-n, 0)
	if r.Scanned == 0 && r.Known() > 0 && n == 1 {
		c.learn(cost / time.Duration(r.Known()))
	}
	c.judgeWake(r)
	c.pass, c.rested = markOf(r), markOf(r)
	if c.due > 0 {
		return
	}
	little := max(uint64(tolerated*float64(r.Saved())), 256)
	poor := float64(gain*r.Page) < worth*cost.Seconds()
	switch {
	case poor:
		c.rest = min(backOff*c.rest, restMax)
	case gain > 2*little:
		c.rest = restMin
	case gain > little:
		c.rest = max(c.rest/2, restMin)
	case gain < little/2:
		c.rest = min(backOff*c.rest, restMax)
	}
}

// judgeWake judges the passes that growth asked for: growth that brought ksmd
// nothing to know of must be larger the next time.
func (c *Controller) judgeWake(r Reading) {
	if c.knownAtWake == 0 || c.due > 0 {
		return
	}
	if r.Known() < c.knownAtWake+c.grownAtWake/10 {
		c.wakeBackoff = min(2*c.wakeBackoff, 64)
	} else {
		c.wakeBackoff = 1
	}
	c.knownAtWake = 0
}

// wake finds reasons for passes.
func (c *Controller) wake(r Reading) {
	switch {
	case r.Started > 0 && c.due > 0:
		// ksmd enters new memory behind the place where it is (mm/ksm.c,
		// __ksm_enter): this pass does not come by there any more.
		c.due, c.why, c.wakeBackoff, c.rest = 3, started(r), 1, restMin
		return
	case r.Started > 0:
		c.due, c.why, c.wakeBackoff, c.rest = 2, started(r), 1, restMin
	case c.due == 0 && r.At.Sub(c.rested.at) >= restMin && c.growth(r) > 0:
		c.due, c.why = 2, "memory that may merge grew by "+units.Size(c.growth(r)*r.Page)
		c.knownAtWake, c.grownAtWake = max(r.Known(), 1), c.growth(r)
		c.rest = restMin
	case c.due == 0 && r.At.Sub(c.rested.at) >= c.rest:
		c.due, c.why = 1, "looked again after "+units.Duration(c.rest)
	default:
		return
	}
	c.pass = markOf(r)
	c.rested = markOf(r)
}

func started(r Reading) string { return units.Count(r.Started, "guest", "guests") + " started" }

// growth is how many pages more are in use than at the end of the last pass;
// 0 where that is too little to look.
func (c *Controller) growth(r Reading) uint64 {
	if r.Offered <= c.rested.offered {
		return 0
	}
	pages := (r.Offered - c.rested.offered) / r.Page
	enough := max(c.wakeBackoff*float64(16<<20)/float64(r.Page), c.wakeBackoff*0.02*float64(r.Known()))
	if float64(pages) < enough {
		return 0
	}
	return pages
}

// order turns what is due into a pace.
func (c *Controller) order(r Reading) Order {
	share, why := c.share(r)
	if c.Policy.Target > 0 && r.Saved()*r.Page >= c.Policy.Target {
		return Order{Sleep: quiet, Next: quiet, State: Resting, Why: "the target is saved"}
	}
	if c.due == 0 {
		return Order{Sleep: quiet, Next: quiet, State: Resting, Why: "the last pass merged little"}
	}
	left := time.Duration(aimed*share*float64(window)) - c.spent.lastMinute()
	if left < min(5*time.Millisecond, time.Duration(share*float64(window))/10) {
		return Order{Sleep: quiet, Next: quiet, State: Waiting, Why: why + "the budget of this minute is spent"}
	}
	// The pages that a scan has to look at; before the first one is through,
	// nobody knows more than how much memory is in use.
	pages := r.Known()
	if r.Scans == 0 || c.knownAtWake > 0 {
		pages = max(pages, r.Offered/max(r.Page, 1))
	}
	need := time.Duration(c.due) * time.Duration(pages) * c.cost
	duty := share
	if need < left {
		duty = c.Policy.Peak
	}
	o := Order{Next: tick, State: Working, Why: why + c.why}
	// What is left must last until the next reading, even where the last one
	// of a minute comes late.
	duty = min(duty, max(left.Seconds()/(4*tick).Seconds(), share/4))
	o.Pages, o.Sleep = pace(duty, c.cost)
	if !c.learnt {
		o.Pages = min(o.Pages, cautious)
	}
	if rest := c.passLeft(r, pages); c.due == 1 && rest < tick {
		o.Next = max(rest, 10*time.Millisecond)
	}
	return o
}

// passLeft is the CPU time that the pass will still take.
func (c *Controller) passLeft(r Reading, pages uint64) time.Duration {
	return time.Duration(pages)*c.cost - (r.CPU - c.pass.cpu)
}

// share is the budget as it is now, and what cut it.
func (c *Controller) share(r Reading) (share float64, why string) {
	share = c.Policy.Budget
	if r.Total > 0 && float64(r.Available) > c.Policy.Free*float64(r.Total) {
		share *= idle
		why = "memory is free anyway; "
	}
	if c.budgetShare < 1 {
		share *= c.budgetShare
		why += "giving way"
		if r.Suffers != "" {
			why += ": " + r.Suffers
		}
		why += "; "
	}
	return share, why
}

// pace is a batch and a sleep that come to a share of one CPU. Sleeps are of
// whole milliseconds, and often of 4 or 10 (CONFIG_HZ): 20 is exact enough.
func pace(duty float64, cost time.Duration) (pages uint64, sleep time.Duration) {
	if duty >= 0.99 {
		return max(uint64(batch/cost), 1), 0
	}
	sleep = 20 * time.Millisecond
	work := time.Duration(float64(sleep) * duty / (1 - duty))
	if work > batch {
		work = batch
		sleep = (time.Duration(float64(batch)*(1-duty)/duty) + time.Millisecond/2).Truncate(time.Millisecond)
	}
	return max(uint64(work/cost), 1), sleep
}
