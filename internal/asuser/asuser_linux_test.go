package asuser

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestDo: what root may and the user may not is refused, what he makes is
// his, his groups count, and the caller is root as before.
func TestDo(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string, mode os.FileMode, uid, gid int) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(name, []byte("x"), 0o600), os.Chown(name, uid, gid), os.Chmod(name, mode)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	roots, groups := put("root", 0o600, 0, 0), put("group", 0o640, 0, 4711)
	home := filepath.Join(dir, "home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, 4242, 4243)); err != nil {
		t.Fatal(err)
	}
	err := Do(4242, 4243, []uint32{4711}, func() error {
		if _, err := os.ReadFile(roots); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("reading root's file: %v", err)
		}
		if err := os.Chown(roots, 4242, 4243); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("taking root's file: %v", err)
		}
		if _, err := os.ReadFile(groups); err != nil {
			t.Errorf("reading the file of a group of his: %v", err)
		}
		return os.WriteFile(home+"/his", []byte("y"), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(home+"/his", &st); err != nil || st.Uid != 4242 || st.Gid != 4243 {
		t.Errorf("his file belongs to %d:%d, %v", st.Uid, st.Gid, err)
	}
	for says, refused := range map[string]func(func() error) error{
		"becoming user ID 4242: the user's rights were refused: giving up root's groups: invalid argument": func(f func() error) error {
			return Do(4242, 4243, make([]uint32, 1<<16+1), f)
		},
		"becoming user ID 4242: the user's rights were refused: group ID 4294967295: operation not permitted": func(f func() error) error {
			return Do(4242, 1<<32-1, nil, f)
		},
		"becoming user ID 4294967295: the user's rights were refused: operation not permitted": func(f func() error) error {
			return Do(1<<32-1, 4243, nil, f)
		},
	} {
		err := refused(func() error {
			t.Error("run without the user's rights")
			return nil
		})
		if !errors.Is(err, ErrRefused) || err.Error() != says {
			t.Errorf("%v, want %s", err, says)
		}
	}
	if _, err := os.ReadFile(roots); err != nil {
		t.Errorf("root afterwards: %v", err)
	}
}
