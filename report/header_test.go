package report

import (
	"testing"
	"time"

	"fettle/host"
	"fettle/host/fact/machine"
)

func TestHeader(t *testing.T) {
	for want, m := range map[string]*Meta{
		"web1: Debian 12, Linux 6.1.0, KVM guest, up 12 days, 4 " +
			"Docker containers, 1 libvirt guest, 2 Kubernetes pods": {Host: "web1", Kind: host.KindLive,
			Identity: host.Identity{Sysname: "Linux", Release: "6.1.0"},
			Machine: machine.Facts{Distribution: "Debian 12", Kind: "KVM guest", Up: 12 * 24 * time.Hour,
				Containers: []machine.Containers{{Engine: "Docker", Count: 4}, {Engine: "libvirt guests", Count: 1},
					{Engine: "Kubernetes pods", Count: 2}}}},
		"a: sosreport of 2019-10-02 02:54 UTC, Linux 4.18.0, up 35 min, 1 Podman container": {Host: "a", Kind: host.KindSosreport,
			Identity: host.Identity{Sysname: "Linux", Release: "4.18.0", Time: time.Date(2019, 10, 2, 2, 54, 30, 0, time.UTC)},
			Machine:  machine.Facts{Up: 35 * time.Minute, Containers: []machine.Containers{{Engine: "Podman", Count: 1}}}},
		"b: a root folder, not running": {Host: "b", Kind: host.KindRoot},
		"c: Debian 13, checked without root": {Host: "c", Kind: host.KindLive, Identity: host.Identity{EUID: 1000},
			Machine: machine.Facts{Distribution: "Debian 13"}},
		`d\x1b`: {Host: "d\x1b", Kind: host.KindLive},
	} {
		if got := header(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
