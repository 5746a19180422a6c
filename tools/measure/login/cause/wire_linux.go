package cause

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// wire makes TCP connections between two addresses of which this host may have
// neither. They live on the loopback link of a network namespace that holds
// nothing else; nothing of it is reachable from outside, and no name server is
// reachable from inside. A connection keeps its namespace: the sshd that is
// handed one runs in the host's own, and asks the host's name servers.
type wire struct {
	do   chan func()
	from *net.TCPAddr
	l    *net.TCPListener
}

// newWire makes the namespace. Linux gives namespaces to threads: one goroutine
// holds a thread of its own until close.
func newWire(client netip.Addr, server netip.AddrPort) (*wire, error) {
	w := &wire{do: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			ready <- fmt.Errorf("making a network namespace: %w", err)
			return
		}
		if err := w.open(client, server); err != nil {
			ready <- err
			return
		}
		ready <- nil
		for f := range w.do {
			f()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return w, nil
}

func (w *wire) open(client netip.Addr, server netip.AddrPort) error {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("the loopback link of a new network namespace: %w", err)
	}
	for _, a := range []netip.Addr{client, server.Addr()} {
		if a.IsLoopback() {
			continue // 127.0.0.0/8 and ::1 are there
		}
		ip := net.IP(a.WithZone("").AsSlice())
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(len(ip)*8, len(ip)*8)}}
		if a.Is6() {
			addr.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrReplace(lo, addr); err != nil {
			return fmt.Errorf("giving %s to the loopback link of a new network namespace: %w", a, err)
		}
	}
	zone := func(a netip.Addr) netip.Addr {
		if a.Is6() && a.IsLinkLocalUnicast() {
			return a.WithZone("lo")
		}
		return a.WithZone("")
	}
	w.from = net.TCPAddrFromAddrPort(netip.AddrPortFrom(zone(client), 0))
	return soon(func() error {
		w.l, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(zone(server.Addr()), server.Port())))
		return err
	})
}

// soon tries again for a while: IPv6 addresses get their routes a moment after
// they are given (net/ipv6/addrconf.c, addrconf_dad_work).
func soon(try func() error) (err error) {
	for range 200 {
		if err = try(); !errors.Is(err, unix.ENETUNREACH) && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// pair makes one connection.
func (w *wire) pair() (client, server *net.TCPConn, err error) {
	done := make(chan struct{})
	w.do <- func() {
		defer close(done)
		err = soon(func() (err error) {
			client, err = net.DialTCP("tcp", w.from, w.l.Addr().(*net.TCPAddr))
			return err
		})
		if err != nil {
			return
		}
		if server, err = w.l.AcceptTCP(); err != nil {
			client.Close()
		}
	}
	<-done
	return client, server, err
}

func (w *wire) close() {
	w.l.Close()
	close(w.do)
}
