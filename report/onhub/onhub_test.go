package onhub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/internal/means"
	"fettle/report"
)

func outcome(subject string, sev trap.Severity, summary string) trap.Outcome {
	return trap.Outcome{Trap: "a", Subject: subject, Status: trap.Found, Severity: sev, Summary: summary}
}

// TestMark: which findings a hub's acceptance speaks of, and that it is a label unless root
// believes it.
func TestMark(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	is := outcome("x", trap.Warning, "said")
	for what, c := range map[string]struct {
		e  Entry
		on bool
	}{
		"this finding":          {Entry{Trap: "a", Subject: "x", Severity: "warning", Summary: "said"}, true},
		"milder than accepted":  {Entry{Trap: "a", Subject: "x", Severity: "critical", Summary: "said"}, true},
		"graver than accepted":  {Entry{Trap: "a", Subject: "x", Severity: "notice", Summary: "said"}, false},
		"it says another thing": {Entry{Trap: "a", Subject: "x", Severity: "warning", Summary: "other"}, false},
		"another subject":       {Entry{Trap: "a", Subject: "y", Severity: "warning", Summary: "said"}, false},
		"any subject":           {Entry{Trap: "a", Any: true, Severity: "warning"}, true},
		"any, graver":           {Entry{Trap: "a", Any: true, Severity: "notice"}, false},
		"another trap":          {Entry{Trap: "b", Any: true, Severity: "critical"}, false},
		"its last day":          {Entry{Trap: "a", Any: true, Severity: "warning", Until: "2026-11-28"}, true},
		"its end":               {Entry{Trap: "a", Any: true, Severity: "warning", Until: "2026-11-27"}, false},
		"no severity":           {Entry{Trap: "a", Any: true}, false},
	} {
		c.e.By, c.e.Reason = "ann", "why"
		for _, believed := range []bool{false, true} {
			r := trap.Result{Trap: "a", Outcomes: []trap.Outcome{is, {Trap: "a", Status: trap.Unknown}}}
			(&List{Entries: []Entry{c.e}}).Mark(&r, believed, now)
			o := r.Outcomes[0]
			if (o.OnHub != nil) != c.on || o.Hidden() != (c.on && believed) || r.Outcomes[1].OnHub != nil {
				t.Errorf("%s, believed %t: label %v, accepted %v", what, believed, o.OnHub, o.Accepted)
			}
		}
	}
}

// TestStolenHub: whatever a hub sends, this host's check counts and ends as it does without
// it, unless root's configuration says otherwise.
func TestStolenHub(t *testing.T) {
	all := []Entry{{Trap: "a", Any: true, Severity: "critical", Reason: "\x1b[2Jnothing to see\nclear", By: "root"}}
	count := func(believed bool, entries []Entry) (c report.Counts) {
		r := trap.Result{Trap: "a", Outcomes: []trap.Outcome{outcome("x", trap.Critical, "bad"), outcome("y", trap.Warning, "bad")}}
		(&List{Entries: entries}).Mark(&r, believed, time.Now())
		c.Add(r)
		return c
	}
	without, with := count(false, nil), count(false, all)
	if without.Exit(trap.Notice) != 1 || with != without {
		t.Errorf("without the hub %+v, with it %+v", without, with)
	}
	if believing := count(true, all); believing.Exit(trap.Notice) != 0 || believing.Accepted != 2 {
		t.Errorf("root believes it: %+v", believing)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, File)
	if l, err := Read(dir); err != nil || len(l.Entries) != 0 {
		t.Errorf("no file: %+v, %v", l, err)
	}
	for text, says := range map[string]string{
		`{"digest":"d","entries":[{"trap":"a","any":true,"severity":"notice"}]}`: "",
		`{`:                          "unexpected end",
		strings.Repeat(" ", limit+1): "larger",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Read(dir)
		if says == "" && (err != nil || len(l.Entries) != 1) || says != "" && (err == nil || l == nil || len(l.Entries) != 0) {
			t.Errorf("%.40s: %+v, %v", text, l, err)
		}
	}
	means.Root(t)
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "others than root") {
		t.Errorf("a file that everybody may write: %v", err)
	}
}
