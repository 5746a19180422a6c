package redact

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

// phone is a number to call, in international or national form, or with groups as one
// is read out: +49 30 901820, 0170-4455667, 555-0134-77.
var phone = lazy.Regexp(
	`^(?:\+\d{1,3}(?:[ ()/.-]{0,2}\d{1,14}){1,6}|\(?0\d{1,5}\)?[ /-]{1,2}\d{4,10}(?:[ -]\d{1,6}){0,3}|` +
		`\d{3}-\d{4}(?:-\d{2,4})?|\d{3}-\d{3}-\d{4})`,
)

// phoneAt replaces a number to call at the beginning of s.
func (r *Redactor) phoneAt(s string) (int, string) {
	m := phone().FindString(s)
	if m == "" || len(s) > len(m) && (wordByte(s[len(m)]) || s[len(m)] == '-') || digitsIn(m) < 7 {
		return 0, ""
	}
	return len(m), r.otherDigits(m)
}

func digitsIn(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n
}

// otherDigits replaces each digit of s and keeps what is between them.
func (r *Redactor) otherDigits(s string) string {
	out, sum := []byte(s), r.mac("digits", s)
	for i, n := 0, 0; i < len(out); i++ {
		if out[i] < '0' || out[i] > '9' {
			continue
		}
		d := sum[n%len(sum)] + byte(n/len(sum))
		if n == 0 && out[i] != '0' {
			out[i] = '1' + d%9
		} else if n > 0 {
			out[i] = '0' + d%10
		}
		n++
	}
	if p := string(out); p != s {
		r.replaced[p] = s
	}
	return string(out)
}

// number replaces a number where it may be anybody's: a PIN, a customer, a telephone, an
// address in decimal. Numbers that people choose for settings are round, and stay.
func (r *Redactor) number(w string) string {
	n, err := strconv.ParseUint(w, 10, 64)
	if err == nil && roundNumber(n, w) {
		return w
	}
	if err == nil && n < 1<<32 { // 3232235777 is 192.168.1.1
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(n))
		if a := netip.AddrFrom4(b); a.IsPrivate() {
			o := r.Addr(a).As4()
			p := fmt.Sprint(binary.BigEndian.Uint32(o[:]))
			r.replaced[p] = w
			return p
		}
	}
	return r.otherDigits(w)
}

// roundNumber: of at most two digits before its zeros, a power of two or beside one, a
// number of hours, the speed of a serial line, or short.
func roundNumber(n uint64, w string) bool {
	if len(w) < 5 || w[0] == '0' && n == 0 {
		return true
	}
	if w[0] == '0' {
		return false
	}
	if len(strings.TrimRight(w, "0")) <= 2 || n%3600 == 0 || portSpeed().MatchString(w+"n8") || n == 65534 {
		return true
	}
	if n&(n+1) == 0 || (n-1)&(n-2) == 0 {
		return true
	}
	odd := n // a few times a power of two: 196608, 786432
	for odd%2 == 0 {
		odd /= 2
	}
	return odd < 32
}

// hexAddress replaces a private IPv4 address in hexadecimal, in either order of bytes.
func (r *Redactor) hexAddress(w string) string {
	var b [4]byte
	if n, err := hex.Decode(b[:], []byte(w[2:])); err != nil || n != 4 {
		return r.one(w)
	}
	back := [4]byte{b[3], b[2], b[1], b[0]}
	switch {
	case netip.AddrFrom4(b).IsPrivate():
		b = r.Addr(netip.AddrFrom4(b)).As4()
	case netip.AddrFrom4(back).IsPrivate():
		back = r.Addr(netip.AddrFrom4(back)).As4()
		b = [4]byte{back[3], back[2], back[1], back[0]}
	default:
		return r.one(w)
	}
	p := "0x" + hex.EncodeToString(b[:])
	r.replaced[p] = w
	return p
}
