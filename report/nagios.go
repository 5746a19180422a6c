package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/ui"
)

// nagios writes one line with performance data, for Nagios, Icinga and
// others that run monitoring plugins. The exit status that belongs to it is
// Counts.ExitNagios.
type nagios struct {
	collected
	w   io.Writer
	opt Options
}

func newNagios(w io.Writer, opt Options) Writer { return &nagios{w: w, opt: opt} }

// nagiosMax bounds the whole line, in bytes: NRPE before version 3 cuts output
// there, and the performance data must survive.
const nagiosMax = 1024

func (n *nagios) End(took time.Duration) error {
	return NagiosLine{Counts: n.counts, FailOn: n.opt.FailOn, Names: n.names(), Took: took}.Write(n.w)
}

// NagiosLine is what the line says.
type NagiosLine struct {
	Of     string // what the counts are of, unless it is one host
	Counts Counts
	FailOn trap.Severity
	Names  []string // most severe first; those that do not fit are counted
	Perf   string   // performance data beside the counts
	Took   time.Duration
}

// Write writes the line.
func (n NagiosLine) Write(w io.Writer) error {
	c := &n.Counts
	state := [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[c.ExitNagios(n.FailOn)]
	line := fmt.Sprintf("FETTLE %s - %s%s", state, n.Of, c)
	if c.Accepted > 0 {
		line += fmt.Sprintf(", %d accepted", c.Accepted)
	}
	if c.Known > 0 {
		line += fmt.Sprintf(", %d known", c.Known)
	}
	if c.Resolved > 0 {
		line += fmt.Sprintf(", %d resolved", c.Resolved)
	}
	perf := fmt.Sprintf(
		" | critical=%d;;;0 warning=%d;;;0 notice=%d;;;0 unknown=%d;;;0 clear=%d;;;0 not_applicable=%d;;;0 accepted=%d;;;0 known=%d;;;0%s "+
			"time=%.3fs;;;0\n",
		c.Severities.Critical,
		c.Severities.Warning,
		c.Severities.Notice,
		c.Unknown,
		c.Clear,
		c.NotApplicable,
		c.Accepted,
		c.Known,
		n.Perf,
		n.Took.Seconds(),
	)
	if names := fitting(n.Names, nagiosMax-len(line)-len(perf)-len(": ")); names != "" {
		line += ": " + names
	}
	_, err := io.WriteString(w, line+perf)
	return err
}

// names lists the most severe first, then what is not known.
func (n *nagios) names() []string {
	var out []string
	for _, o := range outcomesWorstFirst(worstFirst(n.results)) {
		switch {
		case o.Status == trap.Found && !o.Hidden():
			out = append(out, severityName(o.Severity)+" "+o.ID())
		case isUnknown(o):
			out = append(out, "unknown "+o.ID())
		}
	}
	return out
}

// fitting joins the names that room bytes have room for, and counts the others.
func fitting(names []string, room int) string {
	room -= len(", and 100000 more")
	var out []string
	size, left := 0, 0
	for _, s := range names {
		s = NagiosText(s)
		if size += len(s) + len(", "); size > room {
			left++
			continue
		}
		out = append(out, s)
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(out, ", ")
}

// NagiosText makes s safe where a pipe sign begins the performance data.
func NagiosText(s string) string { return strings.ReplaceAll(ui.Visible(s), "|", "!") }
