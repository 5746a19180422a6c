package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/report/history"
)

// What is accepted holds up to its severity and its last day, for the same words; rules, for their trap.
func TestHolds(t *testing.T) {
	const today = "2026-11-22"
	web := "web"
	for what, c := range map[string]struct {
		rank           int
		summary, until string
		single, rule   bool
	}{
		"as accepted":   {2, "s", "", true, true},
		"less severe":   {1, "s", "", true, true},
		"more severe":   {3, "s", "", false, false},
		"unknown":       {0, "s", "", false, false},
		"other words":   {2, "other", "", false, true},
		"its last day":  {2, "s", today, true, true},
		"the day after": {2, "s", "2026-11-21", false, false},
	} {
		a := acceptance{rank: 2, summary: "s", until: c.until}
		r := Rule{Trap: "a", Until: c.until, rank: 2}
		if got := a.holds(c.rank, c.summary, today); got != c.single {
			t.Errorf("%s: %t", what, got)
		}
		if got := r.holds("a", c.rank, today); got != c.rule {
			t.Errorf("%s, by a rule: %t", what, got)
		}
		if r.holds("b", c.rank, today) {
			t.Errorf("%s: of another trap", what)
		}
		f := &Finding{Trap: "a", Outcome: trap.Outcome{Severity: trap.Severity(c.rank)}}
		if got := r.Holds(f); got != (c.rank == 1 || c.rank == 2) {
			t.Errorf("%s: shown as %t", what, got)
		}
		if f.Trap = "b"; r.Holds(f) {
			t.Errorf("%s: of another trap", what)
		}
		if r.removed = true; r.holds("a", c.rank, today) {
			t.Errorf("%s: it was removed", what)
		}
	}
	for what, c := range map[string]struct {
		r    Rule
		on   string
		want bool
	}{
		"all":           {Rule{}, "all hosts", true},
		"the group":     {Rule{Group: &web}, "group web", true},
		"no group":      {Rule{Group: new(string)}, "hosts without a group", false},
		"the label":     {Rule{Label: "os", label: []Label{{Name: "os", Any: true}}}, "all hosts with label os", true},
		"another value": {Rule{Label: "os=x", label: []Label{{Name: "os", Value: "x"}}}, "all hosts with label os=x", false},
		"group and label": {Rule{Group: &web, Label: "os=debian", label: []Label{{Name: "os", Value: "debian"}}},
			"group web with label os=debian", true},
		"a label it lacks": {Rule{Group: &web, Label: "x", label: []Label{{Name: "x", Any: true}}}, "group web with label x", false},
	} {
		if got := c.r.about("web", map[string]string{"os": "debian"}); got != c.want || c.r.On() != c.on {
			t.Errorf("%s: %t on %s", what, got, c.r.On())
		}
	}
}

// Of a change the side counts that has something to say, the finding before what could not be looked at.
func TestTelling(t *testing.T) {
	found, blind := &trap.Outcome{Status: trap.Found, Severity: trap.Warning, Summary: "s"}, &trap.Outcome{Status: trap.Unknown, Reason: "r"}
	for what, c := range map[string]struct {
		before, after, want *trap.Outcome
		rank                int
		said                string
	}{
		"new":              {nil, found, found, 2, "s"},
		"new, unknown":     {nil, blind, blind, 0, "r"},
		"resolved":         {found, nil, found, 2, "s"},
		"no more unknown":  {blind, nil, blind, 0, "r"},
		"out of sight":     {found, blind, found, 2, "s"},
		"in sight":         {blind, found, found, 2, "s"},
		"another reason":   {&trap.Outcome{Status: trap.Unknown}, blind, blind, 0, "r"},
		"another finding":  {&trap.Outcome{Status: trap.Found}, found, found, 2, "s"},
		"nothing, somehow": {nil, nil, nil, 0, ""},
	} {
		if got := telling(&history.Change{Before: c.before, After: c.after}); got != c.want || rankOf(got) != c.rank || said(got) != c.said {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if s := (Sums{Critical: 1, Warning: 20, Notice: 300, Unknown: 9, Accepted: 9}); s.Found() != 321 {
		t.Errorf("%d findings", s.Found())
	}
	if c := (Cell{1, 20, 300, 9, 9}); c.Found() != 321 {
		t.Errorf("%d hosts", c.Found())
	}
}

// A pack says how far it got, and whether it goes on by itself.
func TestStanding(t *testing.T) {
	began := time.Unix(1e9, 0)
	for what, c := range map[string]struct {
		p       Pack
		later   time.Duration
		stalled bool
		resume  int
		says    string
	}{
		"stopped":                     {Pack{Stage: Stopped, Why: "why", Taken: 4, Refused: 1, Sent: 5, Found: 2}, 0, true, 40, "why"},
		"stopped for those that fail": {Pack{Stage: Stopped, Why: "why", Taken: 2, Refused: 1, Unknown: 1}, 0, true, 67, "why"},
		"to all":                      {Pack{Stage: All, StopAt: 20}, 99 * time.Hour, false, 20, "all hosts get it, step by step"},
		"to nobody yet": {Pack{Stage: Canary, Canary: "web"}, 0, false, 0,
			"no host of the group web that takes packs has reported since"},
		"nobody took it":     {Pack{Stage: Canary, Sent: 2}, time.Hour, true, 0, "too few of its canaries have it: 0 of 2"},
		"too few":            {Pack{Stage: Canary, Sent: 5, Taken: 2}, time.Hour, true, 0, "too few of its canaries have it: 2 of 5"},
		"half of them":       {Pack{Stage: Canary, Sent: 4, Taken: 1, Refused: 1}, time.Hour, false, 50, "the others get it next"},
		"still waiting":      {Pack{Stage: Canary, Sent: 5, Taken: 1}, 58 * time.Minute, false, 0, "only canaries get it, for 2 min more"},
		"all of them, early": {Pack{Stage: Canary, Sent: 1, Taken: 1, Found: 9}, 0, false, 100, "only canaries get it, for 1 h more"},
	} {
		c.p.Began, c.p.Wait = began, time.Hour
		now := began.Add(c.later)
		if got := c.p.Standing(now); got != c.says || c.p.Stalled(now) != c.stalled || c.p.ResumeAt() != c.resume {
			t.Errorf("%s: %q, stalled: %t, resumed at %d", what, got, c.p.Stalled(now), c.p.ResumeAt())
		}
	}
}

// What came of restarts is summed up: the worst causes first, and of those the most frequent; the longest away first.
func TestSumOfRestarts(t *testing.T) {
	at := time.Unix(1e9, 0)
	host := func(n int) HostRef { return HostRef{Name: fmt.Sprint("h", n)} }
	got := Sum([]Restart{
		{Host: host(1), Lost: []Lost{{"a", "s", 1}, {"c", "s", 2}}},
		{Host: host(2), Lost: []Lost{{"b", "s", 1}, {"c", "s", 3}}},
		{Host: host(3), Lost: []Lost{{"b", "s", 1}, {"b", "other", 1}}, Compared: true},
		{Host: host(4), Compared: true},
		{Host: host(5)},
		{Host: host(6), Away: at.Add(time.Hour), Said: true, Lost: []Lost{{"x", "s", 3}}},
		{Host: host(7), Away: at},
	})
	var causes []string
	for _, c := range got.Causes {
		causes = append(causes, fmt.Sprint(c.Subject, " ", c.Summary, " ", c.Severity, " ", Few(c.Hosts)))
	}
	if s := strings.Join(causes, "; "); s != "c s critical h1, h2; b s notice h2, h3; a s notice h1; b other notice h3" {
		t.Error(s)
	}
	if a := got.Away; len(a) != 2 || a[0].Host != host(7) || a[0].Stopped || !a[1].Stopped {
		t.Errorf("%+v", a)
	}
	if h := got.Headline(); h != "5 hosts restarted, 1 as before, 3 without something, 1 not compared, 2 have not come back" {
		t.Error(h)
	}
}

// Names of roles, labels and groups are what can be written in a list.
func TestNames(t *testing.T) {
	for role, want := range map[string]bool{"reader": true, "operator": true, "admin": false, "": false} {
		if r, ok := ParseRole(role); ok != want || string(r) != role {
			t.Errorf("%q: %t", role, ok)
		}
	}
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"os", "debian 13", true}, {"os", "", true}, {"a/b.c-d_e", "ü", true}, {strings.Repeat("a", 63), strings.Repeat("v", 200), true},
		{strings.Repeat("a", 64), "", false}, {"", "x", false}, {"-a", "x", false}, {"a b", "x", false}, {"os", "a,b", false},
		{"os", "a\x1b", false}, {"os", strings.Repeat("v", 201), false},
	} {
		if err := CheckLabel(c.name, c.value); (err == nil) != c.want {
			t.Errorf("%.70s=%.20s: %v", c.name, c.value, err)
		}
	}
	for group, want := range map[string]bool{"": true, "web": true, "-": false, "--": true, "a,b": false, "a\n": false,
		strings.Repeat("g", 100): true, strings.Repeat("g", 101): false} {
		if err := CheckGroup(group); (err == nil) != want {
			t.Errorf("%.20q: %v", group, err)
		}
	}
	many := strings.Repeat("a,", 50)
	if l, err := ParseLabels(many); err != nil || len(l) != 50 {
		t.Errorf("50 labels: %d, %v", len(l), err)
	}
	for _, s := range []string{many + "a", "=x", "a,=x"} {
		if l, err := ParseLabels(s); err == nil || l != nil {
			t.Errorf("%.20q: %v", s, l)
		}
	}
	l, err := ParseLabels(" a = 1, b=,, c ")
	if err != nil || fmt.Sprint(l) != "[{a   1 false} {b  false} {c  true}]" {
		t.Errorf("%v, %v", l, err)
	}
}
