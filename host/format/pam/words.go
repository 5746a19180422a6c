package pam

import "strings"

// blank separates words (pam_misc.c, _pam_StrTok).
func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// word takes the first word off s. One that begins with "[" reaches to the
// next "]" that no backslash precedes, and loses both brackets. ok is false
// when there is none.
func word(s string) (w, rest string, ok bool) {
	i := 0
	for i < len(s) && blank(s[i]) {
		i++
	}
	s = s[i:]
	if s == "" {
		return "", "", false
	}
	if s[0] != '[' {
		n := strings.IndexAny(s, " \t\n")
		if n < 0 {
			return s, "", true
		}
		return s[:n], s[n+1:], true
	}
	var b strings.Builder
	for i = 1; i < len(s) && s[i] != ']'; i++ {
		if s[i] == '\\' && i+1 < len(s) && s[i+1] == ']' {
			i++
		}
		b.WriteByte(s[i])
	}
	if i < len(s) {
		i++ // the bracket
	}
	return b.String(), s[i:], true
}

func words(s string) []string {
	var out []string
	for {
		w, rest, ok := word(s)
		if !ok {
			return out
		}
		out, s = append(out, w), rest
	}
}

// lower is ASCII lower case, as strcasecmp(3) compares in the C locale.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// maxJump bounds the number of a jump; libpam's is an int.
const maxJump = 1 << 20

// parse reads "success=1 default=ignore" (_pam_parse_control). It returns
// what is wrong, as libpam logs it; then every code denies.
func (t *Actions) parse(s string) (why string) {
	skip := func() {
		for s != "" && (blank(s[0]) || s[0] == '\r' || s[0] == '\v' || s[0] == '\f') {
			s = s[1:]
		}
	}
	for skip(); s != ""; skip() {
		code := -1
		for i := 0; i <= codes && code < 0; i++ {
			name := "default"
			if i < codes {
				name = codeNames[i]
			}
			if rest, ok := strings.CutPrefix(s, name); ok {
				code, s = i, rest
			}
		}
		if code < 0 || s == "" {
			return "expecting return value"
		}
		if skip(); s == "" || s[0] != '=' {
			return "expecting '='"
		}
		s = s[1:]
		if skip(); s == "" {
			return "expecting action"
		}
		act := undef
		for i, name := range actionNames {
			if rest, ok := strings.CutPrefix(s, name); ok {
				act, s = Action(-i), rest
				break
			}
		}
		if act == undef {
			if s[0] < '0' || s[0] > '9' {
				return "expecting jump number"
			}
			act = 0
			for s != "" && '0' <= s[0] && s[0] <= '9' {
				act = min(act*10+Action(s[0]-'0'), maxJump)
				s = s[1:]
			}
			if act == 0 {
				return "expecting non-zero"
			}
		}
		if code < codes {
			t[code] = act
		} else {
			t.fill(act)
		}
	}
	return ""
}
