package remedy

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// listed is a step with these items.
type listed struct {
	pretended
	name  string
	items []step.Item
	fails error
	tries *int
}

func (s listed) Kind() string   { return "listed" }
func (s listed) Target() string { return s.name }
func (s listed) Items(context.Context, machine.Machine) ([]step.Item, error) {
	if s.tries != nil {
		*s.tries++
	}
	return s.items, s.fails
}

// preparing is one that may make anything.
type preparing struct {
	listed
	impossible error
}

func (s preparing) Possible(machine.Machine) error { return s.impossible }

// TestPreflight: what a plan touches, which of its steps can be looked at beforehand, and which are refused.
func TestPreflight(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	put(t, dir+"/a", "x", 0o644)
	must(t, "link", os.Symlink("a", dir+"/link"))
	e := &Engine{Machine: machine.Linux{}}
	items := []step.Item{{Kind: step.ValueItem, Path: "v"}, {Kind: step.ValueItem, Path: "aside", SideEffect: true},
		{Kind: step.FolderItem, Path: "folder"}, {Kind: step.FileItem, Path: "file"}}
	p := Plan{Steps: []step.Step{listed{items: items}, listed{items: items[1:3]}, listed{name: dir + "/link"}}}
	touches, err := e.preflight(t.Context(), p, nil)
	var yes []string
	for _, k := range slices.Sorted(maps.Keys(touches)) {
		if touches[k] {
			yes = append(yes, k)
		}
	}
	if err != nil || !slices.Equal(yes, []string{dir + "/a", "file", "v"}) {
		t.Errorf("%v, %v", yes, err)
	}
	both := []step.Item{{Kind: step.ValueItem, Path: "v"}, {Kind: step.ValueItem, Path: "v", SideEffect: true}}
	if touches, _ := e.preflight(t.Context(), Plan{Steps: []step.Step{listed{items: both}}}, nil); !touches["v"] {
		t.Error("what is changed is a side effect, too, and is forgotten")
	}

	tries := 0
	once := func(name string) step.Step { return listed{name: name, tries: &tries} }
	for name, c := range map[string]struct {
		steps []step.Step
		looks int
	}{
		"two files":              {[]step.Step{once(dir + "/a"), once(dir + "/b")}, 2},
		"one file twice":         {[]step.Step{once(dir + "/a"), once(dir + "/a")}, 1},
		"in a folder to be made": {[]step.Step{once(dir + "/n/m/a"), once(dir + "/n/b"), once(dir + "/n/m/b"), once(dir + "/b")}, 2},
		"below a file":           {[]step.Step{once(dir + "/n"), once(dir + "/n/b")}, 1},
		"without a file":         {[]step.Step{once(""), once("")}, 2},
		"after what prepares":    {[]step.Step{once(dir + "/a"), preparing{}, once(dir + "/b")}, 1},
	} {
		tries = 0
		if _, err := e.preflight(t.Context(), Plan{Steps: c.steps}, nil); err != nil || tries != c.looks {
			t.Errorf("%s: %d looks, %v", name, tries, err)
		}
	}
	foreign := &machine.Image{Type: machine.Regular, Foreign: true, ID: machine.ID{Inode: 7}}
	another := &machine.Image{Type: machine.Regular, Foreign: true, ID: machine.ID{Inode: 8}}
	for name, s := range map[string]step.Step{"looks": listed{fails: errBroken}, "is possible": preparing{impossible: errBroken},
		"is the one that was seen": listed{items: []step.Item{{Path: "/f", Image: another}}}} {
		touches, err := e.preflight(t.Context(), Plan{Steps: []step.Step{listed{}, s}}, []step.Item{{Path: "/f", Image: foreign}})
		if err == nil || !strings.HasPrefix(err.Error(), "step 2 (pretend): ") || !strings.HasSuffix(err.Error(), "; nothing was changed") ||
			touches != nil {
			t.Errorf("one that not %s: %v", name, err)
		}
	}
}

// TestStepsAreNumbered: messages name a step by its number in the plan, from 1, and an item likewise.
func TestStepsAreNumbered(t *testing.T) {
	bad := listed{name: "relative"}
	for name, c := range map[string]struct {
		do   func() error
		want string
	}{
		"survey": {func() error {
			_, err := Survey(machine.Linux{}, Plan{Steps: []step.Step{step.Check{}, bad}})
			return err
		}, "step 2 (pretend): relative: not an absolute path; nothing was changed"},
		"survey, a look": {func() error {
			_, err := Survey(faultyMachine{machine.Linux{}, &faults{at: 2}}, Plan{Steps: []step.Step{step.Check{}, listed{name: "/etc"}}})
			return err
		}, "step 2 (pretend): broken; nothing was changed"},
		"read": {func() error {
			return json.Unmarshal([]byte(`{"steps":[{"kind":"check"},{"kind":"nosuch"}]}`), new(Plan))
		},
			`step 2: unknown kind "nosuch"`},
		"written": {func() error { _, err := Plan{Steps: []step.Step{step.Check{}, nil}}.MarshalJSON(); return err }, "step 2: is nil"},
		"kept": {func() error {
			return fitItems(step.File{Path: "/a"}, []step.Item{{Kind: step.FileItem}, {Kind: step.ValueItem}})
		}, "item 2 is a value, where create /a keeps a folder"},
		"kept, the first": {func() error { return fitItems(step.File{Path: "/a"}, []step.Item{{Kind: step.FolderItem}}) },
			"item 1 is a folder, where create /a keeps a file"},
	} {
		if err := c.do(); text(err) != c.want {
			t.Errorf("%s: %v, not %s", name, err, c.want)
		}
	}
	e, dir, _ := changesAt(t, nil)
	e.Machine = here{}
	put(t, dir+"/b", "x", 0o644)
	_, err := e.Apply(t.Context(), Head{Plan: Plan{Steps: []step.Step{step.Perm{Path: dir + "/b", Mode: 0o600, UID: -1, GID: -1},
		step.Check{Run: []string{"/bin/false"}}}}}, nil)
	if !says(text(err), "step 2 (go on only if /bin/false succeeds): /bin/false ended with status 1") {
		t.Error(err)
	}
	c := applied(t, e, step.Perm{Path: dir + "/b", Mode: 0o640, UID: -1, GID: -1},
		step.Command{Do: []string{"/bin/true"}, Undo: []string{"/bin/false"}})
	if _, err := e.Undo(t.Context(), c.ID, UndoOptions{}); !says(text(err), "step 2 (run /bin/true): /bin/false ended with status 1") {
		t.Error(err)
	}
}

// TestSettlingTimes: what waits, waits for people and machines, not for ever.
func TestSettlingTimes(t *testing.T) {
	for name, d := range map[string]time.Duration{"lasting": Lasting, "grace": guardGrace, "questions": step.AskLimit} {
		if d < time.Second || d > time.Minute {
			t.Errorf("%s: %s", name, d)
		}
	}
	if reserveSize < 16<<10 || reserveSize > 1<<20 || fewAlike != 4 {
		t.Error("bounds", reserveSize, fewAlike)
	}
}
