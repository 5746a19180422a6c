package netconf

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
)

// keyfileDirs are the folders of NetworkManager's connections, the strongest
// first (NetworkManager.conf(5), keyfile).
var keyfileDirs = []string{
	"/etc/NetworkManager/system-connections", "/run/NetworkManager/system-connections", "/usr/lib/NetworkManager/system-connections",
}

// connection is one keyfile, as far as it is read: nothing that may be a
// secret is kept.
type connection struct {
	file                  string
	id, uuid, typ, iface  string
	master, portType, mac string
	masterAt              entry
	priority              int
	st                    []entry // ipv6.method and the like
	mtu                   *entry
	parent                *entry
}

func (r *reader) networkManager(skipNetplan bool) {
	var conns []*connection
	seen := map[string]bool{}
	for _, dir := range keyfileDirs {
		names, err := r.h.Glob(r.ctx, dir, "*")
		r.problem(NetworkManager, err)
		for _, f := range names {
			// nm-keyfile ignores hidden files and what editors leave behind.
			base := path.Base(f)
			if strings.HasPrefix(base, ".") || strings.HasSuffix(base, "~") || strings.HasSuffix(base, ".bak") || skipNetplan && generated(f) {
				continue
			}
			if i, err := r.h.Stat(r.ctx, f); err == nil && i.Mode.IsDir() {
				continue
			}
			c := r.keyfile(f)
			if c == nil || c.uuid != "" && seen[c.uuid] {
				continue // a stronger folder holds the same connection
			}
			seen[c.uuid] = true
			conns = append(conns, c)
		}
	}
	// The connection of the highest priority is activated (nm-settings(5),
	// connection.autoconnect-priority): it speaks last.
	slices.SortStableFunc(conns, func(a, b *connection) int { return a.priority - b.priority })
	for _, c := range conns {
		r.addConnection(c, conns)
	}
	r.ifcfg()
}

// keyfile reads one connection.
func (r *reader) keyfile(f string) *connection {
	es := r.ini(keyfileINI, f)
	if len(es) == 0 {
		return nil
	}
	c := &connection{file: f}
	for _, e := range es {
		switch e.section + "." + e.key {
		case "connection.id":
			c.id = e.value
		case "connection.uuid":
			c.uuid = e.value
		case "connection.type":
			c.typ = e.value
		case "connection.interface-name":
			c.iface = e.value
		case "connection.master", "connection.controller":
			c.master, c.masterAt = e.value, e
		case "connection.slave-type", "connection.port-type":
			c.portType = e.value
		case "connection.autoconnect-priority":
			c.priority, _ = strconv.Atoi(e.value) // what is no number counts as 0
		case "ethernet.mac-address", "802-3-ethernet.mac-address":
			c.mac = strings.ToLower(e.value)
		case "ethernet.mtu", "802-3-ethernet.mtu", "wifi.mtu", "infiniband.mtu", "vlan.mtu":
			if n, err := strconv.ParseUint(e.value, 10, 31); err != nil && e.value != "auto" {
				r.problem(NetworkManager, &host.SyntaxError{Path: f, Line: e.Line, Msg: "mtu: not a number of bytes"})
			} else if n > 0 { // 0 and auto: whatever the link has
				c.mtu = &e
			}
		case "vlan.parent":
			c.parent = &e
		case "ipv6.method":
			c.st = append(c.st, e)
		}
	}
	return c
}

func (r *reader) addConnection(c *connection, all []*connection) {
	p := &profile{manager: NetworkManager, name: c.iface, src: Source{Path: c.file}}
	switch {
	case c.iface != "":
		p.match = named(c.iface)
		if c.mac != "" {
			p.match.macs = []string{c.mac}
			p.match.alias = c.iface // a name is enough: it will not be given to another card on purpose
		}
	case c.mac != "":
		p.match = match{macs: []string{c.mac}}
	default:
		// Any device of the type may get this connection, as NetworkManager likes.
		p.match = match{other: "NetworkManager's choice"}
		if c.typ == "ethernet" || c.typ == "802-3-ethernet" || c.typ == "wifi" {
			p.match.kinds = []string{""} // a device, not a bridge or a VLAN
		}
	}
	if c.typ == "bridge" || c.typ == "vlan" || c.typ == "bond" {
		p.kind = c.typ
	}
	if c.mtu != nil {
		p.say(c.mtu.Source, KeyMTU, c.mtu.value, c.mtu.text())
	}
	if c.parent != nil {
		p.say(c.parent.Source, KeyParent, c.parent.value, c.parent.text())
	}
	if c.master != "" && (c.portType == "bridge" || c.portType == "") {
		master := c.master
		for _, o := range all {
			if o.iface != "" && (o.uuid == master || o.id == master) {
				master = o.iface
				break
			}
		}
		p.say(c.masterAt.Source, KeyBridge, master, c.masterAt.text())
	}
	for _, e := range c.st {
		p.say(e.Source, KeyMethod6, e.value, e.text())
	}
	r.add(p)
}

// ifcfg says that the files of Red Hat's old network scripts are there, which
// this package does not read.
func (r *reader) ifcfg() {
	names, err := r.h.Glob(r.ctx, "/etc/sysconfig/network-scripts", "ifcfg-*")
	r.problem(NetworkManager, err)
	for _, n := range names {
		if base := path.Base(n); base != "ifcfg-lo" {
			r.problem(NetworkManager, &host.SyntaxError{Path: n, Msg: "this form of network configuration (ifcfg) is not read by fettle"})
			return
		}
	}
}
