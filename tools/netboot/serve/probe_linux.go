package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxServers are told of: one is too many already, and anybody on the wire can answer
// for as many as there are addresses.
const maxServers = 16

// Probe asks on an interface whether a DHCP server answers (RFC 2131): it sends
// a DISCOVER and takes no address. It returns the servers that offered one
// within the wait. Servers take time: dnsmasq pings an address for three seconds
// before it offers it.
func Probe(ctx context.Context, link string, hw net.HardwareAddr, wait time.Duration) ([]netip.Addr, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		cerr := c.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), // beside a DHCP client
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1),
				unix.BindToDevice(int(fd), link))
		})
		return errors.Join(cerr, err)
	}}
	pc, err := lc.ListenPacket(ctx, "udp4", ":68")
	if err != nil {
		return nil, fmt.Errorf("asking for DHCP servers on %s: %w", link, err)
	}
	defer pc.Close()
	xid := rand.Uint32()
	msg := discover(xid, hw)
	defer context.AfterFunc(ctx, func() { pc.Close() })()
	var found []netip.Addr
	buf := make([]byte, 1500)
	for again := range 2 {
		if _, err := pc.WriteTo(msg, &net.UDPAddr{IP: net.IPv4bcast, Port: 67}); err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("asking for DHCP servers on %s: %w", link, err)
		}
		end := time.Now().Add(wait / 2)
		for {
			pc.SetReadDeadline(end)
			n, from, err := pc.ReadFrom(buf)
			if err != nil || len(found) == maxServers {
				break
			}
			if id, ok := offer(buf[:n], xid); ok {
				if !id.IsValid() {
					ap, _ := netip.ParseAddrPort(from.String())
					id = ap.Addr()
				}
				if !slices.Contains(found, id) {
					found = append(found, id)
				}
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(found) > 0 || again == 1 {
			break
		}
	}
	return found, nil
}

const cookie = 0x63825363

// discover is a DHCPDISCOVER that wants its answer by broadcast (RFC 2131,
// section 2): no client is behind the card's address.
func discover(xid uint32, hw net.HardwareAddr) []byte {
	b := make([]byte, 300)
	b[0], b[1], b[2] = 1, 1, 6
	binary.BigEndian.PutUint32(b[4:], xid)
	b[10] = 0x80
	copy(b[28:34], hw)
	binary.BigEndian.PutUint32(b[236:], cookie)
	copy(b[240:], []byte{53, 1, 1, 55, 2, 1, 3, 255})
	return b
}

// offer reads a DHCPOFFER to our question: option 54 names the server.
func offer(b []byte, xid uint32) (server netip.Addr, ok bool) {
	if len(b) < 241 || b[0] != 2 || binary.BigEndian.Uint32(b[4:]) != xid || binary.BigEndian.Uint32(b[236:]) != cookie {
		return server, false
	}
	for o := b[240:]; len(o) >= 2 && o[0] != 255; {
		if o[0] == 0 {
			o = o[1:]
			continue
		}
		n := int(o[1])
		if len(o) < 2+n {
			return server, ok
		}
		switch {
		case o[0] == 53 && n == 1:
			ok = o[2] == 2
		case o[0] == 54 && n == 4:
			server = netip.AddrFrom4([4]byte(o[2:6]))
		}
		o = o[2+n:]
	}
	return server, ok
}
