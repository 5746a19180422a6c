package disks

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestIostatUnits: kilobytes, megabytes and sectors, with a decimal point or comma, are bytes of the interval.
func TestIostatUnits(t *testing.T) {
	for name, c := range map[string]struct{ head, line string }{
		"kB":      {"rkB/s wkB/s", "2.00 4.00"},
		"kB, ','": {"rkB/s wkB/s", "2,00 4,00"},
		"MB":      {"rMB/s wMB/s", "0.001953125 0.00390625"},
		"sectors": {"rsec/s wsec/s", "4 8"},
	} {
		text := fmt.Sprintf("Device: r/s w/s %s r_await w_await %%util\nsda 1.5 2.5 %s 3.25 4 150\n", c.head, c.line)
		ls, err := ParseIostat("f", strings.NewReader(text), 10*time.Second)
		if err != nil || len(ls) != 1 {
			t.Errorf("%s: %v, %v", name, ls, err)
			continue
		}
		l := ls[0]
		if l.Reads != 15 || l.Writes != 25 || l.ReadBytes != 20480 || l.WriteBytes != 40960 || l.ReadWait != 3250*time.Microsecond ||
			l.WriteWait != 4*time.Millisecond || l.Busy != 1 || l.Assumed {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// TestIostatRefuses: each with the line that is wrong.
func TestIostatRefuses(t *testing.T) {
	head := "\nDevice r/s w/s rkB/s wkB/s r_await w_await %util\n"
	many := func(n int) string { return head + strings.Repeat("sda 0 0 0 0 0 0 0\n", n) }
	for text, want := range map[string]string{
		"nothing": "f: no report", "Device tps kB_read/s\n": "f:1: no columns", head + "sda 1 2\n": "f:3: 3 columns, expected 8",
		head + "sda 1 2 x 4 5 6 7\n": `f:3: rkB/s is "x"`, head + "sda -1 2 3 4 5 6 7\n": `f:3: r/s is "-1"`,
		head + "sda 1e15 2 3 4 5 6 7\n": `f:3: r/s is "1e15"`, head + "sda NaN 2 3 4 5 6 7\n": `f:3: r/s is "NaN"`,
		many(deviceLimit + 1):                    fmt.Sprintf("f:%d: more than", deviceLimit+3),
		"x\n" + strings.Repeat("y", lineLimit+1): "f:2: a line longer",
	} {
		if _, err := ParseIostat("f", strings.NewReader(text), 0); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{many(deviceLimit), head + "sda 1 2 3 4 999e9 6 7\n"} {
		if ls, err := ParseIostat("f", strings.NewReader(text), 0); err != nil || ls[0].ReadWait > time.Hour || !ls[0].Assumed {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// TestStamps: from one report to the next, over midnight, over noon of a clock of twelve hours, and where nothing tells.
func TestStamps(t *testing.T) {
	for _, tt := range []struct {
		before, after string
		given, want   time.Duration
		assumed       bool
	}{
		{"11/21/2026 10:00:00", "11/21/2026 10:00:07", 0, 7 * time.Second, false},
		{"11/21/2026 10:00:00", "11/21/2026 10:00:07", time.Second, time.Second, false},
		{"23:59:58", "00:00:03", 0, 5 * time.Second, false},
		{"11:59:58 AM", "12:00:03 PM", 0, 5 * time.Second, false},
		{"12:59:58 PM", "01:00:03 PM", 0, 5 * time.Second, false},
		{"2026-11-21T10:00:00+0100", "2026-11-21T10:01:00+0100", 0, time.Minute, false},
		{"1780000000", "1780000030", 0, 30 * time.Second, false}, {"1000000001", "1000000002", 0, time.Second, false},
		{"1000000000", "1000000030", 0, Assumed, true}, {"9999999999", "10000000000", 0, Assumed, true},
		{"01:00:00", "14:00:00", 0, 13 * time.Hour, false}, {"T10:00:00", "T10:00:02", 0, Assumed, true},
		{"10:00:00", "10:00:00", 0, Assumed, true}, {"10:00:00", "avg-cpu", 0, Assumed, true}, {"avg-cpu", "10:00:00", 0, Assumed, true},
		{"a b c d e f g 10:00:00", "a b c d e f g 10:00:02", 0, 2 * time.Second, false},
		{"a b c d e f g h 10:00:00", "a b c d e f g h 10:00:02", 0, Assumed, true},
	} {
		s := span{given: tt.given}
		s.line(strings.Fields(tt.before))
		s.next()
		s.line(strings.Fields(tt.after))
		if d, assumed := s.next(); d != tt.want || assumed != tt.assumed {
			t.Errorf("%q, then %q: %s, %v; want %s", tt.before, tt.after, d, assumed, tt.want)
		}
	}
}

// TestWaitInWords: as many digits as somebody reads.
func TestWaitInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Second: "1s",
		1234567 * time.Microsecond: "1.23s", time.Second - time.Nanosecond: "1s",
		time.Millisecond: "1ms", 12345 * time.Microsecond: "12.3ms", 999 * time.Microsecond: "999µs", 1499 * time.Nanosecond: "1µs"} {
		if got := Wait(d); got != want {
			t.Errorf("%d ns: %s, want %s", d, got, want)
		}
	}
	sorted := []time.Duration{1, 2, 3, 10}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 2, 1: 10, 0.25: 1, 0.75: 4} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile %.2f: %d, want %d", q, got, want)
		}
	}
	if by(10, 0) != float64(10)/float64(time.Microsecond) || by(10*time.Second, 4*time.Second) != 2.5 {
		t.Error(by(10, 0))
	}
}
