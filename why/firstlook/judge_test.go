package firstlook

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle/host/hosttest"
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
		"timed out: not found": `it says "not found"`, "kernel bug: x": `it says "kernel bug"`, "FooException": `it says "exception"`, "raw_read_error_rate": "",
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
	for prio, want := range map[int]string{0: "its priority is emerg", 2: "its priority is crit", 3: "its priority is err", 4: "its priority is warning", 5: "", 7: "", -1: ""} {
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
		"its own":               {[]string{"cron[1]: a", "nginx[2]: configuration is odd", "cron[1]: b", failed}, "configuration is odd"},
		"its last":              {[]string{"nginx[2]: first words", "nginx[2]: second and last words", failed}, "second and last words"},
		"the unit's name":       {[]string{"systemd[1]: nginx.service: PID file is not there", "cron[1]: b", failed}, "nginx.service: PID file is not there"},
		"others' are not":       {[]string{"cron[1]: a b c", failed}, ""},
		"too long ago":          {append(append([]string{"nginx[2]: long gone words"}, repeated(64, "cron[1]: b")...), failed), ""},
		"just not too long ago": {append(append([]string{"nginx[2]: long gone words"}, repeated(62, "cron[1]: b")...), failed), "long gone words"},
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
	if g := r.Groups[0]; !r.Failing || g.Text != "configuration is odd" || !g.Failure || g.Effect || !slices.Contains(g.Why, "it came last before the unit failed") {
		t.Errorf("%+v", r.Groups)
	}
	if g := r.Groups[1]; !g.Effect || !g.Failure {
		t.Errorf("%+v", g)
	}
	for text, want := range map[string]string{"a.service: Failed": "a.service", "a: Failed": "", "it said a.service: x": "", "/a.service: x": "", "a.service failed": ""} {
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
	all := syslog(append(append([]string{"c[1]: could not begin at all"}, repeated(200, "a[1]: cannot open it")...), "b[1]: failed to close that thing")...).Report()
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
	long := append(append([]string{"c[1]: segfault at once, and gone"}, repeated(60, "a[1]: all is well here")...), "b[1]: cannot do what it shall", "a[1]: all is well here")
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
	log.WriteString(at(100, "udev[1]: plugged in long before") + at(179, "udev[1]: too early by a second now") + at(180, "apt[1]: upgrade of it begins") +
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
	if got := texts(l.Report().Before); !slices.Equal(got, []string{"plugged in long before", "too early by a second now", "upgrade of it begins"}) {
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

// TestWrite: a log may come in pieces of any size; of a very long line the beginning is read, and the next one is whole.
func TestWrite(t *testing.T) {
	log := "Jan  2 03:04:05 h a[1]: cannot open it " + strings.Repeat("x", maxPending) + "\nJan  2 03:04:06 h b[1]: cannot close that\nJan  2 03:04:07 h c[1]: panic, without an end"
	var want string
	for _, size := range []int{len(log), 1, 7, 4096} {
		l := New()
		for b := []byte(log); len(b) > 0; b = b[min(len(b), size):] {
			if n, err := l.Write(b[:min(len(b), size)]); err != nil || n != min(len(b), size) {
				t.Fatal(n, err)
			}
		}
		r := l.Report()
		got := fmt.Sprint(r.Lines, r.Messages, len(r.Groups), r.First, " ", r.Last, r.Hosts)
		for _, g := range r.Groups {
			got += fmt.Sprint("; ", g.By, g.FirstLine, g.LastLine, len(g.Text))
		}
		if want == "" {
			want = got
		}
		if got != want || r.Lines != 3 || r.Messages != 3 || !l.IsLog() {
			t.Errorf("in pieces of %d: %s, want %s", size, got, want)
		}
	}
	for log, want := range map[string]bool{"": false, "a b c\n": false, "Jan  2 03:04:05 h a: b\nx\n": true, "Jan  2 03:04:05 h a: b\nx\ny\n": false} {
		l := New()
		l.Write([]byte(log))
		if l.IsLog() != want {
			t.Errorf("%q is a log: %v", log, !want)
		}
	}
}

// TestRoom: a log of very many kinds of messages costs bounded memory, and what failed keeps its place.
func TestRoom(t *testing.T) {
	g := newGroups()
	add := func(text string, line int64) *group {
		return g.add(&record{by: []byte("a"), text: []byte(text), prio: -1}, line)
	}
	words := func(i int) string { // texts that are not alike
		return fmt.Sprintf("%c%c%c one%[1]c two%[2]c three%[3]c", 'g'+i%17, 'g'+i/17%17, 'g'+i/289%40)
	}
	for i := range maxGroups {
		if add(words(i), int64(i)) == nil {
			t.Fatalf("no room for %d", i)
		}
	}
	failed := add("segfault of it all", maxGroups)
	if failed == nil || len(g.all) > maxGroups || len(g.all) < maxGroups/2 || g.dropped == 0 {
		t.Errorf("%v, %d groups, %d dropped", failed, len(g.all), g.dropped)
	}
	if again := add("segfault of it all", maxGroups+1); again != failed || again.count != 2 || again.firstLine != maxGroups || again.lastLine != maxGroups+1 {
		t.Errorf("%+v", again)
	}
	many := newGroups()
	for i := range maxBucket + 5 { // of one program, with as many words and the same first one
		word := string(rune('g'+i%20)) + string(rune('G'+i/20))
		many.add(&record{by: []byte("a"), text: []byte("same " + word + " x" + word), prio: -1}, 1)
	}
	if len(many.all) != maxBucket || many.dropped != 5 {
		t.Errorf("%d groups, %d dropped", len(many.all), many.dropped)
	}
}

// TestLikest: texts with three of five words the same are one group.
func TestLikest(t *testing.T) {
	for texts, want := range map[string]int{
		"one two three four five|one two three X Y": 1, "one two three four five|one two W X Y": 2, "one two|one": 2, "a b|c b": 2, "a b c|a b X|a Y c": 2, "a b c|a b X|a b Z": 1,
	} {
		l := New()
		for s := range strings.SplitSeq(texts, "|") {
			l.Write([]byte("Jan  2 03:04:05 h app[1]: " + s + "\n"))
		}
		if got := len(l.groups.all); got != want {
			t.Errorf("%q: %d groups, want %d", texts, got, want)
		}
	}
	l := New()
	l.Write([]byte("Jan  2 03:04:05 h app[1]: read of file alpha failed\nJan  2 03:04:06 h app[1]: read of file beta failed\n"))
	if g := l.Report().Groups; len(g) != 1 || g[0].Template != "read of file <*> failed" || g[0].Count != 2 {
		t.Errorf("%+v", g)
	}
	for template, text := range map[string]string{"read of <*>": "read of it", "a b": "a b"} {
		if !fits(strings.Fields(template), tokens([]byte(text))) || fits(strings.Fields(template), tokens([]byte(text+" x"))) ||
			fits(strings.Fields(template), tokens([]byte("X"+text))) {
			t.Errorf("%q and %q", template, text)
		}
	}
}

// TestFacts: what the host knows of a thing that a line names.
func TestFacts(t *testing.T) {
	h := hosttest.New(t, `hostname: web1
-- command/systemctl show --property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result -- a.service --
LoadState=loaded
ActiveState=active
SubState=running
User=www-data
NRestarts=3
Result=success
-- command/systemctl show --property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result -- b.service --
LoadState=loaded
ActiveState=inactive
SubState=dead
NRestarts=0
-- command/systemctl show --property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result -- c.service --
LoadState=not-found
-- command/systemctl show --property=LoadState,ActiveState,SubState,StateChangeTimestamp,User,NRestarts,Result -- d.service --
exit 1
LoadState=loaded
-- command/ss -ltn --
State  Recv-Q Send-Q Local Address:Port Peer Address:Port
LISTEN 0      511    0.0.0.0:80         0.0.0.0:*
LISTEN 0      511    [::]:80            [::]:*
ESTAB  0      511    10.0.0.1:81        10.0.0.2:80
-- root/sys/class/block/sda1/size --
2000000
-- root/sys/class/block/sda1/device/model --
WDC 1
-- root/sys/class/block/sda1/ro --
1
-- root/sys/class/block/sdb/size --
4000000000
-- root/sys/class/block/sdb/ro --
0
-- root/sys/class/block/sdc/size --
odd
-- root/proc/self/mountinfo --
22 1 8:1 / / rw,relatime - ext4 /dev/root rw
23 22 8:2 / /srv ro,relatime - ext4 /dev/sda1 rw
24 22 0:9 / /mnt/far rw - nfs4 far:/x rw
25 24 0:9 / /mnt/far/near rw - ext4 /dev/sdx rw
-- stat/srv/x --
mode 0640 uid 7 gid 8 type file mtime 2026-01-02T03:04:05Z
-- stat/srv/d --
mode 0755 type dir mtime 2026-01-02T03:04:05Z
-- stat/mnt/far/f --
mode 0644 type file
-- stat/mnt/far/near/f --
mode 0644 type file mtime 2026-01-02T03:04:05Z
-- link/srv/l --
/srv/x
-- denied/srv/shut --
`)
	for thing, want := range map[Thing]string{
		{"unit", "a.service"}: "active (running), restarted 3 times, runs as www-data", {"unit", "b.service"}: "inactive (dead)",
		{"unit", "c.service"}: "systemd has it as not-found", {"unit", "d.service"}: "", {"unit", "e.service"}: "",
		{"port", "80"}: "a program listens on 0.0.0.0:80, [::]:80 (TCP)", {"port", "81"}: "nothing listens on this TCP port now", {"port", "0"}: "nothing listens on this TCP port now",
		{"disk", "sda1"}: "WDC 1, 1.0 GB, read-only, mounted on /srv (ext4, ro)", {"disk", "sdb"}: "2048.0 GB", {"disk", "sdc"}: "",
		{"disk", "sdz"}:    "there is no such block device now",
		{"file", "/srv/x"}: "file, mode 0640, owner 7:8, changed 2026-01-02 03:04", {"file", "/srv/d"}: "folder, mode 0755, owner 0:0, changed 2026-01-02 03:04",
		{"file", "/srv/none"}: "does not exist now", {"file", "/srv/no/ne"}: "does not exist now, nor does /srv/no", {"file", "/none"}: "does not exist now",
		{"file", "/srv/shut"}: "", {"file", "/mnt/far/f"}: "", {"file", "/mnt/far"}: "", {"file", "/mnt/far/near/f"}: "file, mode 0644, owner 0:0, changed 2026-01-02 03:04",
		{"else", "x"}: "",
	} {
		f, ok := lookUp(t.Context(), h, thing)
		if f.Says != want || ok != (want != "") || want != "" && (f.Command == "" || f.Thing != thing) {
			t.Errorf("%v: %q, want %q", thing, f.Says, want)
		}
	}
	if f, _ := lookUp(t.Context(), h, Thing{"file", "/srv/l"}); !strings.HasPrefix(f.Says, "symbolic link, ") {
		t.Errorf("%q", f.Says)
	}
}

// TestForeign: names that may be this host's, short or long; of a unit's log any.
func TestForeign(t *testing.T) {
	for _, c := range []struct {
		q          Question
		host, boot string
		own        bool
	}{
		{Question{Hosts: []string{"web1"}}, "web1", "", true}, {Question{Hosts: []string{"web1"}}, "web1.example.org", "", true},
		{Question{Hosts: []string{"web1.example.org"}}, "web1", "", true}, {Question{Hosts: []string{"web1.example.org"}}, "web1.example.com", "", false},
		{Question{Hosts: []string{"web1", "web2"}}, "web1", "", false}, {Question{}, "web1", "", false}, {Question{Unit: "a.service"}, "web1", "", true},
		{Question{Hosts: []string{"web1"}, Boots: []string{"ab"}}, "web1", "a-b", true}, {Question{Hosts: []string{"web1"}, Boots: []string{"ab"}}, "web1", "", true},
		{Question{Hosts: []string{"web1"}, Boots: []string{"ab", "cd"}}, "web1", "ab", false},
	} {
		if got := c.q.Foreign(c.host, c.boot); (got == "") != c.own {
			t.Errorf("%+v on %s, boot %s: %q", c.q, c.host, c.boot, got)
		}
	}
	q := Question{Days: 99, Claims: make([]Claim, maxClaims+1)}
	q.Claims[0].Things, q.Claims[0].Template = make([]Thing, maxThings+1), make([]string, maxTokens+1)
	if b := q.bounded(); b.Days != maxDays || len(b.Claims) != maxClaims || len(b.Claims[0].Things) != maxThings || len(b.Claims[0].Template) != maxTokens {
		t.Errorf("%d days, %d claims", b.Days, len(b.Claims))
	}
	if b := (Question{Days: -1}).bounded(); b.Days != 0 {
		t.Errorf("%d days", b.Days)
	}
	r := &Report{Groups: make([]Group, maxClaims)}
	for days, want := range map[int]int{-1: 0, 7: 7, 31: maxDays} {
		if got := r.Ask(nil, days); got.Days != want || len(got.Claims) != maxClaims {
			t.Errorf("%d days: %d, %d claims", days, got.Days, len(got.Claims))
		}
	}
	if got := matches(Question{Claims: []Claim{{By: "kernel"}, {By: "a"}, {By: "a"}, {By: "b"}}}); !slices.Equal(got, []string{"SYSLOG_IDENTIFIER=a",
		"SYSLOG_IDENTIFIER=b", "+", "_TRANSPORT=kernel"}) {
		t.Errorf("%q", got)
	}
	if got := matches(Question{Claims: []Claim{{By: "kernel"}}}); !slices.Equal(got, []string{"_TRANSPORT=kernel"}) || matches(Question{}) != nil {
		t.Errorf("%q", got)
	}
	if !identifier(strings.Repeat("a", 64)) || identifier(strings.Repeat("a", 65)) || identifier("") || identifier("a=b") {
		t.Error("identifiers")
	}
}
