package redact

import (
	"net/netip"
	"strings"

	"fettle/internal/lazy"
)

// Files of few lines in which names are between signs of their own.

var (
	leaseNames     = lazy.Regexp(`(^|[\s{;])((?:key|zone|failover peer|class|group|shared-network|pool)\s+)("[^"]*"|[\w.-]+)`)
	leaseStatement = lazy.Regexp(`(?:[^\s{};"](?:"[^"]*"?|[^{};"])*)+`)
	leaseValue     = lazy.Regexp(`^(\s*)("[^"]*".*)$`)
)

// leaseLine redacts a line of dhclient.conf(5), in which a value may begin a line.
func (r *Redactor) leaseLine(line string) string {
	line = withoutComment(line)
	if m := leaseValue().FindStringSubmatch(line); m != nil {
		return m[1] + r.opaque(m[2])
	}
	line = each(leaseNames(), line, func(m []string) string { return m[1] + m[2] + r.opaque(m[3]) })
	return each(leaseStatement(), line, func(m []string) string { return r.setting("", m[0]) })
}

var (
	accessParts = lazy.Regexp(`^(\s*[+-]\s*:)([^:]*)(:)(.*)$`)
	accessName  = lazy.Regexp(`[A-Za-z][\w.-]*`)
	ofAccess    = set(`ALL EXCEPT LOCAL NONE root cron crond console systemd-user`)
)

// accessLine redacts a line of access.conf(5): who, and from where.
func (r *Redactor) accessLine(line string) string {
	m := accessParts().FindStringSubmatch(withoutComment(line))
	if m == nil {
		return r.opaque(line)
	}
	who := each(accessName(), m[2], func(w []string) string {
		if ofAccess[w[0]] || r.system[w[0]] || daemons()[w[0]] && !r.people[w[0]] {
			return w[0]
		}
		return r.opaque(w[0])
	})
	from := eachWord(m[4], func(w string) string {
		_, err := netip.ParseAddr(strings.TrimRight(w, "."))
		switch {
		case err == nil, strings.Contains(w, "/"), ofAccess[w], strings.HasPrefix(w, "tty") && terminal().MatchString(w),
			w[0] == ':', w[0] >= '0' && w[0] <= '9':
			return r.free(w)
		case !strings.HasPrefix(w, "@") && strings.Contains(w, ":"):
			return r.hosts(w)
		}
		return each(accessName(), w, func(n []string) string { return r.hostAt(n[0]) })
	})
	return m[1] + who + m[3] + from
}

// Title redacts what a process calls itself: behind a colon may stand whom it serves.
func (r *Redactor) Title(s string) string {
	name, of, ok := strings.Cut(s, ": ")
	if !ok {
		return r.Text(s)
	}
	who, rest, more := strings.Cut(of, " ")
	out := r.Text(name) + ": " + r.userWord(who)
	if more {
		out += " " + r.Text(rest)
	}
	return out
}
