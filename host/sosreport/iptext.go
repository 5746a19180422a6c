package sosreport

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
)

// ParseLinks reads the text form of `ip -d address` (iproute2 6.1,
// ip/ipaddress.c print_linkinfo and print_addrinfo):
//
//	4: veth0@veth1: <BROADCAST,UP> mtu 1500 qdisc noqueue master br0 state UP group default
//	    link/ether de:4b:00:ed:12:00 brd ff:ff:ff:ff:ff:ff promiscuity 1 …
//	    veth
//	    bridge_slave state forwarding …
//	    inet6 fe80::dc4b:ff:feed:1200/64 scope link
//	       valid_lft forever preferred_lft forever
//
// Each attribute of a link is found by the word before it, since new versions add words.
func ParseLinks(text string) ([]host.Link, error) {
	out := []host.Link{}
	var l *host.Link
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case line[0] >= '0' && line[0] <= '9':
			v, err := linkHead(f)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
			l = &out[len(out)-1]
		case l == nil: // a warning of ip's before the first link
		case strings.HasPrefix(f[0], "link/"):
			l.LinkType = f[0][len("link/"):]
			if len(f) > 1 && strings.Contains(f[1], ":") {
				l.MAC = f[1]
			}
		case f[0] == "inet" || f[0] == "inet6":
			if a, ok := linkAddr(f); ok {
				l.Addrs = append(l.Addrs, a)
			}
		case f[0] == "valid_lft" && len(f) >= 4 && len(l.Addrs) > 0:
			a := &l.Addrs[len(l.Addrs)-1]
			a.Valid, a.Preferred = lifetime(f[1]), lifetime(f[3])
		case strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "     "):
			linkKind(l, f)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("ip -d address: no link in it: %w", host.ErrNotCollected)
	}
	return out, nil
}

func linkHead(f []string) (host.Link, error) {
	l := host.Link{Addrs: []host.Addr{}}
	n, err := strconv.Atoi(strings.TrimSuffix(f[0], ":"))
	if err != nil || len(f) < 3 || !strings.HasPrefix(f[2], "<") {
		return l, fmt.Errorf("ip -d address: not a link: %q", strings.Join(f, " "))
	}
	l.Index = n
	var peer string
	l.Name, peer, _ = strings.Cut(strings.TrimSuffix(f[1], ":"), "@")
	if !strings.HasPrefix(peer, "if") || strings.Trim(peer[2:], "0123456789") != "" { // "if4": in another namespace
		l.Parent = peer
	}
	if l.Parent == "NONE" {
		l.Parent = ""
	}
	if flags := strings.Trim(f[2], "<>"); flags != "" {
		l.Flags = strings.Split(flags, ",")
	}
	for i := 3; i+1 < len(f); i += 2 {
		switch f[i] {
		case "mtu":
			l.MTU, _ = strconv.Atoi(f[i+1])
		case "master":
			l.Master = f[i+1]
		case "state":
			l.OperState = f[i+1]
		}
	}
	return l, nil
}

// notKinds begin lines that look like a link's kind and are not.
var notKinds = map[string]bool{
	"altname":  true,
	"alias":    true,
	"vf":       true,
	"RX:":      true,
	"TX:":      true,
	"RX":       true,
	"TX":       true,
	"prog/xdp": true,
}

// linkKind reads "vlan protocol 802.1Q id 7 …" and "bridge_slave state …".
func linkKind(l *host.Link, f []string) {
	switch kind, isPort := strings.CutSuffix(f[0], "_slave"); {
	case f[0] == "altname" && len(f) == 2:
		l.AltNames = append(l.AltNames, f[1])
	case notKinds[f[0]] || strings.Trim(f[0], "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || f[0][0] <= '9':
	case isPort:
		l.Info.SlaveKind = kind
	case l.Info.Kind == "":
		l.Info.Kind = kind
		if slices.Contains(f, "external") {
			l.Info.Data = map[string]any{"external": true}
		}
		for i := 1; kind == "vlan" && i+1 < len(f); i++ {
			if f[i] == "id" {
				if id, err := strconv.Atoi(f[i+1]); err == nil {
					l.Info.Data = map[string]any{"id": id}
				}
			}
		}
	}
}

func linkAddr(f []string) (host.Addr, bool) {
	if len(f) < 2 {
		return host.Addr{}, false
	}
	a := host.Addr{Family: f[0]}
	local, plen, _ := strings.Cut(f[1], "/")
	a.Local = local
	for i, w := range f {
		switch {
		case w == "peer" && i+1 < len(f): // the length is the peer's
			_, plen, _ = strings.Cut(f[i+1], "/")
		case w == "scope" && i+1 < len(f):
			a.Scope = f[i+1]
		case w == "dynamic":
			a.Dynamic = true
		}
	}
	n, err := strconv.Atoi(plen)
	if err != nil { // a length that ip leaves out is the whole address
		n = 32
		if a.Family == "inet6" {
			n = 128
		}
	}
	a.PrefixLen = n
	return a, true
}

// lifetime reads "86389sec" or "forever".
func lifetime(s string) int64 {
	if n, err := strconv.ParseUint(strings.TrimSuffix(s, "sec"), 10, 32); err == nil {
		return int64(n)
	}
	return 1<<32 - 1
}

var routeTypes = map[string]bool{
	"unicast":     true,
	"local":       true,
	"broadcast":   true,
	"anycast":     true,
	"multicast":   true,
	"unreachable": true,
	"prohibit":    true,
	"blackhole":   true,
	"throw":       true,
	"nat":         true,
}

// parseRoutes reads the text form of `ip -6 route show table all` (iproute2
// 6.1, ip/iproute.c print_route). Of a route with several next hops the first is kept.
func parseRoutes(text string) ([]host.Route, error) {
	out := []host.Route{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if f[0] == "nexthop" {
			if n := len(out); n > 0 && out[n-1].Dev == "" {
				routeWords(&out[n-1], f[1:])
			}
			continue
		}
		var r host.Route
		if routeTypes[f[0]] && len(f) > 1 {
			r.Type, f = f[0], f[1:]
			if r.Type == "unicast" {
				r.Type = ""
			}
		}
		if f[0] != "default" && !strings.Contains(f[0], ":") {
			return nil, fmt.Errorf("ip -6 route: not a route: %q", strings.TrimSpace(line))
		}
		r.Dst = f[0]
		routeWords(&r, f[1:])
		out = append(out, r)
	}
	return out, nil
}

func routeWords(r *host.Route, f []string) {
	for i := 0; i+1 < len(f); i++ {
		v := f[i+1]
		switch f[i] {
		case "via":
			r.Gateway = v
		case "dev":
			r.Dev = v
		case "table":
			r.Table = v
		case "proto":
			r.Protocol = v
		case "metric":
			r.Metric, _ = strconv.Atoi(v)
		default:
			continue
		}
		i++
	}
}
