package renew

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/host"
	"fettle/internal/means"
	"fettle/tools/netboot/hooks"
)

// TestEachCallFails: whatever the disk refuses while a tree is renewed is an error.
func TestEachCallFails(t *testing.T) {
	means.Short(t, "starts a hundred copies of itself")
	var h *host.Host
	var old, stage string
	// What is read by path is read once more below what is open.
	matters := func(call string) bool { return !strings.Contains(call, "AT_FDCWD") }
	const calls = "mkdirat,fsync,renameat,renameat2,fchmodat,symlinkat,readlinkat,openat,getdents64,ftruncate,pwrite64"
	means.Failing(t, calls, matters, func() {
		old = lay(t, "old")
		stage = filepath.Join(old, ".fettle-netboot-x")
		dir := filepath.Join(old, rel)
		initrd, err := hooks.Append([]byte("\x1f\x8b old"), hooks.Parts)
		if err := errors.Join(err, os.WriteFile(dir+"/initrd.gz", initrd, 0o644), os.WriteFile(dir+"/web1.cfg", []byte("ours"), 0o644),
			os.Symlink("web1.cfg", dir+"/web.cfg"), os.Mkdir(dir+"/more", 0o755)); err != nil {
			t.Fatal(err)
		}
		h = live(t)
	}, func() error { return renewed(t, h, old, stage) })
}
