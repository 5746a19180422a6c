package report

import (
	"fmt"
	"io"
	"slices"
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
	w      io.Writer
	timing bool
}

func newPrometheus(w io.Writer, opt Options) Writer { return &prometheus{w: w, timing: opt.Timing} }

func (p *prometheus) End(took time.Duration) error {
	results := worstFirst(p.results)
	var b strings.Builder
	family := func(name, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	}
	family("fettle_info", "What checked, and what kind of host.")
	fmt.Fprintf(&b, "fettle_info{version=%s,kind=%s} 1\n", label(p.meta.Version), label(string(p.meta.Kind)))
	family("fettle_finding", "A trap met in one subject. State: open counts, accepted and known do not.")
	each(results, func(o *trap.Outcome) {
		if o.Status == trap.Found {
			fmt.Fprintf(&b, "fettle_finding{trap=%s,subject=%s,severity=%s,state=%s} 1\n",
				label(o.Trap), label(o.Subject), label(severityName(o.Severity)), label(findingState(o)))
		}
	})
	family("fettle_finding_since_timestamp_seconds", "When check --new showed a finding first.")
	each(results, func(o *trap.Outcome) {
		if o.Status == trap.Found && !o.Since.IsZero() {
			fmt.Fprintf(&b, "fettle_finding_since_timestamp_seconds{trap=%s,subject=%s} %d\n", label(o.Trap), label(o.Subject), o.Since.Unix())
		}
	})
	family("fettle_resolved", "A finding that an earlier run with --new showed and that is gone.")
	for _, r := range results {
		for _, was := range r.Resolved {
			fmt.Fprintf(&b, "fettle_resolved{trap=%s,subject=%s} 1\n", label(r.Trap), label(was.Subject))
		}
	}
	family("fettle_unknown", "A trap of which a subject is unknown.")
	for _, r := range results {
		if slices.ContainsFunc(r.Outcomes, func(o trap.Outcome) bool { return isUnknown(&o) }) {
			fmt.Fprintf(&b, "fettle_unknown{trap=%s} 1\n", label(r.Trap))
		}
	}
	c := &p.counts
	family("fettle_findings", "Open findings by severity.")
	for _, n := range []figure{{"critical", c.Severities.Critical}, {"warning", c.Severities.Warning}, {"notice", c.Severities.Notice}} {
		fmt.Fprintf(&b, "fettle_findings{severity=%q} %d\n", n.name, n.n)
	}
	family("fettle_outcomes", "Subjects of all traps by what their checks said.")
	for _, n := range []figure{{"found", c.Found}, {"clear", c.Clear}, {"not-applicable", c.NotApplicable}, {"unknown", c.Unknown},
		{"accepted", c.Accepted}, {"known", c.Known}} {
		fmt.Fprintf(&b, "fettle_outcomes{status=%q} %d\n", n.name, n.n)
	}
	if p.timing {
		family("fettle_check_duration_seconds", "How long a trap's check took.")
		for _, r := range results {
			fmt.Fprintf(&b, "fettle_check_duration_seconds{trap=%s} %s\n", label(r.Trap), float(r.Took.Seconds()))
		}
	}
	family("fettle_run_duration_seconds", "How long the whole run took.")
	fmt.Fprintf(&b, "fettle_run_duration_seconds %s\n", float(took.Seconds()))
	family("fettle_run_timestamp_seconds", "When the run began; alert when it gets old.")
	fmt.Fprintf(&b, "fettle_run_timestamp_seconds %d\n", p.meta.Started.Unix())
	_, err := io.WriteString(p.w, b.String())
	return err
}

// figure is a count with its name.
type figure struct {
	name string
	n    int
}

// each calls do for every outcome.
func each(results []trap.Result, do func(*trap.Outcome)) {
	for _, r := range results {
		for i := range r.Outcomes {
			do(&r.Outcomes[i])
		}
	}
}

func findingState(o *trap.Outcome) string {
	switch {
	case !o.Hidden():
		return "open"
	case o.Known:
		return "known"
	case o.Below:
		return "below"
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
