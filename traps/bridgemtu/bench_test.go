package bridgemtu

import (
	"fmt"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// BenchmarkCheck is a virtualisation host: one bridge of 500 ports, 50
// container bridges, 20 .network files that name as many bridges.
func BenchmarkCheck(b *testing.B) {
	var s strings.Builder
	s.WriteString("-- table/links --\n[")
	link := func(i int, name, rest string) {
		fmt.Fprintf(&s, `{"ifindex":%d,"ifname":"%s","mtu":1500,"link_type":"ether"%s},`, i, name, rest)
	}
	for i := range 500 {
		link(i+10, fmt.Sprintf("vnet%d", i), `,"master":"br0","linkinfo":{"info_kind":"tun"}`)
	}
	for i := range 50 {
		link(i+600, fmt.Sprintf("br-%012x", i), `,"linkinfo":{"info_kind":"bridge"}`)
	}
	link(2, "eno1", `,"master":"br0"`)
	s.WriteString(`{"ifindex":3,"ifname":"br0","mtu":1500,"link_type":"ether","linkinfo":{"info_kind":"bridge"}}]` + "\n")
	for i := range 20 {
		fmt.Fprintf(&s, "-- root/etc/systemd/network/%d.network --\n[Match]\nName=x%d*\n[Network]\nBridge=br%d\n", i, i, i)
	}
	s.WriteString("-- root/etc/systemd/network/50-eno1.network --\n[Match]\nName=eno*\n[Network]\nBridge=br0\n")
	src, _, err := hosttest.Parse([]byte(s.String()))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		trap.Run(b.Context(), host.New(src), []*trap.Trap{&Trap}, trap.Options{}, func(r trap.Result) { n = len(r.Outcomes) })
		if n != 70 {
			b.Fatalf("%d outcomes", n)
		}
	}
}
