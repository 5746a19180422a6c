package sshlogin

import (
	"slices"
	"strings"

	"fettle/host/format/pam"
	"fettle/host/format/sshd"
)

// terms is what sshd asks of one connection.
type terms struct {
	pam     bool
	methods map[string]pam.Verdict // whether sshd offers them
	chains  [][]string             // any of them; all methods of one
	unsure  string                 // a setting whose value nobody knows
}

func (l *Logins) terms(u *pam.User, e *sshd.Effective) *terms {
	t := &terms{methods: map[string]pam.Verdict{}}
	on := func(keyword string) pam.Verdict {
		s := e.Get(keyword)
		switch {
		case !s.Known:
			t.unsure = keyword + " (its default depends on sshd's version)"
			return pam.Depends
		case s.Is("yes"):
			return pam.Yes
		}
		return pam.No
	}
	t.pam = e.Get("UsePAM").Is("yes")
	t.methods["publickey"] = on("PubkeyAuthentication")
	t.methods["password"] = on("PasswordAuthentication")
	t.methods["hostbased"] = on("HostbasedAuthentication")
	t.methods["gssapi-with-mic"] = on("GSSAPIAuthentication")
	if t.pam { // without PAM sshd has nobody to ask in a dialog
		t.methods["keyboard-interactive"] = on("KbdInteractiveAuthentication")
	}
	if u.UID == 0 {
		root := e.Get("PermitRootLogin")
		switch v := root.Value(); {
		case !root.Known:
			t.unsure = "PermitRootLogin (its default depends on sshd's version)"
			for _, m := range []string{"password", "keyboard-interactive"} {
				t.methods[m] = min(t.methods[m], pam.Depends)
			}
		case v == "without-password", v == "prohibit-password":
			t.methods["password"], t.methods["keyboard-interactive"] = pam.No, pam.No
		case v == "forced-commands-only":
			for m := range t.methods {
				t.methods[m] = pam.No
			}
		}
	}
	want := e.Get("AuthenticationMethods").Values
	if len(want) == 0 || slices.Contains(want, "any") {
		for _, m := range []string{"publickey", "password", "keyboard-interactive", "hostbased", "gssapi-with-mic"} {
			t.chains = append(t.chains, []string{m})
		}
		return t
	}
	for _, list := range want {
		t.chains = append(t.chains, strings.Split(list, ","))
	}
	return t
}

// denied follows auth.c, allowed_user: DenyUsers, AllowUsers, DenyGroups,
// AllowGroups. A pattern USER@HOST counts whatever the host.
func (l *Logins) denied(u *pam.User, e *sshd.Effective) string {
	if u.UID == 0 {
		if s := e.Get("PermitRootLogin"); s.Is("no") {
			return place(s)
		}
	}
	user := func(keyword string, hosts bool) (set, match bool) {
		for _, v := range e.Get(keyword).Values {
			name, _, at := strings.Cut(v, "@")
			set = true
			match = match || (!at || hosts) && sshd.PatternList(u.Name, name) == 1
		}
		return set, match
	}
	group := func(keyword string) (set, match bool) {
		for _, v := range e.Get(keyword).Values {
			set = true
			match = match || slices.ContainsFunc(u.Groups, func(g string) bool { return sshd.PatternList(g, v) == 1 })
		}
		return set, match
	}
	if _, hit := user("DenyUsers", false); hit {
		return place(e.Get("DenyUsers"))
	}
	if set, hit := user("AllowUsers", true); set && !hit {
		return place(e.Get("AllowUsers"))
	}
	if _, hit := group("DenyGroups"); hit {
		return place(e.Get("DenyGroups"))
	}
	if set, hit := group("AllowGroups"); set && !hit {
		return place(e.Get("AllowGroups"))
	}
	return ""
}

// deciding are the keywords that this package looks at.
var deciding = []string{
	"authenticationmethods",
	"pubkeyauthentication",
	"passwordauthentication",
	"kbdinteractiveauthentication",
	"permitrootlogin",
	"gssapiauthentication",
	"hostbasedauthentication",
	"allowusers",
	"denyusers",
	"allowgroups",
	"denygroups",
}

// maxOrigins bounds how many are tried.
const maxOrigins = 16

// origin is an example of the connections that the patterns of Match blocks take in; patterns are the example itself where
// those differ.
type origin struct {
	sshd.Conn
	patterns string
}

// origins are connections of u that Match blocks with an address or a host
// around deciding lines take in: one example of each.
func (l *Logins) origins(u *pam.User) []origin {
	var out []origin
	for _, d := range l.Sshd.Lines {
		if d.Ignored != "" || !slices.Contains(deciding, d.Keyword) {
			continue
		}
		c := sshd.Conn{User: u.Name, Groups: u.Groups}
		addr, name := "", ""
		for _, m := range d.Match {
			f := strings.Fields(m.Text)
			for i := 0; i+1 < len(f); i++ {
				switch strings.ToLower(f[i]) {
				case "address":
					addr, c.Addr = f[i+1], example(f[i+1])
				case "host":
					name, c.Host = f[i+1], example(f[i+1])
				}
			}
		}
		if (c.Addr != "" || c.Host != "") && !slices.ContainsFunc(d.Match, func(m *sshd.Match) bool { return !m.Matches(c) }) &&
			len(out) < maxOrigins {
			patterns := strings.TrimSpace(addr + " " + name)
			switch i := slices.IndexFunc(out, func(o origin) bool { return o.Addr == c.Addr && o.Host == c.Host }); {
			case i < 0:
				out = append(out, origin{c, patterns})
			case out[i].patterns != patterns: // what holds of the example need not hold of all that either takes in
				out[i].patterns = strings.TrimSpace(c.Addr + " " + c.Host)
			}
		}
	}
	return out
}

// example is an address or a name that a list of patterns takes in.
func example(list string) string {
	for p := range strings.SplitSeq(list, ",") {
		if p == "" || p[0] == '!' {
			continue
		}
		p, _, _ = strings.Cut(p, "/")
		return strings.NewReplacer("*", "1", "?", "1").Replace(p)
	}
	return ""
}
