package ssh

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
	transport "fettle/internal/ssh"
)

// TestRealHosts reaches real sshds in namespaces of a child: good ones, one
// behind a jump host, a chatty one, one of another architecture, and ones
// that are dead, refuse, hang after authentication, or have a foreign key.
func TestRealHosts(t *testing.T) {
	means.Short(t, "takes seconds")
	if os.Getenv("FLEET_TEST") != "" {
		inside(t)
		return
	}
	means.Root(t)
	for _, tool := range []string{"ssh", "sshd", "ssh-keygen", "ip", "sudo", "gzip", "sha256sum"} {
		means.Tool(t, tool)
	}
	bin := filepath.Join(means.Programs(t, "fettle"), "fettle")
	// The process namespace ends sshds and control masters with the child.
	means.Elsewhere(
		t,
		syscall.CLONE_NEWNS|syscall.CLONE_NEWNET|syscall.CLONE_NEWPID|syscall.CLONE_NEWUTS,
		8*time.Minute,
		"FLEET_TEST="+bin,
	)
}

const hostConfig = `Port 22
HostKey /run/k/host
AuthorizedKeysFile /run/k/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
AllowTcpForwarding yes
Match User hang
  ForceCommand exec /bin/sleep 1000
Match User chatty
  ForceCommand /run/k/chatty
Match User arm,riscv
  SetEnv PATH=/run/k/bin:/usr/bin:/bin
`

const clientConfig = `Host good
  HostName 127.0.0.11
  User admin
Host plain
  HostName 127.0.0.11
  User plain
Host chatty
  HostName 127.0.0.12
  User chatty
Host jump
  HostName 127.0.0.13
  User plain2
  ProxyCommand /usr/bin/ssh -F /run/k/config -W %h:%p good
Host arm
  HostName 127.0.0.14
  User arm
Host riscv
  HostName 127.0.0.15
  User riscv
Host hang
  HostName 127.0.0.16
  User hang
Host dead
  HostName 192.0.2.9
Host refused
  HostName 127.0.0.17
  Port 23
Host stranger
  HostName 127.0.0.18
  User plain
  HostKeyAlias stranger
Host *
  IdentityFile /run/k/user
  IdentitiesOnly yes
  UserKnownHostsFile /run/k/known
  StrictHostKeyChecking yes
`

func inside(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		must(os.WriteFile(name, []byte(text), mode))
		must(os.Chmod(name, mode))
	}
	run := func(argv ...string) {
		t.Helper()
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(unix.Mount("proc", "/proc", "proc", 0, ""))
	must(unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"))
	for _, d := range []string{"/run/sshd", "/run/k/bin", "/run/me", "/run/home"} {
		must(os.MkdirAll(d, 0o755))
	}
	run("/usr/sbin/ip", "link", "set", "lo", "up")
	run("/usr/sbin/ip", "link", "add", "d0", "type", "veth", "peer", "name", "d1")
	run("/usr/sbin/ip", "addr", "add", "192.0.2.1/24", "dev", "d0")
	run("/usr/sbin/ip", "link", "set", "d0", "up")
	run("/usr/sbin/ip", "link", "set", "d1", "up")
	// What is sent to the dead host leaves, and nobody answers.
	run("/usr/sbin/ip", "neigh", "add", "192.0.2.9", "lladdr", "02:00:00:00:00:09", "dev", "d0")
	passwd := "root:x:0:0:root:/run/home/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n"
	for i, u := range []string{"admin", "plain", "plain2", "chatty", "arm", "riscv", "hang"} {
		home := "/run/home/" + u
		must(os.Mkdir(home, 0o700))
		must(os.Chown(home, 65100+i, 65100))
		passwd += fmt.Sprintf("%s:*:%d:65100::%s:/bin/sh\n", u, 65100+i, home)
	}
	for name, text := range map[string]string{"passwd": passwd, "group": "root:x:0:\nusers:x:65100:\n",
		"sudoers": "admin ALL=(ALL) NOPASSWD: ALL\n"} {
		write("/run/k/"+name, text, 0o444)
		must(unix.Mount("/run/k/"+name, "/etc/"+name, "", unix.MS_BIND, ""))
	}
	run("/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/run/k/host")
	run("/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/run/k/user")
	must(os.Chmod("/run/k/user.pub", 0o644))
	pub, err := os.ReadFile("/run/k/host.pub")
	must(err)
	write("/run/k/known", "127.0.0.* "+string(pub), 0o644)
	write("/run/k/sshd_config", hostConfig, 0o644)
	write("/run/k/config", clientConfig, 0o644)
	write(
		"/run/k/chatty",
		"#!/bin/sh\necho 'Welcome to this host'\necho '{\"type\":\"hello\"}'\nexec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
		0o755,
	)
	write(
		"/run/k/bin/uname",
		"#!/bin/sh\ncase $1 in -s) echo Linux;; *) case $(id -un) in arm) echo aarch64;; *) echo riscv64;; esac;; esac\n",
		0o755,
	)
	sshd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", "/run/k/sshd_config")
	log, err := os.Create("/run/k/log")
	must(err)
	sshd.Stderr = log
	must(sshd.Start())
	for i := 0; ; i++ {
		if c, err := os.ReadFile("/run/k/log"); err == nil && strings.Contains(string(c), "Server listening") {
			break
		} else if i > 100 {
			t.Fatalf("sshd does not listen: %s", c)
		}
		time.Sleep(50 * time.Millisecond)
	}
	// A build for another architecture that happens to run here: the same with one byte more.
	bin := os.Getenv("FLEET_TEST")
	self, err := os.ReadFile(bin)
	must(err)
	write("/run/k/fettle-linux-arm64", string(self)+"x", 0o755)
	os.Unsetenv("XDG_RUNTIME_DIR")
	os.Unsetenv("XDG_CACHE_HOME")
	t.Setenv("HOME", "/run/me")

	opt := Options{Config: "/run/k/config", Self: bin, BinaryDir: "/run/k", Limit: 45 * time.Second, Connect: 15 * time.Second}
	t.Run("many", func(t *testing.T) { many(t, opt) })
	t.Run("again", func(t *testing.T) { again(t, opt) })
	t.Run("sudo", func(t *testing.T) { sudo(t, opt) })
	t.Run("many more", func(t *testing.T) { manyMore(t, opt) })
}

// outcome is what came of one host.
type outcome struct {
	err     error
	results int
	ended   bool
	euid    int
	after   time.Duration
	order   int
}

func check(t *testing.T, opt Options, hosts []string) map[string]*outcome {
	t.Helper()
	f, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]*outcome{}
	start, n := time.Now(), 0
	f.Check(t.Context(), hosts, []string{"journal-access"}, func(e Event) {
		o := out[e.Host]
		if o == nil {
			o = &outcome{euid: -1}
			out[e.Host] = o
		}
		n++
		o.after, o.order = time.Since(start), n
		switch {
		case e.Err != nil:
			o.err = e.Err
		case e.Line.Type == "begin":
			o.euid = e.Line.Meta.Identity.EUID
		case e.Line.Result != nil:
			o.results++
		case e.Line.Type == "end":
			o.ended = true
		}
	})
	for h, o := range out {
		t.Logf("%-9s %6s results %d euid %d %v", h, o.after.Round(time.Millisecond), o.results, o.euid, o.err)
	}
	return out
}

func many(t *testing.T, opt Options) {
	good := []string{"good", "plain", "chatty", "jump", "arm"}
	bad := map[string]struct {
		why     string
		reached bool
	}{
		"dead":     {"Connection timed out", false},
		"refused":  {"Connection refused", false},
		"stranger": {"Host key verification failed", false},
		"hang":     {"took longer than", false},
		"riscv":    {"it is a riscv64 machine, and there is no /run/k/fettle-linux-riscv64", true},
	}
	hosts := append([]string(nil), good...)
	for h := range bad {
		hosts = append([]string{h}, hosts...) // the bad ones first: they must not hold up the rest
	}
	out := check(t, opt, hosts)
	for _, h := range good {
		if o := out[h]; o == nil || o.err != nil || !o.ended || o.results != 1 {
			t.Errorf("%s: %+v", h, o)
		} else if o.order > out["hang"].order {
			t.Errorf("%s came after the host that hangs", h)
		}
	}
	for h, want := range bad {
		var e *Error
		if o := out[h]; o == nil || !errors.As(o.err, &e) || !strings.Contains(e.Why, want.why) || e.Reached != want.reached || o.ended {
			t.Errorf("%s: %+v; want %q", h, o, want.why)
		}
	}
	if o := out["hang"]; o.after > opt.Limit+3*time.Second {
		t.Errorf("the host that hangs took %s, over its limit of %s", o.after, opt.Limit)
	}
	if o := out["dead"]; o.after > opt.Connect+3*time.Second {
		t.Errorf("the dead host took %s, over the limit of %s", o.after, opt.Connect)
	}
	if es, _ := filepath.Glob("/run/me/.cache/fettle/ssh/*"); len(es) == 0 {
		t.Error("no control socket was left for the next run")
	}
	dir := copyOf(t, "plain")
	for p, want := range map[string]os.FileMode{dir: 0o700, dir + "/fettle": 0o700} {
		if st, err := os.Stat(p); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s on the host: %v, %v; want mode %o", p, st.Mode(), err, want)
		}
	}
}

// copyOf is the folder of the copy in a user's home.
func copyOf(t *testing.T, user string) string {
	t.Helper()
	ds, _ := filepath.Glob("/run/home/" + user + "/.cache/fettle/*")
	if len(ds) != 1 || len(filepath.Base(ds[0])) != 64 {
		t.Fatalf("copies of %s: %v", user, ds)
	}
	return ds[0]
}

// again: the copy is used again, and never when it was tampered with.
func again(t *testing.T, opt Options) {
	file := copyOf(t, "plain") + "/fettle"
	inode := func() uint64 {
		st, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return st.Sys().(*syscall.Stat_t).Ino
	}
	before := inode()
	if o := check(t, opt, []string{"plain"})["plain"]; o.err != nil || !o.ended {
		t.Fatalf("%+v", o)
	}
	if inode() != before {
		t.Error("it was copied again")
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho owned > /run/home/plain/owned\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if o := check(t, opt, []string{"plain"})["plain"]; o.err != nil || !o.ended {
		t.Fatalf("after tampering: %+v", o)
	}
	if _, err := os.Stat("/run/home/plain/owned"); err == nil {
		t.Error("the tampered copy was run")
	}
}

func sudo(t *testing.T, opt Options) {
	opt.Sudo = true
	out := check(t, opt, []string{"good", "plain"})
	if o := out["good"]; o.err != nil || o.euid != 0 || !o.ended {
		t.Errorf("good: %+v", o)
	}
	if o := out["plain"]; o.err == nil || !strings.Contains(o.err.Error(), "sudo: ") || o.ended {
		t.Errorf("plain: %+v", o)
	}
	opt.Sudo = false
	if o := check(t, opt, []string{"good"})["good"]; o.euid < 65000 {
		t.Errorf("without sudo: %+v", o)
	}
}

// manyMore reaches sixty hosts: each name of 127.0.0.0/8 is one to ssh.
func manyMore(t *testing.T, opt Options) {
	opt.Limit = 3 * time.Minute
	var hosts []string
	for i := range 60 {
		hosts = append(hosts, fmt.Sprintf("plain@127.0.0.%d", 100+i))
	}
	start := time.Now()
	for h, o := range check(t, opt, hosts) {
		if o.err != nil || !o.ended {
			t.Errorf("%s: %+v %v", h, o, o.err)
		}
	}
	t.Logf("60 hosts, %d at once: %s", transport.DefaultForks, time.Since(start).Round(time.Millisecond))
}
