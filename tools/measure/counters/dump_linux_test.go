package counters

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestDump: answers of the kernel, whole, cut, of another question and of the wrong form.
func TestDump(t *testing.T) {
	ne := binary.NativeEndian
	message := func(typ uint16, seq uint32, body []byte) []byte {
		b := make([]byte, unix.NLMSG_HDRLEN, unix.NLMSG_HDRLEN+len(body)+3)
		ne.PutUint32(b, uint32(len(b)+len(body)))
		ne.PutUint16(b[4:], typ)
		ne.PutUint32(b[8:], seq)
		b = append(b, body...)
		return append(b, make([]byte, -len(b)&3)...)
	}
	attr := func(typ uint16, v []byte) []byte {
		b := ne.AppendUint16(ne.AppendUint16(nil, uint16(4+len(v))), typ)
		return append(append(b, v...), make([]byte, -len(v)&3)...)
	}
	link := func(in, out uint64) []byte {
		v := make([]byte, 32)
		ne.PutUint64(v[16:], in)
		ne.PutUint64(v[24:], out)
		return v
	}
	stats := func(index uint32, attrs ...byte) []byte {
		b := make([]byte, ifStatsMsgLen)
		ne.PutUint32(b[4:], index)
		return append(b, attrs...)
	}
	code := func(n int32) []byte { return ne.AppendUint32(nil, uint32(n)) }
	one := message(92, 7, stats(3, attr(1, link(10, 20))...))
	short := message(92, 7, stats(3))
	ne.PutUint32(short, 8)
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"one", one, "false <nil> [3:10/20]"}, {"nothing", nil, "false <nil> []"},
		{"another kind first, of odd length", message(92, 7, stats(3, append(attr(9, []byte{1}), attr(0x8001, link(1, 2))...)...)),
			"false <nil> [3:1/2]"},
		{"two, and the end", append(append(one, message(92, 7, stats(4, attr(1, link(1, 2))...))...), message(unix.NLMSG_DONE, 7, code(0))...),
			"true <nil> [3:10/20 4:1/2]"},
		{"of another question", append(message(92, 6, stats(4, attr(1, link(1, 2))...)), one...), "false <nil> [3:10/20]"},
		{"refused", message(unix.NLMSG_ERROR, 7, code(-int32(unix.EOPNOTSUPP))), "true operation not supported []"},
		{"no error", message(unix.NLMSG_ERROR, 7, code(0)), "true <nil> []"}, {"an error without a number", message(unix.NLMSG_ERROR, 7, nil),
			"true <nil> []"},
		{"cut off", one[:len(one)-4], "false a message of wrong length []"}, {"shorter than its head", short,
			"false a message of wrong length []"},
		{"no counters", append(message(92, 7, []byte{1, 2, 3}), one...), "false <nil> [3:10/20]"},
		{"counters cut off", message(92, 7, stats(3, attr(1, link(1, 2)[:31])...)), "false <nil> []"},
		{"an attribute of no length", message(92, 7, stats(3, append([]byte{3, 0, 1, 0}, attr(1, link(1, 2))...)...)), "false <nil> []"},
		{"an attribute beyond the end", message(92, 7, stats(3, attr(1, link(1, 2))[:32]...)), "false <nil> []"},
	} {
		l := &local{seq: 7}
		done, err := l.parse(c.b)
		var got []string
		for _, r := range l.out {
			got = append(got, fmt.Sprintf("%d:%d/%d", r.Index, r.In, r.Out))
		}
		if said := fmt.Sprint(done, " ", err, " ", got); said != c.want {
			t.Errorf("%s: %s, want %s", c.name, said, c.want)
		}
	}
}

// TestFactsOfNobody: of an interface that went, nothing is known.
func TestFactsOfNobody(t *testing.T) {
	if f := (&local{}).Facts(Reading{Index: 1}); f != (Facts{}) {
		t.Errorf("%+v", f)
	}
}

// TestFactsOfKinds: whose counters the kernel keeps itself, and whose are a driver's.
func TestFactsOfKinds(t *testing.T) {
	if wordSize() != 64 {
		means.Missing(t, "needs a 64-bit kernel")
	}
	attrs := netlink.LinkAttrs{Name: "nowhere0", Index: 9}
	loopback := attrs
	loopback.RawFlags = unix.IFF_LOOPBACK
	own := Facts{Width: 64, Trusted: true, Told: true, Lag: 100 * time.Millisecond}
	sum := Facts{Width: 64, Trusted: true, Told: true, Lag: driverLag}
	for name, c := range map[string]struct {
		link netlink.Link
		want Facts
	}{
		"loopback": {&netlink.Device{LinkAttrs: loopback}, own}, "veth": {&netlink.GenericLink{LinkAttrs: attrs, LinkType: "veth"}, own},
		"bond": {&netlink.GenericLink{LinkAttrs: attrs, LinkType: "bond"}, sum}, "team": {&netlink.GenericLink{LinkAttrs: attrs,
			LinkType: "team"}, sum},
		"a card": {&netlink.Device{LinkAttrs: attrs}, Facts{Width: 64, Lag: driverLag}},
	} {
		l := &local{links: map[int]netlink.Link{9: c.link}}
		if got := l.Facts(Reading{Index: 9}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	l := &local{out: []Reading{{Index: 9}, {Index: 3}}, names: map[int]string{3: "a", 9: "b"}}
	if rs, err := l.named(t.Context()); err != nil || len(rs) != 2 || rs[0].Name != "a" || rs[1].Name != "b" || l.links != nil {
		t.Errorf("names that are known: %+v, %v", rs, err)
	}
	for name, l := range map[string]*local{"one came": {out: []Reading{{Index: 1}, {Index: 1 << 30}}, names: map[int]string{7: "a", 8: "b"}},
		"one more": {out: []Reading{{Index: 1}, {Index: 1 << 30}}, names: map[int]string{1: "old"}}} {
		if rs, err := l.named(t.Context()); err != nil || len(rs) != 1 || rs[0].Name != "lo" {
			t.Errorf("%s: %+v, %v", name, rs, err)
		}
	}
}
