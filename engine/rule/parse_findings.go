package rule

import (
	"fettle/engine/trap"

	"github.com/goccy/go-yaml/ast"
)

func (p *parsing) findings(n ast.Node) {
	if n == nil || len(items(n)) == 0 {
		p.errorAt(place{1, 1}, "findings is missing: when the trap is met")
		return
	}
	if l := items(n); len(l) > findLimit {
		p.errorf(l[findLimit], "more than %d findings", findLimit)
	}
	for _, i := range items(n) {
		var f Finding
		ok := p.entries(i, "a finding", func(key string, k, v ast.Node) {
			switch key {
			case "when":
				f.When = p.condition(v)
			case "severity":
				f.Severity = p.severity(v)
			case "subject":
				if f.Subject = p.text(v, key, summaryText); p.r.Each != nil {
					p.errorf(k, "subject: with each, the subject is that of the element")
				}
			case "summary":
				f.Summary = p.text(v, key, summaryText)
			case "detail":
				f.Detail = p.text(v, key, freeText)
			case "by_hand":
				f.ByHand = p.text(v, key, freeText)
			case "start":
				f.Start = p.start(v)
			case "lost":
				f.Lost = p.text(v, key, summaryText)
			case "evidence":
				f.Evidence = p.evidence(v)
			default:
				p.errorf(
					k,
					"a finding has no key %q%s",
					key,
					suggest(key, []string{"when", "severity", "subject", "summary", "detail", "by_hand", "start", "lost", "evidence"}),
				)
			}
		})
		if !ok {
			continue
		}
		p.need(i, "a finding", map[string]bool{"when": f.When != nil, "summary": f.Summary != nil}, "when", "summary")
		if f.Severity == 0 {
			if f.Severity = p.r.Severity; f.Severity == 0 && p.top["severity"] == nil {
				p.errorf(i, "severity is missing, here and at the top")
			}
		}
		p.r.Findings = append(p.r.Findings, f)
	}
}

func (p *parsing) start(n ast.Node) trap.Start {
	switch s := trap.Start(p.str(n, "start")); s {
	case trap.StartFails, trap.StartWithout, trap.StartSame:
		return s
	}
	p.errorf(n, "start: it is %s, %s or %s", trap.StartFails, trap.StartWithout, trap.StartSame)
	return ""
}

func (p *parsing) evidence(n ast.Node) []Evidence {
	var out []Evidence
	for _, i := range items(n) {
		if name, ok := scalar(i); ok {
			if _, fact := p.factAt[name]; !fact {
				p.errorf(i, "evidence: no fact is called %q%s", name, suggest(name, p.names()))
			}
			p.used[name] = true
			out = append(out, Evidence{Fact: name})
			continue
		}
		var e Evidence
		p.entries(i, "evidence", func(key string, k, v ast.Node) {
			switch key {
			case "source":
				e.Source = p.text(v, key, freeText)
			case "value":
				e.Value = p.text(v, key, freeText)
			default:
				p.errorf(k, "evidence: no key is called %q; there are source and value", key)
			}
		})
		if mapping(i) != nil {
			p.need(i, "evidence", map[string]bool{"source": e.Source != nil, "value": e.Value != nil}, "source", "value")
		}
		out = append(out, e)
	}
	return out
}
