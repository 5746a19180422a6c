package raforwarding

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/means"
	"fettle/trap"
	"fettle/trap/traptest"
)

// These tests run on the real kernel: a router and a host in two network
// namespaces, radvd in the router's. The test binary runs itself in a network
// and a mount namespace of its own, so that nothing of the machine changes.

// alone runs the calling test again in namespaces of its own, and tells
// whether this is that run.
func alone(t *testing.T) bool {
	t.Helper()
	means.Root(t)
	if os.Getenv("RAFORWARDING_ALONE") != "" {
		return true
	}
	means.Tool(t, "ip")
	means.Tool(t, "radvd")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "RAFORWARDING_ALONE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	t.Logf("\n%s", out)
	if err != nil {
		t.Error(err)
	}
	return false
}

// netlab is the two namespaces: this process's holds h0, "rt" holds r0.
type netlab struct {
	*testing.T
	ip string
}

func newLab(t *testing.T) netlab {
	l := netlab{t, means.Tool(t, "ip")}
	l.must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	for _, dir := range []string{"/run", "/etc/sysctl.d", "/usr/lib/sysctl.d", "/etc/systemd/network"} {
		l.must(os.MkdirAll(dir, 0o755))
		l.must(unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	}
	l.run(l.ip, "netns", "add", "rt")
	l.run(l.ip, "link", "set", "lo", "up")
	l.run(l.ip, "link", "add", "h0", "type", "veth", "peer", "name", "r0", "netns", "rt")
	l.run(l.ip, "netns", "exec", "rt", means.Tool(t, "sysctl"), "-qw", "net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.all.accept_dad=0")
	// No waiting for duplicate addresses: the link-local address is there at once.
	l.set("default/accept_dad", "0")
	l.set("h0/accept_dad", "0")
	l.run(l.ip, "-n", "rt", "link", "set", "r0", "addrgenmode", "eui64", "up")
	l.run(l.ip, "link", "set", "h0", "up")
	l.radvd()
	return l
}

// radvd sends an advertisement some ten times a second: AdvIntervalOpt
// lets it go below three seconds (radvd.conf(5), Mobile IPv6).
func (l netlab) radvd() {
	conf := filepath.Join(l.TempDir(), "radvd.conf")
	l.must(os.WriteFile(conf, []byte(`interface r0 {
	AdvSendAdvert on; AdvIntervalOpt on; AdvDefaultLifetime 600;
	MinRtrAdvInterval 0.07; MaxRtrAdvInterval 0.1; MinDelayBetweenRAs 0.05;
	prefix 2001:db8:1::/64 { AdvOnLink on; AdvAutonomous on; };
};
`), 0o644))
	runtime.LockOSThread() // the parent-death signal is the thread's
	cmd := exec.Command(l.ip, "netns", "exec", "rt", means.Tool(l, "radvd"), "-n", "-m", "stderr", "-C", conf, "-p", "/run/radvd.pid")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log bytes.Buffer
	cmd.Stderr = &log
	l.must(cmd.Start())
	l.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if l.Failed() {
			l.Logf("radvd:\n%s", &log)
		}
	})
}

func (l netlab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l netlab) run(argv ...string) string {
	l.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		l.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

func (l netlab) set(key, value string) {
	l.Helper()
	l.must(os.WriteFile(confDir+key, []byte(value), 0o644))
}

func (l netlab) get(key string) string {
	l.Helper()
	b, err := os.ReadFile(confDir + key)
	l.must(err)
	return strings.TrimSpace(string(b))
}

func (l netlab) route() bool {
	return strings.Contains(l.run(l.ip, "-6", "route", "show", "default", "dev", "h0"), "proto ra")
}

func (l netlab) address() bool {
	return strings.Contains(l.run(l.ip, "-6", "address", "show", "dev", "h0", "scope", "global"), "2001:db8:1:")
}

func (l netlab) count() int64 {
	src, err := host.NewLive()
	l.must(err)
	n, err := advertisements(l.Context(), host.New(src), "h0")
	l.must(err)
	return n
}

// hear waits until n more advertisements have come in, taken or not.
func (l netlab) hear(n int64) {
	l.Helper()
	for end, from := time.Now().Add(10*time.Second), l.count(); l.count() < from+n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			l.Fatalf("radvd's advertisements do not arrive: %d", l.count()-from)
		}
	}
}

// routeComes waits for the default route. It returns as soon as it is there,
// or when three more advertisements went by without it.
func (l netlab) routeComes() bool {
	l.Helper()
	for from, end := l.count(), time.Now().Add(10*time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if l.route() {
			return true
		}
		if l.count() >= from+3 {
			return l.route()
		}
	}
	l.Fatal("radvd's advertisements do not arrive")
	return false
}

// clean makes h0 a host again, without anything from advertisements.
func (l netlab) clean() {
	l.set("all/forwarding", "0")
	l.set("h0/accept_ra", "0")
	exec.Command(l.ip, "-6", "route", "flush", "dev", "h0", "proto", "ra").Run() // fails when there is none
	l.run(l.ip, "-6", "address", "flush", "dev", "h0", "scope", "global")
}

func (l netlab) check() []trap.Outcome {
	l.Helper()
	src, err := host.NewLive()
	l.must(err)
	return traptest.Run(l, &Trap, host.New(src))
}

func (l netlab) says(want string) trap.Outcome {
	l.Helper()
	out := l.check()
	if len(out) != 1 || !strings.HasPrefix(traptest.Lines(out), want) {
		l.Fatalf("check says\n%s\nwant %q", traptest.Lines(out), want)
	}
	return out[0]
}
