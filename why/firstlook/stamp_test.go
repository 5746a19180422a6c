package firstlook

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestStamps: how long the stamp of a line is, and whether it has a year; what only looks like one is none.
func TestStamps(t *testing.T) {
	for _, c := range []struct {
		stamp, rest string
		year        bool
	}{
		{"2026-01-02T03:04:05Z ", "x", true}, {"2026-01-02 03:04:05 ", "x", true}, {"2026/01/02 03:04:05: ", "x", true},
		{"2026-01-02 03:04:05,123 ", "x", true}, {"2026-01-02T03:04:05.123456+01:00 ", "x", true}, {"2026-01-02T03:04:05-0500 ", "x", true},
		{"2026-01-02 03:04:05 UTC ", "x", true}, {"2026-01-02 03:04:05 CEST ", "x", true}, {"2026-01-02 03:04:05 ", "UTCx", true},
		{"2026-01-02 03:04:05 ", "XYZ x", true}, {"2026-01-02 03:04:05.", "", true}, {"2026-01-02 03:04:05", "", true},
		{"2026-01-02 03:04:05 ", "UTC", true}, {"2026-01-02 03:04:05", "-x", true},
		{"Jan  2 03:04:05 ", "x", false}, {"Jan 12 03:04:05.123 ", "x", false}, {"Sun Dec 18 02:21:46 2016 ", "x", false},
		{"Jan 2 03:04:05 2016 ", "x", false}, {"Jan 2 03:04:05 ", "2016", false}, {"Jan 2 03:04:05 ", "20161 x", false},
		{"Mär  2 03:04:05 ", "x", false}, {"févr. 2 03:04:05 ", "x", false}, {"Jan 2 03:04:05: ", "x", false},
		{"[    5.223311] ", "x", false}, {"[12345.6]", "x", false}, {"[    1.0][    C1] ", "x", false}, {"[    1.0][ T123] ", "x", false},
		{"[    1.0]", "[x] y", false}, {"[    1.0]", "[ X1] y", false}, {"[    1.0] ", "", false},
		{"[Tue Nov 20 22:30:22 2018] ", "x", true}, {"[2016-07-15 09:07:35,914] ", "x", true}, {"[Nov 20 22:30:22] ", "x", true},
	} {
		if c.stamp == "2026-01-02 03:04:05." { // a dot without digits is no fraction
			c.stamp, c.rest = "2026-01-02 03:04:05", "."
		}
		if n, year := stampLen([]byte(c.stamp + c.rest)); n != len(c.stamp) || year != c.year {
			t.Errorf("%q: %d of %d, year %v", c.stamp+c.rest, n, len(c.stamp), year)
		}
	}
	for _, line := range []string{
		"", "x", "2026-01", "2026-01-02X03:04:05 x", "2026-01-02 3:04:05 xxx", "2026-01-02 03-04:05 x", "2026-01-02 03:04-05 x",
		"2026.01.02 03:04:05 x",
		"2026-01/02 03:04:05 x", "202-01-02 03:04:05 xx", "2026-1-02 03:04:05 xx", "2026-01-2 03:04:05 xx", "2026-01-02 03:04:5 xx",
		"20260102 03:04:05 xx",
		"2026-01-02 030405 xxxx", "J 2 03:04:05 x", "Jan2 03:04:05 x", "Jan 123 03:04:05 x", "Jan x 03:04:05 x", "Jan 2", "Jan 12 x03:04:05",
		"Jan 2x03:04:05 x",
		"[x] 12345678", "[5] xxxxxxxx", "[ 5.x] xxxxxx", "[   5.223311 x", "[1.5 GB] missing", "[2016-07-15] xxxxxx",
		"[2016-07-15 09:07:35 and more] x",
		"[" + strings.Repeat(" ", 47) + "] x", "[]xxxxxxx", "[5.", "[     5", "error: 12:34:56 x",
	} {
		if n, year := stampLen([]byte(line)); n != 0 || year {
			t.Errorf("%q has a stamp of %d", line, n)
		}
	}
}

// TestSeconds: stamps of one form are as far apart as they say.
func TestSeconds(t *testing.T) {
	for a, b := range map[string]string{
		"[    5.5]": "[   65.500000]", "1768149440000000": "1768149500000000", "2026-01-02T03:04:05Z": "2026-01-02T03:05:05Z",
		"2026-01-02T03:04:05+0100": "2026-01-02T03:05:05+0100", "2026-01-02 03:04:05,500": "2026-01-02 03:05:05,500",
		"Jan  2 03:04:05":            "Jan  2 03:05:05",
		"[Sun Dec 18 02:21:46 2016]": "[Sun Dec 18 02:22:46 2016]", "2026/01/02 03:04:05": "2026/01/02 03:05:05",
	} {
		x, ok := seconds(a)
		y, ok2 := seconds(b)
		if !ok || !ok2 || y-x < 59.999 || y-x > 60.001 {
			t.Errorf("%q and %q are %f s apart, %v, %v", a, b, y-x, ok, ok2)
		}
	}
	if x, ok := seconds("Mär  2 03:04:05"); ok {
		t.Errorf("%f", x)
	}
	for stamp, want := range map[string]string{"1768149440000000": "2026-01-11 16:37:20", "Jan  2": "Jan  2", "1768149440": "1768149440",
		"": ""} {
		if got := readable(stamp); got != want {
			t.Errorf("%q is read as %q", stamp, got)
		}
	}
}

// TestLines: who says what in each form of log; what is no message is none.
func TestLines(t *testing.T) {
	for line, want := range map[string]struct {
		host, by, text string
		prio           int
	}{
		"Jan  2 03:04:05 web1 nginx[7]: it failed":                     {"web1", "nginx", "it failed", -1},
		"Jan  2 03:04:05 web1 nginx:":                                  {"web1", "nginx", "", -1},
		"Jan  2 03:04:05 web1 nginx[7]:":                               {"web1", "nginx", "", -1},
		"Jan  2 03:04:05 web1 nginx[7: it failed":                      {"", "", "web1 nginx[7: it failed", -1},
		"Jan  2 03:04:05 it failed: badly":                             {"it", "failed", "badly", -1},
		"Jan  2 03:04:05 it, failed: badly":                            {"", "", "it, failed: badly", -1},
		"Jan  2 03:04:05 web1: failed: badly":                          {"", "", "web1: failed: badly", -1},
		"Jan  2 03:04:05 a=b failed: badly":                            {"", "", "a=b failed: badly", -1},
		"Jan  2 03:04:05 alone":                                        {"", "", "alone", -1},
		"Jan  2 03:04:05 web1 kernel: [    5.5] sda: gone":             {"web1", "kernel", "sda: gone", -1},
		"Jan  2 03:04:05 web1 app: [    5.5] sda: gone":                {"web1", "app", "[    5.5] sda: gone", -1},
		"<11>Jan  2 03:04:05 web1 nginx: it failed":                    {"web1", "nginx", "it failed", 3},
		"<6>[    5.5] sda: gone":                                       {"", "kernel", "sda: gone", 6},
		"<191>1 2026-01-02T03:04:05Z web1 app 7 ID - it failed":        {"web1", "app", "it failed", 7},
		`<11>1 2026-01-02T03:04:05Z web1 app 7 ID [x y="z"] it failed`: {"web1", "app", "it failed", 3},
		"<11>1 2026-01-02T03:04:05Z web1 app 7 ID it failed":           {"web1", "app", "it failed", 3},
		"2026-01-02T03:04:05Z web1 app 7 ID - it failed":               {"", "", "web1 app 7 ID - it failed", -1},
		"<192>it failed":                                               {"", "", "<192>it failed", -1},
		"<>it failed":                                                  {"", "", "<>it failed", -1},
		"<x>it failed":                                                 {"", "", "<x>it failed", -1},
		"<1234>it failed":                                              {"", "", "<1234>it failed", -1},
		"web_1  | it failed":                                           {"", "web_1", "it failed", -1},
		"<6>":                                                          {"", "", "", 6}, "<6": {"", "", "<6", -1}, "<0>it failed": {"", "",
			"it failed", 0},
		`{"A":{"b":1,"c":"d"},"MESSAGE":"x"}`:                              {"", "", "x", -1},
		`{"A":[],"B":-1.5,"MESSAGE":"x"}`:                                  {"", "", "x", -1},
		`{"A":"x\\","MESSAGE":"y","PRIORITY":"7"}`:                         {"", "", "y", 7},
		`{"A":["\"]",{"b":"}"}],"MESSAGE":"y","PRIORITY":"-1"}`:            {"", "", "y", -1},
		`{"MESSAGE":"y","A":1`:                                             {"", "", "y", -1},
		`{"MESSAGE":`:                                                      {"", "", `{"MESSAGE":`, -1},
		`{"MESSAGE"`:                                                       {"", "", `{"MESSAGE"`, -1},
		`{"MESSAGE":"y","_COMM":"c","SYSLOG_IDENTIFIER":"s"}`:              {"", "s", "y", -1},
		`{"MESSAGE":"y","_SYSTEMD_UNIT":"u","UNIT":"v"}`:                   {"", "", "y", -1},
		"a b | it failed":                                                  {"", "", "a b | it failed", -1},
		strings.Repeat("c", 61) + " | it failed":                           {"", strings.Repeat("c", 61), "it failed", -1},
		strings.Repeat("c", 62) + " | it failed":                           {"", "", strings.Repeat("c", 62) + " | it failed", -1},
		"> | it failed\r":                                                  {"", "", "it failed", -1},
		"\x1b[31mit\x1b[0m failed\x1b[":                                    {"", "", "it failed", -1},
		`{"MESSAGE":"it failed","SYSLOG_IDENTIFIER":"app","PRIORITY":"3"}`: {"", "app", "it failed", 3},
		`{"MESSAGE":"it failed","_COMM":"app","PRIORITY":"8","N":[1,{"a":"]"}],"_HOSTNAME":"h"}`: {"h", "app", "it failed", -1},
		`{"N":null,"MESSAGE" : "a\tb\\ \"c\" \u00e9","PRIORITY":"0","L":[",","x"]}`:              {"", "", `a b\ "c" é`, 0},
		`{"MESSAGE":"it failed`:               {"", "", `{"MESSAGE":"it failed`, -1},
		`{"level":"error","msg":"it failed"}`: {"", "", `{"level":"error","msg":"it failed"}`, -1},
	} {
		var p parser
		r, ok := p.line([]byte(line))
		if !ok || string(r.host) != want.host || string(r.by) != want.by || string(r.text) != want.text || r.prio != want.prio {
			t.Errorf("%q: %v, host %q, by %q, text %q, priority %d", line, ok, r.host, r.by, r.text, r.prio)
		}
	}
	for _, line := range []string{"", "\r", "-- Boot x --", "--", "░░ Subject: x"} {
		var p parser
		if r, ok := p.line([]byte(line)); ok {
			t.Errorf("%q is a message: %q", line, r.text)
		}
	}
	for in, want := range map[string]string{`a\n\t\rb`: "a   b", `\u0041\u00e9x`: "Aéx", `\u004`: "004", `\"\\\/`: `"\/`, `a\`: `a\`, "plain": "plain"} {
		if got := string(unescape(nil, []byte(in))); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestExport: entries of journalctl -o export, one behind the other; those without a message are none.
func TestExport(t *testing.T) {
	l := New()
	l.Write([]byte("__CURSOR=a\n_HOSTNAME=h\nSYSLOG_IDENTIFIER=app\nMESSAGE=it failed badly\nPRIORITY=2\nUNIT=a.service\n\n" +
		"__CURSOR=b\n_HOSTNAME=h\n\n__CURSOR=c\n_COMM=other\n_SYSTEMD_UNIT=b.service\nMESSAGE=disk gone, " +
		"failed\n_BOOT_ID=0123456789abcdef0123456789abcdef\n\n"))
	r := l.Report()
	got := map[string]string{}
	for _, g := range r.Groups {
		got[g.By] = g.Unit + " " + g.Host + " " + g.Text
	}
	if r.Messages != 2 || len(got) != 2 || got["app"] != "a.service h it failed badly" || got["other"] != "b.service  disk gone, failed" ||
		len(l.Boots()) != 1 {
		t.Errorf("%d messages, %q, boots %q", r.Messages, got, l.Boots())
	}
}

// TestHostNames: what may be a host's name, and what only a sentence's first word.
func TestHostNames(t *testing.T) {
	for name, want := range map[string]bool{"web1": true, "fe80::1": true, strings.Repeat("h", 253): true, strings.Repeat("h", 254): false,
		"a:": false,
		"a,": false, "a=b": false, "[a]": false, "(a": false, `"a`: false, "a*": false, "{a": false, "a\tb": false} {
		if nameLike([]byte(name)) != want {
			t.Errorf("%.20q is a host's name: %v", name, !want)
		}
	}
	for name, want := range map[string]string{"nginx": "nginx", "nginx[7]": "nginx", "nginx[7": "", "": "", "[7]": "", "a b": "",
		"a=b": "", "(sd-pam)": "(sd-pam)",
		strings.Repeat("n", 128): strings.Repeat("n", 128), strings.Repeat("n", 129): ""} {
		if got, ok := program([]byte(name)); string(got) != want || ok != (want != "") {
			t.Errorf("%.20q is the program %q", name, got)
		}
	}
	long := "one two three four five six"
	for n, want := range map[int]string{3: "> one two|  three four|  five six", 2: "> one two|  thre... ...",
		4: "> one two|  three four|  five six"} {
		if got := strings.Join(wrapped(long, 13, "> ", "  ", n), "|"); got != want {
			t.Errorf("%d lines: %q, want %q", n, got, want)
		}
	}
}

// TestPartsOfStamps: stamps that a line ends in, or that are cut short, are as long as they are.
func TestPartsOfStamps(t *testing.T) {
	for text, want := range map[string]int{"[5.5]": 5, "[5.5] x": 6, "[ 5.5] x": 7, "[5.] x": 5, "[5.]": 0, "[5.5": 0, "[5.": 0, "[1234": 0,
		"[123.": 0,
		"[5x5]": 0, "[x": 0,
		"[5]": 0, "": 0, "[5.5][T1] x": 10, "[5.5][ C12]x": 11, "[5.5][T1": 5, "[5.5][": 5, "[5.5][T": 5, "[5.5][   ": 5, "[5.5][X1] x": 5,
		"[   ": 0} {
		if got := kernelLen([]byte(text)); got != want {
			t.Errorf("%q: the kernel's stamp has %d bytes, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int{"12:34:56": 8, "12:34:56.": 8, "12:34:56.5": 10, "12:34:56,123 x": 12, "12:34:56,": 8,
		"12:34:56Z": 9, "12:34:56.5Z": 11,
		"12:34:56+": 8, "12:34:56+1": 8, "12:34:56+01": 11, "12:34:56-01:00": 14, "12:34:56-01:00x": 14, "12:34:5": 0, "1:34:56x": 0,
		"123:4:56": 0} {
		if got := clockLen([]byte(text)); got != want {
			t.Errorf("%q: the time has %d bytes, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int{"Jan 2 03:04:05 2016 x": 20, "Jan 2 03:04:05 2016": 15, "Jan 2 03:04:05 ": 15, "Jan 2 03:04:05": 14,
		strings.Repeat("m", 16) + " 2 03:04:05": 27, strings.Repeat("m", 17) + " 2 03:04:05": 0, "Jan 2 ": 0, "Jan 12": 0, "Jan .2 03:04:05": 15,
		"Jan":     0,
		"Sun Jan": 0, "Sun J 2 03:04:05": 0} {
		if got := monthLen([]byte(text)); got != want {
			t.Errorf("%q: the date has %d bytes, want %d", text, got, want)
		}
	}
}

// TestNamesOfALog: the hosts and boots that lines name, each once and no more than have room; those that name none add none.
func TestNamesOfALog(t *testing.T) {
	const boot = "0123456789abcdef0123456789abcdef"
	l := New()
	l.Write([]byte("-- Boot " + boot[:31] +
		"0 --\nJan  2 03:04:05 b x[1]: y\nno host: here\nJan  2 03:04:05 a x[1]: y\nJan  2 03:04:05 b x[1]: y\n" +
		`{"MESSAGE":"m","_BOOT_ID":"` + boot + `","_HOSTNAME":"a"}` + "\n" + `{"MESSAGE":"m","_BOOT_ID":"short"}` + "\n" + `{"MESSAGE":"m","_BOOT_ID":""}` + "\n" +
		"-- Boot 01234567-89ab-cdef-0123-456789abcdef --\n-- Boot\n"))
	if r := l.Report(); !slices.Equal(r.Hosts, []string{"a", "b"}) || !slices.Equal(l.Boots(), []string{boot[:31] + "0", boot}) {
		t.Errorf("hosts %q, boots %q", r.Hosts, l.Boots())
	}
	many := New()
	for i := range maxNames + 1 {
		fmt.Fprintf(many, `{"MESSAGE":"m","_BOOT_ID":"%032x","_HOSTNAME":"h%d"}`+"\n", i, i)
	}
	if r := many.Report(); len(r.Hosts) != maxNames || len(many.Boots()) != maxNames {
		t.Errorf("%d hosts, %d boots, want %d", len(r.Hosts), len(many.Boots()), maxNames)
	}
}

// TestPriorities: a message is as grave as the gravest of its lines.
func TestPriorities(t *testing.T) {
	for prios, want := range map[string]int{"3": 3, "6 3 5": 3, "3 0": 0, "0 3": 0, "- 5": 5, "5 -": 5, "-": -1, "7 7": 7} {
		l := New()
		for p := range strings.FieldsSeq(prios) {
			fmt.Fprintf(l, `{"MESSAGE":"same text","SYSLOG_IDENTIFIER":"a","PRIORITY":"%s"}`+"\n", p)
		}
		got := -1
		if p := l.Report().Groups[0].Priority; p != nil {
			got = *p
		}
		if got != want {
			t.Errorf("of %s: %d, want %d", prios, got, want)
		}
	}
	l := New()
	fmt.Fprintf(l, `{"MESSAGE":"same text","PRIORITY":"6"}`+"\n"+`{"MESSAGE":"same text","PRIORITY":"2"}`+"\n")
	if r := l.Report(); !r.Failing || !slices.Contains(r.Groups[0].Why, "its priority is crit") {
		t.Errorf("%+v", r.Groups)
	}
}
