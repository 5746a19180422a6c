package totp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/cli/app"
	"fettle/internal/means"
)

// TestIssuer: what ends the issuer in a URI, or would reach the terminal raw,
// is refused.
func TestIssuer(t *testing.T) {
	for given, want := range map[string]string{"": "web1", "Corp, web 1": "Corp, web 1", "Büro": "Büro"} {
		if got, err := issuerOf(given, "web1.example.com"); got != want || err != nil {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	for _, given := range []string{"a:b", "\x1b[31mx", "a\nb", "\u202ex", "\xff", strings.Repeat("x", 101)} {
		var s *app.Status
		if got, err := issuerOf(given, "h"); !errors.As(err, &s) || s.Code != app.ExitUsage {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
}

// TestSheetFolder: sheets of secrets go into a folder of one's own only.
func TestSheetFolder(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		mode os.FileMode
		uid  int
		ok   bool
	}{"mine": {0o700, 0, true}, "open": {0o750, 0, false}, "theirs": {0o700, 65534, false}} {
		d := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(d, tc.mode), os.Chmod(d, tc.mode), os.Chown(d, tc.uid, -1)); err != nil {
			t.Fatal(err)
		}
		root, err := privateFolder(d)
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		// Its name leads elsewhere a moment later: the sheet stays where it belongs.
		if err := errors.Join(os.Rename(d, d+".was"), os.Mkdir(d, 0o777), writeSheet(root, "a.txt", "secret")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(d + ".was/a.txt"); err != nil {
			t.Error(err)
		}
	}
	file := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "mine.was"), file); err != nil {
		t.Fatal(err)
	}
	if _, err := privateFolder(file); err == nil {
		t.Error("a link is a folder")
	}
}
