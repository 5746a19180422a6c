package why

import (
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
)

// TestQuestionIsNoComplaint: the same words, with and without trouble, and in a long text.
func TestQuestionIsNoComplaint(t *testing.T) {
	x, err := New([]*trap.Trap{{Lore: "---\nid: held\ntitle: Held\nsymptoms:\n  - the radish\nquestions:\n" +
		"  - \"What becomes of it? rename|move|moving open file|folder\"\n---\n# What happens\n\nNothing.\n"}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"I renamed an open file":                                      "What becomes of it?",
		"moving a folder of which a file is open":                     "What becomes of it?",
		"I renamed a file":                                            "",
		"after I renamed an open file it crashes with an error":       "",
		"I renamed an open file " + strings.Repeat("some words ", 20): "",
	} {
		got, err := x.Find(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(got, func(m Match) bool { return m.Symptom != "" && m.Symptom == want && m.Trap == "held" })
		if found != (want != "") {
			t.Errorf("%q: %+v, want %q", text, got, want)
		}
	}
}
