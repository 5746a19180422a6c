package keypath

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestKeyringsAreClosed: who looks through a folder with thousands of keyrings has none of them open after.
func TestKeyringsAreClosed(t *testing.T) {
	dir := t.TempDir()
	alice := bytesOf(t, person(t, "alice", at(made)))
	for name, b := range map[string][]byte{"a.gpg": alice, "b.asc": armored(t, alice), "c.kbx": keybox(alice), "d.txt": []byte("none")} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := func() (out []string) {
		for _, to := range means.OpenFiles(t) {
			if strings.HasPrefix(to, dir) {
				out = append(out, filepath.Base(to))
			}
		}
		return out
	}
	w, err := webOfFile(dir, Policy{Now: now})
	if left := open(); err != nil || len(left) > 0 {
		t.Fatalf("left open after the index was made: %q (%v)", left, err)
	}
	w.State(0)
	w.Close()
	file := filepath.Join(dir, "index")
	if err := w.Save(file); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, w.Sources); err != nil {
		t.Fatal(err)
	}
	if left := open(); len(left) > 0 {
		t.Errorf("left open: %q", left)
	}
}
