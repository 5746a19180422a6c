// Package crontab reads system tables of cron, /etc/crontab and the files of /etc/cron.d, and says which lines cron refuses, as Debian's
// cron (3.0pl1, entry.c and env.c) and cronie do.
package crontab

import (
	"slices"
	"strconv"
	"strings"
)

// Job is a line that is neither a comment nor a variable.
type Job struct {
	Line          int // from 1
	User, Command string
	// Bad is what cron says of it, in its words: "bad minute", "bad command"; empty if it can be read.
	Bad string
}

// Dialect is whose table it is.
type Dialect int

// Dialects: Cronie takes a dash before the time, which keeps the job out of the log, and a variable without a value.
const (
	Debian Dialect = iota
	Cronie
)

// Table is a file of jobs.
type Table struct {
	Jobs []Job
	// Unended: the last line has no newline, and is not a comment.
	Unended bool
}

// Parse reads a table. Whether the users exist is not judged.
func Parse(d Dialect, text string) Table {
	var t Table
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, ended := strings.CutSuffix(line, "\n")
		s := strings.TrimLeft(line, " \t")
		if s == "" || s[0] == '#' {
			continue
		}
		t.Unended = !ended
		if variable(d, line) {
			continue
		}
		j := Job{Line: n}
		j.read(d, s)
		t.Jobs = append(t.Jobs, j)
	}
	return t
}

// shortcuts stand for five fields (crontab(5)).
var shortcuts = []string{"reboot", "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"}

func (j *Job) read(d Dialect, s string) {
	if d == Cronie {
		s = strings.TrimPrefix(s, "-")
	}
	if rest, ok := strings.CutPrefix(s, "@"); ok {
		word, after := cut(rest)
		if !slices.Contains(shortcuts, word) {
			j.Bad = "bad time specifier"
			return
		}
		s = after
	} else {
		for _, f := range fields {
			if s, ok = f.take(d, s); !ok {
				j.Bad = "bad " + f.name
				return
			}
		}
	}
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		j.Bad = "bad command" // a user alone, or a command alone
		return
	}
	j.User, j.Command = s[:i], strings.TrimLeft(s[i:], " \t")
}

func cut(s string) (word, rest string) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}

// field is one of the five of a time.
type field struct {
	name      string
	low, high int
	words     []string
}

var fields = []field{
	{"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day-of-month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day-of-week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun"}},
}

// take reads one field and the blanks behind it. What follows a whole list up to a blank is passed over, as cron does.
func (f field) take(d Dialect, s string) (rest string, ok bool) {
	for {
		if s, ok = f.span(d, s); !ok {
			return "", false
		}
		if !strings.HasPrefix(s, ",") {
			break
		}
		s = s[1:]
	}
	_, rest = cut(s)
	return rest, true
}

// span reads *, a number, a range, or a random one (~, of which cron refuses little), with its step. To Debian's cron
// a range whose end comes before its beginning is one without numbers: the job never runs.
func (f field) span(d Dialect, s string) (rest string, ok bool) {
	low, high := f.low, f.high
	if after, all := strings.CutPrefix(s, "*"); all {
		s = after
	} else {
		if low, s, ok = f.number(s, ",-~ \t"); !ok {
			return "", false
		}
		if s == "" || s[0] != '-' && s[0] != '~' {
			return s, f.has(low)
		}
		if s[0] == '~' {
			return s[1:], f.has(low)
		}
		if high, s, ok = f.number(s[1:], "/, \t"); !ok || low > high && d == Cronie {
			return "", false
		}
	}
	if after, is := strings.CutPrefix(s, "/"); is {
		step, rest, ok := (field{}).number(after, ", \t")
		if !ok || step == 0 {
			return "", false
		}
		s = rest
	}
	return s, f.has(low) && f.has(high)
}

func (f field) has(n int) bool { return n >= f.low && n <= f.high }

// number reads a number or one of the words, behind which one of ends or the end of the line must be.
func (f field) number(s, ends string) (n int, rest string, ok bool) {
	i := strings.IndexFunc(s+" ", func(r rune) bool { return r < '0' || r > '9' })
	word := i == 0
	if word {
		i = strings.IndexFunc(s+" ", func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	}
	if i == 0 || i < len(s) && !strings.ContainsRune(ends, rune(s[i])) {
		return 0, "", false
	}
	if word {
		n = slices.Index(f.words, strings.ToLower(s[:i]))
		return n + f.low, s[i:], n >= 0
	}
	n, err := strconv.Atoi(s[:i])
	return n, s[i:], err == nil
}

// variable reports whether a line sets a variable: NAME=value, with blanks around = and quotes around either. To Debian's cron
// a name without a value is none (crontab(5)).
func variable(d Dialect, line string) bool {
	s := strings.TrimLeft(line, " \t")
	_, rest, ok := quoted(s)
	if !ok {
		i := strings.IndexAny(s, "= \t")
		if i < 0 {
			return false
		}
		rest = s[i:]
	}
	value, is := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "=")
	if !is {
		return false
	}
	value = strings.TrimSpace(value)
	if value == "" {
		return d != Debian
	}
	if strings.ContainsRune(`"'`, rune(value[0])) {
		_, rest, ok := quoted(value)
		return ok && strings.TrimSpace(rest) == ""
	}
	return true
}

// quoted cuts a quoted word off.
func quoted(s string) (word, rest string, ok bool) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return "", "", false
	}
	i := strings.IndexByte(s[1:], s[0])
	if i < 0 {
		return "", "", false
	}
	return s[1 : i+1], s[i+2:], true
}
