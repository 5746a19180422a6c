package message

import (
	"fmt"
	"strings"
	"testing"

	"fettle/internal/means"
)

func set(t testing.TB, texts ...string) *Set {
	t.Helper()
	var all []Message
	for _, text := range texts {
		says, text, _ := strings.Cut(text, "|")
		all = append(all, Message{Text: text, Says: says, Since: "test"})
	}
	s, err := NewSet(all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTypes: a placeholder takes what its type allows.
func TestTypes(t *testing.T) {
	for _, c := range []struct {
		text, line string
		want       bool
	}{
		{"I/O error, dev <disk>, sector <n>", "blk_update_request: I/O error, dev sda, sector 12 op 0x0:(READ)", true},
		{"I/O error, dev <disk>, sector <n>", "I/O error, dev nvme0n1, sector 12", true},
		{"I/O error, dev <disk>, sector <n>", "I/O error, dev loop11, sector 0", true},
		{"I/O error, dev <disk>, sector <n>", "I/O error, dev md0, sector 12", false},
		{"I/O error, dev <disk>, sector <n>", "I/O error, dev fd0, sector 12", false},
		{"I/O error, dev <disk>, sector <n>", "I/O error, dev mmcblk0rpmb, sector 12", false},
		{"I/O error, dev <md>, sector <n>", "I/O error, dev loop11, sector 0", false},
		{"I/O error, dev <md>, sector <n>", "I/O error, dev md127, sector 12", true},
		{"<iface>: Link is Down now", "ata1: Link is Down now", false},
		{"<iface>: Link is Down now", "eth0: Link is Down now", true},
		{"martian source <ip> from <ip>, on", "martian source 192.0.2.7 from 198.51.100.1, on dev eth0", true},
		{"martian source <ip> from <ip>, on", "martian source 192.0.2.7 from 198.51.100.999, on dev eth0", false},
		{"<unit>: Failed with result", "nginx.service: Failed with result 'exit-code'.", true},
		{"<unit>: Failed with result", "nginx: Failed with result 'exit-code'.", false},
		{"<Kill|Killed> process <pid> (<name>)", "Kill process 12 (java) score 9", true},
		{"<Kill|Killed> process <pid> (<name>)", "Killing process 12 (java)", false},
		{"table full, dropping packet", "nf_conntrack: table full, dropping packets", false}, // whole words
		{"table full, dropping packet", "nf_conntrack: table full,  dropping packet.", true},
		{"Device <path> is lost", `Device "/dev/sda" is lost`, false},
	} {
		l := ParseLine(c.line)
		if got := len(set(t, "kernel|"+c.text).Match(&l)) > 0; got != c.want {
			t.Errorf("%q in %q: %v", c.text, c.line, got)
		}
	}
}

// TestSays: what the kernel prints counts when the kernel says it, not when a program
// quotes it; a line that does not tell who speaks may be anybody's.
func TestSays(t *testing.T) {
	s := set(t, "kernel|table full, dropping packet")
	for line, want := range map[string]int{
		"table full, dropping packet":                                             1,
		"[   12.5] nf_conntrack: table full, dropping packet":                     1,
		"Jan  2 03:04:05 fw kernel: nf_conntrack: table full, dropping packet":    1,
		"Jan  2 03:04:05 fw kernel: [  9.1] x: table full, dropping packet":       1,
		"Jan  2 03:04:05 fw app[12]: read: table full, dropping packet":           0,
		`Jan  2 03:04:05 fw kernel: level=info msg="table full, dropping packet"`: 0,
	} {
		l := ParseLine(line)
		if got := len(s.Match(&l)); got != want {
			t.Errorf("%q: %d", line, got)
		}
	}
}

func TestParseLine(t *testing.T) {
	for line, want := range map[string]Line{
		"Jan  2 03:04:05 web1 kernel: sda: gone":                                {Host: "web1", By: "kernel", Text: "sda: gone"},
		"Jan  2 03:04:05 web1 kernel: [   12.345678] sda: gone":                 {Host: "web1", By: "kernel", Text: "sda: gone"},
		"Jan 02 03:04:05.123456 web1 sshd[12]: a: b":                            {Host: "web1", By: "sshd", Text: "a: b"},
		"2026-01-02T03:04:05+0000 web1 sshd[12]: a":                             {Host: "web1", By: "sshd", Text: "a"},
		"2026-01-02T03:04:05.123456+01:00 web1 postfix/smtpd[12]: a":            {Host: "web1", By: "postfix/smtpd", Text: "a"},
		"<34>1 2003-10-11T22:14:15.003Z web1 su 7 ID47 - a failed":              {Host: "web1", By: "su", Text: "a failed"},
		`<165>1 2003-10-11T22:14:15Z web1 su - - [x y="\]"][z] a failed`:        {Host: "web1", By: "su", Text: "a failed"},
		"<13>Jan  2 03:04:05 web1 su: a":                                        {Host: "web1", By: "su", Text: "a"},
		"[   12.345678] sda: gone":                                              {By: "kernel", Text: "sda: gone"},
		"[   12.345678][  T123] sda: gone":                                      {By: "kernel", Text: "sda: gone"},
		"[   12.345678] usb 1-1: device gone":                                   {By: "kernel", Text: "usb 1-1: device gone"},
		"[   12.345678] web1 sshd[12]: a":                                       {Host: "web1", By: "sshd", Text: "a"},
		"[Fri Jan  2 03:04:05 2026] sda: gone":                                  {By: "kernel", Text: "sda: gone"},
		"kern  :err   : [   12.345678] sda: gone":                               {By: "kernel", Text: "sda: gone"},
		"2026-01-02T03:04:05.123456789Z a failed":                               {Text: "a failed"},
		"web-1  | 2026-01-02T03:04:05.123456789Z a failed":                      {Text: "a failed"},
		"[pod/web-1/app] 2026-01-02T03:04:05.123456789Z a failed":               {Text: "a failed"},
		"Fri 2026-01-02 03:04:05 UTC web1 sshd[12]: a":                          {Host: "web1", By: "sshd", Text: "a"},
		"\x1b[31mJan  2 03:04:05 web1 \x1b[0msshd[12]: \x1b[1ma\x1b[0m b":       {Host: "web1", By: "sshd", Text: "a b"},
		"| Jan  2 03:04:05 web1 sshd[12]: a\r\n":                                {Host: "web1", By: "sshd", Text: "a"},
		"> > Jan  2 03:04:05 web1 sshd[12]: a":                                  {Host: "web1", By: "sshd", Text: "a"},
		"systemd[1]: x.service: failed":                                         {By: "systemd", Text: "x.service: failed"},
		"kernel: sda: gone":                                                     {By: "kernel", Text: "sda: gone"},
		`{"MESSAGE":"sda: gone","_TRANSPORT":"kernel","_HOSTNAME":"web1"}`:      {Host: "web1", By: "kernel", Text: "sda: gone"},
		`{"MESSAGE":[27,91,51,49,109,97,27,91,48,109],"SYSLOG_IDENTIFIER":"x"}`: {By: "x", Text: "a"},
		`{"log":"a failed\n","stream":"stderr","time":"2026-01-02T03:04:05Z"}`:  {Text: "a failed"},
	} {
		got := ParseLine(line)
		if !got.Log || got.Host != want.Host || got.By != want.By || got.Text != want.Text {
			t.Errorf("%q:\n got %+v\nwant %+v", line, got, want)
		}
	}
	for _, line := range []string{"[1.5 GB] are missing", "[1]: see there", "12.5 seconds until ssh answers", "my disk is gone", ""} {
		if got := ParseLine(line); got.Log {
			t.Errorf("%q is no line of a log: %+v", line, got)
		}
	}
}

// TestCheck: a message that cannot be used is told to its author.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"<thing> failed to start": "no placeholder is called <thing>",
		"short <n>":               "8 characters in a row",
		" leading space":          "without spaces at its ends",
		"":                        "one line",
	} {
		if err := Check(Message{Text: text, Says: "x", Since: "1"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if Check(Message{Text: "long enough", Since: "1"}) == nil || Check(Message{Text: "long enough", Says: "x"}) == nil {
		t.Error("nobody says it, or since no version")
	}
}

// TestRead: a line is found wherever the buffer ends, in logs longer than it.
func TestRead(t *testing.T) {
	s := set(t, "kernel|table full, dropping packet")
	for _, before := range []int{0, 1, readSize - 40, readSize - 1, readSize, 3 * readSize} {
		filler := strings.Repeat("Jan  2 03:04:05 h a[1]: nothing of note\n", before/40) + strings.Repeat("x", before%40) + "\n"
		n := 0
		err := read(t, s, strings.NewReader(filler+"[ 1.0] nf_conntrack: table full, dropping packet\n"+filler), func(*Line, []Hit) { n++ })
		if err != nil || n != 1 {
			t.Errorf("after %d bytes: %d, %v", before, n, err)
		}
	}
}

// TestNearMiss: a line that has the words of one message in part is still searched for others, and so are the lines behind
// it. What a message must have may come in any order of fields.
func TestNearMiss(t *testing.T) {
	s := set(t, "kernel|table full, dropping packet", "app|Could not read <path>: full disk", "app|worker: <gave up|died in pain> at last")
	for log, want := range map[string]int{
		"app[1]: Could not read it, nf_conntrack: table full, no more":                                          0,
		"kernel: Could not read it, nf_conntrack: table full, dropping packet":                                  1,
		"app[1]: Could not read it\napp[1]: Could not read /x: full disk\n":                                     1,
		"app[1]: Could not read /x: table full\nkernel: table full, dropping packet\n":                          1,
		`{"MESSAGE":"died in pain at last","PRIORITY":"3","SYSLOG_IDENTIFIER":"worker"}`:                        1,
		`{"SYSLOG_IDENTIFIER":"worker","MESSAGE":"died at last"}`:                                               0,
		"__CURSOR=1\nMESSAGE=gave up at last\nSYSLOG_IDENTIFIER=worker\n\n":                                     1,
		"app[1]: Could not read it\napp[1]: Could \x1b[1mnot\x1b[0m read /x: full disk\n":                       1,
		`{"MESSAGE":"Could not read it"}` + "\n" + `{"MESSAGE":[67,111,117,108,100,32,110,111,116,32],"X":"a"}`: 0,
	} {
		n := 0
		if err := read(t, s, strings.NewReader(log), func(_ *Line, hits []Hit) { n += len(hits) }); err != nil || n != want {
			t.Errorf("%q: %d messages, want %d; %v", log, n, want, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Jan  2 03:04:05 web1 sshd[12]: a")
	f.Add("<165>1 2003-10-11T22:14:15Z web1 su - - [x y=\"\\]\"] a")
	f.Add("\x1b]0;x\x07{\"MESSAGE\":[1]}")
	s := set(f, "kernel|table full, dropping packet", "any|Device <path> is lost")
	f.Fuzz(func(t *testing.T, text string) {
		l := ParseLine(text)
		s.Match(&l)
		_ = s.Read(strings.NewReader("__CURSOR=1\n"+text), func(*Line, []Hit) {})
		_ = s.Read(strings.NewReader(text), func(*Line, []Hit) {})
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func BenchmarkRead(b *testing.B) {
	var all []Message
	for i := range 300 {
		all = append(all, Message{Text: fmt.Sprintf("frobnicator%c%c%c lost <disk>", 'a'+i%26, 'a'+i/26, 'A'+i%7), Says: "kernel", Since: "x"})
	}
	s := MustSet(all)
	log := strings.Repeat("Jan  2 03:04:05 web1 systemd[1]: Started Daily apt download activities of this host.\n", 1<<17)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		_ = s.Read(strings.NewReader(log), func(*Line, []Hit) {})
	}
}
