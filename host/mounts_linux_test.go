package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

const fakeMountinfo = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid shared:2 - proc proc rw
30 22 0:40 / /home rw,relatime shared:3 - nfs4 filer:/home rw,vers=4.2
31 30 8:2 / /home/local rw,relatime shared:4 - ext4 /dev/sda2 rw
32 22 0:41 / /mnt/with\040space\134 rw shared:5 - cifs //filer/x rw
33 22 0:42 / /net rw - autofs /etc/auto.net rw
34 22 8:3 / /srv rw - ext4 /dev/sdb1 rw
35 22 0:43 / /srv rw - fuse.sshfs you@there:/ rw
not a line of mountinfo
36 22 0:44 / /bad
`

func fakeMounts(s string) *mountTable {
	m := &mountTable{}
	m.once.Do(func() { m.set(parseMountinfo(s)) })
	return m
}

func TestResolve(t *testing.T) {
	m := fakeMounts(fakeMountinfo)
	links := map[string]string{
		"/etc/abs":          "/usr/etc",
		"/etc/rel":          "../usr/etc",
		"/etc/up":           "../../../../usr/etc",
		"/etc/slash":        "/",
		"/etc/nfs":          "/home/me",
		"/etc/chain":        "abs/next",
		"/usr/etc/next":     "../../etc/nfs",
		"/etc/dots":         "abs/../x", // ".." of where abs leads, not of /etc
		"/etc/loop":         "loop",
		"/data":             "/srv",
		"/proc/self":        "77",
		"/proc/77/root":     "/",
		"/proc/77/exe":      "/usr/bin/x (deleted)",
		"/proc/88/exe":      "/home/me/bin/x",
		"/proc/77/fd/3":     "pipe:[1234]",
		"/usr/etc/trailing": "../../usr/",
	}
	touched := func(name string) (string, error) {
		if to, ok := links[name]; ok {
			return to, nil
		}
		if mt, ok := m.of(name); ok && mt.network {
			t.Errorf("%s was touched", name)
		}
		return "", unix.EINVAL
	}
	for _, c := range []struct {
		name     string
		nofollow bool
		want     string
		err      error
	}{
		{name: "/", want: "/"},
		{name: "/etc/passwd", want: "/etc/passwd"},
		{name: "/etc/abs/x", want: "/usr/etc/x"},
		{name: "/etc/rel/x", want: "/usr/etc/x"},
		{name: "/etc/up/x", want: "/usr/etc/x"},
		{name: "/etc/slash/etc/passwd", want: "/etc/passwd"},
		{name: "/etc/dots", want: "/usr/x"},
		{name: "/usr/etc/trailing/lib", want: "/usr/lib"},
		{name: "/etc/abs", nofollow: true, want: "/etc/abs"},
		{name: "/etc/nfs", nofollow: true, want: "/etc/nfs"},
		{name: "/etc/loop", err: unix.ELOOP},
		{name: "/home", err: ErrNetworkMount},
		{name: "/homes", want: "/homes"},
		{name: "/home/me", err: ErrNetworkMount},
		{name: "/home/local/x", err: ErrNetworkMount}, // the look-up goes through /home
		{name: "/etc/nfs", err: ErrNetworkMount},
		{name: "/etc/nfs/x", nofollow: true, err: ErrNetworkMount},
		{name: "/etc/chain", err: ErrNetworkMount},
		{name: "/mnt/with space\\/x", err: ErrNetworkMount},
		{name: "/net/filer", err: ErrNetworkMount},
		{name: "/data/x", err: ErrNetworkMount}, // the later mount on /srv hides the disk
		{name: "/proc/self/status", want: "/proc/77/status"},
		{name: "/proc/self/root/home/x", err: ErrNetworkMount},
		{name: "/proc/77/exe", want: "/proc/77/exe"},
		{name: "/proc/88/exe", err: ErrNetworkMount},
		{name: "/proc/88/exe", nofollow: true, want: "/proc/88/exe"},
		{name: "/proc/77/fd/3", want: "/proc/77/fd/3"},
	} {
		got, err := m.resolve(c.name, c.nofollow, touched)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s (nofollow %t): %q, %v, want %q, %v", c.name, c.nofollow, got, err, c.want, c.err)
		}
	}
}

// A diskless machine, and a root folder on a file server, are read.
func TestNetworkHome(t *testing.T) {
	diskless := fakeMounts("22 1 0:40 / / rw - nfs filer:/root rw\n30 22 0:41 / /home rw - nfs filer:/home rw\n")
	if err := diskless.touchable("/etc/passwd"); err != nil {
		t.Error(err)
	}
	if err := diskless.touchable("/home/x"); !errors.Is(err, ErrNetworkMount) {
		t.Error(err)
	}
	served := fakeMounts(fakeMountinfo)
	served.base = "/home/images/one"
	none := func(string) (string, error) { return "", unix.EINVAL }
	if got, err := served.resolve("/etc/passwd", false, none); got != "/etc/passwd" || err != nil {
		t.Error(got, err)
	}
	served.base = "/"
	if _, err := served.resolve("/home/x", false, none); !errors.Is(err, ErrNetworkMount) {
		t.Error(err)
	}
	// Below a root folder, a mount of its own.
	served = fakeMounts(fakeMountinfo + "40 22 0:50 / /target/home rw - nfs filer:/home rw\n")
	served.base = "/target"
	if _, err := served.resolve("/home/x", false, none); !errors.Is(err, ErrNetworkMount) {
		t.Error(err)
	}
	link := func(name string) (string, error) {
		if name == "/etc/x" {
			return "/home/x", nil
		}
		return none(name)
	}
	if _, err := served.resolve("/etc/x", false, link); !errors.Is(err, ErrNetworkMount) {
		t.Error("a link inside the root folder:", err)
	}
}

// The kernel and the table agree about every path of this machine that the
// kernel resolves.
func TestWalkAgreesWithKernel(t *testing.T) {
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/bin/sh", "/etc/mtab", "/proc/self/exe", "/proc/self/cwd", "/var/run", "/dev/fd", "/lib64",
		"/etc/alternatives/awk", "/sys/class/net/lo"} {
		var want, got unix.Stat_t
		if err := unix.Stat(name, &want); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		real, err := l.mounts.walk(name, false, l.link)
		if err == nil {
			err = unix.Stat(real, &got)
		}
		if err != nil || want.Ino != got.Ino || want.Dev != got.Dev {
			t.Errorf("%s: walked to %q: %v", name, real, err)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzMountinfo(f *testing.F) {
	f.Add(fakeMountinfo)
	f.Add("1 1 0:0 / \\057 rw - a b")
	f.Add("1 1 99999999999:1 / / rw - \xff \\134040 rw")
	f.Fuzz(func(t *testing.T, s string) {
		m := fakeMounts(s)
		for _, mt := range m.mounts {
			if mt.point == "" || mt.fstype == "" {
				t.Errorf("an empty mount: %+v", mt)
			}
			if mt.network && mt.point != "/" && strings.HasPrefix(mt.point, "/") && m.touchable(mt.point) == nil {
				if over, _ := m.of(mt.point); over.point == mt.point {
					t.Errorf("%+v may be touched", mt)
				}
			}
		}
		links := 0
		m.resolve("/a/b/../c", false, func(string) (string, error) { links++; return fmt.Sprint("../x", links), nil })
		if links > 41 {
			t.Errorf("%d links followed", links)
		}
	})
}

// TestFilesystems: how full a mount is, as statfs(2) counts it, here of a file system of a known size.
func TestFilesystems(t *testing.T) {
	if !means.Inside(t, unix.CLONE_NEWNS, time.Minute) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("fettle-test", dir, "tmpfs", unix.MS_NOSUID, "size=1m,nr_inodes=100"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	write(t, dir+"/file", strings.Repeat("x", 64<<10))
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	all, err := New(l).Filesystems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	want := Filesystem{Device: "fettle-test", Mount: dir, Type: "tmpfs", Dev: uint64(st.Dev), Size: 1 << 20,
		Free: 1<<20 - 64<<10, Avail: 1<<20 - 64<<10,
		Files: 100, FFree: 98} // the folder and the file
	i := slices.IndexFunc(all, func(f Filesystem) bool { return f.Mount == dir })
	if i < 0 {
		t.Fatalf("%s is not among %+v", dir, all)
	}
	got := all[i]
	if got.Options = ""; got != want || !strings.Contains(all[i].Options, "nosuid") {
		t.Errorf("%+v\nwant %+v", all[i], want)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readFilesystems(over, &l.mounts); !errors.Is(err, context.Canceled) {
		t.Errorf("after its time: %v", err)
	}
}
