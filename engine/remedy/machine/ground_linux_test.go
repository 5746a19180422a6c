package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	members "fettle/host"
)

const nobody = 65534

// TestGround: which folders on the way somebody other than root may rename in, who, and with whose rights the rest
// of the way is gone.
func TestGround(t *testing.T) {
	dir := tree(t)
	mk := func(name string, mode os.FileMode, uid int) {
		ok(t, os.MkdirAll(dir+"/"+name, 0o755), os.Chown(dir+"/"+name, uid, 7), os.Chmod(dir+"/"+name, mode))
	}
	mk("plain/sub", 0o755, 0)
	mk("group", 0o775, 0)
	mk("group/user", 0o755, nobody)
	mk("world", 0o757, 0)
	mk("sticky", 0o777|fs.ModeSticky, 0)
	mk("sticky/roots", 0o755, 0)
	mk("sticky/users", 0o755, nobody)
	mk("user", 0o755, nobody)
	mk("user/sub/sub", 0o755, nobody)
	mk("user/roots", 0o755, 0)
	for name, c := range map[string]struct {
		foreign bool
		owner   uint32
		at      string // below dir
		rest    string
		base    string
	}{
		"plain/sub/x":      {false, 0, "", "", "x"},
		"plain":            {false, 0, "", "", "plain"},
		"group":            {false, 0, "", "", "group"}, // it lies in root's
		"group/x":          {true, 0, "/group", "", "x"},
		"group/user":       {true, 0, "/group", "", "user"},
		"group/user/x":     {true, nobody, "/group", "", "x"},
		"world/x":          {true, 0, "/world", "", "x"},
		"sticky/roots":     {false, 0, "", "", "roots"},
		"sticky/roots/x":   {false, 0, "", "", "x"},
		"sticky/none":      {false, 0, "", "", "none"},
		"sticky/users":     {true, nobody, "/sticky", "", "users"},
		"sticky/users/x":   {true, nobody, "/sticky", "users", "x"},
		"user":             {false, 0, "", "", "user"},
		"user/x":           {true, nobody, "/user", "", "x"},
		"user/sub/sub/x":   {true, nobody, "/user", "sub/sub", "x"},
		"user/roots/x":     {true, nobody, "/user", "roots", "x"},
		"user/none/none/x": {true, nobody, "/user", "none/none", "x"},
	} {
		s, err := find("look at", dir+"/"+name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		unix.Close(s.fd)
		want := ""
		if c.at != "" {
			want = dir + c.at
		}
		if s.foreign != c.foreign || s.owner != c.owner || s.at != want || s.rest != c.rest || s.base != c.base {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for name, want := range map[string]error{dir + "/none/x": fs.ErrNotExist, dir + "/file/x": unix.ENOTDIR, dir + "/link/x": unix.ENOTDIR,
		"x": unix.EINVAL, dir + "//x": unix.EINVAL, dir + "/none/none/x": fs.ErrNotExist} {
		s, err := find("look at", name)
		if !errors.Is(err, want) && !(errors.Is(err, unix.ELOOP) && want == unix.ENOTDIR) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	// What is made in a user's folder is his; what he may not, fettle does not do there.
	ok(t, os.Chmod(dir+"/user/sub", 0o555))
	if _, err := here.Create(dir+"/user/new", nil); err != nil {
		t.Error(err)
	}
	if i, err := here.Look(dir+"/user/new", false); err != nil || i.UID != nobody || !i.Foreign {
		t.Errorf("%+v, %v", i, err)
	}
	want := fmt.Sprintf("%s/user belongs to user ID %d, with whose rights", dir, nobody)
	if _, err := here.Create(dir+"/user/sub/new", nil); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if _, err := here.Create(dir+"/user/roots/new", nil); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	ok(t, os.Symlink("sub", dir+"/user/link"))
	if _, err := here.Create(dir+"/user/link/sub/new", nil); !errors.Is(err, unix.ELOOP) {
		t.Error(err)
	}
	mk("user/shut", 0o600, nobody)
	if i, err := here.Look(dir+"/user/shut/x", false); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("what its owner may not see is %+v, %v", i, err)
	}
	mk("stranger", 0o755, 54321)
	if _, err := here.Create(dir+"/stranger/new", nil); err == nil || !strings.Contains(err.Error(), "no account has user ID 54321") {
		t.Error(err)
	}
	if c, err := rightsOf(nobody); err != nil || c.uid != nobody || c.gid == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := rightsOf(0); err != nil || c.gid != 0 || len(c.groups) == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if askLimit < time.Second || askLimit > time.Minute {
		t.Error(askLimit)
	}
}

// TestWayBelow: a user's folders are opened without following links, also where the kernel cannot do that at once.
func TestWayBelow(t *testing.T) {
	dir := tree(t)
	ok(t, os.MkdirAll(dir+"/dir/sub/sub", 0o755), os.Symlink("sub", dir+"/dir/link"))
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	ok(t, err)
	defer unix.Close(fd)
	for rest, want := range map[string]string{"dir": "/dir", "dir/sub/sub": "/dir/sub/sub", "dir/link/sub": "", "none": "", "file": "",
		"dir/none/x": ""} {
		for _, open := range []func(int, string) (int, error){below, folderByFolder} {
			got, err := open(fd, rest)
			if (err == nil) != (want != "") {
				t.Errorf("%s: %v", rest, err)
			}
			if err == nil {
				if to, _ := os.Readlink(procFD(got)); to != dir+want {
					t.Errorf("%s is %s", rest, to)
				}
				unix.Close(got)
			}
		}
	}
	if err := unix.Fstat(fd, new(unix.Stat_t)); err != nil {
		t.Error("the folder from which the way leads is closed:", err)
	}
}

// TestResolves: links are followed as often as the kernel follows them, and only root's.
func TestResolves(t *testing.T) {
	dir := tree(t)
	ok(t, os.MkdirAll(dir+"/user", 0o755), os.Chown(dir+"/user", nobody, nobody), os.Symlink("/etc", dir+"/user/link"))
	last := dir + "/file"
	for i := range 41 {
		name := fmt.Sprintf("%s/l%d", dir, i+1)
		ok(t, os.Symlink(last, name))
		last = name
	}
	for name, want := range map[string]string{"/l40": dir + "/file", "/l41": "", "/link": dir + "/file", "/dir/../link": dir + "/file",
		"/none/x/y": dir + "/none/x/y", "/file/x": "", "/user/x": dir + "/user/x", "/user/none/x": dir + "/user/none/x"} {
		got, err := here.Resolve(dir + name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if name == "/l41" && !errors.Is(err, unix.ELOOP) {
			t.Error(err)
		}
	}
	_, err := here.Resolve(dir + "/user/link/passwd")
	var u *Untrusted
	if !errors.As(err, &u) || u.Path != dir+"/user/link" || u.Folder != dir+"/user" || u.Target != "/etc" ||
		!strings.Contains(err.Error(), "is a link to /etc, and others than root may write to "+dir+"/user") {
		t.Error(err)
	}
	if got, err := here.Resolve("/"); got != "/" || err != nil {
		t.Error(got, err)
	}
	if got, err := here.Resolve("x"); err == nil {
		t.Error(got)
	}
	if err := (&Changed{"/a", "was"}).Error(); err != "/a was" {
		t.Error(err)
	}
}

// pretended is a host of so many files of root's in /srv, all alike but for some.
type pretended struct {
	Machine
	many   int
	images map[string]Image
	calls  *int // left until one fails; nil: none does
}

func (m pretended) call() error {
	if m.calls == nil {
		return nil
	}
	if *m.calls--; *m.calls == 0 {
		return unix.EIO
	}
	return nil
}

func (m pretended) Resolve(name string) (string, error) {
	if name == "/unresolved" {
		return "", unix.ELOOP
	}
	return name, m.call()
}
func (m pretended) Look(name string, _ bool) (Image, error) {
	if i, ok := m.images[name]; ok {
		if i.Type == "broken" {
			return Image{}, unix.EIO
		}
		return i, m.call()
	}
	return Image{Type: Regular, Mode: 0o644}, m.call()
}
func (m pretended) List(dir string) ([]string, error) {
	if m.many < 0 {
		return nil, unix.EIO
	}
	return append(slices.Repeat([]string{"f"}, m.many), "last"), m.call()
}

// TestRootsAlone: what root's programs may work on, and what is said of the rest.
func TestRootsAlone(t *testing.T) {
	folder, broken := Image{Type: Folder, Mode: 0o755}, Image{Type: "broken"}
	foreign := func(srv Image) map[string]Image {
		return map[string]Image{"/": folder, "/srv": srv, "/srv/a": {Foreign: true}}
	}
	with := func(at string, i Image) map[string]Image {
		return map[string]Image{"/": folder, "/srv": folder, "/srv/new": {Type: Absent}, "/srv/new/x": {Type: Absent}, at: i}
	}
	for name, c := range map[string]struct {
		images map[string]Image
		many   int
		path   string
		want   string // of the error
		at     string
		owner  uint32
	}{
		"root's":    {with("", folder), 1, "/srv", "", "", 0},
		"new":       {with("", folder), -1, "/srv/new", "", "", 0},
		"new, deep": {with("", folder), -1, "/srv/new/x", "", "", 0},
		"below it":  {with("", folder), 2, "/srv", "", "", 0},
		"many":      {with("", folder), treeLimit - 2, "/srv", "", "", 0},
		"too many":  {with("", folder), treeLimit - 1, "/srv", "more than 200000 files", "", 0},
		"a user's": {with("/srv/a", Image{Type: Regular, UID: 7}), 0, "/srv/a", "/srv/a belongs to user ID 7: whoever",
			"/srv/a", 7},
		"all may write": {with("/srv/a", Image{Type: Regular, Mode: 0o602}), 0, "/srv/a", "written by everybody (mode 0602)",
			"/srv/a", 0},
		"a group may write": {with("/srv/a", Image{Type: Regular, Mode: 0o620, GID: 9}), 0, "/srv/a", "(mode 0620, group ID 9)",
			"/srv/a", 0},
		"a device": {with("/srv/a", Image{Type: Other, Mode: 0o666, UID: 7}), 0, "/srv/a", "", "", 0},
		"new, in a user's": {with("/srv", Image{Type: Folder, UID: 7}), 0, "/srv/new",
			"/srv/new cannot be changed safely: /srv belongs to user ID 7", "/srv", 7},
		"a user's, below": {with("/srv/f", Image{Type: Regular, UID: 7}), 1, "/srv", "/srv/f belongs to user ID 7", "/srv/f", 7},
		"gone, then a user's": {map[string]Image{"/": folder, "/srv": folder, "/srv/f": {Type: Absent}, "/srv/last": {UID: 7}}, 1, "/srv",
			"/srv/last belongs to user ID 7", "/srv/last", 7},
		"gone, below":            {with("/srv/f", Image{Type: Absent, UID: 7}), 1, "/srv", "", "", 0},
		"cannot be resolved":     {with("", folder), 0, "/unresolved", "too many levels of symbolic links", "", 0},
		"cannot be looked at":    {with("/srv/a", broken), 0, "/srv/a", "input/output error", "", 0},
		"below, the same":        {with("/srv/f", broken), 1, "/srv", "input/output error", "", 0},
		"cannot be listed":       {with("", folder), -1, "/srv", "input/output error", "", 0},
		"somebody may rename":    {foreign(Image{Type: Folder, UID: 7}), 0, "/srv/a", "/srv belongs to user ID 7", "/srv", 7},
		"somebody, nobody knows": {foreign(folder), 0, "/srv/a", "can be renamed by others than root", "/srv/a", 0},
		"on the way, not looked": {foreign(broken), 0, "/srv/a", "input/output error", "", 0},
	} {
		err := RootsAlone(pretended{many: c.many, images: c.images}, c.path)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		var s *Shared
		if errors.As(err, &s) != (c.at != "") || c.at != "" && (s.At != c.at || s.Path != c.path || s.Owner != c.owner) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Whichever look fails, nobody is told that only root can change something.
func TestRootsAloneCannotLook(t *testing.T) {
	images := map[string]Image{"/": {Type: Folder, Mode: 0o755}, "/srv": {Type: Folder, Mode: 0o755}, "/srv/a": {Type: Folder, Mode: 0o755},
		"/srv/b": {Type: Regular, Foreign: true}}
	for path, want := range map[string]int{"/srv/a": 6, "/srv/b": 5} { // calls at least
		for i := 1; ; i++ {
			left := i
			err := RootsAlone(pretended{many: 2, images: images, calls: &left}, path)
			if left > 0 {
				if i <= want {
					t.Errorf("%s: %d calls", path, i)
				}
				break
			}
			if !errors.Is(err, unix.EIO) {
				t.Errorf("%s: when call %d failed: %v", path, i, err)
			}
		}
	}
}

// held is a file of this process's by its descriptor.
func heldFile(t *testing.T, f *os.File) OpenFile {
	t.Helper()
	var st unix.Stat_t
	ok(t, unix.Fstat(int(f.Fd()), &st))
	return OpenFile{PID: os.Getpid(), FD: int(f.Fd()), Dev: st.Dev, Inode: st.Ino}
}

// TestRescue: a deleted file that a process holds open is measured and copied, holes and all, or nothing is.
func TestRescue(t *testing.T) {
	dir := tree(t)
	f, err := os.Create(dir + "/held")
	ok(t, err)
	defer f.Close()
	const mib = 1 << 20
	for at, text := range map[int64]string{0: "first", 3 * mib: "second"} {
		_, err := f.WriteAt([]byte(text), at)
		ok(t, err)
	}
	ok(t, f.Truncate(8*mib), f.Sync(), os.Remove(f.Name()))
	of := heldFile(t, f)
	var st unix.Stat_t
	ok(t, unix.Fstat(of.FD, &st))
	if n, err := here.HeldOpen(of); err != nil || n != st.Blocks*512 || n == 0 || n > 2*mib {
		t.Errorf("%d bytes, %v", n, err)
	}
	ok(t, here.CopyOpen(t.Context(), of, dir+"/copy"))
	b, err := os.ReadFile(dir + "/copy")
	if ok(t, err, unix.Stat(dir+"/copy", &st)); len(b) != 8*mib || string(b[:5]) != "first" || string(b[3*mib:3*mib+6]) != "second" ||
		st.Blocks*512 > 2*mib || st.Mode&0o777 != 0o600 {
		t.Errorf("%d bytes, %d on disk, mode %o", len(b), st.Blocks*512, st.Mode)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ok(t, os.Mkdir(dir+"/group", 0o755), os.Chmod(dir+"/group", 0o775))
	for to, c := range map[string]struct {
		ctx  context.Context
		want string
	}{"/copy": {t.Context(), "file exists"}, "/none/x": {t.Context(), "no such file"}, "/cut": {ctx, "context canceled"},
		"/group/x": {t.Context(), "others than root may write to " + dir + "/group"}} {
		if err := here.CopyOpen(c.ctx, of, dir+to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", to, err)
		}
		if _, err := os.Stat(dir + to); err == nil && to != "/copy" {
			t.Errorf("%s is left", to)
		}
	}
	fifo, err := os.OpenFile(dir+"/fifo", os.O_RDWR, 0)
	ok(t, err)
	defer fifo.Close()
	inode, dev, fd := of, of, of
	inode.Inode++
	dev.Dev++
	fd.FD = 1 << 20
	for name, f := range map[string]OpenFile{"another number": inode, "another disk": dev, "not open": fd, "a FIFO": heldFile(t, fifo)} {
		var changed *Changed
		if _, err := here.HeldOpen(f); !errors.As(err, &changed) || changed.Path != f.openPath() {
			t.Errorf("%s: %v", name, err)
		}
		if err := here.CopyOpen(t.Context(), f, dir+"/other"); !errors.As(err, &changed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var fsst unix.Statfs_t
	ok(t, unix.Statfs(dir, &fsst))
	for _, d := range []string{dir, dir + "/none/none"} {
		if n, err := here.Room(d); err != nil || n < int64(fsst.Bavail)*fsst.Bsize/2 || n > int64(fsst.Bavail)*fsst.Bsize*2 {
			t.Errorf("%s: %d, %v", d, n, err)
		}
	}
	if _, err := here.Room(dir + "/file/x"); !errors.Is(err, unix.ENOTDIR) {
		t.Error(err)
	}
}

// TestLinksAndDevices: links with what is above and below them, mounts, and devices that are not there.
func TestLinksAndDevices(t *testing.T) {
	dir := tree(t)
	runtime.LockOSThread() // never unlocked: the thread ends with its network and its mounts
	ok(t, unix.Unshare(unix.CLONE_NEWNET|unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		os.WriteFile(dir+"/bound", nil, 0o600), unix.Mount(dir+"/file", dir+"/bound", "", unix.MS_BIND, ""))
	for name, want := range map[string]bool{"file": false, "bound": true, "dir": false} {
		if i, err := here.Look(dir+"/"+name, true); i.Mount != want || err != nil || name != "dir" && string(i.Content) != "text" {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
	ok(t, unix.Unmount(dir+"/bound", unix.MNT_DETACH))
	br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
	ok(t, netlink.LinkAdd(br), netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "v0", MTU: 1400}, PeerName: "v1"}))
	v, err := netlink.LinkByName("v0")
	ok(t, err, netlink.LinkSetMaster(v, br), netlink.LinkAdd(&netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: "mv",
		ParentIndex: br.Index}, Mode: netlink.MACVLAN_MODE_BRIDGE}), here.SetMTU(v.Attrs().Index, 1300))
	links, err := here.Links()
	ok(t, err)
	seen := map[string]Link{}
	for _, l := range links {
		seen[l.Name] = l
	}
	if l := seen["v0"]; l.Index != v.Attrs().Index || l.MTU != 1300 || l.Master != br.Index || l.Parent != 0 {
		t.Errorf("%+v", l)
	}
	if l := seen["mv"]; l.Parent != br.Index || l.Master != 0 {
		t.Errorf("%+v", l)
	}
	if l := seen["lo"]; l.Index != 1 || l.Parent != 0 || l.Master != 0 {
		t.Errorf("%+v", l)
	}
	if err := here.SetMTU(1<<20, 1400); err == nil || !strings.Contains(err.Error(), "setting the MTU of link 1048576 to 1400") {
		t.Error(err)
	}
	for link, want := range map[string]string{"nosuch": `looking up link "nosuch"`, "v1": `sending a router solicitation on "v1"`} {
		if err := here.Solicit(t.Context(), link); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", link, err)
		}
	}
	if sb, err := here.MDSuperblock("null"); sb != nil || err != nil && !strings.Contains(err.Error(), "/dev/null") {
		t.Errorf("%+v, %v", sb, err)
	}
	if sb, err := here.MDSuperblock("nosuch0"); sb != nil || err != nil {
		t.Errorf("%+v, %v", sb, err)
	}
	for err, want := range map[error]string{nil: "", unix.ENXIO: "", unix.ENODEV: "", unix.ENOMEDIUM: "", fs.ErrNotExist: "",
		unix.EIO: "reading the superblock of /dev/sda: input/output error"} {
		if sb, got := superblock("sda", members.MDMember{}, err); sb != nil || (got == nil) != (want == "") || got != nil && got.Error() != want {
			t.Errorf("%v: %+v, %v", err, sb, got)
		}
	}
	if sb, err := superblock("sda", members.MDMember{Superblock: []byte("none")}, nil); sb != nil || err == nil ||
		!strings.HasPrefix(err.Error(), "/dev/sda: ") {
		t.Errorf("%+v, %v", sb, err)
	}
	if mdAnswer < 10*time.Second || mdAnswer > 5*time.Minute {
		t.Error(mdAnswer)
	}
}
