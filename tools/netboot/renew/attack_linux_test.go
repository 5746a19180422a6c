package renew

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/means"
)

const secret = "root's own"

// prey is a served folder into which a group may write, and a folder that only root
// may enter.
func prey(t *testing.T) (root, roots string) {
	t.Helper()
	means.Root(t)
	root = lay(t, "old")
	top := filepath.Dir(root)
	for d := top; d != "/" && d != "/tmp"; d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	roots = top + "/roots"
	err := errors.Join(os.Mkdir(roots, 0o700), os.WriteFile(roots+"/secret", []byte(secret), 0o600))
	err = errors.Join(err, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(name, 0, means.Staff)
		}
		if err == nil && d.IsDir() {
			err = os.Chmod(name, 0o2775)
		}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	return root, roots
}

// renewed does as root what fettle netboot fetch --stage --like and swap do.
func renewed(t *testing.T, h *host.Host, root, stage string) error {
	part, err := Prepare(stage)
	if err != nil {
		return err
	}
	defer part.Drop()
	if err = UnpackGzip(bytes.NewReader(tarball(tree("new")...)), part.Root); err == nil {
		err = Carry(t.Context(), h, root, part, rel)
	}
	if err == nil {
		err = Note(part.Root, rel)
	}
	if err == nil {
		err = part.Finish(true)
	}
	if err == nil {
		err = Swap(root, stage, true)
	}
	return err
}

// TestRenewAmongOthers: while root works, somebody of the group exchanges the new
// tree, and files of the old one, for links to what is root's.
func TestRenewAmongOthers(t *testing.T) {
	root, roots := prey(t)
	stop := means.Attacker(t, func() {
		passing, _ := filepath.Glob(root + "/.fettle-netboot-*")
		for _, p := range passing {
			if os.Rename(p, p+"-away") == nil {
				os.Symlink(roots, p)
				os.Mkdir(p+"-away/"+rel+"/planted", 0o777)
			}
		}
		added := filepath.Join(root, rel, "added.cfg")
		os.Remove(added)
		os.WriteFile(added, []byte("his own"), 0o666)
		os.Remove(added)
		os.Symlink(roots+"/secret", added)
		time.Sleep(rand.N(2 * time.Millisecond))
	})
	done, h := 0, live(t)
	for i := range 60 {
		if renewed(t, h, root, filepath.Join(root, ".fettle-netboot-"+string(rune('a'+i%26)))) == nil {
			done++
		}
		old, _ := filepath.Glob(root + "/.fettle-netboot-*")
		for _, o := range old {
			os.RemoveAll(o)
		}
	}
	t.Logf("%d of 60 trees came into service during %d rounds of the attack", done, stop())
	if names, err := os.ReadDir(roots); err != nil || len(names) != 1 {
		t.Errorf("root's own folder holds %v, %v", names, err)
	}
	filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, _ := os.ReadFile(name); strings.Contains(string(b), secret) {
				t.Errorf("%s has what only root may read", name)
			}
		}
		return nil
	})
}

// TestPlantedStages: a stage with a note is nothing that was verified.
func TestPlantedStages(t *testing.T) {
	root, _ := prey(t)
	stage := filepath.Join(root, ".fettle-netboot-planted")
	h := live(t)
	plant := func() {
		t.Helper()
		os.RemoveAll(stage)
		if err := renewed(t, h, root, stage); err != nil {
			t.Fatal(err)
		}
		if err := Swap(root, stage, false); err != nil {
			t.Fatal(err)
		}
	}
	linux := filepath.Join(stage, rel, "linux")
	for name, act := range map[string]func() error{
		"another user's":       func() error { return os.Chown(stage, means.Nobody, 0) },
		"one others may enter": func() error { return os.Chmod(stage, 0o755) },
		"one a group may change": func() error {
			return os.Chmod(stage, 0o770)
		},
		"a link to one":    func() error { return errors.Join(os.Rename(stage, stage+"-2"), os.Symlink(stage+"-2", stage)) },
		"another kernel":   func() error { return os.WriteFile(linux, []byte("his kernel"), 0o644) },
		"a kernel by link": func() error { return errors.Join(os.Remove(linux), os.Symlink("/etc/shadow", linux)) },
		"a file more":      func() error { return os.WriteFile(linux+".cfg", nil, 0o644) },
		"no note":          func() error { return os.Remove(filepath.Join(stage, noteName)) },
		"a FIFO for a note": func() error {
			note := filepath.Join(stage, noteName)
			return errors.Join(os.Remove(note), mkfifo(note))
		},
	} {
		plant()
		if err := act(); err != nil {
			t.Fatal(name, err)
		}
		if err := Verify(stage); err == nil {
			t.Errorf("%s is taken for a tree that was verified", name)
		}
		if err := Swap(root, stage, true); err == nil {
			t.Errorf("%s is served", name)
		}
		if got := reads(t, filepath.Join(root, rel, "linux")); got != "kernel old" {
			t.Errorf("%s: %q is served", name, got)
		}
		os.RemoveAll(stage + "-2")
	}
}

func mkfifo(name string) error { return unix.Mkfifo(name, 0o666) }
