package login_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// fault makes something slow, before the daemons start.
type fault func(*world)

const delay = 800 * time.Millisecond

func useDNS(w *world)  { w.sshd = strings.Replace(w.sshd, "UseDNS no", "UseDNS yes", 1) }
func deadDNS(w *world) { w.dns = func(dns.ResponseWriter, *dns.Msg) {} }
func slowDNS(w *world) {
	fast := w.dns
	w.dns = func(rw dns.ResponseWriter, m *dns.Msg) { time.Sleep(delay); fast(rw, m) }
}
func silentSource(w *world) { w.hosts = "files sleep dns" }
func pamSession(w *world)   { w.session += "session optional /run/k/pam_sleep.so 800\n" }
func pamSession2(w *world)  { w.session += "session required /run/k/pam_sleep2.so 700\n" }
func pamAccount(w *world) {
	w.account += "account [success=1 default=ignore] /run/k/pam_sleep.so 800\naccount required pam_deny.so\n"
}
func pamSetcred(w *world) { w.auth += "auth optional /run/k/pam_sleep.so 800\n" }
func slowShell(w *world) {
	w.write("/run/k/sh", "#!/bin/sh\nsleep 0.8\nexec /bin/sh \"$@\"\n", 0o755)
	w.edit("/etc/passwd", "root:/run/k/home:/bin/sh", "root:/run/k/home:/run/k/sh")
}
func clientSource(w *world) {
	w.hosts = "sleep files"
	w.client = strings.Replace(w.client, "HostName "+serverAddr, "HostName server.test", 1)
	w.write("/etc/hosts", "127.0.0.1 localhost\n"+serverAddr+" server.test\n", 0o644)
}

// namelessGSSAPI is an sshd that offers GSSAPI on a host whose own name nobody
// knows: the library looks it up to find sshd's key.
func namelessGSSAPI(w *world) {
	w.sshd += "GSSAPIAuthentication yes\n"
	w.write("/etc/krb5.conf", "[libdefaults]\n default_realm = TEST\n", 0o644)
	deadDNS(w)
}

// slowMotd is a script that pam_motd has run at each login, on Debian.
func slowMotd(w *world) {
	w.must(os.MkdirAll("/etc/update-motd.d", 0o755))
	w.write("/etc/update-motd.d/50-news", "#!/bin/sh\nsleep 0.8\necho news\n", 0o755)
	w.session += "session optional pam_motd.so motd=/run/motd.dynamic\nsession optional pam_motd.so noupdate\n"
}

// hostbased is tried by the client and refused by the server. What it costs is
// on the client: it looks up the name of its own address first (sshconnect2.c,
// userauth_hostbased, get_local_name).
func hostbased(w *world) {
	w.sshd += "HostbasedAuthentication yes\n"
	w.client += " HostbasedAuthentication yes\n"
	w.write("/etc/ssh/ssh_config", "Host *\n EnableSSHKeysign yes\n", 0o644)
	b, err := os.ReadFile("/run/k/host")
	w.must(err)
	w.write("/etc/ssh/ssh_host_ed25519_key", string(b), 0o600)
	b, err = os.ReadFile("/run/k/host.pub")
	w.must(err)
	w.write("/etc/ssh/ssh_host_ed25519_key.pub", string(b), 0o644)
}

// absentKDC gives the client a key of Kerberos, and a KDC that hangs up.
func absentKDC(w *world) {
	w.write("/etc/krb5.conf", `[libdefaults]
 default_realm = TEST
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 default_client_keytab_name = FILE:/run/k/keytab
[realms]
 TEST = {
  kdc = `+kdcAddr+`
 }
`, 0o644)
	w.write("/run/k/keytab", string(keytab("root", "TEST")), 0o600)
	w.client += "GSSAPIAuthentication yes\n"
	w.sshd += "GSSAPIAuthentication yes\n"
	l, err := net.Listen("tcp", kdcAddr+":88")
	w.must(err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			time.AfterFunc(delay, func() { c.Close() })
		}
	}()
}

// keytab makes a key table (MIT's documentation, "Keytab file format") with one
// key of 32 bytes.
func keytab(name, realm string) []byte {
	var e bytes.Buffer
	put := func(v any) { binary.Write(&e, binary.BigEndian, v) }
	str := func(s string) { put(uint16(len(s))); e.WriteString(s) }
	put(uint16(1))
	str(realm)
	str(name)
	put(uint32(1)) // KRB5_NT_PRINCIPAL
	put(uint32(0))
	put(uint8(1))
	put(uint16(18)) // aes256-cts-hmac-sha1-96
	str(strings.Repeat("k", 32))
	out := binary.BigEndian.AppendUint32([]byte{5, 2}, uint32(e.Len()))
	return append(out, e.Bytes()...)
}

// slowLogind is a D-Bus on which logind answers late, and a pam_systemd that
// waits for it.
func slowLogind(w *world) {
	w.session += "session optional /run/k/pam_systemd.so 800\n"
	w.must(os.MkdirAll("/run/dbus", 0o755))
	l, err := net.Listen("unix", "/run/dbus/system_bus_socket")
	w.must(err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go fakeBus(c, delay)
		}
	}()
}

// fakeBus lets everybody in and answers the second call after a while.
func fakeBus(c net.Conn, wait time.Duration) {
	defer c.Close()
	buf := make([]byte, 4096)
	if _, err := c.Read(buf); err != nil {
		return
	}
	c.Write([]byte("OK 0123456789abcdef0123456789abcdef\r\n"))
	if _, err := c.Read(buf); err != nil {
		return
	}
	reply := func(to uint32) []byte {
		m := []byte{'l', 2, 0, 1, 0, 0, 0, 0}
		m = binary.LittleEndian.AppendUint32(m, to+10)
		m = binary.LittleEndian.AppendUint32(m, 8)
		return binary.LittleEndian.AppendUint32(append(m, 5, 1, 'u', 0), to)
	}
	c.Write(reply(1))
	time.Sleep(wait)
	c.Write(reply(2))
	c.Read(buf)
}
