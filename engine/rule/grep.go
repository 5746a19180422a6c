package rule

import (
	"bytes"
	"context"
	"regexp"
	"regexp/syntax"
	"strings"
)

// eachMatch calls do for the lines of a text that re matches, with their
// numbers. Lines without the longest piece of plain text that the regex
// demands are passed over by searching for it, which costs next to nothing.
func eachMatch(ctx context.Context, re *regexp.Regexp, b []byte, do func(n int, line string)) error {
	need := []byte(demanded(re))
	for n := 1; len(b) > 0; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(need) > 0 {
			at := bytes.Index(b, need)
			if at < 0 {
				return nil
			}
			n += bytes.Count(b[:at], []byte("\n"))
			b = b[bytes.LastIndexByte(b[:at], '\n')+1:]
		}
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		if line = bytes.TrimSuffix(line, []byte("\r")); re.Match(line) {
			do(n, string(line))
		}
	}
	return nil
}

// demanded is the longest literal text that every match of re holds; empty
// where none can be told.
func demanded(re *regexp.Regexp) string {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return ""
	}
	s := literal(tree)
	// A regex takes each byte that is no UTF-8 for U+FFFD.
	if strings.ContainsAny(s, "\r\n\uFFFD") {
		return ""
	}
	return s
}

func literal(t *syntax.Regexp) string {
	switch t.Op {
	case syntax.OpLiteral:
		if t.Flags&syntax.FoldCase == 0 {
			return string(t.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literal(t.Sub[0])
	case syntax.OpRepeat:
		if t.Min > 0 {
			return literal(t.Sub[0])
		}
	case syntax.OpConcat:
		best := ""
		for _, sub := range t.Sub {
			if s := literal(sub); len(s) > len(best) {
				best = s
			}
		}
		return best
	}
	return ""
}
