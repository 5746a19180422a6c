// Package nearest finds the word that a misspelt one was probably meant to be.
package nearest

import "strings"

// Word is the word of words that is like the one written: with few letters
// wrong, or containing it. "" when none is near.
func Word(written string, words []string) string {
	written = strings.ToLower(written)
	best, least := "", max(2, len(written)/3)+1
	for _, w := range words {
		if d := distance(written, strings.ToLower(w)); d < least {
			best, least = w, d
		}
	}
	if best != "" || len(written) < 3 {
		return best
	}
	for _, w := range words {
		if strings.Contains(strings.ToLower(w), written) {
			return w
		}
	}
	return ""
}

// distance counts the letters to insert, delete, replace, or swap with
// their neighbour, to make a into b (optimal string alignment).
func distance(a, b string) int {
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
