package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// soon fails the test when f does not come back.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(means.Patience):
		t.Fatalf("%s blocks", what)
	}
}

func TestLiveReadsOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, sock, big, grows := filepath.Join(dir, "fifo"), filepath.Join(dir, "sock"), filepath.Join(dir, "big"), filepath.Join(dir, "small")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: sock}); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(big, make([]byte, 101), 0o600)
	os.WriteFile(grows, make([]byte, 100), 0o600)
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want error
	}{
		{fifo, ErrNotRegular}, {sock, ErrNotRegular}, {"/dev/null", ErrNotRegular}, {"/dev/zero", ErrNotRegular}, {dir, ErrNotRegular},
		{big, ErrTooBig}, {grows, nil}, {dir + "/absent", ErrAbsent}, {"relative", unix.EINVAL},
		{"/proc/4194304/status", ErrAbsent}, {"/proc/self/task/4194304/comm", ErrAbsent},
	} {
		soon(t, "reading "+c.name, func() {
			if _, err := l.ReadFile(t.Context(), c.name, 100); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		})
	}
	// kmsg is a regular file to stat(2), and blocks without O_NONBLOCK.
	if os.Geteuid() == 0 {
		soon(t, "reading /proc/kmsg", func() { l.ReadFile(t.Context(), "/proc/kmsg", 1<<20) })
	}
	soon(t, "listing a fifo", func() {
		if _, err := l.ReadDir(t.Context(), fifo); !IsAbsent(err) {
			t.Errorf("listing a fifo: %v", err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.ReadFile(ctx, grows, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// What is no regular file is looked at and never opened: opening a device acts on it.
func TestReadingOpensNoDevice(t *testing.T) {
	dir := t.TempDir()
	fifo, plain := filepath.Join(dir, "fifo"), filepath.Join(dir, "plain")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(plain, nil, 0o600)
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	for _, name := range []string{fifo, plain} {
		if _, err := unix.InotifyAddWatch(watch, name, unix.IN_OPEN); err != nil {
			t.Fatal(err)
		}
	}
	opened := func() bool {
		n, _ := unix.Read(watch, make([]byte, 4096))
		return n > 0
	}
	l, _ := NewLive()
	l.ReadFile(t.Context(), fifo, 10)
	l.Stat(t.Context(), fifo, true)
	l.Xattr(t.Context(), fifo, "user.x")
	at, err := unix.Open(fifo, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	t.Chdir(dir)
	for _, way := range []string{fmt.Sprint("/proc/self/fd/", at), "/proc/self/root" + fifo, "/proc/self/cwd/fifo",
		"/proc/sys/../self/cwd/fifo"} {
		if _, err := l.ReadFile(t.Context(), way, 10); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", way, err)
		}
	}
	if opened() {
		t.Error("the fifo was opened")
	}
	l.ReadFile(t.Context(), plain, 10)
	if !opened() {
		t.Error("inotify does not see opening: the test proves nothing")
	}
}

// A lease makes open with O_NONBLOCK say EAGAIN until it is broken (fcntl(2)).
func TestLeasedFile(t *testing.T) {
	means.Root(t)
	name := filepath.Join(t.TempDir(), "leased")
	os.WriteFile(name, []byte("x"), 0o600)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		means.Missing(t, "needs leases: "+err.Error())
	}
	l, _ := NewLive()
	soon(t, "reading a leased file", func() {
		if _, err := l.ReadFile(t.Context(), name, 10); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("got %v, want EAGAIN", err)
		}
	})
}

func TestRootCannotBeLeft(t *testing.T) {
	outside := t.TempDir()
	os.WriteFile(filepath.Join(outside, "secret"), []byte("outside"), 0o644)
	dir := filepath.Join(outside, "root")
	for _, d := range []string{"etc", "proc", "run", "sub/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	inside := map[string]string{"etc/hostname": "inside\n", "secret": "inside", "run/state": "running"}
	for name, text := range inside {
		os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
	for link, to := range map[string]string{
		"etc/abs":         "/secret",                               // the root's own
		"etc/up":          "../../../../../secret",                 // stops at the root
		"etc/full":        filepath.Join(outside, "secret"),        // not there inside
		"etc/magic":       "/proc/self/root" + outside + "/secret", // no magic links
		"etc/cwd":         "/proc/self/cwd",
		"etc/folder":      "../..",
		"etc/running":     "../run/state",
		"etc/not-mounted": "/run/systemd/resolve/stub-resolv.conf",
		"etc/masked":      "/dev/null",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("/proc/self/root", filepath.Join(dir, "proc/self")) // a hostile image's own /proc
	r, err := NewRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Identity().Hostname != "inside" {
		t.Errorf("hostname %q", r.Identity().Hostname)
	}
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"/secret", "inside", nil}, {"/etc/abs", "inside", nil}, {"/etc/up", "inside", nil},
		{"/../secret", "inside", nil}, {"/sub/deep/../../../../secret", "inside", nil},
		{"/etc/full", "", ErrAbsent}, {"/etc/magic", "", unix.ELOOP},
		{"/etc/folder/secret", "inside", nil}, {"/etc/not-mounted", "", ErrNotRunning},
		{"/proc/self/root/secret", "", ErrNotRunning}, {"/run/state", "", ErrNotRunning}, {"/etc/masked", "", ErrNotRegular},
	} {
		b, err := r.ReadFile(t.Context(), c.name, 100)
		if string(b) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, b, err, c.want, c.err)
		}
		var pe *fs.PathError
		if err != nil && (!errors.As(err, &pe) || pe.Path != c.name) {
			t.Errorf("%s: %v names another file", c.name, err)
		}
		st, serr := r.Stat(t.Context(), c.name, true)
		if c.err == nil && (serr != nil || st.Size != int64(len(c.want))) {
			t.Errorf("stat of %s: %+v, %v", c.name, st, serr)
		}
	}
	if _, err := r.ReadDir(t.Context(), "/etc/masked"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("the listing of a masked unit: %v", err)
	}
	es, err := r.ReadDir(t.Context(), "/etc/folder")
	if err != nil || len(es) != 5 {
		t.Errorf("the root's own listing through ../..: %v, %v", es, err)
	}
	if to, err := r.Readlink(t.Context(), "/etc/full"); to != filepath.Join(outside, "secret") || err != nil {
		t.Errorf("a link's text is read as it stands: %q, %v", to, err)
	}
	if _, err := NewRoot(filepath.Join(outside, "secret")); err == nil {
		t.Error("a file is no root folder")
	}
}

func TestExecBounds(t *testing.T) {
	spec := CommandSpec{Limit: 2 * means.Patience, MaxOutput: 1000}
	start := time.Now()
	out, err := Exec(t.Context(), spec, []string{"/usr/bin/yes"})
	if !errors.Is(err, ErrTooBig) || len(out.Stdout) != 1000 || time.Since(start) > means.Patience {
		t.Errorf("a flood: %d bytes, %v, after %s", len(out.Stdout), err, time.Since(start))
	}
	spec.Limit = 500 * time.Millisecond
	if _, err = Exec(t.Context(), spec, []string{"/bin/sleep", "60"}); !errors.Is(err, ErrTimeout) {
		t.Errorf("a long one: %v", err)
	}
	// Something left behind that holds the output open.
	soon(t, "a grandchild", func() { Exec(t.Context(), spec, []string{"/bin/sh", "-c", "sleep 60 & exit 0"}) })
	if out, err = Exec(t.Context(), spec, []string{"/bin/sh", "-c", "echo $HOME:$LC_ALL; cat; pwd; exit 3"}); err != nil || out.Exit != 3 ||
		string(out.Stdout) != "/:C.UTF-8\n/\n" {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, err = Exec(t.Context(), spec, []string{"/bin/sh", "-c", "kill -SEGV $$"}); err == nil {
		t.Error("a crash is no answer")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = Exec(ctx, spec, []string{"/bin/sleep", "60"}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// Opening some devices acts on them. Whoever owns a folder may put one in the
// place of a file while fettle looks: it is never opened. A FIFO tells.
func TestOnlyWhatWasLookedAtIsOpened(t *testing.T) {
	dir := t.TempDir()
	file, fifo := write(t, dir+"/file", "content"), dir+"/fifo"
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	name := dir + "/name"
	if err := os.Symlink(file, name); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.Symlink([]string{file, fifo}[i%2], dir+"/next")
			os.Rename(dir+"/next", name)
		}
	})
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, fifo, unix.IN_OPEN); err != nil { // not told of O_PATH
		t.Fatal(err)
	}
	live, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if b, err := live.ReadFile(t.Context(), name, 100); err == nil && string(b) == "content" {
			read++
		} else if !errors.Is(err, ErrNotRegular) {
			t.Fatalf("%q, %v", b, err)
		}
	}
	if read == 0 {
		t.Error("the file was never read")
	}
	if n, err := unix.Read(watch, make([]byte, 4096)); err != unix.EAGAIN {
		t.Errorf("the FIFO was opened: %d bytes of events, %v", n, err)
	}
}

func TestFoldersAreListedWithinBounds(t *testing.T) {
	dir := t.TempDir()
	for i := range 2000 {
		write(t, fmt.Sprint(dir, "/", i), "")
	}
	live, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	if es, err := live.ReadDir(t.Context(), dir); len(es) != 2000 || err != nil {
		t.Errorf("%d, %v", len(es), err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if es, err := live.ReadDir(over, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("after its time: %d, %v", len(es), err)
	}
}

// TestExtract: a file is handed over as a stream that ends with its asker's time; what only a user may read, to nobody.
func TestExtract(t *testing.T) {
	means.Root(t)
	dir := reachable(t)
	build(t, dir, "0:0 644 kernel image\n1201:1201 700 ana /\n1201:1201 600 ana/own own\n")
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	h, errBad := New(l), errors.New("no kernel")
	read := func(r io.Reader) (string, error) {
		b, err := io.ReadAll(r)
		return string(b), err
	}
	over, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx  context.Context
		file string
		of   func(io.Reader) (string, error)
		want string
		err  error
	}{
		"whole":        {t.Context(), "/kernel", read, "image", nil},
		"absent":       {t.Context(), "/none", read, "", ErrAbsent},
		"no file":      {t.Context(), "", read, "", ErrNotRegular},
		"a user's":     {t.Context(), "/ana/own", read, "", ErrDenied},
		"no good":      {t.Context(), "/kernel", func(io.Reader) (string, error) { return "", errBad }, "", errBad},
		"out of time":  {over, "/kernel", func(r io.Reader) (string, error) { cancel(); return read(r) }, "", context.Canceled},
		"a one-time's": {t.Context(), "/.google_authenticator", read, "", ErrSecret},
	} {
		got, err := Extract(c.ctx, h, name, dir+c.file, c.of)
		if got != c.want || !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, err, c.want, c.err)
		}
	}
}

// TestModes: what stat(2) tells comes out as it is, of each kind of file.
func TestModes(t *testing.T) {
	for mode, want := range map[uint32]fs.FileMode{
		unix.S_IFREG | 0o4711: fs.ModeSetuid | 0o711, unix.S_IFREG | 0o2755: fs.ModeSetgid | 0o755,
		unix.S_IFDIR | 0o1777: fs.ModeDir | fs.ModeSticky | 0o777,
		unix.S_IFLNK | 0o777:  fs.ModeSymlink | 0o777, unix.S_IFIFO: fs.ModeNamedPipe, unix.S_IFSOCK: fs.ModeSocket,
		unix.S_IFBLK | 0o660: fs.ModeDevice | 0o660,
		unix.S_IFCHR:         fs.ModeDevice | fs.ModeCharDevice,
	} {
		st := unix.Stat_t{Mode: mode, Uid: 1, Gid: 2, Size: 3, Nlink: 4, Dev: 5, Ino: 6, Mtim: unix.Timespec{Sec: 7, Nsec: 8}}
		if got, want := infoOf(&st), (Info{want, 1, 2, 3, 4, 5, 6, time.Unix(7, 8).UTC()}); got != want {
			t.Errorf("%o: %+v, want %+v", mode, got, want)
		}
	}
}

// TestRootFolders: a folder that is not there is none, and what shows running state is not looked at.
func TestRootFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/proc/version", "x")
	write(t, dir+"/process", "x")
	if err := os.Symlink("version", dir+"/proc/link"); err != nil {
		t.Fatal(err)
	}
	if _, err := NewRoot(dir + "/none"); !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), dir+"/none") {
		t.Errorf("no folder: %v", err)
	}
	r, err := NewRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx := t.Context()
	for _, c := range []struct {
		name string
		want error
	}{{"/proc/version", ErrNotRunning}, {"/proc", ErrNotRunning}, {"/process", nil}, {"/none", ErrAbsent}} {
		_, err1 := r.ReadFile(ctx, c.name, 9)
		_, err2 := r.Stat(ctx, c.name, true)
		_, err3 := r.Stat(ctx, c.name, false)
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
	}
	_, err1 := r.ReadDir(ctx, "/proc")
	_, err2 := r.Readlink(ctx, "/proc/link")
	_, err3 := r.Table(ctx, TableLinks)
	_, err4 := r.Command(ctx, Command{Name: "dmesg"})
	for op, err := range map[string]error{"readdir /proc: ": err1, "readlink /proc/link: ": err2, "": errors.Join(err3, err4)} {
		if !errors.Is(err, ErrNotRunning) || !strings.HasPrefix(err.Error(), op) {
			t.Errorf("%v, want one that begins with %q", err, op)
		}
	}
	if r.Kind() != KindRoot || r.Name() != dir || New(r).Running() || r.Identity().EUID != os.Geteuid() {
		t.Errorf("%s of %s: %+v", r.Kind(), r.Name(), r.Identity())
	}
}

// TestAttributes: of the kernel's files those that may be opened before they are looked at.
func TestAttributes(t *testing.T) {
	live, other := &tree{fd: unix.AT_FDCWD}, &tree{fd: 3}
	for name, want := range map[string]bool{
		"/sys/class/net/eth0/device/power/control": true, "/proc/sys/net/ipv4/conf/all/forwarding": true, "/proc/meminfo": true,
		"/proc/1/status": true, "/proc/1/fd/0": false, "/proc/1/ns/mnt": false, "/proc/1/task/1/status": false, "/proc/1/..": false,
		"/sys/../dev/watchdog": false, "/proc/sys/../1/fd/0": false, "/etc/hosts": false, "/dev/watchdog": false, "/proc": true,
		"/system/a": false,
	} {
		if got := live.attribute(name); got != want || other.attribute(name) {
			t.Errorf("%s: %v, and in another root folder %v", name, got, other.attribute(name))
		}
	}
}
