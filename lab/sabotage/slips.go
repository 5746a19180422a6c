package sabotage

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/remedy/step"
	"fettle/lab"
)

// Slip is a mistake of a kind that any plan can have. It is made of the plan's own
// steps, so nobody has to think of it for each trap.
type Slip struct {
	Name  string // "left out: restart ssh.service"
	Steps []step.Step
}

// Slips are all that the steps allow.
func Slips(steps []step.Step) []Slip {
	var out []Slip
	for i, s := range steps {
		instead := func(kind string, by ...step.Step) {
			out = append(out, Slip{kind + ": " + s.Describe(), slices.Concat(steps[:i], by, steps[i+1:])})
		}
		_, asks := s.(step.Asker)
		if len(steps) > 1 && !asks {
			instead("left out")
		}
		if i+1 < len(steps) && ordered(s, steps[i+1]) {
			out = append(out, Slip{"too late: " + s.Describe(), slices.Concat(steps[:i], []step.Step{steps[i+1], s}, steps[i+2:])})
		}
		for _, p := range spoilt(s) {
			instead(p.kind, p.step)
		}
	}
	return out
}

// Made makes the slip of this name, which the plan must allow.
func Made(name string) func([]step.Step) ([]step.Step, error) {
	return func(steps []step.Step) ([]step.Step, error) {
		for _, s := range Slips(steps) {
			if s.Name == name {
				return s.Steps, nil
			}
		}
		return nil, fmt.Errorf("%s: %s", lab.NothingToSpoil, name)
	}
}

// ordered tells whether it may matter which of two steps is first: not so of two
// that write to different places, or where one only asks.
func ordered(a, b step.Step) bool {
	_, asks := a.(step.Asker)
	if _, too := b.(step.Asker); asks || too {
		return false
	}
	return !places(a) || !places(b) || step.Target(a) == step.Target(b) && step.Target(a) != ""
}

func places(s step.Step) bool {
	switch s.(type) {
	case step.File, step.Remove, step.Perm, step.ACL, step.Sysfs:
		return true
	}
	return false
}

type part struct {
	kind string
	step step.Step
}

// spoilt is the step with a part of it missing.
func spoilt(s step.Step) (out []part) {
	switch s := s.(type) {
	case step.File:
		for _, c := range contents(s) {
			kind, bad := c.kind, s
			bad.Content = c.content
			out = append(out, part{kind, bad})
		}
		if s.Was == nil && s.Mode != 0 && s.Mode != 0o644 { // one that is there keeps its own
			s.Mode = 0o644
			out = append(out, part{"mode 0644", s})
		}
	case step.Sysctl:
		if first, more := firstWord(s.Value); more {
			s.Value = first
			out = append(out, part{"first word alone", s})
		}
	case step.Perm:
		if s.Mode >= 0 && (s.UID >= 0 || s.GID >= 0) {
			mode, owner := s, s
			mode.UID, mode.GID, owner.Mode = -1, -1, -1
			out = append(out, part{"mode alone", mode}, part{"owner alone", owner})
		}
	case step.ACL:
		if s.Access != "" && s.Default != "" {
			s.Default = ""
			out = append(out, part{"no default", s})
		}
	}
	return out
}

type text struct {
	kind    string
	content []byte
}

// contents are what a file holds after slips of the hand that writes it.
func contents(s step.File) (out []text) {
	add := func(kind string, lines []string) {
		b := []byte(strings.Join(lines, ""))
		known := slices.ContainsFunc(out, func(t text) bool { return bytes.Equal(t.content, b) })
		if len(lines) > 0 && !bytes.Equal(b, s.Content) && !known {
			out = append(out, text{kind, b})
		}
	}
	lines := slices.Collect(strings.Lines(string(s.Content)))
	was := slices.Collect(strings.Lines(string(s.Was)))
	added := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return slices.Contains(was, l) })
	if len(lines) > 1 {
		add("last line lost", lines[:len(lines)-1])
		add("first line lost", lines[1:])
	}
	add("what it adds alone", added)
	for i, l := range lines {
		if cut, more := firstOfValue(l); more && slices.Contains(added, l) {
			add("first word alone", slices.Concat(lines[:i], []string{cut}, lines[i+1:]))
			break
		}
	}
	return out
}

// firstOfValue is a setting with the first word of its value alone, where it has more.
func firstOfValue(line string) (cut string, more bool) {
	at := strings.IndexByte(line, '=')
	if at < 0 || strings.HasPrefix(strings.TrimSpace(line), "#") {
		return "", false
	}
	value := line[at+1:]
	first, more := firstWord(value)
	return line[:len(line)-len(strings.TrimLeft(value, " \t"))] + first + "\n", more
}

func firstWord(s string) (first string, more bool) {
	if f := strings.Fields(s); len(f) > 1 {
		return f[0], true
	}
	return s, false
}
