package host

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

func scan(t testing.TB) OpenFiles {
	t.Helper()
	res, err := scanOpenFiles(t.Context(), &mountTable{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func filesOf(res OpenFiles, pid int) []OpenFile {
	var out []OpenFile
	for _, f := range res.Files {
		if f.PID == pid {
			out = append(out, f)
		}
	}
	return out
}

func write(t testing.TB, name, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// folders are where the tests run: the machine's own file system, and tmpfs.
func folders(t *testing.T, f func(t *testing.T, dir string)) {
	t.Run("disk", func(t *testing.T) { f(t, t.TempDir()) })
	t.Run("tmpfs", func(t *testing.T) {
		means.Root(t)
		dir := t.TempDir()
		if err := unix.Mount("fettle-test", dir, "tmpfs", 0, "size=64m"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		f(t, dir)
	})
}

func TestOpenFiles(t *testing.T) {
	page := strings.Repeat("x", 8192)
	folders(t, func(t *testing.T, dir string) {
		for _, c := range []struct {
			name string
			todo string // % stands for the folder
			also func(p string)
			want string // "path flags"; empty: nothing
		}{
			{"deleted", "rw=%/a rm=%/a", nil, "a deleted write links=0"},
			{"deleted, read only", "ro=%/a rm=%/a", nil, "a deleted links=0"},
			{"open for writing, not a log", "rw=%/a", nil, ""},
			{"log", "rw=%/log/a", nil, "log/a write links=1"},
			{"log, read only", "ro=%/log/a", nil, ""},
			{"renamed log", "rw=%/log/a mv=%/log/a", nil, "log/a.1 write links=1"},
			{"deleted name of two", "rw=%/a rm=%/a", func(p string) { os.Link(p+"/a", p+"/b") }, "a deleted write links=1"},
			{"called so", "rw=%/log/x-(deleted)", nil, "log/x-(deleted) write links=1"},
			{"library", "map=%/a rm=%/a", nil, "a deleted mapped exec links=0"},
			{"shared data", "mapdata=%/a rm=%/a", nil, "a deleted mapped links=0"},
			{"library, not deleted", "map=%/a", nil, ""},
			{"memfd", "memfd", nil, ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				p := filepath.Join(dir, "d")
				os.RemoveAll(p)
				write(t, p+"/a", page)
				write(t, p+"/log/a", page)
				if c.also != nil {
					c.also(p)
				}
				pid := start(t, "", strings.ReplaceAll(c.todo, "%", p))
				for _, text := range []bool{false, true} {
					s := &fileScan{own: &mountTable{}, tables: map[uint64]*mountTable{}}
					s.rootDev, s.rootIno = fileID("/proc/self/root")
					_, s.mntns = fileID("/proc/self/ns/mnt")
					s.noQuery.Store(text)
					w := newScanner(s)
					w.process(pid)
					if got := describe(p, w.hits); got != c.want {
						t.Errorf("maps as text %v: got %q, want %q", text, got, c.want)
					}
				}
			})
		}
	})
}

func describe(dir string, files []OpenFile) string {
	var out []string
	for _, f := range files {
		s := strings.TrimPrefix(f.Path, dir+"/")
		for _, b := range []struct {
			on   bool
			name string
		}{{f.Elsewhere, "elsewhere"}, {f.Deleted, "deleted"}, {f.Write, "write"}, {f.Mapped, "mapped"}, {f.Exec, "exec"},
			{f.Program, "program"}} {
			if b.on {
				s += " " + b.name
			}
		}
		out = append(out, s+" links="+strconv.FormatUint(f.Links, 10))
	}
	return strings.Join(out, "; ")
}

// A process that has ended and that nobody has waited for holds nothing, and is not denied either.
func TestOpenFilesOfTheDead(t *testing.T) {
	c := exec.Command(means.Tool(t, "true"))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	out.Read(make([]byte, 1)) // it ends with the process
	stat := fmt.Sprintf("/proc/%d/stat", c.Process.Pid)
	means.Until(t, "the process has ended", func() bool {
		b, _ := os.ReadFile(stat)
		return bytes.Contains(b, []byte(") Z "))
	})
	w := newScanner(&fileScan{own: &mountTable{}, tables: map[uint64]*mountTable{}})
	if w.process(c.Process.Pid); w.looked != 0 || len(w.denied) != 0 || len(w.hits) != 0 {
		t.Errorf("looked into %d, denied %d, hits %v", w.looked, w.denied, w.hits)
	}
	if w.process(os.Getpid()); w.looked != 1 {
		t.Errorf("looked into %d after this one", w.looked)
	}
}

// A process with so many descriptors that they are looked at from two sides:
// none is missed, none comes twice.
func TestOpenFilesMany(t *testing.T) {
	dir := t.TempDir()
	var todo []string
	for i := range 60 {
		p := write(t, dir+"/f"+strconv.Itoa(i), "1")
		todo = append(todo, "many=60", "rw="+p, "rm="+p)
	}
	pid := start(t, "", todo...)
	for range 5 {
		seen := map[string]int{}
		got := filesOf(scan(t), pid)
		for _, f := range got {
			seen[f.Path]++
		}
		if len(got) != 60 || len(seen) != 60 {
			t.Fatalf("%d hits of %d files, want 60", len(got), len(seen))
		}
	}
}

// A file whose name really ends in " (deleted)" is none, and one with that
// name that is deleted is one.
func TestOpenFilesNamedDeleted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	p := write(t, dir+"/x (deleted)", "1")
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := describe(dir, filesOf(scan(t), os.Getpid())); got != "x (deleted) write links=1" {
		t.Errorf("before: %q", got)
	}
	os.Remove(p)
	write(t, p, "another")
	if got := describe(dir, filesOf(scan(t), os.Getpid())); got != "x (deleted) deleted write links=0" {
		t.Errorf("after: %q", got)
	}
}

func TestOpenFilesProgram(t *testing.T) {
	dir := t.TempDir()
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin := write(t, dir+"/daemon", "")
	if err := os.WriteFile(bin, b, 0o755); err != nil {
		t.Fatal(err)
	}
	os.Chmod(bin, 0o755)
	pid := start(t, bin)
	if got := describe(dir, filesOf(scan(t), pid)); got != "" {
		t.Fatalf("before: %q", got)
	}
	// As dpkg does: a new file is renamed over the old one.
	write(t, dir+"/daemon.new", "new")
	if err := os.Rename(dir+"/daemon.new", bin); err != nil {
		t.Fatal(err)
	}
	got := filesOf(scan(t), pid)
	if describe(dir, got) != "daemon deleted mapped exec program links=0" || got[0].Size != int64(len(b)) || got[0].Comm != "daemon" {
		t.Errorf("after: %q, %+v", describe(dir, got), got)
	}
}

// A process with another root: in fettle's own mount namespace (a chroot) the
// path is told from fettle's root, in another one (a container) from there.
func TestOpenFilesOtherRoot(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	write(t, dir+"/gone", "1")
	pid := start(t, "", "chroot="+dir, "rw=/gone", "rm=/gone")
	got := filesOf(scan(t), pid)
	if describe(dir, got) != "gone deleted write links=0" {
		t.Errorf("chroot: %+v", got)
	}

	root := dir + "/root"
	os.Mkdir(root, 0o755)
	sh, unshare := means.Tool(t, "sh"), means.Tool(t, "unshare")
	pid = startArgs(t, []string{unshare, "-m", sh, "-c",
		`mount -t tmpfs fettle-test "$1" && mkdir "$1/old" "$1/log" && : > "$1/log/a" && cp "$2" "$1/holder" && cd "$1" &&
		ln -s old/usr old/lib old/lib64 . && pivot_root . old && exec /holder`,
		"sh", root, os.Args[0]}, "rw=/log/a", "mv=/log/a", "rw=/gone", "rm=/gone")
	got = filesOf(scan(t), pid)
	if describe("", got) != "log/a.1 elsewhere write links=1; gone elsewhere deleted write links=0" {
		t.Errorf("container: %+v", got)
	}
}

func TestOldStatAt(t *testing.T) {
	name := append([]byte(write(t, t.TempDir()+"/x", "12345")), 0)
	a, ok1 := statAt(unix.AT_FDCWD, &name[0], 0)
	b, ok2 := oldStatAt(unix.AT_FDCWD, &name[0], 0)
	if !ok1 || !ok2 || fileOf("", &a) != fileOf("", &b) || a.Mode != b.Mode {
		t.Errorf("statx %+v, fstatat %+v", fileOf("", &a), fileOf("", &b))
	}
}

// Overlay files: in a mount namespace of the child's own.
func TestOpenFilesOverlay(t *testing.T) {
	means.Root(t)
	sh := means.Tool(t, "sh")
	dir := t.TempDir()
	if err := unix.Mount("fettle-test", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	write(t, dir+"/lower/a", strings.Repeat("x", 8192))
	write(t, dir+"/lower/b", strings.Repeat("x", 8192))
	for _, d := range []string{"upper", "work", "merged"} {
		os.MkdirAll(dir+"/"+d, 0o755)
	}
	c := exec.Command(sh, "-c", `mount -t overlay -o lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work fettle-test $1/merged &&
		exec 9<>$1/merged/a 8<$1/merged/b && rm $1/merged/a $1/merged/b && echo ready && read x`, "sh", dir)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	in, _ := c.StdinPipe()
	out, _ := c.StdoutPipe()
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); c.Wait() }()
	line := make([]byte, 10)
	if n, _ := out.Read(line); string(line[:n]) != "ready\n" {
		if strings.Contains(errs.String(), "unknown filesystem type") {
			means.Missing(t, "needs a kernel with overlayfs")
		}
		t.Fatal(errs.String())
	}
	// b was never copied up: its blocks are the lower layer's and would not be
	// freed, which the kernel shows by a link that is left.
	got := describe(dir+"/merged", filesOf(scan(t), c.Process.Pid))
	if got != "b deleted links=1; a deleted write links=0" {
		t.Errorf("got %q", got)
	}
}

// Without root, what others hold is denied and counted, never passed over.
func TestOpenFilesUnprivileged(t *testing.T) {
	if os.Getenv("FETTLE_SCAN") != "" { // the run without root
		res := scan(t)
		if res.Denied == 0 {
			t.Error("nothing denied without root")
		}
		for _, f := range res.Files {
			if f.UID != 65534 {
				t.Errorf("a file of another user: %+v", f)
			}
		}
		os.Stdout.WriteString("files " + strconv.Itoa(len(res.Files)) + "\n")
		return
	}
	means.Root(t)
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chmod(dir, 0o777)
	b, _ := os.ReadFile(os.Args[0])
	bin := write(t, dir+"/scan.test", "")
	os.WriteFile(bin, b, 0o755)
	os.Chmod(bin, 0o755)
	start(t, "", "rw="+write(t, dir+"/roots", "1"), "rm="+dir+"/roots")
	own := write(t, dir+"/own", "1")
	os.Chown(own, 65534, 65534)
	nobody := []string{means.Tool(t, "setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", bin}
	startArgs(t, nobody, "rw="+own, "rm="+own)
	c := exec.Command(nobody[0], append(nobody[1:], "-test.run=^TestOpenFilesUnprivileged$", "-test.v")...)
	c.Env = []string{"FETTLE_SCAN=1", "TMPDIR=" + dir}
	c.Dir = dir
	outp, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(outp, []byte("files 1")) {
		t.Errorf("%v\n%s", err, outp)
	}
}

// Under Landlock root may list what others have open, and not follow it: that
// is denied as well, and must not look like nothing.
func TestOpenFilesLandlock(t *testing.T) {
	if os.Getenv("FETTLE_SCAN") != "" {
		if err := landlock.V1.RestrictPaths(landlock.RODirs("/")); err != nil {
			os.Stdout.WriteString("no landlock: " + err.Error() + "\n")
			return
		}
		res := scan(t)
		os.Stdout.WriteString("files " + strconv.Itoa(len(res.Files)) + "\n")
		if res.Denied == 0 || res.Looked > 1 { // itself
			t.Errorf("looked into %d, denied %d", res.Looked, res.Denied)
		}
		return
	}
	means.Root(t)
	p := write(t, t.TempDir()+"/a", "1")
	start(t, "", "rw="+p, "rm="+p)
	c := exec.Command(os.Args[0], "-test.run=^TestOpenFilesLandlock$", "-test.v")
	c.Env = []string{"FETTLE_SCAN=1"}
	out, err := c.CombinedOutput()
	if bytes.Contains(out, []byte("no landlock")) {
		means.Missing(t, "needs Landlock: "+string(out))
	}
	if err != nil || !bytes.Contains(out, []byte("files 0")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// Processes that come and go while they are looked through do no harm.
func TestOpenFilesVanishing(t *testing.T) {
	sleep := means.Tool(t, "true")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				exec.Command(sleep).Run()
			}
		}
	}()
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		for _, f := range scan(t).Files {
			if f.Comm == "" {
				t.Fatalf("a hit without a process: %+v", f)
			}
		}
	}
	close(stop)
	<-done
}

func TestUnlinkedOnPurpose(t *testing.T) {
	for target, want := range map[string]bool{"/ (deleted)": true, "/memfd:x (deleted)": true, "/usr/sbin/sshd (deleted)": false,
		"/": true, "/SYSV00000000 (deleted)": true, "/dev/shm/x (deleted)": true, "/proc/1/x": true, "/sys/x": true,
		"/devices/x (deleted)": false,
		"/a (deleted)":         false} {
		if unlinkedOnPurpose(target) != want {
			t.Errorf("%s: %v", target, !want)
		}
	}
}

// TestOtherPIDs: a process in a PID namespace of its own is not the host's own,
// whoever asks.
func TestOtherPIDs(t *testing.T) {
	means.Root(t)
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	ps, err := readProcesses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ps {
		if want := p.PID == cmd.Process.Pid; (p.PID == os.Getpid() || want) && (p.OtherPIDs != want || want && p.Own()) {
			t.Errorf("%+v", p)
		}
	}
	fd, err := openProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if !deeper(fd, make([]byte, 8<<10)) {
		t.Error("NSpid does not tell")
	}
}

func TestMapsLines(t *testing.T) {
	const line = "7f12a000-7f13b000 r-xp 00022000 fe:01 1573  /usr/lib/a b.so (deleted)"
	exec := mapping{exec: true, start: 0x7f12a000, end: 0x7f13b000, dev: unix.Mkdev(0xfe, 1), ino: 1573}
	shared := exec
	shared.exec = false
	for text, want := range map[string]mapping{
		line: exec, strings.Replace(line, "r-xp", "rw-s", 1): shared, strings.Replace(line, "r-xp", "rwxs", 1): exec,
		strings.Replace(line, "r-xp", "rw-p", 1): {}, strings.TrimSuffix(line, " (deleted)"): {}, strings.Replace(line, "r-xp", "x", 1): {},
		strings.Replace(line, "/usr", "usr", 1): {}, strings.Replace(line, "1573", "fe", 1): {}, strings.Replace(line, "7f13b000", "end", 1): {},
		strings.Replace(line, "fe:01", "fe", 1): {}, "7f12a000-7f13b000 r-xp 00022000 fe:01 1573  (deleted)": {}, " (deleted)": {},
	} {
		m, ok := parseMapsLine([]byte(text))
		name := string(m.name)
		m.name = nil
		if ok != (want.end != 0) || ok && (m.exec != want.exec || m.start != want.start || m.end != want.end || m.dev != want.dev ||
			m.ino != want.ino ||
			name != "/usr/lib/a b.so (deleted)") {
			t.Errorf("%s: %+v of %q, %v", text, m, name, ok)
		}
	}
}

func FuzzParseMapsLine(f *testing.F) {
	f.Add([]byte("7f12a000-7f13b000 r-xp 00022000 fe:01 1573  /usr/lib/libc.so.6 (deleted)"))
	f.Add([]byte("00400000-00401000 rw-s 00000000 00:05 5 /dev/zero (deleted)"))
	f.Add([]byte(" (deleted)"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, ok := parseMapsLine(b); ok && (len(m.name) < len(" (deleted)") || m.name[0] != '/') {
			t.Errorf("%q: name %q", b, m.name)
		}
	})
}

// Unprivileged users can make paths longer than PATH_MAX. The kernel gives no
// text for them, and that must neither stop the scan nor pass for nothing.
func TestPathsTooLongForText(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, todo string }{
		{"open", "deep=" + dir + "/a rw=f rm=f"},
		{"mapped", "deep=" + dir + "/b rw=f map=f rm=f close"},
		{"shared", "deep=" + dir + "/c rw=f mapdata=f rm=f close"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pid := start(t, "", strings.Fields(c.todo)...)
			done := make(chan *scanner, 1)
			go func() {
				w := newScanner(&fileScan{own: &mountTable{}, tables: map[uint64]*mountTable{}})
				w.process(pid)
				done <- w
			}()
			select {
			case w := <-done:
				if len(w.denied) != 1 {
					t.Errorf("looked into %d, denied %d, hits %v: the file passes for absent", w.looked, w.denied, w.hits)
				}
			case <-time.After(means.Patience):
				t.Fatal("the scan does not end")
			}
		})
	}
}
