// Package installer reads the log of Debian's installer and reports the
// duration of its phases.
package installer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"fettle/internal/lazy"
)

// Phase is one part of an installation.
type Phase struct {
	Name  string
	Start time.Time     // of a year that the log does not name
	Took  time.Duration // 0 for one that is not Done
	// Done: the log says when it ended.
	Done bool
	// Jumped: the clock was set within it, so that Took means nothing.
	Jumped bool
}

// Run is one installation.
type Run struct {
	Name   string // of the log
	Phases []Phase
	// Packages is pkgsel's work on packages: from "starting tasksel" to
	// "finishing up".
	Packages *Phase
	Lines    int // lines with a time
}

// Log lines are those of busybox's syslogd: "Nov 22 14:00:00 main-menu[512]: …",
// with a host name where the log was copied by another one.
var (
	stamped  = lazy.Regexp(`^([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?:\S+ )??([a-zA-Z0-9_.-]+)(?:\[\d+\])?: (.*)$`)
	selected = lazy.Regexp(`(?:INFO: )?Menu item '([^']+)' selected`)
)

const (
	maxLines  = 5_000_000
	maxPhases = 1000
)

// back is how far a clock may go back without having been set: lines of
// several programs.
const back = 2 * time.Second

// Read reads a log. It is an error when no line is the installer's.
func Read(name string, r io.Reader) (Run, error) {
	run := Run{Name: name}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	var c clock
	for n := 0; s.Scan(); n++ {
		if n == maxLines {
			return run, fmt.Errorf("%s has more than %d lines", name, maxLines)
		}
		m := stamped().FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		at, jumped, err := c.read(m[1])
		if err != nil {
			continue
		}
		run.Lines++
		if jumped {
			run.jump()
		}
		run.line(at, m[2], m[3])
		c.last = at
	}
	if err := s.Err(); err != nil {
		return run, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(run.Phases) == 0 && run.Packages == nil {
		return run, fmt.Errorf(
			"%s has no line of main-menu or pkgsel: expected the syslog of Debian's installer, which an installed system keeps as "+
				"/var/log/installer/syslog",
			name,
		)
	}
	if n := len(run.Phases); n > 0 && run.Phases[n-1].Name == lastPhase { // the machine restarts, and the log ends with it
		run.end(c.last)
	}
	return run, nil
}

// lastPhase is the menu's item that ends with the restart; of any other that is open
// at the end of the log nobody knows how long it took.
const lastPhase = "finish-install"

// clock gives times without a year their order.
type clock struct {
	last time.Time
	year int
}

var errTime = errors.New("no time")

// read reads a time. From December to January the year goes on; anything else
// that goes back, or leaps a day, is a clock that was set.
func (c *clock) read(s string) (at time.Time, jumped bool, err error) {
	at, err = time.Parse(time.Stamp, s)
	if err != nil {
		return at, false, errTime
	}
	at = at.AddDate(c.year, 0, 0)
	if c.last.IsZero() {
		return at, false, nil
	}
	if at.Month() == time.January && c.last.Month() == time.December {
		c.year++
		at = at.AddDate(1, 0, 0)
	}
	d := at.Sub(c.last)
	return at, d < -back || d > 24*time.Hour, nil
}

// line begins and ends phases.
func (r *Run) line(at time.Time, program, text string) {
	switch {
	case program == "main-menu":
		m := selected().FindStringSubmatch(text)
		if m != nil && len(r.Phases) < maxPhases {
			r.end(at)
			r.Phases = append(r.Phases, Phase{Name: m[1], Start: at})
		}
	case program == "pkgsel" && text == "starting tasksel" && (r.Packages == nil || !r.Packages.Done):
		r.Packages = &Phase{Name: "packages", Start: at} // after a failure it begins again
	case program == "pkgsel" && text == "finishing up" && r.Packages != nil && !r.Packages.Done:
		r.Packages.finish(at)
	}
}

// end ends the phase that is open.
func (r *Run) end(at time.Time) {
	if n := len(r.Phases); n > 0 && !r.Phases[n-1].Done {
		r.Phases[n-1].finish(at)
	}
}

func (p *Phase) finish(at time.Time) {
	p.Done = true
	if !p.Jumped {
		p.Took = max(0, at.Sub(p.Start))
	}
}

// jump marks what was open when the clock was set.
func (r *Run) jump() {
	if n := len(r.Phases); n > 0 && !r.Phases[n-1].Done {
		r.Phases[n-1].Jumped = true
	}
	if r.Packages != nil && !r.Packages.Done {
		r.Packages.Jumped = true
	}
}

// Sums adds up the phases of one name, which main-menu may select again, in the
// order of their first beginning. What was not timed is left out.
func (r *Run) Sums() []Phase {
	var out []Phase
	at := map[string]int{}
	for _, p := range r.Phases {
		i, ok := at[p.Name]
		if !ok {
			at[p.Name] = len(out)
			out = append(out, p)
			continue
		}
		out[i].Took += p.Took
		out[i].Done = out[i].Done && p.Done
		out[i].Jumped = out[i].Jumped || p.Jumped
	}
	return out
}

// Saved is what a phase took less than in another run, as a share of that:
// 0.31 where 64 minutes became 44. False: one of them was not timed.
func Saved(before, after *Phase) (float64, bool) {
	if before == nil || after == nil || !before.timed() || !after.timed() || before.Took <= 0 {
		return 0, false
	}
	return 1 - float64(after.Took)/float64(before.Took), true
}

func (p *Phase) timed() bool { return p.Done && !p.Jumped }
