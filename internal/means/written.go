package means

import (
	"os"
	"strings"
	"testing"
)

// Written holds a text against the file that has it, which FETTLE_UPDATE=1 writes: what
// changed in it is then read.
func Written(t testing.TB, file, text string) {
	t.Helper()
	if os.Getenv("FETTLE_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) == text {
		return
	}
	is, was := strings.SplitAfter(text, "\n"), strings.SplitAfter(string(b), "\n")
	n := 0
	for n < min(len(is), len(was)) && is[n] == was[n] {
		n++
	}
	line := func(of []string) string { return of[min(n, len(of)-1)] }
	t.Fatalf("%s:%d: %q, and it was %q\nFETTLE_UPDATE=1 go test -run '^%s$' in this folder writes it",
		file, n+1, line(is), line(was), t.Name())
}
