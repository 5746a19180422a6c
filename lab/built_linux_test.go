package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuilt(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	fails := func(want string) {
		t.Helper()
		if _, err := Built("smq-old/old"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	fails("make lab-smq-old builds it")
	dir := filepath.Join(cache, "fettle/built/smq-old/old")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"linux", "modules.dep"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fails("no " + dir + "/modules.builtin")
	if err := os.WriteFile(filepath.Join(dir, "modules.builtin"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if k, err := Built("smq-old/old"); err != nil || k.Engine != "uml" || k.File != dir+"/linux" || k.Modules != dir {
		t.Fatalf("%+v, %v", k, err)
	}
	for _, name := range []string{dir, dir + "/linux"} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
		fails("the kernel smq-old/old is not started: " + name +
			" can be written by others (mode 0777); remove it, and make lab-smq-old builds it anew")
		if err := os.Chmod(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(dir+"/linux", dir+"/elsewhere"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", dir+"/linux"); err != nil {
		t.Fatal(err)
	}
	fails("is a symlink")
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		fails("belongs to the user 65534")
	}
}
