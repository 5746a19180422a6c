package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestFakeHost: which kernels apt and /boot of a host give, whether its KVM answers, how often an emulator that breaks
// is started again, and whose files are believed.
func TestFakeHost(t *testing.T) {
	needsTools(t, "dpkg-deb", "depmod", "apt-get", "apt-cache", "qemu-system-x86_64")
	if !means.Inside(t, unix.CLONE_NEWNS|unix.CLONE_NEWPID, 5*means.Patience) {
		return
	}
	for _, dir := range []string{"/tmp", "/boot"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	fromApt(t)
	fromBoot(t)
	emulators(t)
	withClients(t)
	kvms(t)
	owners(t)
	withoutPrograms(t)
	for _, args := range [][]string{nil, {"8+0"}, {"8+0", "0"}, {"8", "0", "/bin/true"}, {"8+0", "x", "/bin/true"}, {"8+0", "1",
		"/bin/true"}} {
		if err := Supervisor(args); err == nil || !strings.HasPrefix(err.Error(), "this verb is for fettle lab alone") {
			t.Errorf("the supervisor of %q: %v", args, err)
		}
	}
}

// standIn has a script run instead of a program of the host; one that is not executable hides it.
func standIn(t *testing.T, name, script string, mode os.FileMode) {
	t.Helper()
	program, err := FindTool(name)
	if err != nil {
		return // hidden already
	}
	dir, err := os.MkdirTemp("/tmp", "stand-in-") // which stays mounted
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), mode); err != nil {
		t.Fatal(err)
	}
	if program, err = filepath.EvalSymlinks(program); err == nil {
		err = unix.Mount(file, program, "", unix.MS_BIND, "")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fromApt: a kernel's package is fetched once, the one that a metapackage leads to, and why that fails is said.
func fromApt(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir+"/cache")
	cache := dir + "/cache/fettle/kernels"
	offer := func(files map[string]string) { // to apt-get: what it downloads
		t.Helper()
		if err := errors.Join(os.RemoveAll(dir+"/offer"), os.Mkdir(dir+"/offer", 0o755)); err != nil {
			t.Fatal(err)
		}
		for to, from := range files {
			if err := os.Symlink(from, dir+"/offer/"+to); err != nil {
				t.Fatal(err)
			}
		}
	}
	standIn(t, "apt-cache", `case "$*" in
"depends linux-image-cloud-amd64") printf 'x\n  PreDepends: linux-image-5\n  Depends: linux-image-6.1-x\n  Depends: linux-image-6.0-x\n' ;;
"depends linux-image-none") echo 'E: No packages found' >&2; exit 100 ;;
*) printf 'x\n  Depends: kmod\n' ;;
esac
`, 0o755)
	standIn(t, "apt-get",
		"echo \"$@\" >>"+dir+"/asked\ncase $3 in *fails) echo 'no network' >&2; exit 1;; esac\ncp "+dir+"/offer/* . || :\n",
		0o755)
	good := debOf(t, dir, "good", map[string][]byte{"boot/vmlinuz-6.1-x": bzImage, "lib/modules/6.1-x/kernel/x.txt": nil})
	bad := debOf(t, dir, "bad", map[string][]byte{"boot/x": nil})
	for _, c := range []struct {
		what, name string
		offer      map[string]string
		asked      string // the package that is downloaded
		want       string // the error
	}{
		{"no such package", "linux-image-none", nil, "",
			"asking apt what linux-image-none depends on: apt-cache: exit status 100: E: No packages found; is the name right, and has"},
		{"apt fails", "linux-image-fails", nil, "linux-image-fails",
			"fetching linux-image-fails: apt-get: exit status 1: no network; is the name right, and has"},
		{"nothing comes", "linux-image-cloud-amd64", nil, "linux-image-6.1-x",
			"fetching linux-image-6.1-x: apt-get download left 0 files, expected 1"},
		{"two come", "linux-image-cloud-amd64", map[string]string{"a.deb": good, "b.deb": bad}, "linux-image-6.1-x",
			"fetching linux-image-6.1-x: apt-get download left 2 files, expected 1"},
		{"no kernel comes", "linux-image-cloud-amd64", map[string]string{"a.deb": bad}, "linux-image-6.1-x",
			"a.deb is not a kernel package"},
		{"a metapackage", "linux-image-cloud-amd64", map[string]string{"a.deb": good}, "linux-image-6.1-x", ""},
		{"from the cache", "linux-image-cloud-amd64", nil, "", ""},
		{"by its own name", "linux-image-6.1-x", nil, "", ""},
		{"none is named or installed", "", nil, "", ""},
	} {
		if c.name == "" && runtime.GOARCH != "amd64" {
			continue
		}
		os.Remove(dir + "/asked")
		offer(c.offer)
		var told []string
		k, err := FindKernel(t.Context(), c.name, "", func(s string) { told = append(told, s) })
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || k != (Kernel{}) {
				t.Errorf("%s: %+v, %v; want %s", c.what, k, err, c.want)
			}
		} else if err != nil || k.Engine != "qemu" || filepath.Base(k.File) != "vmlinuz-6.1-x" || !strings.HasPrefix(k.File, cache+"/") {
			t.Errorf("%s: %+v, %v", c.what, k, err)
		}
		asked, _ := os.ReadFile(dir + "/asked")
		wantTold, wantAsked := []string(nil), ""
		if c.asked != "" {
			wantTold, wantAsked = []string{"fetching " + c.asked + " with apt-get, into " + cache}, "download -q "+c.asked+"\n"
		}
		if !slices.Equal(told, wantTold) || string(asked) != wantAsked {
			t.Errorf("%s: told %q, and asked apt-get %q; want %q and %q", c.what, told, asked, wantTold, wantAsked)
		}
		if left, _ := filepath.Glob(cache + "/*-*"); len(left) > 0 {
			t.Errorf("%s: %s stays", c.what, left)
		}
	}
	k, err := Named(t.Context(), "linux-image-6.1-x", nil)
	if err != nil || filepath.Base(k.File) != "vmlinuz-6.1-x" {
		t.Errorf("a scenario's kernel: %+v, %v", k, err)
	}
	t.Setenv("XDG_CACHE_HOME", "relative")
	if k, err := Named(t.Context(), "linux-image-6.1-x", nil); err == nil || !strings.Contains(err.Error(), "finding a cache folder") {
		t.Errorf("without a cache: %+v, %v", k, err)
	}
	if k, err := Built("a/b"); err == nil || !strings.Contains(err.Error(), "finding the cache folder") {
		t.Errorf("without a cache of those that are built: %+v, %v", k, err)
	}
}

// fromBoot: where kernels are installed, the last one is taken, and apt is not asked.
func fromBoot(t *testing.T) {
	if k, err := QEMU(""); err == nil || !strings.HasPrefix(err.Error(), "no kernel in /boot to boot in qemu: apt-get install ") {
		t.Errorf("an empty /boot: %+v, %v", k, err)
	}
	for _, name := range []string{"vmlinuz-6.1-none", "vmlinuz-6.2-none", "zzz"} {
		if err := os.WriteFile("/boot/"+name, bzImage, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	never := func(string) { t.Error("something is fetched") }
	for modules, want := range map[string]Kernel{"": {Engine: "qemu", File: "/boot/vmlinuz-6.2-none"},
		"/m": {Engine: "qemu", File: "/boot/vmlinuz-6.2-none", Modules: "/m"}} {
		if k, err := FindKernel(t.Context(), "", modules, never); err != nil || k != want {
			t.Errorf("the kernel that is installed: %+v, %v; want %+v", k, err, want)
		}
	}
	for name, modules := range map[string]string{"/none": "/m", "/none/x": ""} {
		if k, err := FindKernel(t.Context(), name, modules, never); err == nil || !strings.HasPrefix(err.Error(),
			"opening the kernel: ") {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
	// What is too short to be one, and what has something else there.
	for _, b := range [][]byte{bzImage[:0x205], append(make([]byte, 0x202), "HdrX...."...)} {
		if err := os.WriteFile("/boot/odd", b, 0o644); err != nil {
			t.Fatal(err)
		}
		if k, err := QEMU("/boot/odd"); err == nil || !strings.Contains(err.Error(), "not a Linux kernel image") {
			t.Errorf("a kernel of %d bytes: %+v, %v", len(b), k, err)
		}
	}
}

// emulators: qemu without KVM is started again, twice at the most, where it does not come to its init.
func emulators(t *testing.T) {
	tries := filepath.Join("/boot", "tries")
	hello := says(message{Hello: &hello{Kernel: "6.1-fake"}})
	to := strings.NewReplacer(">&4", ">>/proc/self/fd/4")
	for _, c := range []struct {
		what, script string
		kvm          bool
		retries      int
		why          string
	}{
		{"it never comes so far", "echo broken; exit 3\n", false, 2, "the machine did not reach its init: exit status 3"},
		{"the second time", "[ $(cat " + tries + " | wc -l) -gt 1 ] || exit 3\n" + hello + says(message{Done: true}), false, 1, ""},
		{"it dies later", hello + "exit 3\n", false, 0, "the machine ended without a word: "},
		{"with KVM", "exit 3\n", true, 0, "the machine did not reach its init: "},
	} {
		os.Remove(tries)
		standIn(t, "qemu-system-x86_64", "echo >>"+tries+"\n"+to.Replace(c.script), 0o755)
		opt := fake(t, "")
		opt.Kernel.Engine, opt.KVM = "qemu", c.kvm
		v, err := Play(t.Context(), "t", Scenario{Name: "s", Needs: Needs{MemMiB: 512}}, opt)
		tried, _ := os.ReadFile(tries)
		if err != nil || v.Retries != c.retries || len(tried) != c.retries+1 || !strings.HasPrefix(v.Why, c.why) ||
			v.OK != (c.why == "") ||
			v.OK && v.Console != "" {
			t.Errorf("%s: started %d times, %+v, %v", c.what, len(tried), v, err)
		}
	}
}

// withClients: a machine whose client does not start says why.
func withClients(t *testing.T) {
	dir := t.TempDir()
	list := strings.Join(clientModules, ".ko\n") + ".ko\n"
	if err := errors.Join(os.WriteFile(dir+"/modules.dep", nil, 0o644), os.WriteFile(dir+"/modules.builtin", []byte(list),
		0o644)); err != nil {
		t.Fatal(err)
	}
	standIn(t, "qemu-system-x86_64", "case \"$*\" in *' -S '*) exit 5;; esac\necho the first machine runs\n", 0o755)
	opt := fake(t, "")
	opt.Kernel.Engine, opt.Kernel.Modules, opt.KVM = "qemu", dir, true
	v, err := Play(t.Context(), "t", Scenario{Name: "s", Needs: Needs{MemMiB: 256, Client: &Client{MemMiB: 16}}}, opt)
	if err != nil || v.Why != "the machine did not reach its init: exit status 3" || v.Console != "the client ended: exit status 5" {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestTerminals: who looked around in a machine has the terminal as before, whatever the machine made of it.
func TestTerminals(t *testing.T) {
	_, tty := means.OpenTerminal(t)
	defer func(f *os.File) { os.Stdin = f }(os.Stdin)
	os.Stdin = tty
	settings := func() *unix.Termios {
		s, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, shell := range []bool{true, false} {
		restore, was := keepTerminal(shell), *settings()
		raw := was
		raw.Lflag &^= unix.ECHO | unix.ICANON
		if err := unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, &raw); err != nil {
			t.Fatal(err)
		}
		restore()
		if back := *settings() == was; back != shell {
			t.Errorf("with a shell: %t; the terminal is as before: %t", shell, back)
		}
	}
}

// kvms: KVM is taken where a kernel answers under it.
func kvms(t *testing.T) {
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount("/dev", unix.MNT_DETACH)
	if err := unix.Mknod("/dev/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	panics := "echo 'Kernel panic - not syncing: No working init found'; exit 1\n"
	for _, there := range []bool{false, true} {
		for _, c := range []struct {
			what, script string
			ctx          context.Context
			kernel       string
			want         bool
		}{
			{"a kernel that looks for its init", panics, t.Context(), "", true},
			{"a qemu that fails", "echo no KVM; exit 1\n", t.Context(), "", false},
			{"one that is given up", "sleep 1000\n", gone, "", false},
			{"no kernel", panics, t.Context(), "/none", false},
		} {
			opt := fake(t, c.script)
			if c.kernel != "" {
				opt.Kernel.File = c.kernel
			}
			opt.Console = failing{t}
			before := len(means.OpenFiles(t))
			if got := ProbeKVM(c.ctx, opt); got != (c.want && there) {
				t.Errorf("/dev/kvm is there: %t, %s: %t", there, c.what, got)
			}
			means.Until(t, c.what+": descriptors to be closed", func() bool { return len(means.OpenFiles(t)) <= before })
		}
		if err := os.WriteFile("/dev/kvm", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// failing is a console that nothing is to be written to.
type failing struct{ t *testing.T }

func (f failing) Write(b []byte) (int, error) {
	f.t.Errorf("the console shows %q", b)
	return len(b), nil
}

// owners: a user's own files and root's are believed, and nobody else's.
func owners(t *testing.T) {
	if err := os.Chmod("/boot", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []int{0, 1, 65534} {
		name := fmt.Sprintf("/boot/of-%d", uid)
		if err := errors.Join(os.WriteFile(name, nil, 0o644), os.Chown(name, uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(who string, others ...int) {
		for _, uid := range []int{0, 1, 65534} {
			want := ""
			name := fmt.Sprintf("/boot/of-%d", uid)
			if slices.Contains(others, uid) {
				want = fmt.Sprintf("%s belongs to the user %d", name, uid)
			}
			if err := othersMayWrite(name); (err != nil) != (want != "") || err != nil && err.Error() != want {
				t.Errorf("to %s a file of %d: %v, want %q", who, uid, err, want)
			}
		}
	}
	check("root", 1, 65534)
	means.AsNobody(t, func() { check("nobody", 1) })
}

// withoutPrograms: of a host without an engine it is said which package has it.
func withoutPrograms(t *testing.T) {
	for _, name := range []string{"linux.uml", "qemu-system-x86_64", "apt-get"} {
		standIn(t, name, "", 0o644)
	}
	if k, err := UML(); err == nil || err.Error() != "the program linux.uml is not installed: apt-get install user-mode-linux" {
		t.Errorf("%+v, %v", k, err)
	}
	if argv, err := (Kernel{Engine: "qemu"}).argv(8, Options{}); err == nil ||
		err.Error() != "the program qemu-system-x86_64 is not installed: apt-get install qemu-system-x86" {
		t.Errorf("%q, %v", argv, err)
	}
	if argv, err := (&Client{}).argv(false); err == nil || err.Error() != "the program qemu-system-x86_64 is not installed" {
		t.Errorf("a client: %q, %v", argv, err)
	}
	opt := fake(t, "")
	opt.client = &Client{}
	if _, err := boot(opt, os.Stdin, 8, nil); err == nil || err.Error() != "the program qemu-system-x86_64 is not installed" {
		t.Errorf("a machine whose client cannot be: %v", err)
	}
	for engine, pkg := range map[string]string{"uml": "user-mode-linux", "qemu": "qemu-system-x86"} {
		err := Missing([]Job{{Options: Options{Kernel: Kernel{Engine: engine}}}})
		if err == nil || !strings.Contains(err.Error(), "; Debian has them in: ") || !strings.Contains(err.Error(), pkg) {
			t.Errorf("%s: %v", engine, err)
		}
	}
	if err := errors.Join(os.Remove("/boot/vmlinuz-6.1-none"), os.Remove("/boot/vmlinuz-6.2-none")); err != nil {
		t.Fatal(err)
	}
	if k, err := FindKernel(t.Context(), "", "", nil); err == nil || !strings.HasPrefix(err.Error(), "no kernel in /boot") {
		t.Errorf("without apt: %+v, %v", k, err)
	}
}
