package netconf

import (
	"path"
	"strings"
)

// ident is what an interface can be recognised by. Without link information
// only the name is known.
type ident struct {
	name  string
	known bool // the link is there: mac, kind and typ are facts
	mac   string
	kind  string // bridge, veth, …; empty for a device
	typ   string // link type as networkd calls it: ether, bridge, vlan, …
}

func (c *Config) ident(name string) ident {
	if c.idents == nil {
		c.idents = map[string]ident{}
		for _, l := range c.links {
			typ := l.Info.Kind
			if typ == "" || typ == "veth" || typ == "tun" {
				typ = l.LinkType
			}
			c.idents[l.Name] = ident{l.Name, true, strings.ToLower(l.MAC), l.Info.Kind, typ}
		}
	}
	if i, ok := c.idents[name]; ok {
		return i
	}
	return ident{name: name}
}

// match says which interfaces a profile is about. All fields that are set
// must fit; within a field any pattern may. "!" before the first pattern turns
// the field round (systemd.network(5), [Match]).
type match struct {
	names []string // shell patterns
	macs  []string
	kinds []string
	types []string
	// other is a criterion that is never known here ("Driver=").
	other string
	// alias is a name that the profile itself gives to what it matches.
	alias string
}

func named(name string) match { return match{names: []string{escape(name)}} }

// escape makes a pattern that matches exactly name.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// try reports whether the profile is about the interface. If that hangs on
// something unknown, it says on what, and answers no.
func (m match) try(i ident) (ok bool, unsure string) {
	if m.alias != "" && m.alias == i.name {
		return true, ""
	}
	if len(m.names) == 0 && len(m.macs) == 0 && len(m.kinds) == 0 && len(m.types) == 0 && m.other == "" {
		return false, ""
	}
	if len(m.names) > 0 && !anyPattern(m.names, i.name) {
		return false, ""
	}
	for _, f := range []struct {
		what     string
		patterns []string
		have     string
	}{{"MAC address", m.macs, i.mac}, {"kind", m.kinds, i.kind}, {"type", m.types, i.typ}} {
		switch {
		case len(f.patterns) == 0:
		case !i.known:
			unsure = f.what
		case !anyPattern(f.patterns, f.have):
			return false, ""
		}
	}
	if m.other != "" {
		unsure = m.other
	}
	return unsure == "", unsure
}

// anyPattern reports whether s fits one of the shell patterns.
func anyPattern(patterns []string, s string) bool {
	invert := strings.HasPrefix(patterns[0], "!")
	for k, p := range patterns {
		if k == 0 {
			p = strings.TrimPrefix(p, "!")
		}
		if ok, err := path.Match(p, s); ok && err == nil {
			return !invert
		}
	}
	return invert
}
