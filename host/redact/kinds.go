package redact

import (
	"bytes"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"fettle/internal/lazy"
)

// Kind is a sort of file that can be redacted.
type Kind int

const (
	Unknown      Kind = iota // dropped whole
	Values                   // settings of /proc and /sys, without comments or secrets
	Config                   // lines of words; "#" and ";" begin comments
	Lists                    // the same, where "password" is a setting: PAM, nsswitch, sshd
	Accounts                 // passwd and group
	Hosts                    // /etc/hosts
	Name                     // a host or domain name alone
	Dpkg                     // dpkg's status
	Domains                  // resolv.conf
	Environment              // /etc/environment: values may hold anything
	Certificates             // PEM: each is replaced by one of the same validity
	KnownHosts               // of ssh: names replaced, keys gone
	Sockets                  // /proc/net/udp: what listens on the host itself
	Routes                   // /proc/net/route: addresses in hexadecimal
	Lines                    // few lines of it are kept: see keptLines
	Keyring                  // OpenPGP keys: each is replaced by one of the same sort and validity
	Menu                     // of a boot loader
	Plain                    // the kernel's numbers, without names: kept as they are
	Firmware                 // a table of ACPI: its maker is left out
)

// kindsOf lists what is known, the first match counts. A pattern that ends
// with "/" is a folder with all below it; others are path.Match patterns.
var kindsOf = []struct {
	pattern string
	kind    Kind
}{
	{"/proc/sys/kernel/hostname", Name}, {"/proc/sys/kernel/domainname", Name}, {"/etc/hostname", Name}, {"/etc/mailname", Name},
	{"/etc/hosts", Hosts}, {"/etc/resolv.conf", Domains}, {"/run/systemd/resolve/*.conf", Domains},
	{"/etc/passwd", Accounts}, {"/etc/group", Accounts},
	{"/var/lib/dpkg/status", Dpkg}, {"/var/lib/dpkg/status.d/*", Dpkg}, {"/var/lib/dpkg/info/*.conffiles", Values},
	{"/proc/sys/net/ipv6/conf/*/stable_secret", Unknown}, {"/sys/class/dmi/", Unknown}, {"/sys/devices/virtual/dmi/", Unknown},
	{
		"/sys/firmware/acpi/tables/SPCR",
		Firmware,
	}, {"/sys/firmware/", Unknown}, {"/sys/kernel/security/", Unknown}, {"/sys/kernel/debug/", Unknown},
	{"/etc/machine-id", Values}, {"/var/lib/dbus/machine-id", Values},
	{"/proc/sys/", Values}, {"/sys/", Values}, {"/proc/spl/kstat/zfs/", Values},
	{
		"/proc/*/cgroup",
		Values,
	}, {"/proc/*/comm", Values}, {"/proc/*/status", Values}, {"/proc/*/limits", Values}, {"/proc/*/mountinfo", Values},
	{
		"/proc/*/mounts",
		Values,
	}, {"/proc/*/cmdline", Unknown}, {"/proc/*/environ", Unknown}, {"/proc/net/dev_snmp6/", Values}, {"/proc/net/dev", Values},
	{
		"/proc/net/udp",
		Sockets,
	}, {"/proc/net/udp6", Sockets}, {"/proc/net/netstat", Values}, {"/proc/net/snmp", Values}, {"/proc/net/arp", Values},
	{"/proc/locks", Values}, {"/proc/net/route", Routes}, {"/proc/net/fib_trie", Lines}, {"/proc/net/stat/", Plain},
	{"/proc/net/", Unknown}, {"/proc/*/stat", Values},
	{"/proc/cmdline", Values}, {"/proc/mdstat", Values}, {"/proc/mounts", Values}, {"/proc/meminfo", Values}, {"/proc/vmstat", Values},
	{"/proc/stat", Values}, {"/proc/uptime", Values}, {"/proc/loadavg", Values}, {"/proc/diskstats", Values}, {"/proc/partitions", Values},
	{"/proc/swaps", Values}, {"/proc/version", Values}, {"/proc/modules", Values}, {"/proc/filesystems", Values}, {"/proc/cpuinfo", Values},
	{"/etc/pam.d/", Lists}, {"/etc/pam.conf", Lists}, {"/etc/nsswitch.conf", Lists}, {"/usr/share/libnss*", Lists},
	{"/etc/ssh/sshd_config", Lists}, {"/etc/ssh/sshd_config.d/", Lists}, {"/usr/lib/pam.d/", Lists},
	{"/usr/etc/nsswitch.conf", Lists}, {"/usr/etc/ssh/sshd_config", Lists}, {"/usr/etc/ssh/sshd_config.d/", Lists},
	{"/etc/ssh/ssh_config", Lists}, {"/etc/ssh/ssh_config.d/", Lists}, {"/etc/hosts.allow", Lists}, {"/etc/hosts.deny", Lists},
	{"/root/.ssh/known_hosts", KnownHosts}, {"/home/*/.ssh/known_hosts", KnownHosts}, {"/etc/ssh/ssh_known_hosts*", KnownHosts},
	{"/root/.ssh/config", Lists}, {"/home/*/.ssh/config", Lists},
	{"/etc/krb5.conf", Config}, {"/etc/krb5.conf.d/", Config}, {"/etc/update-motd.d/", Config}, {"/etc/security/", Config},
	{
		"/etc/sysctl.conf",
		Config,
	}, {"/etc/ufw/ufw.conf", Config}, {"/etc/ufw/sysctl.conf", Config}, {"/etc/network/", Config}, {"/etc/NetworkManager/", Config},
	{"/etc/fstab", Config}, {"/etc/mdadm/", Config},
	{
		"/etc/mdadm.conf",
		Config,
	}, {"/etc/mdadm.conf.d/", Config}, {"/etc/default/", Config}, {"/etc/os-release", Config}, {"/etc/debian_version", Config},
	{
		"/etc/redhat-release",
		Config,
	}, {"/etc/ksmtuned.conf", Config}, {"/etc/rsyslog.conf", Config}, {"/etc/rsyslog.d/", Config}, {"/etc/adduser.conf", Config},
	{
		"/etc/logrotate.conf",
		Config,
	}, {"/etc/logrotate.d/", Config}, {"/etc/sysconfig/", Config}, {"/etc/radvd.conf", Config}, {"/etc/login.defs", Config},
	{"/etc/lsb-release", Config}, {"/etc/oracle-release", Config}, {"/etc/SuSE-release", Config}, {"/etc/alpine-release", Config},
	{"/etc/environment", Environment}, {"/etc/ldap/ldap.conf", Config}, {"/etc/openldap/ldap.conf", Config},
	{"/root/.ldaprc", Config}, {"/root/ldaprc", Config}, {"/home/*/.ldaprc", Config}, {"/home/*/ldaprc", Config},
	{
		"/etc/sssd/*.conf",
		Config,
	}, {"/etc/sssd/conf.d/*.conf", Config}, {"/etc/nslcd.conf", Config}, {"/etc/ldap.conf", Config}, {"/etc/pam_ldap.conf", Config},
	{"/etc/libnss-ldap.conf", Config},
	{
		"/etc/ssl/certs/",
		Certificates,
	}, {"/etc/pki/", Certificates}, {"/etc/openldap/certs/", Certificates}, {"/etc/openldap/cacerts/", Certificates},
	{"/etc/dnsmasq.conf", Config}, {"/etc/dnsmasq.d/", Config}, {"/etc/inetd.conf", Config}, {"/etc/xinetd.d/", Config},
	{
		"/etc/apt/sources.list",
		Config,
	}, {"/etc/apt/sources.list.d/", Config}, {"/etc/yum.repos.d/", Lines}, {"/etc/apt/apt.conf", Config}, {"/etc/apt/apt.conf.d/", Config},
	{
		"/etc/apt/trusted.gpg",
		Keyring,
	}, {"/etc/apt/trusted.gpg.d/", Keyring}, {"/etc/apt/keyrings/", Keyring}, {"/usr/share/keyrings/", Keyring},
	{"/etc/gnupg/", Config}, {"/root/.gnupg/*", Config}, {"/home/*/.gnupg/*", Config},
	{
		"/etc/adjtime",
		Values,
	}, {"/etc/kernel/proxmox-boot-pin", Values}, {"/proc/tty/driver/serial", Plain}, {"/etc/locale.gen", Config},
	{"/etc/locale.conf", Config}, {"/var/lib/locales/supported.d/", Config},
	{
		"/etc/docker/daemon.json",
		Config,
	}, {"/var/snap/docker/current/config/daemon.json", Config}, {"/etc/elasticsearch/elasticsearch.yml", Config},
	{"/etc/postgresql/", Lines}, {"/var/lib/postgresql/", Lines}, {"/var/lib/pgsql/", Lines}, {"/var/lib/postgres/", Lines},
	{"/etc/sudoers", Lines}, {"/usr/etc/sudoers", Lines}, {"/var/cache/debconf/config.dat", Lines},
	{
		"/etc/crontab",
		Lines,
	}, {"/var/spool/cron/", Lines}, {"/etc/cron.d/", Lines}, {"/etc/cron.hourly/", Lines}, {"/etc/cron.daily/", Lines},
	{"/etc/cron.weekly/", Lines},
	{"/etc/cron.monthly/", Lines}, {"/etc/profile.d/", Lines}, {"/etc/init.d/", Lines},
	{
		"/var/lib/dpkg/diversions",
		Config,
	}, {"/usr/bin/dpkg", Config}, {"/usr/bin/apt-get", Config}, {"/usr/bin/apt", Config}, {"/usr/bin/aptitude", Config},
	{"/usr/bin/tasksel", Config}, {"/etc/ld.so.preload", Config},
	{"/etc/nut/ups.conf", Config}, {"/etc/apcupsd/apcupsd.conf", Config}, {"/etc/ser2net.conf", Config}, {"/etc/ser2net.yaml", Config},
	{
		"/opt/zigbee2mqtt/data/configuration.yaml",
		Config,
	}, {"/var/lib/zigbee2mqtt/configuration.yaml", Config}, {"/var/lib/homeassistant/configuration.yaml", Config},
	{"/usr/share/hassio/homeassistant/configuration.yaml", Config}, {"/run/udev/data/", Config},
	{
		"/etc/dhcp/",
		Config,
	}, {"/etc/dhcpcd.conf", Config}, {"/etc/wpa_supplicant/", Config}, {"/etc/modules", Config}, {"/etc/crypttab", Config},
	{"/etc/lvm/lvm.conf", Config}, {"/etc/initramfs-tools/", Config}, {"/etc/dracut.conf", Config}, {"/etc/dracut.conf.d/", Config},
	{
		"/etc/libvirt/qemu/networks/",
		Config,
	}, {"/etc/tuned/", Config}, {"/etc/udev/", Config}, {"/etc/rc.local", Config}, {"/var/lib/systemd/", Config},
	{"/var/lib/libvirt/network/", Config}, {"/run/systemd/journal/", Config},
	// Folders of drop-ins that stand below /etc, /run, /usr/local/lib, /usr/lib and /lib.
	{"*/sysctl.d/", Config}, {"*/tmpfiles.d/", Config}, {"*/modprobe.d/", Config}, {"*/modules-load.d/", Config}, {"*/netplan/", Config},
	{
		"*/systemd/",
		Config,
	}, {"*/NetworkManager/", Config}, {"*/os-release", Config}, {"*/udev/rules.d/", Config}, {"*/interfaces.d/", Config},
}

// KindOf tells what sort of file a path is.
func KindOf(name string) Kind {
	for _, k := range kindsOf {
		pat, at := k.pattern, name
		if strings.HasPrefix(pat, "*/") {
			for _, top := range []string{"/etc/", "/run/", "/usr/local/lib/", "/usr/lib/", "/lib/"} {
				if rest, ok := strings.CutPrefix(name, top); ok {
					pat, at = pat[1:], "/"+rest
					break
				}
			}
		}
		if strings.HasSuffix(pat, "/") && strings.HasPrefix(at, pat) {
			return k.kind
		}
		if ok, _ := path.Match(pat, at); ok {
			return k.kind
		}
	}
	switch path.Ext(name) {
	case ".pem", ".crt", ".cer":
		return Certificates
	case ".cfg": // boot menus, in whatever folder they are served from
		return Menu
	}
	if path.Base(path.Dir(name)) == "pxelinux.cfg" || path.Base(name) == "grub.conf" {
		return Menu
	}
	return Unknown
}

// menuPassword are passwords of syslinux and GRUB.
var menuPassword = lazy.Regexp(`(?i)^(\s*(?:menu\s+(?:master\s+)?passwd|password(?:_pbkdf2)?)\s+)(\S.*)$`)

// File redacts a file's content; false: it is of no known kind, or no text.
func (r *Redactor) File(name string, b []byte) ([]byte, bool) {
	kind := KindOf(name)
	if kind == Unknown && bytes.Contains(b, []byte("-----BEGIN ")) {
		kind = Certificates // keys, too, which are left out
	}
	switch kind {
	case Certificates:
		return r.certificates(b), true
	case Keyring:
		return r.keyring(b)
	case Firmware:
		return anonymousTable(b), true
	}
	if kind == Lines { // a name in another encoding may stand in a comment
		b = bytes.ReplaceAll(bytes.ToValidUTF8(b, []byte("?")), []byte{0}, []byte("?"))
	}
	if kind == Unknown || !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return nil, false
	}
	s := string(b)
	switch kind {
	case Plain:
	case Values:
		s = r.Text(s)
	case KnownHosts:
		s = r.knownHosts(s)
	case Sockets:
		s = ownSockets(s)
	case Routes:
		s = r.routes(s)
	case Lines:
		s = r.keptLines(name, s)
	case Name:
		s = strings.Replace(s, strings.TrimSpace(s), r.Host(strings.TrimSpace(s)), 1)
	case Config:
		s = r.betweenKeys(s, func(s string) string { return r.lines(kind, s) })
	default:
		s = r.lines(kind, s)
	}
	return []byte(s), true
}

var (
	pem = lazy.Regexp(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|\z)`)
	// secretValue is a setting whose name says that its value is secret, up to
	// the end of the line: NetworkManager keyfiles (psk=, password=, wep-key0=,
	// private-key=), netplan (password: x), wpa_supplicant (psk="x"), options
	// (credentials, password=x,…), WireGuard (PrivateKey = x), MACsec (mka-cak=),
	// variables (AWS_SECRET_ACCESS_KEY=x).
	secretValue = lazy.Regexp(`(?i)(^|[\s"',;{(\[?&/])(` + secretName + `\s*[=:]\s*)(\S.*)$`)
	// secretBelow is such a setting whose value stands on lines further in.
	secretBelow = lazy.Regexp(`(?i)^(\s*(?:-\s+)?` + secretName + `\s*[=:]\s*)(?:[|>][+-]?\d?)?\s*(?:#.*)?$`)
	// secretWords is the same where a blank stands between: ifupdown, the
	// passwords that nslcd, pam_ldap and nss_ldap bind with, ipsec's PSK, and
	// options of commands.
	secretWords = lazy.Regexp(
		`(?i)^(\s*(?:(?:wpa|wireless)[\w-]*(?:psk|password|passwd|key\d?|identity|passphrase)|(?:root)?bindpw|rootpwmodpw|secret|passphrase|` +
			`preshared-key|key-string|mka-cak)\s+)(\S.*)$`,
	)
	secretPSK  = lazy.Regexp(`(?i)(:\s*(?:PSK|XAUTH|EAP|RSA|ECDSA|P12|PIN|PKCS8)\s+)(\S.*)$`)
	secretFlag = lazy.Regexp(
		`(?i)((?:^|[\s"'=])--?(?:user|proxy-user|password|passwd|pass|` +
			`passphrase|secret|token|api-key|auth|oauth2-bearer)[ =])("[^"]*"|'[^']*'|\S+)`,
	)
	curlUser  = lazy.Regexp(`(\bcurl\b.*?\s-[a-zA-Z]*[uU]\s*)("[^"]*"|'[^']*'|\S+)`)
	shortFlag = lazy.Regexp(`(\b(?:mysql\w*|mariadb\w*|sshpass|mongo\w*|redis-cli)\b.*?\s-[pa]\s?)("[^"]*"|'[^']*'|\S+)`)
	bearer    = lazy.Regexp(`(?i)(\b(?:Bearer|Basic|Digest|Negotiate)\s+)[\w.~+/=-]{6,}`)
	macsecKey = lazy.Regexp(`(?i)(\bmacsec\b.*\bkey\s+[0-9a-f]{2,32}\s+|^\s*key\s*=\s*)[^\s=]\S*`)
)

// secretName is a setting's name that says that its value is secret.
const secretName = `"?[\w.-]*(?:passw(?:or)?d|passphrase|(?:\b|_|-|\.)pass|[a-z]Pass|(?:\b|_|-)pwd|psk|secret|private_?-?key|` +
	`pre_?-?shared_?-?key|authtok|bindpw|wep_?-?key_?\d?|wep_?-?tx_?\d?|auth_?-?key|api_?-?key|access_?-?key|encryption_?-?key|(?:\b|_|` +
	`-)cak|community|token|credentials|(?:\b|_|-)pin)(?:_?-?(?:raw|flags|key|id|access_?-?key|value|\d))*"?`

// Secrets takes out key material and the values of settings that hold
// secrets. Lines keep their numbers.
func Secrets(s string) string {
	s = pem().ReplaceAllStringFunc(s, func(m string) string { return Dropped + strings.Repeat("\n", strings.Count(m, "\n")) })
	lines := strings.Split(s, "\n")
	below := -1 // how far in the name of a secret stands whose value follows
	goesOn := false
	for i, l := range lines {
		in := len(l) - len(strings.TrimLeft(l, " \t"))
		if strings.TrimSpace(l) != "" && (goesOn || below >= 0 && in > below) {
			goesOn = strings.HasSuffix(l, "\\")
			lines[i] = l[:in] + Dropped
			continue
		}
		if strings.TrimSpace(l) != "" {
			below = -1
		}
		if secretBelow().MatchString(l) {
			below = in
		}
		lines[i] = secretLine(l)
		goesOn = lines[i] != l && strings.HasSuffix(l, "\\")
	}
	return strings.Join(lines, "\n")
}

func secretLine(l string) string {
	for _, re := range []func() *regexp.Regexp{secretWords, secretPSK, secretFlag, curlUser, shortFlag, bearer, macsecKey} {
		l = re().ReplaceAllString(l, "${1}"+Dropped)
	}
	return secretValue().ReplaceAllString(l, "${1}${2}"+Dropped)
}

// listSecret takes out of a line of PAM or ssh the secrets in options.
func listSecret(l string) string {
	return optionSecret().ReplaceAllString(l, "${1}"+Dropped)
}

var optionSecret = lazy.Regexp(`(?i)(\s(?:[\w.-]*(?:passwd|password|secret|bindpw|token|psk|key))=)(?:"[^"]*"|\[[^\]]*\]|\S+)`)

// lines redacts a text line by line. Comments go: they are free text.
func (r *Redactor) lines(kind Kind, s string) string {
	if kind == Config || kind == Menu {
		s = Secrets(s)
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		body := strings.TrimSuffix(line, "\n")
		lead := body[:len(body)-len(strings.TrimLeft(body, " \t"))]
		switch {
		case kind != Accounts && kind != Dpkg && (strings.HasPrefix(body[len(lead):], "#") || strings.HasPrefix(body[len(lead):], ";")):
			b.WriteString(lead + body[len(lead):len(lead)+1])
		case kind == Environment:
			b.WriteString(r.variable(body))
		case kind == Accounts:
			b.WriteString(r.account(body))
		case kind == Hosts:
			b.WriteString(r.hostsLine(body))
		case kind == Domains:
			b.WriteString(r.resolvLine(body))
		case kind == Dpkg:
			b.WriteString(r.dpkgLine(body))
		case kind == Lists:
			l, ok := r.keyworded(body)
			if !ok {
				l = r.Text(listSecret(body))
			}
			b.WriteString(l)
		case kind == Menu:
			b.WriteString(r.Text(menuPassword().ReplaceAllString(body, "${1}"+Dropped)))
		default:
			b.WriteString(r.Text(body))
		}
		if len(body) < len(line) {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// eachField replaces fields and keeps the white space between them.
func eachField(line string, f func(int, string) string) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(line); {
		j := i
		blank := line[i] == ' ' || line[i] == '\t'
		for j < len(line) && (line[j] == ' ' || line[j] == '\t') == blank {
			j++
		}
		if blank {
			b.WriteString(line[i:j])
		} else {
			b.WriteString(f(n, line[i:j]))
			n++
		}
		i = j
	}
	return b.String()
}

// Path redacts a path. What follows /home is a user, whatever its name.
func (r *Redactor) Path(p string) string {
	parts := strings.Split(p, "/")
	for i, c := range parts {
		if i == 2 && parts[1] == "home" && parts[0] == "" && c != "" {
			parts[i] = r.User(c)
			continue
		}
		parts[i] = r.Text(c)
	}
	return strings.Join(parts, "/")
}

// LearnFile takes from a file the names that it is known to hold.
func (r *Redactor) LearnFile(name string, b []byte) {
	s := string(b)
	switch KindOf(name) {
	case Name:
		r.LearnHost(strings.TrimSpace(s))
	case Hosts:
		for line := range strings.Lines(s) {
			line, _, _ = strings.Cut(line, "#")
			f := strings.Fields(line)
			for _, n := range f[min(1, len(f)):] {
				if !strings.HasPrefix(n, "localhost") && !strings.HasPrefix(n, "ip6-") {
					r.LearnHost(n)
				}
			}
		}
	case Domains:
		for line := range strings.Lines(s) {
			f := strings.Fields(line)
			if len(f) > 1 && (f[0] == "search" || f[0] == "domain") {
				for _, d := range f[1:] {
					r.LearnDomain(d)
				}
			}
		}
	case Accounts:
		for line := range strings.Lines(s) {
			f := strings.Split(strings.TrimSpace(line), ":")
			if len(f) >= 3 && isPerson(f[2]) {
				r.people[f[0]] = true
				r.LearnUser(f[0])
			} else {
				r.system[f[0]] = true
			}
		}
	}
	if strings.HasPrefix(name, "/sys/") && strings.Contains(path.Base(name), "serial") {
		r.LearnSerial(strings.TrimSpace(s))
	}
}
