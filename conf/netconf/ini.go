package netconf

import (
	"errors"
	"io/fs"
	"strings"

	"fettle/conf/confd"
	"fettle/host"
)

// entry is one "key = value" of a file with [sections].
type entry struct {
	Source
	section, key, value string
}

// dialect tells the two kinds of files with sections apart.
type dialect struct {
	manager   Manager
	comments  string // characters that start a comment at the start of a line
	continued bool   // a backslash at the end of a line joins the next
}

var (
	systemdINI = dialect{Networkd, "#;", true} // systemd.syntax(7)
	keyfileINI = dialect{NetworkManager, "#", false}
)

// parseINI reads a file with [sections]. What cannot be read is in errs, and
// the rest is read all the same.
func parseINI(d dialect, file string, b []byte) (out []entry, errs []error) {
	section := ""
	lines := strings.Split(strings.TrimPrefix(string(b), "\ufeff"), "\n")
	for n := 0; n < len(lines); n++ {
		src := Source{file, n + 1}
		line := strings.TrimSpace(lines[n])
		if line == "" || strings.ContainsRune(d.comments, rune(line[0])) {
			continue
		}
		for d.continued && strings.HasSuffix(line, `\`) && n+1 < len(lines) {
			n++
			next := strings.TrimSpace(lines[n])
			if next != "" && strings.ContainsRune(d.comments, rune(next[0])) {
				continue // comments between continued lines are skipped
			}
			line = strings.TrimSuffix(line, `\`) + " " + next
		}
		if line[0] == '[' {
			name, ok := strings.CutSuffix(line[1:], "]")
			if !ok {
				errs = append(errs, &host.SyntaxError{Path: file, Line: src.Line, Msg: "section without closing bracket"})
				name = "" // what follows belongs to no section that is known
			}
			section = name
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok || section == "" {
			msg := "neither [section] nor key=value"
			if ok {
				msg = "key=value before any [section]"
			}
			errs = append(errs, &host.SyntaxError{Path: file, Line: src.Line, Msg: msg})
			continue
		}
		out = append(out, entry{src, section, strings.TrimSpace(k), strings.TrimSpace(v)})
	}
	return out, errs
}

// ini reads and parses a file and notes what is wrong with it.
func (r *reader) ini(d dialect, file string) []entry {
	b := r.file(d.manager, file)
	es, errs := parseINI(d, file, b)
	for _, err := range errs {
		r.problem(d.manager, err)
	}
	return es
}

// overlay lists the files of several folders that count, the folder that
// counts most first, in the order in which they are read.
func (r *reader) overlay(m Manager, dirs []string, suffix string) []string {
	files, err := confd.Files(r.ctx, r.h, dirs, suffix)
	listed := map[string]bool{}
	var out []string
	for _, f := range files {
		listed[f.Path] = true
		if !f.Null {
			out = append(out, f.Path)
		}
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range j.Unwrap() {
			var pe *fs.PathError
			if errors.As(err, &pe) && listed[pe.Path] {
				continue // reading it will say so
			}
			r.problem(m, err)
		}
	}
	return out
}

// yes reads a boolean as systemd does (src/basic/parse-util.c, parse_boolean);
// NetworkManager's keyfiles take a part of these.
func yes(v string) (is, ok bool) {
	switch strings.ToLower(v) {
	case "1", "yes", "y", "true", "t", "on":
		return true, true
	case "0", "no", "n", "false", "f", "off":
		return false, true
	}
	return false, false
}

// yesNo writes a boolean as "yes" or "no", anything else unchanged.
func yesNo(v string) string {
	is, ok := yes(v)
	switch {
	case !ok:
		return v
	case is:
		return "yes"
	}
	return "no"
}
