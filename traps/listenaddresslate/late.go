package listenaddresslate

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"fettle/host"
	"fettle/host/fact/netstart"
	"fettle/host/format/netconf"
)

// maker is who makes links of a name, and the units to start after for their addresses.
type maker struct{ link, unit string }

// makers are those whose links are there when their unit has started. Whose unit has an instance for each link has LINK in it.
var makers = []maker{
	{"docker", "docker.service"}, {"br-", "docker.service"}, {"virbr", "libvirtd.service"}, {"virbr", "virtnetworkd.service"},
	{"lxdbr", "lxd.service"}, {"lxdbr", "snap.lxd.daemon.service"}, {"lxcbr", "lxc-net.service"}, {"incusbr", "incus.service"},
	{"tailscale", "tailscaled.service"}, {"zt", "zerotier-one.service"}, {"wt", "netbird.service"}, {"tun", "openvpn"},
}

// late says how the address comes, if that is later than the start of a unit that waits for those in behind; empty if it is not.
func (w *world) late(ctx context.Context, l host.Link, a host.Addr, ip netip.Addr, behind map[string]bool) (string, error) {
	vip, err := floats(ctx, w.h, ip)
	if err != nil {
		return "", err
	}
	if vip {
		return "keepalived sets it, some seconds after its own start", nil
	}
	if quick := "wg-quick@" + l.Name + ".service"; l.Info.Kind == "wireguard" && w.units[quick] != nil {
		if behind[quick] {
			return "", nil
		}
		return quick + " sets it, and the service does not start after that", nil
	}
	if netstart.OfDaemon(l) {
		return w.byDaemon(l, behind)
	}
	if !a.Dynamic {
		return "", nil // by the files of the network's manager: other traps tell of those that are in none
	}
	for u := range behind {
		if strings.Contains(u, "wait-online") {
			return "", nil
		}
	}
	switch m := w.net.Carries(l.Name); m {
	case netconf.Ifupdown:
		return "", nil // networking.service ends when the lease is there
	case netconf.Networkd, netconf.NetworkManager:
		by := "DHCP"
		if a.Family == "inet6" {
			by = "DHCP or router advertisements"
		}
		if behind["network-online.target"] {
			return fmt.Sprintf("%s gets it from %s, and no wait-online service of it is enabled", m, by), nil
		}
		return fmt.Sprintf("%s gets it from %s, and the service does not wait for that", m, by), nil
	}
	return "", fmt.Errorf("what sets up %s is not known", l.Name)
}

// byDaemon judges the addresses of links that programs make.
func (w *world) byDaemon(l host.Link, behind map[string]bool) (string, error) {
	made := ""
	for _, m := range makers {
		if !strings.HasPrefix(l.Name, m.link) {
			continue
		}
		for u := range behind {
			if strings.HasPrefix(u, m.unit) {
				return "", nil
			}
		}
		for name, u := range w.units {
			if strings.HasPrefix(name, m.unit) && u.Kind() == "service" {
				if made == "" || name < made {
					made = name
				}
			}
		}
	}
	if made == "" {
		return "", fmt.Errorf("what makes %s is not known", l.Name)
	}
	return made + " makes " + l.Name + ", and the service does not start after that", nil
}

// floats tells whether keepalived moves the address between hosts.
func floats(ctx context.Context, h *host.Host, ip netip.Addr) (bool, error) {
	for _, dir := range []string{"/etc/keepalived", "/etc/keepalived/conf.d"} {
		in, err := h.Glob(ctx, dir, "*.conf")
		if err != nil {
			return false, err
		}
		for _, name := range in {
			text, err := h.ReadString(ctx, name)
			if err != nil && !host.IsAbsent(err) {
				return false, err
			}
			if has, _ := mentions(text, ip); has != 0 {
				return true, nil
			}
		}
	}
	return false, nil
}
