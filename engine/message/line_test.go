package message

import (
	"strings"
	"testing"
)

// TestWhoSpeaks: a name before a colon is the program where the line says so, and only a guess where it
// may be the beginning of what is said: then messages are looked for in all of it.
func TestWhoSpeaks(t *testing.T) {
	for line, want := range map[string]struct{ host, by, text, full string }{
		"java[9]: segfault":                                {"", "java", "segfault", "java[9]: segfault"},
		"2026-01-02T03:04:05Z nginx: failed":               {"", "nginx", "failed", "nginx: failed"},
		"2026-01-02T03:04:05Z web1 nginx: failed":          {"", "nginx", "failed", "web1 nginx: failed"},
		"2026-01-02T03:04:05Z web1 nginx[7]: failed":       {"web1", "nginx", "failed", "nginx: failed"},
		"2026-01-02T03:04:05Z web1 kernel: sda: gone":      {"web1", "kernel", "sda: gone", "sda: gone"},
		"Apr  2 03:04:05 web1 nginx: failed":               {"web1", "nginx", "failed", "nginx: failed"},
		"Apr  2 03:04:05 web1   nginx: failed":             {"web1", "nginx", "failed", "nginx: failed"},
		"Apr  2 03:04:05 web1: nginx: failed":              {"", "web1", "nginx: failed", "web1: nginx: failed"},
		"Apr  2 03:04:05 it failed altogether":             {"", "", "it failed altogether", "it failed altogether"},
		"Apr  2 03:04:05 alone":                            {"", "", "alone", "alone"},
		"Apr  2 03:04:05 web1 kernel: [    1.5] sda: a":    {"web1", "kernel", "sda: a", "sda: a"},
		"Apr  2 03:04:05 web1 app: [    1.5] sda: a":       {"web1", "app", "[    1.5] sda: a", "app: [    1.5] sda: a"},
		"[   12.5] sda: gone":                              {"", "kernel", "sda: gone", "sda: gone"},
		"1767323045.123456 web1 nginx[7]: failed":          {"web1", "nginx", "failed", "nginx: failed"},
		"[2026-01-02 03:04:05] nginx: failed":              {"", "nginx", "failed", "nginx: failed"},
		"2026/01/02 03:04:05 nginx: failed":                {"", "nginx", "failed", "nginx: failed"},
		"<30>Apr  2 03:04:05 web1 nginx: failed":           {"web1", "nginx", "failed", "nginx: failed"},
		"<30>1 2026-01-02T03:04:05Z - - - - - failed":      {"", "", "failed", "failed"},
		`<30>1 2026-01-02T03:04:05Z h a 1 - [x] failed`:    {"h", "a", "failed", "a: failed"},
		"user  :warn  : 2026-01-02T03:04:05Z app: gone":    {"", "app", "gone", "app: gone"},
		"web-1 | nginx: failed":                            {"", "nginx", "failed", "nginx: failed"},
		"[pod/web/app] nginx: failed":                      {"", "nginx", "failed", "nginx: failed"},
		"\x1b[1mApr  2 03:04:05\x1b[0m web1 nginx: it\tis": {"web1", "nginx", "it is", "nginx: it is"},
	} {
		l := ParseLine(line)
		if !l.Log || l.Host != want.host || l.By != want.by || l.Text != want.text || l.full() != want.full {
			t.Errorf("%q: host %q, by %q, text %q, searched %q, want %q", line, l.Host, l.By, l.Text, l.full(), want)
		}
	}
	for _, line := range []string{
		"nginx: failed", "web | nginx failed", "[pod/web nginx failed", strings.Repeat("-", 64) + " | nginx failed", "a: b]: ",
		"<1234>nginx failed", "<3x>nginx failed", "<>nginx failed", "<30>nginx failed", "<30>1 2026-01-02T03:04:05Z web1 su failed",
	} {
		if l := ParseLine(line); l.By != "" || l.Host != "" || l.full() == "" {
			t.Errorf("%q does not tell who speaks: %+v", line, l)
		}
	}
	if l := ParseLine(strings.Repeat("-", 63) + " | failed"); !l.Log || l.Text != "failed" {
		t.Errorf("a long container's name: %+v", l)
	}
}

// TestNames: what stands before a line is a program or a host only where it can be one.
func TestNames(t *testing.T) {
	for word, want := range map[string]string{
		"sshd:": "sshd", "sshd[12]:": "sshd", "postfix/smtpd[1]:": "postfix/smtpd", "sshd": "", ":": "", "[12]:": "", "sshd[]:": "",
		"sshd[x]:": "", "ssh]:": "", `key="a:`: "", "a=b:": "", "a[b:": "", "{a:": "",
		strings.Repeat("n", 48) + ":": strings.Repeat("n", 48), strings.Repeat("n", 49) + ":": "",
	} {
		if got := program(word); got != want {
			t.Errorf("%q: program %q, want %q", word, got, want)
		}
	}
	for word, want := range map[string]bool{
		"web1": true, "azAZ09": true, "web-1.example_org": true, "fe80::1": true, "web1:": false, "": false,
		"a/b": false, "a@b": false, "a[b": false, "a`b": false, "a{b": false, "a b": false,
		strings.Repeat("h", 255): true, strings.Repeat("h", 256): false,
	} {
		if got := hostName(word); got != want {
			t.Errorf("%q: host %v", word, got)
		}
	}
}

// TestMayBe: a message counts where the one who prints it may have said the line.
func TestMayBe(t *testing.T) {
	for _, c := range []struct {
		line, says string
		want       bool
	}{
		{"it failed", "kernel", true}, {"it failed", "app", true},
		{"Jan  2 03:04:05 h app[1]: it failed", "app", true},
		{"Jan  2 03:04:05 h app[1]: it failed", "kernel", false},
		{"Jan  2 03:04:05 h app[1]: it failed", "other", true}, // wrappers print what the program says
		{"Jan  2 03:04:05 h app[1]: it failed", "systemd", false},
		{"Jan  2 03:04:05 h systemd-logind[1]: it failed", "systemd", true},
		{"Jan  2 03:04:05 h (sd-pam)[1]: it failed", "systemd", true},
		{"[    1.0] app: it failed", "app", true}, {"[    1.0] it failed", "app", false}, {"[    1.0] it failed", "kernel", true},
	} {
		l := ParseLine(c.line)
		if got := l.mayBe(c.says); got != c.want {
			t.Errorf("%q may be said by %s: %v", c.line, c.says, got)
		}
	}
}

// TestInforms: a line of which its program says that all is well is no message.
func TestInforms(t *testing.T) {
	s := set(t, "any|it failed again")
	for line, want := range map[string]int{
		"it failed again": 1, "level=info it failed again": 0, "it failed again level=info": 0, `{"level":"debug","msg":"it failed again"}`: 0,
		"lvl = TRACE it failed again": 0, "severity: Info it failed again": 0, "level=error it failed again": 1,
		"level=error severity=info it failed again": 0, "it failed again level": 1, "info: it failed again": 1,
	} {
		l := ParseLine(line)
		if got := len(s.Match(&l)); got != want {
			t.Errorf("%q: %d messages, want %d", line, got, want)
		}
	}
}

// TestClean: escape sequences are gone as a whole, and nothing else is; a quotation's marks too.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain é text": "plain é text", "a\tb\x7fc\x01 d": "a b c  d",
		"\x1b[31mX": "X", "a\x1b[@b": "ab", "a\x1b[~mb": "amb", "a\x1b[\x7fmb": "ab", "a\x1b[31": "a",
		"\x1b]0;title\x07X": "X", "\x1b]0;title\x1b\\X": "X", "\x1b]\x07X": "X", "\x1b]a\x1bbX": "aX", "\x1b]a\x1b": "a",
		"\x1b]abc": "abc", "\x1bMX": "X", "X\x1b": "X",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"> a": "a", "| a": "a", ">> a": "a", ">a": "a", "> > a": "a", " \t> | a": "a", ">= 4": ">= 4", ">": ">", "  a": "a", "|a": "|a",
	} {
		if got := unquote(in); got != want {
			t.Errorf("%q unquoted: %q, want %q", in, got, want)
		}
	}
}

// TestStructured: the structured data of RFC 5424 are no part of what is said.
func TestStructured(t *testing.T) {
	for in, want := range map[string]string{
		"- a": " a", "[x] a": " a", `[x y="1"][z] a`: " a", `[x y="\]"] a`: " a", `[x y="\\"] a`: " a", "[x": "", `[x\`: "", "a": "a",
	} {
		if got := structured(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestRecords: records of journalctl, docker and of programs that log as JSON.
func TestRecords(t *testing.T) {
	for line, want := range map[string]Line{
		`{"MESSAGE":"it failed","SYSLOG_IDENTIFIER":"app","_HOSTNAME":"web1"}`: {Host: "web1", By: "app", Text: "it failed", Raw: "web1 app: it failed"},
		`{"MESSAGE":"gone","SYSLOG_IDENTIFIER":"x","_TRANSPORT":"kernel"}`:     {By: "kernel", Text: "gone", Raw: "kernel: gone"},
		`{"MESSAGE":["first","second"],"SYSLOG_IDENTIFIER":"app"}`:             {By: "app", Text: "first", Raw: "app: first"},
		`{"log":"nginx: failed\n"}`:                                            {Text: "nginx: failed", Raw: "nginx: failed"},
		`{"log":"2026-01-02T03:04:05Z nginx: failed\n"}`:                       {By: "nginx", Text: "failed", Raw: "failed"},
		`{"msg":"it failed"}`:                                                  {Text: `{"msg":"it failed"}`, Raw: `{"msg":"it failed"}`},
		`{"message":"it failed"}`:                                              {Text: `{"message":"it failed"}`, Raw: `{"message":"it failed"}`},
	} {
		got := ParseLine(line)
		if !got.Log || got.Host != want.Host || got.By != want.By || got.Text != want.Text || got.Raw != want.Raw {
			t.Errorf("%s:\n got %+v\nwant %+v", line, got, want)
		}
	}
	for _, line := range []string{`{"other":"it failed"}`, `{"msg":"it failed"`, `{}`} {
		if got := ParseLine(line); got.Log || got.Text != line {
			t.Errorf("%s is no record: %+v", line, got)
		}
	}
}
