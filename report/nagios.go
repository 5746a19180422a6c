package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"fettle/internal/ui"
	"fettle/trap"
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
	c := &n.counts
	state := [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[c.ExitNagios(n.opt.FailOn)]
	line := fmt.Sprintf("FETTLE %s - %s", state, c)
	if c.Accepted > 0 {
		line += fmt.Sprintf(", %d accepted", c.Accepted)
	}
	if c.Known > 0 {
		line += fmt.Sprintf(", %d known", c.Known)
	}
	if c.Resolved > 0 {
		line += fmt.Sprintf(", %d resolved", c.Resolved)
	}
	perf := fmt.Sprintf(" | critical=%d;;;0 warning=%d;;;0 notice=%d;;;0 unknown=%d;;;0 clear=%d;;;0 not_applicable=%d;;;0 accepted=%d;;;0 known=%d;;;0 time=%.3fs;;;0\n",
		c.Severities.Critical, c.Severities.Warning, c.Severities.Notice, c.Unknown, c.Clear, c.NotApplicable, c.Accepted, c.Known, took.Seconds())
	if names := n.names(nagiosMax - len(line) - len(perf) - len(": ")); names != "" {
		line += ": " + names
	}
	_, err := io.WriteString(n.w, line+perf)
	return err
}

// names lists the gravest first, then what is not known, within room bytes.
func (n *nagios) names(room int) string {
	room -= len(", and 100000 more")
	var out []string
	size, left := 0, 0
	for _, o := range outcomesWorstFirst(worstFirst(n.results)) {
		var s string
		switch {
		case o.Status == trap.Found && !o.Hidden():
			s = severityName(o.Severity) + " " + NagiosText(o.ID())
		case isUnknown(o):
			s = "unknown " + NagiosText(o.ID())
		default:
			continue
		}
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
