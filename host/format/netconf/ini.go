package netconf

import (
	"errors"
	"io/fs"
	"strings"

	"fettle/host/format/confd"
	"fettle/host/format/ini"
)

// ini reads and parses a manager's file and notes what is wrong with it.
func (r *reader) ini(m Manager, d ini.Dialect, file string) []ini.Entry {
	f := ini.Parse(d, file, r.file(m, file))
	for _, err := range f.Errs {
		r.problem(m, err)
	}
	return f.Entries
}

// source is where an entry is.
func source(e ini.Entry) Source { return Source{e.Path, e.Line} }

// written is an entry as its file has it.
func written(e ini.Entry) string { return e.Key + "=" + e.Value }

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
