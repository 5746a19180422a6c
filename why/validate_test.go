package why

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/engine/trap"
)

// TestLoreIsComplete: the article of every trap in the tree.
func TestLoreIsComplete(t *testing.T) {
	files, _ := filepath.Glob("../traps/*/lore.md")
	if len(files) == 0 {
		t.Fatal("no lore")
	}
	for _, f := range files {
		folder := filepath.Base(filepath.Dir(f))
		t.Run(folder, func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			l := trap.Lore(b)
			a, err := l.Article()
			if err != nil {
				t.Fatal(err)
			}
			if err := Validate(a); err != nil {
				t.Error(err)
			}
			// The folder is the id without dashes, or its end: raforwarding.
			if id := strings.ReplaceAll(a.ID, "-", ""); !strings.HasSuffix(id, folder) {
				t.Errorf("id %s does not go with the folder", a.ID)
			}
			// A check run scans for these two without parsing: it must see the same.
			tr := trap.Trap{Lore: l}
			if tr.ID() != a.ID || tr.Title() != a.Title {
				t.Errorf("scanned %q and %q, parsed %q and %q", tr.ID(), tr.Title(), a.ID, a.Title)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	err := Validate(&trap.Article{ID: "Bad_id", Symptoms: []string{"a", "a"}, Body: "# One\n"})
	for _, want := range []string{"Bad_id", "title", "three with the messages", `"a" is there twice`, "since", "refs", "two sections"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
