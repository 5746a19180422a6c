package message

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/report"
)

// state is a host's: each word "TRAP/SUBJECT=SEVERITY", with 0 for what is unknown.
func state(words ...string) *State {
	s := &State{Meta: report.Meta{Host: "web1"}}
	for _, w := range words {
		var sev int
		name, rest, _ := strings.Cut(w, "/")
		subject, number, _ := strings.Cut(rest, "=")
		fmt.Sscan(number, &sev)
		at := slices.IndexFunc(s.Results, func(r Result) bool { return r.Trap == name })
		if at < 0 {
			at = len(s.Results)
			s.Results = append(s.Results, Result{Trap: name})
			s.Traps = append(s.Traps, report.TrapInfo{ID: name})
		}
		o := trap.Outcome{Trap: name, Subject: subject, Status: trap.Found, Severity: trap.Severity(sev)}
		if sev == 0 {
			o.Status = trap.Unknown
		}
		s.Results[at].Outcomes = append(s.Results[at].Outcomes, o)
	}
	return s
}

func (s *State) words() string {
	var out []string
	for _, r := range s.Results {
		for _, o := range r.Outcomes {
			out = append(out, fmt.Sprintf("%s/%s=%d", r.Trap, o.Subject, o.Severity))
		}
	}
	return strings.Join(out, " ")
}

// TestTwoStatesTogether: of one subject the more severe outcome, of others both.
func TestTwoStatesTogether(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"t/x=1", "t/x=2", "t/x=2"}, {"t/x=2", "t/x=1", "t/x=2"}, {"t/x=1", "t/x=0", "t/x=1"}, {"t/x=0", "t/x=1", "t/x=1"},
		{"t/x=1", "t/y=2", "t/x=1 t/y=2"}, {"b/x=1", "a/y=2", "a/y=2 b/x=1"}, {"t/x=1", "", "t/x=1"}, {"", "t/x=1", "t/x=1"},
	} {
		both := state(strings.Fields(tt.a)...).And(state(strings.Fields(tt.b)...))
		if got := both.words(); got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.a, tt.b, got, tt.want)
		}
		for _, r := range both.Results {
			if !slices.ContainsFunc(both.Traps, func(i report.TrapInfo) bool { return i.ID == r.Trap }) {
				t.Errorf("%q and %q: nothing about %s", tt.a, tt.b, r.Trap)
			}
		}
	}
	nobody, other := state("t/x=1"), state()
	nobody.Meta, other.Meta.Host = report.Meta{}, "web2"
	if got := nobody.And(other).Meta.Host; got != "web2" {
		t.Errorf("the host is %q", got)
	}
	if got := state().And(other).Meta.Host; got != "web1" {
		t.Errorf("the host is %q", got)
	}
	counted := state()
	counted.Results = []Result{{Trap: "t", Clear: 3, NotApplicable: 2}}
	if got := state().And(counted).Results[0]; got.Clear != 3 || got.NotApplicable != 2 {
		t.Errorf("%+v", got)
	}
}

func numbered(trapsEach int, subjects int) *State {
	s := &State{}
	for i := range trapsEach {
		r := Result{Trap: fmt.Sprintf("t%04d", i)}
		for j := range subjects {
			r.Outcomes = append(r.Outcomes, trap.Outcome{Trap: r.Trap, Subject: fmt.Sprint(j), Status: trap.Unknown})
		}
		s.Results = append(s.Results, r)
	}
	return s
}

func (s *State) outcomes() (n int) {
	for _, r := range s.Results {
		n += len(r.Outcomes)
	}
	return n
}

// TestStatesAreBounded: whatever is put together, it fits into a message.
func TestStatesAreBounded(t *testing.T) {
	full, more := numbered(1, maxOutcomes-1), state("u/x=1", "u/y=1", "u/z=1")
	if got := full.And(more); got.outcomes() != maxOutcomes || got.words()[len(got.words())-5:] != "u/x=1" {
		t.Errorf("%d outcomes", got.outcomes())
	}
	if got := numbered(maxTraps, 0).And(more); len(got.Results) != maxTraps {
		t.Errorf("%d traps", len(got.Results))
	}
	if got := numbered(maxTraps-1, 0).And(more); len(got.Results) != maxTraps {
		t.Errorf("%d traps", len(got.Results))
	}
	for _, tt := range []struct {
		s    *State
		r    Run
		want string
	}{
		{numbered(1, maxOutcomes-1), Run{Results: state("u/x=1").Results}, ""},
		{numbered(1, maxOutcomes), Run{Results: state("u/x=1").Results}, "outcomes"},
		{numbered(maxTraps-1, 0), Run{Results: state("u/x=1").Results}, ""},
		{numbered(maxTraps, 0), Run{Results: state("u/x=1").Results}, "traps"},
		{numbered(maxTraps, 0), Run{Gone: []string{"t0000"}, Results: state("u/x=1").Results}, ""},
	} {
		got, err := tt.s.With(Change, &tt.r)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d traps, %d outcomes, and %d results: %v, want %q", len(tt.s.Results), tt.s.outcomes(), len(tt.r.Results), err, tt.want)
		} else if err == nil && got.Results[len(got.Results)-1].Trap != "u" {
			t.Errorf("the last is %s", got.Results[len(got.Results)-1].Trap)
		}
	}
	if _, err := full.With(Beat, &Run{}); err == nil {
		t.Error("a beat changes a state")
	}
}

// TestReportOfTooMuch: a report is cut to what a message holds, its first findings stay.
func TestReportOfTooMuch(t *testing.T) {
	var results []trap.Result
	for i := range maxTraps + 1 {
		results = append(results, trap.Result{Trap: fmt.Sprintf("t%04d", i)})
	}
	for j := range maxOutcomes + 1 {
		results[0].Outcomes = append(results[0].Outcomes, trap.Outcome{Trap: "t0000", Subject: fmt.Sprintf("%05d", j), Status: trap.Unknown})
	}
	results[0].Outcomes = append(results[0].Outcomes, trap.Outcome{Status: trap.Clear}, trap.Outcome{Status: trap.Clear},
		trap.Outcome{Status: trap.NotApplicable})
	s := StateOf(&report.Document{Meta: report.Meta{}, Results: results})
	first := s.Results[0]
	if len(s.Results) != maxTraps || len(first.Outcomes) != maxOutcomes || first.Clear != 2 || first.NotApplicable != 1 ||
		s.Meta.Host != "unnamed" {
		t.Errorf("%d traps, %d outcomes, %d clear, %d not applicable, of %q", len(s.Results), len(first.Outcomes), first.Clear,
			first.NotApplicable, s.Meta.Host)
	}
	twice := StateOf(&report.Document{Results: []trap.Result{{Trap: "t", Outcomes: []trap.Outcome{
		{Trap: "t", Subject: "x", Status: trap.Found, Severity: 1}, {Trap: "t", Subject: "x", Status: trap.Found, Severity: 3}}}}})
	if got := twice.words(); got != "t/x=3" {
		t.Errorf("%q: of one subject twice the more severe stays", got)
	}
}

// TestOutcomeFits: of the hub's own word nothing comes back, and a severity is one that there is.
func TestOutcomeFits(t *testing.T) {
	long := strings.Repeat("x", maxLong+1)
	o := fit(trap.Outcome{Subject: long, Summary: long, ByHand: long, Reason: long, Detail: trap.Prose(long),
		Facts: trap.Facts("{}"), Known: true, Since: time.Now(), Status: trap.Found, Severity: 9, Evidence: make([]trap.Evidence, maxEvidence+1),
		Accepted: &trap.Acceptance{Reason: long, Until: long, By: long, Lapsed: long}, OnHub: &trap.Acceptance{}})
	o.Trap = "t"
	if err := validOutcome(&o); err != nil || o.Severity != trap.Critical || len(o.Evidence) != maxEvidence || o.Known ||
		!o.Since.IsZero() || o.OnHub != nil {
		t.Errorf("%v, severity %d, %d pieces of evidence", err, o.Severity, len(o.Evidence))
	}
	if a := o.Accepted; len(a.Reason) != maxText || len(a.Until) != maxName || len(a.By) != maxName || len(a.Lapsed) != maxText {
		t.Errorf("%d %d %d %d", len(a.Reason), len(a.Until), len(a.By), len(a.Lapsed))
	}
	if o := fit(trap.Outcome{Status: trap.Found}); o.Severity != trap.Notice {
		t.Errorf("severity %d", o.Severity)
	}
	if o := fit(trap.Outcome{Status: "odd", Severity: trap.Critical}); o.Status != trap.Unknown || o.Severity != 0 {
		t.Errorf("%s, severity %d", o.Status, o.Severity)
	}
	if o := fit(trap.Outcome{Status: trap.Found, Accepted: &trap.Acceptance{Hub: true}}); o.Accepted != nil {
		t.Error("what the hub accepts comes back as the host's word")
	}
}

// TestSince: a change tells what is new or other, what is checked no more, and of the host what changed.
func TestSince(t *testing.T) {
	was, is := state("a/x=1", "b/x=1", "c/x=1"), state("b/x=2", "c/x=1", "d/x=1")
	r := is.Since(was)
	if got := (&State{Results: r.Results}).words(); got != "b/x=2 d/x=1" || !slices.Equal(r.Gone, []string{"a"}) || r.Meta != nil ||
		len(r.Traps) != 2 {
		t.Errorf("%q, gone %q, %v, %v", got, r.Gone, r.Meta, r.Traps)
	}
	for name, change := range map[string]func(m *report.Meta){
		"name": func(m *report.Meta) { m.Host = "n" }, "kernel": func(m *report.Meta) { m.Identity.Release = "6.1" },
		"start": func(m *report.Meta) { m.Identity.BootID = "b" }, "distribution": func(m *report.Meta) { m.Machine.Distribution = "Debian" },
		"kind of machine": func(m *report.Meta) { m.Machine.Kind = "kvm" }, "fettle": func(m *report.Meta) { m.Version = "2" },
		"kind": func(m *report.Meta) { m.Kind = "capture" },
	} {
		other := state()
		change(&other.Meta)
		if other.Since(state()).Meta == nil || other.Digest() == state().Digest() {
			t.Errorf("another %s is no change", name)
		}
	}
	older := state()
	older.Meta.Started, older.Meta.Warning = time.Now(), "w"
	if older.Since(state()).Meta != nil || older.Digest() != state().Digest() {
		t.Error("the time of a check is a change")
	}
}

// TestShrink: evidence goes first, then details, then all but the ten most severe findings.
func TestShrink(t *testing.T) {
	made := func(n int) *Run {
		r := &Run{Results: []Result{{Trap: "t"}}}
		for i := range n {
			r.Results[0].Outcomes = append(r.Results[0].Outcomes, trap.Outcome{Subject: fmt.Sprint(i), Severity: trap.Severity(i % 4),
				Detail: "d", Evidence: []trap.Evidence{{}}})
		}
		return r
	}
	for _, tt := range []struct {
		step, n, left int
		detail        bool
	}{{1, 12, 12, true}, {2, 12, 12, false}, {3, 10, 10, false}, {3, 11, 10, false}} {
		r := made(tt.n)
		r.Shrink(tt.step)
		os := r.Results[0].Outcomes
		if len(os) != tt.left || (os[0].Detail != "") != tt.detail || os[0].Evidence != nil {
			t.Errorf("step %d of %d: %d outcomes, %+v", tt.step, tt.n, len(os), os[0])
		}
		if tt.left < tt.n && (os[0].Severity != trap.Critical || os[9].Severity == 0 && os[9].Subject != "4") {
			t.Errorf("step %d: %+v", tt.step, os)
		}
	}
}

// TestKeptState: a state is read as it was kept; one of nothing is empty, and one that is too large is not kept.
func TestKeptState(t *testing.T) {
	b, err := state("t/x=1").Pack()
	if err != nil {
		t.Fatal(err)
	}
	s, err := UnpackState(b)
	if err != nil || s.words() != "t/x=1" {
		t.Error(s, err)
	}
	if s, err := UnpackState(nil); err != nil || s.outcomes() != 0 {
		t.Error(s, err)
	}
	if _, err := UnpackState([]byte("x")); err == nil {
		t.Error("no state is one")
	}
	s.Meta.Warning = strings.Repeat("x", MaxPlain)
	if _, err := s.Pack(); err != ErrTooLarge {
		t.Error(err)
	}
}

// TestDocument: of a state as a report, the traps that were asked for, and all that was counted.
func TestDocument(t *testing.T) {
	s := state("a/x=1", "b/x=2", "b/y=0")
	s.Results[1].Clear, s.Results[1].NotApplicable = 4, 5
	if d := s.Document(nil); len(d.Results) != 2 || d.Counts.Clear != 4 || d.Counts.NotApplicable != 5 || d.Counts.Unknown != 1 {
		t.Errorf("%+v", d.Counts)
	}
	if d := s.Document(map[string]bool{"a": true}); len(d.Results) != 1 || d.Results[0].Trap != "a" || d.Counts.Clear != 0 {
		t.Errorf("%+v", d.Results)
	}
}

// TestAge: what a message has waited is neither in the future nor of another time.
func TestAge(t *testing.T) {
	const year = 400 * 24 * time.Hour
	for d, want := range map[time.Duration]time.Duration{-1: 0, 0: 0, time.Hour: time.Hour, year: year, year + 1: year} {
		if got := Age(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

// TestLacking: what did not come back after a start is a finding of its own.
func TestLacking(t *testing.T) {
	s := state("a/x=1")
	if s.Lacking(nil) != s {
		t.Error("another state for nothing lost")
	}
	got := s.Lacking([]Lost{{Subject: "mount /srv", Severity: trap.Warning, Summary: "is not mounted", How: "mount it",
		With: []string{"b", "c"}}})
	o := got.byTrap()[report.NotAsBefore.ID()].Outcomes[0]
	if alone := s.Lacking([]Lost{{Subject: "x"}}).byTrap()[report.NotAsBefore.ID()].Outcomes[0]; alone.Detail != "" {
		t.Errorf("with nothing else: %q", alone.Detail)
	}
	if got.outcomes() != 2 || o.Subject != "mount /srv" || o.Severity != trap.Warning ||
		o.ByHand != "mount it" || o.Detail != "with it: b, c" {
		t.Errorf("%+v", o)
	}
}
