package remedy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// TestChangesAreRead: a change by its number, however it is written, and what is said of one that cannot be read.
func TestChangesAreRead(t *testing.T) {
	e, dir, _ := changesAt(t, nil, ended, ended)
	s := e.Store
	file := func(id, name string) string { return filepath.Join(s.folder(id), name) }
	for id, want := range map[string]string{"1": "0001", "0001": "0001", "2": "0002", "3": "", "0": "", "-1": "", "x": "", "": "",
		"../1": ""} {
		c, err := s.Change(id)
		if (err == nil) != (want != "") || err == nil && c.ID != want || err != nil && !errors.Is(err, ErrNoChange) {
			t.Errorf("%q: %v, %v", id, c, err)
		}
		if _, numeric := strconv.Atoi(id); (numeric != nil || id == "-1") && !strings.HasPrefix(text(err), strconv.Quote(id)+": ") {
			t.Errorf("%q: it does not name what was asked for: %v", id, err)
		}
	}
	plan, journal := read(t, file("0001", "plan.json")), read(t, file("0001", "journal.jsonl"))
	for name, c := range map[string]struct{ file, content, want string }{
		"no JSON":          {"plan.json", "{", "plan.json: is damaged: "},
		"no format":        {"plan.json", strings.Replace(plan, `"format": 1`, `"format": 0`, 1), "it names no format"},
		"a newer format":   {"plan.json", strings.Replace(plan, `"format": 1`, `"format": 2`, 1), "was written by a newer fettle (format 2)"},
		"a step too few":   {"journal.jsonl", strings.Replace(journal, `"step":0`, `"step":7`, 2), "journal.jsonl:1"},
		"done before all":  {"journal.jsonl", strings.Replace(journal, `"intent"`, `"done"`, 1), "journal.jsonl:2"},
		"an unknown event": {"journal.jsonl", strings.Replace(journal, `"begin"`, `"x"`, 1), `unknown event "x"`},
	} {
		was := read(t, file("0001", c.file))
		put(t, file("0001", c.file), c.content, 0o600)
		_, err := s.Change("1")
		all, errs := s.Changes()
		if name != "a step too few" && !says(text(err), c.want) || text(errs) != text(err) || len(all) != 2 && err == nil || len(all) == 0 {
			t.Errorf("%s: %v; of all %d: %v", name, err, len(all), errs)
		}
		put(t, file("0001", c.file), was, 0o600)
	}
	must(t, "remove", os.Remove(file("0001", "journal.jsonl")))
	if _, err := s.Change("1"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	must(t, "remove", os.RemoveAll(s.folder("0001")))
	for _, n := range []string{"9999", "10000", "x", ".new-0003"} {
		must(t, "mkdir", os.Mkdir(s.folder(n), 0o700))
	}
	if ids, err := s.IDs(); err != nil || !slices.Equal(ids, []string{"0002", "9999", "10000"}) {
		t.Error(ids, err)
	}
	if c, err := s.create(Head{Format: 1}); err != nil || c.ID != "10001" {
		t.Errorf("the next change: %+v, %v", c, err)
	}
	c, err := s.Change("2")
	if must(t, "change", err); c.Before(dir+"/a") == nil || c.Before(dir+"/a").Mode != 0o644 || c.Before("/nosuch") != nil || c.Why() != "" {
		t.Errorf("how a file was: %+v", c.Before(dir+"/a"))
	}
	s.NothingToMend("demo")
	if n := s.nothingMended(); n == nil || n.What != "demo" || n.When.IsZero() {
		t.Errorf("%+v", n)
	}
	put(t, s.Dir+"/nothing-mended.json", "{", 0o600)
	if n := s.nothingMended(); n != nil {
		t.Errorf("%+v", n)
	}
	empty := engineAt(t, t.TempDir()+"/state").Store
	if empty.NothingToMend("demo"); empty.nothingMended() != nil {
		t.Error("where nothing was ever changed it is noted that nothing was")
	}
	must(t, "close", empty.Close())
	if _, err := empty.IDs(); err == nil {
		t.Error("a closed store is read")
	}
}

// TestStoreFolder: where changes may be kept, what is made, and what is said of a folder that is unfit.
func TestStoreFolder(t *testing.T) {
	means.Root(t)
	top := t.TempDir()
	for dir, ok := range map[string]bool{top + "/a/b/state": true, "state": false, top + "/s\"": false, top + "/s$x": false,
		top + `/s\`:    false,
		top + "/s\x7f": false, top + "/s\x1f": false, top + "/s x": true, "": false} {
		s, err := OpenStoreAt(dir)
		if (err == nil) != ok || !ok && !errors.Is(err, ErrStorePath) {
			t.Errorf("%q: %v", dir, err)
		}
		if err == nil {
			must(t, "close", s.Close())
		}
	}
	for dir, want := range map[string]os.FileMode{"/a": 0o755, "/a/b": 0o755, "/a/b/state": 0o700, "/a/b/state/changes": 0o700} {
		if st, err := os.Stat(top + dir); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v %v", dir, st, err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(string) error
		want  string
	}{
		"a file": {func(d string) error { return errors.Join(os.RemoveAll(d), os.WriteFile(d, nil, 0o600)) },
			"it is no folder: move it away (mv %[1]s %[1]s.old)"},
		"a user's":          {func(d string) error { return os.Chown(d, 7, 0) }, "it belongs to user 7 and has mode 0700: chown root: %s"},
		"a group may write": {func(d string) error { return os.Chmod(d, 0o770) }, "has mode 0770: chmod go-w %s"},
		"others may write":  {func(d string) error { return os.Chmod(d, 0o707) }, "has mode 0707: chmod go-w %s"},
		"a user's, writable": {func(d string) error { return errors.Join(os.Chmod(d, 0o770), os.Chown(d, 7, 0)) },
			"chown root: %[1]s && chmod go-w %[1]s"},
		"changes, readable": {func(d string) error { return os.Chmod(d+"/changes", 0o750) }, "has mode 0750: chmod go-rwx %s/changes"},
		"changes, a file": {func(d string) error {
			return errors.Join(os.RemoveAll(d+"/changes"), os.WriteFile(d+"/changes", nil, 0o600))
		}, "it is no folder"},
		"as it was made": {func(string) error { return nil }, ""},
		"all may read":   {func(d string) error { return os.Chmod(d, 0o755) }, ""},
	} {
		d := top + "/" + strings.ReplaceAll(strings.ReplaceAll(name, " ", ""), ",", "")
		d = strings.ReplaceAll(d, "'", "")
		s, err := OpenStoreAt(d)
		must(t, name, err)
		must(t, name, errors.Join(s.Close(), c.spoil(d)))
		want := c.want
		if strings.Contains(want, "%") {
			want = fmt.Sprintf(want, d)
		}
		if _, err := OpenStoreAt(d); !says(text(err), want) {
			t.Errorf("%s: %v, not %s", name, err, want)
		}
	}
	must(t, "sticky", errors.Join(os.Mkdir(top+"/sticky", 0o700), os.Chmod(top+"/sticky", 0o777|os.ModeSticky)))
	must(t, "shared", errors.Join(os.Mkdir(top+"/shared", 0o700), os.Chmod(top+"/shared", 0o777)))
	must(t, "group", errors.Join(os.Mkdir(top+"/group", 0o700), os.Chmod(top+"/group", 0o770)))
	must(t, "link", os.Symlink(top+"/a", top+"/link"))
	for dir, want := range map[string]string{"/sticky": "", "/shared": "it lies below " + top + "/shared, where users other " +
		"than root can rename",
		"/group": "it lies below", "/link": "", "/group/sub": "it lies below"} {
		d, err := makeRoots(top + dir)
		if !says(text(err), want) {
			t.Errorf("%s: %v", dir, err)
		}
		if err == nil {
			if real := d.Name(); dir == "/link" && real != top+"/a" {
				t.Errorf("%s is %s", dir, real)
			}
			d.Close()
		}
	}
	t.Setenv("FETTLE_STATE", "")
	if Dir() != DefaultDir {
		t.Error(Dir())
	}
	t.Setenv("FETTLE_STATE", top+"/env")
	s, err := OpenStore()
	if must(t, "open", err); s.Dir != top+"/env" {
		t.Error(s.Dir)
	}
	s.Close()
}

// TestJournalItems: what a line must say of things to be believed.
func TestJournalItems(t *testing.T) {
	img := &machine.Image{Type: machine.Regular}
	blob := func(name string) *machine.Image { return &machine.Image{Type: machine.Regular, Blob: name} }
	for name, c := range map[string]struct {
		r    Record
		want string
	}{
		"a file":         {Record{Event: evIntent, Items: []step.Item{{Kind: step.FileItem, Image: img}}}, ""},
		"a kept file":    {Record{Event: evIntent, Items: []step.Item{{Kind: step.FileItem, Image: blob("pre/0-0")}}}, ""},
		"kept elsewhere": {Record{Event: evIntent, Items: []step.Item{{Kind: step.FileItem, Image: blob("../x")}}}, `bad name "../x"`},
		"kept anywhere":  {Record{Event: evIntent, Items: []step.Item{{Kind: step.FileItem, Image: blob("/etc/shadow")}}}, "bad name"},
		"without image":  {Record{Event: evIntent, Items: []step.Item{{Kind: step.FileItem, Path: "/a"}}}, "item /a without an image"},
		"mode, none":     {Record{Event: evIntent, Items: []step.Item{{Kind: step.MetaItem}}}, "without an image"},
		"folder, none":   {Record{Event: evIntent, Items: []step.Item{{Kind: step.FolderItem}}}, "without an image"},
		"values": {Record{Event: evDone, Items: []step.Item{{Kind: step.ValueItem}, {Kind: step.MTUItem}, {Kind: step.ActiveItem},
			{Kind: step.EnabledItem}}}, ""},
		"unknown":           {Record{Event: evDone, Items: []step.Item{{Kind: "x"}}}, `unknown kind of item "x"`},
		"a note has items":  {Record{Event: evNote, Items: []step.Item{{Kind: "x"}}}, "unknown kind"},
		"the last step":     {Record{Event: evLeft, Step: 1}, ""},
		"a step too many":   {Record{Event: evUndone, Step: 2}, "step 2 of a plan of 2"},
		"before the first":  {Record{Event: evUndoIntent, Step: -1}, "step -1 of a plan of 2"},
		"of no step":        {Record{Event: evApplied, Step: 9}, ""},
		"an event of later": {Record{Event: "x"}, `unknown event "x"`},
	} {
		if err := c.r.valid(2); !says(text(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKept: contents are kept by step and item, read back once, and not believed where they changed.
func TestKept(t *testing.T) {
	e, _, _ := changesAt(t, nil, doing[:1])
	c, err := e.Store.Change("1")
	must(t, "change", err)
	file := func(content, typ string) step.Item {
		img := machine.Image{Type: typ, Content: []byte(content), Sum: machine.Sum([]byte(content))}
		return step.Item{Kind: step.FileItem, Path: "/a", Image: &img}
	}
	meta := step.Item{Kind: step.MetaItem, Image: &machine.Image{Type: machine.Regular}}
	items := []step.Item{file("one", machine.Regular), meta, file("", machine.Absent),
		file("four", machine.Regular), {Kind: step.ValueItem}}
	must(t, "keep", c.keep(2, items))
	for i, want := range []string{"pre/2-0", "", "", "pre/2-3", ""} {
		if items[i].Image != nil && items[i].Image.Blob != want {
			t.Errorf("item %d is kept as %q", i, items[i].Image.Blob)
		}
	}
	for i := range items {
		if items[i].Image != nil {
			items[i].Image.Content = nil
		}
	}
	if err := c.load(items); err != nil || string(items[0].Image.Content) != "one" || string(items[3].Image.Content) != "four" {
		t.Errorf("%v: %+v", err, items)
	}
	items[0].Image.Content, items[3].Image.Content = []byte("mine"), nil
	put(t, e.Store.folder("0001")+"/pre/2-0", "other", 0o600)
	if err := c.load(items); err != nil || string(items[0].Image.Content) != "mine" {
		t.Errorf("what is there is read again: %v", err)
	}
	items[0].Image.Content = nil
	if err := c.load(items); !says(text(err), "the kept copy pre/2-0 of /a is damaged") {
		t.Error(err)
	}
	must(t, "remove", os.Remove(e.Store.folder("0001")+"/pre/2-0"))
	if err := c.load(items); !says(text(err), "reading the kept copy of /a") {
		t.Error(err)
	}
	for _, c := range []struct {
		err  error
		want bool
	}{{syscall.ENOSPC, true}, {syscall.EDQUOT, true}, {unix.EROFS, false}, {nil, false}} {
		if noSpace(c.err) != c.want {
			t.Errorf("%v is a want of room: %v", c.err, !c.want)
		}
	}
	a, b := []step.Item{{Kind: "x", Path: "/a"}}, []step.Item{{Kind: "x", Path: "/b"}}
	if !sameKeys(a, a) || sameKeys(a, b) || sameKeys(a, nil) || sameKeys(nil, b) || !sameKeys(nil, nil) {
		t.Error("same keys")
	}
}
