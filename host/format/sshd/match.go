package sshd

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Match is the condition of one Match line: all its criteria together.
type Match struct {
	Place
	Text     string // after the keyword
	criteria []criterion
}

type criterion struct{ attr, arg string }

// All reports whether the block counts for every connection ("Match all").
func (m *Match) All() bool { return len(m.criteria) == 1 && m.criteria[0].attr == "all" }

// String is the line: `Match user alice`.
func (m *Match) String() string { return "Match " + m.Text }

var attributes = []string{"user", "group", "host", "address", "localaddress", "localport", "rdomain"}

// parseMatch reads what follows the keyword Match (match_cfg_line, servconf.c).
func parseMatch(p Place, text string) (*Match, error) {
	m := &Match{Place: p, Text: strings.TrimSpace(text)}
	rest, more := text, true
	for {
		attr, ok := delim(&rest, &more)
		if !ok || attr == "" || attr[0] == '#' {
			break
		}
		attr = strings.ToLower(attr)
		if attr == "all" || attr == "invalid-user" { // invalid-user: OpenSSH 9.9
			m.criteria = append(m.criteria, criterion{attr: attr})
			if attr == "all" {
				if next, ok := delim(&rest, &more); len(m.criteria) > 1 || ok && next != "" && next[0] != '#' {
					return nil, fmt.Errorf("Match all cannot be combined with other criteria")
				}
				break
			}
			continue
		}
		if !slices.Contains(attributes, attr) {
			return nil, fmt.Errorf("unknown Match criterion")
		}
		arg, ok := delim(&rest, &more)
		if !ok || arg == "" || arg[0] == '#' {
			return nil, fmt.Errorf("Match %s lacks its argument", strings.ToLower(attr))
		}
		switch attr {
		case "address", "localaddress":
			if addrList("", arg) == badList {
				return nil, fmt.Errorf("Match %s: an address that does not fit its mask, or nothing", strings.ToLower(attr))
			}
		case "localport":
			if _, ok := port(arg); !ok {
				return nil, fmt.Errorf("Match localport: not a port")
			}
		}
		m.criteria = append(m.criteria, criterion{attr, arg})
	}
	if len(m.criteria) == 0 {
		return nil, fmt.Errorf("Match lacks its criteria")
	}
	return m, nil
}

// Matches reports whether the block counts for a connection.
func (m *Match) Matches(c Conn) bool {
	for _, cr := range m.criteria {
		if !cr.matches(c) {
			return false
		}
	}
	return true
}

func (cr criterion) matches(c Conn) bool {
	switch cr.attr {
	case "all":
		return true
	case "invalid-user":
		return c.InvalidUser
	case "user":
		return c.User != "" && PatternList(c.User, cr.arg) == 1
	case "group":
		return c.User != "" && groupList(c.Groups, cr.arg)
	case "host":
		return c.Host != "" && PatternList(strings.ToLower(c.Host), strings.ToLower(cr.arg)) == 1
	case "address":
		return c.Addr != "" && addrList(c.Addr, cr.arg) == 1
	case "localaddress":
		return c.LocalAddr != "" && addrList(c.LocalAddr, cr.arg) == 1
	case "localport":
		p, _ := port(cr.arg)
		return c.LocalPort != 0 && p == c.LocalPort
	case "rdomain":
		return c.RDomain != "" && PatternList(c.RDomain, cr.arg) == 1
	}
	return false
}

// groupList follows ga_match_pattern_list (groupaccess.c): a negated group of
// the user's refuses, whichever else matches.
func groupList(groups []string, list string) bool {
	found := false
	for _, g := range groups {
		switch PatternList(g, list) {
		case -1:
			return false
		case 1:
			found = true
		}
	}
	return found
}

// PatternList matches s against patterns separated by commas (PATTERNS in
// ssh_config(5); match_pattern_list, match.c): 1 matches, 0 does not, -1 is
// refused by a negated pattern.
func PatternList(s, list string) int {
	got := 0
	for p := range strings.SplitSeq(list, ",") {
		neg := strings.HasPrefix(p, "!")
		p = strings.TrimPrefix(p, "!")
		if p != "" && pattern(s, p) {
			if neg {
				return -1
			}
			got = 1
		}
	}
	return got
}

// pattern matches with * and ? only.
func pattern(s, p string) bool {
	i, j := 0, 0
	star, mark := -1, 0
	for i < len(s) {
		switch {
		case j < len(p) && p[j] == '*':
			star, mark = j, i
			j++
		case j < len(p) && (p[j] == '?' || p[j] == s[i]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false
		}
	}
	for j < len(p) && p[j] == '*' {
		j++
	}
	return j == len(p)
}

const badList = -2

// addrList follows addr_match_list (addrmatch.c): CIDR first, else a pattern
// on the text. An empty address only checks the list.
func addrList(addr, list string) int {
	a, err := netip.ParseAddr(addr)
	if addr != "" && err != nil {
		return 0
	}
	ret := 0
	for p := range strings.SplitSeq(list, ",") {
		neg := strings.HasPrefix(p, "!")
		p = strings.TrimPrefix(p, "!")
		if p == "" {
			return badList
		}
		prefix, isAddr, ok := cidr(p)
		if isAddr && !ok {
			return badList
		}
		if addr == "" {
			continue
		}
		hit := false
		if isAddr {
			hit = prefix.Contains(a.WithZone(""))
		} else {
			hit = pattern(addr, p)
		}
		if hit && neg {
			return -1
		}
		if hit {
			ret = 1
		}
	}
	return ret
}

// cidr reads an address with or without a mask. ok is false where the mask is
// too long or leaves bits of the host.
func cidr(s string) (p netip.Prefix, isAddr, ok bool) {
	host, mask, has := strings.Cut(s, "/")
	bits, err := strconv.ParseUint(mask, 10, 32)
	if has && (err != nil || bits > 128) {
		return p, false, false
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return p, false, false
	}
	a = a.WithZone("")
	if !has {
		bits = uint64(a.BitLen())
	}
	if int(bits) > a.BitLen() {
		return p, true, false
	}
	p = netip.PrefixFrom(a, int(bits))
	return p, true, p.Masked() == p
}

// services are the names of ports that people write in sshd_config; others of
// /etc/services are not looked up.
var services = map[string]int{"ssh": 22, "telnet": 23, "ftp": 21, "smtp": 25, "domain": 53, "http": 80, "https": 443}

// port reads a port's number or name.
func port(s string) (int, bool) {
	if n, ok := services[s]; ok {
		return n, true
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err == nil && n > 0
}

// Asks reports whether the block has a criterion ("host").
func (m *Match) Asks(attr string) bool {
	return slices.ContainsFunc(m.criteria, func(c criterion) bool { return c.attr == attr })
}
