package host

import (
	"strconv"
	"strings"
	"time"
)

// LogText reads a log as text: what journalctl prints by default,
// the files of syslog, RFC 3339 stamps as newer rsyslogs write them, and
// dmesg with seconds since boot. now is about when it was written: it gives
// the year that stamps lack. Lines before the last "-- Boot ... --" or
// "-- Reboot --" are of an earlier boot and left out.
type LogText struct {
	Now  time.Time
	Boot time.Time // of dmesg's seconds
	// Units are those of processes, by their numbers as text: what a log as text leaves
	// out, and systemctl show may tell.
	Units map[string]string
}

// Lines calls each for every line that has a stamp.
func (t LogText) Lines(text string, each func(LogLine)) {
	if i := max(strings.LastIndex(text, "\n-- Boot "), strings.LastIndex(text, "\n-- Reboot --")); i >= 0 {
		text = text[i+1:]
	}
	for line := range strings.Lines(text) {
		if l, ok := t.line(strings.TrimRight(line, "\r\n")); ok {
			each(l)
		}
	}
}

func (t LogText) line(s string) (LogLine, bool) {
	if s == "" || len(s) > 1<<20 {
		return LogLine{}, false
	}
	switch {
	case s[0] == '[':
		return t.dmesg(s)
	case s[0] >= 'A' && s[0] <= 'Z':
		return t.syslog(s)
	case s[0] >= '0' && s[0] <= '9':
		stamp, rest, ok := strings.Cut(s, " ")
		if !ok {
			return LogLine{}, false
		}
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05-0700", "2006-01-02T15:04:05.999999-0700"} {
			if at, err := time.Parse(layout, stamp); err == nil && at.Year() >= 1970 && at.Year() < 9999 { // JSON has years of four digits
				return t.said(at.UTC(), rest)
			}
		}
	}
	return LogLine{}, false
}

// syslog reads "Nov 22 14:11:15[.123456] host by[pid]: text".
func (t LogText) syslog(s string) (LogLine, bool) {
	if len(s) < 16 {
		return LogLine{}, false
	}
	at, err := time.Parse("Jan _2 15:04:05", s[:15])
	if err != nil {
		return LogLine{}, false
	}
	at = time.Date(t.Now.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	if at.After(t.Now.Add(48 * time.Hour)) { // of last year; local time may be ahead
		at = at.AddDate(-1, 0, 0)
	}
	rest := s[15:]
	if rest[0] == '.' {
		rest = strings.TrimLeft(rest[1:], "0123456789")
	}
	return t.said(at, strings.TrimLeft(rest, " "))
}

// said reads "host by[pid]: text".
func (t LogText) said(at time.Time, rest string) (LogLine, bool) {
	_, rest, _ = strings.Cut(rest, " ")
	by, text, ok := strings.Cut(rest, ": ")
	if !ok || strings.ContainsAny(by, " \t") {
		return LogLine{}, false
	}
	by, pid, _ := strings.Cut(by, "[")
	if by == "kernel" { // rsyslog leaves the kernel's own stamp
		if stamp, after, ok := kernelStamp(text); ok {
			if _, ok := sinceBoot(stamp); ok {
				text = after
			}
		}
	}
	return LogLine{At: at, By: by, Unit: t.Units[strings.TrimSuffix(pid, "]")], Text: text, Priority: -1}, by != ""
}

// dmesg reads "[   12.345678] text" and "[Sun Nov 22 14:11:15 2026] text", each with the
// caller or without.
func (t LogText) dmesg(s string) (LogLine, bool) {
	stamp, text, ok := kernelStamp(s)
	if !ok {
		return LogLine{}, false
	}
	at, err := time.Parse("Mon Jan _2 15:04:05 2006", stamp)
	if sec, ok := sinceBoot(stamp); ok {
		at, err = t.Boot.Add(sec), nil
	}
	return LogLine{At: at, By: "kernel", Text: text, Priority: -1}, err == nil
}

// kernelStamp cuts "[stamp] text" and "[stamp][caller] text". The thread or processor that
// printed a message, "[  T123]" or "[   C12]", is printed by kernels with CONFIG_PRINTK_CALLER,
// as SUSE's (print_caller in kernel/printk/printk.c); dmesg since util-linux 2.40 puts a space
// before it.
func kernelStamp(s string) (stamp, text string, ok bool) {
	s, ok = strings.CutPrefix(s, "[")
	stamp, text, closed := strings.Cut(s, "]")
	if caller, rest, ok := strings.Cut(strings.TrimPrefix(text, " "), "]"); ok && isCaller(caller) {
		text = rest
	}
	text, spaced := strings.CutPrefix(text, " ")
	return stamp, text, ok && closed && spaced
}

// isCaller tells "[  T123" and "[   C12".
func isCaller(s string) bool {
	s, ok := strings.CutPrefix(s, "[")
	s = strings.TrimLeft(s, " ")
	return ok && len(s) > 1 && (s[0] == 'T' || s[0] == 'C') && strings.Trim(s[1:], "0123456789") == ""
}

// sinceBoot reads the kernel's seconds, "   12.345678".
func sinceBoot(stamp string) (time.Duration, bool) {
	sec, err := strconv.ParseFloat(strings.TrimSpace(stamp), 64)
	return time.Duration(sec * float64(time.Second)), err == nil && sec >= 0 && sec < 1e9
}

// TextJournal is the digest of a whole log as text. Who manages units, and
// what the kernel says, is distinguished by the name before each line. atBoot
// tells that the text begins with this boot.
func TextJournal(source, text string, t LogText, atBoot bool) Journal {
	var kernel, manager, recent Digest
	t.Lines(text, func(l LogLine) {
		recent.Add(l)
		switch {
		case l.By == "kernel" && Complains(l.Text):
			kernel.Add(l)
		case l.By == "kernel":
			kernel.Skip(l.At)
		case l.By == "systemd" && managerComplains(l.Text):
			manager.Add(l)
		case l.By == "systemd":
			manager.Skip(l.At)
		}
	})
	j := Journal{Kernel: kernel.Log(source), Manager: manager.Log(source), Recent: recent.Log(source)}
	j.Failed = recent.Log(source) // their units are not known: whoever asks looks for their names
	j.Recent.frequent(maxFrequent)
	for _, l := range []*Log{&j.Kernel, &j.Manager, &j.Failed, &j.Recent} {
		l.Cut = !atBoot
		l.Since, l.Until = j.Recent.Since, j.Recent.Until // the whole text was looked at
	}
	return j
}

// managerComplains picks systemd's warnings out of lines without priorities.
func managerComplains(text string) bool {
	for _, w := range []string{"ailed", "imed out", "timed out", "ependency", "repeated too quickly", "Main process exited", "killed"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
