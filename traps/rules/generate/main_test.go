package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestFresh finds out that package compiled is not what the rules come to.
func TestFresh(t *testing.T) {
	want, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	have, _ := filepath.Glob("../compiled/*.go")
	if len(have) != len(want)+1 { // compiled.go is written by hand
		t.Errorf("%d files in compiled, %d expected: go generate ./traps/rules", len(have), len(want)+1)
	}
	for name, src := range want {
		b, err := os.ReadFile(filepath.Join("../compiled", name))
		if err != nil || !bytes.Equal(b, src) {
			t.Errorf("compiled/%s is out of date: go generate ./traps/rules", name)
		}
	}
}
