package netconf

import (
	"path"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/format/ini"
)

// networkdDirs are the folders of .network, .netdev and .link files, the
// strongest first (systemd.network(5); /usr/local/lib since systemd 247).
var networkdDirs = []string{
	"/etc/systemd/network", "/run/systemd/network", "/usr/local/lib/systemd/network", "/usr/lib/systemd/network", "/lib/systemd/network",
}

// networkd reads systemd-networkd's files. The strength of a statement about
// the MTU grows from .netdev over .link to .network, the order in which they act.
// skipNetplan leaves out what netplan wrote, where netplan's own files were read.
func (r *reader) networkd(skipNetplan bool) {
	r.networkdGlobal()
	for _, ext := range []string{"netdev", "link", "network"} {
		for _, f := range r.overlay(Networkd, networkdDirs, "."+ext) {
			if skipNetplan && generated(f) {
				continue
			}
			es := r.ini(Networkd, ini.Systemd, f)
			for _, d := range r.dropins(path.Base(f) + ".d") {
				es = append(es, r.ini(Networkd, ini.Systemd, d)...)
			}
			p := &profile{manager: Networkd, src: Source{Path: f}}
			switch ext {
			case "netdev":
				r.netdev(p, es)
			case "link":
				p.weak, p.group = true, ext // udev carries these out, networkd or not
				r.network(p, es)
			default:
				p.group = ext
				r.network(p, es)
			}
			r.add(p)
		}
	}
}

// generated reports whether netplan wrote the file (below /run, "10-netplan-br0.network", "netplan-br0.nmconnection").
func generated(f string) bool {
	return strings.HasPrefix(f, "/run/") && (strings.HasPrefix(path.Base(f), "10-netplan-") || strings.HasPrefix(path.Base(f), "netplan-"))
}

func (r *reader) dropins(dir string) []string {
	var dirs []string
	for _, d := range networkdDirs {
		dirs = append(dirs, path.Join(d, dir))
	}
	return r.overlay(Networkd, dirs, ".conf")
}

func (r *reader) networkdGlobal() {
	files := []string{"/etc/systemd/networkd.conf"}
	files = append(files, r.overlay(Networkd, []string{"/etc/systemd/networkd.conf.d", "/run/systemd/networkd.conf.d",
		"/usr/local/lib/systemd/networkd.conf.d", "/usr/lib/systemd/networkd.conf.d"}, ".conf")...)
	for _, f := range files {
		for _, e := range r.ini(Networkd, ini.Systemd, f) {
			if e.Section == "Network" && e.Key == "IPv6Forwarding" { // systemd 256
				r.c.Global = append(r.c.Global, Statement{Source: source(e), Manager: Networkd, Key: KeyIPv6Forwarding,
					Value: yesNo(e.Value), Text: written(e)})
			}
		}
	}
}

func (r *reader) netdev(p *profile, es []ini.Entry) {
	for _, e := range es {
		if e.Section != "NetDev" {
			continue
		}
		switch e.Key {
		case "Name":
			p.name, p.match = e.Value, named(e.Value)
		case "Kind":
			if k := strings.ToLower(e.Value); k == "bridge" || k == "vlan" || k == "bond" {
				p.kind = k
			}
		case "MTUBytes":
			r.mtuBytes(p, e)
		}
	}
}

func (r *reader) mtuBytes(p *profile, e ini.Entry) {
	if e.Value == "" {
		return
	}
	n, err := bytesValue(e.Value)
	if err != nil {
		r.problem(p.manager, &host.SyntaxError{Path: e.Path, Line: e.Line, Msg: e.Key + ": not a number of bytes"})
		return
	}
	p.say(source(e), KeyMTU, strconv.Itoa(n), written(e))
}

// bytesValue reads a number with systemd's suffixes K, M and G to the base of 1024.
func bytesValue(v string) (int, error) {
	mult := 1
	switch {
	case strings.HasSuffix(v, "K"):
		mult = 1 << 10
	case strings.HasSuffix(v, "M"):
		mult = 1 << 20
	case strings.HasSuffix(v, "G"):
		mult = 1 << 30
	}
	n, err := strconv.ParseUint(strings.TrimRight(v, "KMG"), 10, 32)
	return int(n) * mult, err
}

// network reads a .network or .link file, which differ in what [Match] calls
// the name: a .link file matches the name given before renaming.
func (r *reader) network(p *profile, es []ini.Entry) {
	for _, e := range es {
		switch e.Section {
		case "Match":
			p.matchEntry(e)
		case "Link":
			switch e.Key {
			case "MTUBytes":
				r.mtuBytes(p, e)
			case "Unmanaged":
				p.say(source(e), KeyUnmanaged, yesNo(e.Value), written(e))
			case "Name":
				if path.Ext(p.src.Path) == ".link" {
					p.match.alias = e.Value
				}
			}
		case "Network":
			switch e.Key {
			case "Bridge":
				p.say(source(e), KeyBridge, e.Value, written(e))
			case "IPv6AcceptRA":
				p.say(source(e), KeyAcceptRA, yesNo(e.Value), written(e))
			case "IPv6Forwarding": // systemd 256
				p.say(source(e), KeyIPv6Forwarding, yesNo(e.Value), written(e))
			case "IPForward": // up to systemd 255; later an alias. ipv4 says nothing of IPv6
				v := yesNo(e.Value)
				switch v {
				case "ipv6":
					v = "yes"
				case "ipv4", "kernel":
					continue
				}
				p.say(source(e), KeyIPv6Forwarding, v, written(e))
			case "DHCP":
				v := yesNo(e.Value)
				switch v {
				case "ipv6", "both":
					v = "yes"
				case "ipv4", "none", "v4":
					v = "no"
				}
				p.say(source(e), KeyDHCP6, v, written(e))
			}
		}
	}
	if len(p.match.names) == 1 && !strings.ContainsAny(p.match.names[0], `*?[!\`) {
		p.name = p.match.names[0]
	}
}

func (p *profile) matchEntry(e ini.Entry) {
	m, words := &p.match, strings.Fields(e.Value)
	switch e.Key {
	case "Name", "OriginalName":
		m.names = append(m.names, words...)
		if e.Value == "" {
			m.names = nil
		}
	case "MACAddress", "PermanentMACAddress": // the permanent one is taken to be the present one
		for _, w := range words {
			m.macs = append(m.macs, strings.ToLower(strings.ReplaceAll(w, "-", ":")))
		}
	case "Kind":
		m.kinds = append(m.kinds, words...)
	case "Type":
		m.types = append(m.types, words...)
	default:
		if e.Value != "" {
			m.other = e.Key
		}
	}
}
