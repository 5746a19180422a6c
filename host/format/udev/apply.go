package udev

import (
	"maps"
	"path"
	"strings"
)

// Node is a device, or one of those it hangs on.
type Node struct {
	Kernel, Subsystem, Driver string
	// Attr reads a file of its folder in sysfs; false: there is none.
	Attr func(name string) (string, bool)
	Tags []string
}

// Device is what rules are asked about.
type Device struct {
	Action  string // "add"
	DevPath string // below /sys: "/devices/pci0000:00/…/tty/ttyUSB0"
	DevNode string // "/dev/ttyUSB0"
	// Chain is the device, then its parents.
	Chain []Node
	// Env is what the kernel says of it, and what udev's builtins make of that.
	Env map[string]string
}

// Given is a name, and the rule that gives it.
type Given struct {
	Name string // below /dev
	Rule Rule
	// Maybe: a program decides, which was not asked.
	Maybe bool
}

// Outcome is what rules do to a device.
type Outcome struct {
	Links []Given
	// Env is the environment afterwards; Maybe has the keys that a program decides about.
	Env   map[string]string
	Maybe map[string]bool
	// Programs are the PROGRAM and IMPORT{program} that would run, with their rules.
	Programs []Program
	// Runs are the rules that start something: RUN or SYSTEMD_WANTS.
	Runs []Program
}

// Program is a command that a rule has run.
type Program struct {
	Command string
	Rule    Rule
}

// answer is the result of a condition.
type answer int

const (
	no answer = iota
	maybe
	yes
)

func truth(b bool) answer {
	if b {
		return yes
	}
	return no
}

// Apply takes a device through all rules, without running anything.
func (r *Rules) Apply(d *Device) Outcome {
	run := &run{d: d, out: Outcome{Env: maps.Clone(d.Env), Maybe: map[string]bool{}}}
	if run.out.Env == nil {
		run.out.Env = map[string]string{}
	}
	skipTo, file := "", ""
	for _, rule := range r.Rules {
		if rule.Path != file { // labels are a file's own
			file, skipTo = rule.Path, ""
		}
		if skipTo != "" {
			if !rule.labels(skipTo) {
				continue
			}
			skipTo = ""
		}
		skipTo = run.rule(rule)
	}
	return run.out
}

func (r Rule) labels(name string) bool {
	for _, t := range r.Tokens {
		if t.Key == "LABEL" && t.Value == name {
			return true
		}
	}
	return false
}

// run is a device on its way through the rules.
type run struct {
	d      *Device
	out    Outcome
	closed bool // := was met: no further links
}

// rule applies one rule, and returns the label that it jumps to.
func (x *run) rule(r Rule) (label string) {
	held := yes
	var parents []Token
	for _, t := range r.Tokens {
		switch {
		case parental(t.Key) && t.Match():
			parents = append(parents, t)
		case t.Match():
			held = min(held, x.match(t))
		}
		if held == no {
			return ""
		}
	}
	held = min(held, x.parents(parents))
	if held == no {
		return ""
	}
	for _, t := range r.Tokens {
		if asks(t) { // what decides is what runs
			if t.Attr == "program" || t.Key == "PROGRAM" {
				x.out.Programs = append(x.out.Programs, Program{x.substitute(t.Value), r})
			}
			held = min(held, maybe)
		}
	}
	for _, t := range r.Tokens {
		if t.Match() {
			continue
		}
		if t.Key == "GOTO" && held == yes {
			label = t.Value
		}
		x.assign(t, r, held)
	}
	return label
}

// asks reports whether a token's answer comes from outside of the device. The
// builtins' answers are in Device.Env; they succeed for what they are there for.
func asks(t Token) bool {
	switch t.Key {
	case "PROGRAM", "RESULT":
		return true
	case "IMPORT":
		return t.Attr == "program" || t.Attr == "file" || t.Attr == "cmdline"
	case "TEST", "SYSCTL", "CONST":
		return true
	}
	return false
}

func parental(key string) bool {
	return key == "KERNELS" || key == "SUBSYSTEMS" || key == "DRIVERS" || key == "ATTRS" || key == "TAGS"
}

// match judges a condition on the device itself.
func (x *run) match(t Token) answer {
	self := x.d.Chain[0]
	is := func(s string) answer { return truth(matches(t.Value, s, t.Fold) == (t.Op == "==")) }
	switch t.Key {
	case "ACTION":
		return is(x.d.Action)
	case "DEVPATH":
		return is(x.d.DevPath)
	case "KERNEL":
		return is(self.Kernel)
	case "SUBSYSTEM":
		return is(self.Subsystem)
	case "DRIVER":
		return is(self.Driver)
	case "NAME":
		return is("")
	case "ENV":
		if x.out.Maybe[t.Attr] {
			return maybe
		}
		return is(x.out.Env[t.Attr])
	case "ATTR":
		return attribute(self, t)
	case "SYMLINK", "TAG":
		return maybe // of what was given so far: rare
	}
	return maybe
}

// attribute compares a file in sysfs; a missing one matches nothing, and "!="
// neither (udev_rule_apply_token_to_event, TK_M_ATTR). Blanks at the end count
// only where the pattern ends with one.
func attribute(n Node, t Token) answer {
	v, ok := n.Attr(t.Attr)
	if !ok {
		return no
	}
	if !strings.HasSuffix(t.Value, " ") {
		v = strings.TrimRight(v, " \t\n")
	}
	return truth(matches(t.Value, v, t.Fold) == (t.Op == "=="))
}

// parents wants one device of the chain, itself among them, that meets all
// conditions at once.
func (x *run) parents(ts []Token) answer {
	if len(ts) == 0 {
		return yes
	}
	for _, n := range x.d.Chain {
		met := true
		for _, t := range ts {
			met = met && parentMatches(n, t)
		}
		if met {
			return yes
		}
	}
	return no
}

func parentMatches(n Node, t Token) bool {
	s := ""
	switch t.Key {
	case "KERNELS":
		s = n.Kernel
	case "SUBSYSTEMS":
		s = n.Subsystem
	case "DRIVERS":
		s = n.Driver
	case "TAGS":
		for _, tag := range n.Tags {
			if matches(t.Value, tag, t.Fold) {
				return t.Op == "=="
			}
		}
		return t.Op == "!="
	case "ATTRS":
		return attribute(n, t) == yes
	}
	return matches(t.Value, s, t.Fold) == (t.Op == "==")
}

// assign does what a rule says of a device that it holds for, or may.
func (x *run) assign(t Token, r Rule, held answer) {
	switch t.Key {
	case "SYMLINK":
		x.link(t, r, held)
	case "ENV":
		x.setEnv(t, held)
		if t.Attr == "SYSTEMD_WANTS" {
			x.out.Runs = append(x.out.Runs, Program{x.substitute(t.Value), r})
		}
	case "RUN":
		if t.Attr != "builtin" {
			x.out.Runs = append(x.out.Runs, Program{x.substitute(t.Value), r})
		}
	}
}

func (x *run) setEnv(t Token, held answer) {
	if held == maybe {
		x.out.Maybe[t.Attr] = true
		return
	}
	delete(x.out.Maybe, t.Attr)
	v := x.substitute(t.Value)
	if old := x.out.Env[t.Attr]; t.Op == "+=" && old != "" && len(old) < maxRule {
		v = old + " " + v
	}
	x.out.Env[t.Attr] = v
}

func (x *run) link(t Token, r Rule, held answer) {
	if x.closed {
		return
	}
	if t.Op == "=" || t.Op == ":=" {
		x.out.Links = nil
	}
	x.closed = t.Op == ":=" && held == yes
	for name := range strings.FieldsSeq(x.substitute(t.Value)) {
		name = path.Clean("/" + strings.TrimPrefix(name, "/dev/"))[1:]
		switch {
		case name == "" || strings.Contains(name, unknown):
		case t.Op == "-=":
			x.unlink(name)
		default:
			x.out.Links = append(x.out.Links, Given{Name: name, Rule: r, Maybe: held == maybe})
		}
	}
}

func (x *run) unlink(name string) {
	kept := x.out.Links[:0]
	for _, l := range x.out.Links {
		if l.Name != name {
			kept = append(kept, l)
		}
	}
	x.out.Links = kept
}
