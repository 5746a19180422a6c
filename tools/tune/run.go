package tune

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"fettle/internal/units"
	"fettle/tools/measure/ksm"
)

// Tuner runs a Controller on a kernel.
type Tuner struct {
	Kernel *ksm.Kernel
	Lease  *ksm.Lease
	Policy Policy
	// Tell is given a line each Every, and one at the end.
	Tell  func(line string)
	Every time.Duration
	// Publish is given the metrics every few seconds.
	Publish func(metrics []byte) error
	// Once ends the run after the passes that are due at its beginning.
	Once bool
}

// Comm is the name of the process, by which fettle check knows that the pace is
// set: at most 15 bytes.
const Comm = "fettle-tune-ksm"

// ErrTwo is the error where somebody else sets ksmd's pace already.
var ErrTwo = errors.New("another program sets KSM's pace")

// Alone tells whether nobody else sets ksmd's pace: the kernel's advisor or
// ksmtuned.
func Alone(k *ksm.Kernel) error {
	if err := unadvised(k); err != nil {
		return err
	}
	s, err := k.Programs().Look()
	if err != nil {
		return err
	}
	return besides(s)
}

func unadvised(k *ksm.Kernel) error {
	if mode, err := k.Value("advisor_mode"); err == nil && mode != "none" {
		return fmt.Errorf(
			"%w: the kernel's advisor is on (advisor_mode is %s); turn it off with: echo none > %s/advisor_mode",
			ErrTwo,
			mode,
			ksm.Dir,
		)
	}
	return nil
}

func besides(s ksm.Seen) error {
	if s.Tuned != 0 {
		return fmt.Errorf("%w: ksmtuned runs (process %d); end it with: systemctl stop ksmtuned", ErrTwo, s.Tuned)
	}
	return nil
}

// lookEvery is how often what takes longer is read: processes, cgroups, the
// settings of others.
const lookEvery = 2 * time.Second

// publishEvery is how often metrics are written.
const publishEvery = 5 * time.Second

// Run sets ksmd's pace until ctx ends, or until somebody else sets it: then
// the error is ksm.Taken or ErrTwo. Giving back is for the caller, who has the lease.
func (t *Tuner) Run(ctx context.Context) error {
	c := &Controller{Policy: t.Policy}
	b := newBook()
	eyes := &eyes{kernel: t.Kernel, programs: t.Kernel.Programs(), limit: t.Policy.Pressure}
	var looked, published time.Time
	for {
		s, err := t.Kernel.Read()
		if err != nil {
			return err
		}
		r := Reading{State: s, Page: t.Kernel.PageSize}
		if s.At.Sub(looked) >= lookEvery {
			eyes.look()
			if err := t.others(eyes.seen); err != nil {
				return err
			}
			looked, r.Started = s.At, eyes.started
		}
		r.Guests, r.Suffers, r.Offered = len(eyes.seen.Guests), eyes.suffers, s.Anon
		if r.Guests > 0 {
			r.Offered = eyes.seen.Memory
		}
		o := c.Step(r)
		if err := t.set(o); err != nil {
			return err
		}
		b.enter(r, o, c)
		if t.Publish != nil && s.At.Sub(published) >= publishEvery {
			published = s.At
			if err := t.Publish(b.metrics(r, o, c)); err != nil {
				return err
			}
		}
		if t.Every > 0 && s.At.Sub(b.since) >= t.Every {
			t.say(b.line(r, o))
			b.begin(r)
		}
		if t.Once && o.State == Resting {
			t.say(b.line(r, o))
			return nil
		}
		select {
		case <-ctx.Done():
			if s, err := t.Kernel.Read(); err == nil {
				r.State = s
			}
			t.say(b.line(r, o))
			return nil
		case <-time.After(o.Next):
		}
	}
}

func (t *Tuner) say(line string) {
	if t.Tell != nil {
		t.Tell(line)
	}
}

// others looks for somebody who began to set KSM since.
func (t *Tuner) others(seen ksm.Seen) error {
	if err := t.Lease.Check(); err != nil {
		return err
	}
	if err := unadvised(t.Kernel); err != nil {
		return err
	}
	return besides(seen)
}

// set writes an order. What the kernel does not have is left out; smart_scan
// (Linux 6.7) is turned on, because it skips pages that never merged.
func (t *Tuner) set(o Order) error {
	for _, s := range []struct{ name, value string }{
		{"smart_scan", "1"},
		{"sleep_millisecs", strconv.FormatInt(o.Sleep.Milliseconds(), 10)},
		{"pages_to_scan", strconv.FormatUint(o.Pages, 10)},
		{"run", "1"},
	} {
		if s.name == "smart_scan" && !t.Kernel.Has(s.name) {
			continue
		}
		if err := t.Lease.Set(s.name, s.value); err != nil {
			return err
		}
	}
	return nil
}

// book is what happened since the last line.
type book struct {
	since   time.Time
	cpu     time.Duration
	saved   uint64
	passes  int
	in      map[Activity]time.Duration
	last    time.Time
	state   Activity
	why     string
	started int
	suffer  string
	worst   time.Duration // CPU time of the worst minute
	begun   bool
	count   int // passes by the controller, all in all
}

func newBook() *book { return &book{in: map[Activity]time.Duration{}} }

func (b *book) begin(r Reading) {
	b.since, b.cpu, b.saved, b.passes = r.At, r.CPU, r.Saved(), b.count
	b.in, b.started, b.suffer, b.worst = map[Activity]time.Duration{}, 0, "", 0
}

func (b *book) enter(r Reading, o Order, c *Controller) {
	if !b.begun {
		b.begun, b.last, b.state = true, r.At, o.State
		b.begin(r)
	}
	b.in[b.state] += r.At.Sub(b.last)
	b.last, b.state = r.At, o.State
	b.started += r.Started
	b.count = c.Passes
	if r.Suffers != "" {
		b.suffer = r.Suffers
	}
	if o.State == Working {
		b.why = o.Why
	}
	b.worst = max(b.worst, c.spent.lastMinute())
}

// line is what was done since the last line, and why.
func (b *book) line(r Reading, o Order) string {
	took := max(r.At.Sub(b.since), time.Second)
	change := "+" + units.Size((r.Saved()-min(b.saved, r.Saved()))*r.Page)
	if r.Saved() < b.saved {
		change = "-" + units.Size((b.saved-r.Saved())*r.Page)
	}
	s := fmt.Sprintf("saved %s (%s in %s) for %s of ksmd's CPU (%.1f %% of one; worst minute %.1f %%), %s",
		units.Size(r.Saved()*r.Page), change, units.Duration(took), units.Duration(r.CPU-b.cpu),
		100*(r.CPU-b.cpu).Seconds()/took.Seconds(), 100*b.worst.Seconds()/window.Seconds(), units.Count(b.count-b.passes, "pass", "passes"))
	if b.why != "" {
		s += "; worked: " + b.why
	}
	if b.started > 0 {
		s += "; " + units.Count(b.started, "guest", "guests") + " started"
	}
	if b.suffer != "" {
		s += "; gave way: " + b.suffer
	}
	return s + fmt.Sprintf("; now %s: %s", o.State, o.Why)
}
