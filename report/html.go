package report

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/internal/ui"
	"fettle/internal/units"
)

// htmlPage writes one self-contained page, for tickets: findings worst first,
// evidence and lore folded; no scripts, nothing from elsewhere.
type htmlPage struct {
	collected
	w   io.Writer
	b   strings.Builder
	opt Options
}

func newHTML(w io.Writer, opt Options) Writer { return &htmlPage{w: w, opt: opt} }

//go:embed html.css
var htmlStyle string

// HTMLHead is a page up to its body: its title, its style, and that nothing may be
// loaded or run.
func HTMLHead(title string) string {
	return fmt.Sprintf(
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "+
			"initial-scale=1\">\n"+
			"<meta name=\"color-scheme\" content=\"light dark\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "+
			"style-src 'unsafe-inline'\">\n"+
			"<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n",
		esc(title),
		htmlStyle,
	)
}

// HTMLCounts is the list of what was counted, without what is none.
func HTMLCounts(c *Counts) string {
	var b strings.Builder
	b.WriteString("<ul class=\"counts\">")
	for _, n := range []struct {
		n           int
		name, class string
	}{{c.Severities.Critical, "critical", "critical"}, {c.Severities.Warning, "warning", "warning"},
		{c.Severities.Notice, "notice", "notice"}, {c.Unknown, "unknown", "unknown"},
		{c.Resolved, "resolved", "resolved"}, {c.Clear, "clear", "clear"}, {c.NotApplicable, "not applicable", "quiet"},
		{c.Accepted, "accepted", "quiet"},
		{c.Known, "known from earlier runs", "quiet"}, {c.Below, "below --severity", "quiet"}} {
		if n.n > 0 {
			fmt.Fprintf(&b, "<li class=\"%s\">%d %s</li>", n.class, n.n, n.name)
		}
	}
	b.WriteString("</ul>\n")
	return b.String()
}

// esc is text from anywhere as HTML: what a terminal would act on is written
// out, too, since pages get copied from.
func esc(s string) string { return html.EscapeString(ui.Visible(s)) }

func (p *htmlPage) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

func (p *htmlPage) End(took time.Duration) error {
	results := worstFirst(p.results)
	p.head()
	p.findings(results)
	p.unknown(results)
	p.resolved()
	p.rest(results)
	p.printf("<footer>fettle %s, %s</footer>\n</body>\n</html>\n", esc(p.meta.Version), units.Duration(took))
	_, err := io.WriteString(p.w, p.b.String())
	return err
}

func (p *htmlPage) head() {
	p.b.WriteString(HTMLHead("fettle: " + p.meta.Host))
	_, about, _ := strings.Cut(header(&p.meta), ": ")
	p.printf("<h1>%s</h1>\n<p class=\"meta\">%s</p>\n", esc(p.meta.Host), html.EscapeString(about))
	p.printf("<p class=\"meta\">Checked %s</p>\n", p.meta.Started.UTC().Format("2006-01-02 15:04 UTC"))
	p.b.WriteString(HTMLCounts(&p.counts))
}

func (p *htmlPage) findings(results []trap.Result) {
	all := entries(results)
	if len(all) == 0 {
		p.b.WriteString("<h2>Nothing found</h2>\n")
		return
	}
	p.b.WriteString("<h2>Found</h2>\n")
	shown := map[string]bool{} // traps whose lore is on the page
	for i := range all {
		p.entry(&all[i], shown)
	}
}

func (p *htmlPage) entry(e *entry, shown map[string]bool) {
	first := e.findings[0]
	sev := e.severity.String()
	names := e.subjects()
	what := esc(first.Trap)
	switch {
	case len(names) == 1:
		what += " on " + esc(names[0])
	case len(names) > 1:
		what += " on " + count(names)
	}
	p.printf(
		"<article class=\"%s\">\n<h3><span class=\"badge %s\">%s</span> %s</h3>\n<p>%s</p>\n",
		sev,
		sev,
		sev,
		what,
		esc(e.says(p.title)),
	)
	if len(names) > 1 {
		p.printf("<p class=\"subjects\">%s</p>\n", esc(strings.Join(names, ", ")))
	}
	if a := first.Accepted; a != nil && a.Lapsed != "" {
		p.printf("<p>was accepted (%s); back because %s</p>\n", esc(a.Reason), esc(a.Lapsed))
	}
	if on := onHub(first); on != "" {
		p.printf("<p>%s</p>\n", html.EscapeString(on))
	}
	command, byHand := e.act(&p.meta)
	if byHand != "" {
		p.printf("<p>By hand: %s</p>\n", esc(byHand))
	} else {
		_, command, _ = strings.Cut(command, ": ")
		p.printf("<pre>%s</pre>\n", html.EscapeString(command))
	}
	p.b.WriteString("<details><summary>Evidence</summary>\n")
	for _, o := range e.findings {
		if len(e.findings) > 1 {
			p.printf("<h4>%s</h4>\n", esc(o.Subject))
		}
		p.outcome(o, o.Summary != e.says(p.title))
	}
	p.b.WriteString("</details>\n")
	if t := p.trap(first.Trap); t != nil && !shown[first.Trap] {
		shown[first.Trap] = true
		if art, err := t.Lore.Article(); err == nil {
			p.printf("<details><summary>About this trap: %s</summary>\n%s</details>\n", esc(art.Title), ui.MarkdownHTML(art.Body, 4))
		}
	}
	p.b.WriteString("</article>\n")
}

// outcome is what was said of one subject, and the evidence for it.
func (p *htmlPage) outcome(o *trap.Outcome, summary bool) {
	for _, s := range []string{o.Summary, o.Reason, string(o.Detail)} {
		if s != "" && (summary || s != o.Summary) {
			p.printf("<p>%s</p>\n", strings.ReplaceAll(esc(s), "\n", "<br>\n"))
		}
	}
	if len(o.Evidence) == 0 {
		return
	}
	p.b.WriteString("<dl>\n")
	for _, e := range o.Evidence {
		p.printf("<dt>%s</dt><dd>%s</dd>\n", esc(e.Source), esc(e.Value))
	}
	p.b.WriteString("</dl>\n")
}

func (p *htmlPage) unknown(results []trap.Result) {
	all := unknowns(&p.meta, results)
	if len(all) == 0 {
		return
	}
	_, act := paragraph(all)
	p.b.WriteString("<h2>Unknown</h2>\n<article class=\"unknown\">\n")
	for _, g := range all {
		p.printf("<p>%s</p>\n<p class=\"subjects\">%s</p>\n", esc(g.first), esc(strings.Join(g.who, ", ")))
	}
	if act != "" {
		p.printf("<pre>%s</pre>\n", esc(act))
	}
	p.b.WriteString("</article>\n")
}

func (p *htmlPage) resolved() {
	if p.counts.Resolved == 0 {
		return
	}
	p.b.WriteString("<h2>Resolved</h2>\n<ul>\n")
	for _, r := range p.results {
		for _, was := range r.Resolved {
			o := trap.Outcome{Trap: r.Trap, Subject: was.Subject}
			p.printf("<li>%s: %s</li>\n", esc(o.ID()), esc(was.Said))
		}
	}
	p.b.WriteString("</ul>\n")
}

// rest folds what counts for nothing: accepted and known findings, and what is
// clear or does not apply.
func (p *htmlPage) rest(results []trap.Result) {
	for _, part := range []struct {
		title string
		of    func(o *trap.Outcome) bool
	}{
		{"Not counted", func(o *trap.Outcome) bool { return o.Hidden() }},
		{"Clear", func(o *trap.Outcome) bool { return o.Status == trap.Clear }},
		{"Not applicable", func(o *trap.Outcome) bool { return o.Status == trap.NotApplicable }},
	} {
		var rows strings.Builder
		n := 0
		each(results, func(o *trap.Outcome) {
			if !part.of(o) {
				return
			}
			n++
			said := o.Summary + o.Reason
			switch a := o.Accepted; {
			case a != nil && a.Lapsed == "":
				said += " (accepted: " + a.Reason + until(a) + ")"
			case o.Known:
				said += " (known from an earlier run)"
			}
			fmt.Fprintf(&rows, "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n", esc(o.Trap), esc(o.Subject), esc(said))
		})
		if n > 0 {
			p.printf("<details><summary>%s: %d</summary>\n<table>\n%s</table>\n</details>\n", part.title, n, rows.String())
		}
	}
}

func (p *htmlPage) trap(id string) *trap.Trap {
	for _, t := range p.traps {
		if t.ID() == id {
			return t
		}
	}
	return nil
}

func (p *htmlPage) title(id string) string {
	if t := p.trap(id); t != nil {
		return t.Title()
	}
	return ""
}
