package listenaddresslate

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"fettle/host"
	"fettle/host/fact/startup"
	"fettle/host/redact"
	"fettle/internal/lazy"
	"fettle/internal/units"
)

// patience is how long a service must go on trying for this trap to leave it alone.
const patience = 5 * time.Second

// restarts tells whether systemd starts the service again for long enough after its program has failed
// (systemd.service(5), Restart; systemd.unit(5), StartLimitIntervalSec).
func restarts(t *startup.Text) bool {
	switch t.Value("Service", "Restart") {
	case "always", "on-failure":
	default:
		return false
	}
	if e := t.Value("Service", "RestartPreventExitStatus"); strings.Contains(" "+e+" ", " 255 ") &&
		strings.HasSuffix(path.Base(program(t)), "sshd") {
		return false // OpenSSH, sshd.c: "Cannot bind any address." ends with 255
	}
	pause := span(t.Value("Service", "RestartSec"), 100*time.Millisecond)
	within := 10 * time.Second
	for _, at := range [][2]string{{"Service", "StartLimitInterval"}, {"Unit", "StartLimitInterval"}, {"Unit", "StartLimitIntervalSec"}} {
		within = span(t.Value(at[0], at[1]), within)
	}
	burst := 5
	for _, section := range []string{"Service", "Unit"} {
		if n, err := strconv.Atoi(t.Value(section, "StartLimitBurst")); err == nil {
			burst = n
		}
	}
	tries := pause * time.Duration(burst)
	return within == 0 || burst == 0 || tries >= within || tries >= patience
}

func span(s string, otherwise time.Duration) time.Duration {
	if d, err := units.Span(s); err == nil {
		return d
	}
	return otherwise
}

func program(t *startup.Text) string {
	name, _ := startup.Program(t.Value("Service", "ExecStart"))
	return name
}

// settings are the files of programs that their units do not name.
var settings = map[string][]string{
	"nginx":                     {"/etc/nginx/*.conf", "/etc/nginx/conf.d/*", "/etc/nginx/sites-enabled/*"},
	"apache2":                   {"/etc/apache2/*.conf", "/etc/apache2/conf-enabled/*", "/etc/apache2/sites-enabled/*"},
	"apachectl":                 {"/etc/apache2/*.conf", "/etc/apache2/conf-enabled/*", "/etc/apache2/sites-enabled/*"},
	"httpd":                     {"/etc/httpd/conf/*.conf", "/etc/httpd/conf.d/*.conf"},
	"dnsmasq":                   {"/etc/dnsmasq.conf", "/etc/dnsmasq.d/*"},
	"systemd-helper":            {"/etc/dnsmasq.conf", "/etc/dnsmasq.d/*"}, // Debian 13, dnsmasq.service
	"nsd":                       {"/etc/nsd/*.conf", "/etc/nsd/nsd.conf.d/*"},
	"unbound":                   {"/etc/unbound/*.conf", "/etc/unbound/unbound.conf.d/*"},
	"sshd":                      {"/etc/ssh/sshd_config", "/etc/ssh/sshd_config.d/*"},
	"mariadbd":                  {"/etc/mysql/*.cnf", "/etc/mysql/mariadb.conf.d/*", "/etc/mysql/conf.d/*", "/etc/my.cnf", "/etc/my.cnf.d/*"},
	"mysqld":                    {"/etc/mysql/*.cnf", "/etc/mysql/mysql.conf.d/*", "/etc/mysql/conf.d/*", "/etc/my.cnf", "/etc/my.cnf.d/*"},
	"redis-server":              {"/etc/redis/*.conf"},
	"haproxy":                   {"/etc/haproxy/*.cfg"},
	"dovecot":                   {"/etc/dovecot/*.conf", "/etc/dovecot/conf.d/*"},
	"mosquitto":                 {"/etc/mosquitto/*.conf", "/etc/mosquitto/conf.d/*"},
	"pg_ctlcluster":             {"/etc/postgresql/*/main/postgresql.conf"},
	"memcached":                 {"/etc/memcached.conf"},
	"systemd-memcached-wrapper": {"/etc/memcached.conf"},
	"postfix":                   {"/etc/postfix/main.cf"},
	"postmulti":                 {"/etc/postfix/main.cf"},
	"pdns_server":               {"/etc/powerdns/pdns.conf", "/etc/powerdns/pdns.d/*", "/etc/pdns/pdns.conf"},
	"exim4":                     {"/etc/exim4/*"},
}

// names is the file by which a unit listens on the address: that of the unit, or one that the unit names, or one of its
// program's. Programs choose other addresses themselves. free: these files let it bind to addresses that are not there.
func names(ctx context.Context, h *host.Host, u *startup.Unit, t *startup.Text, ip netip.Addr) (place string, free bool, err error) {
	files := settings[path.Base(program(t))]
	var partly error
	for _, e := range t.Entries {
		if e.Section != "Service" || !strings.HasPrefix(e.Key, "Exec") && !strings.HasPrefix(e.Key, "Environment") {
			continue
		}
		if has, _ := mentions(e.Value, ip); has != 0 && place == "" {
			place = e.At()
		}
		files = append(files, paths(u, e.Value)...)
	}
	for _, pattern := range files {
		in, err := h.Glob(ctx, path.Dir(pattern), path.Base(pattern))
		if err != nil {
			return "", false, err
		}
		for _, name := range in {
			text, err := h.ReadShort(ctx, name, most)
			if err != nil {
				return "", false, err
			}
			at, lets := mentions(text, ip)
			if at != 0 && place == "" {
				place = fmt.Sprintf("%s:%d", name, at)
			}
			free = free || lets
			if strings.Contains(text, redact.LeftOut) {
				partly = fmt.Errorf("redaction left out lines of %s: %w", name, host.ErrNotCollected)
			}
		}
	}
	if place == "" && partly != nil {
		return "", false, partly
	}
	return place, free, nil
}

// paths are the files of settings that a value of a unit names.
func paths(u *startup.Unit, value string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" \t\"'=,;:()", r) }) {
		w, ok := u.Expand(strings.TrimLeft(w, "-"))
		if ok && strings.HasPrefix(w, "/etc/") && !strings.ContainsAny(w, "*?[") {
			out = append(out, path.Clean(w))
		}
	}
	return out
}

// most is how long a file of settings may be.
const most = 1 << 20

// freely are the words for listening on addresses that are not there: unbound.conf(5) and nsd.conf(5), dnsmasq(8), haproxy's
// bind keyword, pdns's setting.
var freely = lazy.Regexp(`(?i)^\s*(?:(?:ip-freebind|ip-transparent):\s*yes\b|bind-dynamic\b|bind\s.*\stransparent\b|` +
	`(?:local-address-nonexist-fail)\s*=\s*no\b|non-?local-?bind\s*[=:]?\s*(?:yes|on|true))`)

// mentions is the line, from 1, of a text that names the address outside of comments; 0 if none does.
func mentions(text string, ip netip.Addr) (line int, free bool) {
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "#") || strings.HasPrefix(l, ";") || strings.HasPrefix(l, "//") || strings.HasPrefix(l, "!") {
			continue
		}
		free = free || freely().MatchString(l)
		if line == 0 && has(l, ip) {
			line = n
		}
	}
	return line, free
}

func has(line string, ip netip.Addr) bool {
	for w := range strings.FieldsFuncSeq(line, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF.:", r) }) {
		for _, s := range []string{w, strings.Trim(w, ":")} {
			if a, err := netip.ParseAddr(s); err == nil && a.Unmap() == ip {
				return true
			}
			if p, err := netip.ParseAddrPort(s); err == nil && p.Addr().Unmap() == ip {
				return true
			}
		}
	}
	return false
}
