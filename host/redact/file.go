package redact

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"fettle/internal/lazy"
)

// menuPassword are passwords of syslinux and GRUB.
var menuPassword = lazy.Regexp(`(?i)^(\s*(?:menu\s+(?:master\s+)?passwd|password(?:_pbkdf2)?)\s+)(\S.*)$`)

// File redacts a file's content; false: it is of no known kind, or no text.
func (r *Redactor) File(name string, b []byte) ([]byte, bool) {
	kind := KindOf(name)
	if kind == Unknown && bytes.Contains(b, []byte("-----BEGIN ")) {
		kind = Certificates // keys, too, which are left out
	}
	switch kind {
	case Certificates:
		return r.certificates(b), true
	case Keyring:
		return r.keyring(b)
	case Firmware:
		return anonymousTable(b), true
	}
	if kind == Lines { // a name in another encoding may be in a comment
		b = bytes.ReplaceAll(bytes.ToValidUTF8(b, []byte("?")), []byte{0}, []byte("?"))
	}
	if kind == Unknown || !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return nil, false
	}
	s := string(b)
	if kind == Menu && !isMenu(s) {
		return nil, false
	}
	switch kind {
	case Plain:
	case Values:
		s = r.values(name, s)
	case KnownHosts:
		s = r.knownHosts(s)
	case Sockets:
		s = ownSockets(s)
	case Routes:
		s = r.routes(s)
	case Lines:
		s = r.keptLines(name, s)
	case Name:
		name := strings.TrimSpace(s)
		s = strings.Replace(s, name, r.Host(name)+wildcards(name), 1)
	case Config:
		s = r.betweenKeys(s, func(s string) string { return r.lines(name, kind, s) })
	default:
		s = r.lines(name, kind, s)
	}
	return []byte(s), true
}

// wildcards are those of a name, which systemd fills in (hostname(5), systemd 258).
func wildcards(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '?' || c == '$' {
			return c
		}
		return -1
	}, name)
}

// listSecret takes out of a line of PAM or ssh the secrets in options.
func listSecret(l string) string {
	return optionSecret().ReplaceAllString(l, "${1}"+Dropped)
}

var optionSecret = lazy.Regexp(`(?i)(\s(?:[\w.-]*(?:passwd|password|secret|bindpw|token|psk|key))=)(?:"[^"]*"|\[[^\]]*\]|\S+)`)

// aptField is a field of apt's preferences that counts (apt_preferences(5)). A Pin is no PIN.
var aptField = lazy.Regexp(`(?i)^(?:Package|Pin|Pin-Priority):`)

// pinsAlone empties all other lines of apt's preferences.
func pinsAlone(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if !aptField().MatchString(l) {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// lines redacts a text line by line. Comments go: they are free text.
func (r *Redactor) lines(name string, kind Kind, s string) string {
	if kind == Config || kind == Menu {
		s = remarks(name).ReplaceAllStringFunc(s, func(m string) string { return strings.Repeat("\n", strings.Count(m, "\n")) })
		if strings.HasPrefix(name, "/etc/apt/preferences") {
			s = pinsAlone(s)
		} else {
			s = Secrets(s)
		}
	}
	one := r.lineOf(name, kind)
	if goesOn().MatchString(name) {
		s, one = joined(s), apart(one)
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		body := strings.TrimSuffix(line, "\n")
		lead := body[:len(body)-len(strings.TrimLeft(body, " \t"))]
		if kind != Accounts && kind != Dpkg && (strings.HasPrefix(body[len(lead):], "#") || strings.HasPrefix(body[len(lead):], ";")) {
			b.WriteString(lead + body[len(lead):len(lead)+1])
		} else {
			b.WriteString(one(body))
		}
		b.WriteString(line[len(body):])
	}
	return b.String()
}

var (
	slashes = lazy.Regexp(`(?m)^[ \t]*//.*$|(?s)/\*.*?(?:\*/|\z)`)
	markup  = lazy.Regexp(`(?s)<!--.*?(?:-->|\z)`)
	never   = lazy.Regexp(`a\bz`)
)

// remarks are comments that do not begin with "#" or ";".
func remarks(name string) *regexp.Regexp {
	switch {
	case strings.HasPrefix(name, "/etc/apt/apt.conf"):
		return slashes()
	case strings.HasSuffix(name, ".xml"):
		return markup()
	}
	return never()
}

// lineOf is how a line of a file is redacted.
func (r *Redactor) lineOf(name string, kind Kind) func(string) string {
	switch kind {
	case Environment:
		return r.variable
	case Accounts:
		return r.account
	case Hosts:
		return r.hostsLine
	case Domains:
		return r.resolvLine
	case Dpkg:
		return r.dpkgLine
	case Lists:
		return func(l string) string { return r.listLine(name, l) }
	case Menu:
		return r.menuLine
	}
	return r.configLine(name)
}

// eachField replaces fields and keeps the white space between them.
func eachField(line string, f func(int, string) string) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(line); {
		j := i + 1
		blank := isBlank(line[i])
		for j < len(line) && isBlank(line[j]) == blank {
			j++
		}
		if blank {
			b.WriteString(line[i:j])
		} else {
			b.WriteString(f(n, line[i:j]))
			n++
		}
		i = j
	}
	return b.String()
}

// Path redacts a path. What follows /home is a user, whatever its name.
func (r *Redactor) Path(p string) string {
	if strings.HasPrefix(p, "//") { // a share
		return r.Text(p)
	}
	if n, out := r.device(p); n > 0 {
		return out + r.Text(p[n:])
	}
	parts := strings.Split(p, "/")
	for i, c := range parts {
		if i == 2 && parts[1] == "home" && parts[0] == "" && c != "" {
			parts[i] = r.User(c)
			continue
		}
		parts[i] = r.Text(c)
	}
	return strings.Join(parts, "/")
}

// serialProperty is udev's: the number alone, or behind the names of maker and model.
var serialProperty = lazy.Regexp(`(?m)^E:ID_(?:USB_|SCSI_)?SERIAL(?:_SHORT)?=(\S+)$`)

// LearnFile takes from a file the names that it is known to hold.
func (r *Redactor) LearnFile(name string, b []byte) {
	s := string(b)
	switch KindOf(name) {
	case Name:
		r.LearnHost(strings.TrimSpace(s))
	case Hosts:
		for line := range strings.Lines(s) {
			line, _, _ = strings.Cut(line, "#")
			f := strings.Fields(line)
			for _, n := range f[min(1, len(f)):] {
				if !strings.HasPrefix(n, "localhost") && !strings.HasPrefix(n, "ip6-") {
					r.LearnHost(n)
				}
			}
		}
	case Domains:
		for line := range strings.Lines(s) {
			f := strings.Fields(line)
			if len(f) > 0 && (f[0] == "search" || f[0] == "domain") {
				for _, d := range f[1:] {
					r.LearnDomain(d)
				}
			}
		}
	case Accounts:
		for line := range strings.Lines(s) {
			f := strings.Split(strings.TrimSpace(line), ":")
			if len(f) >= 3 && isPerson(f[2]) {
				r.people[f[0]] = true
				r.LearnUser(f[0])
			} else {
				r.system[f[0]] = true
			}
		}
	}
	if strings.HasPrefix(name, "/sys/") && strings.Contains(path.Base(name), "serial") {
		r.LearnSerial(strings.TrimSpace(s))
	}
	if strings.HasPrefix(name, "/run/udev/data/") {
		for _, m := range serialProperty().FindAllStringSubmatch(s, -1) {
			r.LearnSerial(m[1][strings.LastIndexByte(m[1], '_')+1:])
		}
	}
}
