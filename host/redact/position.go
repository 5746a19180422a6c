package redact

import (
	"net/netip"
	"strings"

	"fettle/internal/lazy"
)

// Names that may be everyday words are known by where they are: behind // in
// a URL or a share, behind @, before :/ of an NFS export, and behind keywords
// that take users or hosts.
var (
	// A URL's, a CIFS or a UNC share's host, with who logs in.
	authority = lazy.Regexp(`^(?://|\\\\)(?:([^\s/@"'<>]{0,200})@)?([A-Za-z0-9][\w.-]{0,253})`)
	afterAt   = lazy.Regexp(`^@([A-Za-z0-9][\w-]*(?:\.[\w-]+)*)`)
	// A mailbox, or who logs in where.
	mailbox = lazy.Regexp(`^([A-Za-z][\w.+-]{0,63})@([A-Za-z][\w-]{0,62}(?:\.[\w-]{1,62}){0,8})`)
	export  = lazy.Regexp(`^([A-Za-z][\w.-]{0,253}):/(?:[^/]|$)`)
	// A Kerberos principal of a service: HTTP/web.example.com.
	principal = lazy.Regexp(`^(?i:http|host|krbtgt|ldap|nfs|cifs|imap|smtp|postgres|mssqlsvc|termsrv|dns|ftp|` +
		`rcmd)/([A-Za-z0-9][\w-]*(?:\.[\w-]+)*)`)
	// target is a disk's name on the wire (RFC 3720, 3.2.6.3).
	target   = lazy.Regexp(`^(iqn\.[\w.-]+):([^\s,;"'\])]+)`)
	unitType = lazy.Regexp(`\.(service|socket|target|timer|mount|automount|slice|scope|path|device|swap)(\.\w+)?$`)
	terminal = lazy.Regexp(`^(tty\w*|pts\d*|console|\d+|[a-z]+)$`)
)

// positioned replaces a name at s[i:] that its position tells.
func (r *Redactor) positioned(s string, i int) (int, string) {
	rest := s[i:]
	switch c := s[i]; {
	case c == '/' && strings.HasPrefix(rest, "/dev/") && (i == 0 || !wordByte(s[i-1])):
		return r.device(rest)
	case c == 'd' && strings.HasPrefix(rest, "dev-") && (i == 0 || !wordByte(s[i-1])):
		if m := deviceUnit().FindStringSubmatch(rest); m != nil && !numberedArray().MatchString(m[2]) {
			return len(m[0]), m[1] + r.Volume(m[2]) + m[3]
		}
	case c == 'i' && strings.HasPrefix(rest, "iqn.") && (i == 0 || !wordByte(s[i-1])):
		if m := target().FindStringSubmatch(rest); m != nil {
			return len(m[0]), r.words(m[1]) + ":" + r.opaque(m[2])
		}
	case c == '/' || c == '\\':
		if m := authority().FindStringSubmatch(rest); m != nil && (i == 0 || s[i-1] != c) {
			out := rest[:2]
			if m[1] != "" {
				out += Dropped + "@"
			}
			n := len(m[0])
			if i == 0 || s[i-1] != ':' { // no URL: what is shared has a name, too
				n += len(share().FindString(rest[n:]))
			}
			return n, out + r.hostAt(m[2]) + r.sharePath(rest[len(m[0]):n])
		}
	case c == '@' && i > 0 && (wordByte(s[i-1]) || strings.IndexByte("-_.", s[i-1]) >= 0):
		m := afterAt().FindStringSubmatch(rest)
		if m != nil && !unitType().MatchString(m[1]) && !terminal().MatchString(m[1]) {
			return len(m[0]), "@" + r.hostAt(m[1])
		}
	case i == 0 || strings.IndexByte(" \t\f\"'=,(<:\n", s[i-1]) >= 0:
		if m := client().FindStringSubmatch(rest); m != nil {
			return len(m[1]), r.hostAt(m[1])
		}
		if m := mailbox().FindStringSubmatch(rest); m != nil && !unitType().MatchString(m[2]) && !terminal().MatchString(m[2]) {
			return len(m[0]), r.userWord(m[0])
		}
		if i > 0 && strings.IndexByte("<:", s[i-1]) >= 0 {
			return 0, ""
		}
		if m := export().FindStringSubmatch(rest); m != nil && m[1] != "external" { // of MD metadata
			n := len(m[1]) + 1 + len(share().FindString(rest[len(m[1])+1:]))
			return n, r.hostAt(m[1]) + ":" + r.sharePath(rest[len(m[1])+1:n])
		}
		if m := principal().FindStringSubmatch(rest); m != nil {
			return len(m[0]), m[0][:len(m[0])-len(m[1])] + r.hostAt(m[1])
		}
	}
	return 0, ""
}

// client is who may mount a folder, before the options (exports(5)): a host, also one with
// an everyday name, a net or a netgroup.
var client = lazy.Regexp(`^([A-Za-z][A-Za-z0-9.-]*)\(` +
	`(?:rw|ro|a?sync|(?:in)?secure|no_|(?:no)?hide|root_squash|all_squash|anon|fsid=|sec=|crossmnt)`)

var (
	share     = lazy.Regexp(`^[/\\][^\s"'<>,;|()\[\]]*`)
	ofSystems = set(`srv home export exports mnt media data var lib opt usr local vol volume volumes tmp nfs`)
)

// sharePath is the path on a server: but for usual folders, names.
func (r *Redactor) sharePath(p string) string {
	return each(shareName(), p, func(m []string) string {
		if ofSystems[m[0]] {
			return m[0]
		}
		return r.opaque(m[0])
	})
}

var shareName = lazy.Regexp(`[^/\\]+`)

// hostAt replaces what is in a host's place: a name, or an address.
func (r *Redactor) hostAt(name string) string {
	trimmed := strings.TrimRight(name, ".")
	if _, err := netip.ParseAddr(trimmed); err == nil || trimmed == "localhost" {
		return r.plainText(name)
	}
	if n, p := r.form(name, 0); n > 0 {
		return p + r.plainText(name[n:])
	}
	return r.Host(trimmed) + name[len(trimmed):]
}

var (
	ofUsers = lazy.Regexp(`(?i)^(\s*(?:AllowUsers|DenyUsers|User|AuthorizedKeysCommandUser|` +
		`AuthorizedPrincipalsCommandUser|AllowGroups|DenyGroups)[ \t=]+)(\S.*)$`)
	ofHosts   = lazy.Regexp(`(?i)^(\s*(?:HostName|ProxyJump|HostKeyAlias|Host)[ \t=]+)(\S.*)$`)
	ofTargets = lazy.Regexp(`(?i)^(\s*(?:RemoteForward|LocalForward|PermitOpen|PermitListen|DynamicForward|CanonicalDomains|` +
		`PermitRemoteOpen)[ \t=]+)(\S.*)$`)
	match = lazy.Regexp(`(?i)^\s*Match\s`)
)

// matchExec is a command in a line of conditions.
var matchExec = lazy.Regexp(`(?i)^(\s*match\b.*?)(\s!?exec\s+)("[^"]*"?|\S+)(.*)$`)

// keyworded replaces in a line of ssh's or sshd's configuration the users and
// hosts that its keyword takes; false: its keyword takes none.
func (r *Redactor) keyworded(line string) (string, bool) {
	if m := ofUsers().FindStringSubmatch(line); m != nil {
		return m[1] + eachField(m[2], func(_ int, f string) string { return r.userAt(f) }), true
	}
	if m := ofHosts().FindStringSubmatch(line); m != nil {
		return m[1] + eachField(m[2], func(_ int, f string) string { return r.patterns(f, r.hostAt) }), true
	}
	if m := ofTargets().FindStringSubmatch(line); m != nil {
		return m[1] + eachField(m[2], func(_ int, f string) string { return r.hosts(f) }), true
	}
	if !match().MatchString(line) {
		return "", false
	}
	if m := matchExec().FindStringSubmatch(line); m != nil {
		before, _ := r.keyworded(m[1])
		after, _ := r.keyworded("Match " + m[4])
		return before + m[2] + r.quotedCommand(m[3], 0) + strings.TrimPrefix(after, "Match "), true
	}
	key := ""
	return eachField(line, func(i int, f string) string {
		defer func() {
			if i > 0 && key == "" {
				key = strings.ToLower(f)
			} else {
				key = ""
			}
		}()
		switch key {
		case "user", "localuser", "group", "tagged":
			return r.userAt(f)
		case "host", "originalhost":
			return r.patterns(f, r.hostAt)
		}
		return r.Text(f)
	}), true
}

// patterns replaces the names in a list of patterns, a,!b,*.c.
func (r *Redactor) patterns(list string, one func(string) string) string {
	parts := strings.Split(list, ",")
	for i, p := range parts {
		name := strings.TrimLeft(p, "!*?.")
		if name != "" && !strings.ContainsAny(name, "*?%") {
			parts[i] = p[:len(p)-len(name)] + one(name)
		} else {
			parts[i] = r.Text(p)
		}
	}
	return strings.Join(parts, ",")
}

// userAt replaces users in a list of patterns: all but accounts of the system.
func (r *Redactor) userAt(list string) string {
	return r.patterns(list, func(p string) string {
		name, from, at := strings.Cut(p, "@")
		if !r.system[name] && name != "root" && name != "nobody" {
			name = r.User(name)
		}
		if at {
			name += "@" + r.hostAt(from)
		}
		return name
	})
}
