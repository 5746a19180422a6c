// Package pam reads the PAM configuration of a host the way libpam does, and
// simulates it: which codes of the modules make a stack let somebody in.
//
// It follows Linux-PAM 1.5.2, libpam/pam_handlers.c (the reading),
// pam_misc.c (words and controls) and pam_dispatch.c (the walk), with Debian's
// @include. Where later versions differ, the line is among Config.Problems.
package pam

import (
	"path"
	"strings"

	"fettle/host"
)

// Facility is the part of PAM that a line belongs to.
type Facility string

const (
	Auth     Facility = "auth"
	Account  Facility = "account"
	Password Facility = "password"
	Session  Facility = "session"
)

// Facilities are all there are.
var Facilities = []Facility{Auth, Account, Password, Session}

// Kind tells what a line does when the walk reaches it.
type Kind int

const (
	Module   Kind = iota // asks a module
	Substack             // the head of a substack: what follows has a higher Level
	MustFail             // a line that libpam cannot make sense of: it denies
)

// Rule is one line, as libpam keeps it: includes are already in its place.
type Rule struct {
	File     string // where it is
	Line     int    // the first of its lines, from 1
	Facility Facility
	Kind     Kind
	Control  string // as written: "required", "success=1 default=ignore"
	Actions  Actions
	Module   string // as written: "pam_unix.so", "/opt/x/pam_x.so"; of a substack the file's name
	Args     []string
	Silent   bool // "-auth": a module that is not installed is not logged
	Level    int  // 0, or how many substacks the line is in
}

// Name is the module's name without folder and suffix: "pam_unix".
func (r *Rule) Name() string {
	return strings.TrimSuffix(path.Base(r.Module), ".so")
}

// Arg reports whether an argument is given, word for word.
func (r *Rule) Arg(want string) bool {
	for _, a := range r.Args {
		if a == want {
			return true
		}
	}
	return false
}

// Value is what an argument "key=value" says; the last one counts.
func (r *Rule) Value(key string) (value string, ok bool) {
	for _, a := range r.Args {
		if v, is := strings.CutPrefix(a, key+"="); is {
			value, ok = v, true
		}
	}
	return value, ok
}

// Config is the PAM configuration of one service.
type Config struct {
	Service string
	// Files are those that were read, in the order of their first reading.
	Files []string
	// Problems are lines that libpam logs and makes deny, files that it
	// misses, and what versions read differently.
	Problems []*host.SyntaxError
	// Fatal, if set, is why libpam refuses the service as a whole: every call
	// fails with PAM_ABORT.
	Fatal *host.SyntaxError

	own, other map[Facility][]Rule
}

// Stack lists the lines of a facility in the order of the walk. A service
// without any line of it has those of the service "other" (fallback).
func (c *Config) Stack(f Facility) (rules []Rule, fallback bool) {
	if rs := c.own[f]; len(rs) > 0 {
		return rs, false
	}
	return c.other[f], true
}

// Uses lists the lines of a facility that ask a module, by its Name.
func (c *Config) Uses(f Facility, name string) []Rule {
	var out []Rule
	rules, _ := c.Stack(f)
	for _, r := range rules {
		if r.Kind == Module && r.Name() == name {
			out = append(out, r)
		}
	}
	return out
}
