package cli

import (
	"regexp"
	"strings"
	"testing"

	"fettle/traps"
	"fettle/why"
)

// TestEverySymptom: what a trap's lore says people see, pasted as it stands
// with the placeholders filled, names the trap among the matches.
func TestEverySymptom(t *testing.T) {
	all := traps.All()
	x, err := why.New(all)
	if err != nil {
		t.Fatal(err)
	}
	placeholder := regexp.MustCompile(`<[^<>]*>`)
	n, missed := 0, 0
	for _, tr := range all {
		a, err := tr.Lore.Article()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range a.Symptoms {
			n++
			text := placeholder.ReplaceAllStringFunc(s, func(p string) string {
				if strings.ContainsAny(p, "0n") {
					return "7"
				}
				return "thing"
			})
			ranked, err := x.Rank(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			matches, _ := why.Told(ranked)
			at := -1
			for i, m := range matches {
				if m.Trap == a.ID {
					at = i
				}
			}
			if at < 0 {
				missed++
				first := why.Match{}
				if len(ranked) > 0 {
					first = ranked[0]
				}
				t.Logf("%s: %q: not told; first is %s, %.2f", a.ID, s, first.Trap, first.Score)
			} else if at > 1 {
				t.Logf("%s: %q: told as number %d", a.ID, s, at+1)
			}
		}
	}
	t.Logf("%d symptoms, %d missed", n, missed)
	if missed > 0 {
		t.Errorf("%d of %d symptoms do not lead to their trap", missed, n)
	}
}
