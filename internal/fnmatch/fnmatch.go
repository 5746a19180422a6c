// Package fnmatch matches names against patterns as fnmatch(3) does without
// flags, byte by byte: the shell's wildcards, but a slash and a leading dot are
// characters like any other.
package fnmatch

import "strings"

// Match tells whether the whole of s fits the pattern: *, ?, [set], [!set],
// [[:class:]], and \ before a character. A bracket that is never closed is an
// ordinary character. It goes back only to the last star, so that no pattern costs
// more than the product of the lengths.
func Match(p, s string) bool {
	starP, starS := -1, 0
	i, j := 0, 0
	for j < len(s) {
		if i < len(p) {
			if p[i] == '*' {
				starP, starS = i, j
				i++
				continue
			}
			if n, ok := one(p[i:], s[j]); ok {
				i, j = i+n, j+1
				continue
			}
		}
		if starP < 0 {
			return false
		}
		starS++
		i, j = starP+1, starS
	}
	return strings.Trim(p[i:], "*") == ""
}

// one matches one byte against the head of a pattern and tells how long that head is.
func one(p string, c byte) (n int, ok bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '\\':
		if len(p) > 1 {
			return 2, p[1] == c
		}
	case '[':
		if n, ok, closed := bracket(p, c); closed {
			return n, ok
		}
	}
	return 1, p[0] == c
}

var classes = map[string]func(c byte) bool{
	"digit": func(c byte) bool { return '0' <= c && c <= '9' },
	"lower": func(c byte) bool { return 'a' <= c && c <= 'z' },
	"upper": func(c byte) bool { return 'A' <= c && c <= 'Z' },
	"alpha": func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' },
	"alnum": func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' },
}

// bracket reads a bracket expression: glob(7).
func bracket(p string, c byte) (n int, ok, closed bool) {
	i := 1
	not := i < len(p) && (p[i] == '!' || p[i] == '^')
	if not {
		i++
	}
	for first := true; i < len(p); first = false {
		if p[i] == ']' && !first {
			return i + 1, ok != not, true
		}
		if rest, is := strings.CutPrefix(p[i:], "[:"); is {
			if name, _, end := strings.Cut(rest, ":]"); end && classes[name] != nil {
				ok = ok || classes[name](c)
				i += len(name) + 4
				continue
			}
		}
		lo := p[i]
		if lo == '\\' && i+1 < len(p) {
			i++
			lo = p[i]
		}
		hi := lo
		if i+2 < len(p) && p[i+1] == '-' && p[i+2] != ']' {
			hi = p[i+2]
			i += 2
		}
		ok = ok || lo <= c && c <= hi
		i++
	}
	return 0, false, false
}
