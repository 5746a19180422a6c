package report

import (
	"io"
	"slices"
	"time"

	"fettle/internal/exposition"
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
	var page exposition.Text
	page.Gauge("fettle_info", "What checked, and what kind of host.")
	exposition.Add(&page, 1, "version", p.meta.Version, "kind", string(p.meta.Kind))
	page.Gauge("fettle_finding", "A trap met in one subject. State: open counts, accepted and known do not.")
	each(results, func(o *trap.Outcome) {
		if o.Status == trap.Found {
			exposition.Add(&page, 1, "trap", o.Trap, "subject", o.Subject, "severity", severityName(o.Severity), "state", findingState(o))
		}
	})
	page.Gauge("fettle_finding_since_timestamp_seconds", "When check --new showed a finding first.")
	each(results, func(o *trap.Outcome) {
		if o.Status == trap.Found && !o.Since.IsZero() {
			exposition.Add(&page, o.Since.Unix(), "trap", o.Trap, "subject", o.Subject)
		}
	})
	page.Gauge("fettle_resolved", "A finding that an earlier run with --new showed and that is gone.")
	for _, r := range results {
		for _, was := range r.Resolved {
			exposition.Add(&page, 1, "trap", r.Trap, "subject", was.Subject)
		}
	}
	page.Gauge("fettle_unknown", "A trap of which a subject is unknown.")
	for _, r := range results {
		if slices.ContainsFunc(r.Outcomes, func(o trap.Outcome) bool { return isUnknown(&o) }) {
			exposition.Add(&page, 1, "trap", r.Trap)
		}
	}
	c := &p.counts
	page.Gauge("fettle_findings", "Open findings by severity.")
	for _, n := range []figure{{"critical", c.Severities.Critical}, {"warning", c.Severities.Warning}, {"notice", c.Severities.Notice}} {
		exposition.Add(&page, n.n, "severity", n.name)
	}
	page.Gauge("fettle_outcomes", "Subjects of all traps by what their checks said.")
	for _, n := range []figure{{"found", c.Found}, {"clear", c.Clear}, {"not-applicable", c.NotApplicable}, {"unknown", c.Unknown},
		{"accepted", c.Accepted}, {"known", c.Known}} {
		exposition.Add(&page, n.n, "status", n.name)
	}
	if p.timing {
		page.Gauge("fettle_check_duration_seconds", "How long a trap's check took.")
		for _, r := range results {
			exposition.Add(&page, r.Took.Seconds(), "trap", r.Trap)
		}
	}
	page.Gauge("fettle_run_duration_seconds", "How long the whole run took.")
	exposition.Add(&page, took.Seconds())
	page.Gauge("fettle_run_timestamp_seconds", "When the run began; alert when it gets old.")
	exposition.Add(&page, p.meta.Started.Unix())
	_, err := io.WriteString(p.w, page.String())
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
