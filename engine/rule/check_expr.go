package rule

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"fettle/engine/rule/cel"
)

// declareFacts begins the environment of the rule's expressions, which the lets
// and the element of each are added to.
func (p *parsing) declareFacts() {
	p.env = environment()
	for i := range p.r.Facts {
		f := &p.r.Facts[i]
		p.declare(f.Name, f.celType())
	}
}

func (p *parsing) declare(name string, typ cel.Type) { p.env = p.env.With(name, typ) }

// What a text is for decides what may be in it.
type textUse int

const (
	freeText    textUse = iota
	summaryText         // kept forever: nothing volatile
)

// expr checks the expression that is a node's text.
func (p *parsing) expr(n ast.Node, want *cel.Type) (*Expr, cel.Type) {
	src, ok := scalar(n)
	if !ok || strings.TrimSpace(src) == "" {
		p.errorf(n, "an expression must be text, not %s", form(n))
		return nil, cel.Type{}
	}
	return p.compile(n, src, 0, 0, want, freeText)
}

// truthType is what a condition must be.
var truthType = cel.Simple(cel.Bool)

func (p *parsing) condition(n ast.Node) *Expr {
	e, _ := p.expr(n, &truthType)
	if e == nil {
		return nil
	}
	for i := range p.r.Facts {
		if f := &p.r.Facts[i]; f.on("optional", false) && nameIn(e.Source, f.Name) {
			p.errorf(n, "%s is optional: if it cannot be read, it looks like nothing found, so no condition may use it", f.Name)
		}
	}
	return e
}

// nameIn tells whether a name is in an expression, near enough.
func nameIn(src, name string) bool {
	re, err := compiled(`(^|[^.\w])` + name + `\b`)
	return err == nil && re.MatchString(src)
}

// compile checks an expression that begins line lines and col characters into
// the text of n.
func (p *parsing) compile(n ast.Node, src string, line, col int, want *cel.Type, use textUse) (*Expr, cel.Type) {
	spot := func(at int) place {
		l, c := cel.Place(src, at)
		if l == 0 {
			c += col
		}
		return p.within(n, line+l, c)
	}
	if len(src) > exprLimit {
		p.errorAt(spot(0), "an expression of %d bytes: %d at most", len(src), exprLimit)
		return nil, cel.Type{}
	}
	tree, err := cel.Parse(src)
	if err != nil {
		at := 0
		if m, ok := err.(cel.Mistake); ok {
			at = m.At
		}
		p.errorAt(spot(at), "%s", err)
		return nil, cel.Type{}
	}
	checked, mistakes := p.env.Check(tree)
	for _, m := range mistakes {
		p.errorAt(spot(m.At), "%s", p.sayMistake(m.Msg))
	}
	if len(mistakes) > 0 {
		return nil, cel.Type{}
	}
	if want != nil && !checked.Type.Is(*want) {
		p.errorAt(spot(0), "the expression must be %s, but is %s", typeName(*want), typeName(checked.Type))
		return nil, cel.Type{}
	}
	p.look(tree, checked, use, spot)
	return &Expr{Source: src, Line: spot(0).line}, checked.Type
}

// sayMistake puts a complaint into an admin's words, with what was perhaps meant.
func (p *parsing) sayMistake(msg string) string {
	if name, ok := strings.CutPrefix(msg, "undeclared reference to '"); ok {
		name = strings.TrimSuffix(name, "'")
		known := append(p.names(), "now", "host", "os", p.r.As)
		for _, l := range p.r.Lets {
			known = append(known, l.Name)
		}
		return "nothing is called " + name + suggest(name, known)
	}
	if name, ok := strings.CutPrefix(msg, "undefined field '"); ok {
		return "no such field: " + strings.TrimSuffix(name, "'")
	}
	return msg
}

// look notes the names that an expression uses, checks the regexes in it, and
// warns of what changes by itself in a text that should stay.
func (p *parsing) look(tree *cel.Expr, checked cel.Checked, use textUse, spot func(at int) place) {
	warn := func(name string, at int) {
		if use == summaryText {
			p.warnAt(spot(at), "%s changes by itself: it belongs in detail, not in what identifies a finding", name)
		}
	}
	tree.Visit(func(v cel.Visited) {
		if v.Name != "" {
			p.used[v.Name] = true
		}
		if v.Name == "now" {
			warn("now", v.At)
		}
		if v.Call != "matches" && v.Call != "capture" || len(v.Literal) == 0 {
			return
		}
		if pattern, ok := v.Literal[len(v.Literal)-1].(string); ok {
			if _, err := compiled(pattern); err != nil {
				p.errorAt(spot(v.LastAt), "%v", err)
			}
		}
	})
	told := []string{}
	for _, f := range checked.Fields {
		if f.Field.Volatile && !slices.Contains(told, f.Name) {
			told = append(told, f.Name)
			warn(f.Name, f.At)
		}
	}
}

// text reads text with {{expressions}} in it.
func (p *parsing) text(n ast.Node, what string, use textUse) *Text {
	s, ok := scalar(n)
	if !ok {
		p.errorf(n, "%s must be text, not %s%s", what, form(n), hintBraces(n))
		return nil
	}
	if use == summaryText && strings.TrimSpace(s) == "" {
		p.errorf(n, "%s is empty", what)
		return nil
	}
	t, okay := &Text{}, true
	s = strings.TrimSuffix(s, "\n") + keepEnd(what, s)
	done := 0
	for done < len(s) {
		open := strings.Index(s[done:], "{{")
		if open < 0 {
			break
		}
		open += done
		line, col := cel.Place(s, open)
		end := closing(s[open+2:])
		if end < 0 {
			p.errorAt(p.within(n, line, col), "{{ without }}")
			return nil
		}
		if open > done {
			t.Parts = append(t.Parts, Part{Text: s[done:open]})
		}
		src := s[open+2 : open+2+end]
		lead := len(src) - len(strings.TrimLeft(src, " "))
		if strings.TrimSpace(src) == "" {
			p.errorAt(p.within(n, line, col), "{{}} without an expression")
			okay = false
		} else if e, _ := p.compile(n, strings.TrimSpace(src), line, col+2+lead, nil, use); e != nil {
			t.Parts = append(t.Parts, Part{Expr: e})
		} else {
			okay = false
		}
		done = open + 2 + end + 2
	}
	if !okay {
		return nil
	}
	if done < len(s) || len(t.Parts) == 0 {
		t.Parts = append(t.Parts, Part{Text: s[done:]})
	}
	return t
}

// keepEnd: the end of a block's last line counts in a file's content only.
func keepEnd(what, s string) string {
	if what == "content" && strings.HasSuffix(s, "\n") {
		return "\n"
	}
	return ""
}

// hintBraces helps who wrote {{x}} without quotes, which is a map to YAML.
func hintBraces(n ast.Node) string {
	if m, ok := n.(*ast.MappingNode); ok && m.IsFlowStyle {
		return "; put quotes around text that begins with {{"
	}
	return ""
}

// closing finds the }} that ends an expression, not one inside its strings.
func closing(s string) int {
	var quote byte
	depth := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == '}' && i+1 < len(s) && s[i+1] == '}':
			return i
		}
	}
	return -1
}

func elementOf(t cel.Type) (cel.Type, bool) {
	switch t.Kind {
	case cel.Dyn:
		return t, true
	case cel.List:
		return *t.Elem, true
	}
	return cel.Type{}, false
}

// typeName says a type for people.
func typeName(t cel.Type) string {
	switch t.Kind {
	case cel.Bool:
		return "true or false"
	case cel.String:
		return "text"
	case cel.Int, cel.Double:
		return "a number"
	case cel.List:
		return "a list"
	case cel.Map:
		return "a map"
	}
	return t.String()
}
