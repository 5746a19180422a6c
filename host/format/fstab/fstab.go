// Package fstab reads fstab(5), as libmount does.
package fstab

import (
	"context"
	"strconv"
	"strings"

	"fettle/host"
)

// File is the path of the table.
const File = "/etc/fstab"

// Entry is one line.
type Entry struct {
	Device, Mount, Type string
	Options             []string // "defaults" where there are none
	Dump, Pass          int
	Line                int
}

// String is the entry as fstab writes it, its blanks single.
func (e Entry) String() string {
	return strings.Join([]string{e.Device, e.Mount, e.Type, strings.Join(e.Options, ","), strconv.Itoa(e.Dump), strconv.Itoa(e.Pass)}, " ")
}

// Read reads the table of h; a host without one has no entries.
func Read(ctx context.Context, h *host.Host) ([]Entry, error) {
	b, err := h.ReadFile(ctx, File)
	if host.IsAbsent(err) {
		return nil, nil
	}
	return Parse(string(b)), err
}

// Parse reads the text of a table. Lines without a type are none.
func Parse(text string) []Entry {
	var out []Entry
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := fields(line)
		if len(f) < 3 || f[0][0] == '#' {
			continue
		}
		e := Entry{Device: unescape(f[0]), Mount: unescape(f[1]), Type: unescape(f[2]), Options: []string{"defaults"}, Line: n}
		if len(f) > 3 {
			e.Options = splitOptions(unescape(f[3]))
		}
		if len(f) > 4 {
			e.Dump, _ = strconv.Atoi(f[4])
		}
		if len(f) > 5 {
			e.Pass, _ = strconv.Atoi(f[5])
		}
		out = append(out, e)
	}
	return out
}

// fields cuts at blanks and tabs only: a vertical tab is part of a name.
func fields(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' })
}

// splitOptions cuts at commas outside of quotes, as in context="a,b".
func splitOptions(s string) []string {
	var out []string
	quoted, start := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			out, start = append(out, s[start:i]), i+1
		}
	}
	return append(out, s[start:])
}

// unescape undoes octal escapes: "\040" is a blank.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
