package blockcache

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"fettle/chart/draw"
)

// Row is a line of the table of figures.
type Row struct {
	Label, Median, P50, P99, Mean, Verdict string
}

// Table is the figures of runs, as text.
func Table(runs []Judged) []Row {
	var out []Row
	for _, j := range runs {
		r := Row{Label: j.Label, Median: number(j.Median), Mean: number(j.Run.Totals.IOPS), P50: latency(j.Run.Totals.At(50)), P99: latency(j.Run.Totals.At(99))}
		switch {
		case j.Verdict != nil:
			r.Verdict = j.Verdict.String()
		case j.Why != "":
			r.Verdict = "no verdict: " + j.Why
		default:
			r.Verdict = "baseline"
		}
		out = append(out, r)
	}
	return out
}

func number(f float64) string { return fmt.Sprintf("%.0f", f) }

func latency(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Block cache</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
table { border-collapse: collapse; margin: 1em 0 } th, td { padding: .25em .8em; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums } svg { max-width: 100%; height: auto }
pre { background: #f4f4f4; padding: .6em; overflow-x: auto }
</style></head><body>
<h1>Block cache</h1>
{{range .Runs}}{{if .Verdict}}<p><strong>{{.Label}}</strong>: {{.Verdict}}. Median of the last quarter {{printf "%.0f" .Verdict.Cached}} requests a second
(95 %: {{printf "%.0f" (index .Verdict.Within 0)}} to {{printf "%.0f" (index .Verdict.Within 1)}}).</p>
{{end}}{{end}}
{{.SVG}}
<table><tr><th>run<th class="n">median IOPS<th class="n">mean<th class="n">latency, median<th class="n">99 %<th>verdict</tr>
{{range .Table}}<tr><td>{{.Label}}<td class="n">{{.Median}}<td class="n">{{.Mean}}<td class="n">{{.P50}}<td class="n">{{.P99}}<td>{{.Verdict}}</tr>
{{end}}</table>
<p>Median: of a baseline, of all but its first quarter; of a cached run, of its last quarter. Points are readings of one interval, curves their running median.</p>
<h2>Conditions</h2>
{{range .Runs}}<h3>{{.Label}}</h3>
{{range .Notes}}<p>Note: {{.}}.</p>{{end}}
{{with .Run}}<table><tr><td>started<td>{{.Started.Format "2006-01-02 15:04:05 MST"}}, for {{.Runtime}}</tr>
<tr><td>kernel, fio<td>{{.Conditions.Kernel}}, {{.Conditions.Fio}}</tr>
<tr><td>on<td>{{.Conditions.Target.Path}} {{.Conditions.FileSystem}} {{.Conditions.Device}} {{.Conditions.Model}}</tr>
<tr><td>scheduler, rotational<td>{{.Conditions.Scheduler}}, {{.Conditions.Rotational}}</tr>
<tr><td>load before<td>{{.Conditions.Load}}</tr>
{{if .Conditions.Table}}<tr><td>table<td>{{.Conditions.Table}}</tr><tr><td>status before<td>{{.Conditions.Before}}</tr><tr><td>status after<td>{{.Conditions.After}}</tr>{{end}}</table>
{{end}}{{end}}
<h2>Job of the first run</h2><pre>{{(index .Runs 0).Run.Job}}</pre>
</body></html>
`))

// Page writes a page that needs nothing from elsewhere.
func Page(w io.Writer, runs []Judged) error {
	if len(runs) == 0 {
		return fmt.Errorf("a page of no runs")
	}
	var svg bytes.Buffer
	if err := draw.Write(&svg, Figure(runs), "svg"); err != nil {
		return err
	}
	// Inside a page the picture has no XML declaration. Its texts are escaped by
	// the drawing library.
	s := svg.String()
	if i := strings.Index(s, "<svg"); i >= 0 {
		s = s[i:]
	}
	return page.Execute(w, struct {
		Runs  []Judged
		Table []Row
		SVG   template.HTML
	}{runs, Table(runs), template.HTML(s)})
}
