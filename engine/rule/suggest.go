package rule

import "fettle/internal/nearest"

// suggest names what was perhaps meant.
func suggest(word string, known []string) string {
	if near := nearest.Word(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
