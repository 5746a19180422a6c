// Package listenaddresslate finds services that listen on an address which the network gets only after boot has started them.
package listenaddresslate

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/fact/container"
	"fettle/host/fact/netstart"
	"fettle/host/fact/startup"
)

//go:embed lore.md
var lore trap.Lore

// Trap is listen-address-late.
var Trap = trap.Trap{Lore: lore, Cost: trap.Instant, Check: check}

func check(ctx context.Context, h *host.Host, r *trap.Report) error {
	if container.NetworkGiven(ctx, h) {
		r.NotApplicable("", "the container engine sets up its network")
		return nil
	}
	all, err := startup.Units(ctx, h)
	if startup.WithoutManager(ctx, h, err) {
		r.NotApplicable("", startup.NoManager)
		return nil
	}
	if err != nil {
		return err
	}
	listeners, err := h.Listeners(ctx)
	if err != nil {
		return err
	}
	sockets := slices.DeleteFunc(slices.Clone(listeners), func(l host.Listener) bool { return !specific(l) })
	if len(sockets) == 0 {
		r.Clear("", "no service listens on one of the host's addresses only")
		return nil
	}
	w := &world{h: h, units: map[string]*startup.Unit{}, reported: map[string]bool{}, all: listeners}
	for i := range all {
		w.units[all[i].ID] = &all[i]
	}
	if w.net, err = netstart.Read(ctx, h); err != nil {
		return err
	}
	if w.order, err = startup.ReadOrder(ctx, h); err != nil {
		return err
	}
	for _, l := range sockets {
		if err := w.one(ctx, r, l); err != nil && !w.reported[subject(l)] {
			w.reported[subject(l)] = true
			r.Unknown(subject(l), err)
		}
	}
	if len(w.reported) == 0 {
		r.Clear("", "services that listen on one address start after it is there, or try again")
	}
	return nil
}

// specific reports whether a socket is one of the host's own that listens on one address of an interface. UDP sockets are left
// out: DHCP clients and time servers bind one for each address that they find.
func specific(l host.Listener) bool {
	ip, err := netip.ParseAddr(l.Address)
	if err != nil || l.Proto != "tcp" || !l.Own() {
		return false
	}
	ip = ip.Unmap()
	return !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !slices.Contains(byThemselves, l.Comm)
}

// everywhere reports whether a socket listens on all addresses, of either protocol.
func everywhere(l host.Listener) bool {
	ip, err := netip.ParseAddr(l.Address)
	return err == nil && ip.Unmap().IsUnspecified()
}

// byThemselves are programs that listen on the addresses that they find, and look again, or bind to addresses that are not there.
var byThemselves = []string{"systemd", "named", "smbd", "nmbd", "samba", "ntpd", "chronyd", "knotd", "tailscaled", "dockerd",
	"docker-proxy", "keepalived", "charon", "charon-systemd", "corosync", "rpcbind", "avahi-daemon"}

// subject is stable: the unit and its address.
func subject(l host.Listener) string {
	if l.Unit == "" {
		return l.Address
	}
	return l.Unit + " on " + l.Address
}

// world is what all sockets share.
type world struct {
	h        *host.Host
	net      *netstart.Start
	order    *startup.Order
	units    map[string]*startup.Unit
	all      []host.Listener
	reported map[string]bool // subjects
}

func (w *world) one(ctx context.Context, r *trap.Report, l host.Listener) error {
	ip, _ := netip.ParseAddr(l.Address)
	ip = ip.Unmap()
	link, addr, there := w.link(ip)
	if w.reported[subject(l)] || !there {
		return nil // bound to an address that is not there: that program can
	}
	if l.PID == 0 {
		return fmt.Errorf("the program that listens on port %d is not known", l.Port)
	}
	u := w.units[l.Unit]
	behind := w.order.Behind(l.Unit)
	if u == nil || u.Kind() != "service" || behind == nil {
		return nil // boot does not start it
	}
	late, err := w.late(ctx, link, addr, ip, behind)
	if late == "" || err != nil {
		return err
	}
	text, err := startup.Read(ctx, w.h, u)
	if err != nil || restarts(text) {
		return err
	}
	place, free, err := names(ctx, w.h, u, text, ip)
	if err != nil || place == "" || free {
		return err
	}
	if free, err := netstart.BindsFreely(ctx, w.h, ip); err != nil || free {
		return err
	}
	w.reported[subject(l)] = true
	r.Found(w.finding(l, late, place))
	return nil
}

func (w *world) link(ip netip.Addr) (host.Link, host.Addr, bool) {
	for _, l := range w.net.Links {
		for _, a := range l.Addrs {
			if a.Local == ip.String() {
				return l, a, true
			}
		}
	}
	return host.Link{}, host.Addr{}, false
}

// logins are the services by which people log in from elsewhere.
var logins = []string{"ssh.service", "sshd.service"}

func (w *world) finding(l host.Listener, late, place string) trap.Finding {
	at := netip.AddrPortFrom(netip.MustParseAddr(l.Address), uint16(l.Port)).String()
	f := trap.Finding{
		Subject: subject(l), Severity: trap.Warning, Lost: subject(l),
		Summary: "starts before the address is there, and does not try again: " + late,
		ByHand: "systemctl edit " + l.Unit + ": in [Unit] Wants=network-online.target and After=network-online.target, in [Service] " +
			"Restart=on-failure and RestartSec=5; or listen on all addresses",
		Evidence: []trap.Evidence{
			trap.Ev("/proc/net/tcp", "%s (%s, process %s) listens on %s", l.Unit, l.Comm, strconv.Itoa(l.PID), at),
			trap.Ev(place, "names %s", l.Address),
		},
	}
	if slices.Contains(logins, l.Unit) && !slices.ContainsFunc(w.all, func(o host.Listener) bool {
		return o.Unit == l.Unit && o.Address != l.Address && (specific(o) || everywhere(o))
	}) {
		f.Severity, f.Start, f.Lost = trap.Critical, trap.StartFails, ""
		f.Summary = "starts before the only address on which it listens is there, and nobody can log in over SSH: " + late
	}
	return f
}
