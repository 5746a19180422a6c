package netstart

import (
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/format/netconf"
	"fettle/internal/lazy"
)

// asksDHCP finds links that get their address from a server.
var asksDHCP = lazy.Regexp(`(?im)^\s*(?:iface\s+\S+\s+inet6?\s+dhcp\b|DHCP\s*=\s*(?:yes|true|on|1|ipv4|ipv6|both|v4|v6)\b|` +
	`dhcp[46]:\s*(?:true|yes|on)\b|method\s*=\s*(?:auto|dhcp)\b)`)

// asks reports whether a link may have its first address from a server: a file of a manager that is
// active says so, and names the link, or the link is a device, which a pattern may match.
func (s *Start) asks(l host.Link) bool {
	for file, text := range s.dhcp {
		if m := managerOf(file); m != "" && !s.conf.Active(m) {
			continue // systemd brings such files, whether networkd runs or not
		}
		if l.Info.Kind == "" || slices.Contains(strings.FieldsFunc(text, separates), l.Name) {
			return true
		}
	}
	return false
}

// managerOf is whose file it is, by its folder; empty for netplan's, which others carry out.
func managerOf(file string) netconf.Manager {
	switch {
	case strings.Contains(file, "/systemd/network/"):
		return netconf.Networkd
	case strings.Contains(file, "/NetworkManager/"):
		return netconf.NetworkManager
	case strings.HasPrefix(file, "/etc/network/"):
		return netconf.Ifupdown
	}
	return ""
}

// device is the link of that name.
func (s *Start) device(name string) host.Link {
	for _, l := range s.Links {
		if l.Name == name {
			return l
		}
	}
	return host.Link{Name: name}
}
