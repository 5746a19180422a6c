package login_test

import (
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
	w.write(
		"/etc/passwd",
		"root:x:0:0:root:/run/k/home:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\nnobody:x:65534:65534::/nonexistent:/bin/sh\n",
		0o644,
	)
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
		"account required pam_nologin.so\naccount required pam_permit.so\n@include common-session\nsession required pam_limits.so\npassword "+
		"required pam_deny.so\n", 0o644)
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
