package host

import (
	"slices"
	"time"
)

// validators are programs that look at the configuration of their own service, and start
// nothing. Each was seen under strace to write nowhere, or only to what an isolated command has
// for itself: nginx -t makes its logs and its PID file and binds its ports; apache2ctl makes
// /run/apache2. Those that repair (postfix check from 3.8 on), write to their data (slaptest,
// mariadbd --help) or have no dry run are not here.
var validators = withPHP(map[string]CommandSpec{
	"sshd":            validator([][]string{{"-t"}}, "/usr/sbin/sshd"),
	"nginx":           validator([][]string{{"-t", "-q"}}, "/usr/sbin/nginx", "/usr/bin/nginx"),
	"apache2ctl":      validator([][]string{{"configtest"}}, "/usr/sbin/apache2ctl"),
	"httpd":           validator([][]string{{"-t"}}, "/usr/sbin/httpd"),
	"haproxy":         validator([][]string{{"-c", "-f", "/etc/haproxy/haproxy.cfg"}}, "/usr/sbin/haproxy"),
	"named-checkconf": validator([][]string{nil, {"-z"}}, "/usr/bin/named-checkconf", "/usr/sbin/named-checkconf"),
	"postconf":        validator([][]string{{"mail_version"}, {"-M", "smtp/inet"}}, "/usr/sbin/postconf"),
	"doveconf":        validator([][]string{{"protocols"}, {"-x", "ssl_cert"}}, "/usr/bin/doveconf"),
	"testparm":        validator([][]string{{"-s", "--parameter-name=workgroup"}}, "/usr/bin/testparm"),
	"nft": asking(validator([][]string{{"-c", "-f", "/etc/nftables.conf"}, {"-c", "-f", "/etc/sysconfig/nftables.conf"}},
		"/usr/sbin/nft"), "-s", "list", "ruleset"), // -s: without counters
	"iptables-legacy-save":  saves("/usr/sbin/iptables-legacy-save", "/usr/sbin/iptables-save", "/sbin/iptables-save"),
	"ip6tables-legacy-save": saves("/usr/sbin/ip6tables-legacy-save", "/usr/sbin/ip6tables-save", "/sbin/ip6tables-save"),
	"iptables-restore":      validator([][]string{{"--test", "/etc/iptables/rules.v4"}}, "/usr/sbin/iptables-restore"),
	"ip6tables-restore":     validator([][]string{{"--test", "/etc/iptables/rules.v6"}}, "/usr/sbin/ip6tables-restore"),
	"dnsmasq":               validator([][]string{{"--test"}, {"--test", "-7", DebianDnsmasq}}, "/usr/sbin/dnsmasq"),
	"chronyd":               validator([][]string{{"-p"}}, "/usr/sbin/chronyd"),
	"unbound-checkconf":     validator([][]string{nil}, "/usr/sbin/unbound-checkconf"),
	"squid":                 validator([][]string{{"-k", "parse"}}, "/usr/sbin/squid"),
})

// saves prints the rules of iptables; without the one that is called legacy there is only the old one (before iptables 1.8).
func saves(paths ...string) CommandSpec {
	return CommandSpec{Paths: paths, Allow: func(args []string) bool { return len(args) == 0 }, Limit: 10 * time.Second, MaxOutput: 16 << 20}
}

// asking is a validator that also tells of the running host, with these arguments.
func asking(v CommandSpec, args ...string) CommandSpec {
	validates := v.Allow
	v.Allow = func(given []string) bool { return slices.Equal(given, args) || validates(given) }
	v.Asks, v.MaxOutput = args, 16<<20
	return v
}

// DebianDnsmasq is the folder that Debian's and Ubuntu's unit gives dnsmasq beside its file
// (/usr/share/dnsmasq/init-system-common, dnsmasq 2.90).
const DebianDnsmasq = "/etc/dnsmasq.d,.dpkg-dist,.dpkg-old,.dpkg-new"

// phpVersions are the versions that Debian, Ubuntu and their backports package by name.
var phpVersions = []string{"7.0", "7.1", "7.2", "7.3", "7.4", "8.0", "8.1", "8.2", "8.3", "8.4", "8.5"}

// withPHP adds php-fpm, which has the name of its version, and makes its log and a semaphore.
func withPHP(all map[string]CommandSpec) map[string]CommandSpec {
	all["php-fpm"] = validator([][]string{{"-t"}}, "/usr/sbin/php-fpm")
	for _, v := range phpVersions {
		all["php-fpm"+v] = validator([][]string{{"-t"}}, "/usr/sbin/php-fpm"+v)
	}
	return all
}

func validator(args [][]string, paths ...string) CommandSpec {
	return CommandSpec{
		Paths: paths,
		Allow: func(given []string) bool {
			return slices.ContainsFunc(args, func(a []string) bool { return slices.Equal(a, given) })
		},
		Limit:     20 * time.Second,
		MaxOutput: 1 << 20,
		Isolated:  true,
	}
}
