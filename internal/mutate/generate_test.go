package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// As many turns as it takes try every mistake.
func TestEachHasItsTurn(t *testing.T) {
	var all []*mutant
	for i := range 18 {
		all = append(all, &mutant{n: i, text: fmt.Sprint(i / 2)})
	}
	seen := map[*mutant]bool{}
	for turn := 0; turn*4 < len(all); turn++ {
		for _, m := range chosen(all, 4, turn) {
			seen[m] = true
		}
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d mistakes had their turn", len(seen), len(all))
	}
}

// A mistake that is said to change nothing says why.
func TestEquivalents(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	for text, ok := range map[string]bool{"# a comment\n\np/f.go: < becomes <=: if n < 3 { # three is not reached\n": true,
		"p/f.go: < becomes <=: if n < 3 {\n": false} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readEquivalents(name)
		if (err == nil) != ok || ok && got["p/f.go: < becomes <=: if n < 3 {"] != "three is not reached" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := readEquivalents("testdata/equivalent.txt"); err != nil {
		t.Error(err)
	}
}

// TestNamedPackages: what is grave, or has tests elsewhere, is there.
func TestNamedPackages(t *testing.T) {
	named := slices.Concat(grave, slow, reached, []string{"cli/app", "engine/run"})
	for _, pkg := range slices.Clone(named) {
		for _, s := range further(pkg) {
			named = append(named, s.folder)
			if files, _ := filepath.Glob(filepath.Join("../..", s.folder, s.parts)); len(files) == 0 {
				t.Errorf("%s has no part %s", s.folder, s.parts)
			}
		}
	}
	for _, dir := range named {
		if files, _ := filepath.Glob(filepath.Join("../..", dir, "*.go")); len(files) == 0 {
			t.Errorf("%s has no Go", dir)
		}
	}
}

// TestImporters: who imports a package itself, tries it; who imports another that does, does not.
func TestImporters(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "b/c/c.go": "package c\n",
		"a.go": "package m\n\nimport _ \"m/b/c\"\n", "d/d.go": "package d\n\nimport _ \"m/b/c\"\n", "e/e.go": "package e\n\nimport _ \"m/d\"\n"} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	got, err := importers(t.Context(), "b/c")
	if want := []suite{{folder: ".", names: "."}, {folder: "d", names: "."}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
