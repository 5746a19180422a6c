package apptest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSession: what a session has is called in order, and FETTLE_UPDATE=1 writes what is said.
func TestSession(t *testing.T) {
	file := filepath.Join(t.TempDir(), "session")
	const want = "# first\n$ one 'a b'\none+a b\n|# no comment\n|\n# second\n# goes on\n$ two\n! two\n= 2\n"
	if err := os.WriteFile(file, []byte("# first\n$ one 'a b'\nstale\n# second\n# goes on\n$ two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(_ context.Context, args []string) (int, string, string) {
		if said := strings.Join(args, "+"); said != "two" {
			return 0, said + "\n# no comment\n\n", ""
		}
		return 2, "", "two"
	}
	t.Setenv("FETTLE_UPDATE", "1")
	Session(t, file, call)
	if b, err := os.ReadFile(file); err != nil || string(b) != want {
		t.Errorf("%q, %v", b, err)
	}
	t.Setenv("FETTLE_UPDATE", "")
	Session(t, file, call)
}
