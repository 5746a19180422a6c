package hooks

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle/internal/means"
)

// installer is a folder that looks like Debian's installer: busybox, the hooks,
// and below /target a system with Debian's own dpkg.
type installer struct {
	t   *testing.T
	dir string
}

// applets are what the installer's initrd has of busybox and uses here.
var applets = []string{
	"sh",
	"ash",
	"ln",
	"mv",
	"rm",
	"mkdir",
	"chmod",
	"cat",
	"grep",
	"cp",
	"chroot",
	"sync",
	"touch",
	"true",
	"echo",
	"kill",
	"ls",
}

func newInstaller(t *testing.T) *installer {
	means.Root(t)
	in := &installer{t, t.TempDir()}
	box := means.Tool(t, "busybox")
	in.copy(box, "bin/busybox")
	for _, a := range applets {
		in.do(os.Symlink("busybox", in.path("bin", a)))
	}
	for _, f := range Files(Parts) {
		in.write(f.Name, string(f.Content), f.Mode)
	}
	// The log goes to a file; apt-install brings the real package's files, unless told to fail.
	in.write("bin/logger", "#!/bin/sh\necho \"$@\" >> /log\n", 0o755)
	in.write("bin/apt-install", "#!/bin/sh\n[ ! -e /apt-fails ] || exit 1\ncp /eatmydata /target/usr/bin/eatmydata\n", 0o755)
	in.write("bin/debconf-get", "#!/bin/sh\ncat /include\n", 0o755)
	in.write("include", "", 0o644)
	in.write("eatmydata", "#!/bin/sh\nshift\nFSYNC=none exec \"$@\"\n", 0o755)
	for _, tool := range []string{"dpkg", "dpkg-divert", "sh"} {
		in.copyTool(means.Tool(t, tool), "target/usr/bin/"+tool)
	}
	in.do(os.Symlink("usr/bin", in.path("target/bin")))
	in.write("target/usr/bin/apt-get", "#!/bin/sh\necho apt-get \"$FSYNC\" \"$@\"\n", 0o755)
	in.write("target/usr/bin/tasksel", "#!/bin/sh\necho tasksel\nexit 3\n", 0o755)
	in.write("target/etc/alternatives/aptitude", "#!/bin/sh\n", 0o755)
	in.do(os.Symlink("/etc/alternatives/aptitude", in.path("target/usr/bin/aptitude")))
	for _, f := range []string{"status", "diversions", "available", "statoverride"} {
		in.write("target/var/lib/dpkg/"+f, "", 0o644)
	}
	for _, d := range []string{"proc", "tmp", "dev", "target/proc", "target/var/lib/dpkg/updates", "target/var/lib/dpkg/info", "target/dev"} {
		in.do(os.MkdirAll(in.path(d), 0o755))
	}
	in.write("target/var/lib/dpkg/info/format", "1\n", 0o644)
	in.write("dev/null", "", 0o666)
	for _, d := range []string{"proc", "target/proc"} {
		in.do(syscall.Mount("proc", in.path(d), "proc", 0, ""))
		t.Cleanup(func() { syscall.Unmount(in.path(d), syscall.MNT_DETACH) })
	}
	return in
}

func (in *installer) do(err error) {
	in.t.Helper()
	if err != nil {
		in.t.Fatal(err)
	}
}

func (in *installer) path(parts ...string) string {
	return filepath.Join(append([]string{in.dir}, parts...)...)
}

func (in *installer) write(name, text string, mode fs.FileMode) {
	in.t.Helper()
	in.do(os.MkdirAll(filepath.Dir(in.path(name)), 0o755))
	in.do(os.WriteFile(in.path(name), []byte(text), mode))
}

func (in *installer) copy(from, to string) {
	in.t.Helper()
	b, err := os.ReadFile(from)
	in.do(err)
	in.write(to, string(b), 0o755)
}

// copyTool copies a program with the libraries that ldd names, into the target.
func (in *installer) copyTool(from, to string) {
	in.t.Helper()
	in.copy(from, to)
	out, err := exec.Command("/usr/bin/ldd", from).Output()
	in.do(err)
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			in.copy(word, "target"+word)
		}
	}
}

// run runs a script in the installer and returns what it printed, and its status.
func (in *installer) run(script string) (string, int) {
	in.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: in.dir}
	cmd.Dir, cmd.Env = "/", []string{"PATH=/bin:/usr/bin"}
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		in.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// target is the target's files that hooks might touch: content and kind.
func (in *installer) target() string {
	var b strings.Builder
	for _, dir := range []string{"target/usr/bin", "target/var/lib/dpkg/diversions", "target/etc"} {
		in.do(filepath.WalkDir(in.path(dir), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if base := d.Name(); base == "eatmydata" || strings.HasSuffix(base, "-old") || strings.HasPrefix(base, "lock") {
				return nil
			}
			st, err := os.Lstat(p)
			if err != nil {
				return err
			}
			text, _ := os.ReadFile(p)
			fmt.Fprintf(&b, "%s %s %d %x\n", p, st.Mode(), st.Sys().(*syscall.Stat_t).Nlink, len(text))
			if len(text) < 2000 {
				b.Write(text)
			}
			return nil
		}))
	}
	return b.String()
}

const (
	before = ". /usr/lib/pre-pkgsel.d/05fettle-nosync"
	after  = ". /usr/lib/finish-install.d/01fettle-sync"
)

// works tells whether the target's programs run, and how.
func (in *installer) works(want string) {
	in.t.Helper()
	if out, code := in.run("chroot /target /usr/bin/apt-get x y"); code != 0 || out != want {
		in.t.Errorf("apt-get: %q, %d, expected %q", out, code, want)
	}
	if out, code := in.run("chroot /target /usr/bin/dpkg --version"); code != 0 || !strings.Contains(out, "Debian") {
		in.t.Errorf("dpkg: %q, %d", out, code)
	}
	if out, code := in.run("chroot /target /usr/bin/tasksel"); code != 3 || out != "tasksel\n" {
		in.t.Errorf("tasksel: %q, %d", out, code)
	}
}

func TestThereAndBack(t *testing.T) {
	in := newInstaller(t)
	was := in.target()
	if out, code := in.run(before); code != 0 {
		t.Fatal(out, code)
	}
	in.works("apt-get none x y\n") // through eatmydata
	in.run(before)                 // pkgsel failed, and is chosen again
	in.works("apt-get none x y\n")
	if out, code := in.run("chroot /target dpkg-divert --list '/usr/bin/*'"); strings.Count(out, "local diversion") != 3 {
		t.Errorf("dpkg-divert knows %q, %d", out, code)
	}
	if out, code := in.run(after); code != 0 {
		t.Error(out, code)
	}
	in.works("apt-get  x y\n")
	if now := in.target(); now != was {
		t.Errorf("before\n%s\nafter\n%s", was, now)
	}
	if out, code := in.run(after); code != 0 || in.target() != was {
		t.Error("finished twice:", out, code)
	}
}

// From the kernel's installation on: tasksel comes later, and is diverted then.
func TestBeforeTheKernel(t *testing.T) {
	in := newInstaller(t)
	was := in.target()
	later := in.path("target/usr/bin/tasksel")
	in.do(os.Rename(later, in.path("tasksel")))
	if out, code := in.run(". /usr/lib/post-base-installer.d/05fettle-nosync"); code != 0 {
		t.Fatal(out, code)
	}
	if out, code := in.run("chroot /target /usr/bin/apt-get x y"); code != 0 || out != "apt-get none x y\n" {
		t.Errorf("apt-get: %q, %d", out, code)
	}
	in.do(os.Rename(in.path("tasksel"), later))
	if out, code := in.run(before); code != 0 {
		t.Fatal(out, code)
	}
	if b, err := os.ReadFile(later); err != nil || !bytes.Contains(b, []byte("eatmydata")) {
		t.Errorf("tasksel, which came later, is not diverted: %q, %v", b, err)
	}
	in.works("apt-get none x y\n")
	if out, code := in.run(after); code != 0 {
		t.Error(out, code)
	}
	if now := in.target(); now != was {
		t.Errorf("before\n%s\nafter\n%s", was, now)
	}
}

// After the next boot a wrapper that stayed behind has no effect.
func TestWrapperEndsWithTheBoot(t *testing.T) {
	in := newInstaller(t)
	in.run(before)
	b, err := os.ReadFile(in.path("target/usr/bin/apt-get"))
	in.do(err)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	in.do(err)
	if !bytes.Contains(b, bytes.TrimSpace(boot)) {
		t.Fatalf("the wrapper does not name this boot:\n%s", b)
	}
	b = bytes.ReplaceAll(b, bytes.TrimSpace(boot), []byte("11111111-2222-3333-4444-555555555555"))
	in.do(os.WriteFile(in.path("target/usr/bin/apt-get"), b, 0o755))
	in.works("apt-get  x y\n")
	in.do(syscall.Unmount(in.path("target/proc"), 0)) // as pkgsel leaves it at its end
	in.works("apt-get  x y\n")
}

// Without eatmydata, and with diversions of others, the installation goes on
// as it would without the hooks.
func TestLeavesAlone(t *testing.T) {
	in := newInstaller(t)
	was := in.target()
	in.write("apt-fails", "", 0o644)
	if out, code := in.run(before); code != 0 || in.target() != was {
		t.Error("apt-install failed:", out, code)
	}
	in.do(os.Remove(in.path("apt-fails")))
	in.run(
		"chroot /target dpkg-divert --quiet --local --rename --add /usr/bin/tasksel; cp /target/usr/bin/tasksel.distrib /target/usr/bin/tasksel",
	)
	was = in.target()
	if out, code := in.run(before); code != 0 {
		t.Error(out, code)
	}
	if out, code := in.run(after); code != 0 || in.target() != was {
		t.Errorf("somebody else's diversion: %q, %d\n%s\n%s", out, code, was, in.target())
	}
}

// Killed at any of its commands, the first hook leaves programs that run, and
// the second one takes everything back.
func TestKilledAnywhere(t *testing.T) {
	in := newInstaller(t)
	was := in.target()
	const counted = `n=0; hit() { n=$((n+1)); [ $n != %d ] || kill -9 $$; }
mv() { hit; command mv "$@"; }; ln() { hit; command ln "$@"; }; chroot() { hit; command chroot "$@"; }
chmod() { hit; command chmod "$@"; }; mkdir() { hit; command mkdir "$@"; }; rm() { hit; command rm "$@"; }
`
	for _, hook := range []string{before, after} {
		killed := 0
		for stop := 1; ; stop++ {
			if hook == after {
				in.run(before)
			}
			_, code := in.run(fmt.Sprintf(counted, stop) + hook)
			if out, code := in.run("chroot /target /usr/bin/dpkg --version && chroot /target /usr/bin/apt-get x"); code != 0 {
				t.Fatalf("killed at command %d of %s: %q, %d", stop, hook, out, code)
			}
			if out, code := in.run(after); code != 0 {
				t.Fatalf("finishing after command %d of %s: %q, %d", stop, hook, out, code)
			}
			if now := in.target(); now != was {
				t.Fatalf("killed at command %d of %s:\n%s\nbefore:\n%s", stop, hook, now, was)
			}
			if code == 0 {
				break
			}
			killed++
		}
		if killed < 5 {
			t.Errorf("%s was killed %d times only", hook, killed)
		}
		t.Logf("%s: killed at each of %d commands", hook, killed)
	}
}

// eatmydata goes again, unless it was asked for.
func TestEatmydataGoes(t *testing.T) {
	for include, stays := range map[string]bool{"": false, "ssh eatmydata vim\n": true} {
		in := newInstaller(t)
		in.write("include", include, 0o644)
		in.write("bin/purged", "", 0o644)
		in.do(os.Rename(in.path("target/usr/bin/dpkg"), in.path("target/usr/bin/dpkg.real")))
		in.write("target/usr/bin/dpkg", "#!/bin/sh\n[ \"$1\" != --purge ] || echo \"$@\" > /purged\nexec /usr/bin/dpkg.real \"$@\"\n", 0o755)
		in.run(before)
		in.run(after)
		purged, err := os.ReadFile(in.path("target/purged"))
		if asked := err == nil && strings.Contains(string(purged), "eatmydata libeatmydata1"); asked == stays {
			t.Errorf("pkgsel/include %q: purged %q", include, purged)
		}
	}
}

// The target reads the setting as mdadm does, and has it only with mdadm.
func TestNoBadBlocksInTheTarget(t *testing.T) {
	in := newInstaller(t)
	const conf = "target/etc/mdadm/mdadm.conf.d/fettle-bbl.conf"
	if out, code := in.run(". /usr/lib/finish-install.d/02fettle-bbl"); code != 0 {
		t.Error(out, code)
	}
	if _, err := os.Stat(in.path(conf)); err == nil {
		t.Error("a target without mdadm has its configuration")
	}
	in.write("target/sbin/mdadm", "", 0o755)
	if out, code := in.run(". /usr/lib/finish-install.d/02fettle-bbl"); code != 0 {
		t.Error(out, code)
	}
	if b, err := os.ReadFile(in.path(conf)); err != nil || !strings.Contains(string(b), "\nCREATE bbl=no\n") {
		t.Errorf("%q, %v", b, err)
	}
}

// dpkg asks the kernel to write to disk for every package; under the real
// eatmydata it does not.
func TestEatmydataLeavesOutFsync(t *testing.T) {
	means.Root(t)
	dpkg, strace, eatmydata := means.Tool(t, "dpkg"), means.Tool(t, "strace"), means.Tool(t, "eatmydata")
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(dir+"/p/DEBIAN", 0o755))
	must(os.MkdirAll(dir+"/p/usr/share/p", 0o755))
	must(
		os.WriteFile(
			dir+"/p/DEBIAN/control",
			[]byte("Package: p\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n"),
			0o644,
		),
	)
	must(os.WriteFile(dir+"/p/usr/share/p/file", []byte("x"), 0o644))
	if out, err := exec.Command(means.Tool(t, "dpkg-deb"), "-Znone", "-b", dir+"/p", dir+"/p.deb").CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	count := func(name string, argv ...string) int {
		root := dir + "/" + name
		for _, d := range []string{"updates", "info", "triggers"} {
			must(os.MkdirAll(root+"/var/lib/dpkg/"+d, 0o755))
		}
		must(os.WriteFile(root+"/var/lib/dpkg/status", nil, 0o644))
		argv = append(argv, dpkg, "--root="+root, "--unpack", dir+"/p.deb")
		cmd := exec.Command(
			strace,
			append([]string{"-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range", "-o", dir + "/trace"}, argv...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		b, err := os.ReadFile(dir + "/trace")
		must(err)
		return bytes.Count(b, []byte("sync"))
	}
	if plain, without := count("plain"), count("without", eatmydata, "--"); plain < 5 || without != 0 {
		t.Errorf("dpkg asked %d times, under eatmydata %d times", plain, without)
	}
}
