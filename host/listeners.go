package host

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Listener is a socket that waits for others: TCP that listens, UDP that is bound and not
// connected. Sources: /proc/net/tcp, tcp6, udp and udp6 (proc_pid_net(5)), /proc/PID/fd.
type Listener struct {
	Proto   string `json:"proto"` // tcp, udp
	Address string `json:"address"`
	Port    int    `json:"port"`
	// Process is one that holds it, the oldest; its PID is 0 where none was found: the kernel
	// itself listens, or the holder could not be looked at.
	Process
}

// Listeners lists the sockets of the host's network namespace that wait for others.
func (h *Host) Listeners(ctx context.Context) ([]Listener, error) {
	return readTable[[]Listener](ctx, h, TableListeners)
}

// States of sockets (include/net/tcp_states.h).
const (
	tcpListen = "0A"
	udpBound  = "07" // TCP_CLOSE: not connected
)

// parseSockets reads the sockets that wait for others of one of /proc/net's tables
// (net/ipv4/tcp_ipv4.c, get_tcp4_sock), by inode.
func parseSockets(proto, text string) (map[uint64]Listener, error) {
	out := map[uint64]Listener{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		f := strings.Fields(line)
		if i == 0 || len(f) < 10 || f[3] != tcpListen && proto == "tcp" || f[3] != udpBound && proto == "udp" {
			continue
		}
		at, err := parseSocketAddress(f[1])
		if err != nil {
			return nil, fmt.Errorf("line %d of the %s sockets: %w", i+1, proto, err)
		}
		inode, err := strconv.ParseUint(f[9], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d of the %s sockets: %q is no inode", i+1, proto, f[9])
		}
		out[inode] = Listener{Proto: proto, Address: at.Addr().String(), Port: int(at.Port())}
	}
	return out, nil
}

// parseSocketAddress reads "0100007F:0050": the address as 32-bit words in the byte order of
// the machine, which is little endian wherever fettle runs, and the port.
func parseSocketAddress(s string) (netip.AddrPort, error) {
	text, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(text)
	n, perr := strconv.ParseUint(port, 16, 16)
	if err != nil || perr != nil || len(b) != 4 && len(b) != 16 {
		return netip.AddrPort{}, fmt.Errorf("%q is no address of a socket", s)
	}
	for i := 0; i < len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), nil
}
