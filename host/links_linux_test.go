package host

import (
	"encoding/json"
	"slices"
	"testing"

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
