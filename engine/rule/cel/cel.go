// Package cel is the part of CEL (https://cel.dev) in which rules are written:
// a parser, a type checker and an evaluator with bounds.
//
// It has what rules about a host need: bool, int, double, string, timestamp,
// duration, lists, maps, null, the objects that a program brings as Go structs,
// the macros has, all, exists, exists_one, filter and map, and the functions that
// a program brings as Go functions. It leaves out protocol buffers, bytes,
// unsigned numbers and values that are types. What it does have means what
// google/cel-go makes of it; the tests of package rule compare the two.
package cel

import (
	"fmt"
	"strings"
)

// Expr is an expression that was parsed.
type Expr struct {
	src  string
	root *node
}

// Mistake is what is wrong with an expression, and at which byte of it.
type Mistake struct {
	At  int
	Msg string
}

func (m Mistake) Error() string { return m.Msg }

// op is the kind of a node.
type op uint8

const (
	opLiteral op = iota
	opName
	opField  // args[0].name
	opHas    // has(args[0].name)
	opIndex  // args[0][args[1]]
	opCall   // name(args...)
	opMember // args[0].name(args[1:]...)
	opList
	opMap // keys and values by turns
	opIf
	opAnd
	opOr
	opNot
	opNeg
	opBinary // args[0] name args[1]
	opEach   // the macro name: args[0] is the range, variable the element, args[1:] what is asked of it
)

type node struct {
	op       op
	at       int // byte in the source
	name     string
	variable string
	value    any // of a literal
	args     []*node
}

// Bounds of what is parsed.
const (
	maxNodes = 2000
	maxDepth = 100
)

// Visit calls do for every name and call in the expression.
func (e *Expr) Visit(do func(v Visited)) { e.root.visit(do) }

// Visited is one place in an expression.
type Visited struct {
	At      int
	Name    string // of a name
	Call    string // of a function, member or not
	Literal []any  // the arguments of a call (its receiver left out); nil for what is no literal
	LastAt  int    // where the last of them stands
}

func (n *node) visit(do func(Visited)) {
	switch n.op {
	case opName:
		do(Visited{At: n.at, Name: n.name})
	case opCall, opMember:
		args := n.args
		if n.op == opMember {
			args = args[1:]
		}
		v := Visited{At: n.at, Call: n.name}
		for _, a := range args {
			v.Literal, v.LastAt = append(v.Literal, a.value), a.at
		}
		do(v)
	}
	for _, a := range n.args {
		a.visit(do)
	}
}

// String is the expression as it was written.
func (e *Expr) String() string { return e.src }

// Place turns a byte offset into a line and a column in characters, from 0.
func Place(src string, at int) (line, col int) {
	before := src[:min(at, len(src))]
	line = strings.Count(before, "\n")
	return line, len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
}

func mistakef(at int, format string, args ...any) Mistake {
	return Mistake{at, fmt.Sprintf(format, args...)}
}
