package cli

import (
	"fmt"
	"slices"
	"strings"

	"fettle/trap"
)

// find returns the traps of these ids, in the list's order, each once. An id
// that no trap has is an error of wrong use that names the nearest.
func (a *app) find(ids []string) ([]*trap.Trap, error) {
	have := map[string]bool{}
	for _, t := range a.traps {
		have[t.ID()] = true
	}
	for _, id := range ids {
		if !have[id] {
			return nil, usagef("%s", a.noSuchTrap(id))
		}
	}
	var out []*trap.Trap
	for _, t := range a.traps {
		if slices.Contains(ids, t.ID()) {
			out = append(out, t)
		}
	}
	return out, nil
}

func (a *app) noSuchTrap(id string) string {
	best, least := "", max(2, len(id)/3)+1
	for _, t := range a.traps {
		if d := editDistance(strings.ToLower(id), t.ID()); d < least {
			best, least = t.ID(), d
		}
	}
	for _, t := range a.traps {
		if best == "" && len(id) >= 3 && strings.Contains(t.ID(), strings.ToLower(id)) {
			best = t.ID()
		}
	}
	if best == "" {
		return fmt.Sprintf("no trap is called %q; fettle list shows them all", id)
	}
	return fmt.Sprintf("no trap is called %q; did you mean %s? (fettle list shows them all)", id, best)
}

// editDistance counts the letters to insert, delete, replace, or swap with
// their neighbour, to make a into b (optimal string alignment).
func editDistance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, old[j]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
