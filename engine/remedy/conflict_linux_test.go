package remedy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

func fileItem(content string, mode uint32) step.Item {
	return step.Item{Kind: step.FileItem, Path: "/f", Image: &machine.Image{Type: machine.Regular, Mode: mode, UID: 1, GID: 2,
		Sum: machine.Sum([]byte(content)), Xattrs: map[string][]byte{"user.a": {byte(mode)}}}}
}

func metaItem(mode uint32) step.Item {
	it := fileItem("", mode)
	it.Kind, it.Image.Sum, it.Image.UID, it.Image.GID = step.MetaItem, "", 3, 4
	return it
}

// TestOverlay: under a later step a thing stands as that step found it, not as it is.
func TestOverlay(t *testing.T) {
	value := func(v string) step.Item { return step.Item{Kind: step.ValueItem, Path: "/f", Value: v} }
	link := step.Item{Kind: step.MTUItem, Path: "d0", Value: "1500", Index: 7}
	none := fileItem("", 0)
	none.Image = &machine.Image{Type: machine.Absent}
	for name, c := range map[string]struct {
		found, now step.Item
		want       string
	}{
		"the same file":            {fileItem("found", 0o600), fileItem("now", 0o644), "0600 1:2 found"},
		"its attributes":           {metaItem(0o600), metaItem(0o644), "0600 3:4 "},
		"a file under attributes":  {metaItem(0o600), fileItem("now", 0o644), "0600 3:4 now"},
		"attributes under a file":  {fileItem("found", 0o600), metaItem(0o644), "0600 1:2 found"},
		"no file under attributes": {metaItem(0o600), none, "0000 0:0 "},
		"a value":                  {value("1"), value("2"), "1"},
		"another kind":             {value("1"), fileItem("now", 0o644), "0644 1:2 now"},
		"a link":                   {link, step.Item{Kind: step.MTUItem, Path: "d0", Value: "9"}, "1500 7"},
	} {
		now := c.now
		got := overlay(map[string]step.Item{c.found.Key(): c.found}, now)
		said := got.Value
		if got.Kind == step.MTUItem && got.Index == 7 {
			said += " 7"
		}
		if i := got.Image; i != nil {
			of := map[string]string{machine.Sum([]byte("found")): "found", machine.Sum([]byte("now")): "now"}[i.Sum]
			said = fmt.Sprintf("%04o %d:%d %s", i.Mode, i.UID, i.GID, of)
			if len(i.Xattrs) > 0 && i.Xattrs["user.a"][0] != byte(i.Mode) {
				t.Errorf("%s: attributes %v", name, i.Xattrs)
			}
		}
		if said != c.want {
			t.Errorf("%s: %s, not %s", name, said, c.want)
		}
		if c.now.Image != nil && c.now.Image.Type == machine.Regular && c.now.Image.Mode != 0o644 {
			t.Errorf("%s: what was read is changed", name)
		}
	}
	if got := overlay(nil, value("2")); got.Value != "2" {
		t.Error(got)
	}
}

// TestConflictIsWhose: what it was, what fettle wrote, and the later change that touches it.
func TestConflictIsWhose(t *testing.T) {
	e, dir, _ := changesAt(t, nil, ended, ended, ended, back)
	all, err := e.Store.Changes()
	must(t, "changes", err)
	now := step.Item{Kind: step.FileItem, Path: dir + "/a", Image: &machine.Image{Type: machine.Regular}}
	for id, want := range map[string]string{"0001": "0003", "0002": "0003", "0003": "", "0004": ""} {
		c := all[slices.IndexFunc(all, func(c *Change) bool { return c.ID == id })]
		got := e.conflict(c, c.Plan.Steps[0], c.steps[0], now)
		if got.Later != want || string(got.Wrote.Content()) != "new\n" || got.Was.Image.Sum != machine.Sum([]byte("old\n")) ||
			got.Now.Path != now.Path {
			t.Errorf("of %s: %+v", id, got)
		}
		if got.Wrote.Image.Mode != 0o644 {
			t.Errorf("of %s: what fettle wrote has mode %04o", id, got.Wrote.Image.Mode)
		}
	}
	must(t, "left", all[2].append(Record{Event: evLeft, Why: "w"})) // the third is undone as far as it will be
	if got := e.conflict(all[0], all[0].Plan.Steps[0], all[0].steps[0], now); got.Later != "0002" {
		t.Errorf("%+v", got)
	}
	// Without what it left, what it writes is known.
	st := all[0].steps[0]
	st.after = nil
	if got := e.conflict(all[0], all[0].Plan.Steps[0], st, now); string(got.Wrote.Content()) != "new\n" || got.Wrote.Image.Sum == "" {
		t.Errorf("%+v", got)
	}
	meta := step.Item{Kind: step.MetaItem, Path: dir + "/a", Image: &machine.Image{Mode: 7}}
	perm := stepState{before: []step.Item{{Kind: step.MetaItem, Path: dir + "/a", Image: &machine.Image{Mode: 1}}},
		after: []step.Item{{Kind: step.MetaItem, Path: dir + "/a", Image: &machine.Image{Mode: 2}}}}
	if got := e.conflict(all[3], step.Perm{}, perm, meta); got.Was.Image.Mode != 1 || got.Wrote.Image.Mode != 2 || got.Now.Image.Mode != 7 {
		t.Errorf("%+v", got)
	}
}

// TestOverlaps: what a change that waits to be confirmed has changed is not changed before.
func TestOverlaps(t *testing.T) {
	change := func(armed, confirmed bool, st stepState) []*Change {
		c := &Change{Head: Head{ID: "0001"}, phase: Applied, confirmed: confirmed, steps: []stepState{st}}
		if armed {
			c.armed = &Record{Deadline: time.Now()}
		}
		return []*Change{{}, c}
	}
	st := func(it step.Item) stepState { return stepState{before: []step.Item{{Path: "/x"}, it}} }
	undone := st(step.Item{Path: "/a"})
	undone.undone = true
	for name, c := range map[string]struct {
		all     []*Change
		refused bool
	}{
		"it waits":       {change(true, false, st(step.Item{Path: "/a"})), true},
		"it is no guard": {change(false, false, st(step.Item{Path: "/a"})), false},
		"confirmed":      {change(true, true, st(step.Item{Path: "/a"})), false},
		"another file":   {change(true, false, st(step.Item{Path: "/b"})), false},
		"undone":         {change(true, false, undone), false},
		"a side effect":  {change(true, false, st(step.Item{Path: "/a", SideEffect: true})), false},
		"a folder of it": {change(true, false, st(step.Item{Path: "/a", Kind: step.FolderItem})), false},
	} {
		err := overlaps(c.all, map[string]bool{"/a": true, "/b": false})
		var u *Unconfirmed
		if errors.As(err, &u) != c.refused || c.refused && (u.ID != "0001" || u.Path != "/a") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRecognise: below a folder that others may write to, a file is the one that was seen last, or it is refused.
func TestRecognise(t *testing.T) {
	was := machine.Image{Type: machine.Regular, ID: machine.ID{Inode: 7}, Mode: 0o644, UID: 1, GID: 2, Foreign: true}
	as := func(f func(*machine.Image)) machine.Image { i := was; f(&i); return i }
	record := func(e Event, i machine.Image) Record {
		return Record{Event: e, Items: []step.Item{{Path: "/other", Image: &was}, {Path: "/a", Image: &i}}}
	}
	another := as(func(i *machine.Image) { i.ID.Inode = 8 })
	seen := []step.Item{{Path: "/other", Image: &another}, {Path: "/a", Image: &was}}
	for name, c := range map[string]struct {
		now     machine.Image
		records []Record
		seen    []step.Item
		refused bool
	}{
		"the same":                       {was, nil, seen, false},
		"another":                        {another, nil, seen, true},
		"another, of root's folder":      {as(func(i *machine.Image) { i.ID.Inode, i.Foreign = 8, false }), nil, seen, false},
		"never seen":                     {another, nil, nil, false},
		"another mode":                   {as(func(i *machine.Image) { i.Mode = 0o600 }), nil, seen, true},
		"another user":                   {as(func(i *machine.Image) { i.UID = 9 }), nil, seen, true},
		"another group":                  {as(func(i *machine.Image) { i.GID = 9 }), nil, seen, true},
		"another type":                   {as(func(i *machine.Image) { i.Type = machine.Folder }), nil, seen, true},
		"what an earlier step left":      {another, []Record{record(evDone, another)}, seen, false},
		"what was before an earlier one": {was, []Record{record(evDone, another)}, seen, true},
		"what an undoing left":           {another, []Record{record(evDone, was), record(evUndone, another)}, seen, false},
		"only intended":                  {was, []Record{record(evIntent, another)}, seen, false},
		"the last counts":                {was, []Record{record(evDone, was), record(evDone, another)}, nil, true},
	} {
		items := []step.Item{{Path: "/value"}, {Path: "/a", Image: &c.now}}
		err := recognise(items, c.records, c.seen)
		if errors.As(err, new(*machine.Changed)) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (&Shared{"/srv/a"}).Error(); !strings.Contains(err, "others than root may write to the folders above /srv/a") {
		t.Error(err)
	}
}
