package rules

import (
	"os"
	"path/filepath"
	"testing"

	"fettle/lore"
	"fettle/lore/rule"
)

// TestRules checks each rule and runs it over its samples.
func TestRules(t *testing.T) {
	files, _ := filepath.Glob("*/rule.yaml")
	if len(files) == 0 {
		t.Fatal("no rules")
	}
	for _, f := range files {
		id := filepath.Dir(f)
		t.Run(id, func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			r, mistakes := rule.Parse(f, b, true)
			if len(mistakes) > 0 {
				t.Fatal(mistakes)
			}
			if r.ID != id {
				t.Errorf("id %s in folder %s", r.ID, id)
			}
			a, err := r.Lore().Article()
			if err == nil {
				err = lore.Validate(a)
			}
			if err != nil {
				t.Error(err)
			}
			results, err := r.Test(t.Context(), os.DirFS(id))
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range results {
				if !res.Passed() {
					t.Errorf("%s: %v\ngot:\n%s\n\nwant:\n%s", res.Name, res.Err, res.Got, res.Want)
				}
			}
		})
	}
}
