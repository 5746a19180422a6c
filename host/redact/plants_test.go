package redact

import (
	"fmt"
	"strings"
	"testing"
)

// Plants: each kind of thing that identifies or opens a host, in each form
// that it is written in, at each place. marks are what a search for it would
// find. Words are everyday ones on purpose: position must tell.
var plants = []struct{ text, marks string }{
	{
		"10.77.12.34",
		"10.77. 77.12",
	}, {"10.77.12.34/24", "10.77."}, {"10.77.12.34:443", "10.77."}, {"10.77.12.", "10.77."}, {"10.77.18.?", "10.77."},
	{"10.77.18.*", "10.77."}, {"10.77.12/24", "10.77"},
	{
		"ip-10-77-23-45.eu-west-1.compute.internal",
		"10-77 77-23",
	}, {"10-77-23-45", "10-77 77-23"}, {"nas.10.77.8.9.nip.io", "10.77 77.8"}, {"vm10.77.8.9", "10.77 77.8"}, {"10.77.8.9.", "10.77 77.8"},
	{
		"9.8.77.10.in-addr.arpa",
		"8.77.10 77.10",
	}, {"8.77.10.in-addr.arpa", "77.10"}, {"5.0.0.0.7.7.0.0.8.b.d.0.1.0.0.2.ip6.arpa", "7.7.0.0.8.b.d.0"},
	{
		"2001:db8:77::5",
		"db8:77",
	}, {"2001-db8-77--5.ipv6-literal.net", "db8-77"}, {"[2001:db8:77::5]:80", "db8:77"}, {"fe80::5077:ff:fe11:22aa", "5077:ff"},
	{
		"52:54:77:aa:bb:cc",
		"54:77 aa:bb bb:cc",
	}, {"52-54-77-aa-bb-cc", "54-77 aa-bb"}, {"525477aabbcc", "5477aa aabbcc"}, {"5254.77aa.bbcc", "77aa bbcc"},
	{
		"0002:c903:0077:aabb",
		"c903 77:aabb aabb",
	}, {"00:02:c9:03:00:77:aa:bb", "00:77 aa:bb"}, {"80:00:02:08:fe:80:00:00:00:00:" +
		"00:00:00:02:c9:03:00:77:aa:bb", "77:aa aa:bb"}, {"0x0002c9030077aabb", "0077aabb"},
	{
		"//filer7/share",
		"filer7",
	}, {"ldap://dc1/", "dc1"}, {"//win/share", "//win"}, {`\\filer7\share`, "filer7"}, {"https://mail7.test.org/x", "mail7 //mail"},
	{"filer7:/export/home", "filer7"},
	{
		"svc9@mail7.test.org",
		"mail7 @mail",
	}, {"https://svc9:correcthorse@mail7/x", "correcthorse mail7 svc9:"}, {"HTTP/web7.test.org", "web7"}, {"host/web7@TEST.ORG", "web7"},
	{"xyzzy7plugh", "xyzzy"}, {"SN7XK99Q", "sn7xk"}, {"3e6be9de-8139-4f00-9106-a43f08d823a6", "3e6be9de a43f08d8"},
}

// places are lines of configuration in which a plant may stand.
var places = []struct{ file, line string }{
	{
		"/etc/fstab",
		"%s /mnt nfs defaults 0 0",
	}, {"/etc/default/grub", `GRUB_CMDLINE="root=%s quiet"`}, {"/etc/network/interfaces", "    up echo %s"},
	{"/etc/systemd/resolved.conf", "DNS=%s"},
	{
		"/etc/hosts.allow",
		"ALL: %s",
	}, {"/etc/ssh/sshd_config", "Banner %s"}, {"/proc/cmdline", "quiet ip=%s"}, {"/etc/netplan/x.yaml", "  - %s"},
	{"/etc/krb5.conf", "  kdc = %s"},
	{"/etc/rsyslog.d/x.conf", `action(type="omfwd" target="%s")`},
}

// secretPlants are secrets as the configuration that holds them is written.
var secretPlants = []struct{ file, text string }{
	{
		"/etc/NetworkManager/system-connections/a.nmconnection",
		"[802-1x]\nprivate-key-password=%s\n",
	}, {"/etc/NetworkManager/system-connections/a.nmconnection", "[vpn-secrets]\ncert-pass=%s\n"},
	{
		"/etc/NetworkManager/system-connections/a.nmconnection",
		"[macsec]\nmka-cak=%s\n",
	}, {"/etc/NetworkManager/system-connections/a.nmconnection", "[wireguard-peer.x]\npreshared-key=%s\nprivate-key=%[1]s\n"},
	{
		"/etc/netplan/a.yaml",
		"wifis:\n  wl0:\n    access-points:\n      x:\n        password:\n          %s\n",
	}, {"/etc/netplan/a.yaml", "  password: >-\n    %s\n  dhcp4: true\n"}, {"/etc/netplan/a.yaml", "  auth: {key-management: " +
		"psk, password: \"%s\"}\n"},
	{
		"/etc/systemd/network/a.netdev",
		"[WireGuard]\nPrivateKey = %s\n[WireGuardPeer]\nPresharedKey=%[1]s\n",
	}, {"/etc/systemd/network/a.netdev", "[MACsecTransmitAssociation]\nKey=%s\n"},
	{
		"/etc/wpa_supplicant/w.conf",
		"network={\n  psk=\"%s\"\n  password=%[1]s\n}\n",
	}, {"/etc/network/interfaces", "  wpa-psk %s\n"}, {"/etc/network/interfaces", "  up curl -u admin:%s https://x/\n"},
	{
		"/etc/network/interfaces",
		"  up curl --user admin:%s https://x/\n",
	}, {"/etc/network/interfaces", "  up wget --password=%s https://x/\n"}, {"/etc/network/interfaces", "  up curl -H 'Authorizatio" +
		"n: Bearer %s' https://x/\n"},
	{
		"/etc/network/interfaces",
		"  up mysql -u root -p%s\n",
	}, {"/etc/network/interfaces", "  up sshpass -p %s ssh x\n"}, {"/etc/network/interfaces", "  up ip macsec add m0 tx sa 0 on key 01 %s\n"},
	{
		"/etc/pam.d/sshd",
		"auth required pam_mysql.so user=a passwd=%s db=b\n",
	}, {"/etc/pam.d/sshd", "auth required pam_x.so secret=%s\n"}, {"/etc/default/x", "export AWS_SECRET_ACCESS_KEY=%s\n"},
	{"/etc/default/x", "DB_PASS=%s\n"},
	{
		"/etc/default/x",
		"certPass=%s\n",
	}, {"/etc/default/x", "PGPASSWORD=\"%s\"\n"}, {"/etc/default/x", "URL=https://a:%s@b/c\n"}, {"/etc/default/x", "API_TOKEN='%s'\n"},
	{"/etc/rc.local", "echo ': PSK \"%s\"' > /etc/ipsec.secrets\n"},
	{
		"/etc/sssd/sssd.conf",
		"ldap_default_authtok = %s\n",
	}, {"/etc/nslcd.conf", "bindpw %s\n"}, {"/etc/ldap/ldap.conf", "bindpw %s\n"}, {"/etc/default/x", "OPTS=\"--token %s --x\"\n"},
	{"/etc/default/x", "password=\\\n  %s\n"},
	{
		"/etc/environment",
		"HTTP_PROXY=http://a:%s@b/\n",
	}, {"/srv/tftp/pxelinux.cfg/default", "menu master passwd %s\n"}, {"/srv/tftp/grub/grub.cfg", "password_pbkdf2 root %s\n"},
	{
		"/srv/tftp/boot/grub.cfg",
		"password root %s\n",
	}, {"/srv/tftp/pxelinux.cfg/default", "\tappend initrd=a " +
		"passwd/root-password=%s quiet\n"}, {"/etc/apt/apt.conf.d/proxy", "Acquire::http::Proxy \"http://a:%s@b/\";\n"},
	{
		"/etc/postgresql/15/main/postgresql.conf",
		"primary_conninfo = 'host=a password=%s'\nssl_passphrase_command = 'echo %[1]s'\n",
	}, {"/etc/cron.daily/a", "gpg --keyserver b --passphrase %s\ncurl -u a:%[1]s https://x/\n"},
	{
		"/var/cache/debconf/config.dat",
		"Name: slapd/password1\nValue: %s\n",
	}, {"/etc/sudoers", "Defaults passprompt=%s\n"}, {"/etc/docker/daemon.json", "{\"token\": \"%s\"}\n"},
	{"/etc/yum.repos.d/a.repo", "[a-els-b]\nbaseurl=https://a:%s@b/\nusername=a\npassword=%[1]s\n"},
}

// secretWordsOf are secrets that look like anything but one.
var secretWordsOf = []string{
	"12345678",
	"BlueNetworkServer",
	"hunter2",
	"0123456789abcdef0123456789abcdef",
	"backup",
	"aGVsbG8gd29ybGQhISEhISEhISEhISEhISEhISEhISE=",
}

func TestPlants(t *testing.T) {
	n := 0
	for _, p := range plants {
		for _, at := range places {
			n++
			r := redactor(t)
			out, ok := r.File(at.file, []byte(fmt.Sprintf(at.line, p.text)+"\n"))
			for _, mark := range strings.Fields(p.marks) {
				if ok && strings.Contains(strings.ToLower(string(out)), mark) {
					t.Errorf("%s: %q of %q survives: %q", at.file, mark, p.text, out)
				}
			}
		}
		for _, file := range []string{"/var/log/%s.log", "/srv/a-%s/b"} {
			name := fmt.Sprintf(file, strings.ReplaceAll(p.text, "/", ""))
			if strings.Contains(p.text, "/") || strings.Contains(p.text, `\`) {
				continue
			}
			n++
			r := redactor(t)
			for _, mark := range strings.Fields(p.marks) {
				if out := r.Path(name); strings.Contains(strings.ToLower(out), mark) {
					t.Errorf("path %s: %q survives: %q", name, mark, out)
				}
			}
		}
	}
	for _, p := range secretPlants {
		for _, secret := range secretWordsOf {
			n++
			r := redactor(t)
			out, ok := r.File(p.file, []byte(fmt.Sprintf(p.text, secret)))
			if ok && strings.Contains(string(out), secret) {
				t.Errorf("%s: the secret of %q survives: %q", p.file, fmt.Sprintf(p.text, secret), out)
			}
		}
	}
	t.Logf("%d plants", n)
}

// TestMatchNames: sshd's keywords tell which words are users and hosts.
func TestMatchNames(t *testing.T) {
	r := redactor(t)
	r.LearnFile("/etc/passwd", []byte("root:x:0:0::/root:/bin/sh\nbackup:x:34:34::/:/bin/sh\n"))
	out, _ := r.File(
		"/etc/ssh/sshd_config",
		[]byte("Match User svc9,backup Host filer7\nAllowUsers test@mail7.test.org root\nPasswordAuthentication no\n"),
	)
	for _, gone := range []string{"svc9", "filer7", "test@", "mail7"} {
		if strings.Contains(string(out), gone) {
			t.Errorf("%s survives in %q", gone, out)
		}
	}
	for _, stays := range []string{"Match User ", ",backup Host ", " root\n", "PasswordAuthentication no\n"} {
		if !strings.Contains(string(out), stays) {
			t.Errorf("%q is gone from %q", stays, out)
		}
	}
}
