package rule

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// scalar is a value's text as it is written.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	case *ast.MappingKeyNode:
		return scalar(n.Value)
	}
	return "", false
}

// form names what a node is, for people.
func form(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode, nil:
		return "nothing"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	}
	return "text"
}

// str reads a value that is text; numbers count as written.
func (r *reader) str(n ast.Node, what string) string {
	s, ok := scalar(n)
	if !ok {
		r.errorf(n, "%s must be text, not %s", what, form(n))
	}
	return s
}

func (r *reader) list(n ast.Node, what string) []string {
	var out []string
	for _, i := range items(n) {
		if s, ok := scalar(i); ok {
			out = append(out, s)
		} else {
			r.errorf(i, "%s must be a list of texts; this is %s", what, form(i))
		}
	}
	return out
}

func (r *reader) boolean(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		r.errorf(n, "%s must be true or false, not %s", what, form(n))
		return false
	}
	return b.Value
}

// within is the place of a character of a scalar's text: line and column of
// the text, both from 0.
func (r *reader) within(n ast.Node, line, col int) place {
	start := at(n)
	switch n := n.(type) {
	case *ast.LiteralNode:
		if strings.HasPrefix(n.Start.Value, ">") { // folded: lines were joined
			return place{start.line + 1, r.indent(start.line+1) + 1}
		}
		l := start.line + 1 + line
		return place{l, r.indentOf(start.line+1) + col + 1}
	case *ast.StringNode:
		if line == 0 && (n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType) {
			return place{start.line, start.col + 1 + col}
		}
		if line == 0 {
			return place{start.line, start.col + col}
		}
	}
	return start
}

// indentOf is the indentation of a literal block whose first line is line.
func (r *reader) indentOf(line int) int {
	for ; line <= len(r.lines); line++ {
		if strings.TrimSpace(r.lines[line-1]) != "" {
			return r.indent(line)
		}
	}
	return 0
}

func (r *reader) indent(line int) int {
	if line < 1 || line > len(r.lines) {
		return 0
	}
	return len(r.lines[line-1]) - len(strings.TrimLeft(r.lines[line-1], " "))
}
