// Package listenaddressbyhand finds addresses on which sshd listens and that will not be there
// when it starts again.
package listenaddressbyhand

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/netstart"
	"fettle/host/format/sshd"
)

//go:embed lore.md
var lore trap.Lore

// Trap is listen-address-by-hand.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

const subject = "sshd"

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if !h.Running() {
		return host.ErrNotRunning
	}
	if container.NetworkGiven(ctx, h) {
		r.NotApplicable("", "the container engine sets up its network")
		return nil
	}
	us, err := h.Units(ctx, "ssh.service", "sshd.service", "ssh.socket", "sshd.socket")
	if err != nil {
		return err
	}
	switch {
	case us["ssh.socket"].Active() || us["sshd.socket"].Active():
		r.NotApplicable("", "systemd listens for sshd")
		return nil
	case !us["ssh.service"].Active() && !us["sshd.service"].Active():
		r.NotApplicable("", "sshd does not run")
		return nil
	}
	c, err := sshd.Read(ctx, h)
	if err != nil {
		return err
	}
	if c.Unread != nil {
		return c.Unread
	}
	at := addresses(c)
	if len(at) == 0 {
		r.NotApplicable("", "sshd listens on all addresses")
		return nil
	}
	return judge(ctx, h, r, at)
}

// listener is one ListenAddress. ip is not valid for a host name.
type listener struct {
	sshd.Directive
	ip netip.Addr
}

func addresses(c *sshd.Config) []listener {
	var out []listener
	for _, d := range c.Settings("ListenAddress") {
		if d.Global() && d.Ignored == "" && len(d.Args) > 0 {
			out = append(out, listener{d, address(d.Args[0])})
		}
	}
	return out
}

// address reads "host", "v4:port", "[v6]:port" and "v6" (sshd_config(5), ListenAddress).
func address(s string) netip.Addr {
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return a.Unmap()
	}
	hostPart, _, err := net.SplitHostPort(s)
	if err != nil {
		return netip.Addr{}
	}
	a, _ := netip.ParseAddr(hostPart)
	return a.Unmap()
}

// lost is a ListenAddress that cannot be bound at the next start.
type lost struct {
	listener
	why string
}

func judge(ctx context.Context, h *host.Host, r *trap.Report, at []listener) error {
	s, err := netstart.Read(ctx, h)
	if err != nil {
		return err
	}
	var gone []lost
	var unsure error
	for _, l := range at {
		why, err := fate(ctx, h, s, l)
		if err != nil && unsure == nil {
			unsure = err
		}
		if why != "" {
			gone = append(gone, lost{l, why})
		}
	}
	switch {
	case unsure != nil:
		r.Unknown(subject, unsure)
	case len(gone) == 0:
		r.Clear(subject, "the addresses on which it listens are configured")
	default:
		r.Found(finding(gone, len(gone) == len(at)))
	}
	return nil
}

// fate says why an address cannot be bound at the next start; empty if it can.
func fate(ctx context.Context, h *host.Host, s *netstart.Start, l listener) (string, error) {
	if !l.ip.IsValid() {
		return "", fmt.Errorf("%s: %s is a name, whose addresses are not known before the start", l.Place, l.Args[0])
	}
	if l.ip.IsUnspecified() || l.ip.IsLoopback() || l.ip.Zone() != "" {
		return "", nil
	}
	free, err := netstart.BindsFreely(ctx, h, l.ip)
	if err != nil || free {
		return "", err
	}
	switch there, byHand := s.Has(l.ip); {
	case there && !byHand:
		return "", nil
	case !there && s.Names(l.ip):
		return "", nil // its link is down, or another member of the cluster has it
	case s.Unsure != nil:
		return "", s.Unsure
	case s.Maker() != "":
		return "", fmt.Errorf("no file names %s, but %s may bring it back", l.ip, s.Maker())
	case there:
		return "was added by hand, and is gone after a restart", nil
	}
	return "is not there, and no configuration names it", nil
}

func finding(gone []lost, all bool) trap.Finding {
	var names []string
	var ev []trap.Evidence
	for _, g := range gone {
		names = append(names, g.ip.String())
		ev = append(ev, trap.Ev(g.Place.String(), "ListenAddress %s", strings.Join(g.Args, " ")),
			trap.Ev("ip address", "%s %s", g.ip, g.why))
	}
	f := trap.Finding{
		Subject: subject, Severity: trap.Critical, Start: trap.StartFails, Evidence: ev,
		Summary: "listens only on addresses that no configuration names: after a restart it does not start, and nobody can log in over SSH",
		ByHand:  "add " + strings.Join(names, ", ") + " to the network's configuration, or remove the ListenAddress",
	}
	if !all {
		f.Severity, f.Start, f.Lost = trap.Warning, trap.StartWithout, "sshd on "+strings.Join(names, ", ")
		f.Summary = "listens on an address that no configuration names: after a restart it can be reached on the others alone"
	}
	return f
}
