package sabotage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/engine/remedy/step"
)

func TestSlips(t *testing.T) {
	steps := []step.Step{
		step.File{Path: "/etc/a", Was: []byte("# ours\nx = 1\nz = 3"), Content: []byte("# ours\nx = 4 5\nz = 3")},
		step.Check{Run: []string{"/bin/true"}},
		step.File{Path: "/etc/new", Content: []byte("secret\n"), Mode: 0o600},
		step.Sysctl{Key: "net/ipv4/tcp_rmem", Value: "1 2 3"},
		step.Unit{Name: "a.service", Act: "restart"},
	}
	want := []string{
		"left out: " + steps[0].Describe(), "last line lost: " + steps[0].Describe(), "first line lost: " + steps[0].Describe(),
		"what it adds alone: " + steps[0].Describe(), "first word alone: " + steps[0].Describe(),
		"left out: " + steps[2].Describe(), "too late: " + steps[2].Describe(), "mode 0644: " + steps[2].Describe(),
		"left out: " + steps[3].Describe(), "too late: " + steps[3].Describe(), "first word alone: " + steps[3].Describe(),
		"left out: " + steps[4].Describe(),
	}
	var got []string
	contents := map[string]string{}
	for _, s := range Slips(steps) {
		got = append(got, s.Name)
		if f, ok := s.Steps[0].(step.File); ok {
			contents[s.Name] = string(f.Content)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("slips are\n%q, and should be\n%q", got, want)
	}
	for name, text := range map[string]string{want[1]: "# ours\nx = 4 5\n", want[2]: "x = 4 5\nz = 3", want[3]: "x = 4 5\n",
		want[4]: "# ours\nx = 4\nz = 3"} {
		if contents[name] != text {
			t.Errorf("%s writes %q, and should write %q", name, contents[name], text)
		}
	}
	if _, err := Made("left out: nothing")(steps); err == nil {
		t.Error("a slip that the plan does not allow was made")
	}
}

// TestSpoilt: which parts of a step can be missing.
func TestSpoilt(t *testing.T) {
	for _, c := range []struct {
		step step.Step
		want []string
	}{
		{step.File{Path: "/a", Mode: 0o600}, []string{"mode 0644"}},
		{step.File{Path: "/a", Mode: 0o600, Was: []byte{}}, nil},
		{step.File{Path: "/a", Mode: 0o644}, nil},
		{step.File{Path: "/a"}, nil},
		{step.File{Path: "/a", Content: []byte("a = 1\n")}, nil},
		{step.File{Path: "/a", Content: []byte("a = 1 2\n")}, []string{`first word alone "a = 1\n"`}},
		{step.File{Path: "/a", Content: []byte("=1 2\n")}, []string{`first word alone "=1\n"`}},
		{step.File{Path: "/a", Content: []byte("# a = 1 2\n")}, nil},
		{step.File{Path: "/a", Content: []byte("a 1 2\n")}, nil},
		{step.File{Path: "/a", Content: []byte("a\nb\n")}, []string{`last line lost "a\n"`, `first line lost "b\n"`}},
		{step.File{Path: "/a", Content: []byte("a\na\n")}, []string{`last line lost "a\n"`}},
		{step.File{Path: "/a", Content: []byte("a\n"), Was: []byte("a\nb\n")}, nil},
		{step.Sysctl{Value: "1"}, nil},
		{step.Sysctl{Value: "1 2"}, []string{"first word alone"}},
		{step.Perm{Mode: 0, UID: 0, GID: -1}, []string{"mode alone", "owner alone"}},
		{step.Perm{Mode: 0o755, UID: -1, GID: 0}, []string{"mode alone", "owner alone"}},
		{step.Perm{Mode: 0o755, UID: -1, GID: -1}, nil},
		{step.Perm{Mode: -1, UID: 1, GID: 1}, nil},
		{step.ACL{Access: "a", Default: "b"}, []string{"no default"}},
		{step.ACL{Access: "a"}, nil},
		{step.ACL{Default: "b"}, nil},
	} {
		var got []string
		for _, p := range spoilt(c.step) {
			f, isFile := p.step.(step.File)
			if isFile && p.kind != "mode 0644" {
				p.kind += fmt.Sprintf(" %q", f.Content)
			}
			got = append(got, p.kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.step, got, c.want)
		}
	}
}

// TestOrdered: two steps that write are done in another order where the second could depend on the first.
func TestOrdered(t *testing.T) {
	a, b := step.File{Path: "/a", Content: []byte("a")}, step.File{Path: "/b", Content: []byte("b")}
	unit, asks := step.Unit{Name: "a.service", Act: "restart"}, step.Check{Run: []string{"/bin/true"}}
	for _, c := range []struct {
		steps []step.Step
		want  []string // the steps' order, of the slip that is too late
	}{
		{[]step.Step{a, b}, nil},
		{[]step.Step{a, step.Perm{Path: "/a", Mode: 0o600, UID: -1, GID: -1}}, []string{"perm", "file"}},
		{[]step.Step{a, unit}, []string{"unit", "file"}},
		{[]step.Step{unit, a}, []string{"file", "unit"}},
		{[]step.Step{a, asks}, nil},
		{[]step.Step{asks, a}, nil},
		{[]step.Step{asks, a, unit, asks}, []string{"check", "unit", "file", "check"}},
	} {
		var got []string
		for _, s := range Slips(c.steps) {
			if strings.HasPrefix(s.Name, "too late") {
				for _, s := range s.Steps {
					got = append(got, s.Kind())
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.steps, got, c.want)
		}
	}
	if slips := Slips([]step.Step{unit}); len(slips) != 0 {
		t.Errorf("the only step is spoilt: %+v", slips)
	}
}

// TestReplaced: every step that is meant, and no other.
func TestReplaced(t *testing.T) {
	name := func(n string) step.Unit { return step.Unit{Name: n, Act: "restart"} }
	steps := []step.Step{name("a"), step.Check{}, name("b"), name("a"), name("c")}
	for what, c := range map[string]struct {
		spoil func([]step.Step) ([]step.Step, error)
		want  []string
	}{
		"without": {Without(func(u step.Unit) bool { return u.Name == "a" }), []string{"check", "b", "c"}},
		"replaced": {Replaced(func(u step.Unit) ([]step.Step, bool) { return []step.Step{name("x"), name("y")}, u.Name == "a" }), []string{"x",
			"y", "check", "b", "x", "y", "c"}},
		"also":    {Also(name("d")), []string{"a", "check", "b", "a", "c", "d"}},
		"nothing": {Without(func(step.File) bool { return true }), nil},
	} {
		out, err := c.spoil(slices.Clone(steps))
		var got []string
		for _, s := range out {
			if u, ok := s.(step.Unit); ok {
				got = append(got, u.Name)
			} else {
				got = append(got, s.Kind())
			}
		}
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, c.want)
		}
	}
}
