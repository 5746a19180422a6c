package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"fettle/internal/ui"
	"fettle/trap"
)

// prometheus writes the text exposition format 0.0.4, for node_exporter's
// textfile collector. It writes no host label: Prometheus adds the instance.
type prometheus struct {
	collected
	w io.Writer
}

func newPrometheus(w io.Writer, _ Options) Writer { return &prometheus{w: w} }

func (p *prometheus) End(took time.Duration) error {
	var b strings.Builder
	family := func(name, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	}
	family("fettle_info", "What looked, and at what kind of host.")
	fmt.Fprintf(&b, "fettle_info{version=%s,kind=%s} 1\n", label(p.meta.Version), label(string(p.meta.Kind)))
	family("fettle_finding", "A trap met in one subject; state tells apart what counts, what was accepted and what check --new showed already.")
	for _, r := range p.results {
		for i := range r.Outcomes {
			if o := &r.Outcomes[i]; o.Status == trap.Found {
				fmt.Fprintf(&b, "fettle_finding{trap=%s,subject=%s,severity=%s,state=%s} 1\n",
					label(o.Trap), label(o.Subject), label(severityName(o.Severity)), label(findingState(o)))
			}
		}
	}
	family("fettle_outcomes", "Subjects of a trap by what its check said; unknown could not be looked at.")
	for _, r := range p.results {
		var c Counts
		c.Add(r)
		for _, s := range []struct {
			status string
			n      int
		}{{"found", c.Found}, {"clear", c.Clear}, {"not-applicable", c.NotApplicable}, {"unknown", c.Unknown}, {"accepted", c.Accepted}, {"known", c.Known}} {
			fmt.Fprintf(&b, "fettle_outcomes{trap=%s,status=%q} %d\n", label(r.Trap), s.status, s.n)
		}
	}
	family("fettle_check_duration_seconds", "How long a trap's check took.")
	for _, r := range p.results {
		fmt.Fprintf(&b, "fettle_check_duration_seconds{trap=%s} %s\n", label(r.Trap), float(r.Took.Seconds()))
	}
	family("fettle_run_duration_seconds", "How long the whole run took.")
	fmt.Fprintf(&b, "fettle_run_duration_seconds %s\n", float(took.Seconds()))
	family("fettle_run_timestamp_seconds", "When the run began; alert when it gets old.")
	fmt.Fprintf(&b, "fettle_run_timestamp_seconds %d\n", p.meta.Started.Unix())
	_, err := io.WriteString(p.w, b.String())
	return err
}

func findingState(o *trap.Outcome) string {
	switch {
	case !o.Hidden():
		return "open"
	case o.Known:
		return "known"
	}
	return "accepted"
}

var labelEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// label quotes a label's value. Label values are UTF-8: other bytes become
// U+FFFD, and what a terminal would act on is written out.
func label(s string) string {
	return `"` + labelEscape.Replace(ui.Visible(strings.ToValidUTF8(s, "\uFFFD"))) + `"`
}

func float(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
