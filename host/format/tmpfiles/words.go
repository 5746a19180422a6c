package tmpfiles

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const blanks = " \t\n\r"

// word takes the first word off s, as systemd's extract_first_word does with
// its flags UNQUOTE and CUNESCAPE (src/basic/extract-word.c): quotes may begin
// anywhere in a word, and backslashes escape as in C inside and outside them.
func word(s string) (w, rest string, ok bool, err error) {
	s = strings.TrimLeft(s, blanks)
	if s == "" {
		return "", "", false, nil
	}
	var b strings.Builder
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			n, err := unescape(&b, s[i+1:])
			if err != nil {
				return "", "", false, err
			}
			i += n
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && strings.IndexByte(blanks, c) >= 0:
			return b.String(), strings.TrimLeft(s[i:], blanks), true, nil
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", "", false, errors.New("a quote is not closed")
	}
	return b.String(), "", true, nil
}

// unescape writes what the escape sequence at the start of s (without its
// backslash) stands for, and returns its length: cunescape_one of
// src/basic/escape.c.
func unescape(b *strings.Builder, s string) (int, error) {
	if s == "" {
		return 0, errors.New("a backslash at the end of the line")
	}
	if i := strings.IndexByte("abfnrtv", s[0]); i >= 0 {
		b.WriteByte("\a\b\f\n\r\t\v"[i])
		return 1, nil
	}
	hex := func(digits int, limit uint64) (uint64, error) {
		if len(s) < 1+digits {
			return 0, errors.New("an escape sequence is cut off")
		}
		n, err := strconv.ParseUint(s[1:1+digits], 16, 64)
		if err != nil || n == 0 || n > limit {
			return 0, errors.New(`\` + s[:1+digits] + " is no escape sequence")
		}
		return n, nil
	}
	switch s[0] {
	case '\\', '"', '\'':
		b.WriteByte(s[0])
		return 1, nil
	case 's':
		b.WriteByte(' ')
		return 1, nil
	case 'x':
		n, err := hex(2, 255)
		if err != nil {
			return 0, err
		}
		b.WriteByte(byte(n))
		return 3, nil
	case 'u', 'U':
		digits := map[byte]int{'u': 4, 'U': 8}[s[0]]
		n, err := hex(digits, utf8.MaxRune)
		if err != nil {
			return 0, err
		}
		b.WriteRune(rune(n))
		return 1 + digits, nil
	}
	if len(s) >= 3 {
		if n, err := strconv.ParseUint(s[:3], 8, 8); err == nil && n != 0 {
			b.WriteByte(byte(n))
			return 3, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(s)
	return 0, errors.New(`\` + string(r) + " is no escape sequence")
}
