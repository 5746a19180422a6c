package redact

import (
	"net/netip"
)

// Ranges that keep their prefix, so that an address goes on meaning what it
// means: private, carrier's, link-local, unique local, global.
var kept = prefixes(
	"10.0.0.0/8",
	"172.16.0.0/12",
	"192.168.0.0/16",
	"100.64.0.0/10",
	"169.254.0.0/16",
	"0.0.0.0/8",
	"127.0.0.0/8",
	"224.0.0.0/3",
	"2000::/3",
	"fc00::/7",
	"fe80::/10",
	"ff00::/8",
	"::/8",
)

// whole addresses and ranges that say nothing of a host and stay as they are.
var whole = prefixes("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3", "169.254.169.254/32", "::/127")

func prefixes(s ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(s))
	for i, p := range s {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// Addr replaces an address. Two addresses share as many leading bits
// afterwards as before (Xu, Fan, Ammar, Moon: Prefix-Preserving IP Address
// Anonymization, ICNP 2002, with HMAC-SHA256 for its cipher), and none enters
// or leaves one of the kept ranges.
func (r *Redactor) Addr(a netip.Addr) netip.Addr {
	if zone := a.Zone(); zone != "" {
		return r.Addr(a.WithZone("")).WithZone(r.words(zone))
	}
	if v, ok := r.addrs[a]; ok {
		return v
	}
	v := r.addr(a)
	r.addrs[a] = v
	if v != a {
		r.replaced[v.String()] = a.String()
	}
	return v
}

func (r *Redactor) addr(a netip.Addr) netip.Addr {
	if a.Is4In6() {
		v := r.Addr(a.Unmap()).As4()
		b := a.As16()
		copy(b[12:], v[:])
		return netip.AddrFrom16(b)
	}
	for _, p := range whole {
		if p.Contains(a) {
			return a
		}
	}
	if a.Is4() {
		if looksLikeMask(a.As4()) {
			return a
		}
		b := a.As4()
		r.flip(a, b[:], 0, 32)
		return netip.AddrFrom4(b)
	}
	b := a.As16()
	switch {
	case b[0] == 0xff:
		return netip.AddrFrom16(r.group(b))
	case b[11] == 0xff && b[12] == 0xfe: // EUI-64, RFC 4291 appendix A: goes with its hardware address
		hw := r.hardware([]byte{b[8] ^ 2, b[9], b[10], b[13], b[14], b[15]})
		r.flip(a, b[:], 0, 64)
		copy(b[8:], []byte{hw[0] ^ 2, hw[1], hw[2], 0xff, 0xfe, hw[3], hw[4], hw[5]})
	default:
		r.flip(a, b[:], 0, 128)
	}
	if a.IsLinkLocalUnicast() { // fe80::/64 in use, RFC 4291 section 2.5.6
		o := a.As16()
		copy(b[:8], o[:8])
	}
	return netip.AddrFrom16(b)
}

// group keeps a well-known multicast group, and replaces what a solicited
// node's group or a long identifier tells of an address.
func (r *Redactor) group(b [16]byte) [16]byte {
	from := 2
	switch {
	case [9]byte(b[2:11]) == [9]byte{} && b[11] == 1 && b[12] == 0xff: // ff02::1:ffxx:xxxx
		from = 13
	case [12]byte(b[2:14]) == [12]byte{}:
		return b
	}
	copy(b[from:], r.mac("group", string(b[from:])))
	return b
}

// flip turns the bits from..to of b: each by what a keyed hash says of the
// bits before it, unless these lead into a kept range.
func (r *Redactor) flip(a netip.Addr, b []byte, from, to int) {
	for i := from; i < to; i++ {
		p, _ := a.Prefix(i)
		free := true
		for _, k := range kept {
			if k.Addr().Is4() == a.Is4() && k.Bits() > i && p.Contains(k.Addr()) {
				free = false
			}
		}
		if free && r.mac("bit", p.String())[0]&1 == 1 {
			b[i/8] ^= 0x80 >> (i % 8)
		}
	}
}

// looksLikeMask: ones, then zeros.
func looksLikeMask(b [4]byte) bool {
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	return ^v&(^v+1) == 0
}

// hardware replaces an Ethernet address: devices of one maker still share
// the first three bytes; the bits for group and local addresses stay.
func (r *Redactor) hardware(b []byte) []byte {
	out := append([]byte{}, b...)
	all := func(v byte) bool {
		for _, x := range b {
			if x != v {
				return false
			}
		}
		return true
	}
	switch {
	case all(0) || all(0xff):
	case b[0] == 0x33 && b[1] == 0x33: // IPv6 multicast, RFC 2464
		if b[2] == 0xff {
			copy(out[3:], r.mac("node", string(b[3:])))
		}
	case b[0] == 0x01 && (b[1] == 0x00 && b[2] == 0x5e || b[1] == 0x80 && b[2] == 0xc2): // IPv4 multicast, bridge protocols
	default:
		copy(out[:3], r.mac("maker", string(b[:3])))
		out[0] = out[0]&^3 | b[0]&3
		copy(out[3:], r.mac("device", string(b)))
	}
	return out
}
