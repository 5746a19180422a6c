package netconf

import (
	"fmt"
	"path"
	"strings"

	"fettle/host/format/ini"
	"fettle/internal/lazy"
)

var (
	mtuBytesLine = lazy.Regexp(`(^[ \t]*MTUBytes[ \t]*=[ \t]*)(\d+[KMG]?)`)
	mtuLine      = lazy.Regexp(`(^[ \t]*mtu[ \t]*=[ \t]*)(\d+|auto)`)
)

// setNetworkd changes MTUBytes= in the file below /etc that holds, or adds a
// drop-in to the .network (else .netdev) file that is about the interface.
func (c *Config) setNetworkd(i Iface, mtu int) (Edit, error) {
	p := c.networkdProfile(i)
	if p == nil {
		return Edit{}, fmt.Errorf("no .network file is about %s: make one with MTUBytes=%d in its [Link] section", i.Name, mtu)
	}
	if other := c.strangers(p, i); other != "" {
		return Edit{}, fmt.Errorf(
			"%s is also about %s: give %s a .network file of its own with MTUBytes=%d in its [Link] section",
			p.src,
			other,
			i.Name,
			mtu,
		)
	}
	if i.MTU != nil && !shipped(i.MTU.Path) && path.Ext(p.src.Path) == ".network" &&
		strings.HasPrefix(i.MTU.Path, strings.TrimSuffix(p.src.Path, ".network")) {
		return c.replaceOne(i, i.MTU.Source, mtuBytesLine(), mtu)
	}
	section := "Link"
	if path.Ext(p.src.Path) == ".netdev" {
		section = "NetDev"
	}
	e := Edit{Path: path.Join("/etc/systemd/network", path.Base(p.src.Path)+".d", DropIn),
		Content: fmt.Appendf(nil, "[%s]\nMTUBytes=%d\n", section, mtu)}
	e.Was = c.files[e.Path]
	return e, nil
}

// networkdProfile is the .network file that networkd takes for i, or the
// .netdev file that makes it.
func (c *Config) networkdProfile(i Iface) *profile {
	if p := c.first("network", i.Name); p != nil {
		return p
	}
	for _, p := range c.profiles {
		if p.manager == Networkd && p.name == i.Name && path.Ext(p.src.Path) == ".netdev" {
			return p
		}
	}
	return nil
}

// strangers names an interface that the profile covers too and that is no
// port of the same bridge; a pattern without links to try it on is one as well.
func (c *Config) strangers(p *profile, i Iface) string {
	if p.name == i.Name {
		return ""
	}
	if len(c.links) == 0 {
		return strings.Join(p.match.names, " ")
	}
	for _, n := range c.covered(p) {
		o := c.Iface(n)
		if n != i.Name && (i.Bridge == nil || o.Bridge == nil || i.Bridge.Value != o.Bridge.Value) {
			return n
		}
	}
	return ""
}

// setKeyfile changes or adds mtu= in the [ethernet] section of the
// connection, which bridges, bonds and VLANs have as well (nm-settings-keyfile(5)).
func (c *Config) setKeyfile(i Iface, mtu int) (Edit, error) {
	var file string
	for _, p := range c.profiles {
		if p.manager == NetworkManager {
			if ok, _ := p.match.try(c.ident(i.Name)); ok {
				file = p.src.Path // the last has the highest priority
			}
		}
	}
	b, err := c.raw(file)
	if err != nil {
		return Edit{}, err
	}
	if shipped(file) {
		return Edit{}, fmt.Errorf("%s is not below /etc: use nmcli connection modify … 802-3-ethernet.mtu %d", file, mtu)
	}
	l, section := cut(b), 0
	parsed := ini.Parse(ini.Keyfile, file, b)
	for _, e := range parsed.Entries {
		if e.Section != "ethernet" && e.Section != "802-3-ethernet" {
			continue
		}
		if section = e.Line; e.Key == "mtu" {
			l, ok := l.replaceNumber(e.Line, mtuLine(), mtu)
			if !ok {
				return Edit{}, fmt.Errorf("%s: %w: set mtu=%d there", source(e), errContinued, mtu)
			}
			return Edit{Path: file, Was: b, Content: l.bytes()}, nil
		}
	}
	text := fmt.Sprintf("mtu=%d", mtu)
	if section > 0 {
		return Edit{Path: file, Was: b, Content: l.insert(section+1, text).bytes()}, nil
	}
	for _, h := range parsed.Sections { // an empty one
		if h.Name == "ethernet" || h.Name == "802-3-ethernet" {
			return Edit{Path: file, Was: b, Content: l.insert(h.Line+1, text).bytes()}, nil
		}
	}
	return Edit{Path: file, Was: b, Content: l.insert(len(l)+1, "\n[ethernet]\n"+text).bytes()}, nil
}
