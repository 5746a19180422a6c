package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mutant is one small mistake, made by rule and switched off.
type mutant struct {
	n    int    // its switch, from 1
	file string // of the source
	line int
	what string // "< becomes <="
	text string // the line as it was, without blanks around it
}

// id names a mutant in the list of those that change nothing: by the text of its
// line, so that it outlives other changes of the file.
func (m *mutant) id() string { return fmt.Sprintf("%s: %s: %s", m.file, m.what, m.text) }

func (m *mutant) place() string { return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.what, m.text) }

// swaps are operators that are easily mistaken for each other: bounds off by one,
// conditions upside down, one of two conditions enough.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD},
}

// units are constants of time that are easily mistaken for each other.
var units = map[string]string{"Millisecond": "Second", "Second": "Millisecond", "Minute": "Second", "Hour": "Minute"}

// removable are calls whose only trace is what happens later: what is not on disk,
// a lock that stays, a descriptor that leaks.
var removable = map[string]bool{
	"Sync":    true,
	"Unlock":  true,
	"RUnlock": true,
	"Lock":    true,
	"RLock":   true,
	"Close":   true,
	"Reset":   true,
	"Stop":    true,
}

// finder writes every mistake that a package can be switched to into copies of its files.
// By its types it knows which are Go at all.
type finder struct {
	pkg    *packages.Package
	prefix string // of the switches' names
	found  []*mutant

	// Of the file at hand:
	file  string
	src   []byte
	stack []ast.Node // what the node at hand is in
	copy  *rewriting
}

// switched finds the mistakes of a package in a folder, and returns the copies of its files, by
// their names, in which each has a switch.
func switched(pkg *packages.Package, folder, prefix string) ([]*mutant, map[string][]byte, error) {
	s, copies := &finder{pkg: pkg, prefix: prefix}, map[string][]byte{}
	for i, name := range pkg.CompiledGoFiles {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		s.file, s.src, s.copy = folder+name[strings.LastIndexByte(name, '/'):], src, newRewriting(src)
		ast.PreorderStack(pkg.Syntax[i], nil, s.visit)
		copies[name] = s.copy.bytes()
	}
	return s.found, copies, nil
}

// add notes a mistake, and returns its switch.
func (s *finder) add(at token.Pos, what string) string {
	line := s.pkg.Fset.Position(at).Line
	text := bytes.TrimSpace(bytes.Split(s.src, []byte("\n"))[line-1])
	s.found = append(s.found, &mutant{len(s.found) + 1, s.file, line, what, string(text)})
	return strconv.Itoa(len(s.found))
}

func (s *finder) visit(n ast.Node, stack []ast.Node) bool {
	s.stack = stack
	switch x := n.(type) {
	case *ast.GenDecl:
		return x.Tok != token.IMPORT && x.Tok != token.CONST
	case *ast.ArrayType:
		return false // its length is a constant
	case *ast.BinaryExpr:
		s.binary(x)
	case *ast.UnaryExpr:
		if x.Op == token.NOT && s.isBool(x) {
			s.negated(x, s.add(x.Pos(), "! is left out"))
		}
	case *ast.SelectorExpr:
		if pkg, ok := x.X.(*ast.Ident); ok && pkg.Name == "time" && units[x.Sel.Name] != "" && s.constant(x) {
			s.fixed(x, x.Sel.Pos(), x.Sel.End(), units[x.Sel.Name], "time."+x.Sel.Name+" becomes "+units[x.Sel.Name])
		}
	case *ast.ExprStmt:
		if name := called(x.X); removable[name] {
			s.removed(x, name+" is left out")
		}
	case *ast.DeferStmt:
		if name := called(x.Call); removable[name] || name == "cancel" {
			s.removed(x, "defer "+name+" is left out")
		}
	case *ast.ReturnStmt:
		s.dropped(x)
	case *ast.CallExpr:
		s.call(x)
	case *ast.BranchStmt:
		if x.Label == nil && x.Tok == token.CONTINUE && s.mayBreak(x) {
			s.instead(x.Pos(), x.End(), "{ if "+s.on(s.add(x.Pos(), "continue becomes break"))+" { break }; continue }")
		}
	}
	return true
}

// functions are what the copy calls instead of an operator (switch.go.txt).
var functions = map[token.Token]string{
	token.LSS: "Less", token.LEQ: "AtMost", token.GTR: "More", token.GEQ: "AtLeast", token.ADD: "Sum", token.SUB: "Difference",
}

func (s *finder) binary(x *ast.BinaryExpr) {
	sum := x.Op == token.ADD || x.Op == token.SUB
	if swaps[x.Op] == nil || sum && !s.isNumber(x) || !sum && !s.isBool(x) {
		return // words are put together with +, too
	}
	end := x.OpPos + token.Pos(len(x.Op.String()))
	var numbers string
	for _, op := range swaps[x.Op] {
		what := x.Op.String() + " becomes " + op.String()
		if s.constant(x) {
			s.fixed(x, x.OpPos, end, op.String(), what)
			continue
		}
		numbers += s.add(x.OpPos, what) + ", "
	}
	if s.constant(x) {
		return
	}
	switch number := strings.TrimSuffix(numbers, ", "); x.Op {
	case token.EQL, token.NEQ:
		s.negated(x, number)
	case token.LAND, token.LOR: // a || b is !(!a && !b), as lazy, and the other way round
		s.negated(x, number)
		s.around(x.X, "(", ") != "+s.on(number))
		s.around(x.Y, "(", ") != "+s.on(number))
	default:
		s.around(x, s.prefix+functions[x.Op]+s.argument(s.typeOf(x.X), x.Pos())+"("+numbers, ")")
		s.instead(x.OpPos, end, ",")
	}
}

// negated is a condition that the switch turns upside down.
func (s *finder) negated(x ast.Expr, number string) { s.around(x, "((", ") != "+s.on(number)+")") }

// fixed is another value of the whole constant expression that x is in, which stays one for the compiler: it is
// there twice.
func (s *finder) fixed(x ast.Expr, from, to token.Pos, by, what string) {
	whole := x
	for i := len(s.stack) - 1; i >= 0; i-- {
		e, ok := s.stack[i].(ast.Expr)
		if !ok || !s.constant(e) {
			break
		}
		whole = e
	}
	mistaken := s.between(whole.Pos(), from) + by + s.between(to, whole.End())
	of := s.argument(s.typeOf(whole), whole.Pos())
	if _, err := types.Eval(s.pkg.Fset, s.pkg.Types, whole.Pos(), strings.Trim(of, "[]")+"("+mistaken+")"); err == nil {
		s.around(whole, s.prefix+"Pick"+of+"("+s.add(from, what)+", ", ", "+mistaken+")")
	}
}

// removed is a statement that is left out.
func (s *finder) removed(x ast.Stmt, what string) {
	switch s.stack[len(s.stack)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.LabeledStmt: // not what an if or for begins with
		s.around(x, "if !"+s.on(s.add(x.Pos(), what))+" { ", " }")
	}
}

// dropped is an error that is not passed on.
func (s *finder) dropped(r *ast.ReturnStmt) {
	if len(r.Results) == 0 {
		return
	}
	last := r.Results[len(r.Results)-1]
	id, isName := last.(*ast.Ident)
	c, isCall := last.(*ast.CallExpr)
	if isName && strings.HasSuffix(id.Name, "err") || isCall && s.between(c.Fun.Pos(), c.Fun.End()) == "fmt.Errorf" {
		if t := s.typeOf(last); types.Identical(t, types.Universe.Lookup("error").Type()) {
			s.around(last, s.prefix+"Pick"+s.argument(t, last.Pos())+"("+s.add(last.Pos(), "the error is dropped")+", ", ", nil)")
		}
	}
}

// call may have two arguments in each other's place, or min for max.
func (s *finder) call(c *ast.CallExpr) {
	if id, ok := c.Fun.(*ast.Ident); ok && (id.Name == "min" || id.Name == "max") && !s.constant(c) {
		if _, ok := s.pkg.TypesInfo.Uses[id].(*types.Builtin); ok {
			other := map[string]string{"min": "max", "max": "min"}[id.Name]
			number := s.add(id.Pos(), id.Name+" becomes "+other)
			s.instead(id.Pos(), id.End(), s.prefix+map[string]string{"min": "Min", "max": "Max"}[id.Name]+s.argument(s.typeOf(c), c.Pos()))
			s.copy.before[s.offset(c.Lparen)+1] += number + ", "
		}
		return
	}
	f, ok := s.typeOf(c.Fun).Underlying().(*types.Signature)
	for i := 0; ok && i+1 < len(c.Args); i++ {
		a, aok := c.Args[i].(*ast.Ident)
		b, bok := c.Args[i+1].(*ast.Ident)
		if aok && bok && a.Name != "ctx" && a.Name != "nil" && b.Name != "nil" && a.Name != b.Name && a.Name != "t" {
			s.swapped(a, b, parameter(f, c, i), parameter(f, c, i+1))
		}
	}
}

// swapped are two arguments, for parameters p and q, where each fits in the other's place.
func (s *finder) swapped(a, b *ast.Ident, p, q types.Type) {
	ta, tb := s.typeOf(a), s.typeOf(b)
	if s.pkg.TypesInfo.Types[a].IsType() || !types.AssignableTo(tb, p) || !types.AssignableTo(ta, q) {
		return
	}
	ofA, ofB := s.argument(p, a.Pos()), s.argument(q, b.Pos())
	if (ofA == "" || ofB == "") && !types.Identical(ta, tb) {
		return
	}
	number := s.add(a.Pos(), a.Name+" and "+b.Name+" are swapped")
	s.around(a, s.prefix+"Pick"+ofA+"("+number+", ", ", "+b.Name+")")
	s.around(b, s.prefix+"Pick"+ofB+"("+number+", ", ", "+a.Name+")")
}

// mayBreak tells whether the function around a continue still compiles with a break instead: it may lack a return then.
func (s *finder) mayBreak(b *ast.BranchStmt) bool {
	for i := len(s.stack) - 1; i >= 0; i-- {
		f := &ast.FuncLit{}
		switch x := s.stack[i].(type) {
		case *ast.FuncDecl:
			f.Type, f.Body = &ast.FuncType{Params: x.Type.Params, Results: x.Type.Results}, x.Body
		case *ast.FuncLit:
			f = x
		default:
			continue
		}
		b.Tok = token.BREAK
		defer func() { b.Tok = token.CONTINUE }()
		return types.CheckExpr(s.pkg.Fset, s.pkg.Types, f.Body.Lbrace, f, nil) == nil
	}
	return false
}

func called(e ast.Expr) string {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}
