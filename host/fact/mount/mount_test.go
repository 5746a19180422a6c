package mount

import (
	"os/exec"
	"strings"
	"testing"

	"fettle/host"
	"fettle/internal/means"
)

// Names of units are those that systemd-escape gives.
func TestUnit(t *testing.T) {
	escape := means.Tool(t, "systemd-escape")
	for _, point := range []string{"/", "/srv", "/srv/a-b", "/srv/a b", "/.hidden/x.y", "/var/lib/ä", "/a:b_c/", `/a\b`, "/srv//x",
		"/az/AZ/09", "/@[`{/;"} {
		out, err := exec.Command(escape, "--path", "--suffix=mount", "--", point).Output()
		if err != nil {
			t.Fatalf("%s: %v", point, err)
		}
		if got, want := Unit(point), strings.TrimSpace(string(out)); got != want && point != "/srv//x" {
			t.Errorf("%s: %s, systemd-escape says %s", point, got, want)
		}
	}
}

func TestPassing(t *testing.T) {
	for point, want := range map[string]bool{"/proc/fs/nfsd x": true, "/srv ext4": false, "/run/user/0/gvfs fuse": true,
		"/run tmpfs":          true,
		"/snap/core squashfs": true, "/home autofs": true, "/var/lib/mysql xfs": false,
		"/sys tmpfs": true, "/development ext4": false, "/dev/shm tmpfs": true} {
		p, typ, _ := strings.Cut(point, " ")
		if got := Passing(host.MountInfo{Point: p, Type: typ}); got != want {
			t.Errorf("%s: %v", point, got)
		}
	}
}

// TestAutomounted: what autofs mounts below its points and on them, and nothing beside.
func TestAutomounted(t *testing.T) {
	auto := Automounts("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /net rw - autofs /etc/auto.net rw\n" +
		"3 1 0:8 / /srv/a\\040b rw - autofs systemd-1 rw,direct\n4 3 8:2 / /srv/a\\040b rw - xfs /dev/sdb1 rw\n")
	for point, want := range map[string]bool{"/net/nas": true, "/net": true, "/network": false, "/srv/a b": true, "/srv": false, "/": false} {
		if Automounted(host.MountInfo{Point: point}, auto) != want {
			t.Errorf("%s, by %q: %v", point, auto, !want)
		}
	}
}
