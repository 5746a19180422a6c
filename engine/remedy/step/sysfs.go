package step

import (
	"context"
	"fmt"
	"path"
	"strings"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
)

// Sysfs writes a value to a file below /sys.
type Sysfs struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	// Drifting are other files below /sys that the write changes, and that the
	// kernel changes by itself from then on: they are put back, and never
	// taken for somebody's change.
	Drifting []string `json:"drifting,omitempty"`
}

func (Sysfs) Kind() string { return "sysfs" }

func (s Sysfs) Describe() string { return fmt.Sprintf("set %s to %q", s.Path, s.Value) }

func (s Sysfs) Reversal() Reversal { return Reversal{Class: Restorable} }

func (Sysfs) Running() bool { return true }

func (s Sysfs) Commands() [][]string {
	return [][]string{{"sh", "-c", "echo " + shell.Quote(s.Value) + " > " + shell.Quote(s.Path)}}
}

func (s Sysfs) Items(_ context.Context, m machine.Machine) ([]Item, error) {
	if path.Clean(s.Path) != s.Path || !strings.HasPrefix(s.Path, "/sys/") {
		return nil, fmt.Errorf("%q is not a path below /sys", s.Path)
	}
	out, err := valueItem(m, s.Path)
	if err != nil {
		return nil, err
	}
	for _, name := range s.Drifting {
		if path.Clean(name) != name || !strings.HasPrefix(name, "/sys/") {
			return nil, fmt.Errorf("%q is not a path below /sys", name)
		}
		its, err := valueItem(m, name)
		if err != nil {
			return nil, err
		}
		its[0].SideEffect, its[0].Drifts = true, true
		out = append(out, its[0])
	}
	return out, nil
}

func (s Sysfs) Apply(_ context.Context, st *Site, before []Item) error {
	return st.Machine.WriteValue(before[0].Path, s.Value)
}

func (s Sysfs) Done(_ context.Context, _ machine.Machine, _, now []Item) (bool, error) {
	return sameValue(now[0].Value, s.Value), nil
}

func (s Sysfs) Between(_, now Item) bool { return sameValue(now.Value, s.Value) }

func (Sysfs) Keeps() (first, rest string) { return ValueItem, ValueItem }

func (s Sysfs) Shell(name string) (string, error) {
	q := shell.Quote(s.Path)
	drifting := ""
	for _, d := range s.Drifting {
		drifting += " " + shell.Quote(d)
	}
	return fmt.Sprintf("keep %s %s%s\nprintf '%%s\\n' %s > %s\n", name, q, drifting, shell.Quote(s.Value), q), nil
}

func (s Sysfs) Ansible(b *Tasks) error {
	b.Set(s.Describe(), s, []string{"tee", "--", s.Path}, "        stdin: "+YAML(s.Value))
	return nil
}

// Sets is the file and what it says then.
func (s Sysfs) Sets() (path, value string) { return s.Path, s.Value }
