package report

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"time"

	"fettle/engine/trap"
	"fettle/internal/exposition"
	"fettle/internal/sorted"
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
	var page exposition.Text
	writeMetrics(&page, []measured{{collected: p.collected, took: took}}, p.timing)
	_, err := io.WriteString(p.w, page.String())
	return err
}

// Metrics are those of many hosts, each with a label.
type Metrics struct {
	timing bool
	hosts  []measured
	gave   map[string]bool // by host: a whole report
}

// NewMetrics begins them.
func NewMetrics(opt Options) *Metrics {
	return &Metrics{timing: opt.Timing, gave: map[string]bool{}}
}

// Host takes in a host that gave a whole report. Of what it says only that is kept
// which becomes a metric: reports of thousands would not fit into memory.
func (p *Metrics) Host(name string, d *Document) {
	m := measured{
		host:      name,
		collected: collected{meta: Meta{Kind: d.Meta.Kind, Version: d.Meta.Version, Started: d.Meta.Started}, counts: d.Counts},
		took:      d.Took,
	}
	for _, r := range d.Results {
		kept := trap.Result{Trap: r.Trap, Took: r.Took, Resolved: r.Resolved}
		each([]trap.Result{r}, func(o *trap.Outcome) {
			if o.Status == trap.Found || isUnknown(o) {
				kept.Outcomes = append(kept.Outcomes, trap.Outcome{Trap: o.Trap, Subject: o.Subject, Status: o.Status, Severity: o.Severity,
					Accepted: o.Accepted, Known: o.Known, Below: o.Below, Since: o.Since})
			}
		})
		if p.timing || len(kept.Outcomes) > 0 || len(kept.Resolved) > 0 {
			m.results = append(m.results, kept)
		}
	}
	p.hosts = append(p.hosts, m)
	p.gave[name] = true
}

// Failed takes in a host that gave no whole report. It has no other metric: half a
// report would look as if the rest were resolved.
func (p *Metrics) Failed(name string) { p.gave[name] = false }

// Write writes them, the hosts by name.
func (p *Metrics) Write(w io.Writer) error {
	sorted.By(p.hosts, func(a, b measured) int { return cmp.Compare(a.host, b.host) })
	var page exposition.Text
	page.Gauge("fettle_reported", "Whether a host gave a report.")
	for _, name := range slices.Sorted(maps.Keys(p.gave)) {
		exposition.Add(&page, p.gave[name], "host", name)
	}
	writeMetrics(&page, p.hosts, p.timing)
	_, err := io.WriteString(w, page.String())
	return err
}

// measured is one host's run.
type measured struct {
	host string // its label; "" of one host alone, to which Prometheus adds the instance
	collected
	took time.Duration
}

// with are labels behind the host's.
func (m *measured) with(labels ...string) []string {
	if m.host == "" {
		return labels
	}
	return append([]string{"host", m.host}, labels...)
}

// writeMetrics writes one family after the other, each of all hosts: the format wants
// its lines together.
func writeMetrics(page *exposition.Text, hosts []measured, timing bool) {
	for i := range hosts {
		hosts[i].results = worstFirst(hosts[i].results)
	}
	for _, f := range families {
		if f.timing && !timing {
			continue
		}
		page.Gauge(f.name, f.help)
		for i := range hosts {
			f.write(page, &hosts[i])
		}
	}
}

// families are the metrics of a run.
var families = []struct {
	name, help string
	timing     bool // only with --timing
	write      func(*exposition.Text, *measured)
}{
	{"fettle_info", "What checked, and what kind of host.", false, func(page *exposition.Text, m *measured) {
		exposition.Add(page, 1, m.with("version", m.meta.Version, "kind", string(m.meta.Kind))...)
	}},
	{
		"fettle_finding",
		"A trap met in one subject. State: open counts, accepted and known do not.",
		false,
		func(page *exposition.Text, m *measured) {
			each(m.results, func(o *trap.Outcome) {
				if o.Status == trap.Found {
					exposition.Add(
						page,
						1,
						m.with("trap", o.Trap, "subject", o.Subject, "severity", severityName(o.Severity), "state", findingState(o))...)
				}
			})
		},
	},
	{"fettle_finding_since_timestamp_seconds", "When check --new showed a finding first.", false, func(page *exposition.Text, m *measured) {
		each(m.results, func(o *trap.Outcome) {
			if o.Status == trap.Found && !o.Since.IsZero() {
				exposition.Add(page, o.Since.Unix(), m.with("trap", o.Trap, "subject", o.Subject)...)
			}
		})
	}},
	{
		"fettle_resolved",
		"A finding that an earlier run with --new showed and that is gone.",
		false,
		func(page *exposition.Text, m *measured) {
			for _, r := range m.results {
				for _, was := range r.Resolved {
					exposition.Add(page, 1, m.with("trap", r.Trap, "subject", was.Subject)...)
				}
			}
		},
	},
	{"fettle_unknown", "A trap of which a subject is unknown.", false, func(page *exposition.Text, m *measured) {
		for _, r := range m.results {
			if slices.ContainsFunc(r.Outcomes, func(o trap.Outcome) bool { return isUnknown(&o) }) {
				exposition.Add(page, 1, m.with("trap", r.Trap)...)
			}
		}
	}},
	{"fettle_findings", "Open findings by severity.", false, func(page *exposition.Text, m *measured) {
		s := &m.counts.Severities
		for _, n := range []figure{{"critical", s.Critical}, {"warning", s.Warning}, {"notice", s.Notice}} {
			exposition.Add(page, n.n, m.with("severity", n.name)...)
		}
	}},
	{"fettle_outcomes", "Subjects of all traps by outcome.", false, func(page *exposition.Text, m *measured) {
		c := &m.counts
		for _, n := range []figure{{"found", c.Found}, {"clear", c.Clear}, {"not-applicable", c.NotApplicable}, {"unknown", c.Unknown},
			{"accepted", c.Accepted}, {"known", c.Known}} {
			exposition.Add(page, n.n, m.with("status", n.name)...)
		}
	}},
	{"fettle_check_duration_seconds", "How long a trap's check took.", true, func(page *exposition.Text, m *measured) {
		for _, r := range m.results {
			exposition.Add(page, r.Took.Seconds(), m.with("trap", r.Trap)...)
		}
	}},
	{"fettle_run_duration_seconds", "Duration of the run.", false, func(page *exposition.Text, m *measured) {
		exposition.Add(page, m.took.Seconds(), m.with()...)
	}},
	{"fettle_run_timestamp_seconds", "When the run began; alert when it gets old.", false, func(page *exposition.Text, m *measured) {
		exposition.Add(page, m.meta.Started.Unix(), m.with()...)
	}},
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
