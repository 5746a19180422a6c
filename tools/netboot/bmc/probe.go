package bmc

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// Reach is how far one gets to a BMC's port for IPMI.
type Reach int

const (
	Mute        Reach = iota // no answer at all
	Answers                  // a BMC is there
	Closed                   // nothing listens
	Unreachable              // no way to the address
	NoName                   // the name is not known
)

// Both questions need no login. ping is ASF 2.0's presence ping (section 3.2.4.2);
// a BMC that has that turned off still answers Get Channel Authentication
// Capabilities, with which every session begins (IPMI 2.0, sections 13.13 and 22.13).
var (
	ping         = []byte{6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 0, 0, 0}
	capabilities = []byte{6, 0, 0xff, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0x20, 0x18, 0xc8, 0x81, 0, 0x38, 0x0e, 4, 0xb5}
)

// Probe asks the UDP port of a BMC whether it is one, for three seconds at most. why is
// the system's reason of Unreachable and NoName.
func Probe(ctx context.Context, address string) (r Reach, why error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "udp", address)
	if err != nil {
		return unreached(err), err
	}
	defer c.Close()
	for ctx.Err() == nil {
		for _, question := range [][]byte{ping, capabilities} {
			if _, err := c.Write(question); err != nil { // also of the question before: ICMP's answer comes late
				return unreached(err), err
			}
			c.SetReadDeadline(time.Now().Add(400 * time.Millisecond))
			answer := make([]byte, 256)
			n, err := c.Read(answer)
			var timeout net.Error
			switch {
			case err == nil && n >= 4 && answer[0] == 6:
				return Answers, nil
			case err == nil, errors.As(err, &timeout) && timeout.Timeout():
			default:
				return unreached(err), err
			}
		}
	}
	return Mute, nil
}

func unreached(err error) Reach {
	var lookup *net.DNSError
	switch {
	case errors.As(err, &lookup):
		return NoName
	case errors.Is(err, syscall.ECONNREFUSED):
		return Closed
	}
	return Unreachable
}
