// Package udev reads udev's rules (udev(7)) and works out what they do to a device, as far as
// that can be known without running programs: systemd 252, src/udev/udev-rules.c.
package udev

import (
	"errors"
	"fmt"
	"strings"

	"fettle/host"
)

// Token is one KEY{ATTR}OP"VALUE" of a rule.
type Token struct {
	Key, Attr string // "ATTRS", "idVendor"
	Op        string // ==, !=, =, +=, -=, :=
	Value     string
	Fold      bool // i"…": whatever the case
}

// Match reports whether the token is a condition.
func (t Token) Match() bool { return t.Op == "==" || t.Op == "!=" }

// Rule is one line of a rules file, with those it continues on.
type Rule struct {
	Path   string
	Line   int // its first, from 1
	Tokens []Token
}

// At is the rule's place: "/etc/udev/rules.d/60-local.rules:3".
func (r Rule) At() string { return fmt.Sprintf("%s:%d", r.Path, r.Line) }

// maxRule bounds a rule, in bytes (UDEV_LINE_SIZE is 16384).
const maxRule = 16384

// Parse reads a rules file's text; path is for places alone. Lines that udev
// skips are errors; the rest is there nevertheless.
func Parse(path string, text []byte) (rules []Rule, errs []*host.SyntaxError) {
	var parts []string
	first, size := 0, 0
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimRight(line, "\r")
		trimmed := strings.TrimLeft(line, " \t")
		if strings.HasPrefix(trimmed, "#") { // also between continued lines
			continue
		}
		if len(parts) == 0 {
			if trimmed == "" {
				continue
			}
			first, size = n+1, 0
		}
		more := strings.HasSuffix(trimmed, `\`)
		size += len(trimmed)
		parts = append(parts, strings.TrimSuffix(trimmed, `\`))
		if more {
			continue
		}
		rule, err := parseRule(strings.Join(parts, ""), size)
		if err != nil {
			errs = append(errs, &host.SyntaxError{Path: path, Line: first, Msg: err.Error()})
		} else if len(rule) > 0 {
			rules = append(rules, Rule{path, first, rule})
		}
		parts = nil
	}
	if len(parts) > 0 {
		errs = append(errs, &host.SyntaxError{Path: path, Line: first, Msg: "the last line ends with a backslash: udev ignores it"})
	}
	return rules, errs
}

func parseRule(s string, size int) ([]Token, error) {
	if size > maxRule {
		return nil, fmt.Errorf("a rule of more than %d bytes: udev ignores it", maxRule)
	}
	var out []Token
	for {
		s = strings.TrimLeft(s, " \t,")
		if s == "" {
			return out, nil
		}
		t, rest, err := parseToken(s)
		if err != nil {
			return nil, err
		}
		out, s = append(out, t), rest
	}
}

// parseToken takes one token, as parse_line does.
func parseToken(s string) (t Token, rest string, err error) {
	end := strings.IndexFunc(s, func(r rune) bool { return !(r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') })
	if end <= 0 {
		return t, "", fmt.Errorf("expected a key like KERNEL or ATTRS{…}, found %q", clip(s))
	}
	t.Key, s = s[:end], s[end:]
	if strings.HasPrefix(s, "{") {
		attr, after, ok := strings.Cut(s[1:], "}")
		if !ok {
			return t, "", fmt.Errorf("%s{: no closing }", t.Key)
		}
		t.Attr, s = attr, after
	}
	s = strings.TrimLeft(s, " \t")
	for _, op := range []string{"==", "!=", "+=", "-=", ":=", "="} {
		if after, ok := strings.CutPrefix(s, op); ok {
			t.Op, s = op, strings.TrimLeft(after, " \t")
			break
		}
	}
	if t.Op == "" {
		return t, "", fmt.Errorf("%s: expected ==, !=, =, +=, -= or :=, found %q", t.Key, clip(s))
	}
	t.Value, t.Fold, rest, err = parseValue(s)
	if err != nil {
		err = fmt.Errorf("%s: %w", t.Key, err)
	}
	return t, rest, err
}

// parseValue takes "…", e"…" or i"…" (udev_rule_parse_value): \" is a quote, and
// in e"…" the escapes of C are too; of these, none are needed here.
func parseValue(s string) (value string, fold bool, rest string, err error) {
	for len(s) > 1 && (s[0] == 'e' || s[0] == 'i') {
		fold = fold || s[0] == 'i'
		s = s[1:]
	}
	if !strings.HasPrefix(s, `"`) {
		return "", false, "", fmt.Errorf("expected a value in double quotes, found %q", clip(s))
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '"':
			b.WriteByte('"')
			i++
		case s[i] == '"':
			return b.String(), fold, s[i+1:], nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", false, "", errors.New("the value has no closing quote")
}

func clip(s string) string {
	if len(s) > 20 {
		return s[:20] + "…"
	}
	return s
}
