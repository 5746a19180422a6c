package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/ui"
)

func TestKinds(t *testing.T) {
	for name, want := range map[string]bool{
		"br": true, "br0": true, "br9": true, "br-lan": true, "bridge": true, "bread": false, "enp3s0": true, "eno1": true, "ens18": true,
		"enx001122": true, "enxa1b2c3": true, "wlp3s0": true, "wlan0": true, "wwp0s20": true,
		"eno": false,
		"enp": false, "en0": true, "ends": false, "enough": false, "": false, "alice": false, "eth": true, "eth/1": false, "eth:1": false,
	} {
		if isInterface(name) != want {
			t.Errorf("%q: interface %v", name, !want)
		}
	}
}

func TestAtLeast(t *testing.T) {
	var c Counts
	c.Severities.Critical, c.Severities.Warning, c.Severities.Notice = 1, 10, 100
	for s, want := range map[trap.Severity]int{0: 111, trap.Notice: 111, trap.Warning: 11, trap.Critical: 1} {
		if got := c.AtLeast(s); got != want {
			t.Errorf("%d: %d", s, got)
		}
	}
	c = Counts{Unknown: 2, UnknownOK: 1}
	if c.Exit(0) != 4 || c.ExitNagios(0) != 3 {
		t.Error("one unknown of two that is not to be expected")
	}
	c.UnknownOK = 2
	if c.Exit(0) != 0 || c.ExitNagios(0) != 0 {
		t.Error("unknown, as expected")
	}
	c = Counts{}
	c.Add(trap.Result{UnknownOK: true, Outcomes: []trap.Outcome{{Status: trap.Unknown}}, Resolved: make([]trap.Resolved, 2)})
	if c.UnknownOK != 1 || c.Resolved != 2 {
		t.Errorf("%+v", c)
	}
	for sev, want := range map[trap.Severity]string{0: "notice", trap.Notice: "notice", trap.Critical: "critical",
		trap.Critical + 1: "notice"} {
		if got := severityName(sev); got != want {
			t.Errorf("%d is called %s", sev, got)
		}
	}
	if Style(0) != ui.Cyan || Style(trap.Critical) != ui.Red {
		t.Error("the colours of severities")
	}
}

// TestFitting: names as far as there is room, and how many have none.
func TestFitting(t *testing.T) {
	const reserve = len(", and 100000 more")
	for room, want := range map[int]string{
		reserve + 15: "one, three, two", reserve + 17: "one, three, two", reserve + 16: "one, three, and 1 more", reserve + 11: "one, and 2 more",
		reserve + 4: "and 3 more", 0: "and 3 more",
	} {
		if room == reserve+15 {
			want = "one, three, and 1 more"
		}
		if got := fitting([]string{"one", "three", "two"}, room); got != want {
			t.Errorf("%d: %q, want %q", room-reserve, got, want)
		}
	}
	tx := &text{opt: Options{Width: len(indent) + len(" and 1000 more") + 10}}
	for names, want := range map[string]string{
		"a bb ccc": "a, bb and 1 more", "a bb": "a, bb", "longer-than-that b": "longer-than-that and 1 more", "aaa bbb": "aaa, bbb",
		"aaa bbbb": "aaa and 1 more",
	} {
		if got := tx.fitting(strings.Fields(names)); got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
	if got := some([]string{"a", "b", "c", "d"}, 3); got != "a, b, c, d" {
		t.Error(got)
	}
	if got := some([]string{"a", "b", "c", "d", "e"}, 3); got != "a, b, c and 2 more" {
		t.Error(got)
	}
	out := func(n int) (o []trap.Outcome) {
		for i := range n {
			o = append(o, trap.Outcome{Subject: fmt.Sprint("s", i)})
		}
		return append(o, trap.Outcome{})
	}
	if a, b := subjects(out(4)), subjects(out(5)); a != "s0, s1, s2, s3" || b != "5 subjects" {
		t.Errorf("%q, %q", a, b)
	}
}

// TestScreen: what is not grave fits a screen together with what is not known.
func TestScreen(t *testing.T) {
	var all []trap.Result
	for i := range 30 {
		all = append(all, result(fmt.Sprint("t", i), trap.Outcome{Status: trap.Found, Severity: trap.Notice, Summary: "is odd"}))
	}
	for _, unknown := range []string{"", "a", strings.Repeat("many words ", 40)} {
		if unknown != "" {
			all = append(all, result("u", trap.Outcome{Status: trap.Unknown, Reason: unknown}))
		}
		if got := lines(t, Options{}, all); len(got) > screen || len(got) < screen-3 {
			t.Errorf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
		}
	}
}

// TestRoom: an entry says each of its causes where they fit, to the line.
func TestRoom(t *testing.T) {
	var found []*trap.Outcome
	for _, why := range []string{"one", "two", "three", "four"} {
		found = append(found, &trap.Outcome{Trap: "a", Subject: why + ".service", Status: trap.Found, Severity: trap.Notice,
			Summary: "says " + why})
	}
	tx := &text{opt: Options{Width: 80}}
	for room, apart := range map[int]bool{6: true, 5: false, 7: true, 3: false} {
		var b strings.Builder
		if tx.entries(&b, []entry{{trap.Notice, found}}, room); strings.Contains(b.String(), "four.service: says four") != apart {
			t.Errorf("room for %d lines:\n%s", room, b.String())
		}
	}
	for said, want := range map[string]string{"alice sees user alice": "\x00 sees \x00", "nobody": "nobody", "a user": "a user"} {
		if got := without(said, "user alice", " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := without("sdb of md0/sdb", "md0/sdb", " /"); got != "\x00 of \x00" || without("a b", "", " ") != "a b" {
		t.Errorf("%q", got)
	}
}

// TestRank: findings that count come first, the worst of them before; what is not known before what is clear.
func TestRank(t *testing.T) {
	accepted := &trap.Acceptance{}
	in := []trap.Outcome{
		{Subject: "n/a", Status: trap.NotApplicable}, {Subject: "clear", Status: trap.Clear}, {Subject: "future", Status: "future"},
		{Subject: "accepted", Status: trap.Found, Severity: trap.Critical, Accepted: accepted}, {Subject: "known", Status: trap.Found,
			Severity: trap.Notice, Known: true},
		{Subject: "notice", Status: trap.Found, Severity: trap.Notice}, {Subject: "critical", Status: trap.Found, Severity: trap.Critical},
		{Subject: "unknown", Status: trap.Unknown}, {Subject: "warning", Status: trap.Found, Severity: trap.Warning},
	}
	var got []string
	for _, o := range outcomesWorstFirst([]trap.Result{{Outcomes: in}}) {
		got = append(got, o.Subject)
	}
	if want := "critical warning notice accepted known future unknown clear n/a"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
	rs := []trap.Result{{Trap: "none"}, {Trap: "clear", Outcomes: in[1:2]}, {Trap: "n/a", Outcomes: in[:1]}, {Trap: "bad", Outcomes: in}}
	got = nil
	for _, r := range worstFirst(rs) {
		got = append(got, r.Trap)
	}
	if want := []string{"bad", "clear", "n/a", "none"}; !slices.Equal(got, want) || rs[0].Trap != "none" || in[0].Subject != "n/a" {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestHints: what would answer what is not known, where it was looked for.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		kind host.Kind
		euid int
		err  error
		want string
	}{
		{host.KindSosreport, 0, host.ErrNotCollected, "the sosreport does not have it; on the host itself: fettle check a"},
		{host.KindCapture, 0, host.ErrNotCollected, "capture again on the host, as root: sudo fettle capture"},
		{host.KindSosreport, 0, host.ErrDenied, "the capture was made without the right to read it; capture again as root"},
		{host.KindLive, 0, host.ErrTimeout, "look whether the machine or a mount hangs, then: fettle check a"}, {host.KindCapture, 0,
			host.ErrTimeout, ""},
		{host.KindLive, 0, host.ErrNoCommand, "install the command, then: fettle check a"}, {host.KindCapture, 0, host.ErrNoCommand, ""},
		{host.KindLive, 0, host.ErrNotRunning, ""},
	} {
		m := &Meta{Kind: c.kind, Host: "h", Identity: host.Identity{EUID: c.euid}}
		if got := hint(m, &trap.Outcome{Trap: "a", Reason: "x: " + c.err.Error()}); got != c.want {
			t.Errorf("%s, %v: %q, want %q", c.kind, c.err, got, c.want)
		}
	}
	all := []ignorance{{reason: "one", first: "one", who: []string{"a"}}, {reason: "two", first: "two", who: []string{"b"}, act: "do it"},
		{reason: "three", first: "three", who: []string{"c"}, act: "do that"}}
	if text, act := paragraph(all); act != "do it" || text != "a: one; b: two; c: three" {
		t.Errorf("%q, %q", text, act)
	}
	got := unknowns(&Meta{}, []trap.Result{result("a", trap.Outcome{Reason: "odd"}, trap.Outcome{Subject: "s", Reason: "odd"}), result("b",
		trap.Outcome{Reason: "x: " + host.ErrDenied.Error()},
		trap.Outcome{Subject: "s", Reason: "y: " + host.ErrDenied.Error()}), result("c", trap.Outcome{Reason: host.ErrDenied.Error()}),
		result("d", trap.Outcome{Status: "future"}), result("e", trap.Outcome{Summary: "says"})})
	if len(got) != 4 || strings.Join(got[0].who, " ") != "b c" || got[1].first != "odd" || got[2].first != "no reason given (status future)" ||
		got[3].first != "says" {
		t.Errorf("%+v", got)
	}
}

// TestLineOfNagios: the line is as long as the oldest NRPE lets through, with as many names as fit and all its figures.
func TestLineOfNagios(t *testing.T) {
	for _, n := range []int{0, 1, 20, 200} {
		var b strings.Builder
		names := slices.Repeat([]string{"warning something"}, n)
		if err := (NagiosLine{Of: "40 hosts: ", Names: names, Took: time.Second}).Write(&b); err != nil {
			t.Fatal(err)
		}
		line := b.String()
		if len(line) > nagiosMax || n == 200 && len(line) < nagiosMax-2*len(names[0])-len(", and 100000 more") ||
			!strings.HasSuffix(line, " time=1.000s;;;0\n") || strings.Count(line, "warning something") < min(n, 20) {
			t.Errorf("%d names: %d bytes: %s", n, len(line), line)
		}
	}
}
