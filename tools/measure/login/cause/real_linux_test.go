package cause

import (
	"bufio"
	"bytes"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestPingOverRealBus speaks to a real dbus-daemon: it lets us in, and says
// that it knows no logind.
func TestPingOverRealBus(t *testing.T) {
	daemon := means.Tool(t, "dbus-daemon")
	dir := t.TempDir()
	sock := filepath.Join(dir, "bus")
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=`+sock+`</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/><allow receive_type="method_call"/><allow own="*"/><allow user="*"/></policy></busconfig>`), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(daemon, "--config-file="+conf, "--nofork", "--nopidfile")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	means.Dial(t, "unix", sock).Close()
	took, err := PingLogind(t.Context(), sock, 5*time.Second)
	if err == nil || !strings.Contains(err.Error(), "org.freedesktop.DBus.Error.ServiceUnknown") || took > 4*time.Second {
		t.Errorf("%v after %s", err, took)
	}
}

// TestPingSilentBus: a bus that lets in and says no more.
func TestPingSilentBus(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		for r := bufio.NewScanner(c); r.Scan(); { // D-Bus Specification, "Authentication Protocol"
			switch line := strings.TrimLeft(r.Text(), "\x00"); {
			case line == "AUTH":
				c.Write([]byte("REJECTED EXTERNAL\r\n"))
			case strings.HasPrefix(line, "AUTH "):
				c.Write([]byte("OK 00\r\n"))
			case line == "NEGOTIATE_UNIX_FD":
				c.Write([]byte("ERROR\r\n"))
			}
		}
	}()
	took, err := PingLogind(t.Context(), sock, 200*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "did not answer") || took < 200*time.Millisecond || took > 3*time.Second {
		t.Errorf("%v after %s", err, took)
	}
}

// TestWire: connections come from the addresses they are to come from, and
// this host is given none of them.
func TestWire(t *testing.T) {
	means.Root(t)
	for _, c := range [][2]string{{"192.0.2.7", "198.51.100.1:22"}, {"2001:db8::7", "[2001:db8::1]:22"}, {"127.0.0.1", "127.0.0.1:22"},
		{"fe80::1", "[fe80::2]:22"}} {
		w, err := newWire(netip.MustParseAddr(c[0]), netip.MustParseAddrPort(c[1]))
		if err != nil {
			t.Fatal(c, err)
		}
		near, far, err := w.pair()
		if err != nil {
			t.Fatal(c, err)
		}
		got := far.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().WithZone("").Unmap()
		if got.String() != c[0] {
			t.Errorf("sshd would see %s, want %s", got, c[0])
		}
		if far.RemoteAddr().String() != near.LocalAddr().String() {
			t.Errorf("%v: somebody else came: %s", c, far.RemoteAddr())
		}
		own, err := net.InterfaceAddrs()
		for _, a := range own {
			if ip := a.(*net.IPNet).IP.String(); err != nil || ip == c[0] && c[0] != "127.0.0.1" {
				t.Errorf("this host was given %s (%v)", ip, err)
			}
		}
		near.Close()
		far.Close()
		w.close()
	}
}

// TestPrivateConfig: what sshd says of itself, made private, is accepted by it.
func TestPrivateConfig(t *testing.T) {
	means.Root(t)
	sshd := means.Tool(t, "sshd")
	keygen := means.Tool(t, "ssh-keygen")
	if _, err := os.Stat("/run/sshd"); err != nil {
		// sshd wants its folder even for -T; the machine's /run stays as it is.
		inMounts(t)
		return
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "host")
	if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte("HostKey "+key+`
UsePAM yes
PasswordAuthentication yes
AllowUsers anna root
Subsystem sftp /usr/lib/openssh/sftp-server
Match User anna Address 192.0.2.0/24
  AuthorizedKeysFile /nowhere
  AuthenticationMethods publickey,password
  ForceCommand /bin/date
Match LocalPort 2222
  AuthorizedKeysCommand /bin/false
  AuthorizedKeysCommandUser nobody
`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{
		User:   "anna",
		Client: netip.MustParseAddr("192.0.2.7"),
		Config: file,
		SSHD:   sshd,
		Server: netip.MustParseAddrPort("192.0.2.1:2222"),
	}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	set, err := effective(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	if set.get("forcecommand") != "/bin/date" || set.get("authorizedkeyscommand") != "/bin/false" {
		t.Fatalf("the Match blocks do not hold: %v", set)
	}
	broken := append(settings{{"nonsense", "yes"}, {"forcecommand", ""}}, set...)
	private, err := broken.private("/run/x/keys").accepted(t.Context(), sshd, filepath.Join(dir, "private"))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"authorizedkeysfile": "/run/x/keys", "authenticationmethods": "publickey",
		"passwordauthentication": "no",
		"authorizedkeyscommand":  "none", "usepam": "yes", "nonsense": "", "subsystem": "", "forcecommand": "/bin/date"} {
		if got := private.get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// inMounts runs the test again in a child with a /run of its own.
func inMounts(t *testing.T) {
	if os.Getenv("FETTLE_CAUSE_CHILD") != "" {
		if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
		TestPrivateConfig(t)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "FETTLE_CAUSE_CHILD=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Fatalf("%v\n%s", err, out)
	}
}
