// Package ini reads files of [sections] with "key = value" lines, as each of
// the programs that own such files reads them.
package ini

import (
	"fmt"
	"strings"

	"fettle/host"
)

// Dialect is one program's way of reading such files.
type Dialect struct {
	comments  string // characters that make a line a comment where it begins with one
	backslash bool   // an odd number of backslashes at a line's end joins the next line
	indented  bool   // a line that begins with a blank goes on with the value before
	foldKeys  bool   // keys count whatever their case
}

var (
	// Systemd is systemd.syntax(7) as systemd 252 reads it (src/shared/conf-parser.c).
	Systemd = Dialect{comments: "#;", backslash: true}
	// Keyfile is GLib's, of which NetworkManager's connections are made (GKeyFile, nm-settings-keyfile(5)).
	Keyfile = Dialect{comments: "#"}
	// SSSD is libini_config's (sssd.conf(5)).
	SSSD = Dialect{comments: "#;", indented: true, foldKeys: true}
)

// Entry is one assignment.
type Entry struct {
	Path                string
	Line                int // the first of its lines, from 1
	Section, Key, Value string
}

// At is the entry's place: "/etc/x.conf:3".
func (e Entry) At() string { return fmt.Sprintf("%s:%d", e.Path, e.Line) }

// Header is where a section begins.
type Header struct {
	Name string
	Line int
}

// File is what one file holds. What no program could read is in Errs, and the
// rest is there nevertheless.
type File struct {
	Entries  []Entry
	Sections []Header
	Errs     []*host.SyntaxError
}

// Bounds: of a value made of several lines, in bytes, and of errors kept of one file.
const (
	maxValue = 1 << 20 // systemd's LONG_LINE_MAX
	maxErrs  = 100
)

// Parse reads a file's text; path is for places alone.
func Parse(d Dialect, path string, text []byte) File {
	p := parser{Dialect: d, path: path, lines: strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")}
	for p.next() {
		p.line()
	}
	p.end()
	return p.File
}

// parser walks over the lines.
type parser struct {
	File
	Dialect
	path    string
	lines   []string
	n       int      // lines taken
	first   int      // where the logical line begins
	text    string   // the logical line, without blanks around it
	goesOn  bool     // it belongs to the value before
	section string   // "" before the first, and after a broken header
	open    bool     // the last line was an assignment that an indented one may go on with
	more    []string // the lines that go on with the last value
	size    int      // of that value with them, in bytes
}

// end ends the last value.
func (p *parser) end() {
	if len(p.more) > 0 {
		e := &p.Entries[len(p.Entries)-1]
		e.Value = strings.TrimSpace(e.Value + " " + strings.Join(p.more, " "))
	}
	p.open, p.more, p.size = false, nil, 0
}

// next takes the next logical line that is no comment.
func (p *parser) next() bool {
	for p.n < len(p.lines) {
		raw := strings.TrimSuffix(p.lines[p.n], "\r")
		p.n++
		p.first, p.text = p.n, strings.TrimSpace(raw)
		if p.comment(p.text) || p.text == "" {
			p.open = p.open && !p.indented
			continue
		}
		p.goesOn = p.indented && p.open && strings.TrimLeft(raw, " \t") != raw
		if p.backslash && joins(raw) {
			p.join()
		}
		return true
	}
	return false
}

// join adds the lines that the backslash at the end of this one asks for;
// comments between them are passed over.
func (p *parser) join() {
	parts, size := []string{strings.TrimSpace(strings.TrimSuffix(p.text, `\`))}, len(p.text)
	for more := true; more && p.n < len(p.lines); {
		raw := p.lines[p.n]
		p.n++
		line := strings.TrimSpace(raw)
		if p.comment(line) {
			continue
		}
		if more = joins(raw); more {
			line = strings.TrimSpace(strings.TrimSuffix(line, `\`))
		}
		if size += len(line) + 1; size < maxValue {
			parts = append(parts, line)
		}
	}
	p.text = strings.TrimSpace(strings.Join(parts, " "))
}

func (p *parser) comment(line string) bool {
	return line != "" && strings.IndexByte(p.comments, line[0]) >= 0
}

// joins reports whether the backslash at the line's end is not itself escaped.
func joins(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

func (p *parser) line() {
	if p.goesOn {
		if p.size += len(p.text) + 1; p.size < maxValue {
			p.more = append(p.more, p.text)
		}
		return
	}
	p.end()
	if strings.HasPrefix(p.text, "[") {
		p.header()
		return
	}
	key, value, ok := strings.Cut(p.text, "=")
	key = strings.TrimSpace(key)
	switch {
	case !ok:
		p.fail("neither [section] nor key=value")
	case key == "":
		p.fail("no key before the =")
	case p.section == "":
		p.fail("key=value before any [section]")
	default:
		if p.foldKeys {
			key = strings.ToLower(key)
		}
		p.Entries = append(p.Entries, Entry{p.path, p.first, p.section, key, strings.TrimSpace(value)})
		p.open, p.size = true, len(value)
	}
}

func (p *parser) header() {
	name, ok := strings.CutSuffix(p.text[1:], "]")
	if name = strings.TrimSpace(name); !ok || strings.ContainsAny(name, "[]") {
		p.fail("a section ends with ]")
		p.section = "" // what follows belongs to no section that is known
		return
	}
	p.section = name
	p.Sections = append(p.Sections, Header{name, p.first})
}

func (p *parser) fail(msg string) {
	if len(p.Errs) < maxErrs {
		p.Errs = append(p.Errs, &host.SyntaxError{Path: p.path, Line: p.first, Msg: msg})
	}
}
