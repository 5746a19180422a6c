// Package caches writes what the block cache instruments measured and
// simulated. It is separate from package measured because only fettle-lab has
// these instruments.
package caches

import (
	"fmt"
	"strings"

	"fettle/internal/chart"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/tools/measure/blockcache"
	"fettle/tools/measure/render"
)

// Blockcache is what fettle measure blockcache measured.
type Blockcache []blockcache.Judged

// Plot is the runs over time.
func (r Blockcache) Plot() chart.Plot { return blockcache.Figure(r) }

// Text is the plot, a table of the runs, and the verdicts.
func (r Blockcache) Text(on render.Terminal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Plot().Text(on.Width, 16))
	wide := 0
	table := blockcache.Table(r)
	for _, row := range table {
		wide = max(wide, len(row.Label))
	}
	fmt.Fprintf(&b, "%-*s  %11s  %9s  %9s\n", wide, "run", "median IOPS", "latency", "99 %")
	for _, row := range table {
		// %9s counts runes, as µ is one column.
		fmt.Fprintf(&b, "%-*s  %11s  %9s  %9s\n", wide, row.Label, row.Median, row.P50, row.P99)
	}
	fmt.Fprintln(&b)
	for _, j := range r {
		switch {
		case j.Verdict != nil:
			v := j.Verdict
			b.WriteString(
				ui.Wrap(
					fmt.Sprintf(
						"%s: %s. %.0f requests a second in the last quarter (95 %%: %.0f to %.0f), %.1f times the slow device, %.0f %% of the fast one.",
						j.Label,
						v,
						v.Cached,
						v.Within[0],
						v.Within[1],
						v.Cached/v.Slow,
						100*v.Cached/v.Fast,
					),
					on.Width,
					"",
					"  ",
				),
			)
		case j.Why != "":
			b.WriteString(ui.Wrap(j.Label+": no verdict: "+j.Why+".", on.Width, "", "  "))
		}
		for _, n := range j.Notes {
			b.WriteString(ui.Wrap("Note: "+n+".", on.Width, "  ", "  "))
		}
	}
	return b.String()
}

type blockcacheDocument struct {
	jsondoc.Envelope
	Runs []blockcache.Judged `json:"runs"`
}

// Document is fettle measure blockcache --format json.
func (r Blockcache) Document() any { return blockcacheDocument{jsondoc.New("blockcache"), r} }
