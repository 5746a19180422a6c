package remedy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const movedEnv = "FETTLE_TEST_MOVED"

// movedChild is a fettle whose file is replaced while it runs. It prints
// where the guard's program is.
func movedChild(dir string) int {
	self, err := os.Executable()
	if err == nil {
		err = os.Remove(self)
	}
	if err == nil {
		err = os.WriteFile(self, []byte("#!/bin/sh\n# another version\n"), 0o755)
	}
	if err == nil {
		var store *Store
		if store, err = OpenStoreAt(dir + "/state"); err == nil {
			c := &Change{Head: Head{ID: "0001"}, store: store}
			if err = store.disk.Mkdir(inStore(c.ID)); err == nil {
				var bin string
				bin, err = copyProgram(c, "")
				fmt.Print(bin)
			}
		}
	}
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		return 1
	}
	return 0
}

// The guard is the fettle that knows the journal's form, also when an upgrade
// replaces its file meanwhile.
func TestGuardOfReplacedProgram(t *testing.T) {
	privately(t)
	for _, c := range []struct {
		name  string
		flags uintptr
		want  string
	}{
		{"copied", 0, ""},
		{"noexec", unix.MS_NOEXEC, "was replaced while it ran"},
	} {
		t.Run(c.name, func(t *testing.T) {
			me, err := os.ReadFile("/proc/self/exe")
			must(t, "reading the test program", err)
			bin := filepath.Join(t.TempDir(), "fettle")
			must(t, "copying it", os.WriteFile(bin, me, 0o755))
			dir := tmpfs(t, "mode=0755")
			must(t, "remounting", unix.Mount("", dir, "", unix.MS_REMOUNT|c.flags, ""))
			cmd := exec.Command(bin)
			cmd.Env = append(os.Environ(), movedEnv+"="+dir)
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if (err == nil) != (c.want == "") || !strings.Contains(errs.String(), c.want) {
				t.Fatalf("%v: %s", err, errs.String())
			}
			if c.want != "" {
				return
			}
			if got, err := os.ReadFile(string(out)); err != nil || !bytes.Equal(got, me) {
				t.Errorf("the guard's program %s is not the one that ran: %d bytes, %v", out, len(got), err)
			}
		})
	}
}
