package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Port is one that clients must reach.
type Port struct {
	Proto  string // "udp" or "tcp"
	Number int
}

func (p Port) String() string { return fmt.Sprintf("%s %d", strings.ToUpper(p.Proto), p.Number) }

// Ports are those that clients must reach: DHCP, TFTP, the boot server of a proxy
// (PXE specification 2.1, section 2.2.1), and HTTP where that is served.
func (c Conf) Ports() []Port {
	ports := []Port{{"udp", 67}, {"udp", 69}}
	if c.Proxy {
		ports = append(ports, Port{"udp", 4011})
	}
	if c.HTTP {
		ports = append(ports, Port{"tcp", 80})
	}
	return ports
}

// Fate is what a firewall does to a packet.
type Fate int

const (
	Passes Fate = iota
	Dropped
	Unsure // a rule that is not understood comes first
)

// packet is a client's first one.
type packet struct {
	link string
	port Port
}

// NFT reads what `nft -j list ruleset` prints and tells what becomes of a
// packet to a port that comes in through a link. Each base chain of the hook
// input must let it pass.
func NFT(b []byte, link string, port Port) (Fate, error) {
	var doc struct {
		Nftables []struct {
			Chain *struct{ Family, Table, Name, Hook, Policy string }
			Rule  *struct {
				Family, Table, Chain string
				Expr                 []map[string]any
			}
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return Unsure, fmt.Errorf("reading nft's list of rules: %w", err)
	}
	w := nftWalk{rules: map[string][][]map[string]any{}, p: packet{link, port}}
	for _, e := range doc.Nftables {
		if r := e.Rule; r != nil {
			key := r.Family + " " + r.Table + " " + r.Chain
			w.rules[key] = append(w.rules[key], r.Expr)
		}
	}
	fate := Passes
	for _, e := range doc.Nftables {
		c := e.Chain
		if c == nil || c.Hook != "input" || c.Family != "ip" && c.Family != "inet" {
			continue
		}
		v := w.chain(c.Family+" "+c.Table+" ", c.Name, 0)
		if v == "" && c.Policy == "drop" {
			v = "drop"
		}
		switch v {
		case "drop", "reject":
			return Dropped, nil
		case "?":
			fate = Unsure
		}
	}
	return fate, nil
}

type nftWalk struct {
	rules map[string][][]map[string]any
	p     packet
}

// chain is "accept", "drop", "reject", "?" or "" (its end was reached).
func (w *nftWalk) chain(table, name string, depth int) string {
	if depth > 16 { // nft itself allows 16 jumps
		return "?"
	}
	for _, expr := range w.rules[table+name] {
		switch v := w.rule(table, expr, depth); v {
		case "":
		case "return":
			return ""
		default:
			return v
		}
	}
	return ""
}

func (w *nftWalk) rule(table string, expr []map[string]any, depth int) string {
	sure := true
	for _, e := range expr {
		for kind, v := range e {
			switch kind {
			case "match":
				switch w.match(v) {
				case "no":
					return ""
				case "?":
					sure = false
				}
			case "counter", "log", "mangle":
			case "limit", "xt", "vmap", "ct helper":
				sure = false
				if kind == "vmap" {
					return "?"
				}
			case "accept", "drop", "reject", "return":
				if !sure {
					return "?"
				}
				return kind
			case "jump", "goto":
				target, _ := v.(map[string]any)["target"].(string)
				got := w.chain(table, target, depth+1)
				if got == "" && kind == "goto" { // its end is the end of this chain (nft(8))
					got = "return"
				}
				if got != "" && !sure {
					return "?"
				}
				if got != "" {
					return got
				}
			}
		}
	}
	return ""
}

// match is "yes", "no" or "?".
func (w *nftWalk) match(v any) string {
	m, _ := v.(map[string]any)
	left, _ := m["left"].(map[string]any)
	is := func(got string) string {
		hit := holds(m["right"], got)
		if m["op"] == "!=" {
			hit = !hit
		} else if m["op"] != "==" && m["op"] != "in" {
			return "?"
		}
		if hit {
			return "yes"
		}
		return "no"
	}
	if meta, ok := left["meta"].(map[string]any); ok {
		switch meta["key"] {
		case "iifname", "iif":
			return is(w.p.link)
		case "l4proto":
			return is(w.p.port.Proto)
		case "nfproto", "protocol":
			return is(map[string]string{"nfproto": "ipv4", "protocol": "ip"}[meta["key"].(string)])
		}
	}
	if ct, ok := left["ct"].(map[string]any); ok && ct["key"] == "state" {
		return is("new")
	}
	if p, ok := left["payload"].(map[string]any); ok {
		proto, field := p["protocol"], p["field"]
		switch {
		case (proto == w.p.port.Proto || proto == "th") && field == "dport":
			return is(strconv.Itoa(w.p.port.Number))
		case proto == "tcp" || proto == "udp" || proto == "icmp" || proto == "icmpv6" || proto == "ip6":
			return "no"
		case proto == "ip" && field == "protocol":
			return is(w.p.port.Proto)
		}
	}
	return "?"
}

// holds tells whether a value, a set or a range holds what a packet has.
func holds(right any, got string) bool {
	switch r := right.(type) {
	case string:
		if prefix, ok := strings.CutSuffix(r, "*"); ok {
			return strings.HasPrefix(got, prefix)
		}
		return r == got
	case float64:
		return strconv.Itoa(int(r)) == got
	case []any:
		return slices.ContainsFunc(r, func(e any) bool { return holds(e, got) })
	case map[string]any:
		if set, ok := r["set"]; ok {
			return holds(set, got)
		}
		if bounds, ok := r["range"].([]any); ok && len(bounds) == 2 {
			lo, ok1 := bounds[0].(float64)
			hi, ok2 := bounds[1].(float64)
			n, err := strconv.Atoi(got)
			return ok1 && ok2 && err == nil && float64(n) >= lo && float64(n) <= hi
		}
	}
	return false
}

// IPTables reads what `iptables -S` prints, which is how ufw and docker write
// their rules, and tells what becomes of a packet.
func IPTables(text, link string, port Port) Fate {
	w := iptWalk{p: packet{link, port}, rules: map[string][][]string{}, policy: map[string]string{}}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[0] == "-P":
			w.policy[f[1]] = f[2]
		case len(f) > 2 && f[0] == "-A":
			w.rules[f[1]] = append(w.rules[f[1]], f[2:])
		}
	}
	v := w.chain("INPUT", 0)
	if v == "" {
		v = w.policy["INPUT"]
	}
	switch v {
	case "DROP", "REJECT":
		return Dropped
	case "?":
		return Unsure
	}
	return Passes
}

type iptWalk struct {
	p      packet
	rules  map[string][][]string
	policy map[string]string
}

func (w *iptWalk) chain(name string, depth int) string {
	if depth > 16 {
		return "?"
	}
	for _, r := range w.rules[name] {
		hit, target := w.match(r)
		if hit == "no" || target == "" || target == "LOG" || target == "NFLOG" {
			continue
		}
		got := target
		if !slices.Contains([]string{"ACCEPT", "DROP", "REJECT", "RETURN"}, target) {
			got = w.chain(target, depth+1)
			if got == "" && r[len(r)-2] == "-g" { // its end is the end of this chain (iptables(8))
				got = "RETURN"
			}
		}
		switch {
		case got == "":
		case hit == "?":
			return "?"
		case got == "RETURN":
			return ""
		default:
			return got
		}
	}
	return ""
}

// match tells whether a rule is about the packet, and its target.
func (w *iptWalk) match(r []string) (hit, target string) {
	hit = "yes"
	no := false
	put := func(ok bool) {
		if ok == no {
			hit = "no"
		}
		no = false
	}
	for i := 0; i < len(r) && hit != "no"; i++ {
		next := ""
		if i+1 < len(r) {
			next = r[i+1]
		}
		switch r[i] {
		case "!":
			no = true
			continue
		case "-j", "-g":
			return hit, next
		case "-i":
			put(next == w.p.link || strings.HasSuffix(next, "+") && strings.HasPrefix(w.p.link, strings.TrimSuffix(next, "+")))
		case "-p":
			put(next == w.p.port.Proto || next == "all")
		case "--dport", "--dports":
			put(ports(next, w.p.port.Number))
		case "--ctstate", "--state":
			put(slices.Contains(strings.Split(next, ","), "NEW"))
		case "-m":
			if !slices.Contains([]string{"udp", "tcp", "state", "conntrack", "multiport", "comment"}, next) {
				hit = "?"
			}
		case "--comment":
		case "--reject-with":
		default:
			if strings.HasPrefix(r[i], "-") {
				hit, no = "?", false
			}
			continue
		}
		i++
	}
	if hit == "no" {
		return hit, ""
	}
	return hit, target
}

// ports tells whether "67,68:70" holds a port.
func ports(list string, port int) bool {
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, ranged := strings.Cut(part, ":")
		a, err1 := strconv.Atoi(lo)
		b := a
		var err2 error
		if ranged {
			b, err2 = strconv.Atoi(hi)
		}
		if err1 == nil && err2 == nil && port >= a && port <= b {
			return true
		}
	}
	return false
}
