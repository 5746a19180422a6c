package cel

import (
	"math"
	"strconv"
	"strings"
)

// Parse reads an expression. The error is a Mistake.
func Parse(src string) (*Expr, error) {
	p := &parser{lex: lexer{src: src}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	root, err := p.expr()
	if err == nil && p.tok.kind != tokEnd {
		err = p.unexpected()
	}
	if err != nil {
		return nil, err
	}
	return &Expr{src, root}, nil
}

type parser struct {
	lex          lexer
	tok          token
	nodes, depth int
}

func (p *parser) advance() (err error) {
	p.tok, err = p.lex.next()
	return err
}

func (p *parser) unexpected() error {
	if p.tok.kind == tokEnd {
		return mistakef(p.tok.at, "the expression ends too early")
	}
	return mistakef(p.tok.at, "unexpected %q", p.lex.src[p.tok.at:p.lex.at])
}

func (p *parser) is(sign string) bool { return p.tok.kind == tokSign && p.tok.text == sign }

// accept takes a sign when it is there.
func (p *parser) accept(sign string) (bool, error) {
	if !p.is(sign) {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(sign string) error {
	if !p.is(sign) {
		return p.unexpected()
	}
	return p.advance()
}

func (p *parser) node(n node) (*node, error) {
	if p.nodes++; p.nodes > maxNodes {
		return nil, mistakef(n.at, "an expression with more than %d parts", maxNodes)
	}
	return &n, nil
}

// expr = or [ "?" or ":" expr ]
func (p *parser) expr() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, mistakef(p.tok.at, "an expression nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	cond, err := p.binary(0)
	if err != nil || !p.is("?") {
		return cond, err
	}
	at := p.tok.at
	if err := p.advance(); err != nil {
		return nil, err
	}
	then, err := p.binary(0)
	if err == nil {
		err = p.expect(":")
	}
	if err != nil {
		return nil, err
	}
	otherwise, err := p.expr()
	if err != nil {
		return nil, err
	}
	return p.node(node{op: opIf, at: at, args: []*node{cond, then, otherwise}})
}

// levels are the binary operators, by what binds least.
var levels = [][]string{{"||"}, {"&&"}, {"<", "<=", ">=", ">", "==", "!=", "in"}, {"+", "-"}, {"*", "/", "%"}}

// operator is the operator of a level that stands here.
func (p *parser) operator(level int) string {
	if p.tok.kind != tokSign && (p.tok.kind != tokName || p.tok.text != "in") {
		return ""
	}
	for _, o := range levels[level] {
		if o == p.tok.text {
			return o
		}
	}
	return ""
}

// binary reads a chain of operators of one level, from the left.
func (p *parser) binary(level int) (*node, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for length := 1; err == nil; length++ {
		name, at := p.operator(level), p.tok.at
		if name == "" {
			return left, nil
		}
		if length > maxDepth && level > 1 { // such a chain nests to the left
			return nil, mistakef(at, "an expression nested more than %d deep", maxDepth)
		}
		if err = p.advance(); err != nil {
			break
		}
		var right *node
		if right, err = p.binary(level + 1); err != nil {
			break
		}
		n := node{op: opBinary, at: at, name: name, args: []*node{left, right}}
		switch name {
		case "||":
			n.op = opOr
		case "&&":
			n.op = opAnd
		}
		if (n.op == opOr || n.op == opAnd) && left.op == n.op && length > 1 {
			left.args = append(left.args, right)
			continue
		}
		left, err = p.node(n)
	}
	return nil, err
}

// unary = member | "!" {"!"} member | "-" {"-"} member
func (p *parser) unary() (*node, error) {
	var o op
	switch {
	case p.is("!"):
		o = opNot
	case p.is("-"):
		o = opNeg
	default:
		return p.member()
	}
	sign, at, count := p.tok.text, p.tok.at, 0
	for p.is(sign) {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if count++; count > maxDepth {
			return nil, mistakef(at, "an expression nested more than %d deep", maxDepth)
		}
	}
	if o == opNeg && (p.tok.kind == tokInt || p.tok.kind == tokDouble) {
		p.tok.text = "-" + p.tok.text // the least int has no positive counterpart
		count--
	}
	n, err := p.member()
	if err != nil || count%2 == 0 {
		return n, err
	}
	return p.node(node{op: o, at: at, args: []*node{n}})
}

// member = primary { "." name [ "(" args ")" ] | "[" expr "]" }
func (p *parser) member() (*node, error) {
	n, err := p.primary()
	for length := 0; err == nil; length++ {
		if length > maxDepth {
			return nil, mistakef(p.tok.at, "an expression nested more than %d deep", maxDepth)
		}
		at := p.tok.at
		switch {
		case p.is("."):
			n, err = p.field(n, at)
		case p.is("["):
			n, err = p.index(n, at)
		case p.is("{"):
			return nil, p.unexpected()
		default:
			return n, nil
		}
	}
	return nil, err
}

func (p *parser) field(of *node, at int) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind != tokName || p.tok.text == "in" || constants[p.tok.text] {
		return nil, p.unexpected()
	}
	name := p.tok.text
	if err := p.advance(); err != nil {
		return nil, err
	}
	if !p.is("(") {
		return p.node(node{op: opField, at: at, name: name, args: []*node{of}})
	}
	at = p.tok.at // where cel-go places a call
	args, err := p.list("(", ")", false)
	if err != nil {
		return nil, err
	}
	if want, macro := eachMacros[name]; macro && (len(args) == want || name == "map" && len(args) == 3) {
		return p.each(of, name, at, args)
	}
	return p.node(node{op: opMember, at: at, name: name, args: append([]*node{of}, args...)})
}

// eachMacros are the macros on lists and maps, and how many arguments they take.
var eachMacros = map[string]int{"all": 2, "exists": 2, "exists_one": 2, "filter": 2, "map": 2}

func (p *parser) each(over *node, name string, at int, args []*node) (*node, error) {
	if args[0].op != opName {
		return nil, mistakef(args[0].at, "%s takes the name of an element first", name)
	}
	return p.node(node{op: opEach, at: at, name: name, variable: args[0].name, args: append([]*node{over}, args[1:]...)})
}

func (p *parser) index(of *node, at int) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	i, err := p.expr()
	if err == nil {
		err = p.expect("]")
	}
	if err != nil {
		return nil, err
	}
	return p.node(node{op: opIndex, at: at, args: []*node{of, i}})
}

// list reads expressions between brackets; a trailing comma may be in a list
// literal.
func (p *parser) list(open, end string, trailing bool) ([]*node, error) {
	if err := p.expect(open); err != nil {
		return nil, err
	}
	var out []*node
	for !p.is(end) {
		n, err := p.expr()
		if err != nil {
			return nil, err
		}
		out = append(out, n)
		more, err := p.accept(",")
		if err != nil {
			return nil, err
		}
		if !more || !trailing && p.is(end) {
			if more {
				return nil, p.unexpected()
			}
			break
		}
	}
	return out, p.expect(end)
}

var (
	constants = map[string]bool{"true": true, "false": true, "null": true}
	// reserved words are no names (cel-spec, langdef.md).
	reserved = map[string]bool{
		"as":        true,
		"break":     true,
		"const":     true,
		"continue":  true,
		"else":      true,
		"for":       true,
		"function":  true,
		"if":        true,
		"import":    true,
		"let":       true,
		"loop":      true,
		"package":   true,
		"namespace": true,
		"return":    true,
		"var":       true,
		"void":      true,
		"while":     true,
	}
)

func (p *parser) primary() (*node, error) {
	t := p.tok
	switch t.kind {
	case tokInt, tokDouble, tokString:
		v, err := literal(t)
		if err == nil {
			err = p.advance()
		}
		if err != nil {
			return nil, err
		}
		return p.node(node{op: opLiteral, at: t.at, value: v})
	case tokName:
		return p.named()
	}
	switch {
	case p.is("("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.expr()
		if err == nil {
			err = p.expect(")")
		}
		return n, err
	case p.is("["):
		els, err := p.list("[", "]", true)
		if err != nil {
			return nil, err
		}
		return p.node(node{op: opList, at: t.at, args: els})
	case p.is("{"):
		return p.mapLiteral()
	}
	return nil, p.unexpected()
}

func literal(t token) (any, error) {
	switch t.kind {
	case tokInt:
		base := 10 // of 010, too
		if strings.HasPrefix(strings.TrimPrefix(t.text, "-"), "0x") {
			base = 0
		}
		n, err := strconv.ParseInt(t.text, base, 64)
		if err != nil {
			return nil, mistakef(t.at, "%s is no number from %d to %d", t.text, math.MinInt64, math.MaxInt64)
		}
		return n, nil
	case tokDouble:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, mistakef(t.at, "%s is too large", t.text)
		}
		return f, nil
	}
	return t.text, nil
}

// named reads what begins with a word: a constant, a name, or a call.
func (p *parser) named() (*node, error) {
	t := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch {
	case t.text == "in":
		return nil, mistakef(t.at, "unexpected %q", t.text)
	case t.text == "true" || t.text == "false":
		return p.node(node{op: opLiteral, at: t.at, value: t.text == "true"})
	case t.text == "null":
		return p.node(node{op: opLiteral, at: t.at, value: Null{}})
	case reserved[t.text]:
		return nil, mistakef(t.at, "%s is a reserved word", t.text)
	case !p.is("("):
		return p.node(node{op: opName, at: t.at, name: t.text})
	}
	at := p.tok.at
	args, err := p.list("(", ")", false)
	if err != nil {
		return nil, err
	}
	if t.text == "has" && len(args) == 1 {
		if args[0].op != opField {
			return nil, mistakef(args[0].at, "has takes a field, as in has(a.b)")
		}
		return p.node(node{op: opHas, at: at, name: args[0].name, args: args[0].args})
	}
	return p.node(node{op: opCall, at: at, name: t.text, args: args})
}

func (p *parser) mapLiteral() (*node, error) {
	at := p.tok.at
	if err := p.advance(); err != nil {
		return nil, err
	}
	var out []*node
	for !p.is("}") {
		for _, end := range []string{":", ""} {
			n, err := p.expr()
			if err == nil && end != "" {
				err = p.expect(end)
			}
			if err != nil {
				return nil, err
			}
			out = append(out, n)
		}
		if more, err := p.accept(","); err != nil {
			return nil, err
		} else if !more {
			break
		}
	}
	if err := p.expect("}"); err != nil {
		return nil, err
	}
	return p.node(node{op: opMap, at: at, args: out})
}

// Null is the value null.
type Null struct{}

func (Null) String() string { return "null" }
