package sabotage

import (
	"slices"
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
