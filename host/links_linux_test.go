package host

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"fettle/internal/means"
)

// TestAltNames: the kernel tells a link's other names, and finds the link by them (Linux 5.5).
func TestAltNames(t *testing.T) {
	h := ownNetwork(t)
	if err := h.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "lan0"}}); err != nil {
		means.Missing(t, "needs a bridge: "+err.Error())
	}
	link, err := h.LinkByName("lan0")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"enp3s0", "enx525400000001"} {
		if err := h.LinkAddAltName(link, name); err != nil {
			t.Fatal(err)
		}
		if same, err := h.LinkByName(name); err != nil || same.Attrs().Index != link.Attrs().Index {
			t.Errorf("%s leads to %v, %v", name, same, err)
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
	for _, l := range links {
		if l.Name == "lan0" && slices.Equal(l.AltNames, []string{"enp3s0", "enx525400000001"}) {
			return
		}
	}
	t.Errorf("lan0 and its other names are not among %+v", links)
}

// TestLinksAreThoseOfIP: links and their addresses are what ip(8) says of them, of several kinds and states.
func TestLinksAreThoseOfIP(t *testing.T) {
	ip := means.Tool(t, "ip")
	if !means.Inside(t, syscall.CLONE_NEWNET, time.Minute) {
		return
	}
	for _, args := range []string{
		"link set lo up", "link add d0 type veth peer name d1", "link set d0 up", "link add br0 type bridge", "link set d1 master br0 mtu 1400",
		"link set d0 addrgenmode none", "link set d1 addrgenmode none", "link set br0 addrgenmode none", "link set br0 up", "link set d1 up",
		"link set d0 promisc on",
		"address add 192.0.2.2/24 dev d0", "address add 2001:db8::2/64 dev d0 nodad valid_lft 5000 preferred_lft 4000",
		"address add 192.0.2.9/32 dev lo scope host",
	} {
		if out, err := exec.Command(ip, strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	shown := func() (all []Link) {
		out, err := exec.Command(ip, "-j", "-d", "address", "show").Output()
		if err == nil {
			err = json.Unmarshal(out, &all)
		}
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	means.Until(t, "all links are up", func() bool {
		return !slices.ContainsFunc(shown(), func(l Link) bool { return l.Name != "lo" && l.OperState != "UP" })
	})
	src, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	got, err := New(src).Links(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := func(ls []Link) (all []string) {
		for _, l := range ls {
			slices.Sort(l.Flags)
			s := fmt.Sprint(l.Index, l.Name, l.Parent, l.Flags, l.MTU, l.Master, l.OperState, l.LinkType, l.Info.Kind, l.Info.SlaveKind)
			if l.LinkType == "ether" {
				s += l.MAC
			}
			for _, a := range l.Addrs {
				if a.Valid != 1<<32-1 { // it runs while the two look
					a.Valid, a.Preferred = (a.Valid+500)/1000, (a.Preferred+500)/1000
				}
				if s += fmt.Sprintf("\n\t%+v", a); a.Dynamic != (a.Valid != 1<<32-1) {
					t.Errorf("%s: %+v has a lifetime of its own, or none", l.Name, a)
				}
			}
			all = append(all, s)
		}
		return all
	}
	if g, w := text(got), text(shown()); !slices.Equal(g, w) || len(g) != 4 {
		t.Errorf("got  %s\nwant %s", strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
}
