package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

func (s *finder) typeOf(e ast.Expr) types.Type {
	if t := s.pkg.TypesInfo.TypeOf(e); t != nil {
		return types.Default(t)
	}
	return types.Typ[types.Invalid]
}

func (s *finder) constant(e ast.Expr) bool { return s.pkg.TypesInfo.Types[e].Value != nil }

func (s *finder) isBool(e ast.Expr) bool { return types.Identical(s.typeOf(e), types.Typ[types.Bool]) }

func (s *finder) isNumber(e ast.Expr) bool {
	b, ok := s.typeOf(e).Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsFloat) != 0
}

// argument is a type as the argument of a generic function: "[time.Duration]". It is left to the compiler, as "", where
// the file has no name for it.
func (s *finder) argument(t types.Type, at token.Pos) string {
	text := types.TypeString(t, func(p *types.Package) string {
		if p == s.pkg.Types {
			return ""
		}
		return p.Name()
	})
	if tv, err := types.Eval(s.pkg.Fset, s.pkg.Types, at, text); err != nil || !tv.IsType() || !types.Identical(tv.Type, t) {
		return ""
	}
	return "[" + text + "]"
}

// parameter is the type that the i-th argument of a call must fit.
func parameter(f *types.Signature, c *ast.CallExpr, i int) types.Type {
	last := f.Params().Len() - 1
	t := f.Params().At(min(i, last)).Type()
	if list, ok := t.(*types.Slice); ok && f.Variadic() && i >= last && !c.Ellipsis.IsValid() {
		return list.Elem()
	}
	return t
}
