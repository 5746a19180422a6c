package main

import (
	"go/ast"
	"go/token"
)

// rewriting is a text with words put around parts of it, by their offsets: of parts that begin or end together, the one
// that was named first is the outer one.
type rewriting struct {
	src           []byte
	before, after map[int]string
	without       map[int]int // what is left out, from and to
}

func newRewriting(src []byte) *rewriting {
	return &rewriting{src, map[int]string{}, map[int]string{}, map[int]int{}}
}

func (r *rewriting) around(from, to int, before, after string) {
	r.before[from] += before
	r.after[to] = after + r.after[to]
}

func (r *rewriting) bytes() []byte {
	var out []byte
	for i := 0; ; {
		out = append(append(out, r.after[i]...), r.before[i]...)
		switch end, ok := r.without[i]; {
		case ok:
			i = end
		case i == len(r.src):
			return out
		default:
			out = append(out, r.src[i])
			i++
		}
	}
}

func (s *finder) offset(p token.Pos) int { return s.pkg.Fset.Position(p).Offset }

func (s *finder) between(from, to token.Pos) string {
	return string(s.src[s.offset(from):s.offset(to)])
}

func (s *finder) on(number string) string { return s.prefix + "On(" + number + ")" }

func (s *finder) around(n ast.Node, before, after string) {
	s.copy.around(s.offset(n.Pos()), s.offset(n.End()), before, after)
}

func (s *finder) instead(from, to token.Pos, by string) {
	s.copy.before[s.offset(from)] += by
	s.copy.without[s.offset(from)] = s.offset(to)
}
