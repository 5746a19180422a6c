package netconf

import (
	"path"
	"strconv"
	"strings"

	"fettle/host"
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
			es := r.ini(systemdINI, f)
			for _, d := range r.dropins(path.Base(f) + ".d") {
				es = append(es, r.ini(systemdINI, d)...)
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

// generated tells whether netplan wrote the file (below /run, "10-netplan-br0.network", "netplan-br0.nmconnection").
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
		for _, e := range r.ini(systemdINI, f) {
			if e.section == "Network" && e.key == "IPv6Forwarding" { // systemd 256
				r.c.Global = append(r.c.Global, Statement{Source: e.Source, Manager: Networkd, Key: KeyIPv6Forwarding,
					Value: yesNo(e.value), Text: e.text()})
			}
		}
	}
}

func (e entry) text() string { return e.key + "=" + e.value }

func (r *reader) netdev(p *profile, es []entry) {
	for _, e := range es {
		if e.section != "NetDev" {
			continue
		}
		switch e.key {
		case "Name":
			p.name, p.match = e.value, named(e.value)
		case "Kind":
			if k := strings.ToLower(e.value); k == "bridge" || k == "vlan" || k == "bond" {
				p.kind = k
			}
		case "MTUBytes":
			r.mtuBytes(p, e)
		}
	}
}

func (r *reader) mtuBytes(p *profile, e entry) {
	if e.value == "" {
		return
	}
	n, err := bytesValue(e.value)
	if err != nil {
		r.problem(p.manager, &host.SyntaxError{Path: e.Path, Line: e.Line, Msg: e.key + ": not a number of bytes"})
		return
	}
	p.say(e.Source, KeyMTU, strconv.Itoa(n), e.text())
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
func (r *reader) network(p *profile, es []entry) {
	for _, e := range es {
		switch e.section {
		case "Match":
			p.matchEntry(e)
		case "Link":
			switch e.key {
			case "MTUBytes":
				r.mtuBytes(p, e)
			case "Unmanaged":
				p.say(e.Source, KeyUnmanaged, yesNo(e.value), e.text())
			case "Name":
				if path.Ext(p.src.Path) == ".link" {
					p.match.alias = e.value
				}
			}
		case "Network":
			switch e.key {
			case "Bridge":
				p.say(e.Source, KeyBridge, e.value, e.text())
			case "IPv6AcceptRA":
				p.say(e.Source, KeyAcceptRA, yesNo(e.value), e.text())
			case "IPv6Forwarding": // systemd 256
				p.say(e.Source, KeyIPv6Forwarding, yesNo(e.value), e.text())
			case "IPForward": // up to systemd 255; later an alias. ipv4 says nothing of IPv6
				v := yesNo(e.value)
				switch v {
				case "ipv6":
					v = "yes"
				case "ipv4", "kernel":
					continue
				}
				p.say(e.Source, KeyIPv6Forwarding, v, e.text())
			case "DHCP":
				v := yesNo(e.value)
				switch v {
				case "ipv6", "both":
					v = "yes"
				case "ipv4", "none", "v4":
					v = "no"
				}
				p.say(e.Source, KeyDHCP6, v, e.text())
			}
		}
	}
	if len(p.match.names) == 1 && !strings.ContainsAny(p.match.names[0], `*?[!\`) {
		p.name = p.match.names[0]
	}
}

func (p *profile) matchEntry(e entry) {
	m, words := &p.match, strings.Fields(e.value)
	switch e.key {
	case "Name", "OriginalName":
		m.names = append(m.names, words...)
		if e.value == "" {
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
		if e.value != "" {
			m.other = e.key
		}
	}
}
