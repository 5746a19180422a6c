package blockcache

import (
	"context"
	"fmt"
	"os"
	"time"

	"fettle/internal/units"
)

// Kinds are the runs of a measurement, in order.
var Kinds = []struct{ Name, About string }{
	{"slow", "slow device"},
	{"fast", "fast device"},
	{"empty", "cache, first run"},
	{"same", "cache, same data again"},
	{"other", "cache, other data"},
}

// About says what a kind of run is.
func About(kind string) string {
	for _, k := range Kinds {
		if k.Name == kind {
			return k.About
		}
	}
	return kind
}

// Measurement is what to measure.
type Measurement struct {
	Slow, Fast, Cached string // folders or block devices; "" is left out
	Job                Job
	Runtime            time.Duration // of each run
	Interval           time.Duration // of readings; 0 chooses
	Destroy            bool          // the load may write to block devices
	Out                string        // a folder that is not there yet, for the runs
	Tell               func(Progress)
}

// Progress is how far a measurement is.
type Progress struct {
	Doing   string
	Run     int // from 1
	Runs    int
	Left    time.Duration // of all runs, without the making of files
	Ends    bool          // a run ended: Outcome tells how
	Outcome *Run
	Note    string // something to know that is no progress
}

// UsageError is a measurement that was not begun.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

func refusef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// site is where the runs on one target find their data.
type site struct {
	Target
	option string
	kinds  []string
	dir    string // the folder of our own in a target that is one
}

// Do measures. Where it fails or ctx ends, its files on the targets are
// removed; runs that ended before are kept in Out, unless there are none.
func Do(ctx context.Context, m Measurement) (runs []*Run, err error) {
	if m.Tell == nil {
		m.Tell = func(Progress) {}
	}
	places, err := m.check()
	if err != nil {
		return nil, err
	}
	if m.Interval == 0 {
		m.Interval = interval(m.Runtime)
	}
	fio, err := FindFio(ctx)
	if err != nil {
		return nil, &UsageError{err}
	}
	for _, p := range places {
		if err := fio.understands(ctx, m.jobText(p.Device, false)); err != nil {
			return nil, refusef("the job: %w", err)
		}
	}
	if err := m.prepare(places); err != nil {
		return nil, err
	}
	for _, p := range places {
		if p.Device && m.Job.Writes {
			release, err := p.hold()
			if err != nil {
				return nil, &UsageError{err}
			}
			defer release()
		}
	}
	if err := os.Mkdir(m.Out, 0o755); err != nil {
		return nil, refusef("a folder for the runs: %w", err)
	}
	defer func() {
		if len(runs) == 0 {
			os.RemoveAll(m.Out)
		}
	}()
	all := 0
	for _, p := range places {
		all += len(p.kinds)
	}
	done := 0
	for _, p := range places {
		err := m.on(ctx, fio, p, func(kind string, doing string, left time.Duration) {
			m.Tell(Progress{Doing: doing + About(kind), Run: done + 1, Runs: all, Left: left + time.Duration(all-done-1)*m.Runtime})
		}, func(r *Run) {
			runs = append(runs, r)
			done++
			m.Tell(Progress{Run: done, Runs: all, Left: time.Duration(all-done) * m.Runtime, Ends: true, Outcome: r})
		})
		if err != nil {
			return runs, err
		}
	}
	return runs, nil
}

// interval is one of fio's own default for long runs, and shorter for short
// ones: a verdict wants readings.
func interval(runtime time.Duration) time.Duration {
	if runtime >= time.Minute {
		return 500 * time.Millisecond
	}
	return max(100*time.Millisecond, (runtime / 100).Truncate(50*time.Millisecond))
}

// check refuses what cannot be measured, before anything is touched.
func (m *Measurement) check() ([]*site, error) {
	switch {
	case m.Job.missingSize() != "":
		return nil, refusef("the job [%s] has no size=: how much data to read must be known", m.Job.missingSize())
	case m.Job.tooSmall() != "":
		return nil, refusef("the job [%s] has a size= of less than one block of 4 KiB", m.Job.tooSmall())
	case m.Runtime < 5*time.Second:
		return nil, refusef("a run of %v is too short: 5s is the least", m.Runtime)
	}
	var out []*site
	devices := map[string]string{}
	for _, x := range []struct {
		option, path string
		kinds        []string
	}{{"--slow", m.Slow, []string{"slow"}}, {"--fast", m.Fast, []string{"fast"}}, {"--cached", m.Cached, []string{"empty", "same", "other"}}} {
		if x.path == "" {
			continue
		}
		t, err := NewTarget(x.path)
		if err != nil {
			return nil, refusef("%s: %w", x.option, err)
		}
		major, minor, err := t.number()
		if err != nil {
			return nil, refusef("%s: %w", x.option, err)
		}
		number := fmt.Sprintf("%d:%d", major, minor)
		if other := devices[number]; other != "" {
			return nil, refusef("%s and %s are on the same device, %s: a comparison needs two", other, x.option, number)
		}
		devices[number] = x.option
		if t.Device && m.Job.Writes && !m.Destroy {
			return nil, refusef("the job writes, and %s %s is a block device: its data would be lost. --destroy allows it", x.option, x.path)
		}
		out = append(out, &site{Target: t, option: x.option, kinds: x.kinds})
	}
	if len(out) == 0 {
		return nil, refusef("nothing to measure: give --slow, --fast and --cached")
	}
	if _, err := os.Lstat(m.Out); err == nil {
		return nil, refusef("a folder for the runs: %s is there already", m.Out)
	}
	return out, nil
}

// prepare removes what killed measurements left, and refuses targets without
// room.
func (m *Measurement) prepare(places []*site) error {
	for _, p := range places {
		if err := p.writable(); err != nil {
			return refusef("%s: %w", p.option, err)
		}
	}
	for _, p := range places {
		if !p.Device {
			if err := sweep(p.Path, func(note string) { m.Tell(Progress{Note: note}) }); err != nil {
				return refusef("%s: %w", p.option, err)
			}
		}
		need := m.Job.Size()
		if len(p.kinds) > 1 {
			need *= 2 // other data lies beside the first
		}
		room, err := p.room()
		if err != nil {
			return refusef("%s: %w", p.option, err)
		}
		if room < need {
			return refusef(
				"%s %s has room for %s; the runs on it need %s: give a smaller --size",
				p.option,
				p.Path,
				units.Size(room),
				units.Size(need),
			)
		}
	}
	return nil
}
