package netconf

import (
	"path"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/format/ini"
	"fettle/internal/sorted"
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
	masterAt              ini.Entry
	priority              int
	st                    []ini.Entry // ipv6.method and the like
	mtu                   *ini.Entry
	parent                *ini.Entry
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
	sorted.By(conns, func(a, b *connection) int { return a.priority - b.priority })
	for _, c := range conns {
		r.addConnection(c, conns)
	}
	r.ifcfg()
}

// keyfile reads one connection.
func (r *reader) keyfile(f string) *connection {
	es := r.ini(NetworkManager, ini.Keyfile, f)
	if len(es) == 0 {
		return nil
	}
	c := &connection{file: f}
	for _, e := range es {
		switch e.Section + "." + e.Key {
		case "connection.id":
			c.id = e.Value
		case "connection.uuid":
			c.uuid = e.Value
		case "connection.type":
			c.typ = e.Value
		case "connection.interface-name":
			c.iface = e.Value
		case "connection.master", "connection.controller":
			c.master, c.masterAt = e.Value, e
		case "connection.slave-type", "connection.port-type":
			c.portType = e.Value
		case "connection.autoconnect-priority":
			c.priority, _ = strconv.Atoi(e.Value) // what is no number counts as 0
		case "ethernet.mac-address", "802-3-ethernet.mac-address":
			c.mac = strings.ToLower(e.Value)
		case "ethernet.mtu", "802-3-ethernet.mtu", "wifi.mtu", "infiniband.mtu", "vlan.mtu":
			if n, err := strconv.ParseUint(e.Value, 10, 31); err != nil && e.Value != "auto" {
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
		p.say(source(*c.mtu), KeyMTU, c.mtu.Value, written(*c.mtu))
	}
	if c.parent != nil {
		p.say(source(*c.parent), KeyParent, c.parent.Value, written(*c.parent))
	}
	if c.master != "" && (c.portType == "bridge" || c.portType == "") {
		master := c.master
		for _, o := range all {
			if o.iface != "" && (o.uuid == master || o.id == master) {
				master = o.iface
				break
			}
		}
		p.say(source(c.masterAt), KeyBridge, master, written(c.masterAt))
	}
	for _, e := range c.st {
		p.say(source(e), KeyMethod6, e.Value, written(e))
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
