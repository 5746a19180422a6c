package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"fettle/engine/rule"
	"fettle/why"
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
				err = why.Validate(a)
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

// TestInnocents: a rule needs two hosts that differ and that it does not accuse,
// of the healthy and common set-ups in which it could be wrong.
func TestInnocents(t *testing.T) {
	files, _ := filepath.Glob("*/rule.yaml")
	for _, f := range files {
		samples, _ := filepath.Glob(filepath.Join(filepath.Dir(f), "*.txtar"))
		innocent := map[string]bool{}
		for _, s := range samples {
			if strings.HasPrefix(filepath.Base(s), "trapped") {
				continue
			}
			a, err := txtar.ParseFile(s)
			if err != nil {
				t.Fatal(err)
			}
			a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
			innocent[string(txtar.Format(a))] = true
		}
		if len(innocent) < 2 {
			t.Errorf("%s: %d innocent sample; a rule needs two that differ", filepath.Dir(f), len(innocent))
		}
	}
}
