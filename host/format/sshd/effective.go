package sshd

import (
	"net/netip"
	"slices"
	"strings"
)

// challenge is a keyword of its own before 8.7: sshd of then turns
// keyboard-interactive on when either is on (sshd.c, main).
const (
	challenge   = "challengeresponseauthentication"
	interactive = "kbdinteractiveauthentication"
)

// For is the configuration of one connection. The zero Conn gives what
// `sshd -T` prints: no Match block counts but "Match all".
func (c *Config) For(conn Conn) *Effective {
	if c.Version.Known() || c.Includes {
		return c.effective(conn, c.Version.Before(8, 7))
	}
	// Either spelling rule may be sshd's: where they differ, nobody knows.
	e, old := c.effective(conn, false), c.effective(conn, true)
	if a, b := e.Get(interactive), old.Get(interactive); a.Value() != b.Value() {
		a.Known = false
		e.set[interactive] = a
	}
	return e
}

func (c *Config) effective(conn Conn, old bool) *Effective {
	// sshd reads its files twice: first what counts for all connections, then
	// what Match blocks add, and the second replaces the first.
	global := c.pass(old, func(d Directive) bool {
		return !slices.ContainsFunc(d.Match, func(m *Match) bool { return !m.All() })
	})
	if old {
		both(global)
	}
	matched := c.pass(old, func(d Directive) bool {
		return len(d.Match) > 0 && !slices.ContainsFunc(d.Match, func(m *Match) bool { return !m.Matches(conn) })
	})
	for name, s := range matched {
		k := byName()[name]
		if k == nil || !k.match {
			continue
		}
		if was, ok := global[name]; k.kind == kRekey && ok && s.Values[1] == "" {
			s.Values = []string{s.Values[0], was.Values[1]}
		}
		global[name] = s
	}
	return &Effective{cfg: c, set: global, old: old}
}

// both is what sshd before 8.7 makes of its two keywords after the first pass.
func both(set map[string]Setting) {
	s, ok := set[challenge]
	if !ok {
		s = Setting{Keyword: challenge, Values: []string{"yes"}, Known: true}
	}
	if s.Value() == "yes" && set[interactive].Value() != "yes" {
		s.Keyword = interactive
		set[interactive] = s
	}
}

// pass applies all lines that count, in order.
func (c *Config) pass(old bool, counts func(Directive) bool) map[string]Setting {
	set := map[string]Setting{}
	for _, d := range c.Lines {
		if d.Ignored != "" || !counts(d) {
			continue
		}
		k, _ := lookup(d.Keyword)
		name := k.name
		if low := strings.ToLower(d.Spelling); old && (low == challenge || low == "skeyauthentication") {
			name = challenge
		}
		s, ok := set[name]
		switch {
		case !ok:
			set[name] = Setting{Keyword: name, Values: d.values, Place: d.Place, Known: k.known(d.values)}
		case k.last:
			// The last counts up to 9.2; at some later version the first came to.
			differ := !slices.Equal(s.Values, d.values) && !c.Version.Before(9, 3)
			set[name] = Setting{Keyword: name, Values: d.values, Place: d.Place, Known: !differ}
		case k.kind == kAppend || k.kind == kPort || k.kind == kListen || k.kind == kSubsystem:
			s.Values = append(slices.Clip(s.Values), d.values...)
			set[name] = s
		case k.kind == kRekey && s.Values[1] == "":
			s.Values = []string{s.Values[0], d.values[1]}
			set[name] = s
		}
	}
	return set
}

// known reports whether sshd -T prints these values as they are: a change to the
// default list of algorithms depends on that list.
func (k *keyword) known(values []string) bool {
	return k.kind != kAlgo || len(values) == 1 && !strings.ContainsAny(values[0][:1], "+-^") && !strings.ContainsAny(values[0], "*?!")
}

// Get is the effective value of a keyword in any spelling. A keyword that
// fettle does not know has none, and is not Known.
func (e *Effective) Get(spelling string) Setting {
	k, ok := lookup(spelling)
	if !ok {
		return Setting{Keyword: strings.ToLower(spelling)}
	}
	if k.kind == kListen {
		return e.listens()
	}
	s, ok := e.set[k.name]
	if !ok {
		s = Setting{Keyword: k.name}
		if s.Known = k.def != perBuild; s.Known && k.def != "" {
			s.Values = []string{k.def}
			if k.kind == kFirst || k.kind == kRekey {
				s.Values = strings.Fields(k.def)
			}
		}
		e.byVersion(&s)
		return s
	}
	if k.kind == kRekey && s.Values[1] == "" {
		s.Values = []string{s.Values[0], "0"}
	}
	return s
}

// byVersion corrects defaults that were others once.
func (e *Effective) byVersion(s *Setting) {
	v, before := e.cfg.Version, ""
	switch s.Keyword {
	case "usedns":
		before = "yes"
		v = atLeast(v, e.cfg.Includes, 6, 8)
		// Red Hat Enterprise Linux 7 went from 6.6 to 7.4, and its manual page
		// kept the old default for a while.
		if strings.Contains(e.cfg.Server, ".el7") && v.AtLeast(6, 8) {
			v = Version{}
		}
		s.change(v, 6, 8, before)
	case "permitrootlogin":
		s.change(atLeast(v, e.cfg.Includes, 7, 0), 7, 0, "yes")
	case interactive:
		if e.old {
			s.Values = []string{"no"} // unless ChallengeResponseAuthentication: see both
		}
	}
}

// atLeast is v, or some version after a change when only that is known.
func atLeast(v Version, after bool, major, minor int) Version {
	if !v.Known() && after {
		return Version{major, minor}
	}
	return v
}

// change makes a default that version major.minor changed from before.
func (s *Setting) change(v Version, major, minor int, before string) {
	switch {
	case !v.Known():
		s.Known = false
	case v.Before(major, minor):
		s.Values = []string{before}
	}
}

// listens are the addresses that sshd binds, as sshd -T prints them: an
// address without a port takes every Port, none at all is the wildcard.
func (e *Effective) listens() Setting {
	s, set := e.set["listenaddress"]
	ports, family := e.Get("port").Values, e.Get("addressfamily").Value()
	out := Setting{Keyword: "listenaddress", Place: s.Place, Known: true}
	add := func(addr, port, rdomain string) {
		a, err := netip.ParseAddr(addr)
		if err != nil {
			out.Known = false // a name, that the resolver turns into addresses
		}
		v := addr + ":" + port
		if a.Is6() {
			v = "[" + a.String() + "]:" + port
		}
		if rdomain != "" {
			v += " rdomain " + rdomain
		}
		out.Values = append(out.Values, v)
	}
	if !set {
		for _, p := range ports {
			if family != "inet" {
				add("::", p, "")
			}
			if family != "inet6" {
				add("0.0.0.0", p, "")
			}
		}
		return out
	}
	for _, v := range s.Values {
		f := strings.Split(v, "\x00")
		for _, p := range ports {
			if f[1] != "" {
				p = f[1]
			}
			add(f[0], p, f[2])
			if f[1] != "" {
				break
			}
		}
	}
	return out
}

// Dump is the lines that sshd -T prints, of all keywords whose value is known.
func (e *Effective) Dump() []string {
	var out []string
	for i := range table {
		k := &table[i]
		s := e.Get(k.name)
		switch {
		case !s.Known || len(s.Values) == 0:
		case k.kind == kAppend || k.kind == kPort || k.kind == kListen || k.kind == kSubsystem || k.kind == kFirstEach:
			for _, v := range s.Values {
				out = append(out, k.name+" "+v)
			}
		default:
			out = append(out, k.name+" "+s.Value())
		}
	}
	return out
}

// Settings lists every place where a keyword is set, in any spelling, also in
// Match blocks: what some connection may get beyond the global value.
func (c *Config) Settings(spelling string) []Directive {
	k, ok := lookup(spelling)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Lines), func(d Directive) bool { return d.Keyword != k.name || d.Ignored != "" })
}
