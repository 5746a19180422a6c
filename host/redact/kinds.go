package redact

import (
	"path"
	"strings"
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
	{"/proc/net/ip_tables_names", Plain}, {"/proc/net/ip6_tables_names", Plain},
	{"/proc/net/", Unknown}, {"/proc/*/stat", Values},
	{"/proc/cmdline", Values}, {"/proc/mdstat", Values}, {"/proc/mounts", Values}, {"/proc/meminfo", Values}, {"/proc/vmstat", Values},
	{"/proc/stat", Values}, {"/proc/uptime", Values}, {"/proc/loadavg", Values}, {"/proc/diskstats", Values}, {"/proc/partitions", Values},
	{"/proc/swaps", Values}, {"/proc/version", Values}, {"/proc/modules", Values}, {"/proc/filesystems", Values}, {"/proc/cpuinfo", Values},
	{"/etc/pam.d/", Lists}, {"/etc/pam.conf", Lists}, {"/etc/nsswitch.conf", Lists}, {"/usr/share/libnss*", Lists},
	{"/etc/ssh/sshd_config", Lists}, {"/etc/ssh/sshd_config.d/", Lists}, {"/usr/lib/pam.d/", Lists},
	{"/usr/etc/nsswitch.conf", Lists}, {"/usr/etc/ssh/sshd_config", Lists}, {"/usr/etc/ssh/sshd_config.d/", Lists},
	{"/etc/ssh/ssh_config", Lists}, {"/etc/ssh/ssh_config.d/", Lists}, {"/etc/hosts.allow", Lists}, {"/etc/hosts.deny", Lists},
	{"/root/.ssh/known_hosts", KnownHosts}, {"/home/*/.ssh/known_hosts", KnownHosts}, {"/etc/ssh/ssh_known_hosts*", KnownHosts},
	{"/root/.ssh/config", Lists}, {"/home/*/.ssh/config", Lists}, {"/root/.ssh/conf*.d/*", Lists}, {"/home/*/.ssh/conf*.d/*", Lists},
	{"/etc/krb5.conf", Config}, {"/etc/krb5.conf.d/", Config}, {"/etc/update-motd.d/", Config}, {"/etc/security/", Config},
	{
		"/etc/sysctl.conf",
		Config,
	}, {"/etc/ufw/ufw.conf", Config}, {"/etc/ufw/sysctl.conf", Config}, {"/etc/network/", Config}, {"/etc/NetworkManager/", Config},
	{"/etc/ufw/", Lines}, {"/etc/fail2ban/", Config}, {"/etc/exports", Config}, {"/etc/exports.d/", Config},
	{"/var/lib/docker/containers/*/hostconfig.json", Config}, {"/var/snap/docker/common/var-lib-docker/containers/*/hostconfig.json", Config},
	{"/etc/my.cnf", Lines}, {"/etc/my.cnf.d/", Lines}, {"/etc/mysql/", Lines},
	{"/etc/fstab", Config}, {"/etc/nftables.conf", Config}, {"/etc/nftables.d/", Config}, {"/etc/nftables/", Config}, {"/etc/*.nft", Config},
	{"/etc/*/*.nft", Config},
	{"*/sysconfig/nftables", Config}, {"/etc/mdadm/", Config},
	{
		"/etc/mdadm.conf",
		Config,
	}, {"/etc/shorewall/shorewall.conf", Config}, {"/etc/shorewall6/shorewall6.conf", Config},
	{"/etc/mdadm.conf.d/", Config}, {"/etc/default/", Config}, {"/etc/os-release", Config}, {"/etc/debian_version", Config},
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
	{"/etc/apt/preferences", Config}, {"/etc/apt/preferences.d/", Config},
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
	{"/var/lib/pgsql/data/PG_VERSION", Plain},
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
	{"/var/lib/libvirt/network/", Config}, {"/usr/share/dbus-1/system-services/", Config},
	{"/usr/lib/sysusers.d/", Lists}, {"/etc/sysusers.d/", Lists}, {"/run/systemd/journal/", Config},
	// Folders of drop-ins that are below /etc, /run, /usr/local/lib, /usr/lib and /lib.
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
