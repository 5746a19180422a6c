package counters

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fettle/internal/lazy"
	"fettle/internal/netdump"
	"fettle/internal/sorted"
)

// local reads the counters of this network namespace over netlink. One
// RTM_GETSTATS dump (Linux 4.7) brings the 64-bit counters of all interfaces
// and nothing else: a fraction of what RTM_GETLINK costs. Names are asked for
// only when the set of indices has changed.
type local struct {
	fd    int
	seq   uint32
	buf   []byte
	names map[int]string
	links map[int]netlink.Link
	old   bool // no RTM_GETSTATS: a kernel before 4.7
	out   []Reading
}

// Local opens this host's own counters, of the caller's network namespace.
func Local() (Source, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("opening a netlink socket: %w", err)
	}
	tv := unix.NsecToTimeval((5 * time.Second).Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("setting up a netlink socket: %w", err)
	}
	return &local{fd: fd, buf: make([]byte, 256<<10)}, nil
}

func (l *local) Close() error { return unix.Close(l.fd) }

func (l *local) Read(ctx context.Context) ([]Reading, error) {
	if !l.old {
		err := l.stats()
		if err == nil {
			return l.named(ctx)
		}
		if !errors.Is(err, unix.EOPNOTSUPP) {
			return nil, fmt.Errorf("reading counters over netlink: %w", err)
		}
		l.old = true
	}
	if err := l.list(ctx); err != nil {
		return nil, err
	}
	l.out = l.out[:0]
	for i, k := range l.links {
		a := k.Attrs()
		if a.Statistics != nil {
			l.out = append(l.out, Reading{Name: a.Name, Index: i, In: a.Statistics.RxBytes, Out: a.Statistics.TxBytes})
		}
	}
	return l.sorted(), nil
}

// Numbers of linux/rtnetlink.h and linux/if_link.h.
const (
	rtmGetStats      = 94
	ifStatsMsgLen    = 12 // struct if_stats_msg
	iflaStatsLink64  = 1
	filterLink64     = 1 << (iflaStatsLink64 - 1)
	rxBytes, txBytes = 16, 24 // in struct rtnl_link_stats64
)

// stats fills l.out, without names.
func (l *local) stats() error {
	l.seq++
	req := make([]byte, unix.NLMSG_HDRLEN+ifStatsMsgLen)
	ne := binary.NativeEndian
	ne.PutUint32(req[0:], uint32(len(req)))
	ne.PutUint16(req[4:], rtmGetStats)
	ne.PutUint16(req[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	ne.PutUint32(req[8:], l.seq)
	ne.PutUint32(req[unix.NLMSG_HDRLEN+8:], filterLink64)
	if err := unix.Sendto(l.fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	l.out = l.out[:0]
	for {
		n, _, err := unix.Recvfrom(l.fd, l.buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		done, err := l.parse(l.buf[:n])
		if done || err != nil {
			return err
		}
	}
}

func (l *local) parse(b []byte) (done bool, err error) {
	ne := binary.NativeEndian
	for len(b) >= unix.NLMSG_HDRLEN {
		n := int(ne.Uint32(b))
		if n < unix.NLMSG_HDRLEN || n > len(b) {
			return false, errors.New("a message of wrong length")
		}
		msg := b[unix.NLMSG_HDRLEN:n]
		typ, seq := ne.Uint16(b[4:]), ne.Uint32(b[8:])
		b = b[min((n+3)&^3, len(b)):]
		if seq != l.seq {
			continue // the rest of an answer that took too long
		}
		switch typ {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			if len(msg) >= 4 {
				if e := int32(ne.Uint32(msg)); e != 0 {
					return true, unix.Errno(-e)
				}
			}
			return true, nil
		}
		if len(msg) < ifStatsMsgLen {
			continue
		}
		r := Reading{Index: int(ne.Uint32(msg[4:]))}
		for a := msg[ifStatsMsgLen:]; len(a) >= 4; {
			alen := int(ne.Uint16(a))
			if alen < 4 || alen > len(a) {
				break
			}
			if v := a[4:alen]; ne.Uint16(a[2:])&0x3fff == iflaStatsLink64 && len(v) >= txBytes+8 {
				r.In, r.Out = ne.Uint64(v[rxBytes:]), ne.Uint64(v[txBytes:])
				l.out = append(l.out, r)
			}
			a = a[min((alen+3)&^3, len(a)):]
		}
	}
	return false, nil
}

// named gives the readings their names.
func (l *local) named(ctx context.Context) ([]Reading, error) {
	same := len(l.out) == len(l.names)
	for i := range l.out {
		same = same && l.names[l.out[i].Index] != ""
	}
	if !same {
		if err := l.list(ctx); err != nil {
			return nil, err
		}
	}
	for i := range l.out {
		l.out[i].Name = l.names[l.out[i].Index]
	}
	// What came or went between the two questions is met next time.
	l.out = slices.DeleteFunc(l.out, func(r Reading) bool { return r.Name == "" })
	return l.sorted(), nil
}

func (l *local) sorted() []Reading {
	sorted.By(l.out, func(a, b Reading) int { return a.Index - b.Index })
	return l.out
}

func (l *local) list(ctx context.Context) error {
	links, err := netdump.Links(ctx)
	if err != nil {
		return err
	}
	l.names, l.links = map[int]string{}, map[int]netlink.Link{}
	for _, k := range links {
		l.names[k.Attrs().Index], l.links[k.Attrs().Index] = k.Attrs().Name, k
	}
	return nil
}

// software are kinds of interface whose counters the kernel itself keeps, in
// u64 since long (net/core/dev.c, dev_get_tstats64, dev_lstats_read and their
// like), and never clears while the interface lives.
var software = []string{"veth", "bridge", "vlan", "tuntap", "tun", "dummy", "macvlan", "macvtap", "ipvlan", "vxlan",
	"geneve", "wireguard", "gre", "gretap", "ip6gre", "ipip", "sit", "ifb", "vrf"}

// unlimited are drivers whose speed is only a name: what moves is memory.
var unlimited = []string{"virtio_net", "vmxnet3", "xen_netfront", "vif", "hv_netvsc", "tun", "veth", "gve", "ena"}

// vif is how Xen's backends are called.
var vif = lazy.Regexp(`^vif[0-9]+\.[0-9]+$`)

// driverLag: many network cards are asked for their counters by a timer of
// their driver, every second or two.
const driverLag = 2500 * time.Millisecond

func (l *local) Facts(r Reading) Facts {
	k := l.links[r.Index]
	if k == nil {
		return Facts{}
	}
	a := k.Attrs()
	wide := wordSize() == 64
	loopback := a.RawFlags&unix.IFF_LOOPBACK != 0
	if wide && (loopback || slices.Contains(software, k.Type())) {
		return Facts{Width: 64, Trusted: true, Told: true, Lag: 100 * time.Millisecond}
	}
	f := Facts{Width: 64, Lag: driverLag}
	if t := k.Type(); wide && (t == "bond" || t == "team") {
		// These add up what their ports' drivers say when they say it, and take
		// care of ports that come, go and wrap (drivers/net/bonding/bond_main.c,
		// bond_fold_stats).
		f.Trusted, f.Told = true, true
		return f
	}
	dir := filepath.Join("/sys/class/net", a.Name)
	if s, err := os.ReadFile(dir + "/ifindex"); err != nil || strings.TrimSpace(string(s)) != strconv.Itoa(r.Index) {
		return f // /sys shows another network namespace
	}
	driver := ""
	if d, err := os.Readlink(dir + "/device/driver"); err == nil {
		driver = filepath.Base(d)
	}
	if vif().MatchString(a.Name) || driver == "vif" {
		q, _ := filepath.Glob(dir + "/queues/rx-*")
		f.Queues, f.Lag = len(q), 100*time.Millisecond
		return f
	}
	if driver == "" || slices.Contains(unlimited, driver) {
		return f
	}
	if s, err := os.ReadFile(dir + "/speed"); err == nil { // Mbit/s
		if n, err := strconv.Atoi(strings.TrimSpace(string(s))); err == nil && n > 0 {
			f.MaxRate = float64(n) * 1e6
		}
	}
	return f
}

// wordSize is that of the running kernel, in bits.
func wordSize() int {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return 0
	}
	switch m := unix.ByteSliceToString(u.Machine[:]); m {
	case "x86_64", "aarch64", "ppc64", "ppc64le", "s390x", "riscv64", "mips64", "loongarch64":
		return 64
	}
	return 32
}
