package stale

import (
	"strings"
	"testing"

	"fettle/host/hosttest"
	"fettle/tools/netboot/mirror"
	"fettle/tools/netboot/tree"
)

const served = `-- root/srv/tftp/debian-installer/amd64/linux --
-- root/srv/tftp/debian-installer/amd64/initrd.gz --
-- table/kernel /srv/tftp/debian-installer/amd64/linux --
{"form":"bzImage","release":"6.1.0-50-amd64"}
-- table/initrd /srv/tftp/debian-installer/amd64/initrd.gz --
{"modules":{"6.1.0-50-amd64":5},"parts":["gzip"],"codename":"bookworm","distribution":"Debian","description":"12 (bookworm) - installer build 20230607+deb12u15"}
-- root/srv/tftp/version.info --
Debian version:  12 (bookworm)
Installer build: BUILD
`

// A version.info of another build tells that a tree was renewed in parts; one of
// the same build does not.
func TestRenewedInParts(t *testing.T) {
	for build, parts := range map[string]bool{"20230607+deb12u15": false, "20230607+deb12u9": true} {
		pairs, err := tree.Find(t.Context(), hosttest.New(t, strings.Replace(served, "BUILD", build, 1)), "/srv/tftp")
		if err != nil || len(pairs) != 1 {
			t.Fatal(pairs, err)
		}
		v := Judge(&pairs[0], func(*tree.Pair) (mirror.Index, error) {
			return mirror.Index{
				From:    "a mirror",
				Udebs:   1,
				Kernels: []mirror.Kernel{{Release: "6.1.0-50-amd64", Version: "6.1.176-1", Ext4: true}},
			}, nil
		})
		if v.Err != nil || v.Kind != Fine {
			t.Errorf("%s: %+v", build, v)
		}
		if got := strings.Contains(v.Detail, "renewed in parts"); got != parts {
			t.Errorf("version.info of build %s: renewed in parts: %v, want %v; %q", build, got, parts, v.Detail)
		}
	}
}
