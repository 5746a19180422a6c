package redact

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// Text replaces every name, address and unknown word in a text. What lies
// between words stays, so lines and columns of separators keep their sense.
func (r *Redactor) Text(s string) string { return r.text(s, true, true) }

// plainText is Text without a look for names by their position.
func (r *Redactor) plainText(s string) string { return r.text(s, true, false) }

// words is Text without a look for addresses: for versions, which may look
// like them.
func (r *Redactor) words(s string) string { return r.text(s, false, false) }

func (r *Redactor) text(s string, addresses, positions bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if positions {
			if n, p := r.positioned(s, i); n > 0 {
				b.WriteString(p)
				i += n
				continue
			}
		}
		if !wordByte(s[i]) && s[i] != ':' {
			b.WriteByte(s[i])
			i++
			continue
		}
		// At the beginning of a word.
		if n, p := r.name(s[i:]); n > 0 {
			b.WriteString(p)
			i += n
			continue
		}
		if n, p := r.uuid(s[i:]); n > 0 {
			b.WriteString(p)
			i += n
			continue
		}
		if addresses {
			if n, p := r.address(s[i:]); n > 0 {
				b.WriteString(p)
				i += n
				continue
			}
			if n, p := r.form(s, i); n > 0 {
				b.WriteString(p)
				i += n
				continue
			}
		}
		if s[i] == ':' {
			b.WriteByte(':')
			i++
			continue
		}
		end := i
		for end < len(s) && wordByte(s[end]) {
			end++
		}
		b.WriteString(r.one(s[i:end]))
		i = end
	}
	return b.String()
}

// wordByte: "_" separates, so that names of settings are looked at word by
// word; bytes beyond ASCII belong to words.
func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// name finds a learned name at the beginning of s that ends with a word.
func (r *Redactor) name(s string) (int, string) {
	for _, n := range r.longest {
		if len(s) >= len(n) && strings.EqualFold(s[:len(n)], n) && (len(s) == len(n) || !wordByte(s[len(n)])) {
			return len(n), r.pseudonym(r.names[n], s[:len(n)])
		}
	}
	return 0, ""
}

// uuid replaces a UUID (RFC 9562) at the beginning of s as a whole: some of
// its groups may look like plain numbers.
func (r *Redactor) uuid(s string) (int, string) {
	const n = 36
	if len(s) < n || len(s) > n && wordByte(s[n]) {
		return 0, ""
	}
	for i, c := range []byte(strings.ToLower(s[:n])) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && strings.IndexByte("0123456789abcdef", c) < 0 {
			return 0, ""
		}
	}
	h := hex.EncodeToString(r.mac("uuid", strings.ToLower(s[:n])))
	p := h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:32]
	r.replaced[p] = s[:n]
	return n, p
}

// address finds an IP or hardware address at the beginning of s.
func (r *Redactor) address(s string) (int, string) {
	end := 0
	for end < len(s) && end <= 64 && strings.IndexByte("0123456789abcdefABCDEF:.", s[end]) >= 0 {
		end++
	}
	dash := end
	for dash < len(s) && dash < 17 && strings.IndexByte("0123456789abcdefABCDEF-", s[dash]) >= 0 {
		dash++
	}
	if dash == 17 && (len(s) == 17 || !wordByte(s[17])) {
		if p, ok := r.hardwareText(s[:17], "-"); ok {
			return 17, p
		}
	}
	if end < 3 || end > 64 || end < len(s) && wordByte(s[end]) {
		return 0, ""
	}
	// A trailing ":" or "." belongs to the text, unless it is of "fe80::".
	for end > 0 && (s[end-1] == '.' || s[end-1] == ':' && !strings.HasSuffix(s[:end], "::")) {
		end--
	}
	tok := s[:end]
	if strings.Count(tok, ":") == 5 && !strings.Contains(tok, ".") {
		if p, ok := r.hardwareText(tok, ":"); ok {
			return end, p
		}
	}
	// iproute2 writes a bridge's id as priority, dot, address without leading zeros.
	if prio, mac, ok := strings.Cut(tok, "."); ok && len(prio) == 4 && strings.Count(mac, ":") == 5 {
		if p, ok := r.hardwareText(mac, ":"); ok {
			return end, prio + "." + p
		}
	}
	// The kernel writes it as priority, dot, twelve digits.
	if len(tok) == 17 && tok[4] == '.' && isHex(tok[:4]) && isHex(tok[5:]) {
		b, _ := hex.DecodeString(tok[5:])
		p := hex.EncodeToString(r.hardware(b))
		r.replaced[p] = tok[5:]
		return end, tok[:5] + p
	}
	if strings.Count(tok, ":") < 2 && strings.Count(tok, ".") != 3 {
		return 0, ""
	}
	a, err := netip.ParseAddr(tok)
	if err != nil { // "192.0.2.1:80"
		ap, err := netip.ParseAddrPort(tok)
		if err != nil || !ap.Addr().Is4() {
			return 0, ""
		}
		return end, fmt.Sprintf("%s:%d", r.Addr(ap.Addr()), ap.Port())
	}
	out := r.Addr(a)
	// Of a network, "10.1.0.0/16", the rest stays zero.
	if end < len(s) && s[end] == '/' {
		n, digits := 0, 0
		for j := end + 1; j < len(s) && s[j] >= '0' && s[j] <= '9' && digits < 3; j++ {
			n, digits = n*10+int(s[j]-'0'), digits+1
		}
		if p, err := a.Prefix(n); digits > 0 && err == nil && p.Addr() == a {
			if q, err := out.Prefix(n); err == nil {
				out = q.Addr()
				if out != a {
					r.replaced[out.String()] = a.String()
				}
			}
		}
	}
	return end, out.String()
}

func isHex(s string) bool { return strings.Trim(strings.ToLower(s), "0123456789abcdef") == "" }

// hardwareText replaces "52:54:00:12:34:56", keeping how each byte is written.
func (r *Redactor) hardwareText(s, sep string) (string, bool) {
	parts := strings.Split(s, sep)
	if len(parts) != 6 {
		return "", false
	}
	b := make([]byte, 6)
	short := false
	for i, p := range parts {
		if len(p) < 1 || len(p) > 2 {
			return "", false
		}
		short = short || len(p) == 1
		for _, c := range []byte(strings.ToLower(p)) {
			d := strings.IndexByte("0123456789abcdef", c)
			if d < 0 {
				return "", false
			}
			b[i] = b[i]<<4 | byte(d)
		}
	}
	verb := "%02x"
	if short {
		verb = "%x"
	}
	for i, v := range r.hardware(b) {
		parts[i] = fmt.Sprintf(verb, v)
	}
	out := strings.Join(parts, sep)
	if out != strings.ToLower(s) {
		r.replaced[out] = s
	}
	return out, true
}
