package renew

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/host"
	"fettle/tools/netboot/hooks"
)

// Hooks that the old initrd has are in the new one too, in its own place.
func TestCarryHooks(t *testing.T) {
	for name, parts := range map[string][]hooks.Part{"none": nil, "bbl": {hooks.BBL}, "all": hooks.Parts} {
		old, fresh := t.TempDir(), t.TempDir()
		for root, content := range map[string]string{old: "\x1f\x8b old", fresh: "\x1f\x8b new initrd"} {
			initrd := []byte(content)
			if root == old && len(parts) > 0 {
				var err error
				if initrd, err = hooks.Append(initrd, parts); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Join(root, rel), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, rel, "initrd.gz"), initrd, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		held, err := os.OpenRoot(fresh)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if err := Carry(t.Context(), live(t), old, &Part{Root: held}, rel); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := os.ReadFile(filepath.Join(fresh, rel, "initrd.gz"))
		if err != nil {
			t.Fatal(err)
		}
		want := []byte("\x1f\x8b new initrd")
		if len(parts) > 0 {
			want, _ = hooks.Append(want, parts)
		}
		if !bytes.Equal(b, want) {
			found, err := hooks.Find(b)
			t.Errorf("%s: the new initrd has %d bytes, want %d; parts %v, %v", name, len(b), len(want), found.Parts(), err)
		}
	}
}

// TestCarryDamagedHooks: hooks that cannot be read are not left out of the new initrd without a word, nor where it takes none.
func TestCarryDamagedHooks(t *testing.T) {
	initrd, err := hooks.Append([]byte("\x1f\x8b old"), hooks.Parts)
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct{ more, fresh string }{
		"initrd.gz: something was appended after fettle's hooks": {"more", "\x1f\x8b new"},
		"appending the hooks to the new initrd.gz: ":             {"", "none"},
	} {
		old, fresh := folder(t), folder(t)
		for root, content := range map[*os.Root]string{old: string(initrd) + c.more, fresh: c.fresh} {
			if err := root.WriteFile("initrd.gz", []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		err := (&carrying{old: old, new: fresh, mostFiles: 9, mostBytes: 9}).all()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestCarryNothing: a folder that is not there, in the old tree or the new one, is an error.
func TestCarryNothing(t *testing.T) {
	root := lay(t, "old")
	p := &Part{Root: folder(t)}
	for _, from := range [][2]string{{root, "none"}, {root + "/none", rel}, {root, rel}} {
		if err := Carry(t.Context(), live(t), from[0], p, from[1]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// live is this machine.
func live(t *testing.T) *host.Host {
	t.Helper()
	src, err := host.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return host.New(src)
}
