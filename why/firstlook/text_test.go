package firstlook

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"fettle/internal/means"
	"fettle/why/meaning"
)

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzLook: whatever is read, the answer fits a screen, and nothing that a terminal acts on is in it.
func FuzzLook(f *testing.F) {
	boot, err := os.ReadFile("../testdata/healthy/debian12-boot.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(boot, 7)
	f.Add([]byte("__CURSOR=a\n__REALTIME_TIMESTAMP=1768149440000000\nMESSAGE=fatal \x1b[2J\nPRIORITY=2\n\n"), 1)
	f.Add([]byte(`{"MESSAGE":"\u001b]0;x\u0007 error","PRIORITY":"3","_HOSTNAME":"h","X":[1,{"a":"]"}],"__REALTIME_TIMESTAMP":"1768149440000000"}`), 5)
	f.Add([]byte("<11>1 2026-01-02T03:04:05Z h app 7 ID [x y=\"z\"] segfault at 0 ip 0 sp 0 error 4\n[    1.0][    C1] x\n"), 3)
	f.Fuzz(func(t *testing.T, log []byte, cut int) {
		l := New()
		cut = max(1, cut%4096)
		for b := log; len(b) > 0; {
			n := min(len(b), cut)
			l.Write(b[:n])
			b = b[n:]
		}
		r := l.Report()
		fits80(t, r)
		for _, g := range append(r.Groups, r.Before...) {
			if g.Count < 1 || g.FirstLine < 1 || g.LastLine < g.FirstLine || g.LastLine > r.Lines {
				t.Errorf("%+v", g)
			}
		}
	})
}

func fits80(t *testing.T, r *Report) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(r.Text(80), "\n"), "\n")
	if len(lines) > Rows {
		t.Errorf("%d lines", len(lines))
	}
	for _, s := range lines {
		if utf8.RuneCountInString(s) > 80 || strings.ContainsFunc(s, unicode.IsControl) {
			t.Errorf("%q", s)
		}
	}
}

// TestKernelStamps: behind the kernel's stamp comes a host only where who speaks has a process id, or is the kernel.
func TestKernelStamps(t *testing.T) {
	for line, want := range map[string][2]string{
		"[    5.223311] r8169 0000:02:00.0: firmware: failed to load x.fw (-2)":      {"", "kernel"},
		"[    0.360270] system 00:05: [mem 0xfec00000-0xfec00fff] could not be read": {"", "kernel"},
		"[Tue Feb  6 11:20:14 2024] sd 6:0:0:0: [sdc] Synchronizing SCSI cache":      {"", "kernel"},
		"[    5.223311] web1 kernel: r8169 0000:02:00.0: no link":                    {"web1", "kernel"},
		"[    5.223311] web1 sshd[12]: fatal: no":                                    {"web1", "sshd"},
		"Feb  6 11:20:14 web1 cron: no":                                              {"web1", "cron"},
	} {
		var p parser
		r, _ := p.line([]byte(line))
		if string(r.host) != want[0] || string(r.by) != want[1] {
			t.Errorf("%q: %q on %q, want %q", line, r.by, r.host, want)
		}
	}
}

// TestOneScreen: every incident is answered on one screen of 80 columns, also with all that this
// host says.
func TestOneScreen(t *testing.T) {
	for _, in := range incidents(t) {
		r := looked(in.log)
		r.Settle(Here{Own: true, Facts: []Fact{
			{Thing: Thing{"unit", "a.service"}, Says: strings.Repeat("says ", 40), Command: "systemctl status a.service", Trap: "x", Finding: "y"},
			{Thing: Thing{"port", "80"}, Says: "x", Trap: "x", Finding: "y"}, {Thing: Thing{"disk", "sda"}, Says: "x", Trap: "x", Finding: "y"},
			{Thing: Thing{"file", "/etc/x"}, Says: "x"}}})
		fits80(t, r)
		if text := r.Text(80); !strings.Contains(text, "This host now") || !strings.Contains(text, "1. ") {
			t.Errorf("%s:\n%s", in.name, text)
		}
	}
}

// TestOneLine: a single line that was pasted is not counted among others.
func TestOneLine(t *testing.T) {
	for log, want := range map[string]string{
		"fork: Cannot allocate memory": "What its words say:\n   | fork: Cannot allocate memory\n" +
			"   Cannot allocate memory = ENOMEM",
		"a: Permission denied\nfork: Cannot allocate memory\n":        "What stands out in 2 lines:\n1. line 1, 1 time\n",
		"Jan 11 16:37:20 web1 app[1]: fork: Cannot allocate memory\n": "What stands out in 1 line:\n1. app, 1 time, ",
	} {
		if text := looked(log).Text(80); !strings.Contains(text, want) {
			t.Errorf("%q: no %q in\n%s", log, want, text)
		}
	}
}

// TestFormats: the same messages are the same groups in every form in which people have logs.
func TestFormats(t *testing.T) {
	for name, log := range map[string]string{
		"short":          "Jan 11 16:37:20 web1 nginx[3]: no luck: Permission denied\n",
		"short-precise":  "Jan 11 16:37:20.123456 web1 nginx[3]: no luck: Permission denied\n",
		"short-iso":      "2026-01-11T16:37:20+0100 web1 nginx[3]: no luck: Permission denied\n",
		"rsyslog":        "2026-01-11T16:37:20.123456+01:00 web1 nginx[3]: no luck: Permission denied\n",
		"RFC 5424":       "<11>1 2026-01-11T16:37:20.123Z web1 nginx 3 - - no luck: Permission denied\n",
		"with priority":  "<11>Jan 11 16:37:20 web1 nginx[3]: no luck: Permission denied\n",
		"quoted":         "> Jan 11 16:37:20 web1 nginx[3]: no luck: Permission denied\n",
		"quoted by a |":  "| Jan 11 16:37:20 web1 nginx[3]: no luck: Permission denied\n",
		"coloured":       "\x1b[0;1;31mJan 11 16:37:20 web1 nginx[3]: no luck: Permission denied\x1b[0m\n",
		"CRLF":           "Jan 11 16:37:20 web1 nginx[3]: no luck: Permission denied\r\n",
		"without an end": "Jan 11 16:37:20 web1 nginx[3]: no luck: Permission denied",
		"other months":   "gen. 11 16:37:20 web1 nginx[3]: no luck: Permission denied\n",
		"JSON": `{"__REALTIME_TIMESTAMP":"1768149440000000","MESSAGE":"no luck: Permission denied","X":[1,2],"SYSLOG_IDENTIFIER":"nginx",` +
			`"_HOSTNAME":"web1","PRIORITY":"3"}` + "\n",
		"export": "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1768149440000000\n_HOSTNAME=web1\nSYSLOG_IDENTIFIER=nginx\n" +
			"MESSAGE=no luck: Permission denied\nPRIORITY=3\n\n",
	} {
		r := looked(log)
		if len(r.Groups) != 1 || r.Groups[0].By != "nginx" || r.Groups[0].Text != "no luck: Permission denied" ||
			r.Groups[0].First == "" || r.Groups[0].Host != "web1" || len(r.Groups[0].Meanings) != 1 {
			t.Errorf("%s: %+v", name, r.Groups)
		}
	}
	for name, log := range map[string]string{
		"dmesg":           "[   12.345678] EXT4-fs error (device sda1): x\n",
		"dmesg -T":        "[Sun Jan 11 16:37:20 2026] EXT4-fs error (device sda1): x\n",
		"kern.log":        "Jan 11 16:37:20 web1 kernel: [   12.345678] EXT4-fs error (device sda1): x\n",
		"with its caller": "[   12.345678][    C1] EXT4-fs error (device sda1): x\n",
	} {
		r := looked(log)
		if len(r.Groups) != 1 || r.Groups[0].By != "kernel" || r.Groups[0].Text != "EXT4-fs error (device sda1): x" {
			t.Errorf("%s: %+v", name, r.Groups)
		}
	}
}

// TestWhatBeganBefore: what was first said shortly before the first failure is shown, and what was said
// all along is not.
func TestWhatBeganBefore(t *testing.T) {
	log := ""
	for i := range 9 {
		log += "Jan 11 16:1" + string(rune('0'+i)) + ":00 web1 cron[1]: tick\n"
	}
	log += "Jan 11 16:19:30 web1 kernel: usb 3-2: new full-speed USB device number 24\n" +
		"Jan 11 16:19:31 web1 cron[1]: tick\n" +
		"Jan 11 16:19:40 web1 app[1]: fatal: cannot open the port\n" +
		"Jan 11 16:19:41 web1 late[1]: something else began\n"
	r := looked(log)
	if len(r.Before) != 1 || !strings.Contains(r.Before[0].Text, "new full-speed") {
		t.Errorf("%+v", r.Before)
	}
}

// TestNothingFails: of a healthy boot nothing is called a failure that is none.
func TestNothingFails(t *testing.T) {
	for _, line := range []string{"Finished with 0 errors", "errors=remount-ro was given",
		"Main process exited, code=exited, status=0/SUCCESS",
		"no error was found", "Background saving terminated with success", "err=0 text=", "Raw_Read_Error_Rate changed from 83 to 82"} {
		if r := looked("Jan 11 16:37:20 web1 app[1]: " + line + "\n"); r.Failing {
			t.Errorf("%q: %v", line, r.Groups[0].Why)
		}
	}
}

// TestText: who said it, how often and when, what it means, what began before and what the host knows, each where it is known.
func TestText(t *testing.T) {
	known, unknown := true, false
	mean := []meaning.Meaning{{Term: "ENOMEM", Says: "no memory"}, {Term: "B", Says: "b"}, {Term: "C", Says: "c"}}
	for want, r := range map[string]Report{
		"It has no messages.":                              {},
		"What stands out in 1 line:\n1. a, 1 time\n   | x": {Messages: 1, Failing: true, Groups: []Group{{By: "a", Text: "x", Count: 1}}},
		"What stands out in 2 lines, t1 to t2:\n1. line 7, 2 times, t1 to t2\n   | x\n   ENOMEM = no memory\n   B = b": {Messages: 2,
			Failing: true,
			First:   "t1", Last: "t2", Groups: []Group{{FirstLine: 7, Text: "x", Count: 2, First: "t1", Last: "t2", Meanings: mean}}},
		"What stands out in 3 lines:\n1. a on h, 2 times, t1\n   | x\n2. b, 1 time, t1\n   | y": {Messages: 3, Failing: true, First: "t1",
			Last:  "t1",
			Hosts: []string{"h", "i"}, Groups: []Group{{By: "a", Host: "h", Text: "x", Count: 2, First: "t1", Last: "t1"},
				{By: "b", Text: "y", Count: 1, First: "t1", Last: "t2"}}},
		"No line says that something failed. The rarest in 9 lines:\n1. a, 1 time\n   | x": {Messages: 9, Hosts: []string{"h"},
			Groups: []Group{{By: "a", Host: "h", Text: "x", Count: 1}}},
		"What its words say:\n   | x": {Messages: 1, Failing: true, Groups: []Group{{Text: "x", Count: 1}}},
		"What stands out in 2 lines:\n1. line 1, 1 time\n   | x": {Messages: 2, Failing: true, Groups: []Group{{Text: "x", FirstLine: 1,
			Count: 1}}},
		"What stands out in 9 lines:\n1. a, 1 time (new: not in the 7 days before)\n   | x\n2. b, 1 time\n   | y": {Messages: 9, Failing: true,
			Here: &Here{Compared: 7}, Groups: []Group{{By: "a", Text: "x", Count: 1, Known: &unknown}, {By: "b", Text: "y", Count: 1,
				Known: &known}}},
		"What stands out in 9 lines:\n1. a, 1 time\n   | x\n3. c, 1 time\n   | z": {Messages: 9, Failing: true, Groups: []Group{
			{By: "a", Text: "x", Count: 1, Effect: true}, {By: "b", Text: "y", Count: 1, Effect: true}, {By: "c", Text: "z", Count: 1}}},
		"What stands out in 9 lines:\n1. a, 1 time\n   | x\nBegan shortly before the first failure:\n   | t0 b: y\n   | z\nThis host now:\n" +
			"   p: up\n     fettle check tr: it is\n   q: down\n   r: away\n   more: look": {Messages: 9, Failing: true,
			Groups: []Group{{By: "a", Text: "x", Count: 1}}, Before: []Group{{By: "b", Text: "y", First: "t0"}, {Text: "z"}},
			Here: &Here{Own: true, Facts: []Fact{{Thing: Thing{"unit", "p"}, Says: "up", Command: "look", Trap: "tr", Finding: "it is"},
				{Thing: Thing{"unit", "q"}, Says: "down"}, {Thing: Thing{"unit", "r"}, Says: "away"}, {Thing: Thing{"unit", "s"}, Says: "lost"}}}},
		"What stands out in 8 lines:\n1. a, 1 time\n   | x": {Messages: 8, Failing: true, Groups: []Group{{By: "a", Text: "x", Count: 1}},
			Here: &Here{Facts: []Fact{{Thing: Thing{"unit", "p"}, Says: "of another host"}}}},
	} {
		if got := r.Text(80); got != "No known trap matches this.\n"+want+"\n" {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	r := Report{Messages: 9, Failing: true, Groups: slices.Repeat([]Group{{By: "a", Text: strings.Repeat("word ", 40), Count: 1,
		Meanings: mean}}, shown)}
	if n := strings.Count(r.Text(80), "\n"); n > Rows || n < Rows-5 {
		t.Errorf("%d lines of %d:\n%s", n, Rows, r.Text(80))
	}
}

// TestSettle: what a host says of claims goes to the groups that they are of.
func TestSettle(t *testing.T) {
	yes := true
	r := Report{Groups: make([]Group, 2)}
	r.Settle(Here{Known: []*bool{nil, &yes, &yes}})
	if r.Groups[0].Known != nil || r.Groups[1].Known == nil || r.Here == nil {
		t.Errorf("%+v", r)
	}
	for want, gs := range map[bool][]Group{true: {{}, {Failure: true, Meanings: make([]meaning.Meaning, 1)}},
		false: {{Failure: true}, {Meanings: make([]meaning.Meaning, 1)}}} {
		if r := (&Report{Groups: gs}); r.Explains() != want {
			t.Errorf("%+v explains: %v", gs, !want)
		}
	}
}
