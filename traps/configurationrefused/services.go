package configurationrefused

import (
	"context"
	"path"
	"strings"

	"fettle/host"
	"fettle/internal/lazy"
)

// service is one whose configuration can be looked at without starting it.
type service struct {
	units  []string
	socket string // what starts it when somebody calls
	// login: it is how people log in.
	login bool
	looks []func(ctx context.Context, h *host.Host) verdict
	// other matches a line of the unit or of options that names another configuration.
	other   func(line string) bool
	options []string
}

// given matches lines that give the program one of these flags with a path.
func given(flags string) func(line string) bool {
	re := lazy.Regexp(`^(?:ExecStart|OPTIONS|SSHD_OPTS|DAEMON_OPTS|DNSMASQ_OPTS)=.*\s"?(?:` + flags + `)[\s=]*/`)
	return func(line string) bool { return re().MatchString(line) }
}

// haproxyOther: CONFIG names another file, or there is a second one.
func haproxyOther(line string) bool {
	v, ok := strings.CutPrefix(line, "CONFIG=")
	return ok && strings.Trim(v, `"' `) != "/etc/haproxy/haproxy.cfg" || strings.HasPrefix(line, "EXTRAOPTS=") && strings.Contains(line, "-f ") ||
		strings.HasPrefix(line, "ExecStart=") && strings.Count(line, " -f ") > 1
}

// sshd looks for the folder that its unit makes (RuntimeDirectory=sshd) when all else is read, host
// keys and Match blocks too (seen with OpenSSH 9.2). Where a socket starts it, the folder is not
// there before the first login.
var sshd = validator{name: "sshd", args: []string{"-t"}, lacks: "Missing privilege separation directory: /run/sshd"}

// services are those with a validator that is fit (see host.Commands), or whose files fettle
// reads itself.
var services = []service{
	{units: []string{"ssh.service", "sshd.service"}, socket: "ssh.socket", login: true, other: given(`-f`), options: []string{"/etc/default/ssh", "/etc/sysconfig/sshd"},
		looks: looks(sshd.judge(nil))},
	{units: []string{"nginx.service"}, other: given(`-c`), options: []string{"/etc/default/nginx"},
		looks: looks(command("nginx", "-t", "-q").judge([]string{"[emerg]"}))},
	{units: []string{"apache2.service"}, looks: looks(command("apache2ctl", "configtest").judge([]string{"AH00526", "Syntax error", "AH"}))},
	{units: []string{"httpd.service"}, other: given(`-f`), options: []string{"/etc/sysconfig/httpd"},
		looks: looks(command("httpd", "-t").judge([]string{"AH00526", "Syntax error", "AH"}))},
	{units: []string{"haproxy.service"}, other: haproxyOther, options: []string{"/etc/default/haproxy", "/etc/sysconfig/haproxy"},
		looks: looks(command("haproxy", "-c", "-f", "/etc/haproxy/haproxy.cfg").judge([]string{"[ALERT]"}))},
	{units: []string{"named.service", "bind9.service"}, other: given(`-c`), options: []string{"/etc/default/named", "/etc/default/bind9",
		"/etc/sysconfig/named"}, looks: looks(command("named-checkconf").judge(nil), zones)},
	{units: []string{"postfix@-.service", "postfix.service"}, looks: looks(command("postconf", "mail_version").judge([]string{"fatal:"}),
		command("postconf", "-M", "smtp/inet").judge([]string{"fatal:"}))},
	{units: []string{"dovecot.service"}, other: given(`-c`), looks: looks(command("doveconf", "protocols").judge([]string{"Fatal:"}),
		command("doveconf", "-x", "ssl_cert").judge([]string{"Fatal:"}))},
	{units: []string{"smbd.service", "smb.service", "samba-ad-dc.service"},
		looks: looks(command("testparm", "-s", "--parameter-name=workgroup").judge([]string{"Error", "error"}))},
	{units: []string{"nftables.service"}, looks: looks(nftables)},
	{units: []string{"netfilter-persistent.service"}, looks: looks(ifThere("/etc/iptables/rules.v4",
		command("iptables-restore", "--test", "/etc/iptables/rules.v4").judge(nil)), ifThere("/etc/iptables/rules.v6",
		command("ip6tables-restore", "--test", "/etc/iptables/rules.v6").judge(nil)))},
	{units: []string{"dnsmasq.service"}, other: given(`--conf-file|-C`), options: []string{"/etc/default/dnsmasq"}, looks: looks(dnsmasq)},
	{units: []string{"chrony.service", "chronyd.service"}, other: given(`-f`), options: []string{"/etc/default/chrony", "/etc/sysconfig/chronyd"},
		looks: looks(command("chronyd", "-p").judge([]string{"Fatal error"}))},
	{units: []string{"unbound.service"}, other: given(`-c`), options: []string{"/etc/default/unbound"},
		looks: looks(command("unbound-checkconf").judge([]string{"error:"}))},
	{units: []string{"squid.service"}, other: given(`-f`), looks: looks(command("squid", "-k", "parse").judge([]string{"FATAL:"}))},
	{units: []string{"slapd.service"}, looks: looks(slapd)},
	{units: []string{"mariadb.service", "mysql.service"}, other: given(`--defaults-file`), looks: looks(mariadb)},
}

func looks(l ...func(ctx context.Context, h *host.Host) verdict) []func(context.Context, *host.Host) verdict {
	return l
}

// unvalidated are services that are often met, and have no program that checks their
// configuration without starting them, or none that only reads.
var unvalidated = []string{"redis-server.service", "redis.service", "vsftpd.service", "mosquitto.service", "rabbitmq-server.service",
	"memcached.service", "exim4.service", "keepalived.service", "freeradius.service", "radiusd.service", "tomcat9.service", "tomcat10.service",
	"elasticsearch.service", "grafana-server.service", "proftpd.service", "isc-dhcp-server.service", "kea-dhcp4-server.service",
	"zabbix-agent.service", "snmpd.service", "openvpn.service", "strongswan-starter.service", "stunnel4.service", "docker.service",
	"libvirtd.service", "mongod.service", "varnish.service", "caddy.service", "influxdb.service", "prometheus.service"}

// phpServices are PHP's process managers; on Debian unit and program have the version's name.
func phpServices(ctx context.Context, h *host.Host) ([]service, error) {
	dirs, err := h.Glob(ctx, "/etc/php", "*")
	if err != nil {
		return nil, err
	}
	var out []service
	add := func(conf, unit, program string) error {
		there, err := h.Exists(ctx, conf)
		if err == nil && there {
			out = append(out, service{units: []string{unit}, looks: looks(command(program, "-t").judge([]string{"ERROR:", "ALERT:"}))})
		}
		return err
	}
	for _, d := range dirs {
		v := path.Base(d)
		if _, known := host.Commands["php-fpm"+v]; !known {
			continue
		}
		if err := add(d+"/fpm/php-fpm.conf", "php"+v+"-fpm.service", "php-fpm"+v); err != nil {
			return nil, err
		}
	}
	return out, add("/etc/php-fpm.conf", "php-fpm.service", "php-fpm")
}

// ifThere looks only where the file is there.
func ifThere(name string, look func(context.Context, *host.Host) verdict) func(context.Context, *host.Host) verdict {
	return func(ctx context.Context, h *host.Host) verdict {
		there, err := h.Exists(ctx, name)
		if err != nil || !there {
			return verdict{err: err}
		}
		return look(ctx, h)
	}
}

func nftables(ctx context.Context, h *host.Host) verdict {
	for _, f := range []string{"/etc/nftables.conf", "/etc/sysconfig/nftables.conf"} {
		there, err := h.Exists(ctx, f)
		if err != nil {
			return verdict{err: err}
		}
		if there {
			v := command("nft", "-c", "-f", f).judge([]string{"Error:"})(ctx, h)
			v.lost = "the firewall of nftables.service"
			return v
		}
	}
	return verdict{}
}

func dnsmasq(ctx context.Context, h *host.Host) verdict {
	debian, err := h.Exists(ctx, "/usr/share/dnsmasq/init-system-common")
	if err != nil {
		return verdict{err: err}
	}
	if debian {
		if debian, err = h.Exists(ctx, "/etc/dnsmasq.d"); err != nil {
			return verdict{err: err}
		}
	}
	args := []string{"--test"}
	if debian {
		args = append(args, "-7", host.DebianDnsmasq)
	}
	return command("dnsmasq", args...).judge([]string{"dnsmasq:"})(ctx, h)
}

// zones: named starts with a zone that it can't load, and serves the others.
func zones(ctx context.Context, h *host.Host) verdict {
	v := command("named-checkconf", "-z").judge([]string{"not loaded due to errors", "file not found", "/IN:"})(ctx, h)
	if v.refused != "" {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(v.refused, "zone "), "_default/"), "/")
		v.lost = "the zone " + name
	}
	return v
}
