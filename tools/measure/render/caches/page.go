package caches

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"fettle/internal/chart/draw"
	"fettle/internal/units"
	"fettle/tools/measure/blockcache"
)

var page = template.Must(
	template.New("page").Funcs(template.FuncMap{"whole": units.Whole, "size": func(n int64) string { return units.Size(n) },
		"disk": func(rotational string) string {
			return map[string]string{"0": "solid state", "1": "rotating"}[rotational]
		}}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Block cache{{with .About}}: {{.}}{{end}}</title>
<style>
:root { color-scheme: light dark; --text: #222; --ground: #fff; --line: #ccc; --box: #f4f4f4 }
@media (prefers-color-scheme: dark) {
  :root { --text: #ddd; --ground: #181818; --line: #444; --box: #262626 }
  svg { filter: invert(.906) hue-rotate(180deg) }
}
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: var(--text); background: var(--ground) }
table { border-collapse: collapse; margin: 1em 0 } th, td { padding: .25em .8em .25em 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-left: .8em }
.wide { overflow-x: auto } .wide td:first-child { min-width: 7em } .conditions td:first-child { white-space: nowrap } .conditions td { overflow-wrap: anywhere }
svg { display: block; width: 100%; max-width: 48em; height: auto; margin: 0 auto }
pre { background: var(--box); padding: .6em; overflow-x: auto }
h3 { margin-bottom: 0 } h3 + table { margin-top: .3em }
</style></head><body>
<h1>Block cache</h1>
{{with .About}}<p>{{.}}</p>
{{end}}{{range .Runs}}{{if .Verdict}}<p><strong>{{.Label}}</strong>: {{.Verdict}}. Median of the last quarter {{printf "%.0f" .Verdict.Cached}} requests a second
(95&nbsp;%: {{printf "%.0f" (index .Verdict.Within 0)}} to {{printf "%.0f" (index .Verdict.Within 1)}}).</p>
{{else if .Why}}<p><strong>{{.Label}}</strong>: no verdict: {{.Why}}.</p>
{{end}}{{end}}
{{.SVG}}
<div class="wide"><table><tr><th>run<th class="n">median IOPS<th class="n">mean<th class="n">latency, median<th class="n">99&nbsp;%<th>verdict</tr>
{{range .Table}}<tr><td>{{.Label}}<td class="n">{{.Median}}<td class="n">{{.Mean}}<td class="n">{{.P50}}<td class="n">{{.P99}}<td>{{.Short}}</tr>
{{end}}</table></div>
<p>Median: of a baseline, of all but its first quarter; of a cached run, of its last quarter. Points are readings of one interval, curves their running median.</p>
<h2>Conditions</h2>
{{range .Runs}}<h3>{{.Label}}</h3>
{{range .Notes}}<p>Note: {{.}}.</p>{{end}}
{{with .Run}}<table class="conditions"><tr><td>started<td>{{.Started.Format "2006-01-02 15:04:05 MST"}}, for {{whole .Runtime}}, a reading each {{.Series.Interval}}</tr>
<tr><td>kernel, fio<td>{{.Conditions.Kernel}}, {{.Conditions.Fio}}</tr>
<tr><td>on<td>{{.Conditions.Target.Path}}{{with .Conditions.FileSystem}} ({{.}}){{end}}</tr>
<tr><td>device<td>{{.Conditions.Device}}{{with .Conditions.Model}}, {{.}}{{end}}{{with .Conditions.Bytes}}, {{size .}}{{end}}{{with disk .Conditions.Rotational}}, {{.}}{{end}}</tr>
<tr><td>scheduler<td>{{or .Conditions.Scheduler "not known"}}</tr>
<tr><td>load before<td>{{.Conditions.Load}}{{with .Conditions.Processors}}, on {{.}} processors{{end}}</tr>
{{if .Conditions.Table}}<tr><td>table<td>{{.Conditions.Table}}</tr><tr><td>status before<td>{{.Conditions.Before}}</tr><tr><td>status after<td>{{.Conditions.After}}</tr>{{end}}</table>
{{end}}{{end}}
{{range .Jobs}}<h2>Job{{with .Name}} of {{.}}{{end}}</h2><pre>{{.Text}}</pre>
{{end}}</body></html>
`),
)

// job is the job file of a set's first run.
type job struct{ Name, Text string }

func jobs(runs []blockcache.Judged) (out []job) {
	for i, j := range runs {
		if i == 0 || j.Set != runs[i-1].Set {
			out = append(out, job{j.Set, j.Run.Job})
		}
	}
	if len(out) == 1 || out[0].Name == "" {
		out[0].Name = "the first run"
	}
	return out
}

// Page writes a page that needs nothing from elsewhere.
func (r Blockcache) Page(w io.Writer) error {
	if len(r) == 0 {
		return fmt.Errorf("a page of no runs")
	}
	var svg bytes.Buffer
	if err := draw.Write(&svg, r.Plot(), "svg"); err != nil {
		return err
	}
	// Inside a page the picture has no XML declaration. Its texts are escaped by
	// the drawing library.
	s := svg.String()
	if i := strings.Index(s, "<svg"); i >= 0 {
		s = s[i:]
	}
	return page.Execute(w, struct {
		Runs  []blockcache.Judged
		Table []blockcache.Row
		Jobs  []job
		About string
		SVG   template.HTML
	}{r, blockcache.Table(r), jobs(r), about(r), template.HTML(s)})
}

// about is on which hosts the runs were made, and on which days.
func about(runs []blockcache.Judged) string {
	var hosts []string
	first, last := "", ""
	for _, j := range runs {
		if h := j.Run.Conditions.Host; h != "" && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
		if j.Run.Started.IsZero() {
			continue
		}
		day := j.Run.Started.Format(time.DateOnly)
		if first == "" || day < first {
			first = day
		}
		last = max(last, day)
	}
	if last != first {
		first += " to " + last
	}
	return strings.Trim(strings.Join(hosts, ", ")+", "+first, ", ")
}
