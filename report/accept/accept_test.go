package accept

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/internal/means"
)

func file(t *testing.T, text string) string {
	t.Helper()
	f := filepath.Join(t.TempDir(), "accepted.yaml")
	if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return f
}

const edited = `# our list, reviewed every spring
- trap: bridge-mtu   # the lab
  subject: br-lab
  reason: "the lab's switch does 1400: nothing to do"

# carol asked for this one
- trap: journal-access
  subject: carol
  severity: notice
  until: 2026-12-31
  reason: |
    two lines
    of reason
- {trap: ksm-scan-rate, reason: flow style}
`

func TestMistakesAreLocated(t *testing.T) {
	for text, want := range map[string]string{
		"- trap: a\n  reason: b\n  untill: 2026-01-01\n":   `:3:3: unknown field "untill"`,
		"- trap: a\n  reason: b\n- trap: a\n  reason: c\n": ":3:3: a is accepted already, in line 1",
		"- trap: a\n":   ":1:3: an entry needs reason",
		"- reason: a\n": ":1:3: an entry needs trap",
		"- trap: a\n  reason: b\n  until: soon\n":   `:1:3: until "soon" is not a date`,
		"- trap: a\n  reason: b\n  severity: bad\n": `:1:3: severity "bad"`,
		"trap: a\n":    ":1:",
		"- trap: [a\n": ":1:",
		"- trap: a\n  reason: b\n---\n- trap: c\n  reason: d\n": "must be one list",
		"- trap: a\n\treason: b\n":                              ":",
		"- trap: a\n  reason: b\n  subject: [x, y]\n":           ":3:",
	} {
		f := file(t, text)
		_, err := Load(f)
		if err == nil || !strings.HasPrefix(err.Error(), f+":") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestNothingThereAcceptsNothing(t *testing.T) {
	for _, f := range []string{filepath.Join(t.TempDir(), "absent"), file(t, ""), file(t, "# only a comment\n"), file(t, "---\n"),
		file(t, "[]\n")} {
		if l, err := Load(f); err != nil || len(l.Entries) != 0 {
			t.Errorf("%s: %v, %v", f, l, err)
		}
	}
}

// TestEditsKeepTheRest: what an admin wrote survives adding and removing.
func TestEditsKeepTheRest(t *testing.T) {
	f := file(t, edited)
	e := Entry{
		Trap:     "deleted-open-files",
		Subject:  "nasty: 'name' \"x\" #\n\x1b",
		Severity: "warning",
		Summary:  "- a: b",
		Reason:   "# none",
		Until:    "2027-01-01",
		By:       "root",
		On:       "2026-11-21",
	}
	if err := Add(f, e); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(f)
	if !strings.HasPrefix(string(b), edited) {
		t.Fatalf("adding changed what stood there:\n%s", b)
	}
	l, err := Load(f)
	if err != nil || len(l.Entries) != 4 || l.Entries[3] != e {
		t.Fatalf("read back %+v, %v", l, err)
	}
	if err := Remove(f, e.ID()); err != nil {
		t.Fatal(err)
	}
	if b, _ = os.ReadFile(f); string(b) != edited {
		t.Fatalf("adding and removing is not the same as nothing:\n%s", b)
	}
	if err := Remove(f, "bridge-mtu:br-lab"); err != nil {
		t.Fatal(err)
	}
	want := "# our list, reviewed every spring\n" + edited[strings.Index(edited, "\n# carol")+0:]
	if b, _ = os.ReadFile(f); string(b) != want {
		t.Fatalf("removing the first left:\n%s\nwant:\n%s", b, want)
	}
	if err := Remove(f, "no:such"); !errors.Is(err, ErrNotAccepted) {
		t.Errorf("removing what is not there: %v", err)
	}
}

func TestAddReplaces(t *testing.T) {
	f := filepath.Join(t.TempDir(), "new", "accepted.yaml")
	for _, reason := range []string{"first", "second"} {
		if err := Add(f, Entry{Trap: "a", Subject: "b", Reason: reason}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Load(f)
	if err != nil || len(l.Entries) != 1 || l.Entries[0].Reason != "second" {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestUnknownLayoutIsNotTouched: a flow list cannot be edited by lines.
func TestUnknownLayoutIsNotTouched(t *testing.T) {
	const text = "[{trap: a, reason: b}, {trap: c, reason: d}]\n"
	f := file(t, text)
	if err := Add(f, Entry{Trap: "x", Reason: "y"}); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("add: %v", err)
	}
	if err := Remove(f, "a"); err == nil || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("remove: %v", err)
	}
	if b, _ := os.ReadFile(f); string(b) != text {
		t.Errorf("the file was damaged: %s", b)
	}
}

func TestIndentedListAndSymlink(t *testing.T) {
	f := file(t, "  - trap: a\n    reason: b\n")
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(f, link); err != nil {
		t.Fatal(err)
	}
	if err := Add(link, Entry{Trap: "c", Reason: "d"}); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Lstat(link); st.Mode()&os.ModeSymlink == 0 {
		t.Error("the symlink was replaced")
	}
	if l, err := Load(f); err != nil || len(l.Entries) != 2 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestOthersMayNotDecideForRoot(t *testing.T) {
	means.Root(t)
	f := file(t, "- trap: a\n  reason: b\n")
	os.Chmod(f, 0o666)
	if _, err := Load(f); err == nil || !strings.Contains(err.Error(), "others than root") {
		t.Errorf("a file that anybody may write: %v", err)
	}
	os.Chmod(f, 0o644)
	os.Chown(f, 1000, 0)
	if _, err := Load(f); err == nil {
		t.Error("a file of another owner was taken")
	}
}

func TestMark(t *testing.T) {
	now := time.Date(2026, 12, 31, 23, 59, 0, 0, time.Local)
	o := trap.Outcome{Trap: "a", Subject: "s", Status: trap.Found, Severity: trap.Warning, Summary: "it is so"}
	for _, c := range []struct {
		name string
		e    Entry
		now  time.Time
		want string // lapsed
		none bool
	}{
		{"holds", Entry{Trap: "a", Subject: "s", Severity: "warning", Summary: "it is so"}, now, "", false},
		{"written by hand", Entry{Trap: "a", Subject: "s"}, now, "", false},
		{"the last day", Entry{Trap: "a", Subject: "s", Until: "2026-12-31"}, now, "", false},
		{"the day after", Entry{Trap: "a", Subject: "s", Until: "2026-12-31"}, now.Add(time.Hour), "it ended on 2026-12-31", false},
		{"graver now", Entry{Trap: "a", Subject: "s", Severity: "notice"}, now, "its severity was notice and is warning now", false},
		{"says something else", Entry{Trap: "a", Subject: "s", Summary: "it was so"}, now, "it said then: it was so", false},
		{"another subject", Entry{Trap: "a", Subject: "t"}, now, "", true},
		{"the whole host", Entry{Trap: "a"}, now, "", true},
	} {
		r := trap.Result{Trap: "a", Outcomes: []trap.Outcome{o, {Trap: "a", Subject: "s", Status: trap.Unknown}}}
		c.e.Reason = "why"
		(&List{Entries: []Entry{c.e}}).Mark(&r, c.now)
		got := r.Outcomes[0].Accepted
		if (got == nil) != c.none || got != nil && (got.Lapsed != c.want || got.Reason != "why") {
			t.Errorf("%s: %+v", c.name, got)
		}
		if r.Outcomes[1].Accepted != nil {
			t.Errorf("%s: an unknown outcome was accepted", c.name)
		}
	}
}

// TestMarkOfTwo: of two entries, the system's and the user's own, the one that holds counts.
func TestMarkOfTwo(t *testing.T) {
	lapsed, holds := Entry{Trap: "a", Reason: "old", Until: "2026-01-01"}, Entry{Trap: "a", Reason: "new"}
	for _, es := range [][]Entry{{lapsed, holds}, {holds, lapsed}} {
		r := trap.Result{Trap: "a", Outcomes: []trap.Outcome{{Trap: "a", Status: trap.Found}}}
		(&List{Entries: es}).Mark(&r, time.Date(2026, 12, 31, 0, 0, 0, 0, time.Local))
		if got := r.Outcomes[0].Accepted; got == nil || got.Lapsed != "" || got.Reason != "new" {
			t.Errorf("%+v: %+v", es, got)
		}
	}
}

// TestSeenOfAnotherTrap: bridge-mtu-old is no finding of bridge-mtu.
func TestSeenOfAnotherTrap(t *testing.T) {
	s := &Seen{at: time.Unix(1e9, 0), was: emptyMemory(), now: emptyMemory()}
	s.was.Findings["bridge-mtu-old:br0"] = shown{Said: "x"}
	s.now.Findings["bridge-mtu-old:br0"] = shown{Said: "x"}
	r := trap.Result{Trap: "bridge-mtu", Outcomes: []trap.Outcome{{Trap: "bridge-mtu", Status: trap.Clear}}}
	if s.Mark(&r); len(r.Resolved) != 0 || len(s.now.Findings) != 1 {
		t.Errorf("resolved: %+v", r.Resolved)
	}
}

func TestSeen(t *testing.T) {
	dir := t.TempDir()
	found := func(subject, summary string) trap.Outcome {
		return trap.Outcome{Trap: "a", Subject: subject, Status: trap.Found, Severity: trap.Warning, Summary: summary}
	}
	step := func(outcomes ...trap.Outcome) string {
		t.Helper()
		s, err := OpenSeen(dir, "live", "../web 1", time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		r := trap.Result{Trap: "a", Outcomes: outcomes}
		s.Mark(&r)
		if err := s.Save(); err != nil {
			t.Fatal(err)
		}
		var fresh []string
		for _, o := range r.Outcomes {
			if o.Status == trap.Found && !o.Known {
				fresh = append(fresh, o.Subject)
			}
		}
		return strings.Join(fresh, " ")
	}
	gone := trap.Outcome{Trap: "a", Status: trap.Clear}
	blind := trap.Outcome{Trap: "a", Status: trap.Unknown}
	for i, c := range []struct {
		outcomes []trap.Outcome
		want     string
	}{
		{[]trap.Outcome{found("x", "one"), found("y", "one")}, "x y"}, // the first run shows all
		{[]trap.Outcome{found("x", "one"), found("y", "one")}, ""},
		{[]trap.Outcome{found("x", "two"), found("y", "one")}, "x"}, // it changed
		{[]trap.Outcome{blind}, ""},                                 // nobody could look
		{[]trap.Outcome{found("x", "two"), found("y", "one")}, ""},
		{[]trap.Outcome{found("x", "two"), {Trap: "a", Subject: "y", Status: trap.Unknown}}, ""},
		{[]trap.Outcome{found("x", "two"), found("y", "one")}, ""},
		{[]trap.Outcome{gone}, ""},
		{[]trap.Outcome{found("x", "two")}, "x"}, // it was gone, and came back
		{[]trap.Outcome{found("\xff", "\xfe")}, "\xff"},
		{[]trap.Outcome{found("\xff", "\xfe")}, ""}, // bytes that JSON cannot keep
	} {
		if got := step(c.outcomes...); got != c.want {
			t.Errorf("run %d: new are %q, want %q", i+1, got, c.want)
		}
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(names) != 1 || filepath.Base(names[0]) != "live-_2e._2fweb_201.json" {
		t.Errorf("state files: %v", names)
	}
	if err := os.WriteFile(names[0], []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSeen(dir, "live", "../web 1", time.Unix(1e9, 0)); err == nil || !strings.Contains(err.Error(), names[0]) {
		t.Errorf("a damaged state file: %v", err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add([]byte(edited))
	f.Add([]byte("- {trap: a, reason: b}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, lines, err := parse("f", b)
		if err == nil && len(entries) != len(lines) {
			t.Fatal("entries without lines")
		}
		for i := range entries {
			if lines[i] < 1 {
				t.Fatal("no line")
			}
		}
	})
}
