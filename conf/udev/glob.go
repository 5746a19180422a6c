package udev

import "strings"

// matches compares as udev does: fnmatch(3) without flags, alternatives
// between "|".
func matches(pattern, s string, fold bool) bool {
	if fold {
		pattern, s = strings.ToLower(pattern), strings.ToLower(s)
	}
	for p := range strings.SplitSeq(pattern, "|") {
		if glob(p, s) {
			return true
		}
	}
	return false
}

// glob is fnmatch(3) of bytes: *, ?, [set], [!set], and \ before a character. A
// bracket that is not closed is itself. It takes linear time for each star.
func glob(p, s string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		if i < len(p) && p[i] == '*' {
			star, mark = i, j
			i++
			continue
		}
		if n, ok := one(p[i:], s[j]); ok {
			i += n
			j++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = star+1, mark
	}
	return strings.Trim(p[i:], "*") == ""
}

// one matches a character with the pattern's first item, and returns that
// item's length.
func one(p string, c byte) (int, bool) {
	switch {
	case p == "":
		return 0, false
	case p[0] == '?':
		return 1, true
	case p[0] == '\\' && len(p) > 1:
		return 2, p[1] == c
	case p[0] == '[':
		if n, ok := set(p, c); n > 0 {
			return n, ok
		}
	}
	return 1, p[0] == c
}

// set matches a bracket expression; 0 where it is none.
func set(p string, c byte) (int, bool) {
	i, not, found := 1, false, false
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		i, not = i+1, true
	}
	for first := true; i < len(p); first = false {
		if p[i] == ']' && !first {
			return i + 1, found != not
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
		found = found || lo <= c && c <= hi
		i++
	}
	return 0, false
}
