package counters

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
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
