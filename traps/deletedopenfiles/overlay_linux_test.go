package deletedopenfiles

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/trap"
	"fettle/internal/means"
)

// A root that is an overlay over a tmpfs, as overlayroot and live systems make it,
// beside another tmpfs of the same size: the one that holds the deleted file is
// told, whether it is mounted where anybody sees it or not.
func TestRealOverlayRoot(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rw, root := t.TempDir(), t.TempDir()
	must(unix.Mount("rw", rw, "tmpfs", 0, "size=128m"))
	must(os.MkdirAll(rw+"/up", 0o755))
	must(os.MkdirAll(rw+"/work", 0o755))
	if err := unix.Mount("overlay", root, "overlay", 0, "lowerdir=/,upperdir="+rw+"/up,workdir="+rw+"/work"); err != nil {
		means.Left(t, "no overlay can be mounted over this root: "+err.Error())
		return
	}
	must(unix.Mount("/dev", root+"/dev", "", unix.MS_BIND|unix.MS_REC, ""))
	must(os.MkdirAll(root+"/srv/other", 0o755))
	must(os.MkdirAll(root+"/srv/rw", 0o755))
	must(unix.Mount("other", root+"/srv/other", "tmpfs", 0, "size=128m"))
	must(unix.Chroot(root))
	must(os.Chdir("/"))
	must(unix.Mount("proc", "/proc", "proc", 0, ""))

	f, err := os.Create("/var/log/overlay-test")
	must(err)
	defer f.Close()
	_, err = f.WriteString(strings.Repeat("x", 40<<20))
	must(err)
	must(os.Remove(f.Name()))
	if o := spaceOf(t, "/var/log/overlay-test"); o == nil || o.Subject != "/" ||
		!strings.Contains(string(o.Detail), "31 % of the file system, which is 31 % full") {
		t.Errorf("hidden: %+v", o)
	}
}

// A file system that was unmounted lazily is not the one that its files' paths name.
func TestRealLazyUnmount(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	dir := tmpfs(t)
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Repeat("x", 40<<20)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if o := spaceOf(t, "/big"); o == nil || o.Subject != dir {
		t.Errorf("mounted: %+v", o)
	}
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if o := spaceOf(t, "/big"); o != nil {
		t.Errorf("unmounted: %+v", o)
	}
}

func spaceOf(t *testing.T, path string) *trap.Outcome {
	t.Helper()
	return finding(live(t), kindSpace, path)
}
