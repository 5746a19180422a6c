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
		one := func(m []string) string { return r.free(m[1]) + r.comparedWith(m[2]) }
		return r.free(line[:at[1]]) + around(condition(), line[at[1]:], one, r.pairs)
	}
	ofSSH := strings.Contains(name, "ssh") && !strings.Contains(name, "/pam")
	if m := keyed().FindStringSubmatch(line); m != nil && ofSSH && takesOne(m[2]) {
		return m[1] + r.free(m[2]) + m[3] + r.value(m[2], m[4])
	}
	if at := moduleArguments().FindStringIndex(line); at != nil {
		return r.free(line[:at[1]]) + r.moduleOptions(line[at[1]:])
	}
	if at := anyModule().FindStringIndex(line); at != nil {
		return r.free(line[:at[1]]) + around(moduleArgument(), line[at[1]:], func(m []string) string { return r.moduleArgument(m[0]) }, r.free)
	}
	return r.pairs(line)
}

var (
	anyModule      = lazy.Regexp(`\bpam_\w+\.so\b`)
	moduleArgument = lazy.Regexp(`\[[^\]]*\]|\S+`)
	// ofModules are arguments of PAM's modules whose values say nothing of anybody.
	ofModules = lazy.Regexp(`(?i)^(?:retry|type|minlen|difok|[dulo]credit|minclass|max\w+|min\w+|remember|deny|(?:root_)?unlock_time|` +
		`fail_\w+|onerr|sense|item|rounds|umask|delay|skel|motd|env|envfile|readenv|user_readenv|file|dir|conf|config|path|dictpath|` +
		`log_?level|listsep|fieldsep|usergroups|grace_period|rate_limit|window_size|step_size|allowed_perm|silent|mode|method|class|` +
		`kill-\S+|dev|noupdate|open|close|enforce\S*|authfile|accessfile|cue_prompt|inactive|debug\w*|timeout|warn|try|tries|action|` +
		`secret)=`)
)

// moduleArgument redacts one argument of a module of PAM.
func (r *Redactor) moduleArgument(w string) string {
	k, v, ok := strings.Cut(w, "=")
	switch {
	case !ok && strings.Trim(w, "0123456789") == "":
		return r.opaque(w)
	case !ok, ofModules().MatchString(w), strings.TrimRight(v, "]") == Dropped:
		return r.free(w)
	case takesUser().MatchString(plainKey(k)):
		return r.free(k) + "=" + eachWord(v, r.userWord)
	case plain().MatchString(v):
		return r.free(w)
	}
	return r.free(k) + "=" + eachWord(v, r.argument)
}

// comparedWith redacts what a condition about users and groups names: one, a pattern, or a
// list with colons.
func (r *Redactor) comparedWith(list string) string {
	parts := strings.Split(list, ":")
	for i, p := range parts {
		end := strings.TrimRight(p, "*]")
		parts[i] = r.userAt(end) + p[len(end):]
	}
	return strings.Join(parts, ":")
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
