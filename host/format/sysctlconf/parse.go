package sysctlconf

import (
	"bytes"
	"io/fs"
	"strings"

	"fettle/host"
)

const (
	symlink = fs.ModeSymlink
	// spaces is systemd's WHITESPACE (src/basic/string-util.h); procps strips
	// what isspace(3) calls space, which adds two more.
	spacesSystemd = " \t\n\r"
	spacesProcps  = " \t\n\v\f\r"
)

// Parse reads one file as r does. Lines that are no settings come back as
// errors; the rest is read nevertheless.
func Parse(r Reader, name string, b []byte) (set []Setting, bad []*host.SyntaxError) {
	spaces := spacesSystemd
	if r == Procps {
		spaces = spacesProcps
	}
	for i, line := range lines(r, b) {
		l := strings.Trim(line, spaces)
		if l == "" || l[0] == '#' || l[0] == ';' || r == Procps && tooShort(line, spaces) {
			continue
		}
		s := Setting{Path: name, Line: i + 1}
		key, value, assigns := strings.Cut(l, "=")
		dash := strings.HasPrefix(key, "-")
		key = strings.TrimPrefix(key, "-")
		if r == Procps { // spaces after a dash stay: parse_setting_line
			key = strings.TrimRight(key, spaces)
		} else {
			key = strings.Trim(key, spaces)
		}
		s.Key, s.Value = Normalize(key), strings.Trim(value, spaces)
		s.IgnoreFailure, s.Exclude = dash && assigns, dash && !assigns
		switch {
		case !assigns && !dash:
			bad = append(bad, &host.SyntaxError{Path: name, Line: s.Line, Msg: "not an assignment (key = value), so it is skipped"})
		case s.Key == "":
			bad = append(bad, &host.SyntaxError{Path: name, Line: s.Line, Msg: "no key before the =, so nothing is set"})
		default:
			set = append(set, s)
		}
	}
	return set, bad
}

// tooShort is procps' test for an empty line: fewer than two bytes after the
// leading spaces, the newline counted.
func tooShort(line, spaces string) bool { return len(strings.TrimLeft(line, spaces)) < 2 }

// lines splits b. systemd ends a line at a newline, a carriage return, both,
// or a NUL (src/basic/fileio.c, read_line_full); procps uses getline(3), and
// a NUL ends what it sees of a line.
func lines(r Reader, b []byte) []string {
	var out []string
	if r == Procps {
		for l := range bytes.Lines(b) {
			l, _, _ = bytes.Cut(l, []byte{0})
			out = append(out, string(l))
		}
		return out
	}
	for len(b) > 0 {
		i := bytes.IndexAny(b, "\n\r\x00")
		if i < 0 {
			return append(out, string(b))
		}
		out = append(out, string(b[:i]))
		n := 1
		if len(b) > i+1 && (b[i] == '\n' && b[i+1] == '\r' || b[i] == '\r' && b[i+1] == '\n') {
			n = 2
		}
		b = b[i+n:]
	}
	return out
}

// Normalize turns a key as people write it into the path below /proc/sys. The
// first separator decides: after a slash, slashes and dots stay; after a dot,
// they trade places, so that net.ipv6.conf.eth0/100.accept_ra and
// net/ipv6/conf/eth0.100/accept_ra are the same key. sysctl.d(5).
func Normalize(key string) string {
	if i := strings.IndexAny(key, "/."); i >= 0 && key[i] == '.' {
		key = Dotted(key)
	}
	// path_simplify of systemd: no empty components, no ".".
	parts := strings.Split(key, "/")
	keep := parts[:0]
	for _, p := range parts {
		if p != "" && p != "." {
			keep = append(keep, p)
		}
	}
	return strings.Join(keep, "/")
}

// Dotted trades dots and slashes: it writes a path below /proc/sys as
// sysctl(8) prints it.
func Dotted(key string) string {
	b := []byte(key) // by bytes: a key need not be UTF-8
	for i, c := range b {
		switch c {
		case '.':
			b[i] = '/'
		case '/':
			b[i] = '.'
		}
	}
	return string(b)
}
