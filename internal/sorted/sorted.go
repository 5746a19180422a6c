// Package sorted sorts slices of any type with one copy of the algorithm. The
// compiler makes a copy of slices.SortFunc for each type that is sorted, and
// each adds some 10 KB to the program.
package sorted

import (
	"iter"
	"slices"
)

// By sorts s by cmp. Elements that compare as equal keep their order.
func By[E any](s []E, cmp func(a, b E) int) {
	if slices.IsSortedFunc(s, cmp) {
		return
	}
	out := make([]E, len(s))
	for to, from := range order(len(s), func(i, j int) int { return cmp(s[i], s[j]) }) {
		out[to] = s[from]
	}
	copy(s, out)
}

// Of collects seq, sorted by cmp.
func Of[E any](seq iter.Seq[E], cmp func(a, b E) int) []E {
	s := slices.Collect(seq)
	By(s, cmp)
	return s
}

// order says which of n elements belongs where.
func order(n int, cmp func(i, j int) int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int {
		if c := cmp(i, j); c != 0 {
			return c
		}
		return i - j
	})
	return at
}
