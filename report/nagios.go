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

// nagiosMax bounds the names in the line: old NRPE cuts output at 1024 bytes,
// and the performance data must survive.
const nagiosMax = 600

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
	if names := n.names(); names != "" {
		line += ": " + names
	}
	_, err := fmt.Fprintf(n.w, "%s | critical=%d;;;0 warning=%d;;;0 notice=%d;;;0 unknown=%d;;;0 clear=%d;;;0 not_applicable=%d;;;0 accepted=%d;;;0 known=%d;;;0 time=%.3fs;;;0\n",
		line, c.Severities.Critical, c.Severities.Warning, c.Severities.Notice, c.Unknown, c.Clear, c.NotApplicable, c.Accepted, c.Known, took.Seconds())
	return err
}

// names lists the gravest first, then what could not be looked at.
func (n *nagios) names() string {
	var out []string
	size, left := 0, 0
	add := func(s string) {
		if size += len(s) + 2; size > nagiosMax {
			left++
			return
		}
		out = append(out, s)
	}
	for sev := trap.Critical; sev >= trap.Notice; sev-- {
		n.each(func(o *trap.Outcome) {
			if o.Status == trap.Found && !o.Hidden() && (o.Severity == sev || sev == trap.Notice && o.Severity < sev) {
				add(severityName(o.Severity) + " " + NagiosText(o.ID()))
			}
		})
	}
	n.each(func(o *trap.Outcome) {
		if o.Status == trap.Unknown {
			add("unknown " + NagiosText(o.ID()))
		}
	})
	if left > 0 {
		out = append(out, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(out, ", ")
}

func (n *nagios) each(do func(*trap.Outcome)) {
	for _, r := range n.results {
		for i := range r.Outcomes {
			do(&r.Outcomes[i])
		}
	}
}

// NagiosText makes s safe where a pipe sign begins the performance data.
func NagiosText(s string) string { return strings.ReplaceAll(ui.Visible(s), "|", "!") }
