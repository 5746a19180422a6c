package redact

import (
	"net/netip"
	"regexp"
	"strings"

	"fettle/internal/lazy"
)

// Names of sections, shares and realms are what somebody called them, and may be any word.

var (
	section    = lazy.Regexp(`^(\s*\[)([^\]]*)(\].*)$`)
	ownSection = set(`sssd nss pam sudo ssh autofs ifp pac kcm files implicit_files secrets prompting session_recording`)
)

// named replaces a name in a section's title; of domain/NAME, what comes behind the slash.
func (r *Redactor) named(title string) string {
	if ownSection[title] {
		return title
	}
	if kind, name, ok := strings.Cut(title, "/"); ok {
		return r.Text(kind) + "/" + r.opaque(name)
	}
	return r.opaque(title)
}

// sectionLine redacts a line of a file whose sections are names.
func (r *Redactor) sectionLine(name, line string) string {
	if m := section().FindStringSubmatch(line); m != nil {
		return m[1] + r.named(m[2]) + r.free(m[3])
	}
	if m := domainList().FindStringSubmatch(line); m != nil {
		return m[1] + eachWord(m[2], r.named)
	}
	return r.directoryNames(r.setting(name, line))
}

var (
	domainList = lazy.Regexp(`^(\s*domains\s*=\s*)(.*)$`)
	nameParts  = lazy.Regexp(`(?i)\b((?:dc|ou|cn|o|uid|l|st)=)([^,;()"'*\s=&|]+)`)
)

// directoryNames replaces the values in names of LDAP: dc=x,ou=y, and in filters.
func (r *Redactor) directoryNames(line string) string {
	return each(nameParts(), line, func(m []string) string {
		if _, done := r.replaced[m[2]]; done {
			return m[0]
		}
		return m[1] + r.opaque(m[2])
	})
}

// each replaces what re matches by what f makes of the match and its groups.
func each(re *regexp.Regexp, s string, f func([]string) string) string {
	return re.ReplaceAllStringFunc(s, func(m string) string { return f(re.FindStringSubmatch(m)) })
}

// around is each, and what is between the matches by rest.
func around(re *regexp.Regexp, s string, f func([]string) string, rest func(string) string) string {
	var b strings.Builder
	at := 0
	for _, m := range re.FindAllStringIndex(s, -1) {
		b.WriteString(rest(s[at:m[0]]) + f(re.FindStringSubmatch(s[m[0]:m[1]])))
		at = m[1]
	}
	return b.String() + rest(s[at:])
}

var (
	realmKeys  = lazy.Regexp(`^(\s*(?:kdc|admin_server|master_kdc|primary_kdc|kpasswd_server|default_domain|default_realm)\s*=\s*)(.*)$`)
	realmOpen  = lazy.Regexp(`^(\s*)(\S+)(\s*=\s*\{.*)$`)
	realmRule  = lazy.Regexp(`(@)([A-Za-z][\w.-]*)`)
	ruleWord   = lazy.Regexp(`[A-Za-z0-9][\w-]+`)
	peopleOpen = lazy.Regexp(`^(\s*auth_to_local_names\s*=\s*)(\{.*)$`)
	ofRules    = lazy.Regexp(`^\s*auth_to_local`)
)

// realmLines redacts krb5.conf(5), where realms and domains are names.
func (r *Redactor) realmLines() func(string) string {
	in := ""
	people := false // between the braces of auth_to_local_names
	return func(line string) string {
		m := peopleOpen().FindStringSubmatch(line)
		switch {
		case m != nil:
			people = !strings.Contains(m[2], "}")
			return r.free(m[1]) + r.opaque(m[2])
		case people:
			people = !strings.Contains(line, "}")
			return r.opaque(line)
		}
		if m := section().FindStringSubmatch(line); m != nil {
			in = strings.TrimSpace(m[2])
			return r.Text(line)
		}
		line = withoutComment(line)
		if m := realmKeys().FindStringSubmatch(line); m != nil {
			return m[1] + r.hosts(m[2])
		}
		m = realmOpen().FindStringSubmatch(line)
		switch {
		case m != nil && (in == "realms" || in == "capaths"):
			return m[1] + r.hosts(m[2]) + m[3]
		case in == "domain_realm" || in == "capaths":
			return r.hosts(line)
		case ofRules().MatchString(line):
			key, rule, _ := strings.Cut(line, "=")
			rule = each(realmRule(), rule, func(m []string) string { return m[1] + r.hostAt(m[2]) })
			return r.free(key) + "=" + each(ruleWord(), rule, func(m []string) string {
				if m[0] == "RULE" || m[0] == "DEFAULT" || m[0] == "DB" {
					return m[0]
				}
				return r.opaque(m[0])
			})
		}
		return r.directoryNames(r.setting("", line))
	}
}

var forwarded = lazy.Regexp(`^(.*\s|)(-?@@?(?:\([^)]*\))?)(\[[^\]]*\]|[A-Za-z0-9][\w.-]*)(.*)$`)

// forwardLine redacts a line of rsyslog's; a host follows @ and @@.
func (r *Redactor) forwardLine(name, line string) string {
	line = withoutComment(line)
	if m := forwarded().FindStringSubmatch(line); m != nil && !strings.Contains(m[1], "(") {
		return r.selector(m[1]) + m[2] + r.hostAt(m[3]) + r.free(m[4])
	}
	if aboutProperty().MatchString(line) {
		return r.selector(line)
	}
	if m := toModule().FindStringSubmatch(line); m != nil {
		return r.free(m[1]) + r.opaque(m[2])
	}
	return around(parameter(), line, func(m []string) string {
		switch {
		case strings.Trim(m[3], `"`) == Dropped, ofParameters().MatchString(m[1]), takesOne(m[1]):
			return r.setting(name, m[0])
		}
		return r.free(m[1]) + m[2] + r.argument(m[3])
	}, func(s string) string { return r.setting(name, s) })
}

func (r *Redactor) selector(s string) string {
	if m := aboutProperty().FindStringSubmatch(s); m != nil {
		return r.free(m[1]) + r.opaque(m[2]) + r.free(m[3])
	}
	return r.free(s)
}

var (
	// aboutProperty is a condition about a property of messages; toModule is what an output takes.
	aboutProperty = lazy.Regexp(`^(\s*:[\w!$.-]+,\s*!?\w+,\s*)("[^"]*")(.*)$`)
	toModule      = lazy.Regexp(`^(.*:om\w+:)(.*)$`)
	parameter     = lazy.Regexp(`\b([A-Za-z][\w.]*)(\s*=\s*)("[^"]*")`)
	// ofParameters are those of rsyslog whose values say nothing of anybody.
	ofParameters = lazy.Regexp(`(?i)^(?:type|name|file|dynafile|template|facility|severity|protocol|port|(?:queue|action|tls|` +
		`stream)\.?\w*|load|mode|tag|input|ruleset|\w*mode|\w*owner|\w*group|socket|interval|option\.\w+)$`)
)

// pointLines redacts netplan's, where below access-points stand names of networks.
func (r *Redactor) pointLines(name string) func(string) string {
	from, first := -1, -1
	under := "" // the setting whose list this is
	return func(line string) string {
		in := len(line) - len(strings.TrimLeft(line, " "))
		body := strings.TrimSpace(line)
		if body != "" && in <= from {
			from = -1
		}
		if m := listItem().FindStringSubmatch(line); m != nil && under != "" {
			return m[1] + r.value(under, m[2])
		}
		if m := opensList().FindStringSubmatch(line); m != nil {
			under = m[1]
		} else if body != "" && body[0] != '#' {
			under = ""
		}
		key, rest, ok := strings.Cut(line, ":")
		if q := quotedKey().FindStringSubmatch(line); q != nil {
			key, rest = q[1], q[2]
		}
		switch {
		case strings.HasPrefix(body, "access-points:"):
			from, first = in, -1
			return r.Text(key) + ":" + r.opaque(rest)
		case from >= 0 && body != "" && (first < 0 || in == first) && ok:
			first = in
			return r.opaque(key) + ":" + r.pairs(rest)
		}
		return r.setting(name, line)
	}
}

var (
	listItem  = lazy.Regexp(`^(\s*(?:-\s+)+)([^:{\[]+)$`)
	opensList = lazy.Regexp(`^\s*(?:-\s+)?["']?([\w-]+)["']?:\s*$`)
	quotedKey = lazy.Regexp(`^(\s*(?:"[^"]*"|'[^']*')\s*):(.*)$`)
)

var wrapped = lazy.Regexp(`(?i)^(?:ALL|LOCAL|KNOWN|UNKNOWN|PARANOID|EXCEPT|allow|deny|spawn|twist|severity|banners|user|umask|` +
	`keepalive|nice|setenv|rfc931|linger|aclexec)$`)

// wrapperLine redacts a line of hosts_access(5): services, clients, and a command.
func (r *Redactor) wrapperLine(line string) string {
	line = withoutComment(line)
	services, rest, ok := strings.Cut(line, ":")
	if !ok {
		return r.free(line)
	}
	command := ""
	if at := wrapperCommand().FindStringIndex(rest); at != nil {
		rest, command = rest[:at[1]], r.Command(rest[at[1]:])
	}
	service := func(w string) string {
		if name, host, at := strings.Cut(w, "@"); at {
			return r.free(name) + "@" + r.hosts(host)
		}
		return r.free(w)
	}
	client := func(w string) string {
		lead := w[:len(w)-len(strings.TrimLeft(w, ".@"))]
		bare := w[len(lead):]
		_, err := netip.ParseAddr(bare)
		switch {
		case wrapped().MatchString(w), err == nil, strings.ContainsAny(w, "/*?:"), bare == "", bare[0] >= '0' && bare[0] <= '9':
			return r.free(w)
		case strings.Contains(bare, "@"):
			return r.userWord(w)
		case lead == "@":
			return lead + r.opaque(bare)
		}
		return lead + r.hostAt(bare)
	}
	return eachWord(services, service) + ":" + eachWord(rest, client) + command
}

var wrapperCommand = lazy.Regexp(`:\s*(?:spawn|twist|aclexec)\s+`)
