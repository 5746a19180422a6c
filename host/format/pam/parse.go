package pam

import (
	"fmt"

	"fettle/host"
)

const (
	maxDepth = 16    // PAM_SUBSTACK_MAX_LEVEL; before 1.6 libpam bounded substacks only
	maxRules = 4_000 // files that include each other twice grow without bound
)

// Opener finds a file of the configuration by the name that an include gives:
// relative to the folders of pam.d, or absolute. found is false for a file
// that is not there; an error says that nobody could look.
type Opener func(name string) (file string, text []byte, found bool, err error)

// Parse reads the configuration of a service through open. Its error says
// that a file could not be looked at. What the files say wrong is in the
// Config, since libpam lives with most of it.
func Parse(service string, open Opener) (*Config, error) {
	service = lower(service)
	c := &Config{Service: service, own: map[Facility][]Rule{}, other: map[Facility][]Rule{}}
	read := false
	for _, name := range []string{service, "other"} {
		file, text, found, err := open(name)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		read = true
		p := parser{c: c, open: open, other: name == "other"}
		if err := p.file(file, string(text), "", 0, 0); err != nil {
			return nil, err
		}
		if c.Fatal != nil {
			return c, nil
		}
	}
	if !read {
		c.Fatal = &host.SyntaxError{
			Path: "/etc/pam.d/" + service,
			Msg:  "is not there, and neither is /etc/pam.d/other: every login through it fails",
		}
	}
	return c, nil
}

type parser struct {
	c     *Config
	open  Opener
	other bool
	rules int
}

// file takes up the lines of one file. Want limits them to a facility; empty
// takes all.
func (p *parser) file(file, text string, want Facility, include, level int) error {
	p.note(file)
	lines, cut := split(text)
	for _, l := range lines {
		if l.long {
			p.problem(file, l.num, "is longer than %d bytes: libpam before 1.6 takes what follows for a line of its own", lineLimit)
		}
		if err := p.line(file, l, want, include, level); err != nil || p.c.Fatal != nil {
			return err
		}
	}
	if cut > 0 {
		p.fatal(file, cut, "ends in the middle of a continued line")
	}
	return nil
}

func (p *parser) note(file string) {
	for _, f := range p.c.Files {
		if f == file {
			return
		}
	}
	p.c.Files = append(p.c.Files, file)
}

func (p *parser) line(file string, l line, want Facility, include, level int) error {
	first, rest, ok := word(l.text)
	if !ok {
		return nil
	}
	r := Rule{File: file, Line: l.num, Level: level}
	if first[:min(1, len(first))] == "-" {
		r.Silent, first = true, first[1:]
	}
	switch f := Facility(lower(first)); f {
	case Auth, Account, Password, Session:
		r.Facility = f
	case "@include":
		return p.include(file, l.num, rest, want, include, level)
	default:
		p.problem(file, l.num, "begins with none of auth, account, password and session: libpam makes it a line that denies")
		r.Kind, r.Facility = MustFail, want
		if want == "" {
			r.Facility = Auth
		}
	}
	if want != "" && r.Facility != want {
		return nil
	}
	ctl, rest, ok := word(rest)
	r.Control = ctl
	sub := false
	switch lower(ctl) {
	case "":
		if !ok {
			p.problem(file, l.num, "has no control such as required: libpam makes it a line that denies")
			r.Kind = MustFail
			r.Actions, _ = control("default=bad")
			break
		}
		r.Actions, _ = control(ctl)
	case "include", "substack":
		sub = lower(ctl) == "substack"
		name, _, ok := word(rest)
		r.Module = name
		if sub {
			head := r
			head.Kind = Substack
			p.add(head)
		}
		done, err := p.load(file, l.num, name, ok, r.Facility, include+1, level+b2i(sub))
		if done || err != nil || p.c.Fatal != nil {
			return err
		}
		r.Kind = MustFail
		r.Actions, _ = control("default=bad")
		p.add(r)
		return nil
	default:
		var why string
		if r.Actions, why = control(ctl); why != "" {
			p.problem(file, l.num, "control: %s: libpam makes every answer of the module deny", why)
		}
	}
	mod, rest, ok := word(rest)
	if !ok {
		if r.Kind != MustFail {
			p.problem(file, l.num, "names no module: libpam makes it a line that denies")
		}
		r.Kind = MustFail
	}
	r.Module, r.Args = mod, words(rest)
	p.add(r)
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// include is Debian's: a line "@include FILE" takes in all facilities. One
// that fails makes libpam refuse the service.
func (p *parser) include(file string, num int, rest string, want Facility, include, level int) error {
	name, _, ok := word(rest)
	done, err := p.load(file, num, name, ok, want, include+1, level)
	if !done && err == nil && p.c.Fatal == nil {
		p.fatal(file, num, "@include fails, so libpam refuses the service")
	}
	return err
}

// load takes in another file. Done is false when libpam cannot.
func (p *parser) load(file string, num int, name string, ok bool, want Facility, include, level int) (done bool, err error) {
	switch {
	case !ok:
		p.problem(file, num, "includes no file: the name is missing")
		return false, nil
	case include >= maxDepth:
		p.problem(file, num, "includes %s, %d files deep: a loop; libpam gives up", name, include)
		return false, nil
	}
	path, text, found, err := p.open(name)
	if err != nil {
		return false, fmt.Errorf("%s:%d: %w", file, num, err)
	}
	if !found {
		p.problem(file, num, "includes %s, which is not there", name)
		return false, nil
	}
	return true, p.file(path, string(text), want, include, level)
}

func (p *parser) add(r Rule) {
	if p.rules++; p.rules > maxRules {
		p.fatal(r.File, r.Line, "its includes amount to more than %d lines", maxRules)
		return
	}
	to := p.c.own
	if p.other {
		to = p.c.other
	}
	to[r.Facility] = append(to[r.Facility], r)
}

// maxProblems bounds what is reported of one service.
const maxProblems = 100

func (p *parser) problem(file string, num int, format string, args ...any) {
	if e := (host.SyntaxError{Path: file, Line: num, Msg: fmt.Sprintf(format, args...)}); len(p.c.Problems) < maxProblems {
		p.c.Problems = append(p.c.Problems, &e)
	}
}

func (p *parser) fatal(file string, num int, format string, args ...any) {
	p.c.Fatal = &host.SyntaxError{Path: file, Line: num, Msg: fmt.Sprintf(format, args...)}
}
