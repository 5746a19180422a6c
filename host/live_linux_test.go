package host

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/means"
)

// TestLiveIdentity: who the running machine is, as the kernel tells other programs.
func TestLiveIdentity(t *testing.T) {
	before := time.Now()
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	id := l.Identity()
	for file, got := range map[string]string{"hostname": id.Hostname, "ostype": id.Sysname, "osrelease": id.Release,
		"version": id.Version, "random/boot_id": id.BootID} {
		b, err := os.ReadFile("/proc/sys/kernel/" + file)
		if want := strings.TrimSuffix(string(b), "\n"); err != nil || got != want {
			t.Errorf("%s is %q, want %q, %v", file, got, want, err)
		}
	}
	if id.EUID != os.Geteuid() || id.Machine == "" || id.Time.Before(before) || time.Now().Before(id.Time) || id.Time.Location() != time.UTC {
		t.Errorf("%+v", id)
	}
	if l.Kind() != KindLive || l.Name() != id.Hostname {
		t.Errorf("kind %s, name %q", l.Kind(), l.Name())
	}
}

// TestLiveTables: behind each table is what its name says, and nothing behind a name that is none.
func TestLiveTables(t *testing.T) {
	net := ownNetwork(t)
	lo, err := net.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "own0"}, PeerName: "own1"}
	if err := errors.Join(net.LinkSetUp(lo), net.LinkAdd(pair)); err != nil {
		means.Missing(t, "needs interfaces without hardware: "+err.Error())
	}
	peer, err := net.LinkByName("own1")
	if err != nil {
		t.Fatal(err)
	}
	address, _ := netlink.ParseAddr("192.0.2.1/24")
	if err := errors.Join(net.LinkSetUp(pair), net.LinkSetUp(peer), net.AddrAdd(pair, address)); err != nil {
		t.Fatal(err)
	}
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for table, c := range map[Table]struct {
		into any
		has  string
	}{
		TableLinks: {new([]Link), `"own0"`}, TableRoutes4: {new([]Route), "192.0.2."}, TableRoutes6: {new([]Route), "fe80"},
		TableRules: {new([]PolicyRule), ""}, TableNeighbours: {new([]Neighbour), ""}, TableProcesses: {new([]Process), fmt.Sprint(os.Getpid())},
		TableOpenFiles: {new(OpenFiles), `"looked"`}, TableFilesystems: {new([]Filesystem), ""}, TableListeners: {new([]Listener), ""},
	} {
		b, err := l.Table(t.Context(), table)
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.DisallowUnknownFields()
		if err == nil {
			err = d.Decode(c.into)
		}
		if err != nil || !strings.Contains(string(b), c.has) {
			t.Errorf("%s has no %s, or something else: %.300s, %v", table, c.has, b, err)
		}
	}
	for _, table := range []Table{"nothing", "peer", "peer x ldap://192.0.2.1:389", ""} {
		if b, err := l.Table(t.Context(), table); !errors.Is(err, ErrNotCollected) {
			t.Errorf("%q: %.100s, %v", table, b, err)
		}
	}
}

// TestSysInParts: of a /sys that a container has made of parts, what a part lacks is absent; what is in no part is hidden. Without
// the kernel's file systems nothing is known.
func TestSysInParts(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, time.Minute) {
		return
	}
	do := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	const part = "/mnt/part" // not in a folder that is emptied afterwards
	do(unix.Mount("none", "/mnt", "tmpfs", 0, ""), os.Mkdir(part, 0o755), unix.Mount("/sys/kernel", part, "", unix.MS_BIND, ""),
		unix.Mount("none", "/sys", "tmpfs", 0, ""),
		os.MkdirAll("/sys/kernel", 0o755), os.MkdirAll("/sys/made/here", 0o755), unix.Mount(part, "/sys/kernel", "", unix.MS_BIND, ""))
	l, err := NewLive()
	if err != nil {
		t.Fatal(err)
	}
	asks := func(name string, want error) {
		t.Helper()
		if _, err := l.ReadFile(t.Context(), name, 10); !errors.Is(err, want) || errors.Is(want, ErrAbsent) != IsAbsent(err) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	asks("/sys/kernel/none", ErrAbsent)
	asks("/sys/kernel/none/none/none", ErrAbsent)
	asks("/sys/none", ErrHidden)
	asks("/sys/none/none", ErrHidden)
	asks("/sys/made/here/none", ErrHidden)
	asks("/system/none", ErrAbsent)
	asks("/proc/none", ErrAbsent)
	do(unix.Mount(part, "/sys", "", unix.MS_BIND, ""))
	asks("/sys/none", ErrAbsent)
	do(unix.Mount(t.TempDir(), "/sys", "", unix.MS_BIND, ""), os.Mkdir("/sys/empty", 0o755))
	asks("/sys/empty/none", ErrNotMounted)
	do(unix.Mount("none", "/proc", "tmpfs", 0, ""))
	asks("/proc/none", ErrNotMounted)
	asks("/process/none", ErrAbsent)
}

// TestParametersOfIPv6: numbers are taken from where the kernel has them, and from nowhere else.
func TestParametersOfIPv6(t *testing.T) {
	attr := func(kind uint16, value []byte) []byte {
		b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
		b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
		return append(b, make([]byte, -len(b)&3)...)
	}
	numbers := func(n int) (b []byte) {
		for i := range n {
			b = binary.NativeEndian.AppendUint32(b, uint32(100+i))
		}
		return b
	}
	inet6 := func(conf []byte) []byte {
		return attr(unix.IFLA_PROTINFO|unix.NLA_F_NESTED, append(attr(unix.IFLA_INET6_FLAGS, numbers(1)), attr(unix.IFLA_INET6_CONF, conf)...))
	}
	all := &IPv6Conf{Forwarding: 100, AcceptRA: 103, AcceptRADefaultRtr: 117, Autoconf: 105, Disabled: 126}
	negative := numbers(27)
	binary.NativeEndian.PutUint32(negative, 0xffffffff)
	for name, c := range map[string]struct {
		attrs []byte
		want  *IPv6Conf
	}{
		"all": {append(attr(unix.IFLA_IFNAME, []byte("br0\x00")), inet6(numbers(60))...), all}, "as few as may be": {inet6(numbers(27)), all},
		"below zero": {inet6(negative), &IPv6Conf{Forwarding: -1, AcceptRA: 103, AcceptRADefaultRtr: 117, Autoconf: 105, Disabled: 126}},
		"too few":    {inet6(numbers(27)[:107]), nil}, "none": {attr(unix.IFLA_IFNAME, []byte("br0\x00")), nil}, "nothing": {nil, nil},
		"elsewhere": {attr(unix.IFLA_INET6_CONF, numbers(60)), nil}, "the first counts": {append(inet6(numbers(27)), inet6(negative)...), all},
		"broken": {inet6(numbers(27))[:3], nil},
	} {
		if got := parseIPv6Conf(c.attrs); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestAnswersToStartTLS: yes, no with the server's words, and what is no answer.
func TestAnswersToStartTLS(t *testing.T) {
	el := func(tag byte, parts ...string) string {
		text := strings.Join(parts, "")
		return string([]byte{tag, 0x82, byte(len(text) >> 8), byte(len(text))}) + text
	}
	number := el(0x02, "\x01")
	response := func(code, words string) string {
		return number + el(0x78, el(0x0a, code), el(0x04, "dn"), el(0x04, words))
	}
	long := strings.Repeat("w", 201)
	for name, c := range map[string]struct{ msg, refused, err string }{
		"yes": {msg: response("\x00", "")}, "yes in four bytes": {msg: response("\x00\x00\x00\x00", "")},
		"no": {msg: response("\x02", "no\n"), refused: `result 2 "no\n"`}, "a long number": {msg: response("\x01\x02\x03\x04", ""),
			refused: `result 16909060 ""`},
		"long words":      {msg: response("\x01", long), refused: `result 1 "` + long[:200] + `"`},
		"not so long":     {msg: response("\x01", long[:200]), refused: `result 1 "` + long[:200] + `"`},
		"a longer number": {msg: response("\x00\x00\x00\x00\x00", ""), err: "cannot be read"},
		"no number":       {msg: response("", ""), err: "cannot be read"},
		"another answer":  {msg: number + el(0x61, el(0x0a, "\x00")), err: "cannot be read"},
		"no code":         {msg: number + el(0x78, el(0x04, "\x00")), err: "cannot be read"},
		"no message":      {msg: el(0x78, el(0x0a, "\x00")), err: "cannot be read"}, "nothing": {err: "cannot be read"},
	} {
		refused, err := extendedResponse([]byte(c.msg))
		if refused != c.refused || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %q", name, refused, err, c.refused, c.err)
		}
	}
	most := strings.Repeat("x", maxResponse)
	for name, c := range map[string]struct {
		text string
		len  int
		err  error
	}{
		"short": {"\x30\x03abc", 3, nil}, "the longest short one": {"\x30\x7f" + most, 127, nil}, "one byte": {"\x30\x81\xff" + most, 255, nil},
		"four bytes": {"\x30\x84\x00\x00\x01\x02" + most, 258, nil}, "as much as may be": {"\x30\x82\x40\x00" + most, maxResponse, nil},
		"more": {"\x30\x82\x40\x01" + most + "x", 0, ErrTooBig}, "below zero": {"\x30\x84\xff\xff\xff\xff", 0, ErrTooBig},
		"no end": {"\x30\x80" + most, 0, errNoLDAP}, "five bytes": {"\x30\x85\x00\x00\x00\x00\x01" + most, 0, errNoLDAP},
		"another tag": {"\x31\x03abc", 0, errNoLDAP},
	} {
		tag, content, err := readBER(strings.NewReader(c.text), 0x30)
		if !errors.Is(err, c.err) || err == nil && (tag != 0x30 || len(content) != c.len) {
			t.Errorf("%s: %#x, %d bytes, %v; want %d, %v", name, tag, len(content), err, c.len, c.err)
		}
	}
}
