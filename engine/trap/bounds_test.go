package trap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/host"
	"fettle/internal/means"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc... (1 bytes more)"}, {"aé", 2, "a... (2 bytes more)"}, {"aéb", 3, "aé... (1 bytes more)"},
		{"\x80\x80\x80", 1, "... (3 bytes more)"}, {"", 0, ""},
	} {
		if got := cut(c.s, c.n); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

// TestEdges: what just fits a bound is shown, and what is over it is left out and told.
func TestEdges(t *testing.T) {
	ev := func(n int) []Evidence { return make([]Evidence, n) }
	for name, c := range map[string]struct {
		said     Outcome
		bytes    int // of what was said before
		evidence int
		facts    bool
		detail   string
	}{
		"as much evidence as fits": {said: Outcome{Evidence: ev(maxEvidence)}, evidence: maxEvidence},
		"one more": {said: Outcome{Evidence: ev(maxEvidence + 1)}, evidence: maxEvidence,
			detail: "1 more pieces of evidence are left out"},
		"ten more, and a detail": {said: Outcome{Evidence: ev(maxEvidence + 10), Detail: "d"}, evidence: maxEvidence,
			detail: "d\n10 more pieces of evidence are left out"},
		"facts that fit": {said: Outcome{Facts: Facts(strings.Repeat("f", maxDetail))}, facts: true},
		"facts too long": {said: Outcome{Facts: Facts(strings.Repeat("f", maxDetail+1))},
			detail: "what a plan needs to know is left out: it is too much"},
		"all that may be": {said: Outcome{Evidence: ev(1)}, bytes: maxBytes - 250, evidence: 1},
		"a byte too many": {said: Outcome{Evidence: ev(1)}, bytes: maxBytes - 249,
			detail: "detail and evidence are left out: the check says too much"},
		"a detail too many": {said: Outcome{Detail: "d"}, bytes: maxBytes - 200,
			detail: "detail and evidence are left out: the check says too much"},
		"of long evidence what is shown counts": {said: Outcome{Evidence: []Evidence{{strings.Repeat("s", 2*maxText), strings.Repeat("v",
			3*maxText)}}},
			bytes: maxBytes - 250 - 2*maxText, evidence: 1},
	} {
		r := &Report{bytes: c.bytes}
		if o := r.bound(c.said); len(o.Evidence) != c.evidence || (o.Facts != nil) != c.facts || string(o.Detail) != c.detail ||
			r.bytes != c.bytes+size(o) {
			t.Errorf("%s: %d pieces of evidence, facts %v, %q, %d bytes", name, len(o.Evidence), o.Facts != nil, o.Detail, r.bytes)
		}
	}
	long := strings.Repeat("x", maxDetail+1)
	o := (&Report{}).bound(Outcome{Summary: long, ByHand: long, Reason: long, Detail: Prose(long), Evidence: []Evidence{{"a", "b"}, {long,
		long}, {"c", "d"}}})
	for what, got := range map[string]string{"summary": o.Summary, "by hand": o.ByHand, "source": o.Evidence[1].Source,
		"value": o.Evidence[1].Value} {
		if !strings.HasSuffix(got, fmt.Sprintf("... (%d bytes more)", maxDetail+1-maxText)) {
			t.Errorf("%s: %d bytes", what, len(got))
		}
	}
	if end := "... (1 bytes more)"; !strings.HasSuffix(o.Reason, end) || !strings.HasSuffix(string(o.Detail), end) ||
		o.Evidence[0] != (Evidence{"a", "b"}) || o.Evidence[2] != (Evidence{"c", "d"}) {
		t.Errorf("%d bytes of reason, %d of detail, %+v", len(o.Reason), len(o.Detail), o.Evidence[0])
	}
}

// TestFull: when a report is full, what comes is counted, the most severe leads, and the host as a whole still has its place.
func TestFull(t *testing.T) {
	almost := func() *Report { return &Report{outcomes: make([]Outcome, maxOutcomes-1)} }
	r := almost()
	for _, subject := range []string{"last", "over", "last", ""} {
		r.Clear(subject, "fine")
	}
	if out := r.seal(); len(out) != maxOutcomes+2 || out[maxOutcomes+1].Detail != "1 more clear" || out[maxOutcomes].Subject != "" {
		t.Errorf("%d outcomes, the last %+v", len(out), out[len(out)-1])
	}
	for bytes, more := range map[int]int{2 * maxBytes: 0, 2*maxBytes + 1: 1} {
		r := &Report{bytes: bytes}
		if r.Clear("a", "fine"); r.more[Clear] != more {
			t.Errorf("%d bytes: %v left out", bytes, r.more)
		}
	}
	found := func(s Severity) Outcome { return Outcome{Status: Found, Severity: s} }
	for _, c := range []struct {
		over   []Outcome
		status Status
		grave  Severity
		detail string
	}{
		{[]Outcome{{Status: Clear}, {Status: Clear}, {Status: NotApplicable}}, Clear, 0, "2 more clear\n1 more not-applicable"},
		{[]Outcome{{Status: NotApplicable}}, NotApplicable, 0, "1 more not-applicable"},
		{[]Outcome{{Status: Clear}, {Status: Unknown}}, Unknown, 0, "1 more unknown\n1 more clear"},
		{[]Outcome{found(Critical), found(Notice), {Status: Unknown}}, Found, Critical, "2 more found\n1 more unknown"},
	} {
		r := &Report{trap: "t"}
		for _, o := range c.over {
			r.overflow(o)
		}
		o := r.rest()
		said := o.Summary
		if c.status != Found && c.status != Clear {
			said = o.Reason
		}
		if o.Trap != "t" || o.Subject != moreSubject || o.Status != c.status || o.Severity != c.grave || string(o.Detail) != c.detail ||
			said != "more subjects than the 1000 listed" || o.Summary != "" && o.Reason != "" {
			t.Errorf("%+v: %+v", c.over, o)
		}
	}
}

// TestMerge: of a subject of which two things are said the worse leads, and what else was found or not seen is told.
func TestMerge(t *testing.T) {
	ev := []Evidence{{"a", "b"}}
	for _, c := range []struct {
		one, two Outcome
		status   Status
		detail   string
		evidence int
	}{
		{Outcome{Status: Clear, Summary: "fine"}, Outcome{Status: Found, Severity: Notice, Summary: "met"}, Found, "", 0},
		{Outcome{Status: Found, Severity: Notice, Summary: "met"}, Outcome{Status: Clear, Summary: "fine", Evidence: ev}, Found, "", 0},
		{Outcome{Status: Found, Severity: Notice, Summary: "met"}, Outcome{Status: Found, Severity: Critical, Summary: "worse", Evidence: ev},
			Found, "met", 1},
		{Outcome{Status: Found, Severity: Critical, Summary: "worse", Evidence: ev}, Outcome{Status: Found, Severity: Notice, Summary: "met",
			Evidence: ev},
			Found, "met", 2},
		{Outcome{Status: Found, Severity: Notice, Summary: "met"}, Outcome{Status: Found, Severity: Notice, Summary: "met", Evidence: ev},
			Found, "", 0},
		{Outcome{Status: Unknown, Reason: "closed"}, Outcome{Status: Unknown, Reason: "broken", Evidence: ev}, Unknown,
			"not all could be looked at: broken", 1},
		{Outcome{Status: Unknown, Reason: "closed"}, Outcome{Status: Clear, Summary: "fine"}, Unknown, "", 0},
		{Outcome{Status: NotApplicable, Reason: "none"}, Outcome{Status: Clear, Summary: "fine"}, Clear, "", 0},
	} {
		r := &Report{}
		c.one.Subject, c.two.Subject = "s", "s"
		r.add(c.one)
		r.add(c.two)
		out := r.seal()
		if len(out) != 1 || out[0].Status != c.status || string(out[0].Detail) != c.detail || len(out[0].Evidence) != c.evidence ||
			r.bytes != size(out[0]) {
			t.Errorf("%+v and %+v: %+v, %d bytes", c.one, c.two, out, r.bytes)
		}
	}
	r := &Report{}
	r.Unknown("s", fmt.Errorf("reading: %w", host.ErrNotRunning))
	if out := r.seal(); out[0].Status != NotApplicable {
		t.Errorf("a host without running state: %+v", out)
	}
}

// TestReceived: severities of others are taken as far as they are any.
func TestReceived(t *testing.T) {
	for came, want := range map[Severity]Severity{0: Warning, Notice: Notice, Warning: Warning, Critical: Critical, Critical + 1: Warning} {
		got := Receive(say("mine", ""), Result{Outcomes: []Outcome{{Status: Found, Severity: came, OnHub: &Acceptance{}}}}).Outcomes[0]
		if got.Severity != want || got.OnHub != nil {
			t.Errorf("%d: %+v", came, got)
		}
	}
	r := NotRun(say("mine", ""), errors.New("the child is gone"))
	if r.Trap != "mine" || len(r.Outcomes) != 1 || r.Outcomes[0].Status != Unknown || r.Outcomes[0].Reason != "the child is gone" {
		t.Errorf("%+v", r)
	}
}

// TestStopwatch: the watch stands while anybody waits, and what has passed stays passed.
func TestStopwatch(t *testing.T) {
	w := newStopwatch(time.Hour)
	running := func() bool {
		if !w.timer.Stop() {
			return false
		}
		w.timer.Reset(time.Hour)
		return true
	}
	if !running() {
		t.Error("it does not run")
	}
	one, two := w.wait(), w.wait()
	if running() || w.left > time.Hour || w.left < time.Minute {
		t.Errorf("it runs while two wait, %s left", w.left)
	}
	if one(); running() {
		t.Error("it runs while one waits")
	}
	if two(); !running() {
		t.Error("it stands when nobody waits")
	}
	over := w.wait()
	w.left = -time.Second
	over()
	select {
	case <-w.out:
	case <-time.After(means.Patience):
		t.Error("it does not run out")
	}
	w.wait()() // late, and without harm
}

// TestTookTooLong: the limit that is offered next is longer, and a flag takes it.
func TestTookTooLong(t *testing.T) {
	for limit, want := range map[time.Duration]string{
		5 * time.Second: "20s", 15 * time.Second: "1m", 300 * time.Millisecond: "2s", 250 * time.Millisecond: "1s", 20 * time.Second: "1m20s",
	} {
		if got, ok := TookTooLong(tooLong(limit).Error()); !ok || got != want {
			t.Errorf("%s: %q, %v, want %s", limit, got, ok, want)
		}
	}
	said := host.ErrTimeout.Error()
	for _, other := range []string{"", said, said + " (over 5s", said + " (over )", said + " (over 0s)", said + " (over -1s)", "x (over 5s)"} {
		if got, ok := TookTooLong(other); ok || got != "" {
			t.Errorf("%q: %q", other, got)
		}
	}
}

// TestCosts: every text of an outcome costs what it is long, of evidence what is looked at; what has no subject is named by its trap.
func TestCosts(t *testing.T) {
	const n = 100
	text, long := strings.Repeat("x", n), strings.Repeat("x", maxText+n)
	bare := size(Outcome{})
	empty := size(Outcome{Evidence: []Evidence{{}}}) - bare // a piece of evidence without a word
	for name, c := range map[string]struct {
		o        Outcome
		all, cut int
	}{
		"subject": {Outcome{Subject: text}, n, n}, "summary": {Outcome{Summary: text}, n, n}, "reason": {Outcome{Reason: text}, n, n},
		"detail": {Outcome{Detail: Prose(text)}, n, n}, "by hand": {Outcome{ByHand: text}, n, n},
		"facts":         {Outcome{Facts: []byte(text)}, n, n},
		"evidence":      {Outcome{Evidence: []Evidence{{Source: text}, {Value: text}}}, 2*n + 2*empty, 2*n + 2*empty},
		"long evidence": {Outcome{Evidence: []Evidence{{Source: long, Value: long}}}, 2*len(long) + empty, 2*maxText + empty},
	} {
		if got, cut := size(c.o)-bare, sizeCut(c.o)-bare; got != c.all || cut != c.cut {
			t.Errorf("%s: %d, and %d of it cut; want %d and %d", name, got, cut, c.all, c.cut)
		}
	}
	for id, o := range map[string]Outcome{"bridge-mtu": {Trap: "bridge-mtu"}, "bridge-mtu:br0": {Trap: "bridge-mtu", Subject: "br0"}} {
		if got := o.ID(); got != id {
			t.Errorf("%s, want %s", got, id)
		}
	}
}
