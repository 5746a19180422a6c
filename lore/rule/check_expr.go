package rule

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	celast "cel.dev/cel-go/common/ast"
	"github.com/goccy/go-yaml/ast"
)

// checker checks expressions over the names that are known so far.
type checker struct {
	p   *parsing
	env *cel.Env
}

func newChecker(p *parsing) *checker {
	env, err := base()
	if err != nil {
		p.errorAt(place{1, 1}, "%v", err)
		return nil
	}
	c := &checker{p: p, env: env}
	var vars []cel.EnvOption
	for i := range p.r.Facts {
		f := &p.r.Facts[i]
		vars = append(vars, cel.Variable(f.Name, f.celType()))
	}
	if c.env, err = env.Extend(vars...); err != nil {
		p.errorAt(place{1, 1}, "%v", err)
		return nil
	}
	return c
}

func (c *checker) declare(name string, typ *cel.Type) {
	if env, err := c.env.Extend(cel.Variable(name, typ)); err == nil {
		c.env = env
	}
}

// What a text is for decides what may stand in it.
type textUse int

const (
	freeText    textUse = iota
	summaryText         // kept for ever: nothing volatile
)

// expr checks the expression that is a node's text.
func (p *parsing) expr(n ast.Node, want *cel.Type) (*Expr, *cel.Type) {
	src, ok := scalar(n)
	if !ok || strings.TrimSpace(src) == "" {
		p.errorf(n, "an expression must be text, not %s", form(n))
		return nil, nil
	}
	return p.compile(n, src, 0, 0, want, freeText)
}

func (p *parsing) condition(n ast.Node) *Expr {
	e, _ := p.expr(n, cel.BoolType)
	if e == nil {
		return nil
	}
	for i := range p.r.Facts {
		if f := &p.r.Facts[i]; f.on("optional", false) && nameIn(e.Source, f.Name) {
			p.errorf(n, "%s is optional: where it cannot be read it looks like nothing found, and nothing may be decided by it", f.Name)
		}
	}
	return e
}

// nameIn tells whether a name stands in an expression, near enough.
func nameIn(src, name string) bool {
	re, err := compiled(`(^|[^.\w])` + name + `\b`)
	return err == nil && re.MatchString(src)
}

// compile checks an expression that begins line lines and col characters into
// the text of n.
func (p *parsing) compile(n ast.Node, src string, line, col int, want *cel.Type, use textUse) (*Expr, *cel.Type) {
	spot := func(l, c int) place { // within the expression, from 0
		if l == 0 {
			c += col
		}
		return p.within(n, line+l, c)
	}
	if len(src) > exprLimit {
		p.errorAt(spot(0, 0), "an expression of %d bytes: %d at most", len(src), exprLimit)
		return nil, nil
	}
	if p.env == nil {
		return nil, nil
	}
	checked, iss := p.env.env.Compile(src)
	if iss.Err() != nil {
		for i, e := range iss.Errors() {
			if i == 5 {
				break
			}
			p.errorAt(spot(max(0, e.Location.Line()-1), max(0, e.Location.Column())), "%s", p.sayIssue(e))
		}
		return nil, nil
	}
	typ := checked.OutputType()
	if want != nil && !want.IsAssignableType(typ) && !typ.IsExactType(cel.DynType) {
		p.errorAt(spot(0, 0), "the expression must be %s, but is %s", typeName(want), typeName(typ))
		return nil, nil
	}
	p.look(checked, use, spot)
	return &Expr{Source: src, Line: spot(0, 0).line, ast: checked}, typ
}

// sayIssue puts CEL's complaint into an admin's words, with what was perhaps meant.
func (p *parsing) sayIssue(e *common.Error) string {
	msg := strings.ReplaceAll(e.Message, "fact.", "")
	msg = strings.ReplaceAll(msg, " (in container '')", "")
	if name, ok := strings.CutPrefix(msg, "undeclared reference to '"); ok {
		name, _, _ = strings.Cut(name, "'")
		if name != "" {
			known := append(p.names(), "now", "host", "os", p.r.As)
			for _, l := range p.r.Lets {
				known = append(known, l.Name)
			}
			return "nothing is called " + name + suggest(name, known)
		}
	}
	if name, ok := strings.CutPrefix(msg, "undefined field '"); ok {
		return "no such field: " + strings.TrimSuffix(name, "'")
	}
	return msg
}

// look notes the names that an expression uses, checks the regexes in it, and
// warns of what changes by itself in a text that should stay.
func (p *parsing) look(a *cel.Ast, use textUse, spot func(l, c int) place) {
	rep := a.NativeRep()
	where := func(e celast.Expr) place {
		if loc := rep.SourceInfo().GetStartLocation(e.ID()); loc != nil && loc.Line() > 0 {
			return spot(loc.Line()-1, loc.Column())
		}
		return spot(0, 0)
	}
	volatile := map[string]place{}
	visit := func(e celast.Expr) {
		switch e.Kind() {
		case celast.IdentKind:
			name := e.AsIdent()
			p.used[name] = true
			if name == "now" {
				volatile["now"] = where(e)
			}
		case celast.SelectKind:
			sel := e.AsSelect()
			t := rep.GetType(sel.Operand().ID())
			name, ok := strings.CutPrefix(t.TypeName(), "fact.")
			if o := objects()[name]; ok && o != nil && o.fields[sel.FieldName()].volatile {
				volatile[sel.FieldName()] = where(e)
			}
		case celast.CallKind:
			call := e.AsCall()
			args := call.Args()
			if call.IsMemberFunction() && (call.FunctionName() == "matches" || call.FunctionName() == "capture") && len(args) == 1 && args[0].Kind() == celast.LiteralKind {
				pattern, _ := args[0].AsLiteral().Value().(string)
				if _, err := compiled(pattern); err != nil {
					p.errorAt(where(args[0]), "%v", err)
				}
			}
		}
	}
	celast.PostOrderVisit(rep.Expr(), celast.NewExprVisitor(visit))
	if use == summaryText {
		for name, at := range volatile {
			p.warnAt(at, "%s changes by itself: it belongs in detail, not in what a finding is known by", name)
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
		line, col := lineCol(s, open)
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

// lineCol turns an offset into line and column in characters, from 0.
func lineCol(s string, off int) (line, col int) {
	before := s[:off]
	line = strings.Count(before, "\n")
	return line, len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
}

func dynType() *cel.Type { return cel.DynType }

func elementOf(t *cel.Type) (*cel.Type, bool) {
	if t.IsExactType(cel.DynType) {
		return cel.DynType, true
	}
	if t.Kind() != cel.ListKind {
		return cel.DynType, false
	}
	return t.Parameters()[0], true
}

// typeName says a type for people.
func typeName(t *cel.Type) string {
	switch t.Kind() {
	case cel.BoolKind:
		return "true or false"
	case cel.StringKind:
		return "text"
	case cel.IntKind, cel.DoubleKind:
		return "a number"
	case cel.ListKind:
		return "a list"
	case cel.MapKind:
		return "a map"
	}
	return strings.TrimPrefix(t.TypeName(), "fact.")
}
