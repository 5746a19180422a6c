package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRouteText(t *testing.T) {
	for want, r := range map[string]Route{
		"default via 192.0.2.1 dev eth0":             {Dst: "default", Gateway: "192.0.2.1", Dev: "eth0", Protocol: "dhcp", Metric: 100},
		"local 192.0.2.2 dev eth0 table local":       {Type: "local", Dst: "192.0.2.2", Dev: "eth0", Table: "local"},
		"blackhole 203.0.113.0/24":                   {Type: "blackhole", Dst: "203.0.113.0/24"},
		"198.51.100.0/24 via 192.0.2.1 table 77":     {Dst: "198.51.100.0/24", Gateway: "192.0.2.1", Table: "77"},
		"unreachable 2001:db8:bad::/48 dev lo":       {Type: "unreachable", Dst: "2001:db8:bad::/48", Dev: "lo"},
		"2001:db8::/64 dev eth0 table a name of one": {Dst: "2001:db8::/64", Dev: "eth0", Table: "a name of one"},
	} {
		if got := r.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestReason(t *testing.T) {
	for want, err := range map[string]error{
		"": nil, "took too long": fmt.Errorf("x: %w", context.DeadlineExceeded), "interrupted": fmt.Errorf("x: %w", context.Canceled),
		"needs root: /x: permission denied": fmt.Errorf("/x: %w", ErrDenied), "one; two": errors.Join(errors.New("one"), errors.New("two")),
	} {
		if got := Reason(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	for _, c := range []struct {
		err              error
		absent, withheld bool
	}{{ErrAbsent, true, false}, {syscall.ENOTDIR, true, false}, {syscall.EACCES, false, true}, {ErrNotCollected, false, true},
		{ErrNotRunning, false, false}, {ErrNotMounted, false, false}, {nil, false, false}} {
		if IsAbsent(c.err) != c.absent || IsWithheld(c.err) != c.withheld {
			t.Errorf("%v: absent %v, withheld %v", c.err, IsAbsent(c.err), IsWithheld(c.err))
		}
	}
	for want, e := range map[string]*SyntaxError{"f: bad": {Path: "f", Msg: "bad"}, "f:1: bad": {Path: "f", Line: 1, Msg: "bad"}} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e, want)
		}
	}
}

// TestMayHang: only what answers by itself is touched.
func TestMayHang(t *testing.T) {
	for fstype, c := range map[string]struct{ network, hangs bool }{
		"ext4": {}, "tmpfs": {}, "fuse.lxcfs": {}, "nfs4": {true, true}, "autofs": {true, true}, "fuse.sshfs": {true, true},
		"fuse.": {false, true}, "fuse": {false, true}, "fuseblk": {false, true}, "unheard": {false, true}, "ocfs2": {true, true},
	} {
		if NetworkFilesystem(fstype) != c.network || MayHang(fstype) != c.hangs {
			t.Errorf("%s: of a network %v, may hang %v", fstype, NetworkFilesystem(fstype), MayHang(fstype))
		}
	}
}

// TestTablesThatTalk: a question is asked as it was put, and what is too long or of another kind is none.
func TestTablesThatTalk(t *testing.T) {
	for _, q := range []PeerQuestion{{URI: "ldap://a:389", StartTLS: true}, {URI: "ldaps://a:636"}} {
		if got, ok := q.Table().Peer(); !ok || got != q || !q.Table().Talks() {
			t.Errorf("%q: %+v, %v", q.Table(), got, ok)
		}
	}
	long := strings.Repeat("x", 1000)
	for table, want := range map[Table]bool{PeerQuestion{URI: long}.Table(): true, PeerQuestion{URI: long + "x"}.Table(): false,
		"peer tls": false, "peer other ldaps://a:636": false, "tls ldaps://a:636": false} {
		if _, ok := table.Peer(); ok != want {
			t.Errorf("%.40q as a question to a server: %v", table, ok)
		}
	}
	for table, want := range map[Table]bool{PageTable(long): true, PageTable(long + "x"): false, "links": false} {
		if _, ok := table.Page(); ok != want || table != "links" && !table.Talks() {
			t.Errorf("%.40q as a page: %v", table, ok)
		}
	}
	for _, c := range []struct {
		table        Table
		services, ok bool
	}{{AddressTable(long[:255]), false, true}, {AddressTable(long[:256]), false, false}, {ServiceTable(long[:255]), true, true},
		{ServiceTable(long[:256]), true, false}, {TableLinks, false, false}} {
		if _, services, ok := c.table.DNS(); services != c.services || ok != c.ok {
			t.Errorf("%.40q (%d): services %v, %v", c.table, len(c.table), services, ok)
		}
	}
	if TableLinks.Talks() || TableJournal.Talks() {
		t.Error("a table of the host's own is taken for a question to another")
	}
}

func TestOneLineOfALog(t *testing.T) {
	for text, want := range map[string]string{"": "", "plain": "plain", "a\ab\x7fc": "a b c", "a\u009bb": "a b",
		"tab\there": "tab here", "12345678": "12345678",

		"123456789": "12345678", "123456ä": "123456ä", "1234567ä": "1234567", "\xff\xfe": "?", "a\x1fb~\u00a0": "a b~\u00a0",
		"ab\u0080": "ab ",
		"äääää":    "ääää"} {
		if got := clean(text, 8); got != want {
			t.Errorf("%q within 8 bytes: %q, want %q", text, got, want)
		}
	}
	for word, want := range map[string]bool{"12": true, "0x1f": true, "0x": true, "x": false,
		"beef": false, "be3f": true, "b3f": false, "eth0": false,
		"abcdefg12xyz": false, "abcdefg123xy": true, "abcdefg123x": false, "sda1": false, "": false} {
		if number(word) != want {
			t.Errorf("%q is a number or id: %v", word, !want)
		}
	}
	a, b := strings.Repeat("x", maxShape)+"1", strings.Repeat("x", maxShape)+" another end"
	if shape(a) != shape(b) || shape(a[1:]) == shape(b[1:]) {
		t.Errorf("%d bytes of a line tell messages apart, no more and no fewer", maxShape)
	}
	for text, want := range map[string]bool{"EXT4-fs ERROR (device sda1)": true,
		"eth0: Link is Down": true, "usb 1-1: new device": false, "": false} {
		if Complains(text) != want {
			t.Errorf("%q complains: %v", text, !want)
		}
	}
}

// TestDigestTimes: whatever the order of the lines, a digest tells the first and the last time of all and of each message.
func TestDigestTimes(t *testing.T) {
	var d Digest
	at := func(minutes int) time.Time { return newYear.Add(time.Duration(minutes) * time.Minute) }
	d.Skip(at(3))
	d.Add(LogLine{At: at(5), By: "a", Text: "take 1", Priority: 3})
	d.Add(LogLine{At: at(1), By: "a", Text: "take 2", Priority: 3})
	d.Add(LogLine{At: at(4), By: "b", Text: "take 3", Priority: -1})
	d.Add(LogLine{At: at(2), By: "a", Text: "take 4", Priority: 3})
	d.Skip(at(9))
	l := d.Log("x")
	if l.Source != "x" || l.Lines != 6 || !l.Since.Equal(at(1)) || !l.Until.Equal(at(9)) {
		t.Errorf("%d lines of %s from %s to %s", l.Lines, l.Source, l.Since, l.Until)
	}
	want := []Message{{By: "b", Text: "take 3", Priority: -1, Count: 1, First: at(4), Last: at(4)},
		{By: "a", Text: "take 4", Priority: 3, Count: 3, First: at(1), Last: at(5)}}
	if !slices.Equal(l.Messages, want) {
		t.Errorf("%+v\nwant %+v", l.Messages, want)
	}
	l.frequent(1)
	if len(l.Messages) != 1 || l.Messages[0].By != "a" {
		t.Errorf("the most frequent: %+v", l.Messages)
	}
}

func TestStampsOfLogs(t *testing.T) {
	lt := LogText{Now: newYear, Boot: newYear.Add(-time.Hour), Units: map[string]string{"12": "ssh.service"}}
	for line, want := range map[string]string{
		"[    0.000000] first":                         "2026-01-02T02:04:05Z first",
		"[   -1.000000] before":                        "",
		"[1e9] late":                                   "",
		"[NaN] never":                                  "",
		"[    1.0]":                                    "",
		"[    1.0]no blank":                            "",
		"[    1.0] [T] no number":                      "2026-01-02T02:04:06Z [T] no number",
		"[    1.0] [X1] no caller":                     "2026-01-02T02:04:06Z [X1] no caller",
		"1970-01-01T00:00:00Z h a: b":                  "1970-01-01T00:00:00Z b",
		"1969-12-31T23:59:59Z h a: b":                  "",
		"9999-01-01T00:00:00Z h a: b":                  "",
		"9998-12-31T00:00:00Z h a: b":                  "9998-12-31T00:00:00Z b",
		"2026-01-02T03:00:00.25-0130 h a: b":           "2026-01-02T04:30:00.25Z b",
		"2026-01-02T03:00:00Z h a b: c":                "",
		"2026-01-02T03:00:00Z h no colon":              "",
		"2026-01-02T03:00:00Z h : nobody":              "",
		"Jan  4 03:04:05 h a: within two days":         "2026-01-04T03:04:05Z within two days",
		"Jan  4 03:04:06 h a: later than that":         "2025-01-04T03:04:06Z later than that",
		"Jan  2 03:00:00 h kernel: [    1.25] x":       "2026-01-02T03:00:00Z x",
		"Jan  2 03:00:00 h app: [    1.25] x":          "2026-01-02T03:00:00Z [    1.25] x",
		"Jan  2 03:00:00 h sshd[12]: of a unit":        "2026-01-02T03:00:00Z of a unit (ssh.service)",
		"Jan  2 03:00:00 h sshd[13]: of none":          "2026-01-02T03:00:00Z of none",
		"Jan 32 03:00:00 h a: b":                       "",
		"2026-01-02T03:00:00Z h kernel: [drm] b":       "2026-01-02T03:00:00Z [drm] b",
		"Jan  2 03:00:00 h kernel: [    1.0][T1] call": "2026-01-02T03:00:00Z call",
	} {
		got := ""
		lt.Lines(line+"\r\n", func(l LogLine) {
			got = l.At.Format(time.RFC3339Nano) + " " + l.Text
			if l.Unit != "" {
				got += " (" + l.Unit + ")"
			}
			if l.Priority != -1 {
				t.Errorf("%s: a priority of %d out of nowhere", line, l.Priority)
			}
		})
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for text, want := range map[string]int{
		"[    1.0] a\n[    2.0] b\n":                                                                 2,
		"Jan  2 03:00:00 h a: b\n-- Reboot --\nJan  2 03:00:00 h a: b":                               1,
		"Jan  2 03:00:00 h a: b\n-- Boot 1 --\nJan  2 03:00:00 h a: b\n-- Reboot --\n-- Boot 2 --\n": 0,
		"[    1.0] " + strings.Repeat("x", 1<<20) + "\n[    2.0] b\n":                                1,
		"-- Boot 1 --\nJan  2 03:00:00 h a: b\n":                                                     1,
	} {
		n := 0
		if lt.Lines(text, func(LogLine) { n++ }); n != want {
			t.Errorf("%.60q: %d lines, want %d", text, n, want)
		}
	}
}

// TestLogOfText: the parts of a log as text, and which of them saw this boot from its beginning.
func TestLogOfText(t *testing.T) {
	const text = "Jan  2 01:00:00 h kernel: Linux version 6.1\nJan  2 01:00:01 h kernel: sda: I/O error\n" +
		"Jan  2 01:00:02 h systemd[1]: Started x.\nJan  2 01:00:03 h systemd[1]: y.service: Failed with result.\nJan  2 01:00:04 h app: hello\n"
	for _, atBoot := range []bool{true, false} {
		j := TextJournal("/var/log/syslog", text, LogText{Now: newYear}, atBoot)
		for name, c := range map[string]struct {
			log             Log
			lines, messages int
		}{"kernel": {j.Kernel, 2, 1}, "manager": {j.Manager, 2, 1}, "failed": {j.Failed, 5, 5}, "recent": {j.Recent, 5, 5}} {
			l := c.log
			if l.Lines != c.lines || len(l.Messages) != c.messages || l.Cut == atBoot || l.Source != "/var/log/syslog" ||
				l.Since.Format("15:04:05") != "01:00:00" || l.Until.Format("15:04:05") != "01:00:04" || l.Err() != nil {
				t.Errorf("%s, at boot %v: %+v", name, atBoot, l)
			}
		}
	}
	for text, cut := range map[string]bool{"[    0.0] Linux version 6.1\n[    1.0] sda: I/O error\n[    2.0] usb: new\n": false,
		"[    1.0] sda: I/O error\n[    2.0] usb: new\n[    3.0] usb: Linux version\n": true} {
		if l := DmesgLog(text, LogText{Boot: newYear}); l.Cut != cut || l.Lines != 3 || len(l.Messages) != 1 || l.Source != "dmesg" {
			t.Errorf("%q: %+v", text, l)
		}
	}
	for text, want := range map[string]bool{"Failed to start x": true, "x.service: start operation timed out": true,
		"Dependency failed for y":             true,
		"Start request repeated too quickly.": true, "Main process exited, code=exited": true, "Started x": false} {
		if managerComplains(text) != want {
			t.Errorf("%q complains: %v", text, !want)
		}
	}
}

func TestWhyALogIsMissing(t *testing.T) {
	for _, c := range []struct {
		log  Log
		is   error
		says string
	}{
		{Log{}, ErrNotCollected, ""}, {Log{Source: "dmesg"}, nil, ""}, {Log{Missing: "closed", Denied: true}, ErrDenied, "closed"},
		{Log{Missing: ErrNoSystemd.Error()}, ErrNoSystemd, ""}, {Log{Source: "journalctl", Missing: "no reason"}, nil, "no reason"},
	} {
		err := c.log.Err()
		if c.is != nil && !errors.Is(err, c.is) || (err == nil) != (c.is == nil && c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.log, err)
		}
	}
	for name, c := range map[string]struct {
		out    Output
		err    error
		says   string // empty: nothing is missing
		denied bool
	}{
		"may not run":   {err: fmt.Errorf("x: %w", ErrDenied), says: "the journal cannot be read", denied: true},
		"not installed": {err: ErrNoCommand, says: "journalctl: command is not installed"},
		"failed":        {out: Output{Exit: 1, Stderr: []byte("Bad message\nmore\n")}, says: "journalctl failed: Bad message"},
		"failed, yet":   {out: Output{Exit: 1, Stdout: []byte("{}\n"), Stderr: []byte("one file is corrupt")}},
		"said a word":   {out: Output{Stdout: []byte("{}\n"), Stderr: []byte("a warning")}},
		"no journal":    {out: Output{Exit: 1, Stderr: []byte("No journal files were found.")}, says: "there is no journal"},
		"not his journal": {out: Output{Stderr: []byte("Hint: You are currently not seeing messages from other users")}, says: "of the system",
			denied: true},
	} {
		r := journalReader{now: newYear, run: func(context.Context, Command) (Output, error) { return c.out, c.err }}
		out, missing := r.lines(t.Context(), 10, JournalFields, nil)
		if c.says == "" {
			if missing != nil || string(out) != string(c.out.Stdout) {
				t.Errorf("%s: %q, %+v", name, out, missing)
			}
			continue
		}
		if missing == nil || !strings.Contains(missing.Missing, c.says) || missing.Denied != c.denied {
			t.Errorf("%s: %+v, want %q", name, missing, c.says)
		}
	}
}

func TestFieldsOfTheJournal(t *testing.T) {
	for _, c := range []struct {
		priority string
		want     int
	}{{"0", 0}, {"7", 7}, {"8", -1}, {"-1", -1}, {"x", -1}, {"", -1}} {
		l, ok := JournalLine([]byte(`{"__REALTIME_TIMESTAMP":"1","PRIORITY":"` + c.priority + `","_COMM":"b","_SYSTEMD_UNIT":"c"}`))
		if !ok || l.Priority != c.want || l.By != "b" || l.Unit != "c" {
			t.Errorf("priority %q: %+v, %v", c.priority, l, ok)
		}
	}
	for stamp, want := range map[string]bool{"0": true, "-1": false, "253402300799999999": true, "253402300800000000": false, "": false} {
		if _, ok := JournalLine([]byte(`{"__REALTIME_TIMESTAMP":"` + stamp + `"}`)); ok != want {
			t.Errorf("a line of %q: %v", stamp, ok)
		}
	}
	both := `{"__REALTIME_TIMESTAMP":"1","SYSLOG_IDENTIFIER":"a","_COMM":"b","UNIT":"of.service","_SYSTEMD_UNIT":"by.service"}`
	if l, _ := JournalLine([]byte(both)); l.By != "a" || l.Unit != "of.service" {
		t.Errorf("%+v", l)
	}
}
