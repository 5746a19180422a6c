package check

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/build"
	"fettle/internal/sorted"
	"fettle/internal/ui"
	"fettle/internal/units"
	"fettle/report"
)

// pageHosts is how many hosts the page's matrix has columns for.
const pageHosts = 40

// fleetPage writes one self-contained page: the matrix, then for each trap what was
// said and of which hosts, who gave no report, and all hosts in figures.
type fleetPage struct {
	w io.Writer
	*matrix
	said  map[string][]sentence // by trap
	at    map[sentenceKey]int   // where in said
	traps []*trap.Trap
	b     strings.Builder
}

// sentence is one sentence, and the hosts that it is true of.
type sentence struct {
	severity trap.Severity
	summary  string
	hosts    []string // with the subject
}

type sentenceKey struct {
	trap     string
	severity trap.Severity
	summary  string
}

func (p *fleetPage) host(name string, h *hostReport) error {
	p.add(name, h)
	for _, r := range h.doc.Results {
		for i := range r.Outcomes {
			o := &r.Outcomes[i]
			if o.Status != trap.Found || o.Hidden() {
				continue
			}
			key := sentenceKey{r.Trap, o.Severity, o.Summary}
			k, ok := p.at[key]
			if !ok {
				k = len(p.said[r.Trap])
				p.at[key] = k
				p.said[r.Trap] = append(p.said[r.Trap], sentence{severity: o.Severity, summary: o.Summary})
			}
			on := name
			if o.Subject != "" {
				on += " (" + o.Subject + ")"
			}
			p.said[r.Trap][k].hosts = append(p.said[r.Trap][k].hosts, on)
		}
	}
	return nil
}

func (p *fleetPage) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

func visible(s string) string { return html.EscapeString(ui.Visible(s)) }

func (p *fleetPage) end(r *fleetReport, took time.Duration) error {
	hosts := units.Count(r.done, "host", "hosts")
	p.b.WriteString(report.HTMLHead("fettle: " + hosts))
	p.printf("<h1>%s</h1>\n<p class=\"meta\">Checked %s", hosts, time.Now().UTC().Format("2006-01-02 15:04 UTC"))
	if r.failed > 0 {
		p.printf("; %d gave no report", r.failed)
	}
	p.b.WriteString("</p>\n" + report.HTMLCounts(&r.counts))
	rows := p.rows()
	if len(rows) == 0 {
		p.b.WriteString("<h2>Nothing found</h2>\n")
	} else {
		p.table(rows)
		p.b.WriteString("<h2>Found</h2>\n")
		for _, row := range rows {
			p.trap(row)
		}
	}
	p.silent()
	p.all()
	p.printf("<footer>fettle %s, %s</footer>\n</body>\n</html>\n", visible(build.Version()), units.Duration(took))
	_, err := io.WriteString(p.w, p.b.String())
	return err
}

// table is the matrix: the worst hosts are columns.
func (p *fleetPage) table(rows []row) {
	worst := p.worstHosts()
	shown := worst[:min(len(worst), pageHosts)]
	p.b.WriteString(
		"<h2>Traps and hosts</h2>\n<div class=\"wide\" tabindex=\"0\">\n<table class=\"matrix\">\n<tr><th scope=\"col\">trap</th><th " +
			"scope=\"col\">hosts</th>",
	)
	for _, h := range shown {
		p.printf("<th scope=\"col\">%s</th>", visible(h))
	}
	p.b.WriteString("</tr>\n")
	for _, r := range rows {
		p.printf("<tr><th scope=\"row\"><a href=\"#%s\">%[1]s</a></th><td>%d</td>", visible(r.id), len(r.cells))
		for _, h := range shown {
			if c, ok := r.cells[h]; ok {
				p.printf("<td class=\"%s\">%s</td>", c.severity, letters[c.severity])
			} else {
				p.b.WriteString("<td></td>")
			}
		}
		p.b.WriteString("</tr>\n")
	}
	p.b.WriteString("</table>\n</div>\n<p class=\"meta\">C critical, W warning, n notice")
	if more := len(worst) - len(shown); more > 0 {
		p.printf("; %s with findings not shown here", units.Count(more, "more host", "more hosts"))
	}
	p.b.WriteString("</p>\n")
}

// trap is one trap: what was said, of whom, and its article.
func (p *fleetPage) trap(r row) {
	title, body := "", ""
	for _, t := range p.traps {
		if t.ID() != r.id {
			continue
		}
		title = t.Title()
		if art, err := t.Lore.Article(); err == nil {
			body = ui.MarkdownHTML(art.Body, 4)
		}
	}
	p.printf("<article class=\"%s\" id=\"%s\">\n<h3><span class=\"badge %[1]s\">%[1]s</span> %[2]s on %s</h3>\n<p>%s</p>\n",
		r.worst, visible(r.id), units.Count(len(r.cells), "host", "hosts"), visible(title))
	said := slices.Clone(p.said[r.id])
	sorted.By(said, func(a, b sentence) int {
		return cmp.Or(cmp.Compare(b.severity, a.severity), cmp.Compare(len(b.hosts), len(a.hosts)))
	})
	p.b.WriteString("<details><summary>Where</summary>\n<dl>\n")
	for _, s := range said {
		p.printf("<dt>%s: %s</dt><dd>%s</dd>\n", s.severity, visible(s.summary), visible(strings.Join(s.hosts, ", ")))
	}
	p.b.WriteString("</dl>\n</details>\n")
	if body != "" {
		p.printf("<details><summary>About this trap</summary>\n%s</details>\n", body)
	}
	p.b.WriteString("</article>\n")
}

// silent are the hosts that gave no report, by the reason.
func (p *fleetPage) silent() {
	by := p.reasons()
	if len(by) == 0 {
		return
	}
	p.b.WriteString("<h2>No report</h2>\n<article class=\"unknown\">\n")
	for _, s := range by {
		p.printf("<p>%s</p>\n<p class=\"subjects\">%s</p>\n", visible(s.why), visible(strings.Join(s.hosts, ", ")))
	}
	p.b.WriteString("</article>\n")
}

// all is every host in figures, the worst first.
func (p *fleetPage) all() {
	names := p.byRank()
	p.printf(
		"<details><summary>All %s</summary>\n<div class=\"wide\" tabindex=\"0\">\n<table>\n<tr><th scope=\"col\">host</th><th "+
			"scope=\"col\">critical</th><th scope=\"col\">warning</th><th scope=\"col\">notice</th><th scope=\"col\">unknown</th></tr>\n",
		units.Count(len(names), "host", "hosts"),
	)
	for _, n := range names {
		s := p.hosts[n]
		p.printf(
			"<tr><th scope=\"row\">%s</th><td>%d</td><td>%d</td><td>%d</td><td>%d</td></tr>\n",
			visible(n),
			s.critical,
			s.warning,
			s.notice,
			s.unknown,
		)
	}
	p.b.WriteString("</table>\n</div>\n</details>\n")
}
