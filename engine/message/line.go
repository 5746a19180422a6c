package message

import (
	"strings"
)

// Line is a line of a log: what was said, and as far as the line tells, who said it and
// where.
type Line struct {
	Host string // empty where the line does not tell
	By   string // the program; "kernel"; empty where the line does not tell
	Text string
	// Log: it begins as lines of a log do.
	Log bool
	// Raw is the line as it came, without escape sequences; of a record, its words.
	Raw string

	// bare is all behind the time, where who speaks is a guess: "java[9]: segfault" is the kernel's.
	bare   string
	hosted bool // the time is of a form that a host follows
}

// ParseLine reads a line of syslog, RFC 5424, journalctl, dmesg, docker or kubectl, also
// coloured or quoted; what it knows no form of is text alone. Records of journalctl's
// json and of docker's are read, too.
func ParseLine(line string) Line {
	line = strings.TrimRight(clean(line), " \r\n")
	line = unquote(line)
	if strings.HasPrefix(line, "{") {
		if l, ok := parseJSON(line); ok {
			return l
		}
	}
	l := Line{Text: line, Raw: line}
	rest, rfc5424 := priority(line)
	if rfc5424 {
		if l, ok := parse5424(rest); ok {
			l.Raw = line
			return l
		}
	}
	rest, prefixed := container(rest)
	l.Log = prefixed
	for range 3 {
		after, kernel, ok := stamp(rest)
		if !ok {
			break
		}
		l.hosted = l.hosted || rest[0] >= 'A' && rest[0] <= 'Z'
		l.Log, rest = true, after
		if kernel {
			l.By = "kernel"
		}
	}
	if !l.Log {
		l.bare = rest
	}
	if l.Log || strings.Contains(rest, "]: ") || strings.HasPrefix(rest, "kernel: ") {
		l.speaker(&rest)
	}
	l.Text = strings.TrimSpace(rest)
	if l.By == "kernel" {
		if after, _, ok := stamp(l.Text); ok { // syslog's copy of dmesg
			l.Text = after
		}
	}
	return l
}

// speaker takes "host program[pid]: " off.
func (l *Line) speaker(rest *string) {
	if l.By == "kernel" {
		return // after dmesg's time comes the message
	}
	first, after, ok := strings.Cut(*rest, " ")
	if !ok {
		return
	}
	if by := program(first); by != "" && (l.Log || strings.HasSuffix(first, "]:") || by == "kernel") {
		if l.bare == "" && by != "kernel" {
			l.bare = *rest // a name, or the beginning of what is said
		}
		l.By, *rest, l.Log = by, after, true
		return
	}
	if !l.Log || !hostName(first) {
		return
	}
	// A program's name may have spaces: "CRON (root)", "(sd-pam)".
	second, said, ok := strings.Cut(strings.TrimLeft(after, " "), " ")
	if by := program(second); ok && by != "" {
		if !l.hosted && l.bare == "" && !strings.HasSuffix(second, "]:") && by != "kernel" {
			l.bare = *rest // docker's time has no host behind it
		} else {
			l.Host = first
		}
		l.By, *rest = by, said
	}
}

// program reads "name:" or "name[pid]:".
func program(word string) string {
	name, ok := strings.CutSuffix(word, ":")
	if !ok || name == "" {
		return ""
	}
	if inner, ok := strings.CutSuffix(name, "]"); ok {
		before, pid, ok := strings.Cut(inner, "[")
		if !ok || before == "" || !digits(pid) {
			return ""
		}
		name = before
	}
	if len(name) > 48 || strings.ContainsAny(name, "\"'=,;<>[]{}") {
		return ""
	}
	return name
}

func hostName(s string) bool {
	if s == "" || len(s) > 255 || strings.HasSuffix(s, ":") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' || c == ':') {
			return false
		}
	}
	return true
}

// container takes off the name that docker compose and kubectl --prefix put before a line.
func container(line string) (rest string, ok bool) {
	if strings.HasPrefix(line, "[pod/") {
		if _, rest, ok := strings.Cut(line, "] "); ok {
			return rest, true
		}
	}
	if name, rest, ok := strings.Cut(line, " | "); ok && len(name) < 64 {
		if name = strings.TrimRight(name, " "); hostName(name) && strings.ContainsRune(name, '-') {
			return rest, true
		}
	}
	return line, false
}

// full is what messages are looked for in: what was said, behind the program's name, which
// many programs print themselves where there is no log.
func (l *Line) full() string {
	switch {
	case l.bare != "":
		return l.bare
	case l.By != "" && l.By != "kernel":
		return l.By + ": " + l.Text
	}
	return l.Text
}

// mayBe tells whether the line is one of those that says may have said.
func (l *Line) mayBe(says string) bool {
	switch {
	case l.bare != "", l.By == "", l.By == says:
		return true
	case says == "kernel":
		return false
	case l.By == "kernel": // what programs wrote before a log was kept
		return strings.HasPrefix(l.Text, says)
	case says == "systemd":
		return strings.HasPrefix(l.By, "systemd") || l.By[0] == '('
	}
	return true
}

// informs tells whether a program itself says of a line that nothing is wrong, as
// containerd does of each plugin whose kernel module the host lacks: level=info.
func (l *Line) informs() bool {
	for _, key := range []string{"level", "lvl", "severity"} {
		_, value, ok := strings.Cut(l.Text, key)
		if !ok {
			continue
		}
		value = strings.ToLower(strings.TrimLeft(value[:min(len(value), 16)], `"'=: `))
		for _, calm := range []string{"info", "debug", "trace"} {
			if strings.HasPrefix(value, calm) {
				return true
			}
		}
	}
	return false
}

// clean drops escape sequences and makes spaces of other control characters.
func clean(s string) string {
	first := 0
	for first < len(s) && s[first] >= ' ' && s[first] != 0x7f {
		first++
	}
	if first == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	for i := first; i < len(s); i++ {
		switch c := s[i]; {
		case c == 0x1b:
			i += escapeLen(s[i:]) - 1
		case c < ' ' || c == 0x7f:
			b.WriteByte(' ')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// escapeLen is the length of the escape sequence at the start of s: CSI (ECMA-48,
// section 5.4), OSC up to its end, or two bytes of anything else.
func escapeLen(s string) int {
	switch {
	case len(s) > 1 && s[1] == '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	case len(s) > 1 && s[1] == ']':
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
	}
	return min(2, len(s))
}

// unquote takes off what forums and mail put before a quoted line.
func unquote(s string) string {
	for {
		t := strings.TrimLeft(s, " \t")
		switch {
		case strings.HasPrefix(t, "| "), strings.HasPrefix(t, "> "), strings.HasPrefix(t, ">> "):
			_, s, _ = strings.Cut(t, " ")
		case strings.HasPrefix(t, ">") && len(t) > 1 && t[1] != '=':
			s = t[1:]
		default:
			return t
		}
	}
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
