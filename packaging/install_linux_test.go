package packaging

import (
	"bytes"
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
func booted(t *testing.T, root, script string, files map[string]string) func(name string) string {
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
	boot := exec.Command("systemd-nspawn", "-q", "--register=no", "--keep-unit", "--boot", "--link-journal=no", "--resolv-conf=off", "-D", root)
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
			if s := said("timer"); !strings.Contains(s, "fettle.service") {
				t.Errorf("timers: %s", s)
			}
		})
	}
}

// TestLintian: Debian's own judge of packages finds no error.
func TestLintian(t *testing.T) {
	long(t, "needs the packages of make packages", "lintian")
	for _, p := range []string{"fettle_*_amd64.deb", "fettle_*_arm64.deb", "fettle-lab_*_amd64.deb", "fettle-lab_*_arm64.deb", "fettle-hub_*_amd64.deb", "fettle-agent_*_amd64.deb"} {
		out, err := exec.Command("lintian", "--allow-root", "--fail-on=error", "--tag-display-limit", "0", built(t, p)).CombinedOutput()
		t.Logf("%s:\n%s", p, out)
		if err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// TestRPM installs the .rpm into a root, with its scripts, and removes it.
func TestRPM(t *testing.T) {
	long(t, "installs an .rpm", "mmdebstrap", "rpm")
	root := debian(t, "bookworm")
	rpm := func(args ...string) string { return run(t, "rpm", append([]string{"--root", root}, args...)...) }
	rpm("--initdb")
	rpm("-i", "--nodeps", "--nosignature", built(t, "fettle_*_amd64.rpm"))
	if out := run(t, "chroot", root, "/usr/bin/fettle", "version"); !strings.HasPrefix(out, "fettle ") {
		t.Errorf("fettle says %s", out)
	}
	if out := rpm("-V", "--nodeps", "fettle"); out != "" {
		t.Errorf("rpm -V: %s", out)
	}
	if out := rpm("-qc", "fettle"); !strings.Contains(out, "/etc/fettle/fettle.yaml") {
		t.Errorf("configuration files: %s", out)
	}
	rpm("-i", "--nodeps", "--nosignature", built(t, "fettle-lab_*_amd64.rpm"))
	rpm("-e", "fettle-lab", "fettle")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/fettle")); err == nil {
		t.Error("after rpm -e the program is still there")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		want := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
		if out := run(t, "rpm", "-qp", "--nosignature", "--qf", "%{ARCH}", built(t, "fettle_*_"+arch+".rpm")); out != want {
			t.Errorf("%s is for %s", arch, out)
		}
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
