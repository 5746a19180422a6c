package host

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// Routes are what ip(8) says of them, of both families, all tables and kinds.
func TestRoutesAreThoseOfIP(t *testing.T) {
	ip := means.Tool(t, "ip")
	if !means.Inside(t, syscall.CLONE_NEWNET, time.Minute) {
		return
	}
	for _, args := range []string{
		"link set lo up",
		"link add d0 type veth peer name d1", "link set d0 up", "link set d1 up",
		"address add 192.0.2.2/24 dev d0", "address add 2001:db8::2/64 dev d0 nodad",
		"route add 198.51.100.0/24 via 192.0.2.1", "route add default via 192.0.2.1 metric 50", "route add blackhole 203.0.113.0/24",
		"route add 198.51.100.128/25 dev d0 table 77 proto static", "-6 route add 2001:db8:9::/48 via 2001:db8::1",
		"-6 route add unreachable 2001:db8:bad::/48",
	} {
		if out, err := exec.Command(ip, strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := New(l)
	for family, read := range map[string]func() ([]Route, error){
		"-4": func() ([]Route, error) { return h.Routes4(t.Context()) },
		"-6": func() ([]Route, error) { return h.Routes6(t.Context()) },
	} {
		out, err := exec.Command(ip, "-j", family, "route", "show", "table", "all").Output()
		if err != nil {
			t.Fatal(err)
		}
		var want []Route
		if err := json.Unmarshal(out, &want); err != nil {
			t.Fatal(err)
		}
		got, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if g, w := lines(got), lines(want); !slices.Equal(g, w) {
			t.Errorf("ip %s route:\ngot  %s\nwant %s", family, strings.Join(g, "\n     "), strings.Join(w, "\n     "))
		}
	}
}

// lines writes routes as ip(8) does: without the length of a host's prefix, and without
// the protocol of what was added by hand (RTPROT_BOOT).
func lines(rs []Route) (out []string) {
	for _, r := range rs {
		dst := strings.TrimSuffix(strings.TrimSuffix(r.Dst, "/32"), "/128")
		out = append(out, strings.Join([]string{r.Type, dst, r.Gateway, r.Dev, strings.TrimPrefix(r.Protocol, "boot"), r.Table}, " "))
	}
	slices.Sort(out)
	return out
}
