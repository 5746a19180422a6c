package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
)

// mutant is one small mistake in one file, made by rule.
type mutant struct {
	file string
	line int
	ran  int    // the line that has run where this one has; 0: no profile says whether it has
	what string // "< becomes <="
	text string // the line as it was, without blanks around it
	off  int    // where in the file, in bytes
	end  int
	by   string // what is there instead
}

// id names a mutant in the list of those that change nothing: by the text of its
// line, so that it outlives other changes of the file.
func (m *mutant) id() string { return fmt.Sprintf("%s: %s: %s", m.file, m.what, m.text) }

// apply makes the mistake.
func (m *mutant) apply(src []byte) []byte {
	return bytes.Join([][]byte{src[:m.off], []byte(m.by), src[m.end:]}, nil)
}

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

// sites finds where a file can be mistaken.
func sites(file string, src []byte) ([]*mutant, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, 0)
	if err != nil {
		return nil, err
	}
	s := &finder{file: file, src: src, fset: fset}
	for _, d := range f.Decls {
		if _, ok := d.(*ast.GenDecl); ok {
			s.beside = append(s.beside, span{d.Pos(), d.End(), 0})
		}
	}
	ast.Inspect(f, s.visit)
	return s.found, nil
}

// span is code of which no line is in a profile of what ran, and the line that says it nevertheless: the
// conditions of a switch are evaluated, whichever case is taken. What is declared outside of functions has none.
type span struct {
	from, to token.Pos
	ran      int
}

type finder struct {
	file   string
	src    []byte
	fset   *token.FileSet
	beside []span
	found  []*mutant
}

func (s *finder) add(from, to token.Pos, by, what string) {
	p := s.fset.Position(from)
	line := bytes.Split(s.src, []byte("\n"))[p.Line-1]
	m := &mutant{file: s.file, line: p.Line, ran: p.Line, what: what, text: string(bytes.TrimSpace(line)),
		off: p.Offset, end: s.fset.Position(to).Offset, by: by}
	for _, b := range s.beside {
		if b.from <= from && from < b.to {
			m.ran = b.ran // the innermost comes last
		}
	}
	s.found = append(s.found, m)
}

func (s *finder) text(n ast.Node) string {
	return string(s.src[s.fset.Position(n.Pos()).Offset:s.fset.Position(n.End()).Offset])
}

func (s *finder) visit(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.GenDecl:
		return x.Tok != token.IMPORT
	case *ast.SwitchStmt:
		for _, c := range x.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				s.beside = append(s.beside, span{e.Pos(), e.End(), s.fset.Position(x.Pos()).Line})
			}
		}
	case *ast.BinaryExpr:
		s.binary(x)
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			s.add(x.Pos(), x.X.Pos(), "", "! is left out")
		}
	case *ast.SelectorExpr:
		if pkg, ok := x.X.(*ast.Ident); ok && pkg.Name == "time" && units[x.Sel.Name] != "" {
			s.add(x.Sel.Pos(), x.Sel.End(), units[x.Sel.Name], "time."+x.Sel.Name+" becomes "+units[x.Sel.Name])
		}
	case *ast.ExprStmt:
		if name := called(x.X); removable[name] {
			s.add(x.Pos(), x.End(), "_ = 0", name+" is left out")
		}
	case *ast.DeferStmt:
		if name := called(x.Call); removable[name] || name == "cancel" {
			s.add(x.Pos(), x.End(), "_ = 0", "defer "+name+" is left out")
		}
	case *ast.ReturnStmt:
		s.dropped(x)
	case *ast.CallExpr:
		s.swapped(x)
	case *ast.BranchStmt:
		if x.Label == nil && x.Tok == token.CONTINUE {
			s.add(x.Pos(), x.End(), "break", "continue becomes break")
		}
	}
	return true
}

func (s *finder) binary(x *ast.BinaryExpr) {
	if (x.Op == token.ADD || x.Op == token.SUB) && (textual(x.X) || textual(x.Y)) {
		return // words are put together, not numbers
	}
	for _, op := range swaps[x.Op] {
		s.add(x.OpPos, x.OpPos+token.Pos(len(x.Op.String())), op.String(), x.Op.String()+" becomes "+op.String())
	}
}

// textual tells whether an expression is text, as far as can be seen without types.
func textual(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BasicLit:
		return x.Kind == token.STRING
	case *ast.BinaryExpr:
		return textual(x.X) || textual(x.Y)
	case *ast.ParenExpr:
		return textual(x.X)
	}
	return false
}

// dropped is an error that is not passed on.
func (s *finder) dropped(r *ast.ReturnStmt) {
	if len(r.Results) == 0 {
		return
	}
	last := r.Results[len(r.Results)-1]
	if id, ok := last.(*ast.Ident); ok && (id.Name == "err" || strings.HasSuffix(id.Name, "err")) {
		s.add(last.Pos(), last.End(), "nil", "the error is dropped")
	}
	if c, ok := last.(*ast.CallExpr); ok && s.text(c.Fun) == "fmt.Errorf" {
		s.add(last.Pos(), last.End(), "nil", "the error is dropped")
	}
}

// swapped are two arguments in each other's place; min for max.
func (s *finder) swapped(c *ast.CallExpr) {
	if id, ok := c.Fun.(*ast.Ident); ok && (id.Name == "min" || id.Name == "max") {
		other := map[string]string{"min": "max", "max": "min"}[id.Name]
		s.add(id.Pos(), id.End(), other, id.Name+" becomes "+other)
		return
	}
	for i := 0; i+1 < len(c.Args); i++ {
		a, aok := c.Args[i].(*ast.Ident)
		b, bok := c.Args[i+1].(*ast.Ident)
		if aok && bok && a.Name != "ctx" && a.Name != "nil" && b.Name != "nil" && a.Name != b.Name && a.Name != "t" {
			between := string(s.src[s.fset.Position(a.End()).Offset:s.fset.Position(b.Pos()).Offset])
			s.add(a.Pos(), b.End(), b.Name+between+a.Name, a.Name+" and "+b.Name+" are swapped")
		}
	}
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

// valid tells whether the mistake is Go at all.
func valid(src []byte) bool {
	_, err := format.Source(src)
	return err == nil
}
