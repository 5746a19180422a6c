package remedy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// TestPreviewText: what an undo would do, for people.
func TestPreviewText(t *testing.T) {
	c := &Change{Head: Head{ID: "0007", Trap: "t", Subject: "s", Plan: Plan{Title: "mend it"}}}
	like := func(n int, target, effect string) UndoneStep {
		return UndoneStep{Number: n, What: "give " + target, How: "h", Items: []string{target + ": " + effect + "\n"}, target: target,
			effect: effect + "\n"}
	}
	stays := like(1, "/d/e", "x")
	stays.Stays = "it must"
	how := like(1, "/d/e", "x")
	how.How = "otherwise"
	four := []UndoneStep{like(9, "/d/a", "x"), like(8, "/d/b", "x"), like(7, "/d/c", "x"), like(6, "/d/d", "x")}
	for name, tc := range map[string]struct {
		steps []UndoneStep
		all   bool
		want  string
	}{
		"nothing": {nil, false, "Change 0007, made for t on s: mend it\nNone of its steps was applied: there is nothing to put back.\n"},
		"one": {[]UndoneStep{{Number: 2, What: "do it", How: "somehow", Items: []string{"/a: 1 → 2\n"}}}, false,
			"\n  2. do it\n     undo: somehow\n       /a: 1 → 2\n"},
		"stays": {[]UndoneStep{{Number: 2, What: "do it", How: "somehow", Stays: "why", Items: []string{"x"}}}, false,
			"\n  2. do it\n     stays: why\n"},
		"no how":     {[]UndoneStep{{Number: 2, What: "do it", Items: []string{"/a: 1 → 2\n"}}}, false, "\n  2. do it\n       /a: 1 → 2\n"},
		"four alike": {four, false, "\n  -  4 files and folders below /d: x (steps 9 to 6)\n"},
		"four, one more": {append(slices.Clone(four), like(5, "/d/e", "y")), false,
			"\n  -  4 files and folders below /d: x (steps 9 to 6)\n\n  5. give /d/e\n     undo: h\n       /d/e: y\n"},
		"four, one stays": {append(slices.Clone(four), stays), false,
			"\n  -  4 files and folders below /d: x (steps 9 to 6)\n\n  1. give /d/e\n     stays: it must\n"},
		"four, one otherwise": {append(slices.Clone(four), how), false,
			"\n  -  4 files and folders below /d: x (steps 9 to 6)\n\n  1. give /d/e\n     undo: otherwise\n       /d/e: x\n"},
		"all": {four[:1], true, "\n  9. give /d/a\n     undo: h\n       /d/a: x\n"},
	} {
		got := (&Preview{Change: c, Steps: tc.steps}).Text(80, tc.all)
		want := tc.want
		if len(tc.steps) > 0 {
			want = "Change 0007, made for t on s: mend it\nUndoing it puts back, last step first:\n" + want
		}
		if got != want {
			t.Errorf("%s:\n%s\nnot\n%s", name, got, want)
		}
	}
	if got := strings.Count((&Preview{Change: c, Steps: four[:3]}).Text(80, false), "give "); got != 3 {
		t.Errorf("%d of 3 steps are shown", got)
	}
	if got := strings.Count((&Preview{Change: c, Steps: four}).Text(80, true), "give "); got != 4 {
		t.Errorf("%d of 4 steps are shown", got)
	}
}

// TestConflictDiff: a conflict is shown with content where that is not private, else by sizes.
func TestConflictDiff(t *testing.T) {
	file := func(content string, mode uint32) step.Item {
		return step.Item{Kind: step.FileItem, Path: "/f", Image: &machine.Image{Type: machine.Regular, Mode: mode, Size: int64(len(content)),
			Content: []byte(content), Sum: machine.Sum([]byte(content))}}
	}
	secret := file("c\n", 0o644)
	secret.Secret = true
	const (
		ours, theirs = "what fettle changed:\n", "what was changed since:\n"
		first        = "--- /f (before)\n+++ /f (fettle)\n@@ -1 +1 @@\n-a\n+b\n"
		second       = "--- /f (fettle)\n+++ /f (now)\n@@ -1 +1 @@\n-b\n+c\n"
		hidden       = "not shown, because it is secret: 2 bytes become 2 bytes\n"
		sizes        = ours + "--- /f (before)\n+++ /f (fettle)\n" + hidden + theirs + "--- /f (fettle)\n+++ /f (now)\n" + hidden
	)
	value := func(v string) step.Item { return step.Item{Kind: step.ValueItem, Path: "/proc/a", Value: v} }
	for name, c := range map[string]struct {
		c    Conflict
		want string
	}{
		"content":     {Conflict{Was: file("a\n", 0o644), Wrote: file("b\n", 0o644), Now: file("c\n", 0o644)}, ours + first + theirs + second},
		"secret":      {Conflict{Was: file("a\n", 0o644), Wrote: file("b\n", 0o644), Now: secret}, sizes},
		"private":     {Conflict{Was: file("a\n", 0o644), Wrote: file("b\n", 0o644), Now: file("c\n", 0o640)}, sizes},
		"was private": {Conflict{Was: file("a\n", 0o640), Wrote: file("b\n", 0o644), Now: file("c\n", 0o644)}, sizes},
		"mode": {Conflict{Was: file("a\n", 0o644), Wrote: file("b\n", 0o644), Now: file("b\n", 0o664)}, ours + first +
			"/f\n  before:  mode 0644, owner 0:0, 2 bytes\n  fettle:  mode 0644, owner 0:0, 2 bytes\n  now:     mode 0664, owner 0:0, 2 bytes\n"},
		"only the mode": {Conflict{Was: file("a\n", 0o644), Wrote: file("a\n", 0o646), Now: file("a\n", 0o664)},
			"/f\n  before:  mode 0644, owner 0:0, 2 bytes\n  fettle:  mode 0646, owner 0:0, 2 bytes\n  now:     mode 0664, owner 0:0, 2 bytes\n"},
		"nothing": {Conflict{Was: file("a\n", 0o644), Wrote: file("a\n", 0o644), Now: file("a\n", 0o644)},
			"/f\n  before:  mode 0644, owner 0:0, 2 bytes\n  fettle:  mode 0644, owner 0:0, 2 bytes\n  now:     mode 0644, owner 0:0, 2 bytes\n"},
		"a value": {Conflict{Was: value("1"), Wrote: value("2"), Now: value("3")}, "/proc/a\n  before:  1\n  fettle:  2\n  now:     3\n"},
	} {
		if got := c.c.Diff(); got != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", name, got, c.want)
		}
	}
}

// TestExports: the lines around the steps of a script and a playbook, and the place of what no reader would see.
func TestExports(t *testing.T) {
	p := Plan{Title: "mend", Notes: []string{"n"}, CutsConnection: true, Steps: []step.Step{step.Check{Run: []string{"/bin/true"}},
		step.Perm{Path: "/etc/x/a", Mode: 0o600, UID: -1, GID: -1}, step.Perm{Path: "/etc/b", Mode: 0o600, UID: -1, GID: -1}}}
	sh, err := Script(p)
	_, steps, _ := strings.Cut(sh, step.ShellHead)
	if !strings.Contains(sh, "# Note: n\n# This can cut your own connection") || err != nil ||
		!strings.Contains(steps, "\n# 1. go on only if /bin/true succeeds\n/bin/true\n\n"+
			"# 2. give /etc/x/a mode 0600\n#    undo: exact\nrooted /etc/x/a\n") {
		t.Errorf("%v\n%s", err, steps)
	}
	p.CutsConnection = false
	if sh, _ := Script(p); strings.Contains(sh, "This can cut") {
		t.Error("it cuts no connection")
	}
	book, err := Playbook(p)
	const head = "---\n# Written by fettle. It does not check afterwards whether it helped.\n# Note: n\n- name: \"fettle: mend\"\n"
	if err != nil || !strings.HasPrefix(book, head) ||
		!strings.Contains(book, "          - \"--\"\n          - \"/etc/x\"\n          - \"/etc\"\n          - \"/\"\n      register") ||
		!strings.Contains(book, "        fettle_parents:\n          - \"/etc/x\"\n          - \"/etc\"\n    - name: \"go on") {
		t.Errorf("%v\n%s", err, book)
	}
	if book, err := Playbook(Plan{Title: "t", Steps: p.Steps[:1]}); err != nil || strings.Contains(book, "fettle_way") {
		t.Errorf("folders are looked at for a plan of none: %v\n%s", err, book)
	}
	for in, want := range map[string]string{"a\nb\x1b": "line 2 ", "\x1b": "line 1 ", "a\n\n\u202e": "line 3 ", "a\tb\nö": "",
		"\ufffd": "line 1 "} {
		if err := readable(in); !says(text(err), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
	bad := Plan{Steps: []step.Step{step.Check{Run: []string{"/bin/true"}}, step.File{Path: "/a", Content: []byte("x"), Secret: true}}}
	for name, export := range map[string]func(Plan) (string, error){"sh": Script, "ansible": Playbook} {
		if out, err := export(bad); !errors.Is(err, step.ErrSecret) || !strings.HasPrefix(err.Error(), "step 2 (create /a): ") || out != "" {
			t.Errorf("%s: %v %q", name, err, out)
		}
	}
	notes := Text(Plan{Title: "t", Notes: []string{"a", "b"}}, TextOptions{Width: 80})
	if notes != "t\n\nNote: a\nNote: b\n" {
		t.Errorf("%q", notes)
	}
	told := Text(Plan{Title: "t", Steps: []step.Step{step.Command{Do: []string{"/bin/do"}}, step.Unit{Name: "a", Act: "start"}}},
		TextOptions{Width: 80})
	if strings.Contains(told, "# /bin/do") || !strings.Contains(told, "# systemctl start a") {
		t.Error(told)
	}
}
