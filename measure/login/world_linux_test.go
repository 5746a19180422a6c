package login_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
)

const (
	serverAddr = "10.9.0.1"
	clientAddr = "10.9.0.2"
	dnsAddr    = "10.9.0.53"
	kdcAddr    = "10.9.0.88"
)

// world is a server and a client in one network namespace, with an /etc and a
// folder of libraries of their own.
type world struct {
	t      *testing.T
	config string // ssh's

	sshd, hosts, session, account, auth, client string
	dns                                         func(dns.ResponseWriter, *dns.Msg)
}

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

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	w.must(os.WriteFile(name, []byte(text), mode))
	w.must(os.Chmod(name, mode))
}

func (w *world) edit(name, old, new string) {
	w.t.Helper()
	b, err := os.ReadFile(name)
	w.must(err)
	if !strings.Contains(string(b), old) {
		w.t.Fatalf("%s has no %q", name, old)
	}
	w.write(name, strings.Replace(string(b), old, new, 1), 0o644)
}

func (w *world) run(argv ...string) {
	w.t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

// overlay lets a folder be written to without changing the machine's.
func (w *world) overlay(dir string) {
	base := "/run/k/over" + strings.ReplaceAll(dir, "/", "-")
	w.must(os.MkdirAll(base+"/up", 0o755))
	w.must(os.MkdirAll(base+"/work", 0o755))
	w.must(unix.Mount("overlay", dir, "overlay", 0, "lowerdir="+dir+",upperdir="+base+"/up,workdir="+base+"/work"))
}

func newWorld(t *testing.T, faults []fault) *world {
	w := &world{t: t, config: "/run/k/config", hosts: "files dns",
		sshd: `ListenAddress ` + serverAddr + `
HostKey /run/k/host
AuthorizedKeysFile /run/k/user.pub
StrictModes no
UsePAM yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UseDNS no
PidFile none
`,
		client: `Host server
 HostName ` + serverAddr + `
Host *
 BindAddress ` + clientAddr + `
 User root
 IdentityFile /run/k/user
 IdentitiesOnly yes
 UserKnownHostsFile /run/k/known
`,
		dns: func(rw dns.ResponseWriter, m *dns.Msg) {
			r := new(dns.Msg)
			rw.WriteMsg(r.SetRcode(m, dns.RcodeNameError))
		},
	}
	must := w.must
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(unix.Mount("proc", "/proc", "proc", 0, ""))
	must(unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"))
	for _, d := range []string{"/run/sshd", "/run/k/home", "/run/k/tmp"} {
		must(os.MkdirAll(d, 0o755))
	}
	t.Setenv("HOME", "/run/k/home")
	t.Setenv("TMPDIR", "/run/k/tmp")
	libs, _ := filepath.Glob("/usr/lib/*-linux-gnu*/libnss_compat.so.2")
	if len(libs) == 0 {
		t.Fatal("where does libc look for its modules?")
	}
	w.overlay("/etc")
	w.overlay(filepath.Dir(libs[0]))
	w.run("/usr/sbin/ip", "link", "set", "lo", "up")
	for _, a := range []string{serverAddr, clientAddr, dnsAddr, kdcAddr} {
		w.run("/usr/sbin/ip", "addr", "add", a+"/32", "dev", "lo")
	}
	w.run("/usr/bin/gcc", "-shared", "-fPIC", "-w", "-o", "/run/k/pam_sleep.so", "testdata/pam_sleep.c")
	for _, copy := range []string{"pam_sleep2", "pam_systemd"} {
		must(os.Link("/run/k/pam_sleep.so", "/run/k/"+copy+".so"))
	}
	w.run("/usr/bin/gcc", "-shared", "-fPIC", "-w", "-o", filepath.Dir(libs[0])+"/libnss_sleep.so.2", "testdata/nss_sleep.c")
	w.write("/etc/passwd", "root:x:0:0:root:/run/k/home:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\nnobody:x:65534:65534::/nonexistent:/bin/sh\n", 0o644)
	w.write("/etc/hosts", "127.0.0.1 localhost\n", 0o644)
	w.write("/etc/resolv.conf", "nameserver "+dnsAddr+"\noptions timeout:1 attempts:1\n", 0o644)
	os.RemoveAll("/etc/krb5.conf")
	for _, k := range []string{"host", "user"} {
		w.run("/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/run/k/"+k)
	}
	pub, err := os.ReadFile("/run/k/host.pub")
	must(err)
	w.write("/run/k/known", serverAddr+",server.test "+string(pub), 0o600)
	for _, f := range faults {
		f(w)
	}
	w.write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: "+w.hosts+"\n", 0o644)
	w.write("/etc/pam.d/common-session", "session optional pam_keyinit.so revoke\n"+w.session, 0o644)
	w.write("/etc/pam.d/sshd", "auth required pam_permit.so\n"+w.auth+w.account+
		"account required pam_nologin.so\naccount required pam_permit.so\n@include common-session\nsession required pam_limits.so\npassword required pam_deny.so\n", 0o644)
	w.write("/etc/ssh/sshd_config", w.sshd, 0o600)
	w.write(w.config, w.client, 0o600)
	pc, err := net.ListenPacket("udp", dnsAddr+":53")
	must(err)
	go dns.ActivateAndServe(nil, pc, dns.HandlerFunc(w.dns))
	w.startSSHD()
	return w
}

// startSSHD waits until it listens.
func (w *world) startSSHD() {
	w.t.Helper()
	sshd := exec.Command("/usr/sbin/sshd", "-D", "-e")
	log, err := os.Create("/run/k/log")
	w.must(err)
	defer log.Close()
	sshd.Stderr = log
	w.must(sshd.Start())
	w.t.Cleanup(func() {
		if b, err := os.ReadFile("/run/k/log"); err == nil && w.t.Failed() {
			w.t.Logf("sshd says:\n%s", b)
		}
	})
	for i := 0; ; i++ {
		b, err := os.ReadFile("/run/k/log")
		if err == nil && strings.Contains(string(b), "Server listening") {
			return
		}
		if i > 200 {
			w.t.Fatalf("sshd does not listen: %s", b)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
