package machine

import (
	"os"
	"runtime/debug"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestClosed: nothing that a machine opens stays open, whether it worked or failed: a fix may take thousands of steps.
func TestClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	dir := tree(t)
	ok(t, os.MkdirAll(dir+"/user/sub", 0o755), os.Chown(dir+"/user/sub", nobody, nobody), os.Chown(dir+"/user", nobody, nobody),
		os.WriteFile(dir+"/user/sub/file", []byte("text"), 0o600), os.Chown(dir+"/user/sub/file", nobody, nobody))
	f, err := os.Open(dir + "/file")
	ok(t, err)
	defer f.Close()
	held := heldFile(t, f)
	other := held
	other.Inode++
	acts := map[string]func() error{
		"look":     func() error { _, err := here.Look(dir+"/file", true); return err },
		"create":   func() error { _, err := here.Create(dir+"/new", []byte("x")); return err },
		"create 2": func() error { _, err := here.Create(dir+"/user/new", nil); return err },
		"resolve":  func() error { _, err := here.Resolve(dir + "/link"); return err },
		"value":    func() error { return here.WriteValue(dir+"/hard", "x") },
		"value 2":  func() error { return here.WriteValue("/dev/full", "x") },
		"boot":     func() error { _, err := here.BootID(); return err },
		"list":     func() error { _, err := here.List(dir); return err },
		"held":     func() error { _, err := here.HeldOpen(held); return err },
		"held 2":   func() error { _, err := here.HeldOpen(other); return err },
		"copy":     func() error { return here.CopyOpen(t.Context(), held, dir+"/copy") },
		"run":      func() error { _, err := here.Run(t.Context(), []string{"/bin/true"}, time.Minute); return err },
		"links":    func() error { _, err := here.Links(); return err },
		"solicit":  func() error { return here.Solicit(t.Context(), "lo") },
		"mkdir":    func() error { return here.Mkdir(dir+"/dir2", 0o755) },
		"rmdir":    func() error { return here.Rmdir(dir + "/dir2") },
		"one by one": func() error {
			d, err := os.Open(dir)
			ok(t, err)
			defer d.Close()
			if fd, err := folderByFolder(int(d.Fd()), "user/sub"); err == nil {
				os.NewFile(uintptr(fd), "sub").Close()
			}
			_, err = folderByFolder(int(d.Fd()), "user/none")
			return err
		},
	}
	for _, at := range []string{"/file", "/user/sub/file", "/none/x", "/link"} {
		for name, act := range each(At(dir + at)) {
			acts[name+" "+at] = act
		}
	}
	for _, act := range acts { // what is opened once for all
		act()
	}
	for name, act := range acts {
		before := len(means.OpenFiles(t))
		for range 3 {
			ok(t, os.WriteFile(dir+"/file", []byte("text"), 0o600))
			os.Remove(dir + "/new")
			os.Remove(dir + "/copy")
			act()
		}
		if now := len(means.OpenFiles(t)); now > before {
			t.Errorf("%s leaves %d descriptors open", name, now-before)
		}
	}
}
