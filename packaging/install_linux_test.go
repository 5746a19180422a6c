package packaging

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// built is a package of make packages for this machine's kind of host.
func built(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob("../dist/" + pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("dist/%s: %v, expected one: run make packages in a clean dist", pattern, found)
	}
	abs, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// long leaves a test to make lab-long, and wants what it needs.
func long(t *testing.T, what string, tools ...string) {
	t.Helper()
	means.Long(t, what)
	means.Root(t)
	for _, tool := range tools {
		means.Tool(t, tool)
	}
}

// debian is a root of a release, above a base that is kept in the user's cache;
// it is gone with the test.
func debian(t *testing.T, release string) string {
	t.Helper()
	return debianWith(t, "base-"+release, release, "systemd-sysv,dbus,bash-completion,ca-certificates")
}

// withTools is a root with what the tests of many hosts want beside that.
func withTools(t *testing.T, release string) string {
	t.Helper()
	return debianWith(t, "tools-"+release, release,
		"systemd-sysv,dbus,bash-completion,ca-certificates,apt,curl,iproute2,nftables,openssh-client")
}

// debianWith is one with these packages, above a base of that name.
func debianWith(t *testing.T, name, release, packages string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(cache, "fettle", "packaging", name)
	if _, err := os.Stat(base); err != nil {
		if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
			t.Fatal(err)
		}
		os.RemoveAll(base + ".part")
		run(t, "mmdebstrap", "--mode=root", "--variant=minbase", "--include="+packages, "--dpkgopt=force-unsafe-io",
			`--aptopt=Acquire::Languages "none"`, release, base+".part", "http://deb.debian.org/debian")
		if err := os.Rename(base+".part", base); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp(filepath.Dir(base), "root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, d := range []string{"up", "work", "root"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(dir, "root")
	if err := unix.Mount("overlay", root, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s/up,workdir=%[2]s/work", base, dir)); err != nil {
		t.Fatalf("mounting an overlay of %s: %v", base, err)
	}
	t.Cleanup(func() { unix.Unmount(root, unix.MNT_DETACH) })
	return root
}

// packages puts packages into a root: new.deb, old.deb (the same, with an older
// version), lab.deb.
func packages(t *testing.T, root string) {
	t.Helper()
	dir := filepath.Join(root, "packages")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	deb := built(t, "fettle_*_amd64.deb")
	run(t, "cp", deb, filepath.Join(dir, "new.deb"))
	run(t, "cp", built(t, "fettle-lab_*_amd64.deb"), filepath.Join(dir, "lab.deb"))
	run(t, "cp", "fettle.yaml", dir)
	tree := t.TempDir()
	run(t, "dpkg-deb", "-R", deb, tree)
	control := filepath.Join(tree, "DEBIAN", "control")
	b, err := os.ReadFile(control)
	if err != nil {
		t.Fatal(err)
	}
	var old bytes.Buffer
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "Version:") {
			line = "Version: 0~0\n"
		}
		old.WriteString(line)
	}
	if err := os.WriteFile(control, old.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "dpkg-deb", "-b", "-Znone", tree, filepath.Join(dir, "old.deb"))
}

var releases = []string{"bookworm", "trixie"}

// TestDebInstalls installs, upgrades, removes and purges in real Debian roots.
func TestDebInstalls(t *testing.T) {
	long(t, "installs packages in Debian 12 and 13", "mmdebstrap", "systemd-nspawn", "dpkg-deb")
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			root := debian(t, release)
			packages(t, root)
			text, err := os.ReadFile("testdata/deb.sh")
			if err != nil {
				t.Fatal(err)
			}
			run(t, "systemd-nspawn", "-q", "--register=no", "--keep-unit", "-D", root, "--pipe", "/bin/sh", "-c", string(text))
		})
	}
}

// booted boots a root with these files, lets it run a script, and returns what
// reads the script's results.
func booted(t *testing.T, root, script string, files map[string]string, args ...string) func(name string) string {
	t.Helper()
	look, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	files["etc/systemd/system/look.service"] = "[Unit]\nAfter=multi-user.target\n[Service]\nExecStart=/bin/sh /result/look\n"
	files["result/look"] = string(look)
	if err := os.MkdirAll(filepath.Join(root, "result"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		os.Remove(filepath.Join(root, name))
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wants := filepath.Join(root, "etc/systemd/system/multi-user.target.wants")
	if err := os.MkdirAll(wants, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../look.service", filepath.Join(wants, "look.service")); err != nil {
		t.Fatal(err)
	}
	for rebooted := true; rebooted; {
		boot := exec.Command("systemd-nspawn", append([]string{"-q", "--register=no", "--keep-unit", "--boot", "--link-journal=no",
			"--resolv-conf=off", "-D", root}, args...)...)
		var console bytes.Buffer
		boot.Stdout, boot.Stderr = &console, &console
		done := make(chan error, 1)
		if err := boot.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { done <- boot.Wait() }()
		select {
		case <-done:
		case <-time.After(5 * time.Minute):
			boot.Process.Signal(unix.SIGTERM)
			<-done
			t.Errorf("the host did not end:\n%s", console.Bytes())
		}
		// systemd-nspawn(1): with --keep-unit it does not start a host again that restarts.
		rebooted = boot.ProcessState.ExitCode() == 133
	}
	return func(name string) string {
		b, err := os.ReadFile(filepath.Join(root, "result", name))
		if err != nil {
			t.Errorf("%v", err)
		}
		return string(b)
	}
}

// TestServiceSeesAll boots real Debian hosts: what the hardened service finds is
// what fettle finds when root runs it, and the journal is told once.
func TestServiceSeesAll(t *testing.T) {
	long(t, "boots Debian 12 and 13", "mmdebstrap", "systemd-nspawn", "dpkg-deb")
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			root := debian(t, release)
			packages(t, root)
			run(t, "systemd-nspawn", "-q", "--register=no", "--keep-unit", "-D", root, "--pipe", "/usr/bin/dpkg", "-i", "/packages/new.deb")
			// Something to find.
			said := booted(t, root, "testdata/booted.sh", map[string]string{
				"etc/resolv.conf": "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n",
			})
			t.Logf("%s\n%s\n%s", said("security"), said("timer"), said("unit"))
			if s := said("started"); s != "0\n" {
				t.Errorf("the service ended with %s%s", s, said("log"))
			}
			if s := said("differs"); s != "0\n" {
				t.Errorf("the service sees something else than root does: %s", said("diff"))
			}
			if s := said("journal"); strings.Count(s, "\n") != 1 || !strings.Contains(s, "resolv-conf-too-many-servers") || said("journal2") != s {
				t.Errorf("the journal was told %q, and after a run without a change %q", s, said("journal2"))
			}
			if s := said("snapshots"); !strings.HasPrefix(s, "disabled\n0\n") || !strings.HasSuffix(s, "\n0\n") ||
				strings.Contains(said("snapshot"), "could not be read") {
				t.Errorf("the daily snapshot: %s%s", s, said("snapshot"))
			}
			if s := said("timer"); !strings.Contains(s, "fettle.service") {
				t.Errorf("timers: %s", s)
			}
		})
	}
}

var programs = []string{"fettle", "fettle-lab", "fettle-hub", "fettle-agent", "fettle-mcp"}

// TestLintian: Debian's own judge of packages has no error or warning that packaging/fettle.lintian-overrides does not
// give a reason for.
func TestLintian(t *testing.T) {
	long(t, "needs the packages of make packages", "lintian")
	for _, arch := range []string{"amd64", "arm64"} {
		for _, p := range programs {
			deb := built(t, p+"_*_"+arch+".deb")
			out, err := exec.Command("lintian", "--allow-root", "--fail-on=error,warning", "--tag-display-limit", "0", deb).CombinedOutput()
			t.Logf("%s, %s:\n%s", p, arch, out)
			if err != nil {
				t.Errorf("%s, %s: %v", p, arch, err)
			}
		}
	}
}

// older builds the packages again as of 2001, of this machine's kind, with other bytes in
// the programs: what is upgraded. It returns the folder.
func older(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"dist", "out"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(
		t,
		"sh",
		"-c",
		`cp -r ../packaging ../docs ../CHANGELOG.md "$0" && cp -r ../out/man ../out/completion "$0/out" && cp ../dist/fettle*-linux-amd64 `+
			`"$0/dist" && for f in "$0"/dist/*; do echo old >> "$f"; done`,
		dir,
	)
	cmd := exec.Command(filepath.Join(dir, "packaging/build"))
	cmd.Env = append(os.Environ(), "VERSION=old", "ARCHES=amd64", "SOURCE_DATE_EPOCH=1000000000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "dist")
}

// TestRPM installs the .rpm files into a root, with their scripts, upgrades and removes
// them. It is Debian's, without the program by which its packages enable units: the
// scripts take it for one of rpm's own.
func TestRPM(t *testing.T) {
	long(t, "installs .rpm files", "mmdebstrap", "rpm")
	root := debian(t, "bookworm")
	if err := os.Remove(filepath.Join(root, "usr/bin/deb-systemd-helper")); err != nil {
		t.Fatal(err)
	}
	rpm := func(args ...string) string {
		t.Helper()
		return run(t, "rpm", append([]string{"--root", root}, args...)...)
	}
	in := func(args ...string) string { t.Helper(); return run(t, "chroot", append([]string{root}, args...)...) }
	there := func(name string, want bool) {
		t.Helper()
		if _, err := os.Lstat(filepath.Join(root, name)); (err == nil) != want {
			t.Errorf("%s: there %t, want %t", name, err == nil, want)
		}
	}
	var old, now []string
	from := older(t)
	for _, p := range programs {
		m, _ := filepath.Glob(filepath.Join(from, p+"_*.rpm"))
		old, now = append(old, m...), append(now, built(t, p+"_*_amd64.rpm"))
	}
	const timer, hub = "etc/systemd/system/timers.target.wants/fettle.timer", "etc/systemd/system/multi-user.target.wants/fettle-hub.service"
	rpm("--initdb")
	rpm(append([]string{"-i", "--nodeps", "--nosignature"}, old...)...)
	if out := rpm("-q", "--qf", "%{VERSION} ", "fettle", "fettle-hub", "fettle-agent"); out != strings.Repeat("0~git20010909.old ", 3) {
		t.Errorf("the old versions: %s", out)
	}
	there(timer, true)
	there(hub, false)

	// What the admin decided, and what the services keep, survives an upgrade.
	in("systemctl", "disable", "fettle.timer")
	in("systemctl", "enable", "fettle-hub.service")
	in(
		"sh",
		"-c",
		"echo 'history: {keep: 7}' > /etc/fettle/fettle.yaml; mkdir -p /var/lib/fettle/history /var/lib/private/fettle-hub; touch "+
			"/var/lib/fettle/history/one /var/lib/private/fettle-hub/hub.db",
	)
	rpm(append([]string{"-U", "--nodeps", "--nosignature"}, now...)...)
	there(timer, false)
	there(hub, true)
	if b, err := os.ReadFile(filepath.Join(root, "etc/fettle/fettle.yaml")); err != nil || !strings.Contains(string(b), "keep: 7") {
		t.Errorf("fettle.yaml after an upgrade: %q, %v", b, err)
	}
	for _, p := range programs {
		if out := in("/usr/bin/"+p, "--help"); !strings.Contains(out, p+" [command]") {
			t.Errorf("%s says %s", p, out)
		}
	}
	if out := rpm("-V", "--nodeps", "--noconfig", "fettle", "fettle-lab", "fettle-hub", "fettle-agent"); out != "" {
		t.Errorf("rpm -V: %s", out)
	}
	if out := rpm("-qc", "fettle"); out != "/etc/fettle/fettle.yaml\n" {
		t.Errorf("configuration files: %s", out)
	}
	if out := rpm("-qR", "fettle-agent"); !strings.Contains(out, "fettle\n") {
		t.Errorf("the agent depends on %s", out)
	}
	if out, err := exec.Command("rpm", append([]string{"--root", root, "-U", "--nodeps", "--nosignature"},
		old...)...).CombinedOutput(); err == nil {
		t.Errorf("older ones are taken for an upgrade: %s", out)
	}

	rpm("-e", "fettle-lab", "fettle-agent", "fettle-hub", "fettle")
	for _, p := range programs {
		there("usr/bin/"+p, false)
	}
	there(hub, false)
	there("usr/lib/systemd/system/fettle.service", false)
	there("var/lib/fettle/history/one", true)
	there("var/lib/private/fettle-hub/hub.db", true)
}

// TestArm64: the packages for the other architecture hold the same files, with programs
// for it, which run.
func TestArm64(t *testing.T) {
	long(t, "runs programs for arm64", "dpkg-deb", "rpm", "qemu-aarch64-static")
	list := func(deb string) string {
		var names []string
		for line := range strings.Lines(run(t, "dpkg-deb", "-c", deb)) {
			f := strings.Fields(line)
			names = append(names, f[0]+" "+f[1]+" "+f[5])
		}
		return strings.Join(names, "\n")
	}
	for _, p := range programs {
		deb, rpm := built(t, p+"_*_arm64.deb"), built(t, p+"_*_arm64.rpm")
		if got, want := list(deb), list(built(t, p+"_*_amd64.deb")); got != want {
			t.Errorf("%s: files\n%s\nwant those for amd64:\n%s", p, got, want)
		}
		if out := run(t, "dpkg-deb", "-f", deb, "Architecture"); out != "arm64\n" {
			t.Errorf("%s is for %s", deb, out)
		}
		if out := run(t, "rpm", "-qp", "--nosignature", "--qf", "%{ARCH}", rpm); out != "aarch64" {
			t.Errorf("%s is for %s", rpm, out)
		}
		dir := t.TempDir()
		run(t, "dpkg-deb", "-x", deb, dir)
		program := filepath.Join(dir, "usr/bin", p)
		f, err := elf.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		if libs, err := f.ImportedLibraries(); f.Machine != elf.EM_AARCH64 || len(libs) > 0 || err != nil {
			t.Errorf("%s: machine %s, libraries %v, %v", p, f.Machine, libs, err)
		}
		f.Close()
		if out := run(t, "qemu-aarch64-static", program, "--help"); !strings.Contains(out, p+" [command]") {
			t.Errorf("%s says %s", p, out)
		}
	}
	dir := t.TempDir()
	run(t, "dpkg-deb", "-x", built(t, "fettle_*_arm64.deb"), dir)
	out, err := exec.Command("qemu-aarch64-static", filepath.Join(dir, "usr/bin/fettle"), "why", "--no-check", "qemu: bridge mtu changes by "+
		"itself when a guest starts").
		CombinedOutput()
	if err != nil || !strings.Contains(string(out), "bridge-mtu") {
		t.Errorf("why: %v\n%s", err, out)
	}
}

// TestPackagesAreReproducible builds programs and packages again, in another
// folder: the same bytes.
func TestPackagesAreReproducible(t *testing.T) {
	long(t, "builds all packages a second time", "git", "make")
	before := run(t, "sh", "-c", "cd ../dist && sha256sum *.deb *.rpm")
	dir := filepath.Join(t.TempDir(), "a", "copy")
	run(t, "git", "clone", "-q", "..", dir)
	t.Log(run(t, "make", "-C", dir, "packages", "VERSION="+strings.TrimSpace(run(t, "git", "describe", "--tags", "--always", "--dirty"))))
	if after := run(t, "sh", "-c", "cd "+dir+"/dist && sha256sum *.deb *.rpm"); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}
