package redact

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// reading is what is looked for in a text besides names and unknown words.
type reading int

const (
	addresses reading = 1 << iota
	positions         // names that their position tells
	numbers           // numbers that may be anybody's
	nothing           // no word is kept, whatever it is
	digits            // nor one that has a digit
	versions          // words of versions stay
	said              // words of messages stay, and hexadecimal numbers their form
	logged            // and no other words
	volumes           // words stay that volumes are called by as a matter of course
)

// Text replaces every name, address and unknown word in a text. What lies
// between words stays, so lines and columns of separators keep their sense.
func (r *Redactor) Text(s string) string { return r.text(s, addresses|positions) }

// free is Text where people write what they like: long numbers are replaced, too.
func (r *Redactor) free(s string) string { return r.text(s, addresses|positions|numbers) }

// opaque keeps no word at all, where nothing is known of what may be there.
func (r *Redactor) opaque(s string) string {
	if s == Dropped || strings.Trim(s, `"'`) == Dropped {
		return s
	}
	return r.text(s, addresses|positions|numbers|nothing)
}

// opaqueNumbers is free, but keeps no number at all, and no word with one.
func (r *Redactor) opaqueNumbers(s string) string { return r.text(s, addresses|numbers|digits) }

// plainText is Text without a look for names by their position.
func (r *Redactor) plainText(s string) string { return r.text(s, addresses) }

// words is Text without a look for addresses.
func (r *Redactor) words(s string) string { return r.text(s, 0) }

// version is words of a package's version, which may look like an address.
func (r *Redactor) version(s string) string { return r.text(s, versions) }

func (r *Redactor) text(s string, how reading) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		n, p := r.next(s, i, how)
		b.WriteString(p)
		i += max(n, 1) // whatever was read, it goes on
	}
	return b.String()
}

// next replaces what begins at s[i], and tells how long it was.
func (r *Redactor) next(s string, i int, how reading) (int, string) {
	if n := escape(s[i:]); n > 0 {
		return n, s[i : i+n]
	}
	if how&positions != 0 {
		if n, p := r.positioned(s, i); n > 0 {
			return n, p
		}
	}
	if how&numbers != 0 && strings.IndexByte("+(0123456789", s[i]) >= 0 {
		if n, p := r.phoneAt(s[i:]); n > 0 {
			return n, p
		}
	}
	if !wordByte(s[i]) && s[i] != ':' {
		return 1, s[i : i+1]
	}
	// At the beginning of a word.
	if n, p := r.name(s[i:]); n > 0 {
		return n, p
	}
	if n, p := r.uuid(s[i:]); n > 0 {
		return n, p
	}
	if n, p := r.volume(s, i); n > 0 {
		return n, p
	}
	if how&addresses != 0 {
		if n, p := r.address(s[i:]); n > 0 {
			return n, p
		}
		if n, p := r.form(s, i); n > 0 {
			return n, p
		}
	}
	if s[i] == ':' {
		return 1, ":"
	}
	end := i
	for end < len(s) && wordByte(s[end]) {
		end++
	}
	return end - i, r.wordAs(s[i:end], how)
}

// wordAs replaces a word as its place asks for.
func (r *Redactor) wordAs(w string, how reading) string {
	switch {
	case r.given(w):
		return w
	case how&volumes != 0 && ofVolumes[strings.ToLower(w)]:
		return w
	case (how&nothing != 0 || how&digits != 0 && strings.ContainsAny(w, "0123456789")) && w != Dropped:
		if kind, ok := r.names[strings.ToLower(w)]; ok {
			return r.pseudonym(kind, w)
		}
		return r.pseudonym(word, w)
	case how&numbers != 0 && strings.Trim(w, "0123456789") == "":
		return r.number(w)
	case how&numbers != 0 && len(w) == 10 && strings.HasPrefix(w, "0x"):
		return r.hexAddress(w)
	case how&said != 0 && logVocabulary()[strings.ToLower(w)]:
		return w
	case how&said != 0 && len(w) > 4 && len(w) < 16 && isHex(w) && strings.ContainsAny(w, "0123456789") && !harmless(w):
		p := hex.EncodeToString(r.mac("hex", strings.ToLower(w)))[:len(w)]
		r.replaced[p] = w
		return p
	case how&logged != 0 && len(w) > 2 && vocabulary()[strings.ToLower(w)] && !numbered().MatchString(strings.ToLower(w)):
		return r.pseudonym(word, w)
	case how&versions != 0 && harmlessVersion(w):
		return w
	}
	return r.one(w)
}

// escape is the length of an escape at the beginning of s that means a separator: \040
// of the kernel's lists (proc(5)), \x2d of systemd's units.
func escape(s string) int {
	if len(s) < 4 || s[0] != '\\' {
		return 0
	}
	switch s[:4] {
	case `\040`, `\011`, `\012`, `\134`, `\043`, `\x2d`, `\x20`, `\x5c`, `\x40`, `\x7e`, `\x2f`:
		return 4
	}
	return 0
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

// volume replaces the number of a FAT file system, A1B2-C3D4.
func (r *Redactor) volume(s string, i int) (int, string) {
	const n = 9
	if len(s) < i+n || s[i+4] != '-' || len(s) > i+n && (wordByte(s[i+n]) || s[i+n] == '-') {
		return 0, ""
	}
	w := s[i : i+n]
	if !isHex(w[:4]+w[5:]) || strings.ToUpper(w) != w || !strings.ContainsAny(w, "ABCDEF") && !strings.HasSuffix(s[:i], "UUID=") {
		return 0, ""
	}
	h := strings.ToUpper(hex.EncodeToString(r.mac("volume", w)))
	p := h[:4] + "-" + h[4:8]
	r.replaced[p] = w
	return n, p
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
