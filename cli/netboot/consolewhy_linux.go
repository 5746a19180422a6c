package netboot

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/tools/netboot/bmc"
)

// final is a reason that trying again does not change.
const final = "final"

func (s *session) port() int { return cmp.Or(s.o.port, 623) }

// unreached asks the BMC's port before ipmitool does, which takes 20 seconds to say
// nothing. out: no login needs to be tried.
func (s *session) unreached(ctx context.Context) (why string, out bool) {
	if s.way.kind != "ipmi" {
		return "", false
	}
	s.reach, why = bmc.Mute, ""
	var err error
	s.reach, err = bmc.Probe(ctx, net.JoinHostPort(strings.Trim(s.way.name, "[]"), strconv.Itoa(s.port())))
	at := fmt.Sprintf("UDP port %d of %s", s.port(), ui.Visible(s.way.name))
	switch s.reach {
	case bmc.Closed:
		return "nothing listens on " + at + ": IPMI over LAN is off, or the address is not the BMC's", true
	case bmc.Unreachable:
		return fmt.Sprintf("%s is unreachable: %s", ui.Visible(s.way.name), ui.Visible(err.Error())), true
	case bmc.NoName:
		return ui.Visible(err.Error()), true
	}
	return "", false
}

// failed says why ipmitool opened no session. A login that is refused is not tried
// again: that would lock it.
func (s *session) failed(ctx context.Context, err error) (why string, _ error) {
	if s.way.kind != "ipmi" {
		return "", err
	}
	said := s.said()
	kind := bmc.FailureOf(said)
	if kind == bmc.Silence && s.reach == bmc.Mute {
		return fmt.Sprintf("%s does not answer on UDP port %d: it is off the network, behind a firewall, or IPMI over LAN is off",
			ui.Visible(s.way.name), s.port()), err
	}
	if kind == bmc.Silence { // it is there: ipmitool says why with -v only
		said = s.quietly(ctx, "-v", "chassis", "power", "status")
		kind = bmc.FailureOf(said)
	}
	switch kind {
	case bmc.Refused:
		return final, app.Failf("the BMC refuses the login of %s: %s", ui.Quote(s.o.user), ui.Visible(line(said, bmc.Refused)))
	case bmc.NoCipher:
		return final, app.Failf("the BMC does not support the cipher suite (%s): try --cipher 3 or --cipher 17",
			ui.Visible(line(said, bmc.NoCipher)))
	case bmc.Silence:
		return "the BMC answers, but opens no session: all of its sessions may be in use", err
	}
	return "", err
}

// line is the line that says so.
func line(said string, kind bmc.Failure) string {
	for l := range strings.Lines(said) {
		if bmc.FailureOf(l) == kind {
			return strings.Trim(l, "> \r\n")
		}
	}
	return "no reason given"
}
