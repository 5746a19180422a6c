package host

import (
	"strconv"
	"strings"
	"time"
)

// LogText reads a log as text: what journalctl prints unless told otherwise,
// the files of syslog, RFC 3339 stamps as newer rsyslogs write them, and
// dmesg with seconds since boot. now is about when it was written: it gives
// the year that stamps lack. Lines before the last "-- Boot ... --" or
// "-- Reboot --" are of an earlier boot and left out.
type LogText struct {
	Now  time.Time
	Boot time.Time // of dmesg's seconds
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
			if at, err := time.Parse(layout, stamp); err == nil {
				return said(at.UTC(), rest)
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
	return said(at, strings.TrimLeft(rest, " "))
}

// said reads "host by[pid]: text".
func said(at time.Time, rest string) (LogLine, bool) {
	_, rest, _ = strings.Cut(rest, " ")
	by, text, ok := strings.Cut(rest, ": ")
	if !ok || strings.ContainsAny(by, " \t") {
		return LogLine{}, false
	}
	by, _, _ = strings.Cut(by, "[")
	if by == "kernel" { // rsyslog leaves the kernel's own stamp
		if _, after, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(text, "[") && strings.Trim(text[:len(text)-len(after)], "[] .0123456789") == "" {
			text = after
		}
	}
	return LogLine{At: at, By: by, Text: text, Priority: -1}, by != ""
}

// dmesg reads "[   12.345678] text" and "[Sun Nov 22 14:11:15 2026] text".
func (t LogText) dmesg(s string) (LogLine, bool) {
	stamp, text, ok := strings.Cut(s[1:], "] ")
	if !ok {
		return LogLine{}, false
	}
	if sec, err := strconv.ParseFloat(strings.TrimSpace(stamp), 64); err == nil && sec >= 0 && sec < 1e9 {
		return LogLine{At: t.Boot.Add(time.Duration(sec * float64(time.Second))), By: "kernel", Text: text, Priority: -1}, true
	}
	at, err := time.Parse("Mon Jan _2 15:04:05 2006", stamp)
	return LogLine{At: at, By: "kernel", Text: text, Priority: -1}, err == nil
}

// TextJournal is the digest of a whole log as text. Who manages units, and
// what the kernel says, is told apart by the name before each line. atBoot
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
