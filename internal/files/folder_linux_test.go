package files

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle/internal/means"
)

// A folder that others than root may write to, and one that root alone may enter.
func ground(t *testing.T) (shared, roots string) {
	t.Helper()
	means.Root(t)
	top := t.TempDir()
	shared, roots = top+"/shared", top+"/roots"
	for d := filepath.Dir(top); d != "/tmp" && d != "/"; d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	if err := errors.Join(os.Chmod(top, 0o755), os.Mkdir(shared, 0o755), os.Mkdir(roots, 0o700),
		os.Chown(shared, 0, means.Staff), os.Chmod(shared, 0o2775)); err != nil {
		t.Fatal(err)
	}
	return shared, roots
}

func TestFolderFollowsOnlyOwnLinks(t *testing.T) {
	shared, roots := ground(t)
	safe := filepath.Dir(shared) + "/safe"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(safe, 0o755))
	must(os.Symlink("../roots", safe+"/relative"))
	must(os.Symlink(roots, safe+"/absolute"))
	must(os.Symlink(roots, safe+"/his"))
	must(os.Lchown(safe+"/his", means.Nobody, means.Nobody))
	must(os.Symlink(roots, shared+"/roots-own"))
	must(os.Symlink("loop", safe+"/loop"))
	must(os.WriteFile(safe+"/file", nil, 0o600))
	for dir, want := range map[string]bool{
		safe: true, roots: true, safe + "/relative": true, safe + "/absolute": true, safe + "/absolute/../roots": true, shared: true,
		safe + "/his": false, shared + "/roots-own": false, shared + "/roots-own/..": false, safe + "/loop": false,
		safe + "/file": false, safe + "/none": false,
	} {
		root, err := Folder(dir)
		if (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
		if err == nil {
			root.Close()
		}
	}
	t.Chdir(safe)
	if err := WriteFile("relative/made", nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(roots + "/made"); err != nil {
		t.Error(err)
	}
}

// Somebody who may write to the folder leads no file of root's elsewhere.
func TestReplaceAmongOthers(t *testing.T) {
	shared, roots := ground(t)
	victim := roots + "/victim"
	if err := os.WriteFile(victim, []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	sub := shared + "/sub"
	stop := means.Attacker(t, func() {
		os.Mkdir(sub, 0o777)
		passing, _ := filepath.Glob(sub + "/.fettle-*")
		for _, p := range passing {
			os.Remove(p)
			os.Symlink(victim, p)
		}
		os.Symlink(victim, sub+"/file")
		os.Rename(sub, shared+"/away")
		os.Symlink(roots, sub)
		os.Remove(sub)
		os.Rename(shared+"/away", sub)
		time.Sleep(rand.N(2 * time.Millisecond))
	})
	wrote := 0
	for range 1000 {
		if WriteFile(sub+"/file", []byte("new"), 0o644) == nil {
			wrote++
		}
	}
	t.Logf("%d files written during %d rounds of the attack", wrote, stop())
	names, err := os.ReadDir(roots)
	if err != nil || len(names) != 1 {
		t.Errorf("root's own folder holds %v, %v", names, err)
	}
	if b, _ := os.ReadFile(victim); string(b) != "root's" {
		t.Errorf("root's file says %q", b)
	}
	if wrote == 0 {
		t.Error("no file was ever written: the attack was not tried")
	}
}
