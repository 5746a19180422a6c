package message

import (
	"fettle/internal/lazy"
	"strings"
)

// Times as logs write them, at the beginning of a line.
var (
	iso = lazy.Regexp(`^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|GMT|[A-Z]{3,4}|[+-]\d\d:?\d\d))?\]?:?(?: +|$)`)
	// syslog, journalctl's short and short-precise, and with a year
	traditional = lazy.Regexp(`^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d+)?:? +`)
	// journalctl's short-full, with-unit; dmesg -T
	full  = lazy.Regexp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [A-Z0-9:+-]+ +`)
	human = lazy.Regexp(`^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \d{4}\] *`)
	// dmesg, with -d and with CONFIG_PRINTK_CALLER; journalctl's short-monotonic has a host behind it
	boot   = lazy.Regexp(`^\[ *\d+\.\d+(?: *< *\d+\.\d+>)?\](?:\[ *[TC]\d+\])? *`)
	caller = lazy.Regexp(`^\[ *[TC]\d+\] *`)
	unix   = lazy.Regexp(`^\d{10}\.\d{3,9} +`)
	// dmesg -x
	facility = lazy.Regexp(`^(?:kern|user|daemon|syslog|auth) *:(?:emerg|alert|crit|err|warn|notice|info|debug) *: `)
	// after the time of journalctl's short-monotonic
	monotonic = lazy.Regexp(`^[A-Za-z0-9][\w.-]* (?:kernel|[\w@.()/-]+\[\d+\]): `)
)

// stamp takes a time off the beginning of a line. kernel: it is one that dmesg writes.
func stamp(s string) (rest string, kernel, ok bool) {
	if s == "" {
		return s, false, false
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		at := facility().FindStringIndex(s)
		if at == nil {
			return s, false, false
		}
		return s[at[1]:], false, true
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9':
		for _, re := range []func() int{
			func() int { return length(iso().FindStringIndex(s)) },
			func() int { return length(unix().FindStringIndex(s)) },
		} {
			if n := re(); n > 0 {
				return s[n:], false, true
			}
		}
	case c == '[':
		if n := length(boot().FindStringIndex(s)); n > 0 {
			rest = s[n:]
			if m := length(caller().FindStringIndex(rest)); m > 0 {
				rest = rest[m:]
			}
			return rest, !monotonic().MatchString(rest), true
		}
		if n := length(human().FindStringIndex(s)); n > 0 {
			return s[n:], true, true
		}
		if n := length(iso().FindStringIndex(s)); n > 0 {
			return s[n:], false, true
		}
	case c >= 'A' && c <= 'Z':
		if n := length(traditional().FindStringIndex(s)); n > 0 {
			return s[n:], false, true
		}
		if n := length(full().FindStringIndex(s)); n > 0 {
			return s[n:], false, true
		}
	}
	return s, false, false
}

func length(at []int) int {
	if at == nil {
		return 0
	}
	return at[1]
}

// priority takes "<34>" off, and tells whether RFC 5424's version follows.
func priority(s string) (rest string, rfc5424 bool) {
	if !strings.HasPrefix(s, "<") {
		return s, false
	}
	number, rest, ok := strings.Cut(s[1:], ">")
	if !ok || len(number) > 3 || !digits(number) {
		return s, false
	}
	if after, ok := strings.CutPrefix(rest, "1 "); ok {
		return after, true
	}
	return rest, false
}

// parse5424 reads what follows the version in RFC 5424, section 6.
func parse5424(s string) (Line, bool) {
	f := strings.SplitN(s, " ", 6)
	if len(f) < 6 {
		return Line{}, false
	}
	l := Line{Log: true, Host: nilValue(f[1]), By: nilValue(f[2])}
	l.Text = strings.TrimSpace(strings.TrimPrefix(structured(f[5]), "\ufeff"))
	return l, true
}

func nilValue(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// structured takes the structured data off: "-", or elements in brackets, where a
// backslash comes before a bracket in a value.
func structured(s string) string {
	if after, ok := strings.CutPrefix(s, "-"); ok {
		return after
	}
	for strings.HasPrefix(s, "[") {
		end := 1
		for ; end < len(s) && s[end] != ']'; end++ {
			if s[end] == '\\' {
				end++
			}
		}
		s = s[min(len(s), end+1):]
	}
	return s
}
