package remedy

import (
	"fmt"
	"strings"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

func modes(n int) (p Plan) {
	for i := range n {
		p.Steps = append(p.Steps, step.Perm{Path: fmt.Sprintf("/srv/a%d/f", i), Mode: 0o640, UID: -1, GID: -1})
	}
	return p
}

// Many files that get the same are one line.
func TestAlikeIsOneLine(t *testing.T) {
	p := modes(300)
	p.Steps = append(p.Steps, step.Perm{Path: "/srv/other", Mode: 0o750, UID: 0, GID: -1}, step.Unit{Name: "a.service", Act: "reload"})
	now := func(path string) *machine.Image {
		return &machine.Image{Type: machine.Regular, Mode: 0o644, UID: 7}
	}
	got := Text(p, TextOptions{Width: 80, Now: now})
	for _, want := range []string{"  1. 300 files below /srv: mode 0644 → 0640\n  " +
		"   undo: exact\n\n301. give /srv/other mode 0750", "302. reload a.service"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n"); n > 15 {
		t.Errorf("%d lines:\n%s", n, got)
	}
	if got := Text(p, TextOptions{Width: 80, Now: now, All: true}); strings.Count(got, "# chmod 0640") != 300 {
		t.Errorf("with all: %d modes", strings.Count(got, "# chmod 0640"))
	}
	if got := Text(modes(300), TextOptions{Width: 80}); !strings.Contains(got, "300 files and folders below /srv: mode 0640") {
		t.Errorf("without a look:\n%s", got)
	}
	if got := Text(modes(3), TextOptions{Width: 80, Now: now}); strings.Count(got, "# chmod") != 3 {
		t.Errorf("three are few:\n%s", got)
	}
	some := func(path string) *machine.Image { // the tenth has another mode
		m := now(path)
		if path == "/srv/a9/f" {
			m.Mode = 0o600
		}
		return m
	}
	if got := Text(modes(20), TextOptions{Width: 80, Now: some}); !strings.Contains(got, "  1. 9 files below /srv: mode 0644 → 0640") ||
		!strings.Contains(got, " 11. 10 files below /srv") {
		t.Errorf("unlike ones:\n%s", got)
	}
}

// A restart that nothing was changed for is not undone by another restart; one
// after a change is, because the service has to read its old files.
func TestRestartAlone(t *testing.T) {
	restart := step.Unit{Name: "a.service", Act: "restart"}
	file := step.File{Path: "/etc/a", Content: []byte("x")}
	for _, c := range []struct {
		name  string
		steps []step.Step
		again bool
	}{
		{"alone", []step.Step{restart}, false},
		{"after a check", []step.Step{step.Check{Run: []string{"/bin/true"}}, restart}, false},
		{"after daemon-reload", []step.Step{step.Unit{Act: "daemon-reload"}, restart}, false},
		{"before the file", []step.Step{restart, file}, false},
		{"after a file", []step.Step{file, restart}, true},
		{"after a start", []step.Step{step.Unit{Name: "b.service", Act: "start"}, restart}, true},
		{"that destroys", []step.Step{file, step.Unit{Name: "a.service", Act: "restart", Destroys: "the log"}}, false},
	} {
		p := Plan{Steps: c.steps}.normal()
		for _, s := range p.Steps {
			if u, ok := s.(step.Unit); ok && u.Act == "restart" && u.Repeats() != c.again {
				t.Errorf("%s: undone by another restart: %v, expected %v", c.name, u.Repeats(), c.again)
			}
		}
		text, err := Script(Plan{Title: "t", Steps: c.steps})
		if again := strings.Contains(text, "\nagain systemctl restart"); err != nil || again != c.again {
			t.Errorf("%s: the script does it again: %v, %v", c.name, again, err)
		}
	}
}

// What is logged of many steps that do the same is one line.
func TestLikeIt(t *testing.T) {
	p := modes(300)
	p.Steps = append([]step.Step{step.Check{Run: []string{"/bin/true"}}}, p.Steps...)
	p.Steps = append(p.Steps, step.Perm{Path: "/x", Mode: 0o700, UID: -1, GID: -1})
	var said []string
	for i, s := range p.Steps {
		if more, first := likeIt(p.Steps, i); first {
			said = append(said, s.Describe()+more)
		}
	}
	want := []string{"go on only if /bin/true succeeds", "give /srv/a0/f mode 0640, and 299 more like it", "give /x mode 0700"}
	if strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", said)
	}
}
