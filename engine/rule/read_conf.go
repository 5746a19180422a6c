package rule

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle/host"
	"fettle/host/format/confd"
	"fettle/host/format/ini"
)

// settings are the lines of configuration files, in the order read.
type settings struct {
	list []setting
	fold bool // names count whatever their case
}

type setting struct {
	section, key, value string
	at                  string // file:line
}

// each calls do for the lines that set a key, in the order read.
func (s *settings) each(section, key string, do func(setting)) {
	if s.fold {
		section, key = strings.ToLower(section), strings.ToLower(key)
	}
	for _, e := range s.list {
		if e.section == section && e.key == key {
			do(e)
		}
	}
}

func (s *settings) last(section, key string) (last setting, ok bool) {
	s.each(section, key, func(e setting) { last, ok = e, true })
	return last, ok
}

func (s *settings) get(section, key, otherwise string) string {
	if e, ok := s.last(section, key); ok {
		return e.value
	}
	return otherwise
}

func (s *settings) sets(section, key string) bool {
	_, ok := s.last(section, key)
	return ok
}

func (s *settings) all(section, key string) []string {
	var out []string
	s.each(section, key, func(e setting) { out = append(out, e.value) })
	return out
}

func (s *settings) where(section, key string) string {
	e, _ := s.last(section, key)
	return e.at
}

// confFiles reads the files of a fact: its arguments, then the drop-ins as
// systemd orders them. What is absent is left out; what is there and cannot be
// read is an error.
func (r *reading) confFiles(f *Fact, each func(name, text string)) (files []string, err error) {
	read := func(name string) error {
		b, err := r.content(name)
		if host.IsAbsent(err) {
			return nil
		}
		if err == nil {
			files = append(files, name)
			each(name, string(b))
		}
		return err
	}
	for _, name := range f.Args {
		if err := read(name); err != nil {
			return nil, err
		}
	}
	for _, kind := range f.Opts["dropins"] {
		dirs := confd.Dirs(kind)
		if path.IsAbs(kind) {
			dirs = []string{kind}
		}
		fs, err := confd.Files(r.ctx, r.h, dirs, ".conf")
		if err != nil && !errors.Is(err, host.ErrNotRunning) {
			return nil, err
		}
		for _, d := range fs {
			if d.Null {
				continue
			}
			if err := read(d.Path); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// evidenceOf settings are the files that are there.
func (s *settings) evidenceOf(f *Fact, files []string) seen {
	if len(files) == 0 {
		return seen{strings.Join(f.Args, ", "), "absent"}
	}
	return seen{strings.Join(files, ", "), fmt.Sprintf("%d settings", len(s.list))}
}

// readKeyValue reads files of "key = value" or "key value" lines: sysctl.conf,
// sshd_config, /etc/default, environment files.
func readKeyValue(r *reading, f *Fact) (*kvFact, error) {
	s := settings{fold: f.on("fold", false)}
	comment := f.opt("comment", "#;")
	files, err := r.confFiles(f, func(name, text string) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			line = strings.TrimSpace(line)
			if line == "" || strings.ContainsRune(comment, rune(line[0])) {
				continue
			}
			k, v := cutSetting(line, f.opt("separator", ""))
			if s.fold {
				k = strings.ToLower(k)
			}
			s.list = append(s.list, setting{"", k, unquote(v), fmt.Sprintf("%s:%d", name, n)})
		}
	})
	if err != nil {
		return nil, err
	}
	values := func() (map[string]string, error) {
		m := map[string]string{}
		for _, e := range s.list {
			m[e.key] = e.value
		}
		return m, nil
	}
	return &kvFact{seen: s.evidenceOf(f, files), settings: s, Exists: len(files) > 0, Values: values, Files: files}, nil
}

// cutSetting cuts a line in key and value: at the separator, or where none is
// asked for at the first "=", or else at white space. "export" is the shell's.
func cutSetting(line, sep string) (k, v string) {
	switch sep {
	case "=", ":":
		k, v, _ = strings.Cut(line, sep)
	case "":
		var ok bool
		if k, v, ok = strings.Cut(line, "="); ok && !strings.ContainsAny(strings.TrimSpace(strings.TrimPrefix(k, "export ")), " \t") {
			k = strings.TrimPrefix(k, "export ")
			break
		}
		fallthrough
	case "space":
		k = line
		if i := strings.IndexAny(line, " \t"); i > 0 {
			k, v = line[:i], line[i+1:]
		}
	}
	return strings.TrimSpace(k), strings.TrimSpace(v)
}

// unquote takes one pair of quotes off a value, and a comment behind it.
func unquote(v string) string {
	if len(v) > 1 && (v[0] == '"' || v[0] == '\'') {
		if i := strings.IndexByte(v[1:], v[0]); i >= 0 {
			return v[1 : 1+i]
		}
	}
	return v
}

// readINI reads files with [sections], as systemd.syntax(7) has them.
func readINI(r *reading, f *Fact) (*iniFact, error) {
	var s settings
	files, err := r.confFiles(f, func(name, text string) {
		for _, e := range ini.Parse(ini.Systemd, name, []byte(text)).Entries {
			s.list = append(s.list, setting{e.Section, e.Key, unquote(e.Value), e.At()})
		}
	})
	if err != nil {
		return nil, err
	}
	sections := func() (map[string]map[string]string, error) {
		m := map[string]map[string]string{}
		for _, e := range s.list {
			if m[e.section] == nil {
				m[e.section] = map[string]string{}
			}
			m[e.section][e.key] = e.value
		}
		return m, nil
	}
	return &iniFact{seen: s.evidenceOf(f, files), settings: s, Exists: len(files) > 0, Sections: sections, Files: files}, nil
}
