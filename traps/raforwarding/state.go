package raforwarding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/octets"
)

// state is what runs on one interface.
type state struct {
	link      host.Link
	all       string       // all/forwarding, as read
	release   string       // uname -r
	ipv4      bool         // the host has an IPv4 address
	routes    []host.Route // default ones
	routesErr error
	tunnels   []string // VPN links: a default route through one needs another below it

	forwarding, acceptRA int
	disabled             bool
	noDefault, noAuto    bool  // accept_ra_defrtr=0, autoconf=0: less is taken than one may think
	ras                  int64 // advertisements counted since the interface appeared; -1: not known
	rasErr               error
	sends                bool // this host advertises on it: what it sends comes back to it as well
}

var errNoIPv6 = errors.New("the kernel runs no IPv6 on this interface")

// read reads the two values that decide.
func (s *state) read(ctx context.Context, h *host.Host) error {
	if c := s.link.IPv6; c != nil {
		s.forwarding, s.acceptRA = c.Forwarding, c.AcceptRA
		return nil
	}
	dir := confDir + octets.Name(s.link.Name) + "/"
	var err error
	if s.forwarding, err = number(ctx, h, dir+"forwarding"); host.IsAbsent(err) {
		return errNoIPv6 // an MTU below 1280, or gone meanwhile
	} else if err != nil {
		return err
	}
	if s.acceptRA, err = number(ctx, h, dir+"accept_ra"); err != nil {
		return err
	}
	return nil
}

// more reads what is wanted only of interfaces that matter: a container host
// has hundreds that do not.
func (s *state) more(ctx context.Context, h *host.Host) {
	if c := s.link.IPv6; c != nil {
		s.disabled, s.noDefault, s.noAuto = c.Disabled != 0, c.AcceptRADefaultRtr == 0, c.Autoconf == 0
		return
	}
	dir := confDir + octets.Name(s.link.Name) + "/"
	// These only add to the picture; what cannot be read is taken as the default.
	off, _ := number(ctx, h, dir+"disable_ipv6")
	defrtr, errD := number(ctx, h, dir+"accept_ra_defrtr")
	auto, errA := number(ctx, h, dir+"autoconf")
	s.disabled, s.noDefault, s.noAuto = off != 0, errD == nil && defrtr == 0, errA == nil && auto == 0
}

func number(ctx context.Context, h *host.Host, file string) (int, error) {
	v, err := h.ReadString(ctx, file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, &host.SyntaxError{Path: file, Line: 1, Msg: fmt.Sprintf("%q is not a number", v)}
	}
	return n, nil
}

// advertisements reads how many router advertisements have come in, taken or
// not: the kernel counts before it decides (net/ipv6/icmp.c, icmpv6_rcv).
func advertisements(ctx context.Context, h *host.Host, iface string) (int64, error) {
	file := counterFile(iface)
	b, err := h.ReadFile(ctx, file)
	if err != nil {
		return -1, err
	}
	return parseCounter(file, b)
}

// sendsThem tells whether the host itself has sent advertisements on it, as radvd
// and others do. Each is looped back and counted as one that came in.
func sendsThem(ctx context.Context, h *host.Host, iface string) bool {
	b, err := h.ReadFile(ctx, counterFile(iface))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "Icmp6OutRouterAdvertisements" {
			return f[1] != "0"
		}
	}
	return false
}

// parseCounter finds the advertisements in a file of /proc/net/dev_snmp6.
func parseCounter(file string, b []byte) (int64, error) {
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "Icmp6InRouterAdvertisements" {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return -1, &host.SyntaxError{Path: file, Msg: "has no Icmp6InRouterAdvertisements"}
}

func counterFile(iface string) string { return "/proc/net/dev_snmp6/" + iface }

// concerns tells whether somebody could miss advertisements on the interface.
func (s *state) concerns(i intent) bool {
	if i.configured() || s.ras > 0 || s.defaultRoute(anyProto) != nil {
		return true
	}
	for _, a := range s.link.Addrs {
		if a.Scope == "global" {
			return true
		}
	}
	return false
}

func anyProto(string) bool { return true }
func byRA(p string) bool   { return p == "ra" }
func static(p string) bool { return p != "ra" && p != "kernel" }

// defaultRoute finds a default route through the interface.
func (s *state) defaultRoute(proto func(string) bool) *host.Route {
	for i, r := range s.routes {
		if r.Dev == s.link.Name && (r.Type == "" || r.Type == "unicast") && proto(r.Protocol) {
			return &s.routes[i]
		}
	}
	return nil
}

// staticDefault finds a default route that needs no advertisements, through any interface.
func (s *state) staticDefault() *host.Route {
	for i, r := range s.routes {
		if (r.Table == "" || r.Table == "main") && (r.Type == "" || r.Type == "unicast") && static(r.Protocol) &&
			!slices.Contains(s.tunnels, r.Dev) {
			return &s.routes[i]
		}
	}
	return nil
}

// elsewhere tells whether advertisements on another interface gave the host a
// default route: this one may well be the side where the host is the router.
func (s *state) elsewhere() bool {
	return slices.ContainsFunc(s.routes, func(r host.Route) bool {
		return r.Dev != s.link.Name && byRA(r.Protocol)
	})
}

// slaac lists addresses with a lifetime and a prefix of 64 bits, as
// advertisements make them. (DHCPv6 makes /128.)
func (s *state) slaac() []host.Addr {
	var out []host.Addr
	for _, a := range s.link.Addrs {
		if a.Family == "inet6" && a.Scope == "global" && a.Dynamic && a.PrefixLen == 64 {
			out = append(out, a)
		}
	}
	return out
}

// ignores is the kernel's rule, and before 2.6.37 the rule of then, when 2
// was not told from 1.
func (s *state) ignores() bool {
	if s.acceptRA == 0 || s.forwarding == 0 {
		return false
	}
	return s.acceptRA != 2 || oldKernel(s.release)
}

// oldKernel tells whether the kernel takes the value 2 and does nothing with
// it: before Linux 2.6.37.
func oldKernel(release string) bool {
	v, _, _ := strings.Cut(release, "-")
	for i, part := range strings.Split(v, ".") {
		n, err := strconv.Atoi(part)
		if i > 2 || err != nil {
			return false
		}
		if fixed := [...]int{2, 6, 37}[i]; n != fixed {
			return n < fixed
		}
	}
	return false
}

// evidence is what was read of the running state.
func (s *state) evidence() []trap.Evidence {
	dir := confDir + octets.Name(s.link.Name) + "/"
	ev := []trap.Evidence{
		trap.Ev(dir+"forwarding", "%d", s.forwarding),
		trap.Ev(dir+"accept_ra", "%d", s.acceptRA),
	}
	if s.all != strconv.Itoa(s.forwarding) {
		ev = append(ev, trap.Ev(confDir+"all/forwarding", "%s", s.all))
	}
	if s.noDefault {
		ev = append(ev, trap.Ev(dir+"accept_ra_defrtr", "0"))
	}
	if s.noAuto {
		ev = append(ev, trap.Ev(dir+"autoconf", "0"))
	}
	if s.rasErr != nil {
		ev = append(ev, trap.Ev(counterFile(s.link.Name), "not known: %s", host.Reason(s.rasErr)))
	} else {
		ev = append(ev, trap.Ev(counterFile(s.link.Name), "Icmp6InRouterAdvertisements %d", s.ras))
	}
	switch r := s.defaultRoute(anyProto); {
	case s.routesErr != nil:
		ev = append(ev, trap.Ev("IPv6 routes", "not known: %s", host.Reason(s.routesErr)))
	case r != nil:
		ev = append(ev, trap.Ev("IPv6 routes", "default via %s dev %s proto %s", r.Gateway, r.Dev, r.Protocol))
	default:
		ev = append(ev, trap.Ev("IPv6 routes", "no default route through %s", s.link.Name))
	}
	for _, a := range s.slaac() {
		ev = append(ev, trap.Ev("address of "+s.link.Name, "%s/%d, valid for %d s", a.Local, a.PrefixLen, a.Valid))
	}
	return ev
}
