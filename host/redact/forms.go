package redact

import (
	"encoding/hex"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

// Forms of addresses that are no address to a parser: parts and patterns of
// them, and names that have them in.
var (
	quad     = lazy.Regexp(`^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})`)
	fifth    = lazy.Regexp(`^\d{1,3}(?:\.\d{1,3}){3}\.\d`) // of a version
	dashed   = lazy.Regexp(`^(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})`)
	partial  = lazy.Regexp(`^\d{1,3}(?:\.\d{1,3}){1,2}(?:\.[?*.]|\.$|\.[\s,;"')]|/\d|\.?\.in-addr)`)
	nibbles  = lazy.Regexp(`^(?:[0-9a-fA-F]\.){3,32}ip6\.(?:arpa|int)`)
	literal6 = lazy.Regexp(`^([0-9a-fA-F]{0,4}(?:-[0-9a-fA-F]{0,4}){2,7})(?:s[\w]+)?\.(?i:ipv6-literal)`)
	cisco    = lazy.Regexp(`^[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}`)
	guid     = lazy.Regexp(`^[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}`)
	longHW   = lazy.Regexp(`^[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){6,31}`)
	colons   = lazy.Regexp(`^[0-9a-fA-F:]{5,39}`)
	embedded = lazy.Regexp(`^([A-Za-z]+)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`)
)

// form replaces at the beginning of s[i:] what has an address in it.
func (r *Redactor) form(s string, i int) (int, string) {
	rest := s[i:]
	ends := func(n int) bool { return n == len(rest) || !wordByte(rest[n]) }
	if m := embedded().FindStringSubmatch(rest); m != nil && len(m[1]) > 1 {
		if n, p := r.form(rest, len(m[1])); n > 0 {
			return len(m[1]) + n, r.one(m[1]) + p
		}
	}
	if c := rest[0] | 0x20; !(rest[0] >= '0' && rest[0] <= '9' || c >= 'a' && c <= 'f') {
		return 0, ""
	}
	if m := colons().FindString(rest); strings.Count(m, ":") > 1 && ends(len(m)) {
		if n, p := r.address(m); n == len(m) {
			return n, p
		}
	}
	if m := longHW().FindString(rest); m != "" && ends(len(m)) {
		return len(m), r.scrambled(m)
	}
	if m := cisco().FindString(rest); m != "" && ends(len(m)) {
		b, _ := hex.DecodeString(strings.ReplaceAll(m, ".", ""))
		h := hex.EncodeToString(r.hardware(b))
		return len(m), h[:4] + "." + h[4:8] + "." + h[8:]
	}
	if m := guid().FindString(rest); m != "" && ends(len(m)) && !strings.HasPrefix(rest[len(m):], ":") {
		return len(m), r.scrambled(m)
	}
	if m := literal6().FindStringSubmatch(rest); m != nil {
		if a, err := netip.ParseAddr(strings.ReplaceAll(m[1], "-", ":")); err == nil {
			return len(m[1]), strings.ReplaceAll(r.Addr(a).String(), ":", "-")
		}
	}
	if m := nibbles().FindString(rest); m != "" {
		return len(m) - len("ip6.arpa"), r.reversed6(m[:len(m)-len("ip6.arpa")])
	}
	if m := partial().FindString(rest); m != "" {
		return r.part(m)
	}
	for _, re := range []func() *regexp.Regexp{quad, dashed} {
		m := re().FindStringSubmatch(rest)
		if m == nil || !ends(len(m[0])) || fifth().MatchString(rest) {
			continue
		}
		a, err := netip.ParseAddr(strings.Join(m[1:], "."))
		if err == nil {
			return len(m[0]), strings.ReplaceAll(r.Addr(a).String(), ".", m[0][len(m[1]):len(m[1])+1])
		}
	}
	return 0, ""
}

// part replaces the leading numbers of an address: 10.77.12. of hosts.allow,
// 10.77.18.?, 12.77.10.in-addr.arpa.
func (r *Redactor) part(m string) (int, string) {
	end := 0
	for end < len(m) && (m[end] >= '0' && m[end] <= '9' || m[end] == '.' && end+1 < len(m) && m[end+1] >= '0' && m[end+1] <= '9') {
		end++
	}
	f := strings.Split(m[:end], ".")
	back := strings.Contains(m[end:], "in-addr")
	var b [4]byte
	for i, s := range f {
		n, err := strconv.Atoi(s)
		if err != nil || n > 255 {
			return 0, ""
		}
		if back {
			b[len(f)-1-i] = byte(n)
		} else {
			b[i] = byte(n)
		}
	}
	out := r.Addr(netip.AddrFrom4(b)).As4()
	for i := range f {
		v := out[i]
		if back {
			v = out[len(f)-1-i]
		}
		f[i] = strconv.Itoa(int(v))
	}
	return end, strings.Join(f, ".")
}

// reversed6 replaces nibbles of an ip6.arpa name, the last one first.
func (r *Redactor) reversed6(s string) string {
	digits := strings.Split(strings.TrimSuffix(s, "."), ".")
	h := []byte(strings.Repeat("0", 32))
	for i, d := range digits {
		h[len(digits)-1-i] = d[0]
	}
	var b [16]byte
	hex.Decode(b[:], h)
	out := r.Addr(netip.AddrFrom16(b)).As16()
	h = []byte(hex.EncodeToString(out[:]))
	for i := range digits {
		digits[i] = string(h[len(digits)-1-i])
	}
	return strings.Join(digits, ".") + "."
}

// scrambled replaces hex digits one by one and keeps what is between them.
func (r *Redactor) scrambled(s string) string {
	plain := strings.ToLower(s)
	if strings.Trim(plain, "0:-") == "" || strings.Trim(plain, "f:-") == "" {
		return s
	}
	digits := hex.EncodeToString(r.mac("hardware", plain))
	digits += digits
	out := []byte(plain)
	for i, n := 0, 0; i < len(out); i++ {
		if out[i] != ':' && out[i] != '-' {
			out[i] = digits[n]
			n++
		}
	}
	r.replaced[string(out)] = s
	return string(out)
}
