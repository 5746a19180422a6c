package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// before is the commit whose packages are upgraded; FETTLE_BEFORE names another, or a folder with its .deb files.
const before = "HEAD~200"

// TestUpgrade upgrades a booted host, with a hub and its own agent, from packages of an older commit: the hub first,
// as docs/hub.md says, and the agent first, so that each works beside the other's older version.
func TestUpgrade(t *testing.T) {
	long(t, "builds packages of an older commit, and boots Debian 12 and 13 with them", "mmdebstrap", "systemd-nspawn", "git", "make")
	from := past(t)
	for _, release := range releases {
		for _, first := range []string{"fettle-hub", "fettle-agent"} {
			t.Run(release+"/"+first, func(t *testing.T) { upgrade(t, release, from, first) })
		}
	}
}

// past is a folder with the packages of an older commit.
func past(t *testing.T) string {
	t.Helper()
	at := os.Getenv("FETTLE_BEFORE")
	if found, _ := filepath.Glob(filepath.Join(at, "fettle-hub_*_amd64.deb")); len(found) == 1 {
		return at
	}
	if at == "" {
		at = before
	}
	dir := filepath.Join(t.TempDir(), "past")
	run(t, "git", "clone", "-q", "--no-checkout", "..", dir)
	run(t, "git", "-C", dir, "checkout", "-q", strings.TrimSpace(run(t, "git", "rev-parse", at)))
	make := exec.Command("make", "-C", dir, "packages", "ARCHES=amd64")
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "dist")
}

func upgrade(t *testing.T, release, from, first string) {
	root := withTools(t, release)
	into := filepath.Join(root, "packages")
	if err := os.Mkdir(into, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if old, _ := filepath.Glob(filepath.Join(from, p+"_*_amd64.deb")); len(old) == 1 { // not all are that old
			run(t, "cp", old[0], filepath.Join(into, p+"-old.deb"))
		}
		run(t, "cp", built(t, p+"_*_amd64.deb"), filepath.Join(into, p+"-new.deb"))
	}
	said := booted(t, root, "testdata/upgrade.sh", map[string]string{
		"result/first":    first + "\n",
		"etc/resolv.conf": "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n",
	}, "--private-network")
	for name, want := range map[string]string{
		"installed": "0\n", "joined": "0\n", "one": "0\n", "two": "0\n", "three": "0\n", "active": "active\nactive\nactive\n",
		"kept": "history: {keep: 7}\n", "failed": "", "after": "0\n",
	} {
		if got := said(name); got != want {
			t.Errorf("%s: %q, want %q\n%s%s", name, got, want, said("log"), said("units"))
		}
	}
	if hosts := said("hosts"); strings.Count(hosts, "\n") != 2 || !strings.Contains(hosts, " web ") {
		t.Errorf("hosts:\n%s", hosts)
	}
	t.Log(said("units"))
}
