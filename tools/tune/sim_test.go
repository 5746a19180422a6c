package tune

import (
	"math/rand/v2"
	"testing"
	"time"

	"fettle/tools/measure/ksm"
)

// world is a host with ksmd, page by page, as mm/ksm.c does it: a page merges
// at the second pass that finds it unchanged, with another of its content.
type world struct {
	now      time.Time
	cost     time.Duration // CPU time a page
	busy     float64       // part of ksmd's time that others take
	pages    []simPage
	at       int // of the page that ksmd is at
	cpu      time.Duration
	scans    uint64
	scanned  uint64
	breaks   uint64
	merged   map[int]int // pages of a content that are merged
	tree     map[int]int // content → page in the unstable tree of this pass, +1
	rnd      *rand.Rand
	order    Order
	batch    uint64 // pages left of the batch
	asleep   time.Time
	total    uint64
	newborns int
	known    uint64 // pages that ksmd has seen
}

type simPage struct {
	content int // 0: like no other
	seen    bool
	changed bool // since ksmd saw it
	merged  bool
}

const simPageSize = 4096

func newWorld(cost time.Duration) *world {
	return &world{
		now:    time.Unix(1e9, 0),
		cost:   cost,
		merged: map[int]int{},
		tree:   map[int]int{},
		rnd:    rand.New(rand.NewPCG(1, 2)),
		total:  64 << 30,
	}
}

// guest starts one with so many pages, a share of which are equal to those of others.
func (w *world) guest(pages int, equal float64) {
	for i := range pages {
		p := simPage{}
		if float64(i) < equal*float64(pages) {
			p.content = 1 + i%128
		}
		w.pages = append(w.pages, p)
	}
	w.newborns++
}

// write changes a page that is merged or may be; it becomes equal to others
// again, as a page cache in a guest does.
func (w *world) write(i int) {
	p := &w.pages[i]
	if p.merged {
		w.breaks++
		w.merged[p.content]--
	}
	p.merged, p.changed = false, true
}

func (w *world) saved() uint64 {
	n := 0
	for _, m := range w.merged {
		n += max(m-1, 0)
	}
	return uint64(n)
}

// run lets time pass under the order.
func (w *world) run(d time.Duration) {
	end := w.now.Add(d)
	for w.now.Before(end) {
		if w.now.Before(w.asleep) {
			w.now = w.asleep
			if w.now.After(end) {
				w.now = end
			}
			continue
		}
		if w.batch == 0 {
			w.batch = w.order.Pages
			if w.batch == 0 {
				w.now = w.now.Add(time.Millisecond)
				continue
			}
		}
		w.scan()
		w.now = w.now.Add(time.Duration(float64(w.cost) / (1 - w.busy)))
		if w.batch--; w.batch == 0 {
			w.asleep = w.now.Add(w.order.Sleep)
		}
	}
}

func (w *world) scan() {
	if w.at >= len(w.pages) {
		w.at, w.batch = 0, 1
		w.scans++
		clear(w.tree)
		return
	}
	i := w.at
	p := &w.pages[i]
	w.at++
	w.cpu += w.cost
	w.scanned++
	if !p.seen {
		w.known++
	}
	switch {
	case p.merged:
	case w.merged[p.content] > 0:
		p.merged, p.seen, p.changed = true, true, false
		w.merged[p.content]++
	case !p.seen || p.changed:
		p.seen, p.changed = true, false
	case p.content != 0:
		if other := w.tree[p.content]; other == 0 {
			w.tree[p.content] = i + 1
		} else {
			w.pages[other-1].merged, p.merged = true, true
			w.merged[p.content] = 2
			delete(w.tree, p.content)
		}
	}
}

func (w *world) read() Reading {
	s := ksm.State{At: w.now, Run: 1, Sharing: w.saved(), Scanned: w.scanned, Scans: w.scans, Breaks: w.breaks, CPU: w.cpu,
		Total: w.total}
	s.Shared = w.known - min(s.Sharing, w.known)
	r := Reading{State: s, Page: simPageSize, Started: w.newborns, Offered: uint64(len(w.pages)) * simPageSize}
	w.newborns = 0
	return r
}

// story is a load: what happens at each second.
type story func(w *world, second int)

// outcome is what a pace came to.
type outcome struct {
	saved   [601]uint64        // at each second, in pages
	cpu     [601]time.Duration // since the beginning
	worst   time.Duration      // minute
	average float64            // saved
}

// play runs a load with the controller, or with a fixed order.
func play(load story, cost time.Duration, busy float64, seconds int, p *Policy, fixed Order) (out outcome) {
	w := newWorld(cost)
	w.busy = busy
	w.order = fixed
	c := &Controller{}
	if p != nil {
		c.Policy = *p
	}
	load(w, 0)
	start := w.now
	next := w.now
	for second := 1; second <= seconds; second++ {
		end := start.Add(time.Duration(second) * time.Second)
		for w.now.Before(end) {
			if p == nil {
				w.run(end.Sub(w.now))
				continue
			}
			if !w.now.Before(next) {
				o := c.Step(w.read())
				if o.Sleep != w.order.Sleep {
					w.asleep = w.now // the kernel wakes ksmd (5.0)
				}
				w.order = o
				next = w.now.Add(o.Next)
			}
			w.run(min(next.Sub(w.now), end.Sub(w.now)))
		}
		out.saved[second], out.cpu[second] = w.saved(), w.cpu
		out.average += float64(out.saved[second]) / float64(seconds)
		out.worst = max(out.worst, out.cpu[second]-out.cpu[max(0, second-60)])
		load(w, second)
	}
	return out
}

// mib is a quarter of the pages of a MiB, at four times the cost: the same, for
// less of the tests' own time.
const mib = 64

var loads = map[string]story{
	"stable, 10 % equal": stable(0.1),
	"stable, 50 % equal": stable(0.5),
	"stable, 90 % equal": stable(0.9),
	"churning": func(w *world, second int) {
		stable(0.5)(w, second)
		if second > 0 {
			for range mib / 2 { // half a MiB of 200 a second
				w.write(w.rnd.IntN(len(w.pages)))
			}
		}
	},
	"growing": func(w *world, second int) {
		if second%5 == 0 && second <= 50 {
			w.guest(40*mib, 0.5)
		}
	},
	"many small": func(w *world, second int) {
		if second == 0 {
			for range 300 {
				w.guest(2*mib, 0.8)
			}
		}
	},
}

func stable(equal float64) story {
	return func(w *world, second int) {
		if second == 0 {
			for range 4 {
				w.guest(100*mib, equal)
			}
		}
	}
}

// fast is the notes' pages_to_scan of 1e9, with the kernel's 20 ms.
var fast = Order{Pages: 1e9, Sleep: 20 * time.Millisecond}

// The goal: 95 % of what scanning without end saves, at half its CPU time or
// less, within the budget of every minute.
func TestSimulated(t *testing.T) {
	for name, load := range loads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Default
			p.Free = 1
			const cost = 10 * time.Microsecond
			best := play(load, cost, 0, 120, nil, fast)
			got := play(load, cost, 0, 120, &p, Order{})
			t.Logf("saved at 10 s %d of %d MiB, at 60 s %d of %d, average %.0f of %.0f; CPU %.1f of %.1f s, worst minute %.1f s",
				got.saved[10]/mib, best.saved[10]/mib, got.saved[60]/mib, best.saved[60]/mib, got.average/mib, best.average/mib,
				got.cpu[120].Seconds(), best.cpu[120].Seconds(), got.worst.Seconds())
			for _, at := range []int{60, 120} {
				if float64(got.saved[at]) < 0.95*float64(best.saved[at]) {
					t.Errorf("after %d s %d pages are saved; scanning without end saves %d", at, got.saved[at], best.saved[at])
				}
			}
			if 2*got.cpu[120] > best.cpu[120] {
				t.Errorf("%s of CPU; scanning without end takes %s", got.cpu[120], best.cpu[120])
			}
			if limit := time.Duration(p.Budget * float64(window)); got.worst > limit {
				t.Errorf("%s of CPU in one minute, over the budget of %s", got.worst, limit)
			}
		})
	}
}
