package netconf

import (
	"slices"
	"sort"
	"strconv"
)

// Iface puts together all that applies to the interface of that name.
func (c *Config) Iface(name string) Iface {
	i := Iface{Name: name}
	who := c.ident(name)
	taken := map[string]bool{}
	for _, p := range c.profiles {
		if p.group != "" && taken[p.group] {
			continue
		}
		ok, unsure := p.match.try(who)
		if unsure != "" && len(p.st) > 0 {
			d := &Doubt{Source: p.src, Manager: p.manager, Iface: name, By: unsure}
			for _, s := range p.st {
				d.Keys = append(d.Keys, s.Key)
			}
			i.Unsure = append(i.Unsure, d)
		}
		if !ok {
			continue
		}
		if p.group != "" {
			taken[p.group] = true
		}
		if p.kind != "" {
			i.Kind = p.kind
		}
		if !p.weak && !slices.Contains(i.Claims, p.manager) {
			i.Claims = append(i.Claims, p.manager)
		}
		i.All = append(i.All, p.st...)
	}
	c.relations(&i)
	for k := range i.All {
		i.take(&i.All[k])
	}
	c.decide(&i)
	return i
}

// take lets a statement override what a weaker one said.
func (i *Iface) take(s *Statement) {
	switch s.Key {
	case KeyMTU:
		if n, err := strconv.Atoi(s.Value); err == nil {
			i.MTU = &Int{*s, n}
		}
	case KeyBridge:
		i.Bridge = s
	case KeyParent:
		i.Parent = s
	case KeyAcceptRA:
		i.AcceptRA = s
	case KeyIPv6Forwarding:
		i.IPv6Forwarding = s
	case KeyDHCP6:
		i.DHCP6 = s
	case KeyMethod6:
		i.Method6 = s
	case KeySysctl:
		i.Sysctls = append(i.Sysctls, *s)
	case KeyRenderer:
		i.Renderer = NetworkManager
		if s.Value != "NetworkManager" {
			i.Renderer = Networkd
		}
	}
}

// relations adds what other profiles say about i: the bridge that lists it as
// a port, and the ports that name it as their bridge.
func (c *Config) relations(i *Iface) {
	for _, s := range i.All {
		if s.Key == KeyPort && s.Value != i.Name {
			i.addPort(s)
			i.Kind = "bridge"
		}
	}
	for _, p := range c.profiles {
		for _, s := range p.st {
			switch {
			case s.Key == KeyPort && s.Value == i.Name && p.name != "":
				s.Key, s.Value = KeyBridge, p.name
				i.All = append(i.All, s)
			case s.Key == KeyBridge && s.Value == i.Name:
				i.Kind = "bridge"
				for _, port := range c.covered(p) {
					s.Value = port
					s.Key = KeyPort
					i.addPort(s)
				}
			}
		}
	}
	sort.Slice(i.Ports, func(a, b int) bool { return i.Ports[a].Value < i.Ports[b].Value })
}

func (i *Iface) addPort(s Statement) {
	if !slices.ContainsFunc(i.Ports, func(o Statement) bool { return o.Value == s.Value }) {
		i.Ports = append(i.Ports, s)
	}
}

// covered lists the interfaces that a profile is about: the one it names, and
// the links that it matches and that no earlier profile of its group took.
func (c *Config) covered(p *profile) []string {
	var out []string
	if p.name != "" {
		out = append(out, p.name)
	}
	for _, l := range c.links {
		ok, _ := p.match.try(c.ident(l.Name))
		if !ok || l.Name == p.name || c.first(p.group, l.Name) != p && p.group != "" {
			continue
		}
		out = append(out, l.Name)
	}
	return out
}

func (c *Config) first(group, name string) *profile {
	for _, p := range c.profiles {
		if p.group == group {
			if ok, _ := p.match.try(c.ident(name)); ok {
				return p
			}
		}
	}
	return nil
}

// Names lists every interface that the configuration names, sorted: without
// those that only a pattern covers.
func (c *Config) Names() []string {
	var out []string
	for _, p := range c.profiles {
		if p.name != "" {
			out = append(out, p.name)
		}
		for _, s := range p.st {
			if s.Key == KeyPort || s.Key == KeyBridge {
				out = append(out, s.Value)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
