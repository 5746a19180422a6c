package cel

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	tokEnd kind = iota
	tokName
	tokInt
	tokDouble
	tokString
	tokSign // an operator or a bracket; text says which
)

type token struct {
	kind kind
	at   int
	text string // of a string: what it stands for
}

// signs are the operators and brackets, the longer ones first.
var signs = []string{
	"&&",
	"||",
	"==",
	"!=",
	"<=",
	">=",
	"<",
	">",
	"!",
	"+",
	"-",
	"*",
	"/",
	"%",
	"?",
	":",
	".",
	",",
	"(",
	")",
	"[",
	"]",
	"{",
	"}",
}

// lexer cuts an expression into tokens.
type lexer struct {
	src string
	at  int
}

// next reads one token. A mistake ends the expression.
func (l *lexer) next() (token, error) {
	l.skip()
	if l.at == len(l.src) {
		return token{kind: tokEnd, at: l.at}, nil
	}
	start, c := l.at, l.src[l.at]
	switch {
	case isDigit(c) || c == '.' && l.at+1 < len(l.src) && isDigit(l.src[l.at+1]):
		return l.number()
	case c == '"' || c == '\'':
		return l.text(false)
	case c == 'r' || c == 'R':
		if rest := l.src[l.at+1:]; rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			l.at++
			return l.text(true)
		}
	}
	if isLetter(c) {
		for l.at < len(l.src) && (isLetter(l.src[l.at]) || isDigit(l.src[l.at])) {
			l.at++
		}
		if l.at < len(l.src) && (l.src[l.at] == '"' || l.src[l.at] == '\'') {
			return token{}, mistakef(start, "text beginning with %s is not supported", l.src[start:l.at])
		}
		return token{tokName, start, l.src[start:l.at]}, nil
	}
	for _, s := range signs {
		if strings.HasPrefix(l.src[l.at:], s) {
			l.at += len(s)
			return token{tokSign, start, s}, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(l.src[l.at:])
	return token{}, mistakef(start, "unexpected %q", r)
}

// skip skips white space and comments.
func (l *lexer) skip() {
	for l.at < len(l.src) {
		switch c := l.src[l.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			l.at++
		case strings.HasPrefix(l.src[l.at:], "//"):
			if n := strings.IndexByte(l.src[l.at:], '\n'); n >= 0 {
				l.at += n
			} else {
				l.at = len(l.src)
			}
		default:
			return
		}
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func (l *lexer) number() (token, error) {
	start, k := l.at, tokInt
	if rest := l.src[l.at:]; strings.HasPrefix(rest, "0x") && len(rest) > 2 && isHex(rest[2]) {
		for l.at += 2; l.at < len(l.src) && isHex(l.src[l.at]); {
			l.at++
		}
	} else {
		l.digits()
		if l.at+1 < len(l.src) && l.src[l.at] == '.' && isDigit(l.src[l.at+1]) {
			k = tokDouble
			l.at++
			l.digits()
		}
		if n := exponent(l.src[l.at:]); n > 0 {
			k = tokDouble
			l.at += n
		}
	}
	if l.at < len(l.src) && (l.src[l.at] == 'u' || l.src[l.at] == 'U') {
		return token{}, mistakef(l.at, "unsigned numbers are not supported")
	}
	return token{k, start, l.src[start:l.at]}, nil
}

func (l *lexer) digits() {
	for l.at < len(l.src) && isDigit(l.src[l.at]) {
		l.at++
	}
}

// exponent is how long the exponent is that s begins with.
func exponent(s string) int {
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	digits := n
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	if n == digits {
		return 0
	}
	return n
}

// text reads a string literal in one or three quotes.
func (l *lexer) text(raw bool) (token, error) {
	start, quote := l.at, l.src[l.at:l.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(l.src[l.at:], triple) {
		quote = triple
	}
	l.at += len(quote)
	var b strings.Builder
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		switch c := rest[0]; {
		case strings.HasPrefix(rest, quote):
			l.at += len(quote)
			return token{tokString, start, b.String()}, nil
		case len(quote) == 1 && (c == '\n' || c == '\r'):
			return token{}, mistakef(start, "text without its closing %s", quote)
		case c == '\\' && !raw:
			r, n := escape(rest)
			if n == 0 {
				return token{}, mistakef(l.at, "no such escape in text; a backslash is written \\\\")
			}
			b.WriteRune(r)
			l.at += n
		case c == '\r': // each end of a line is one newline, as cel-go has it
			b.WriteByte('\n')
			l.at += len("\r")
			if strings.HasPrefix(rest, "\r\n") {
				l.at++
			}
		default:
			b.WriteByte(c)
			l.at++
		}
	}
	return token{}, mistakef(start, "text without its closing %s", quote)
}

// escape reads an escape sequence: the character that it stands for, and its
// length, which is 0 when there is no such sequence.
func escape(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`abfnrtv\?"'`+"`", s[1]); i >= 0 {
		return rune("\a\b\f\n\r\t\v\\?\"'`"[i]), 2
	}
	length, base := 0, 16
	switch c := s[1]; {
	case c == 'x' || c == 'X':
		length = 4
	case c == 'u':
		length = 6
	case c == 'U':
		length = 10
	case c >= '0' && c <= '3':
		v, err := strconv.ParseUint(s[1:min(4, len(s))], 8, 32)
		if err != nil || len(s) < 4 {
			return 0, 0
		}
		return rune(v), 4
	}
	if length == 0 || len(s) < length {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[2:length], base, 32)
	if err != nil || !utf8.ValidRune(rune(v)) {
		return 0, 0
	}
	return rune(v), length
}
