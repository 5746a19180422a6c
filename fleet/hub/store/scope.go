package store

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Rights are the groups of hosts that somebody sees and may touch: AllGroups, or a JSON
// list of their names. The zero value is none, so that who forgets to say who asks gets
// nothing.
type Rights string

// AllGroups are the rights over all hosts.
const AllGroups Rights = "*"

// OnlyGroups are the rights over these groups.
func OnlyGroups(names ...string) Rights {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	b, err := json.Marshal(names)
	if err != nil {
		panic(err) // strings alone
	}
	return Rights(b)
}

// All reports whether they are over all groups.
func (r Rights) All() bool { return r == AllGroups }

// Groups are those that they are over; nil where that is all, or none.
func (r Rights) Groups() []string {
	var out []string
	if r.All() || json.Unmarshal([]byte(r), &out) != nil {
		return nil
	}
	return out
}

// Over reports whether they are over a group.
func (r Rights) Over(group string) bool { return r.All() || slices.Contains(r.Groups(), group) }

// String is for people.
func (r Rights) String() string {
	if r.All() {
		return "all groups"
	}
	var out []string
	for _, g := range r.Groups() {
		if g == "" {
			g = "no group"
		}
		out = append(out, g)
	}
	return strings.Join(out, ", ")
}

// Label is a label of hosts, or a question for one: with any value where it asks for none.
type Label struct {
	Name, Value string
	Any         bool
}

// allOn tells whether a host with these labels has all of those that are wanted.
func allOn(want []Label, has map[string]string) bool {
	return !slices.ContainsFunc(want, func(l Label) bool {
		v, ok := has[l.Name]
		return !ok || !l.Any && v != l.Value
	})
}

// labelsIn reads the labels in a host's row.
func labelsIn(row string) (labels map[string]string, err error) {
	if row != "" {
		err = json.Unmarshal([]byte(row), &labels)
	}
	return labels, err
}

// Scope says which hosts a question is about. Its zero value is none.
type Scope struct {
	All    bool     // groups
	Groups []string // unless all
	Labels []Label  // that a host must have, all of them
}

// Everything is all hosts.
var Everything = Scope{All: true}

// Scope is the hosts that somebody with these rights asks for: of one group, or of all
// that there are rights over.
func (r Rights) Scope(group *string, labels []Label) Scope {
	s := Scope{Labels: labels}
	switch {
	case group == nil:
		s.All, s.Groups = r.All(), r.Groups()
	case r.Over(*group):
		s.Groups = []string{*group}
	}
	return s
}

// summed reports whether the sums by group answer for these hosts.
func (s *Scope) summed() bool { return len(s.Labels) == 0 }

// groups are the condition on a column with a group.
func (s *Scope) groups(w *where, column string) {
	if s.All {
		return
	}
	if len(s.Groups) == 0 {
		w.and("1 = 0")
		return
	}
	args := make([]any, len(s.Groups))
	for i, g := range s.Groups {
		args[i] = g
	}
	w.and(column+" IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
}

// hosts are the condition on a row of hosts; alias is the table's, with its dot.
func (s *Scope) hosts(w *where, alias string) {
	s.groups(w, alias+"grp")
	for _, l := range s.Labels {
		q := "SELECT host FROM labels WHERE name = ?"
		args := []any{l.Name}
		if !l.Any {
			q, args = q+" AND value = ?", append(args, l.Value)
		}
		w.and(alias+"id IN ("+q+")", args...)
	}
}

const (
	maxGroup      = 100 // bytes
	maxLabelValue = 200
	maxLabels     = 50 // of a host
)

var labelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)

// ParseLabels reads a question for labels: NAME=VALUE, or NAME for any value, with commas
// between.
func ParseLabels(s string) ([]Label, error) {
	var out []Label
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, has := strings.Cut(part, "=")
		if name == "" || len(out) >= maxLabels {
			return nil, fmt.Errorf("label %q: expected NAME=VALUE, or NAME, with commas between", part)
		}
		out = append(out, Label{Name: name, Value: value, Any: !has})
	}
	return out, nil
}

// CheckLabel tells why a host cannot have a label.
func CheckLabel(name, value string) error {
	if !labelName.MatchString(name) {
		return fmt.Errorf("label name %q: expected up to 63 of A-Z a-z 0-9 . _ / -, the first a letter or a digit", name)
	}
	if len(value) > maxLabelValue || strings.ContainsFunc(value, func(r rune) bool { return r == ',' || !unicode.IsPrint(r) }) {
		return fmt.Errorf("label %s: its value has a comma, an unprintable character, or more than %d bytes", name, maxLabelValue)
	}
	return nil
}

// CheckGroup tells why a group cannot have a name.
func CheckGroup(name string) error {
	if len(name) > maxGroup || name == "-" || strings.ContainsFunc(name, func(r rune) bool { return r == ',' || !unicode.IsPrint(r) }) {
		return fmt.Errorf("group %q: a comma, an unprintable character, - alone or more than %d bytes are not possible", name, maxGroup)
	}
	return nil
}
