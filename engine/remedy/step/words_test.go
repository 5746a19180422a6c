package step

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle/engine/remedy/machine"
)

// spoken are steps of all kinds, in every guise that is worded differently.
var spoken = []Step{
	File{Path: "/etc/it's", Content: []byte("new\n")},
	File{Path: "/etc/d/a", Content: []byte("new\n"), Mode: 0o600, Was: []byte("old\n")},
	File{Path: "/etc/d/a", Content: []byte("new\n"), Mode: 0o600, Was: []byte("old\n"), Like: "/etc/b"},
	File{Path: "/etc/d/a", Content: []byte("a\nFETTLE\nFETTLE_\nb\n"), Was: []byte{}},
	File{Path: "/etc/d/a", Content: []byte("FETTLE\n"), Mode: 0o640},
	File{Path: "/etc/d/a", Content: []byte{}, Was: []byte("x")},
	File{Path: "/etc/d/a", Content: []byte("no newline"), Was: []byte("no newline\n")},
	File{Path: "/etc/d/a", Content: []byte(strings.Repeat("x", 57))}, // 76 letters of base64
	File{Path: "/etc/d/a", Content: []byte(strings.Repeat("x", 58)), Mode: 0o640, Was: []byte("y")},
	File{Path: "/etc/d/a", Content: []byte("\x00\n"), Was: []byte("y")},
	File{Path: "/etc/d/a", Content: []byte("psk"), Was: []byte("ps"), Secret: true},
	File{Path: "/etc/d/a", Content: []byte("psk\n"), Secret: true},
	File{Path: "/etc/d/a", Content: []byte("\xff\n"), Like: "/etc/b", Secret: true},
	Remove{Path: "/etc/it's", Was: []byte("old\n")},
	Remove{Path: "/etc/a", Was: []byte("psk"), Secret: true},
	Perm{Path: "/etc/a", Mode: -1, UID: -1, GID: -1},
	Perm{Path: "/etc/a", Mode: 0, UID: -1, GID: -1},
	Perm{Path: "/etc/a", Mode: -1, UID: 0, GID: -1},
	Perm{Path: "/etc/a", Mode: -1, UID: -1, GID: 0},
	Perm{Path: "/etc/it's", Mode: 0o4711, UID: 7, GID: 8, User: "ana", Group: "staff"},
	Perm{Path: "/etc/a", Mode: 0o640, UID: 7, GID: 2},
	ACL{Path: "/etc/it's"},
	ACL{Path: "/etc/a", Access: "u::rw-,g::r--,o::---"},
	ACL{Path: "/etc/a", Default: "u::rw-,g::r--,o::---"},
	ACL{Path: "/etc/a", Access: "none", Default: "none"},
	ACL{Path: "/etc/a", Access: "u::rw-,g::r--,o::---", Default: "none"},
	Sysctl{Key: "vm/overcommit_ratio", Value: "it's"},
	Sysctl{Key: "net/ipv6/conf/all/disable_ipv6", Value: "1"},
	Sysfs{Path: "/sys/it's", Value: "o'ne"},
	Sysfs{Path: "/sys/a", Value: "one", Drifting: []string{"/sys/b", "/sys/it's"}},
	LinkMTU{Link: "d0", MTU: 1280},
	LinkMTU{Link: "d0", MTU: 1279},
	LinkMTU{Link: `it's\x5cxff`, MTU: 1200, Bridge: true},
	SolicitRouter{Link: "d0"},
	Check{Run: []string{"/bin/test", "-e", "it's"}},
	Command{Do: []string{"/bin/do", "it's"}},
	Command{Do: []string{"/bin/do"}, Undo: []string{"/bin/undo", "a"}, Require: []string{"/bin/may", "b"}},
	Command{Do: []string{"/bin/do"}, Undo: []string{"/bin/undo"}, Probe: []string{"/bin/is"}, Differs: "its number"},
	Command{Do: []string{"/bin/do"}, Again: true},
	Unit{Act: "daemon-reload"},
	Unit{Name: "a.service", Act: "reload"},
	Unit{Name: "a.service", Act: "restart"},
	Unit{Name: "a.service", Act: "reload-or-restart"},
	Unit{Name: "a.service", Act: "start"},
	Unit{Name: "a.service", Act: "stop"},
	Unit{Name: "a.service", Act: "enable"},
	Unit{Name: `a\x2d.service`, Act: "disable"},
	Unit{Name: "a.service", Act: "restart", Once: true},
	Unit{Name: "a.service", Act: "restart", Destroys: "the log"},
	Unit{Name: "a.service", Act: "mask"},
}

// TestWords: what an admin, a shell and Ansible are told of each step is what testdata/words.txt says.
func TestWords(t *testing.T) {
	var b strings.Builder
	var tried []string
	for _, s := range spoken {
		tried = append(tried, s.Kind())
		words(&b, s)
		j, err := Encode(s)
		back, err2 := Decode(j)
		if err != nil || err2 != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%s, read back from a journal: %v, %v\n%+v\nnot\n%+v", j, err, err2, back, s)
		}
	}
	for _, k := range Kinds() {
		if !slices.Contains(tried, k) {
			t.Errorf("no step of the kind %s", k)
		}
	}
	const name = "testdata/words.txt"
	if os.Getenv("FETTLE_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("%s\nwrite it again, and read what changed: FETTLE_UPDATE=1 go test ./engine/remedy/step -run TestWords",
			Diff(name, "now", want, []byte(got)))
	}
}

func words(b *strings.Builder, s Step) {
	j, _ := json.Marshal(s)
	fmt.Fprintf(b, "== %s %s\n%s\n%s; running: %v\n", s.Kind(), j, s.Describe(), s.Reversal(), s.Running())
	for _, c := range Commands(s) {
		fmt.Fprintf(b, "# %s\n", c)
	}
	if to := Target(s); to != "" {
		fmt.Fprintf(b, "changes: %s\n", to)
	}
	switch x := s.(type) {
	case Writer:
		content, there := x.Writes()
		fmt.Fprintf(b, "writes: %q, there: %v\n", content, there)
	case Setter:
		name, value := x.Sets()
		fmt.Fprintf(b, "sets: %s to %q\n", name, value)
	case Alike:
		fmt.Fprintf(b, "effect: %s\nof mode 0640, owner 7:8: %s\n", x.Effect(nil), x.Effect(&machine.Image{Mode: 0o640, UID: 7, GID: 8}))
	}
	if d, ok := s.(Differ); ok {
		fmt.Fprintf(b, "-- diff\n%s", d.Diff())
	}
	if k, ok := s.(Keeper); ok {
		first, rest := k.Keeps()
		fmt.Fprintf(b, "keeps: %s, %s\n", first, rest)
	}
	if r, ok := s.(Repeated); ok && r.Repeats() {
		fmt.Fprintf(b, "is undone by doing it again; alone: %s\n", r.Alone().Reversal())
	}
	if i, ok := s.(Inverse); ok {
		fmt.Fprintf(b, "can be inverted: %v, probed: %v\n", i.CanInvert(), i.Probed())
	}
	sh, err := s.Shell("3")
	fmt.Fprintf(b, "-- shell: %v\n%s", err, sh)
	var tasks Tasks
	err = tasks.Step(s)
	fmt.Fprintf(b, "-- ansible: %v\n%s\n", err, tasks.String())
}

// What a task of Ansible's follows is done only where that changed something.
func TestTasksFollow(t *testing.T) {
	var b Tasks
	reload := Unit{Name: "a.service", Act: "reload"}
	for _, s := range []Step{reload, Perm{Path: "/a", Mode: 0o600, UID: -1, GID: -1}, Check{Run: []string{"/bin/true"}},
		Unit{Name: "b.service", Act: "start"}, reload, Command{Do: []string{"/bin/do"}}} {
		if err := b.Step(s); err != nil {
			t.Fatal(err)
		}
	}
	const when = "      when: fettle_done2 is changed or fettle_done4 is changed\n"
	if got := b.String(); strings.Count(got, " when:") != 2 || strings.Count(got, when) != 2 {
		t.Error(got)
	}
}

func TestYAML(t *testing.T) {
	for in, want := range map[string]string{
		"a": `"a"`, "{{a}}": `!unsafe "{{a}}"`, "{%a": `!unsafe "{%a"`, "{#a": `!unsafe "{#a"`, "{ a": `"{ a"`, "a\xff": "a\xff",
	} {
		if got := YAML(in); got != want {
			t.Errorf("%q: %s, not %s", in, got, want)
		}
	}
}

func TestKindsThatAreNone(t *testing.T) {
	for _, in := range []string{`{"kind":"nosuch"}`, `{`, `{"kind":"file","path":7}`} {
		if s, err := Decode([]byte(in)); err == nil {
			t.Errorf("%s: %v", in, s)
		}
	}
	if _, err := Encode(nil); err == nil {
		t.Error("no step was encoded")
	}
	defer func() {
		if recover() == nil {
			t.Error("two kinds of one name")
		}
	}()
	Register[File]()
}

// A step is asked for what it is, and a broken one is not written.
func TestEncodeFails(t *testing.T) {
	if _, err := Encode(unwritable{}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if got := Target(Unit{}); got != "" {
		t.Errorf("a unit has the target %q", got)
	}
	for _, c := range []struct {
		step   Step
		starts bool
	}{{Unit{Act: "start"}, true}, {Unit{Act: "restart"}, true}, {Unit{Act: "reload-or-restart"}, true}, {Unit{Act: "stop"}, false},
		{Unit{Act: "enable"}, false}, {Perm{}, false}} {
		if Starts(c.step) != c.starts {
			t.Errorf("%+v starts something: %v", c.step, !c.starts)
		}
	}
	if r := (Reversal{Irreversible, ""}).String(); r != "cannot be undone" {
		t.Error(r)
	}
}

type unwritable struct{ Step }

func (unwritable) MarshalJSON() ([]byte, error) { return nil, errBroken }
