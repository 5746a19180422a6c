package remedy

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

var journalSeed = []string{
	`{"time":"2026-01-02T03:04:05Z","event":"begin","step":0,"boot":"b","pid":1}`,
	`{"time":"2026-01-02T03:04:05Z","event":"intent","step":0,"boot":"b","items":[{"kind":"file","path":"/a","image":{"type":"file",` +
		`"mode":420,"uid":0,"gid":0,"xattrs":{"user.a":"AA=="},"sum":"00","blob":"pre/0-0"}}]}`,
	`{"time":"2026-01-02T03:04:05Z","event":"done","step":0,"items":[{"kind":"value","path":"/proc/sys/a","value":"1","aside":true}]}`,
	`{"time":"2026-01-02T03:04:05Z","event":"armed","step":0,"deadline":"2026-01-02T03:09:05Z","guards":["process 7"]}`,
	`{"time":"2026-01-02T03:04:05Z","event":"undoing","step":0,"why":"w","skip":true}`,
	`{"time":"2026-01-02T03:04:05Z","event":"left","step":1,"why":"w"}`,
	`{"time":"2026-01-02T03:04:05Z","event":"taken-back","step":0}`,
}

// TestTornJournal: cut off at any byte, a journal says what its whole lines say.
func TestTornJournal(t *testing.T) {
	var whole bytes.Buffer
	for _, l := range journalSeed {
		whole.WriteString(l + "\n")
	}
	b := whole.Bytes()
	for n := range len(b) + 1 {
		recs, good, err := parseJournal("j", b[:n], 2)
		lines := bytes.Count(b[:n], []byte("\n"))
		if err != nil || len(recs) != lines || good > n {
			t.Fatalf("cut at %d: %d records of %d lines, good to %d, %v", n, len(recs), lines, good, err)
		}
	}
	// A last line of garbage is torn; garbage ahead of other lines is damage.
	torn := append(bytes.Clone(b), "\x00\x00\x00\x00\n"...)
	if recs, good, err := parseJournal("j", torn, 2); err != nil || len(recs) != len(journalSeed) || good != len(b) {
		t.Errorf("garbage at the end: %d records, %d, %v", len(recs), good, err)
	}
	var damaged *Damaged
	if _, _, err := parseJournal("j", append([]byte("{}\n"), b...), 2); !errors.As(err, &damaged) || damaged.Line != 1 {
		t.Errorf("garbage at the start: %v", err)
	}
	if _, _, err := parseJournal("j", append([]byte(`{"event":"done","step":9}`+"\n"), b...), 2); !errors.As(err, &damaged) {
		t.Errorf("a step that is not there: %v", err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzJournal(f *testing.F) {
	for i := range journalSeed {
		var b []byte
		for _, l := range journalSeed[i:] {
			b = append(b, l+"\n"...)
		}
		f.Add(b, 2)
		f.Add(b[:len(b)-3], 1)
	}
	f.Add([]byte("{\"event\":\"intent\"}\n\n"), 1)
	f.Fuzz(func(t *testing.T, b []byte, steps int) {
		if steps < 0 || steps > 100 {
			return
		}
		recs, good, err := parseJournal("j", b, steps)
		if good < 0 || good > len(b) || good > 0 && b[good-1] != '\n' {
			t.Fatalf("good is %d of %d", good, len(b))
		}
		c := &Change{Records: recs}
		for range steps {
			c.Plan.Steps = append(c.Plan.Steps, step.File{Path: "/a"})
		}
		c.replay()
		c.Left()
		c.Unconfirmed()
		if _, err := c.fit(); err == nil { // then undo reads it so
			for i, st := range c.steps {
				if st.intended {
					probe(t.Context(), nil, c.Plan.Steps[i], st.before, st.after, st.before, true)
				}
			}
		}
		for _, st := range c.steps { // what undo would walk over
			for _, it := range st.before {
				it.Key()
				it.Show()
				it.Same(it)
			}
		}
		// What counts is read the same again, without error.
		if again, n, err2 := parseJournal("j", b[:good], steps); err == nil && (err2 != nil || n != good || len(again) != len(recs)) {
			t.Fatalf("read again: %d records to %d, %v; before %d to %d", len(again), n, err2, len(recs), good)
		}
	})
}

// TestJournalFits: a journal that its plan cannot have written is damaged, and
// nothing is undone by it.
func TestJournalFits(t *testing.T) {
	const (
		kept  = `{"event":"intent","step":0,"items":[{"kind":"file","path":"/a","image":{"type":"file","mode":420,"uid":0,"gid":0}}]}`
		done  = `{"event":"done","step":0,"items":[{"kind":"file","path":"/a","image":{"type":"file","mode":420,"uid":0,"gid":0}}]}`
		value = `{"event":"intent","step":0,"items":[{"kind":"value","path":"/a","value":"1"}]}`
		mtu   = `{"event":"intent","step":0,"items":[{"kind":"mtu","path":"a","value":"1500"}]}`
		none  = `{"event":"intent","step":0}`
		other = `{"event":"done","step":0,"items":[{"kind":"file","path":"/b","image":{"type":"file","mode":420,"uid":0,"gid":0}}]}`
		empty = `{"event":"done","step":0}`
	)
	for _, tc := range []struct {
		name  string
		step  step.Step
		lines []string
		bad   int // line; 0: fits
	}{
		{"whole", step.File{Path: "/a"}, []string{kept, done}, 0},
		{"cut off", step.File{Path: "/a"}, []string{kept}, 0},
		{"done before it began", step.File{Path: "/a"}, []string{done, kept}, 1},
		{"left before it began", step.File{Path: "/a"}, []string{`{"event":"left","step":0}`}, 1},
		{"a file's step kept a value", step.File{Path: "/a"}, []string{value}, 1},
		{"a file's step kept an MTU", step.File{Path: "/a"}, []string{mtu}, 1},
		{"a file's step kept nothing", step.File{Path: "/a"}, []string{none}, 1},
		{"a mode's step kept a value", step.Perm{Path: "/a", Mode: 0o600}, []string{value}, 1},
		{"an ACL's step kept a file", step.ACL{Path: "/a"}, []string{kept}, 1},
		{"a sysctl kept its value", step.Sysctl{Key: "a"}, []string{value}, 0},
		{"a sysctl kept a file", step.Sysctl{Key: "a"}, []string{kept}, 1},
		{"an MTU", step.LinkMTU{Link: "a"}, []string{mtu}, 0},
		{"done with another file", step.File{Path: "/a"}, []string{kept, other}, 2},
		{"done with none", step.File{Path: "/a"}, []string{kept, empty}, 2},
		{"a command keeps nothing", step.Command{Do: []string{"/bin/true"}}, []string{none, empty}, 0},
	} {
		recs, _, err := parseJournal("j", []byte(strings.Join(tc.lines, "\n")+"\n"), 1)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		c := &Change{Records: recs}
		c.Plan.Steps = []step.Step{tc.step}
		if line, err := c.fit(); line != tc.bad || (err != nil) != (tc.bad > 0) {
			t.Errorf("%s: line %d, %v; want line %d", tc.name, line, err, tc.bad)
		}
	}
}

func TestPlanJSON(t *testing.T) {
	p := Plan{Title: "t", Notes: []string{"n"}, CutsConnection: true, Settle: time.Second, Steps: []step.Step{
		step.File{Path: "/a", Content: []byte{0, 255}, Was: []byte{}}, step.File{Path: "/b", Content: []byte("x"), Mode: 0o600, Secret: true},
		step.Remove{Path: "/c", Was: []byte("x")}, step.Perm{Path: "/d", Mode: -1, UID: 0, GID: -1}, step.ACL{Path: "/e", Access: "none"},
		step.Sysctl{
			Key:   "a/b",
			Value: "1",
		}, step.Sysfs{Path: "/sys/a", Value: "2", Drifting: []string{"/sys/b"}}, step.Unit{Name: "a.service", Act: "reload"},
		step.LinkMTU{Link: "br0", MTU: 1500, Bridge: true}, step.SolicitRouter{Link: "br0"}, step.Check{Run: []string{"/bin/true"}},
		step.Command{
			Do:      []string{"/bin/a", "b c"},
			Undo:    []string{"/bin/b"},
			Probe:   []string{"/bin/c"},
			Require: []string{"/bin/d"},
			Limit:   time.Minute,
			Differs: "d",
		},
		step.Command{Do: []string{"/bin/a"}, Again: true},
	}}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var q Plan
	if err := json.Unmarshal(b, &q); err != nil || !reflect.DeepEqual(p, q) {
		t.Errorf("%v\n%#v\n%#v", err, p, q)
	}
	for _, bad := range []string{`{"steps":[{"kind":"nosuch"}]}`, `{"steps":[{}]}`, `{"steps":[7]}`} {
		if err := json.Unmarshal([]byte(bad), &q); err == nil {
			t.Errorf("%s is no error", bad)
		}
	}
	for _, s := range p.Steps {
		if s.Describe() == "" || s.Reversal().Class == "" {
			t.Errorf("%s: %q, %v", s.Kind(), s.Describe(), s.Reversal())
		}
	}
}
