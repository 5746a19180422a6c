package redact

import (
	"strings"
	"testing"
)

var withSecrets = []struct{ source, value, secret string }{
	{"/var/spool/cron/crontabs/root:3", "0 3 * * * gpg --batch --passphrase hunter2 --recv-keys 1", "hunter2"},
	{"/var/spool/cron/crontabs/root:3", "0 3 * * * echo hunter2 | gpg --passphrase-fd 0 -d x", "hunter2"},
	{"/etc/crontab:9", "BACKUP_PASSPHRASE=correct horse", "horse"},
	{"/etc/crontab:9", "1 1 * * * root RESTIC_PASSWORD=12345678 restic backup /", "12345678"},
	{"/etc/sysctl.d/9.conf:2", "net.ipv4.tcp_fastopen_key = a1b2c3d4-e5f60718-293a4b5c-6d7e8f90", "a1b2"},
	{"/proc/sys/net/ipv6/conf/eth0/stable_secret", "stable_secret=2001:db8::7", "db8"},
	{"/etc/fstab:4", "/dev/x /y ecryptfs key=passphrase:passphrase_passwd=12345678,rw 0 0", "12345678"},
	{"/etc/fstab:4", "/dev/x /y ecryptfs key=backup 0 0", "backup"},
	{"/etc/fstab:5", "//n/s /m cifs user=a%12345678,vers=3.0 0 0", "12345678"},
	{"/etc/fstab:5", "//n/s /m cifs username=a,password=backup,vers=3.0 0 0", "backup"},
	{"x.service", "ExecStart=/usr/bin/ipmitool -H b -U a -P 12345678 sdr", "12345678"},
	{"x.service", "/usr/bin/snmpget -v3 -u a -A 12345678 -X 87654321 h x", "12345678 87654321"},
	{"x.service", "snmpwalk -c backup h", "backup"},
	{"x.service", "sshpass -p 12345678 ssh h", "12345678"},
	{"x.service", "ldapsearch -x -D cn=a -w 12345678", "12345678"},
	{"x.service", "mosquitto_pub -h b -P12345678 -t x", "12345678"},
	{"x.service", "smbclient //a/b -U a%12345678 -c ls", "12345678"},
	{"/etc/rc.local", "cryptsetup open /dev/a b <<< 12345678", "12345678"},
	{"/etc/rc.local", "wpa_passphrase Home 12345678 | tee /x", "12345678"},
	{"/etc/rc.local", "htpasswd -b /etc/h anna 12345678", "12345678"},
	{"/etc/rc.local", "echo anna:hunter2 | chpasswd", "hunter2"},
	{"/etc/ssh/sshd_config:9", "ForceCommand /bin/gate --token 12345678", "12345678"},
	{"/etc/network/interfaces:9", "wpa-psk correct horse", "horse"},
	{"/etc/network/interfaces:9", "up curl -u a:hunter2 https://x/", "hunter2"},
	{"/etc/netplan/x.yaml:4", "auth: {key-management: psk, password: \"hunter2\"}", "hunter2"},
	{"/etc/apt/sources.list:1", "deb https://a:hunter2@esm.example.com/ x main", "hunter2"},
	{"/etc/gnupg/dirmngr.conf:1", "ldapserver h:389:cn=a:hunter2:dc=b", "hunter2"},
	{"journalctl (app)", "login failed for a, password=hunter2 (3 times)", "hunter2"},
	{"journalctl (app)", "error: Authorization: Bearer abcdef123456", "abcdef123456"},
	{"journalctl (app)", "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln expired", "eyJzdWI"},
	{"journalctl (app)", "git: ghp_16C7e42F292c6912E7710c838347Ae178B4a rejected", "ghp_"},
	{"/etc/systemd/network/a.netdev", "PrivateKey=yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=", "yAnz5"},
	{"wg show", "peer xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=", "xTIBA5"},
	{"ssl.key", "-----BEGIN PRIVATE KEY-----MC4CAQAw", "MC4CAQAw"},
	{"/etc/pam.d/x:1", "auth required pam_mysql.so user=a passwd=hunter2", "hunter2"},
	{"/etc/cups:1", "form:main:pin=4711", "4711"},
}

// TestMasked: evidence of all kinds shows where a secret is, and not the secret.
func TestMasked(t *testing.T) {
	for _, c := range withSecrets {
		got := Masked(c.source, c.value)
		for _, s := range strings.Fields(c.secret) {
			if strings.Contains(got, s) {
				t.Errorf("%s: %q shows %q", c.source, got, s)
			}
		}
		if strings.TrimSpace(strings.ReplaceAll(got, Dropped, "")) == "" && !strings.HasPrefix(c.value, "-----") {
			t.Errorf("%s: nothing is left of %q", c.source, c.value)
		}
		if again := Masked(c.source, got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	}
}

// TestNotMasked: what is no secret stays, or evidence would be of no use.
func TestNotMasked(t *testing.T) {
	for source, values := range map[string][]string{
		"/etc/nsswitch.conf:7": {"passwd: files systemd", "shadow: files"},
		"/etc/pam.d/sshd:2": {"password requisite pam_pwquality.so retry=3",
			"auth [success=1 default=ignore] pam_unix.so nullok_secure", "secret=/var/lib/x/${USER}"},
		"/etc/ssh/sshd_config:12": {"PasswordAuthentication no", "HostKey /etc/ssh/ssh_host_rsa_key", "PermitEmptyPasswords no",
			"AuthorizedKeysFile .ssh/authorized_keys"},
		"/etc/fstab:2": {"UUID=7f3c9a52-10de-4b7e-9c41-5d2f8e6b0a13 / ext4 errors=remount-ro 0 1",
			"/dev/x /y cifs credentials=/etc/cifs.cred 0 0"},
		"/etc/sssd/sssd.conf:3": {"ldap_tls_reqcert = never", "ldap_uri = ldap://dc1.example.com"},
		"/etc/crontab:17": {"25 6 * * * root test -x /usr/sbin/anacron || run-parts /etc/cron.daily",
			"0 1 * * * root gpg --keyserver x --recv-keys 89ABCDEF01234567"},
		"netlink":            {"br0 mtu 1500, port eth0 mtu 8950", "52:54:00:12:34:56"},
		"systemctl show ssh": {"ExecStart=/usr/sbin/sshd -D -p 2222", "Environment=SSHD_OPTS=-4"},
		"/proc/keys":         {"kernel.keys.maxkeys = 200", "kernel.keys.maxbytes=20000"},
		"journalctl (sshd)": {"Accepted publickey for a from 192.0.2.7 port 50 ssh2: ED25519 SHA256:Zk3v0tXfJq1sYw8d5nB7uQe2rT4yU6iO",
			"Failed password for root from 192.0.2.7"},
		"journalctl (app)": {"ts=2026-01-02T03:00:03.996Z caller=main.go:178 level=error err=\"No private IP address found: auth\""},
		"gpg":              {"key 0123456789abcdef0123456789abcdef01234567 expired 2024-01-01"},
		"apt":              {"deb [signed-by=/usr/share/keyrings/x.gpg] https://deb.debian.org/debian bookworm main"},
	} {
		for _, v := range values {
			if got := Masked(source, v); got != v {
				t.Errorf("%s: %q becomes %q", source, v, got)
			}
		}
	}
}

// FuzzHints: an expression is left out only where it matches nothing.
func FuzzHints(f *testing.F) {
	for _, s := range []string{"wpa-psk correct horse", "paſſword=x1", "A_\u212aEY=x y",
		"curl -u a:b https://x/", ": RSA abc", "Basic abcdefgh", "key = 12",
		"echo 'a b' | sudo chpasswd", "nmcli x password abc", "user=a%b", "https://a:b@c/", "x.pwd: abc", "ecryptfs_sig=abcd", "zip -P abc"} {
		f.Add("/etc/x", s)
	}
	for _, c := range withSecrets {
		f.Add(c.source, c.value)
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		ldap := strings.Contains(folded(value), "ldapserver")
		all := masked(source, value, func(hints ...string) bool { return hints[0] != "ldapserver" || ldap })
		if got := Masked(source, value); got != all {
			t.Errorf("%s: %q becomes %q, without hints %q", source, value, got, all)
		}
	})
}
