package redact

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestKinStayKin: what belongs together in a host belongs together in its
// redacted capture, and nothing of it shows.
func TestKinStayKin(t *testing.T) {
	r := redactor(t)
	mac := func(s string) net.HardwareAddr {
		h, err := net.ParseMAC(s)
		if err != nil {
			t.Fatal(err)
		}
		return r.hardware(h)
	}
	device := mac("52:54:00:ab:cd:ef")
	// RFC 4291, appendix A: the address that a device makes of its hardware address.
	b := netip.MustParseAddr("2001:db8::5054:ff:feab:cdef")
	if got := r.Addr(b).As16(); got[8] != device[0]^2 || [2]byte(got[9:11]) != [2]byte(device[1:3]) ||
		[3]byte(got[13:]) != [3]byte(device[3:]) {
		t.Errorf("%s became %s, and its device %s", b, r.Addr(b), device)
	}
	for in, bits := range map[string]byte{"52:54:00:ab:cd:ef": 2, "00:16:3e:ab:cd:ef": 0, "03:16:3e:ab:cd:ef": 3, "01:16:3e:ab:cd:ef": 1} {
		if got := mac(in); got[0]&3 != bits || got.String() == in {
			t.Errorf("%s became %s: whether it is a group's, or local, is in two bits", in, got)
		}
	}
	if a, other := mac("52:54:00:ab:cd:ef"), mac("52:54:00:11:22:33"); string(a[:3]) != string(other[:3]) ||
		string(a[3:]) == string(other[3:]) {
		t.Errorf("two devices of one maker became %s and %s", a, other)
	}
	if got := r.Addr(netip.MustParseAddr("fe80::1%backbonezurich")).String(); strings.Contains(got, "zurich") ||
		!strings.Contains(got, "%") {
		t.Errorf("the zone stays: %s", got)
	}
	v4, mapped := netip.MustParseAddr("192.0.2.77"), netip.MustParseAddr("::ffff:192.0.2.77")
	if got := r.Addr(mapped); got.Unmap() != r.Addr(v4) || got == mapped {
		t.Errorf("%s became %s, and %s %s", mapped, got, v4, r.Addr(v4))
	}
	for _, words := range [][2]string{{"Zurichgate", "ZURICHGATE"}, {"Zurichgate", "zurichgate"}} {
		if a, b := r.words(words[0]), r.words(words[1]); a != b || strings.EqualFold(a, words[0]) {
			t.Errorf("%q became %q, and %q %q", words[0], a, words[1], b)
		}
	}
	for _, in := range []string{"10.1.2.3", "172.20.1.1", "192.168.7.7", "100.64.3.4", "169.254.9.9", "fe80::9", "fd00:1::2", "2001:db8::7"} {
		a := netip.MustParseAddr(in)
		got := r.Addr(a)
		if got.IsPrivate() != a.IsPrivate() || got.IsLinkLocalUnicast() != a.IsLinkLocalUnicast() ||
			got.IsGlobalUnicast() != a.IsGlobalUnicast() ||
			got == a {
			t.Errorf("%s became %s, which means something else", a, got)
		}
	}
}
