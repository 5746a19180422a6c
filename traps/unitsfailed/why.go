package unitsfailed

import (
	"strings"
	"time"
	"unicode"

	"fettle/host"
	"fettle/host/fact/journal"
	"fettle/internal/lazy"
)

// of are the messages of a unit and about it, the last one last. A log as text
// does not name units: there, what its program says counts, when the program
// is called as the unit.
func of(l host.Log, unit string) []host.Message {
	var out []host.Message
	base, _, _ := strings.Cut(journal.Base(unit), "@")
	for _, m := range l.Messages {
		switch {
		case m.Unit == unit:
		case m.Unit != "":
			continue
		case ofSystemd(m) && (strings.HasPrefix(m.Text, unit+":") || strings.Contains(m.Text, " "+unit+" ")):
		case m.By == "mount" && strings.HasSuffix(unit, ".mount") && strings.Contains(m.Text, host.UnitPath(unit)+":"):
		case m.By != base && m.By != base+"d" && m.By+"d" != base:
			continue
		}
		out = append(out, m)
	}
	return out
}

// ofSystemd tells that systemd speaks: process 1, or the one that it makes and that is about to become the
// unit's program, which has the program's name in parentheses.
func ofSystemd(m host.Message) bool { return m.By == "systemd" || strings.HasPrefix(m.By, "(") }

var (
	trouble = lazy.Regexp(
		`(?i)error|fail|fatal|cannot|can't|could not|couldn't|unable|denied|refused|no such|not found|not exist|invalid|in ` +
			`use|panic|exception|missing|killed|out of memory|timed out|timeout|\bbad\b|unknown|unrecognized|not permitted|no ` +
			`space|read-only|misconfig|incorrect|unsupported|illegal|abort|not allowed`,
	)
)

// says tells whether a line has two words beside those of trouble: " failed!" has none.
func says(text string) bool {
	words := strings.FieldsFunc(trouble().ReplaceAllString(text, " "), func(r rune) bool { return !unicode.IsLetter(r) })
	return len(words) > 1
}

// lastRun are the messages from the unit's last start on. What a program that ends at once has printed can be
// stored a moment before systemd's line that it starts it: they come to journald by different sockets.
func lastRun(said []host.Message) []host.Message {
	for i := len(said) - 1; i >= 0; i-- {
		if m := said[i]; m.By == "systemd" && strings.HasPrefix(m.Text, "Starting ") {
			for i > 0 && said[i-1].By != "systemd" && m.Last.Sub(said[i-1].Last) <= time.Second {
				i--
			}
			return said[i:]
		}
	}
	return said
}

// telling is the message that says best why a unit failed: the first of its
// last run that speaks of trouble, else what systemd saw of its end. What the program
// itself calls a warning, and what says no more than that it failed, comes after these.
func telling(said []host.Message) *host.Message {
	said = lastRun(said)
	var mild *host.Message
	for i := range said {
		m := &said[i]
		switch {
		case m.By == "systemd" || !trouble().MatchString(m.Text) && (m.Priority < 0 || m.Priority > 3) || !says(m.Text):
		case !journal.Mild(m.Text):
			return m
		case mild == nil:
			mild = m
		}
	}
	if mild != nil {
		return mild
	}
	for _, v := range []string{"Failed at step", "Failed to set up", "Failed to locate", "Failed to load", "Failed to create listening",
		"Failed to listen on", "Failed to run '", "Main process exited", "Control process exited", "timed out", "killed",
		"Failed with result", "ependency failed"} {
		for i := len(said) - 1; i >= 0; i-- {
			if m := &said[i]; m.By == "systemd" && strings.Contains(m.Text, v) || strings.HasPrefix(v, "Failed ") && strings.HasPrefix(m.By, "(") {
				return m
			}
		}
	}
	if len(said) > 0 {
		return &said[len(said)-1]
	}
	return nil
}
