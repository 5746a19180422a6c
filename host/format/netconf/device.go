package netconf

import (
	"slices"

	"fettle/host"
	"fettle/internal/lazy"
)

// ethernet are names of Ethernet devices: the kernel's, udev's (systemd.net-naming-scheme(7)) and biosdevname's. USB's (a u, or
// enx and the MAC address), radio's and mobile ones come and go.
var ethernet = lazy.Regexp(`^(?:eth\d+|en(?:P\d+)?[dops][0-9a-tv-z]+|enX\d+|em\d+|p\d+p\d+)$`)

// IsDevice reports whether a link is an Ethernet device, a virtual machine's too, and no link that somebody made.
func IsDevice(l host.Link) bool {
	return l.Info.Kind == "" && l.LinkType == "ether" && ethernet().MatchString(l.Name)
}

// Absent are the Ethernet devices that the configuration of a manager names, and that are not there; without those whose
// manager is idle.
func (c *Config) Absent() []Iface {
	var out []Iface
	for _, name := range c.Names() {
		there := func(l host.Link) bool { return l.Name == name || slices.Contains(l.AltNames, name) }
		if !ethernet().MatchString(name) || slices.ContainsFunc(c.links, there) {
			continue
		}
		if i := c.Iface(name); i.Kind == "" && i.Manager != "" && !c.Idle(i.Carrier()) {
			out = append(out, i)
		}
	}
	return out
}

// Carrier is the program that carries the configuration out, netplan's too.
func (i Iface) Carrier() Manager {
	if i.Manager == Netplan {
		return i.Renderer
	}
	return i.Manager
}
