package why

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/engine/trap"
	"fettle/internal/means"
)

// TestScores: what is found in words, to three digits, over lore that is not the shipped one and
// so changes with how scores are made alone.
func TestScores(t *testing.T) {
	a, err := txtar.ParseFile("testdata/scores.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var traps []*trap.Trap
	var texts []string
	for _, f := range a.Files {
		switch kind, _, _ := strings.Cut(f.Name, "/"); kind {
		case "lore":
			traps = append(traps, &trap.Trap{Lore: trap.Lore(f.Data)})
		case "lines":
			for line := range strings.Lines(string(f.Data)) {
				texts = append(texts, strings.TrimSpace(line))
			}
		case "text":
			texts = append(texts, string(f.Data))
		}
	}
	x, err := New(traps)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, text := range texts {
		matches, err := x.Rank(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(text, "\n")
		fmt.Fprintln(&got, first)
		for _, m := range matches {
			fmt.Fprintf(&got, "\t%.3f %s %q in %q\n", m.Score, m.Trap, m.Symptom, m.Lines)
		}
	}
	means.Written(t, "testdata/scores.txt", got.String())
}
