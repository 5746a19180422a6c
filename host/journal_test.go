package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

var newYear = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestShape(t *testing.T) {
	for _, same := range [][2]string{
		{"foo[123]: segfault at 7f3a00 ip 000055d0c0de sp 00007ffe12 error 4", "foo[9]: segfault at 1234 ip 000056d0c0de sp 00007ffd99 error 6"},
		{"session-12.scope: x", "session-13.scope: x"},
		{"request 1b2c3d4e-0000-1111-2222-333344445555 done", "request 7fffffff-1aaa-9999-2222-1a2b3c4d5e6f done"},
		{"took 0x1f ms", "took 0x2e ms"},
	} {
		if a, b := shape(same[0]), shape(same[1]); a != b {
			t.Errorf("%q and %q", a, b)
		}
	}
	for _, other := range [][2]string{{"eth0: link is down", "eth1: link is down"},
		{"I/O error, dev sda, sector 1", "I/O error, dev sdb, sector 1"},
		{"nvme0n1: timeout", "nvme1n1: timeout"}} {
		if shape(other[0]) == shape(other[1]) {
			t.Errorf("%q is taken for %q", other[0], other[1])
		}
	}
}

func TestLogText(t *testing.T) {
	lt := LogText{Now: newYear, Boot: newYear.Add(-time.Hour)}
	for line, want := range map[string]string{
		"2026-01-02T03:00:00+0000 h kernel: a: b":                         "03:00:00 kernel a: b",
		"2026-01-02T04:00:00.5+01:00 h sshd[12]: x":                       "03:00:00 sshd x",
		"Jan  2 03:00:00 h systemd[1]: x.service: y":                      "03:00:00 systemd x.service: y",
		"Dec 31 23:00:00 h app: of last year":                             "23:00:00 app of last year",
		"Jan 02 03:00:00.123456 h kernel: [    1.25] eth0: Link is Down":  "03:00:00 kernel eth0: Link is Down",
		"[   60.500000] sda: gone":                                        "02:05:05 kernel sda: gone",
		"[Fri Jan  2 03:00:00 2026] sda: gone":                            "03:00:00 kernel sda: gone",
		"[   60.500000][    T1] sda: gone":                                "02:05:05 kernel sda: gone",
		"[   60.500000] [  C129] sda: gone":                               "02:05:05 kernel sda: gone",
		"[Fri Jan  2 03:00:00 2026] [T12345] sda: gone":                   "03:00:00 kernel sda: gone",
		"[   60.500000]  [T1] an array's member, [C]":                     "02:05:05 kernel  [T1] an array's member, [C]",
		"Jan  2 03:00:00 h kernel: [    1.25][   T77] eth0: Link is Down": "03:00:00 kernel eth0: Link is Down",
		"Jan  2 03:00:00 h kernel: [drm] eth0: Link is Down":              "03:00:00 kernel [drm] eth0: Link is Down",
	} {
		n := 0
		lt.Lines(line+"\n", func(l LogLine) {
			n++
			if got := l.At.Format("15:04:05 ") + l.By + " " + l.Text; got != want {
				t.Errorf("%s: %s, want %s", line, got, want)
			}
			if l.At.After(newYear) {
				t.Errorf("%s: in the future", line)
			}
		})
		if n != 1 {
			t.Errorf("%s: %d lines", line, n)
		}
	}
	for _, line := range []string{"", "-- Subject: a unit failed", "-- No entries --", "hello", "[x] y", "Jan  2 03:00:00",
		"Jan  2 03:00:00 h", "9"} {
		lt.Lines(line+"\n", func(l LogLine) { t.Errorf("%q is read as %+v", line, l) })
	}
	n := 0
	lt.Lines("Jan  1 00:00:00 h a: b\n-- Boot 0123 --\nJan  2 00:00:00 h a: b\n", func(LogLine) { n++ })
	if n != 1 {
		t.Errorf("%d lines of this boot", n)
	}
}

// TestDigestIsBounded: a million different lines stay within the bounds, and
// the message among them that was said often is not lost.
func TestDigestIsBounded(t *testing.T) {
	var d Digest
	for range 5 {
		d.Add(LogLine{At: newYear, By: "kernel", Text: "disk is failing"})
	}
	for i := range 200_000 {
		at := newYear.Add(time.Duration(i) * time.Second)
		d.Add(LogLine{At: at, By: "app", Text: fmt.Sprintf("user name%cx%cq%c asks", 'g'+rune(i%17), 'g'+rune(i/17%17), 'g'+rune(i/289%17))})
		if i%10 == 0 {
			d.Add(LogLine{At: at, By: "app", Text: fmt.Sprintf("request %d failed\x1b[31m", i)})
		}
	}
	l := d.Log("test")
	if len(l.Messages) > maxMessages || l.Lines != 220_005 {
		t.Fatalf("%d messages of %d lines", len(l.Messages), l.Lines)
	}
	if m := l.Messages[0]; m.Text != "disk is failing" || m.Count != 5 {
		t.Errorf("what was said five times, long ago, gave way to what was said once: first is %+v", m)
	}
	l.frequent(1)
	if m := l.Messages[0]; m.Count < 15_000 || !strings.HasPrefix(m.Text, "request ") || strings.Contains(m.Text, "\x1b") {
		t.Errorf("%+v", m)
	}
}

func TestJournalLine(t *testing.T) {
	for text, want := range map[string]LogLine{
		`{"__REALTIME_TIMESTAMP":"1767323045000000","PRIORITY":"3","SYSLOG_IDENTIFIER":"systemd","UNIT":"a.service","_SYSTEMD_UNIT":` +
			`"init.scope","MESSAGE":"x"}`: {newYear, "systemd", "a.service", "x", 3},
		`{"__REALTIME_TIMESTAMP":"1767323045000000","_COMM":"app","MESSAGE":[104,105]}`:  {newYear, "app", "", "hi", -1},
		`{"__REALTIME_TIMESTAMP":"1767323045000000","_COMM":["app","b"],"MESSAGE":null}`: {newYear, "app", "", "", -1},
	} {
		if l, ok := JournalLine([]byte(text)); !ok || l != want {
			t.Errorf("%s: %+v, want %+v", text, l, want)
		}
	}
	for _, text := range []string{"", "{}", "-- No entries --", `{"__REALTIME_TIMESTAMP":"x"}`} {
		if l, ok := JournalLine([]byte(text)); ok {
			t.Errorf("%q is read as %+v", text, l)
		}
	}
}

// TestJournalCommands: what journalctl may be asked only reads.
func TestJournalCommands(t *testing.T) {
	asked := 0
	r := journalReader{now: newYear, run: func(_ context.Context, c Command) (Output, error) {
		asked++
		if err := c.Allowed(); err != nil {
			t.Error(err)
		}
		switch {
		case c.Name == "systemctl":
			return Output{Stdout: []byte("● a.service loaded failed failed A\n-x.service loaded failed failed -x\n")}, nil
		case strings.Contains(c.String(), JournalFields):
			return Output{Exit: 1, Stderr: []byte("journalctl: unrecognized option '--output-fields=MESSAGE'")}, nil
		case strings.Contains(c.String(), "-x.service"):
			t.Errorf("an option made of a name: %s", c)
		}
		return Output{Stdout: []byte(`{"__REALTIME_TIMESTAMP":"1767323045000000","MESSAGE":"x failed","_COMM":"a"}` + "\n")}, nil
	}}
	if l := r.failed(t.Context()); l.Lines != 1 || l.Err() != nil || asked != 3 {
		t.Errorf("%+v after %d commands", l, asked)
	}
	if all, some := r.ask(t.Context(), 2, nil), r.ask(t.Context(), 1, nil); all.Cut || !some.Cut || !all.Until.Equal(newYear) {
		t.Errorf("one line of two asked for: %+v; of one: %+v", all, some)
	}
	for _, args := range [][]string{{"--vacuum-size=1"}, {"-b", "-o", "json", "--no-pager", "-n", "10", "--rotate"},
		{"-b", "-o", "json", "--no-pager", "-n", "10", "-u", "--flush"},
		{"-b", "-o", "json", "--no-pager", "-n", "9999999"}, {"-b", "-o", "json", "--no-pager", "-n", "10", "--file=/etc/shadow"},
		{"-b", "-o", "json", "--no-pager", "-n", "10", "-u"},
		{"-o", "json", "--no-pager", "-n", "10"}, {"-o", "json", "--no-pager", "-n", "10", "--since=@1", "_PID=1"},
		{"-o", "json", "--no-pager", "-n", "10", "--since=@1", "--until=@2; x"},
		{"-o", "json", "--no-pager", "-n", "10", "--since=@", "--until=@2"},
		{"-o", "json", "--no-pager", "-n", "10", "--since=@1", "--until=@2", "--vacuum-time=1s"},
		{"-o", "json", "--no-pager", "-n", "10", "--since=yesterday", "--until=@2"}, {"-b"}, {},
		{"-b", "-o", "json", "--no-pager", "-n", "10", UnitFields, "--since=yesterday", "-u", "a.service"},
		{"-b", "-o", "json", "--no-pager", "-n", "10", UnitFields, "--since=@1", "-u", "a*.service"}} {
		if (Command{Name: "journalctl", Args: args}).Allowed() == nil {
			t.Errorf("%q is allowed", args)
		}
	}
	for _, args := range [][]string{
		{"-o", "json", "--no-pager", "-n", "10", "--since=@1", "--until=@2", JournalFields, "SYSLOG_IDENTIFIER=a", "+", "_PID=1"},
		{"-b", "-o", "json", "--no-pager", "-n", "10", "SYSLOG_IDENTIFIER=a b"}} {
		if err := (Command{Name: "journalctl", Args: args}).Allowed(); err != nil {
			t.Error(err)
		}
	}
	if (Command{Name: "dmesg", Args: []string{"-C"}}).Allowed() == nil {
		t.Error("dmesg -C is allowed")
	}
}

// TestLoopsApart: services that wait for their restart are asked about, and take no room
// from those that have failed.
func TestLoopsApart(t *testing.T) {
	r := journalReader{now: newYear, run: func(_ context.Context, c Command) (Output, error) {
		if c.Name == "systemctl" {
			return Output{Stdout: []byte("a.service loaded failed failed A\nb.service loaded activating auto-restart B\n")}, nil
		}
		if strings.Contains(c.String(), "a.service") == strings.Contains(c.String(), "b.service") {
			t.Errorf("both at once, or none: %s", c)
		}
		unit := c.Args[len(c.Args)-1]
		return Output{
			Stdout: []byte(`{"__REALTIME_TIMESTAMP":"1767323045000000","MESSAGE":"it failed","_COMM":"a","_SYSTEMD_UNIT":"` + unit + `"}` + "\n"),
		}, nil
	}}
	l := r.failed(t.Context())
	if len(l.Messages) != 2 || l.Messages[0].Unit != "b.service" || l.Messages[1].Unit != "a.service" || l.Lines != 2 {
		t.Errorf("%+v", l)
	}
}

// TestFailedUnits: the lines of those that failed and of those that restart together, from when the first of them was; of very
// many units some are asked about, and without any nobody asks.
func TestFailedUnits(t *testing.T) {
	units := func(n int, name, state string) (out string) {
		for i := range n {
			out += fmt.Sprintf("%s%d.service loaded %s %s\n", name, i, state, name)
		}
		return out
	}
	line := func(at int, text string) string {
		return fmt.Sprintf(`{"__REALTIME_TIMESTAMP":"%d","MESSAGE":"%s"}`+"\n", newYear.Add(time.Duration(at)*time.Minute).UnixMicro(), text)
	}
	for name, c := range map[string]struct {
		units         string
		failed, loops string // what journalctl prints of them
		exit          int    // of systemctl
		asked         string // how many units, by command
		want          string // lines, messages, minutes from newYear on, or what is missing
	}{
		"none":            {"", "", "", 0, "", "0 0"},
		"systemctl fails": {"", "", "", 1, "", "systemctl does not list the failed units"},
		"failed":          {units(1, "f", "failed failed"), line(3, "a") + line(4, "b"), "", 0, "f1", "2 2 3"},
		"looping":         {units(1, "l", "activating auto-restart"), "", line(5, "c"), 0, "l1", "1 1 5"},
		"the loop began": {units(1, "f", "failed failed") + units(2, "l", "activating auto-restart"), line(3, "a"), line(1, "c") + line(2, "c"),
			0,
			"f1 l2", "3 2 1"},
		"the failure began": {units(1, "f", "failed failed") + units(1, "l", "activating auto-restart"), line(3, "a"), line(9, "c"), 0, "f1 l1",
			"2 2 3"},
		"a silent loop": {units(1, "f", "failed failed") + units(1, "l", "activating auto-restart"), line(3, "a"), "", 0, "f1 l1", "1 1 3"},
		"very many": {units(99, "f", "failed failed") + units(99, "l", "activating auto-restart"), line(3, "a"), line(4, "c"), 0,
			"f30 l30", "2 2 3"},
		"others": {units(9, "o", "active running"), "", "", 0, "", "0 0"},
	} {
		var asked []string
		r := journalReader{now: newYear.Add(time.Hour), run: func(_ context.Context, cmd Command) (Output, error) {
			if cmd.Name == "systemctl" {
				return Output{Stdout: []byte(c.units), Exit: c.exit}, nil
			}
			f, l := strings.Count(cmd.String(), "-u f"), strings.Count(cmd.String(), "-u l")
			if f > 0 {
				asked = append(asked, fmt.Sprint("f", f))
				return Output{Stdout: []byte(c.failed)}, nil
			}
			asked = append(asked, fmt.Sprint("l", l))
			return Output{Stdout: []byte(c.loops)}, nil
		}}
		l := r.failed(t.Context())
		got := fmt.Sprint(l.Lines, len(l.Messages))
		if !l.Since.IsZero() {
			got += fmt.Sprint(" ", l.Since.Sub(newYear).Minutes())
		}
		if l.Missing != "" {
			got = l.Missing
		} else if l.Source != "journalctl" || !l.Until.Equal(r.now) || l.Cut {
			t.Errorf("%s: %+v", name, l)
		}
		if got != c.want || strings.Join(asked, " ") != c.asked {
			t.Errorf("%s: %q, asked %q; want %q, asked %q", name, got, asked, c.want, c.asked)
		}
	}
}

// TestTwoPartsAtOnce: the kernel's lines and process 1's come with one command, unless
// there are so many that some may be missing.
func TestTwoPartsAtOnce(t *testing.T) {
	line := func(transport, priority, text string) string {
		return `{"__REALTIME_TIMESTAMP" : "1767323045000000","MESSAGE":"` + text + `","PRIORITY":"` + priority + `","_TRANSPORT" : "` + transport + `"}` + "\n"
	}
	const more = "sda: I/O error"
	for name, c := range map[string]struct {
		kernel                    int // lines
		commands, kernels, manage int
		cut                       bool
	}{"few": {3, 1, 4, 2, false}, "many": {kernelLines, 3, kernelLines, 2, true}} {
		commands := 0
		r := journalReader{now: newYear, run: func(_ context.Context, q Command) (Output, error) {
			if err := q.Allowed(); err != nil {
				t.Error(err)
			}
			commands++
			out := ""
			if asked := q.String(); strings.Contains(asked, "_TRANSPORT=kernel") {
				out = strings.Repeat(line("kernel", "3", more), c.kernel) + line("audit", "5", "audit: apparmor=DENIED")
			}
			if strings.Contains(q.String(), "_PID=1") {
				out += line("journal", "4", "a.service: Failed with result") + line("syslog", "3", "quotes: \\\"_TRANSPORT\\\":\\\"kernel\\\"")
			}
			return Output{Stdout: []byte(lastLines(out, kernelLines))}, nil
		}}
		var j Journal
		r.early(t.Context(), &j)
		if commands != c.commands || j.Kernel.Lines != c.kernels || j.Manager.Lines != c.manage || j.Kernel.Cut != c.cut || j.Manager.Cut ||
			len(j.Manager.Messages) != 2 || j.Kernel.Messages[0].Text != more {
			t.Errorf("%s: %d commands, kernel %+v, manager %+v", name, commands, j.Kernel, j.Manager)
		}
	}
}

// lastLines are at most the last n.
func lastLines(s string, n int) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(lines[max(0, len(lines)-1-n):], "")
}

// TestHiddenJournal: a user who sees only his own messages has not looked.
func TestHiddenJournal(t *testing.T) {
	for stderr, denied := range map[string]bool{
		"Hint: You are currently not seeing messages from other users and the system.\n      Users in groups 'adm' ...": true,
		"No journal files were opened due to insufficient permissions.":                                                 true,
		"No journal files were found.": false,
	} {
		r := journalReader{now: newYear, run: func(context.Context, Command) (Output, error) { return Output{Stderr: []byte(stderr)}, nil }}
		l := r.ask(t.Context(), 10, nil)
		if err := l.Err(); err == nil || l.Denied != denied || strings.HasPrefix(Reason(err), "needs root") != denied {
			t.Errorf("%q: %+v", stderr, l)
		}
	}
}

func FuzzLog(f *testing.F) {
	f.Add(
		"Jan  2 03:00:00 h systemd[1]: x.service: Failed with result 'exit-code'.\n[   1.5] sda: error\n-- Boot a " +
			"--\n2026-01-02T03:00:00+0000 h k: [1.0] x\n",
	)
	f.Add(`{"__REALTIME_TIMESTAMP":"1767323045000000","_COMM":["app",[1]],"MESSAGE":[104,105]}`)
	f.Add(`{"__REALTIME_TIMESTAMP":"9223372036854775807"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if l, ok := JournalLine([]byte(text)); ok {
			if _, err := json.Marshal(l); err != nil {
				t.Error(err)
			}
		}
		j := TextJournal("x", text, LogText{Now: newYear, Boot: newYear}, true)
		b, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 100*(len(text)+100) {
			t.Errorf("%d bytes become %d", len(text), len(b))
		}
	})
}
