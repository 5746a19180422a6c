package rule

import (
	"iter"
	"strings"
	"unicode/utf8"

	"fettle/engine/rule/cel"
)

// costs says what functions make that can be much more than they are given. A
// piece of text in a list costs one, as it does when it is looked at.
func costs(f cel.Functions) {
	f.Ahead("replace", func(a []any) int {
		s, from, to := text(a, 0), text(a, 1), text(a, 2)
		return cel.Bytes(len(s) + strings.Count(s, from)*max(0, len(to)-len(from)))
	})
	f.Ahead("split", func(a []any) int {
		s, at := text(a, 0), text(a, 1)
		if at != "" {
			return strings.Count(s, at) + 1
		}
		return utf8.RuneCountInString(s)
	})
	f.Ahead("lines", func(a []any) int { return strings.Count(text(a, 0), "\n") + 1 })
	f.Ahead("fields", func(a []any) int { return count(strings.FieldsSeq(text(a, 0))) })
	f.Ahead("join", func(a []any) int {
		all, _ := cel.Elements(a[0])
		made := len(all) * len(text(a, 1))
		for i := range all {
			made += len(text(all, i))
		}
		return len(all) + cel.Bytes(made)
	})
	f.Ahead("sorted", elements)
	f.Ahead("distinct", elements)
	f.Ahead("sum", elements)
	f.Ahead("capture", func(a []any) int { return cel.Bytes(len(text(a, 0))) * (len(text(a, 1)) / 4) })
}

func text(args []any, i int) string {
	s, _ := args[i].(string)
	return s
}

func elements(args []any) int {
	all, _ := cel.Elements(args[0])
	return len(all)
}

func count[T any](seq iter.Seq[T]) int {
	n := 0
	for range seq {
		n++
	}
	return n
}
