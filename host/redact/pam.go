package redact

import (
	"strings"

	"fettle/internal/lazy"
)

// listLine redacts a line of PAM, of ssh or of a list of services.
func (r *Redactor) listLine(name, line string) string {
	line = withoutComment(line)
	if l, ok := r.keyworded(line); ok {
		return l
	}
	if strings.HasPrefix(name, "/etc/hosts.") {
		return r.wrapperLine(line)
	}
	line = listSecret(flagSecrets(line))
	if at := conditions().FindStringIndex(line); at != nil {
		one := func(m []string) string { return r.free(m[1]) + r.userAt(m[2]) }
		return r.free(line[:at[1]]) + around(condition(), line[at[1]:], one, r.pairs)
	}
	ofSSH := strings.Contains(name, "ssh") && !strings.Contains(name, "/pam")
	if m := keyed().FindStringSubmatch(line); m != nil && ofSSH && takesOne(m[2]) {
		return m[1] + r.free(m[2]) + m[3] + r.value(m[2], m[4])
	}
	if at := moduleArguments().FindStringIndex(line); at != nil {
		return r.free(line[:at[1]]) + r.moduleOptions(line[at[1]:])
	}
	if i := strings.Index(line, ": spawn "); i >= 0 {
		return r.free(line[:i+8]) + r.Command(line[i+8:])
	}
	return r.pairs(line)
}

var moduleArguments = lazy.Regexp(`\bpam_exec\.so\s`)

// moduleOptions are options of a PAM module that runs a command.
func (r *Redactor) moduleOptions(s string) string {
	if i := strings.IndexByte(s, '/'); i >= 0 {
		return r.free(s[:i]) + r.Command(s[i:])
	}
	return r.free(s)
}

// conditions are arguments of pam_succeed_if(8); condition is one about users and groups.
var (
	conditions = lazy.Regexp(`\bpam_succeed_if\.so\s`)
	condition  = lazy.Regexp(`(\b(?:user|group|ruser|rhost|shell|home|service|tty|uid|gid)\s+(?:=|!=|eq|ne|in|notin|` +
		`ingroup|notingroup|=~|!~)\s+|` +
		`innetgroup\s+)([A-Za-z][^\s]*)`)
)
