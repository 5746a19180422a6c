package remedy

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// TestErrorsLeadOn: what went wrong, and the command that leads on.
func TestErrorsLeadOn(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	mine, later := Conflict{Now: step.Item{Path: "/a"}}, Conflict{Now: step.Item{Path: "/b"}, Later: "0009"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&Conflicts{"0001", []Conflict{mine}}, "change 0001 is not undone, because these were changed since:\n  /a\n" +
			"keep them, or overwrite them: fettle undo --force 0001"},
		{&Conflicts{"0001", []Conflict{later, mine}},
			"change 0001 is not undone, because these were changed since:\n  /b (by change 0009)\n  /a\n" +
				"undo the later change first: fettle undo 0009"},
		{&RolledBack{"0001", errBroken, nil, true}, "broken; everything was rolled back (change 0001)"},
		{&RolledBack{"0001", errBroken, nil, false}, "broken; it was rolled back (change 0001), as far as its steps can be"},
		{&RolledBack{"0001", errBroken, []string{"a: b", "c"}, true}, "broken; it was rolled back (change 0001), except:\n  a: b\n  c"},
		{&Incomplete{"0001", nil, []error{errBroken}}, "not everything could be put back:\n  broken\nfix that and run: fettle undo 0001"},
		{&Incomplete{"0001", errors.New("why"), []error{errBroken}},
			"why; and not everything could be put back:\n  broken\nfix that and run: fettle undo 0001"},
		{&Unfinished{"0001", Applying}, "change 0001 was cut off while it was applied: first finish it (fettle resume 0001) or undo it " +
			"(fettle undo 0001)"},
		{&Unfinished{"0001", Undoing}, "change 0001 was interrupted while it was rolled back: first finish it (fettle resume 0001) or undo it " +
			"(fettle undo 0001)"},
		{&Unconfirmed{"0001", "/a\x1b"}, "change 0001 is not confirmed yet, and changed /a\\x1b too: first confirm it (fettle confirm 0001) or " +
			"undo it (fettle undo 0001); nothing was changed"},
		{&NothingMended{"mtu", at, &Change{Head: Head{ID: "0001", Trap: "mtu", Subject: "br0"}}}, "the last fix (mtu, 2026-01-02 03:04:05) had " +
			"nothing to fix; the change before it is 0001, for mtu on br0: to undo that one, name it: fettle undo 0001"},
		{&Late{"0001", "it was"}, "too late: change 0001 was rolled back: it was"},
		{&Held{"process 7", 7}, "another fettle is at work: process 7; wait for it, or use --wait"},
		{&Damaged{"/s/0001/journal.jsonl", 3, errBroken}, "/s/0001/journal.jsonl:3: the journal is damaged: broken; the original files are in " +
			"/s/0001/pre"},
		{&StillFound{"it"}, "the check still finds it: it"},
		{Refuse("a\n%s, %v, %d", "b\nc", errors.New("d\ne"), 7), "a\nb\\nc, d\\ne, 7"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if err := (&RolledBack{Why: errBroken}); !errors.Is(err, errBroken) {
		t.Error("why it was rolled back is lost")
	}
	if got := (&Head{Trap: "mtu"}).For(); got != "mtu" {
		t.Error(got)
	}
}

// TestJoin: of what several plans repeat at their ends the last one does it.
func TestJoin(t *testing.T) {
	f1, f2, f3 := step.File{Path: "/1"}, step.File{Path: "/2"}, step.File{Path: "/3"}
	reload, restart, systemd := step.Unit{Name: "a", Act: "reload"}, step.Unit{Name: "b", Act: "restart"}, step.Unit{Act: "daemon-reload"}
	once, start := step.Unit{Name: "a", Act: "reload", Once: true}, step.Unit{Name: "a", Act: "start"}
	for name, c := range map[string]struct {
		plans [][]step.Step
		want  []step.Step
	}{
		"nothing":            {nil, nil},
		"one":                {[][]step.Step{{f1, reload}}, []step.Step{f1, reload}},
		"the same":           {[][]step.Step{{f1, reload}, {f2, reload}}, []step.Step{f1, f2, reload}},
		"three":              {[][]step.Step{{f1, reload}, {f2, reload}, {f3, reload}}, []step.Step{f1, f2, f3, reload}},
		"others":             {[][]step.Step{{f1, reload}, {f2, restart}}, []step.Step{f1, reload, f2, restart}},
		"two ends":           {[][]step.Step{{f1, systemd, reload}, {f2, systemd, restart}}, []step.Step{f1, reload, f2, systemd, restart}},
		"not at the end":     {[][]step.Step{{reload, f1}, {f2, reload}}, []step.Step{reload, f1, f2, reload}},
		"ends alone":         {[][]step.Step{{reload}, {reload}}, []step.Step{reload}},
		"what is no repeat":  {[][]step.Step{{start}, {start}}, []step.Step{start, start}},
		"once is no repeat":  {[][]step.Step{{once}, {reload}}, []step.Step{once, reload}},
		"the first has none": {[][]step.Step{{f1}, {f2, reload}}, []step.Step{f1, f2, reload}},
	} {
		var plans []Plan
		for _, s := range c.plans {
			plans = append(plans, Plan{Steps: s})
		}
		got := Join("t", plans)
		var said, want []string
		for _, s := range got.Steps {
			said = append(said, identity(s))
		}
		for _, s := range c.want {
			want = append(want, identity(s))
		}
		if !slices.Equal(said, want) || got.Title != "t" {
			t.Errorf("%s:\n%s\nnot\n%s", name, strings.Join(said, "\n"), strings.Join(want, "\n"))
		}
		for i, s := range c.plans {
			if !slices.EqualFunc(plans[i].Steps, s, func(a, b step.Step) bool { return identity(a) == identity(b) }) {
				t.Errorf("%s: plan %d was changed", name, i)
			}
		}
	}
	for _, cuts := range [][2]bool{{false, false}, {true, false}, {false, true}} {
		p := Join("t", []Plan{{CutsConnection: cuts[0], Settle: 2, Notes: []string{"a", "b"}},
			{CutsConnection: cuts[1], Settle: 1, Notes: []string{"b", "c"}}})
		if p.CutsConnection != (cuts[0] || cuts[1]) || p.Settle != 2 || strings.Join(p.Notes, "") != "abc" {
			t.Errorf("%v: %+v", cuts, p)
		}
	}
}

func TestRestorable(t *testing.T) {
	if !(Plan{Steps: []step.Step{step.File{}, step.Check{}}}).Restorable() || !(Plan{}).Restorable() ||
		(Plan{Steps: []step.Step{step.File{}, step.SolicitRouter{}}}).Restorable() {
		t.Error("restorable")
	}
}

// TestAbove is the deepest folder that all are below.
func TestAbove(t *testing.T) {
	for paths, want := range map[string]string{"/a/b/c /a/b/d": "/a/b", "/a/b/c": "/a/b", "/a/b /a/bc/d": "/a", "/a/b/c /x": "/",
		"/a/b/c /a/bb/c": "/a", "/ab/c /a/c": "/"} {
		if got := above(strings.Fields(paths)); got != want {
			t.Errorf("%s: %s, not %s", paths, got, want)
		}
	}
}

// TestFewAlike: from the fourth on, steps that do the same are one line; which are files, which folders.
func TestFewAlike(t *testing.T) {
	for n, one := range map[int]bool{3: false, 4: true} {
		text := Text(modes(n), TextOptions{Width: 80})
		if got := strings.Count(text, "\n\n") < n-1; got != one {
			t.Errorf("%d steps are one line: %v\n%s", n, got, text)
		}
	}
	for _, c := range []struct {
		types []string
		want  string
	}{{[]string{machine.Regular, machine.Regular}, "files"}, {[]string{machine.Folder, machine.Folder}, "folders"},
		{[]string{machine.Regular, machine.Folder}, "files and folders"}, {[]string{machine.Regular, ""}, "files and folders"},
		{[]string{machine.Other}, "files and folders"}} {
		p := modes(len(c.types))
		now := func(path string) *machine.Image {
			i := slices.IndexFunc(p.Steps, func(s step.Step) bool { return step.Target(s) == path })
			if c.types[i] == "" {
				return nil
			}
			return &machine.Image{Type: c.types[i]}
		}
		if got := (TextOptions{Now: now}).what(p.Steps); got != c.want {
			t.Errorf("%v: %s", c.types, got)
		}
	}
	p := modes(2)
	p.Steps = append(p.Steps, step.ACL{Path: "/x"}, step.Check{Run: []string{"/bin/true"}})
	for i, want := range []int{2, 1, 1, 0} {
		if _, n := (TextOptions{}).alike(p.Steps[i:]); n != want {
			t.Errorf("from step %d on %d are alike, not %d", i, n, want)
		}
	}
	for n, want := range map[int]string{3: "||", 4: ", and 3 more like it|-|-|-"} {
		var got []string
		for i := range n {
			more, first := likeIt(modes(n).Steps, i)
			got = append(got, map[bool]string{true: more, false: "-"}[first])
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%d: %s", n, s)
		}
	}
}
