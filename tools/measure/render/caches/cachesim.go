package caches

import (
	"fmt"
	"strings"

	"fettle/internal/chart"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/tools/measure/blockcache/cachesim"
	"fettle/tools/measure/blockcache/trace"
	"fettle/tools/measure/render"
)

// Cachesim is what fettle measure cachesim simulated.
type Cachesim struct {
	Trace  *trace.Trace
	Warmup int
	SMQ    cachesim.SMQ
	Curves []cachesim.Curve
	Cost   cachesim.Took
}

// Text is what was simulated, the curves and the table.
func (s Cachesim) Text(on render.Terminal) string {
	var b strings.Builder
	t := s.Trace
	distinct := t.Distinct()
	what := fmt.Sprintf("%s: %d requests for %d different blocks", ui.Visible(t.Name), t.Len(), distinct)
	if t.BlockSize > 0 {
		what += fmt.Sprintf(" of %s: %s, of a device of %s", size(t.BlockSize), size(int64(distinct)*t.BlockSize), size(t.Span*t.BlockSize))
	}
	if s.Warmup > 0 {
		what += fmt.Sprintf("; the first %d do not count", s.Warmup)
	}
	b.WriteString(ui.Wrap(what+".", on.Width, "", ""))
	if t.Renumbered {
		b.WriteString(ui.Wrap("The trace's ids were renumbered: smq cannot see which blocks are neighbours.", on.Width, "", ""))
	}
	if len(s.Curves) > 0 && len(s.Curves[0].Points) > 2 {
		b.WriteString("\n" + s.Plot().Text(min(on.Width, 100), 16))
	}
	fmt.Fprintf(&b, "\nMiss ratio, %%:\n%s", s.table())
	fmt.Fprintf(&b, "\nSimulated %s requests in %.1f s, %.1f s of CPU time: %.1f million per CPU second.\n", millions(s.Cost.Requests),
		s.Cost.Elapsed.Seconds(), s.Cost.CPU.Seconds(), float64(s.Cost.Requests)/max(s.Cost.CPU.Seconds(), 1e-3)/1e6)
	return b.String()
}

func millions(n int64) string {
	if n < 10e6 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d million", n/1e6)
}

// table has a line for each size, and a column for each policy.
func (s Cachesim) table() string {
	rows := [][]string{{"cache", "of origin"}}
	span := max(s.Trace.Span, s.SMQ.OriginBlocks)
	for _, c := range s.Curves {
		rows[0] = append(rows[0], c.Policy)
	}
	for i := range s.Curves[0].Points {
		n := int64(s.Curves[0].Points[i].Blocks)
		cache := fmt.Sprintf("%d blocks", n)
		if s.Trace.BlockSize > 0 {
			cache = size(n * s.Trace.BlockSize)
		}
		row := []string{cache, fmt.Sprintf("%.1f %%", 100*float64(n)/float64(span))}
		for _, c := range s.Curves {
			row = append(row, fmt.Sprintf("%.2f", 100*c.Points[i].MissRatio))
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for j, cell := range row {
			wide := 0
			for _, other := range rows {
				wide = max(wide, len(other[j]))
			}
			line += fmt.Sprintf("  %*s", wide, cell)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// size writes bytes in the largest binary unit of which there is one.
func size(n int64) string {
	for i, name := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if unit := int64(1) << (40 - 10*i); n >= unit {
			return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(unit)), "0"), ".") + " " + name
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Plot is the miss ratio over the size.
func (s Cachesim) Plot() chart.Plot {
	p := chart.Plot{
		Name:  "miss-ratio",
		Title: "Miss ratio over the cache's size: " + ui.Visible(s.Trace.Name),
		X:     "cache, blocks",
		Y:     "% of the requests miss",
		LogX:  true,
	}
	scale := 1.0
	if s.Trace.BlockSize > 0 {
		unit := "GiB"
		scale = float64(s.Trace.BlockSize) / (1 << 30)
		if float64(s.Trace.Span)*scale < 8 {
			unit, scale = "MiB", scale*1024
		}
		p.X = "cache, " + unit
	}
	for _, c := range s.Curves {
		line := chart.Curve{Name: c.Policy}
		for _, pt := range c.Points {
			line.X, line.Y = append(line.X, float64(pt.Blocks)*scale), append(line.Y, 100*pt.MissRatio)
		}
		p.Curves = append(p.Curves, line)
	}
	return p
}

type cachesimDocument struct {
	jsondoc.Envelope
	Trace    *trace.Trace     `json:"trace"`
	Requests int              `json:"requests"`
	Distinct int              `json:"distinct_blocks"`
	Warmup   int              `json:"warmup_requests"`
	SMQ      cachesim.SMQ     `json:"smq"`
	Curves   []cachesim.Curve `json:"curves"`
	Cost     cachesim.Took    `json:"cost"`
}

// Document is fettle measure cachesim --format json.
func (s Cachesim) Document() any {
	return cachesimDocument{jsondoc.New("cachesim"), s.Trace, s.Trace.Len(), s.Trace.Distinct(), s.Warmup, s.SMQ, s.Curves, s.Cost}
}
