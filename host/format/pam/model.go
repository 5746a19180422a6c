package pam

import (
	"slices"
	"strconv"
	"strings"

	"fettle/host/format/accounts"
)

// module is what a line may answer. Several outcomes: nobody can foresee it.
func (w *walker) module(r *Rule, tok token) []outcome {
	if w.sim.Missing[r.Module] {
		return []outcome{{ModuleUnknown, tok}}
	}
	m, ok := models[r.Name()]
	if !ok {
		return guess(tok)
	}
	return m(w, r, tok)
}

// guess is the answer of a module that fettle knows nothing of.
func guess(tok token) []outcome {
	return []outcome{
		{Success, tok},
		{AuthErr, tok},
		{Ignore, tok},
		{UserUnknown, tok},
		{AuthinfoUnavail, tok},
		{PermDenied, tok},
		{ServiceErr, tok},
	}
}

// either is one of some codes.
func either(tok token, codes ...Code) []outcome {
	var out []outcome
	for _, c := range codes {
		out = append(out, outcome{c, tok})
	}
	return out
}

type model func(w *walker, r *Rule, tok token) []outcome

func always(c Code) model {
	return func(_ *walker, _ *Rule, tok token) []outcome { return []outcome{{c, tok}} }
}

func verdictOf(ok bool, no Code) Code {
	if ok {
		return Success
	}
	return no
}

// models are the modules whose answers follow from what is known of the host
// and the user. The password that somebody has is right, no account is locked
// by failed attempts or expired: the question is which things suffice.
var models map[string]model

func init() {
	models = map[string]model{
		"pam_permit":    always(Success),
		"pam_deny":      deny,
		"pam_unix":      unix,
		"pam_unix_auth": unix, "pam_unix_acct": unix,
		"pam_google_authenticator": totpModel,
		"pam_succeed_if":           succeedIf,
		"pam_listfile":             listfile,
		"pam_access":               access,
		"pam_nologin":              nologin,
		"pam_localuser":            localuser,
		"pam_rootok":               rootok,
		"pam_wheel":                wheel,
		"pam_faillock":             faillock,
		"pam_shells":               shells,
		"pam_usertype":             usertype,
		"pam_securetty":            securetty,
		"pam_cap":                  capability,
		"pam_sss":                  directory, "pam_ldap": directory, "pam_ldapd": directory, "pam_winbind": directory, "pam_krb5": directory,
		// Modules without an opinion: their pam_sm_authenticate and
		// pam_sm_acct_mgmt return PAM_IGNORE.
		"pam_env": env, "pam_faildelay": always(Ignore), "pam_group": always(Ignore), "pam_keyinit": always(Ignore),
		"pam_warn": always(Ignore), "pam_mail": always(Ignore), "pam_echo": always(Ignore),
	}
}

func deny(_ *walker, _ *Rule, tok token) []outcome { return either(tok, AuthErr) }

// env has no opinion in auth, and is no module for accounts.
func env(w *walker, _ *Rule, tok token) []outcome {
	if w.facility == Account {
		return either(tok, ServiceErr)
	}
	return either(tok, Ignore)
}

// unix takes the password that an earlier module asked for, or asks. A wrong
// one is not asked for again.
func unix(w *walker, r *Rule, tok token) []outcome {
	if w.facility == Account {
		if w.user.Local {
			return either(tok, Success)
		}
		return either(tok, Success, UserUnknown, AuthinfoUnavail)
	}
	return w.password(r, tok, w.user.Local)
}

func (w *walker) password(r *Rule, tok token, knows bool) []outcome {
	if tok == "" && !r.Arg("use_first_pass") {
		tok = w.ask("P", false)
	}
	return either(tok, verdictOf(knows && tok == "P", AuthErr))
}

// directory is a module that checks passwords elsewhere.
func directory(w *walker, r *Rule, tok token) []outcome {
	switch {
	case w.user.Local && r.Name() == "pam_krb5":
		return guess(tok) // a principal may have a local user's name
	case w.user.Local:
		return either(tok, UserUnknown)
	case w.facility == Account:
		return either(tok, Success)
	}
	return w.password(r, tok, true)
}

func nologin(w *walker, r *Rule, tok token) []outcome {
	switch {
	case w.user.UID == 0 || !w.sim.Nologin:
		return either(tok, verdictOf(r.Arg("successok"), Ignore))
	}
	return either(tok, AuthErr)
}

func localuser(w *walker, _ *Rule, tok token) []outcome {
	return either(tok, verdictOf(w.user.Local, PermDenied))
}

// rootok looks at the process, and sshd and login run as root.
func rootok(_ *walker, _ *Rule, tok token) []outcome { return either(tok, Success) }

// wheel asks who called, whom a service has none of but with use_uid.
func wheel(w *walker, r *Rule, tok token) []outcome {
	if r.Arg("root_only") && w.user.UID != 0 {
		return either(tok, Ignore)
	}
	return guess(tok)
}

func faillock(w *walker, r *Rule, tok token) []outcome {
	if w.facility == Auth && r.Arg("authfail") {
		return either(tok, Ignore)
	}
	return either(tok, Success)
}

func shells(w *walker, _ *Rule, tok token) []outcome {
	if w.sim.Shells == nil {
		return guess(tok)
	}
	return either(tok, verdictOf(slices.Contains(w.sim.Shells, w.user.Shell), AuthErr))
}

// usertype takes the bounds of login.defs as they are shipped.
func usertype(w *walker, r *Rule, tok token) []outcome {
	regular := w.user.UID >= 1000 && w.user.UID != accounts.Nobody
	switch {
	case r.Arg("use_uid"):
		regular = false
	case !r.Arg("isregular") && !r.Arg("issystem"):
		return either(tok, ServiceErr)
	}
	return either(tok, verdictOf(regular == r.Arg("isregular"), AuthErr))
}

func securetty(w *walker, _ *Rule, tok token) []outcome {
	if w.user.UID != 0 {
		return either(tok, Success)
	}
	return guess(tok)
}

// capability succeeds for users whom a line of capability.conf means, also
// Debian's own line "none *", and ignores others.
func capability(w *walker, r *Rule, tok token) []outcome {
	name, ok := r.Value("config")
	if !ok {
		name = capConf
	}
	f := w.sim.Texts[name]
	if f.Unread {
		return either(tok, Success, Ignore)
	}
	for line := range strings.Lines(f.Content) {
		line, _, _ = strings.Cut(line, "#")
		for i, who := range strings.Fields(line) {
			group, is := strings.CutPrefix(who, "@")
			if i > 0 && (who == "*" || who == w.user.Name || is && slices.Contains(w.user.Groups, group)) {
				return either(tok, Success)
			}
		}
	}
	return either(tok, Ignore)
}

const capConf = "/etc/security/capability.conf"

// succeedIf tests "FIELD OP VALUE" triples (pam_succeed_if(8)).
func succeedIf(w *walker, r *Rule, tok token) []outcome {
	var f []string
	u := w.user
	for _, a := range r.Args {
		switch a {
		case "debug", "quiet", "quiet_fail", "quiet_success", "audit":
		case "use_uid": // the process's own, and that is root's
			u = &User{Name: "root", Home: "/root", Shell: "/bin/bash", Groups: w.sim.RootGroups, Local: true}
		default:
			f = append(f, a)
		}
	}
	for ; len(f) >= 3; f = f[3:] {
		code, known := w.condition(u, f[0], lower(f[1]), f[2])
		if !known {
			return either(tok, Success, AuthErr)
		}
		if code != Success {
			return either(tok, code)
		}
	}
	if len(f) > 0 {
		return either(tok, ServiceErr)
	}
	return either(tok, Success)
}

func (w *walker) condition(u *User, field, op, value string) (code Code, known bool) {
	var left string
	switch lower(field) {
	case "user", "login", "name":
		left = u.Name
	case "uid":
		left = strconv.FormatUint(uint64(u.UID), 10)
	case "gid":
		left = strconv.FormatUint(uint64(u.GID), 10)
	case "shell":
		left = u.Shell
	case "home", "dir", "homedir":
		left = u.Home
	case "service":
		left = w.sim.Config.Service
	case "ruser", "rhost", "tty":
		return 0, false
	default:
		return ServiceErr, true
	}
	is := func(ok bool) (Code, bool) { return verdictOf(ok, AuthErr), true }
	switch op {
	case "=":
		return is(left == value)
	case "!=":
		return is(left != value)
	case "in":
		return is(slices.Contains(strings.Split(value, ":"), left))
	case "notin":
		return is(!slices.Contains(strings.Split(value, ":"), left))
	case "ingroup":
		return is(slices.Contains(u.Groups, value))
	case "notingroup":
		return is(!slices.Contains(u.Groups, value))
	case "=~", "glob":
		return is(fnmatch(value, left))
	case "!~", "noglob":
		return is(!fnmatch(value, left))
	case "innetgr", "notinnetgr":
		return 0, false
	}
	l, err1 := strconv.ParseInt(left, 0, 64)
	v, err2 := strconv.ParseInt(value, 0, 64)
	compare, ok := map[string]bool{"<": l < v, "lt": l < v, "<=": l <= v, "le": l <= v, ">": l > v, "gt": l > v,
		">=": l >= v, "ge": l >= v, "eq": l == v, "ne": l != v}[op]
	if !ok || err1 != nil || err2 != nil {
		return ServiceErr, true
	}
	return is(compare)
}
