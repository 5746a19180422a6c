package capture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fettle/host"
)

// Difference is a question that two captures answer differently. An answer is
// in words, or the content of a file, a command or a table; Was and Is hold
// "(not asked)" where a capture lacks the question.
type Difference struct {
	Op   Op     `json:"op"`
	What string `json:"what"` // a path, a command, a table's name
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// differLimit is the most that is compared of one answer, in bytes.
const differLimit = 1 << 20

// Differ lists what two captures answer differently, in a stable order. Times,
// inode numbers and sizes of files are left out: they differ on any two hosts.
func Differ(a, b *Source) []Difference {
	keys := map[string]bool{}
	for k := range a.answers {
		keys[k] = true
	}
	for k := range b.answers {
		keys[k] = true
	}
	sorted := make([]string, 0, len(keys))
	for k := range keys {
		sorted = append(sorted, k)
	}
	slices.Sort(sorted)
	var out []Difference
	for _, k := range sorted {
		was, is := a.words(k), b.words(k)
		if was == is {
			continue
		}
		q := a.answers[k]
		if q == nil {
			q = b.answers[k]
		}
		out = append(out, Difference{q.Op, q.what(), was, is})
	}
	return out
}

// what names what a question is about.
func (q Question) what() string {
	s := string(q.Path)
	for _, a := range q.Args {
		s += " " + string(a)
	}
	if q.Attr != "" {
		s += " " + string(q.Attr)
	}
	return s
}

// words is an answer as text.
func (s *Source) words(key string) string {
	a := s.answers[key]
	switch {
	case a == nil:
		return "(not asked)"
	case a.Failure != nil && host.IsAbsent(a.Failure.err()):
		return "(absent)"
	case a.Failure != nil:
		return "(" + host.Reason(a.Failure.err()) + ")"
	}
	switch a.Op {
	case OpDir:
		var names []string
		for _, e := range a.Entries {
			names = append(names, string(e.Name))
		}
		slices.Sort(names)
		return strings.Join(names, "\n")
	case OpStat, OpLstat:
		if a.Info == nil {
			return "(damaged)"
		}
		return fmt.Sprintf("%s, owner %d:%d", a.Info.Mode, a.Info.UID, a.Info.GID)
	case OpLink:
		if a.Target == nil {
			return "(damaged)"
		}
		return string(*a.Target)
	case OpXattr:
		return fmt.Sprintf("%q", a.Value)
	}
	return s.text(a)
}

// text is the content of a file, a command or a table; JSON is indented, so
// that it can be compared line by line.
func (s *Source) text(a *Answer) string {
	b, err := s.content(a, differLimit)
	if err != nil {
		return "(" + host.Reason(err) + ")"
	}
	var pretty bytes.Buffer
	if a.Op == OpTable && json.Indent(&pretty, b, "", " ") == nil {
		b = pretty.Bytes()
	}
	out := string(b)
	if a.Op == OpCommand && a.Exit != 0 {
		out += fmt.Sprintf("(exit status %d)\n", a.Exit)
	}
	return out
}
