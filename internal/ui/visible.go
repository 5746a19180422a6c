// Package ui writes text for terminals: nothing from outside reaches one
// unescaped, lines are wrapped, and colour is used only where it is wanted.
package ui

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible makes one line of s that is safe on any terminal. Whatever a
// terminal would act on or hide (control characters, escape sequences, bidi
// overrides, line ends, invalid UTF-8) is written as an escape, as in \x1b.
// File names are chosen by whoever makes the files: printed raw they could
// repaint the screen or type commands.
func Visible(s string) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= ' ' && s[i] < 0x7f
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// JSON writes what a terminal would act on or hide in JSON text as escapes,
// which mean the same: an encoder leaves DEL, C1 and bidi controls as they are.
func JSON(b []byte) []byte {
	if !bytes.ContainsFunc(b, hides) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case !hides(r):
			out.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		}
	}
	return out.Bytes()
}

func hides(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

// Quote writes s as one word of a shell command that can be pasted: bare
// where that is safe, in single quotes, or, with characters that a terminal
// must not see, in the $'…' form of bash, zsh and ksh (and POSIX.1-2024).
func Quote(s string) string {
	bare, plain := s != "", true
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !strings.ContainsRune("@%+=:,./_-", r) && (r > 0x7f || !unicode.IsLetter(r) && !unicode.IsDigit(r)) {
			bare = false
		}
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			plain = false
		}
		i += n
	}
	switch {
	case bare:
		return s
	case plain:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r != utf8.RuneError && unicode.IsPrint(r):
			b.WriteRune(r)
		default: // byte by byte, in octal: at most three digits, so no digit that follows joins in
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		i += n
	}
	return b.String() + "'"
}
