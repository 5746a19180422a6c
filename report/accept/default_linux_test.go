package accept

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestDefaultOfOthersHome: an own file that cannot be read or found must not
// stop a check, as it does for cron, service users and after su without "-".
func TestDefaultOfOthersHome(t *testing.T) {
	closed := t.TempDir()
	if err := os.MkdirAll(filepath.Join(closed, ".config", "fettle"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, home, xdg string
		skipped         string // "": no warning
	}{
		{"home of root", closed, "", "permission denied"},
		{"no home", "", "", ""},
		{"relative configuration folder", closed, "conf", "relative"},
		{"home that is not there", "/nonexistent", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("HOME", c.home)
			t.Setenv("XDG_CONFIG_HOME", c.xdg)
			means.AsNobody(t, func() {
				l, err := Default()
				switch {
				case err != nil:
					t.Errorf("stops the check: %v", err)
				case c.skipped == "" && len(l.Skipped) > 0:
					t.Errorf("warns: %v", l.Skipped)
				case c.skipped != "" && (len(l.Skipped) != 1 || !strings.Contains(l.Skipped[0].Error(), c.skipped)):
					t.Errorf("skipped %v, want one with %q", l.Skipped, c.skipped)
				}
			})
		})
	}
}
