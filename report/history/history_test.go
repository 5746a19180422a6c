package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
	"fettle/report"
)

var began = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

func doc(at time.Time, results ...trap.Result) *report.Document {
	return report.NewDocument(report.Meta{Host: "web1", Kind: host.KindLive, Version: "1", Started: at}, nil, results, time.Second)
}

func found(subject string, sev trap.Severity, summary string) trap.Outcome {
	return trap.Outcome{Trap: "a", Subject: subject, Status: trap.Found, Severity: sev, Summary: summary}
}

func of(outcomes ...trap.Outcome) trap.Result { return trap.Result{Trap: "a", Outcomes: outcomes} }

func TestStoreIsBounded(t *testing.T) {
	s := In(t.TempDir())
	if names, err := s.Names(); err != nil || len(names) != 0 {
		t.Fatalf("nothing recorded: %v, %v", names, err)
	}
	for i := range 5 {
		if err := s.Add(doc(began.Add(time.Duration(i)*time.Hour), of(found("x", trap.Warning, fmt.Sprint(i)))), 3); err != nil {
			t.Fatal(err)
		}
	}
	names, err := s.Names()
	if want := []string{"20261122T100000.000Z", "20261122T090000.000Z", "20261122T080000.000Z"}; err != nil || !slices.Equal(names, want) {
		t.Fatalf("names %v, %v", names, err)
	}
	if es, _ := os.ReadDir(string(s.dir)); len(es) != 3 {
		t.Errorf("files left: %v", es)
	}
	d, err := s.Read(names[0])
	if err != nil || d.Results[0].Outcomes[0].Summary != "4" || d.Counts.Found != 1 {
		t.Errorf("read back %+v, %v", d, err)
	}
	for given, want := range map[string]string{"1": names[0], "3": names[2], "last": names[0], "20261122T09": names[1], names[2]: names[2]} {
		if got, err := s.Name(given); err != nil || got != want {
			t.Errorf("%q is %q, %v", given, got, err)
		}
	}
	for _, given := range []string{"0", "4", "-1", "", "2026", "20261122", "x", "../" + names[0]} {
		if got, err := s.Name(given); !errors.Is(err, ErrNoRun) {
			t.Errorf("%q is %q, %v", given, got, err)
		}
	}
}

// What is not a run stays, and does not count; damage is told.
func TestStrangersAndDamage(t *testing.T) {
	s := In(t.TempDir())
	for i := range 2 {
		if err := s.Add(doc(began.Add(time.Duration(i)*time.Hour)), 1); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"notes.txt", "20261122T010000.000Z.json", ".20261122T010000.000Z.json.zst"} {
			if err := os.WriteFile(filepath.Join(string(s.dir), name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	names, err := s.Names()
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	if es, _ := os.ReadDir(string(s.dir)); len(es) != 4 {
		t.Errorf("%v", es)
	}
	file := s.dir.File(names[0])
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(names[0]); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("damage: %v", err)
	}
}

func TestCompare(t *testing.T) {
	unknown := func(subject string) trap.Outcome {
		return trap.Outcome{Trap: "a", Subject: subject, Status: trap.Unknown, Reason: "denied"}
	}
	clear := trap.Outcome{Trap: "a", Subject: "x", Status: trap.Clear}
	x := found("x", trap.Warning, "one")
	for name, c := range map[string]struct {
		a, b []trap.Result
		want string
	}{
		"the same":                    {[]trap.Result{of(x)}, []trap.Result{of(x)}, ""},
		"new":                         {[]trap.Result{of(clear)}, []trap.Result{of(x)}, "new a:x"},
		"new, unknown before":         {[]trap.Result{of(unknown("x"))}, []trap.Result{of(x)}, "new a:x"},
		"new, not checked before":     {nil, []trap.Result{of(x)}, "new a:x"},
		"resolved":                    {[]trap.Result{of(x)}, []trap.Result{of(clear)}, "resolved a:x"},
		"resolved: the subject went":  {[]trap.Result{of(x)}, []trap.Result{of()}, "resolved a:x"},
		"not inspected":               {[]trap.Result{of(x)}, []trap.Result{of(unknown("x"))}, "unseen a:x"},
		"the whole host not":          {[]trap.Result{of(x)}, []trap.Result{of(unknown(""))}, "unseen a:x, unseen a"},
		"not checked":                 {[]trap.Result{of(x)}, nil, "unseen a:x"},
		"graver":                      {[]trap.Result{of(x)}, []trap.Result{of(found("x", trap.Critical, "one"))}, "changed a:x"},
		"says something else":         {[]trap.Result{of(x)}, []trap.Result{of(found("x", trap.Warning, "two"))}, "changed a:x"},
		"unknown, then clear":         {[]trap.Result{of(unknown("x"))}, []trap.Result{of(clear)}, "seen a:x"},
		"clear, then unknown":         {[]trap.Result{of(clear)}, []trap.Result{of(unknown("x"))}, "unseen a:x"},
		"unknown, then not checked":   {[]trap.Result{of(unknown("x"))}, nil, ""},
		"a new one beside an old one": {[]trap.Result{of(x)}, []trap.Result{of(x, found("y", trap.Critical, "z"))}, "new a:y"},
		"the whole host instead":      {[]trap.Result{of(x)}, []trap.Result{of(found("", trap.Warning, "all"))}, "new a, resolved a:x"},
		"new before resolved, gravest first": {[]trap.Result{of(x)},
			[]trap.Result{of(found("v", trap.Notice, "z"), found("w", trap.Critical, "z"))},
			"new a:w, new a:v, resolved a:x"},
	} {
		var got []string
		for _, ch := range Compare(doc(began, c.a...), doc(began, c.b...)) {
			got = append(got, string(ch.Kind)+" "+ch.ID())
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, ", "), c.want)
		}
	}
}

func TestLines(t *testing.T) {
	gone, come := Lines("a\nb\nb\nc\n", "c\nb\nd")
	if !slices.Equal(gone, []string{"a", "b"}) || !slices.Equal(come, []string{"d"}) {
		t.Errorf("%q %q", gone, come)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add(`{"format":"fettle-report","schema":1,"results":[{"trap":"a","outcomes":[{"trap":"b","status":"found"}]}]}`)
	f.Add(`{"format":"fettle-report","schema":1,"results":[{"trap":"a","outcomes":null}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse(strings.NewReader(s))
		if err != nil {
			return
		}
		if got := Compare(d, d); len(got) != 0 {
			t.Errorf("a report differs from itself: %+v", got)
		}
	})
}
