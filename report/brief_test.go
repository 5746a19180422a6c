package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fettle/engine/trap"
	"fettle/host"
)

// lines writes a run as text and returns its lines.
func lines(t *testing.T, opt Options, results []trap.Result) []string {
	t.Helper()
	var b bytes.Buffer
	w, err := New("text", &b, opt)
	if err != nil {
		t.Fatal(err)
	}
	var traps []*trap.Trap
	for _, r := range results {
		traps = append(traps, someTrap(r.Trap, "The title of "+r.Trap, false))
	}
	w.Begin(run.meta, traps)
	for _, r := range results {
		w.Result(r)
	}
	w.End(time.Second)
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

func result(id string, outcomes ...trap.Outcome) trap.Result {
	for i := range outcomes {
		outcomes[i].Trap = id
	}
	return trap.Result{Trap: id, Outcomes: outcomes}
}

// TestNothingFoundIsThreeLines: what needs nobody is counted, not listed.
func TestNothingFoundIsThreeLines(t *testing.T) {
	var all []trap.Result
	for i := range 80 {
		all = append(all, result(fmt.Sprintf("t%02d", i), trap.Outcome{Status: trap.Clear, Summary: "fine"}))
	}
	if got := lines(t, Options{}, all); len(got) != 2 || !strings.HasPrefix(got[1], "Nothing found; 80 clear,") {
		t.Errorf("%q", got)
	}
	all = append(all, result("x", trap.Outcome{Status: trap.Unknown, Reason: "took too long"}))
	if got := lines(t, Options{}, all); len(got) > 4 || !strings.HasPrefix(got[1], "UNKNOWN   x: took too long") {
		t.Errorf("%q", got)
	}
}

// TestFiguresCountCauses: the last line counts what the entries do, and the subjects
// beside it, also where each is shown with its evidence.
func TestFiguresCountCauses(t *testing.T) {
	var out []trap.Outcome
	for i := range 16 {
		subject := fmt.Sprintf("u%02d", i)
		out = append(out, trap.Outcome{Status: trap.Found, Severity: trap.Warning, Subject: subject, Summary: "runs deleted files"})
	}
	one := trap.Outcome{Status: trap.Found, Severity: trap.Notice, Subject: "x", Summary: "another"}
	for _, opt := range []Options{{}, {Verbose: true}} {
		got := lines(t, opt, []trap.Result{result("a", out...), result("b", one)})
		if last := strings.Join(got, " "); !strings.Contains(last, "2 found (1 warning, 1 notice; 17 subjects); 0 clear,") {
			t.Errorf("%+v: %q", opt, last)
		}
	}
	if last := strings.Join(lines(t, Options{}, []trap.Result{result("a", out[:2]...)}), " "); !strings.Contains(last,
		"1 found (1 warning; 2 subjects); 0 clear,") {
		t.Errorf("%q", last)
	}
	got := lines(t, Options{}, []trap.Result{result("b", one)})
	if last := strings.Join(got, " "); !strings.Contains(last, "1 found (1 notice); 0 clear,") {
		t.Errorf("%q", last)
	}
}

// TestOneEntryForOneCause: eighteen units with one fault are one entry, with
// one command; a second cause of the same trap is another.
func TestOneEntryForOneCause(t *testing.T) {
	var out []trap.Outcome
	for i := range 18 {
		out = append(out, trap.Outcome{Subject: fmt.Sprintf("unit-%02d.service", i), Status: trap.Found, Severity: trap.Notice, Fixable: true,
			Summary: fmt.Sprintf("unit-%02d.service still runs the old libuuid", i)})
	}
	out = append(out, trap.Outcome{Subject: "/srv", Status: trap.Found, Severity: trap.Critical, Summary: "deleted files fill it"})
	got := strings.Join(lines(t, Options{}, []trap.Result{result("a", out...)}), "\n")
	if i, k := strings.Index(got, "CRITICAL"), strings.Index(got, "NOTICE"); i < 0 || k < i {
		t.Errorf("the worst does not come first:\n%s", got)
	}
	for _, want := range []string{"NOTICE    a on 18 services: The title of a", "unit-00.service, unit-01.service", " and 1",
		"fix: fettle fix a\n"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("not once %q in:\n%s", want, got)
		}
	}
	if strings.Count(got, "fix: ") != 1 {
		t.Errorf("more than one command for one cause:\n%s", got)
	}
}

// TestCausesApart: where there is room, an entry of several causes says each; where there
// is none it names its subjects.
func TestCausesApart(t *testing.T) {
	var out []trap.Outcome
	for _, why := range []string{"cannot open its database", "the address is in use", "no such user", "timed out"} {
		out = append(out, trap.Outcome{Subject: why[:2] + ".service", Status: trap.Found, Severity: trap.Warning, Summary: "failed: " + why})
	}
	got := lines(t, Options{}, []trap.Result{result("a", out...)})
	if text := strings.Join(got, "\n"); !strings.Contains(
		text,
		"WARNING   a on 4 services:\n          ca.service: failed: cannot open its database\n          th.service: failed: the",
	) {
		t.Error(text)
	}
	var old []trap.Outcome
	for _, name := range []string{"a", "b", "c", "d"} { // the act differs, and the cause does not
		old = append(
			old,
			trap.Outcome{
				Subject:  name + ".service",
				Status:   trap.Found,
				Severity: trap.Warning,
				Summary:  "runs on old libraries",
				ByHand:   "restart " + name + " by " + name + "ctl",
			},
		)
	}
	old[3].ByHand = "restart the host"
	old = append(old, trap.Outcome{Subject: "e.service", Status: trap.Found, Severity: trap.Warning, Summary: "writes to a deleted file"})
	old = append(old, trap.Outcome{Subject: "f.service", Status: trap.Found, Severity: trap.Warning, Summary: "holds 3 GB"})
	got = lines(t, Options{}, []trap.Result{result("a", old...)})
	if text := strings.Join(got, "\n"); !strings.Contains(
		text,
		"WARNING   a on 6 services:\n          a.service, b.service, c.service, d.service: runs on old libraries\n          e.service: writes",
	) {
		t.Error(text)
	}
	got = lines(t, Options{}, []trap.Result{result("a", old[:4]...)})
	if text := strings.Join(got, "\n"); !strings.Contains(
		text,
		"WARNING   a on 4 services: runs on old libraries\n          a.service, b.service, c.service, d.service\n",
	) {
		t.Error(text)
	}
	for i := range 24 {
		out = append(
			out,
			trap.Outcome{
				Subject:  fmt.Sprintf("%d.service", i),
				Status:   trap.Found,
				Severity: trap.Warning,
				Summary:  fmt.Sprintf("failed: reason %d", i),
			},
		)
	}
	got = lines(t, Options{}, []trap.Result{result("a", out...)})
	if text := strings.Join(got, "\n"); len(got) > 24 ||
		!strings.Contains(text, "a on 28 services: The title of a\n          ca.service, th.service,") {
		t.Error(text)
	}
}

// TestWorstHostFitsAScreen: twenty-one findings of three lines each, and as
// many reasons not to know; the critical ones are never left out.
func TestWorstHostFitsAScreen(t *testing.T) {
	var all []trap.Result
	for i := range 21 {
		sev := []trap.Severity{trap.Notice, trap.Warning, trap.Critical}[i%3]
		if i > 8 {
			sev = trap.Notice
		}
		all = append(
			all,
			result(fmt.Sprintf("found-%02d", i), trap.Outcome{Subject: "somewhere", Status: trap.Found, Severity: sev, Fixable: true,
				Summary: "a sentence that says what is wrong and what comes of it, at such a length that it needs two lines"}),
		)
	}
	for i := range 36 {
		reason := fmt.Sprintf("reason %d", i%7)
		if i%2 == 0 {
			reason = "needs root: open /x: " + host.ErrDenied.Error()
		}
		all = append(all, result(fmt.Sprintf("unknown-%02d", i), trap.Outcome{Status: trap.Unknown, Reason: reason}))
	}
	got := lines(t, Options{}, all)
	if len(got) > 40 {
		t.Errorf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
	}
	text := strings.Join(got, "\n")
	for i := range 21 {
		if !strings.Contains(text, fmt.Sprintf("found-%02d", i)) {
			t.Errorf("found-%02d is not named", i)
		}
	}
	if n := strings.Count(text, "CRITICAL"); n != 3 {
		t.Errorf("%d critical findings are shown, of 3:\n%s", n, text)
	}
	for _, line := range got {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(text, "sudo fettle check\n") {
		t.Errorf("no act that answers most of what is unknown:\n%s", text)
	}
}

// TestQuiet: nothing to tell is nothing; of what is unknown only what was not
// unknown in the last run.
func TestQuiet(t *testing.T) {
	same := trap.Outcome{Status: trap.Unknown, Reason: "always", Known: true}
	for name, c := range map[string]struct {
		opt  Options
		r    trap.Result
		want string
	}{
		"nothing":     {Options{Quiet: true, New: true}, result("a", same), ""},
		"new unknown": {Options{Quiet: true, New: true}, result("a", trap.Outcome{Status: trap.Unknown, Reason: "now"}), "UNKNOWN   a: now"},
		"not asked":   {Options{Quiet: true}, result("a", trap.Outcome{Status: trap.Unknown, Reason: "now"}), ""},
		"resolved": {Options{Quiet: true, New: true},
			trap.Result{Trap: "a", Resolved: []trap.Resolved{{Subject: "b", Said: "warning: was wrong"}}}, "resolved  a:b: warning: was wrong"},
		"found": {Options{Quiet: true}, result("a",
			trap.Outcome{Status: trap.Found, Severity: trap.Warning, Summary: "is wrong", ByHand: "mend it"}), "WARNING   a: is wrong\n  " +
			"        by hand: mend it"},
		"found before": {Options{Quiet: true, New: true},
			result("a", trap.Outcome{Status: trap.Found, Severity: trap.Warning, Summary: "is wrong", Known: true}), ""},
	} {
		if got := strings.Join(lines(t, c.opt, []trap.Result{c.r}), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNagiosFits: NRPE's 1,024 bytes hold the line, performance data and all.
func TestNagiosFits(t *testing.T) {
	var b bytes.Buffer
	w, _ := New("nagios", &b, Options{})
	w.Begin(run.meta, nil)
	for i := range 500 {
		w.Result(
			result(fmt.Sprintf("a-trap-with-a-long-name-%d", i), trap.Outcome{Subject: "über", Status: trap.Found, Severity: trap.Warning}),
		)
	}
	w.End(time.Second)
	if n := b.Len(); n > 1024 || n < 900 || !strings.Contains(b.String(), " | critical=0;;;0 warning=500;;;0") {
		t.Errorf("%d bytes: %s", n, b.String())
	}
}

// TestNagiosOrder: the gravest first, also where one trap has some of each.
func TestNagiosOrder(t *testing.T) {
	var b bytes.Buffer
	w, _ := New("nagios", &b, Options{})
	w.Begin(run.meta, nil)
	w.Result(
		result(
			"a",
			trap.Outcome{Subject: "x", Status: trap.Found, Severity: trap.Notice},
			trap.Outcome{Subject: "y", Status: trap.Found, Severity: trap.Critical},
		),
	)
	w.Result(result("b", trap.Outcome{Subject: "z", Status: trap.Found, Severity: trap.Warning}))
	w.End(time.Second)
	if want := ": critical a:y, warning b:z, notice a:x |"; !strings.Contains(b.String(), want) {
		t.Errorf("%s has no %s", b.String(), want)
	}
}
