package house

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestREADME keeps the front page short, its examples those that docs/record/record
// recorded last, and its first command the one that needs nothing but Go.
func TestREADME(t *testing.T) {
	readme := text(t, "README.md")
	if n := strings.Count(readme, "\n"); n > 150 {
		t.Errorf("README.md has %d lines, more than 150", n)
	}
	recorded, _ := filepath.Glob("../../docs/record/*.txt")
	if len(recorded) < 3 {
		t.Errorf("docs/record has %d recorded outputs", len(recorded))
	}
	for _, file := range recorded {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(readme, "```\n"+string(b)+"```\n") {
			t.Errorf("README.md does not show %s as it is", file)
		}
	}
	first, _, _ := strings.Cut(readme[strings.Index(readme, "\n    ")+5:], "\n")
	if first != "go run ./cmd/fettle check" {
		t.Errorf("README.md's first command is %q", first)
	}
	if !strings.Contains(readme, "\n    make test\n") {
		t.Error("README.md does not say make test")
	}
}

// text reads a file of the repository.
func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
