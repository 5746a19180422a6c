package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"fettle/internal/means"
)

// TestIPv6Conf: what netlink tells of a link is what the files of its /proc/sys/net/ipv6/conf
// say, each parameter another number; a link without IPv6 has no parameters.
func TestIPv6Conf(t *testing.T) {
	h := ownNetwork(t)
	for _, name := range []string{"br0", "br.1", "short"} {
		if err := h.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}); err != nil {
			means.Missing(t, "needs a bridge: "+err.Error())
		}
	}
	short, err := h.LinkByName("short")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.LinkSetMTU(short, 1000); err != nil { // below IPV6_MIN_MTU
		t.Fatal(err)
	}
	params := []string{"forwarding", "accept_ra", "accept_ra_defrtr", "autoconf", "disable_ipv6"}
	file := func(link, param string) string { return filepath.Join("/proc/sys/net/ipv6/conf", link, param) }
	// /proc/sys/net shows the namespace of the thread that looks: this one.
	for i, param := range params {
		for j, link := range []string{"br0", "br.1"} {
			if err := os.WriteFile(file(link, param), []byte(strconv.Itoa((i+j)%2+i%2)), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := readLinks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var links []Link
	if err := json.Unmarshal(b, &links); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, l := range links {
		seen[l.Name] = l.IPv6 != nil
		if l.IPv6 == nil {
			continue
		}
		c := *l.IPv6
		for i, got := range []int{c.Forwarding, c.AcceptRA, c.AcceptRADefaultRtr, c.Autoconf, c.Disabled} {
			b, err := os.ReadFile(file(l.Name, params[i]))
			if want := strings.TrimSpace(string(b)); err != nil || fmt.Sprint(got) != want {
				t.Errorf("%s: %s is %d, the file says %q (%v)", l.Name, params[i], got, want, err)
			}
		}
	}
	if !seen["lo"] || !seen["br0"] || !seen["br.1"] || seen["short"] {
		t.Errorf("links with IPv6: %v; want lo, br0 and br.1", seen)
	}
}
