package redact

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

// address finds an IP or hardware address at the beginning of s.
func (r *Redactor) address(s string) (int, string) {
	if n, p := r.dashedHardware(s); n > 0 {
		return n, p
	}
	tok := addressToken(s)
	if tok == "" {
		return 0, ""
	}
	if p, ok := r.hardwareToken(tok); ok {
		return len(tok), p
	}
	if strings.Count(tok, ":") < 2 && strings.Count(tok, ".") != 3 {
		return 0, ""
	}
	a, err := netip.ParseAddr(tok)
	if err == nil {
		return len(tok), r.network(a, s[len(tok):]).String()
	}
	ap, err := netip.ParseAddrPort(tok) // "192.0.2.1:80"
	if err != nil || !ap.Addr().Is4() {
		return 0, ""
	}
	return len(tok), fmt.Sprintf("%s:%d", r.Addr(ap.Addr()), ap.Port())
}

// dashedHardware replaces 52-54-00-ab-cd-ef.
func (r *Redactor) dashedHardware(s string) (int, string) {
	const n = 17
	if len(s) < n || s[2] != '-' || len(s) > n && wordByte(s[n]) {
		return 0, ""
	}
	if p, ok := r.hardwareText(s[:n], "-"); ok {
		return n, p
	}
	return 0, ""
}

// addressToken is what at the beginning of s has the letters of an address, up to the end
// of a word; "" if it is too short or too long for one.
func addressToken(s string) string {
	const longest = 64
	end := 0
	for end < len(s) && end <= longest && strings.IndexByte("0123456789abcdefABCDEF:.", s[end]) >= 0 {
		end++
	}
	if end < 3 || end > longest || end < len(s) && wordByte(s[end]) {
		return ""
	}
	// A trailing ":" or "." belongs to the text, unless it is of "fe80::".
	for end > 0 && (s[end-1] == '.' || s[end-1] == ':' && !strings.HasSuffix(s[:end], "::")) {
		end--
	}
	return s[:end]
}

// hardwareToken replaces a hardware address, alone or in a bridge's id.
func (r *Redactor) hardwareToken(tok string) (string, bool) {
	if strings.Count(tok, ":") == 5 && !strings.Contains(tok, ".") {
		return r.hardwareText(tok, ":")
	}
	prio, mac, ok := strings.Cut(tok, ".")
	switch {
	case !ok || len(prio) != 4:
	case strings.Count(mac, ":") == 5: // iproute2: without leading zeros
		p, ok := r.hardwareText(mac, ":")
		return prio + "." + p, ok
	case len(mac) == 12 && isHex(prio) && isHex(mac): // the kernel: twelve digits
		b, _ := hex.DecodeString(mac)
		p := hex.EncodeToString(r.hardware(b))
		r.replaced[p] = mac
		return prio + "." + p, true
	}
	return "", false
}

// network replaces an address; of a network, "10.1.0.0/16", the rest stays zero.
func (r *Redactor) network(a netip.Addr, after string) netip.Addr {
	out := r.Addr(a)
	if after == "" || after[0] != '/' {
		return out
	}
	n, digits := 0, 0
	for _, c := range []byte(after[1:]) {
		if c < '0' || c > '9' || digits == 3 {
			break
		}
		n, digits = n*10+int(c-'0'), digits+1
	}
	if p, err := a.Prefix(n); err != nil || p.Addr() != a {
		return out
	}
	q, err := out.Prefix(n)
	if err != nil {
		return out
	}
	if q.Addr() != a {
		r.replaced[q.Addr().String()] = a.String()
	}
	return q.Addr()
}
