package firstlook

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestJudge: how bad a line is by its own words, its program's and its priority: worse than the line below it.
func TestJudge(t *testing.T) {
	line := func(prio int, text string) record {
		return record{by: []byte("app"), text: []byte(text), prio: prio}
	}
	for _, same := range [][]record{
		{line(2, "fatal: x"), line(3, "fatal: x"), line(4, "fatal: x"), line(5, "fatal: x"), line(7, "fatal: x")},
		{line(0, "x"), line(3, "x"), line(4, "x"), line(6, "x"), line(7, "x")},
		{line(-1, "panic in x"), line(-1, "x failed"), line(-1, "x is slow, warning"), line(-1, "x is up")},
		{line(-1, "FATAL: x"), line(-1, "ERROR: x"), line(-1, "WARN: x"), line(-1, "x"), line(-1, "INFO: x")},
		{line(-1, "F0102 03:04:05 x"), line(-1, "E0102 03:04:05 x"), line(-1, "W0102 03:04:05 x"), line(-1, "I0102 03:04:05 x")},
		{line(-1, "CRITICAL: x"), line(-1, "ERROR: x")}, {line(-1, "[emerg] x"), line(-1, "[error] x")},
		{line(-1, "[crit] x"), line(-1, "[error] x"), line(-1, "[warn] x"), line(-1, "[info] x")},
		{line(-1, "disk: i/o error"), line(-1, "disk: timed out"), line(-1, "disk: too many"), line(-1, "disk: fine")},
		{line(-1, "failed to read"), line(-1, "0 errors, failed=0")},
		{line(-1, "cannot connect"), line(-1, "Failed password for root from 192.0.2.1 port 5 ssh2")},
		{line(-1, "NullPointerException"), line(-1, "x was dropped"), line(-1, "x")},
	} {
		for i := range same[1:] {
			a, b := judge(&same[i]), judge(&same[i+1])
			if a.score <= b.score {
				t.Errorf("%q (%d) is %.1f, %q (%d) %.1f", same[i].text, same[i].prio, a.score, same[i+1].text, same[i+1].prio, b.score)
			}
		}
	}
	for text, want := range map[string]string{
		"x failed": `it says "failed"`, "x crashed: i/o error": `it says "i/o error"`, "segfault of a panic": `it says "segfault"`,
		"timed out: not found": `it says "not found"`, "kernel bug: x": `it says "kernel bug"`, "failed: FooException": `it says "failed"`, "x dropped: FooException": `it says "exception"`, "FooException": `it says "exception"`, "raw_read_error_rate": "",
		"no errors": "", "": "", "failed2": "", "ERROR x is odd": `the program calls it an error; it says "error"`,
	} {
		if text == "timed out: not found" { // of two that are as bad, the first of the list
			want = `it says "timed out"`
		}
		r := line(-1, text)
		if got := strings.Join(judge(&r).why, "; "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for prio, want := range map[int]string{0: "its priority is emerg", 2: "its priority is crit", 3: "its priority is err",
		4: "its priority is warning", 5: "", 7: "", -1: ""} {
		r := line(prio, "x")
		if got := strings.Join(judge(&r).why, "; "); got != want {
			t.Errorf("%d: %s, want %s", prio, got, want)
		}
	}
	for by, effect := range map[string]bool{"systemd": true, "init": true, "": true, "app": false} {
		r := record{by: []byte(by), text: []byte("a.service: Failed with result 'exit-code'."), prio: -1}
		if v := judge(&r); v.effect != effect {
			t.Errorf("%s: an effect %v", by, v.effect)
		}
	}
	step := record{by: []byte("systemd"), text: []byte("a.service: Main process exited, code=exited, status=203/EXEC"), prio: -1}
	plainEnd := record{by: []byte("systemd"), text: []byte("a.service: Main process exited, code=exited, status=1/FAILURE"), prio: -1}
	if a, b := judge(&step), judge(&plainEnd); !a.effect || !b.effect || a.score < serious || b.score >= telling {
		t.Errorf("a step of systemd's %.1f, a program's own end %.1f", a.score, b.score)
	}
	if r := line(-1, strings.Repeat("x ", maxText/2)+"panic"); judge(&r).score > 0 {
		t.Error("what is behind the bound is judged")
	}
}

// log writes lines of syslog, one a second.
func syslog(lines ...string) *Look {
	l := New()
	for i, s := range lines {
		fmt.Fprintf(l, "Jan  2 03:%02d:%02d web1 %s\n", i/60%60, i%60, s)
	}
	return l
}

func repeated(n int, line string) []string { return slices.Repeat([]string{line}, n) }

// TestBlame: the program's own last words before its unit failed come before others', however mild they are.
func TestBlame(t *testing.T) {
	const failed = "systemd[1]: nginx.service: Failed with result 'exit-code'."
	for name, c := range map[string]struct {
		log  []string
		want string // has come last; "" none
	}{
		"its own":  {[]string{"cron[1]: a", "nginx[2]: configuration is odd", "cron[1]: b", failed}, "configuration is odd"},
		"its last": {[]string{"nginx[2]: first words", "nginx[2]: second and last words", failed}, "second and last words"},
		"the unit's name": {[]string{"systemd[1]: nginx.service: PID file is not there", "cron[1]: b", failed},
			"nginx.service: PID file is not there"},
		"others' are not": {[]string{"cron[1]: a b c", failed}, ""},
		"too long ago":    {append(append([]string{"nginx[2]: long gone words"}, repeated(64, "cron[1]: b")...), failed), ""},
		"just not too long ago": {append(append([]string{"nginx[2]: long gone words"}, repeated(62, "cron[1]: b")...), failed),
			"long gone words"},
		"of an instance": {[]string{"getty[2]: no such terminal here", "systemd[1]: getty@tty1.service: Failed with result 'exit-code'."},
			"no such terminal here"},
	} {
		got := ""
		for _, g := range syslog(c.log...).groups.all {
			if g.lastWords > 0 {
				got += g.text
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	r := syslog("cron[1]: a", "nginx[2]: configuration is odd", failed).Report()
	if g := r.Groups[0]; !r.Failing || g.Text != "configuration is odd" || !g.Failure || g.Effect || !slices.Contains(g.Why,
		"it came last before the unit failed") {
		t.Errorf("%+v", r.Groups)
	}
	if g := r.Groups[1]; !g.Effect || !g.Failure {
		t.Errorf("%+v", g)
	}
	for text, want := range map[string]string{"a.service: Failed": "a.service", "a: Failed": "", "it said a.service: x": "",
		"/a.service: x": "", "a.service failed": ""} {
		if got := unitIn(text); got != want {
			t.Errorf("%q: unit %q, want %q", text, got, want)
		}
	}
}

// TestRanked: the first failure, and what goes on to the end, stand out; what is said all the time does not.
func TestRanked(t *testing.T) {
	first := func(lines ...string) string {
		r := syslog(lines...).Report()
		if len(r.Groups) == 0 {
			return ""
		}
		return r.Groups[0].Text
	}
	if got := first("a[1]: cannot open it", "b[1]: cannot close that"); got != "cannot open it" {
		t.Errorf("of two failures: %q first", got)
	}
	all := syslog(append(append([]string{"c[1]: could not begin at all"}, repeated(200, "a[1]: cannot open it")...),
		"b[1]: failed to close that thing")...).Report()
	if len(all.Groups) != 3 || all.Groups[1].Text != "failed to close that thing" {
		t.Errorf("beside what is said all the time: %+v", all.Groups)
	}
	if got := first(append(repeated(30, "a[1]: all is well here"), "b[1]: something rare of note")...); got != "something rare of note" {
		t.Errorf("of chatter: %q first", got)
	}
	r := syslog(append(repeated(30, "a[1]: all is well here"), "b[1]: something rare of note")...).Report()
	if r.Failing || r.Groups[0].Failure {
		t.Errorf("%+v", r)
	}
	long := append(append([]string{"c[1]: segfault at once, and gone"}, repeated(60, "a[1]: all is well here")...),
		"b[1]: cannot do what it shall", "a[1]: all is well here")
	if got := syslog(long...).Report(); len(got.Groups) != 2 || got.Groups[0].Text != "segfault at once, and gone" ||
		!slices.Contains(got.Groups[0].Why, "it is the first failure in the log") {
		t.Errorf("%+v", got.Groups)
	}
}

// TestBefore: what began in the two minutes before the first failure, and says of none itself, is told in its order.
func TestBefore(t *testing.T) {
	at := func(seconds int, said string) string {
		return fmt.Sprintf("Jan  2 03:%02d:%02d web1 %s\n", seconds/60, seconds%60, said)
	}
	var log strings.Builder
	log.WriteString(at(0, "cron[1]: the very first words"))
	for i := range 60 {
		log.WriteString(at(i+1, "cron[1]: chatter without end"))
	}
	log.WriteString(at(100, "udev[1]: plugged in long before") + at(179, "udev[1]: too early by a second now") + at(180,
		"apt[1]: upgrade of it begins") +
		at(200, "udev[1]: a warning, it failed mildly") + at(300, "apt[2]: cannot go on with that") + at(301, "apt[3]: later than that"))
	texts := func(gs []Group) (out []string) {
		for _, g := range gs {
			out = append(out, g.Text)
		}
		return out
	}
	l := New()
	l.Write([]byte(log.String()))
	start := l.firstFailure
	if start == nil || start.text != "a warning, it failed mildly" {
		t.Fatalf("%+v", start)
	}
	if got := texts(l.Report().Before); !slices.Equal(got, []string{"plugged in long before", "too early by a second now",
		"upgrade of it begins"}) {
		t.Errorf("%q", got)
	}
	for seconds, want := range map[int]int{nearSeconds: 1, nearSeconds + 1: 0} {
		l := New()
		l.Write([]byte(at(0, "udev[1]: plugged in") + at(seconds, "app[1]: cannot find it")))
		if got := l.Report().Before; len(got) != want {
			t.Errorf("%d s before: %q", seconds, texts(got))
		}
	}
	for lines, want := range map[int]int{nearLines: 1, nearLines + 1: 0} { // no stamps
		l := New()
		l.Write([]byte("it was plugged in\n" + strings.Repeat("\n", lines-1) + "app cannot find it at all\n"))
		if got := l.Report().Before; len(got) != want {
			t.Errorf("%d lines before: %q", lines, texts(got))
		}
	}
}

// TestWeights: what makes a message stand out more, or less, than its own words do.
func TestWeights(t *testing.T) {
	log := func(lines, records int64) *Look { return &Look{lines: lines, records: records} }
	said := func(score float64, count, last int64) *group {
		return &group{verdict: verdict{score: score}, count: count, lastLine: last}
	}
	lastWords, mildLastWords := said(5, 1, 1), said(1, 1, 1)
	lastWords.lastWords, mildLastWords.lastWords = 1, 1
	first := said(5, 1, 1)
	began := log(10, 10)
	began.firstFailure = first
	for name, c := range map[string]struct {
		l    *Look
		g    *group
		more float64 // than its words
	}{
		"by itself":                      {log(10, 10), said(5, 1, 1), 0},
		"last words":                     {log(10, 10), lastWords, 2},
		"mild last words":                {log(10, 10), mildLastWords, 3},
		"the first failure":              {began, first, 1.5},
		"another failure":                {began, said(5, 1, 2), 0},
		"to the end of a short log":      {log(49, 49), said(5, 1, 49), 0},
		"to the end":                     {log(50, 50), said(5, 1, 46), 0.7},
		"nearly to the end":              {log(50, 50), said(5, 1, 45), 0},
		"chatter in a short log":         {log(20, 20), said(1, 10, 1), 0},
		"chatter":                        {log(21, 21), said(1, 10, 1), -1},
		"rare, and no failure":           {log(21, 21), said(1, 1, 1), 0},
		"all the time":                   {log(1000, 201), said(5, 41, 1), -1},
		"all the time, of a shorter log": {log(1000, 200), said(5, 41, 1), 0},
		"a fifth of the time":            {log(1000, 205), said(5, 41, 1), 0},
	} {
		if more := c.l.weight(c.g) - c.g.verdict.score; more < c.more-1e-9 || more > c.more+1e-9 {
			t.Errorf("%s: %+.1f, want %+.1f", name, more, c.more)
		}
	}
}

// TestReportOfUnitsWithoutNames: where systemd does not say which unit failed, what was said just before counts.
func TestReportOfUnitsWithoutNames(t *testing.T) {
	const failed = "systemd[1]: Start request repeated too quickly."
	for name, c := range map[string]struct {
		log  []string
		want string
	}{
		"just before":    {[]string{"app[1]: parsing a file", failed}, "parsing a file"},
		"before systemd": {[]string{"app[1]: parsing a file", "systemd[1]: Started b.", failed}, "parsing a file"},
		"four lines before": {append(append([]string{"app[1]: parsing a file"}, repeated(3, "systemd[1]: Started b.")...), failed),
			"parsing a file"},
		"long before": {append(append([]string{"app[1]: parsing a file"}, repeated(4, "systemd[1]: Started b.")...), failed), ""},
		"nearest":     {[]string{"a[1]: one of these", "b[1]: two of those", failed}, "two of those"},
	} {
		got := ""
		for _, g := range syslog(c.log...).groups.all {
			if g.lastWords > 0 {
				got += g.text
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestFirstWordsOfALog: the first line of a long log began nothing, that of a short one may have.
func TestFirstWordsOfALog(t *testing.T) {
	for n, want := range map[int]int{nearLines - 2: 1, nearLines - 1: 0} {
		log := append([]string{"udev[1]: plugged in"}, repeated(n, "cron[1]: cannot go on with it")...)
		if got := syslog(append(log, "cron[1]: cannot go on with it")...).Report(); len(got.Before) != want {
			t.Errorf("%d messages: %d began before: %+v", got.Messages, len(got.Before), got.Before)
		}
	}
	l := New()
	l.Write([]byte("Jan  2 03:04:05 h a[1]: plugged in\nJan  2 03:04:04 h a[1]: cannot read it, by an earlier clock\n"))
	if got := l.Report(); len(got.Before) != 0 {
		t.Errorf("what was said later began before: %+v", got.Before)
	}
}
