package apptest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// Release is an os-release of Debian 12.
const Release = "ID=debian\nVERSION_ID=12\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"

// Golden tells whether the test runs on a host of its own, as root: it is called golden, and nobody else sees its files in /etc, /run,
// /mnt, /home, /root and /var/lib, which are those that are given. Where it does not run there, a copy of it did: see means.Inside.
// The current folder is the package's testdata from then on.
func Golden(t *testing.T, files map[string]string) bool {
	t.Helper()
	t.Setenv("TZ", "UTC")
	if !means.Inside(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWUTS, time.Minute) {
		return false
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, dir := range []string{"/etc", "/run", "/mnt", "/home", "/root", "/var/lib"} {
		if err := unix.Mount("none", dir, "tmpfs", 0, "mode=755"); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Sethostname([]byte("golden")); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"STATE_DIRECTORY": "", "LC_ALL": "C.UTF-8", "COLUMNS": "90",
		"FETTLE_STATE": "/root/changes"} {
		t.Setenv(name, value)
	}
	return true
}

// Cover puts a shell script in the place of one of the system's programs, in this mount namespace.
func Cover(t *testing.T, program, script string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(name, program, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(program, err)
	}
	t.Cleanup(func() { unix.Unmount(program, unix.MNT_DETACH) })
}
