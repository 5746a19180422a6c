package netconf

import "strings"

// What follows is what ifupdown 0.8.41 does, seen with ifup --no-act.

// knowsMTU reports whether the stanza's method has the option mtu; others take
// it, and do nothing with it.
func (s *stanza) knowsMTU() bool {
	switch s.family + " " + s.method {
	case "inet dhcp", "inet bootp", "inet loopback", "inet ppp", "inet wvdial", "inet6 auto", "inet6 dhcp", "inet6 loopback", "can static":
		return false
	}
	return true
}

// setsMTU reports whether the option mtu n of this stanza becomes the MTU of
// the link, which had another before. In an inet6 stanza it only raises that;
// a smaller value goes to net.ipv6.conf.IFACE.mtu.
func (s *stanza) setsMTU(n, had int) bool {
	if had == 0 {
		had = 1500
	}
	return s.knowsMTU() && (s.family != "inet6" || n > had)
}

// mtuOf is the MTU that the stanzas read so far give an interface; 0 for none.
func (c *Config) mtuOf(name string) int {
	i := Iface{Name: name}
	for _, p := range c.profiles {
		if p.manager == Ifupdown && p.name == name {
			for k := range p.st {
				i.take(&p.st[k])
			}
		}
	}
	if i.MTU == nil {
		return 0
	}
	return i.MTU.N
}

// bridgeStanza reports whether the options make a bridge, whose mtu reaches its
// ports whatever the method is.
func bridgeStanza(opts []option) bool {
	for _, o := range opts {
		if n := strings.ReplaceAll(o.name, "-", "_"); n == "bridge_ports" && o.value != "none" {
			return true
		}
	}
	return false
}
