package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestHubAndAgent boots a real Debian host with both packages: the services
// start, the host joins and is checked, its agent saves a snapshot with the rules of
// the packet filter and takes a pack, root restores the hub from a backup, and nothing
// is left after a purge.
func TestHubAndAgent(t *testing.T) {
	long(t, "boots Debian 12 and 13 with a hub and an agent", "mmdebstrap", "systemd-nspawn")
	for _, release := range releases {
		t.Run(release, func(t *testing.T) { hubAndAgent(t, release) })
	}
}

func hubAndAgent(t *testing.T, release string) {
	root := withTools(t, release)
	into := filepath.Join(root, "packages")
	if err := os.Mkdir(into, 0o755); err != nil {
		t.Fatal(err)
	}
	install := []string{"dpkg", "-i"}
	for _, name := range []string{"fettle", "fettle-hub", "fettle-agent"} {
		run(t, "cp", built(t, name+"_*_amd64.deb"), filepath.Join(into, name+".deb"))
		install = append(install, "/packages/"+name+".deb")
	}
	inside := func(args ...string) string {
		t.Helper()
		return run(t, "systemd-nspawn", append([]string{"-q", "--register=no", "--keep-unit", "-D", root, "--pipe"}, args...)...)
	}
	inside(install...)
	said := booted(t, root, "testdata/hub.sh", map[string]string{
		"etc/resolv.conf": "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n",
	}, "--private-network")
	t.Logf("%s%s%s", said("units"), said("security-hub"), said("security-agent"))
	for name, want := range map[string]string{
		"enabled": "disabled\ndisabled\n", "joined": "0\n", "checked": "0\n", "active": "active\nactive\n", "restored": "0\n",
		"again": "0\n", "asked": "0\n", "failed": "", "snapshot": "0\n", "firewall": "0\n", "offered": "0\n", "taken": "0\n",
	} {
		if got := said(name); got != want {
			t.Errorf("%s: %q, want %q\n%s", name, got, want, said("log"))
		}
	}
	for _, name := range []string{"hosts", "hosts2"} {
		if s := said(name); strings.Count(s, "\n") != 2 || !strings.Contains(s, " web ") {
			t.Errorf("%s:\n%s", name, s)
		}
	}
	for line := range strings.Lines(said("modes")) {
		if f := strings.Fields(line); f[0] == "root" || !strings.HasSuffix(f[1], "00") {
			t.Errorf("the hub's files: %s", line)
		}
	}
	// What is above is why: docs/hub.md says it of the agent.
	for unit, most := range map[string]float64{"hub": 2.0, "agent": 4.5} {
		m := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(said("security-" + unit))
		if m == nil {
			t.Errorf("systemd-analyze security says nothing of fettle-%s", unit)
			continue
		}
		if got, err := strconv.ParseFloat(m[1], 64); err != nil || got > most {
			t.Errorf("fettle-%s: exposure %s, over %.1f", unit, m[1], most)
		}
	}
	inside("dpkg", "-i", "/packages/fettle-hub.deb", "/packages/fettle-agent.deb") // an upgrade
	if _, err := os.Stat(filepath.Join(root, "var/lib/private/fettle-hub/hub.db")); err != nil {
		t.Errorf("after an upgrade: %v", err)
	}
	inside("dpkg", "-r", "fettle-hub", "fettle-agent")
	if _, err := os.Stat(filepath.Join(root, "var/lib/fettle-agent/member.json")); err != nil {
		t.Errorf("after a removal: %v", err)
	}
	inside("dpkg", "-P", "fettle-hub", "fettle-agent", "fettle")
	for _, dir := range []string{"etc", "usr", "var/lib", "opt", "srv"} {
		left := run(t, "find", filepath.Join(root, dir), "-name", "*fettle*", "-print")
		if strings.TrimSpace(left) != "" {
			t.Errorf("left after a purge:\n%s", left)
		}
	}
}
