package redact

import (
	"strings"

	"fettle/internal/lazy"
)

// What a line means that continues after a backslash depends on where it began: such lines are
// redacted as one.

// goesOn tells of files in which a backslash at the end of a line joins the next one to it.
var goesOn = lazy.Regexp(`^/(?:etc|run|usr/lib|usr/local/lib|lib)/(?:systemd|pam\.d|udev|modprobe\.d|update-motd\.d)/|` +
	`^/etc/(?:pam\.conf|hosts\.(?:allow|deny)|default/|sysconfig/|network/|rc\.local|rsyslog)`)

// seam replaces a backslash and the end of a line. It is a blank to all that reads words.
const seam = "\f"

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == seam[0] }

// joined makes one line of those that go on. Remarks between them are left out.
func joined(s string) string {
	s = strings.ReplaceAll(s, seam, " ")
	var b strings.Builder
	inside := false
	for line := range strings.Lines(s) {
		body := strings.TrimSuffix(line, "\n")
		word := strings.TrimLeft(body, " \t")
		remark := strings.HasPrefix(word, "#") || strings.HasPrefix(word, ";")
		switch {
		case remark && inside:
			b.WriteString(seam)
		case !remark && strings.HasSuffix(body, `\`) && len(line) > len(body):
			b.WriteString(body[:len(body)-1] + seam)
			inside = true
		default:
			b.WriteString(line)
			inside = false
		}
	}
	return b.String()
}

// apart redacts a joined line, and gives it back as the lines that it was.
func apart(one func(string) string) func(string) string {
	return func(line string) string {
		out := one(line)
		out += strings.Repeat(seam, max(0, strings.Count(line, seam)-strings.Count(out, seam)))
		return strings.ReplaceAll(out, seam, "\\\n")
	}
}
