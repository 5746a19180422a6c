package sorted

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBy compares with the standard library's stable sort.
func TestBy(t *testing.T) {
	type pair struct{ key, at int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	for n := range 200 {
		got := make([]pair, n)
		for i := range got {
			got[i] = pair{rand.IntN(1 + n/3), i}
		}
		want := slices.Clone(got)
		slices.SortStableFunc(want, byKey)
		By(got, byKey)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestOf(t *testing.T) {
	got := Of(maps.Keys(map[string]int{"b": 1, "c": 2, "a": 3}), func(a, b string) int { return cmp.Compare(b, a) })
	if want := []string{"c", "b", "a"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
