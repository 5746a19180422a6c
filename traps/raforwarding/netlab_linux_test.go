package raforwarding

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/trap"
	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/internal/means"
	"fettle/traps/raforwarding/proof/arena"
)

// These tests run on the real kernel: a router and a host in two network
// namespaces, radvd in the router's. The test binary runs itself in a network
// and a mount namespace of its own, so that nothing of the machine changes.

// alone runs the calling test again in namespaces of its own, and tells
// whether this is that run.
func alone(t *testing.T) bool {
	t.Helper()
	means.Tool(t, "ip")
	means.Tool(t, "radvd")
	return means.Inside(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWNET, 2*time.Minute)
}

// netlab is an arena whose errors end the test.
type netlab struct {
	*testing.T
	ip    string
	arena arena.Arena
}

func newLab(t *testing.T) netlab {
	l := netlab{T: t, ip: means.Tool(t, "ip")}
	for _, tool := range []string{"sysctl", "radvd"} {
		means.Tool(t, tool)
	}
	l.arena = arena.Arena{Run: func(argv ...string) (string, error) {
		out, err := exec.Command(means.Tool(t, argv[0]), argv[1:]...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%v: %w: %s", argv, err, out)
		}
		return string(out), err
	}}
	for _, dir := range []string{"/run", "/etc/sysctl.d", "/usr/lib/sysctl.d", "/etc/systemd/network"} {
		l.must(os.MkdirAll(dir, 0o755))
		l.must(unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	}
	l.must(l.arena.Build())
	l.radvd()
	return l
}

func (l netlab) radvd() {
	conf := filepath.Join(l.TempDir(), "radvd.conf")
	l.must(os.WriteFile(conf, []byte(arena.FastRadvd), 0o644))
	runtime.LockOSThread() // the parent-death signal is the thread's
	cmd := exec.Command(l.ip, arena.RadvdArgs(conf)[1:]...)
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
	l.must(l.arena.Set(key, value))
}

func (l netlab) get(key string) string {
	l.Helper()
	b, err := os.ReadFile(confDir + key)
	l.must(err)
	return strings.TrimSpace(string(b))
}

func (l netlab) route() bool {
	l.Helper()
	ok, err := l.arena.Route()
	l.must(err)
	return ok
}

func (l netlab) address() bool {
	l.Helper()
	ok, err := l.arena.Address()
	l.must(err)
	return ok
}

func (l netlab) count() int64 {
	l.Helper()
	n, err := l.arena.Count()
	l.must(err)
	return n
}

// hear waits until n more advertisements have come in, taken or not.
func (l netlab) hear(n int64) {
	l.Helper()
	for end, from := time.Now().Add(means.Patience), l.count(); l.count() < from+n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			l.Fatalf("radvd's advertisements do not arrive: %d", l.count()-from)
		}
	}
}

func (l netlab) routeComes() bool {
	l.Helper()
	ok, err := l.arena.RouteComes()
	l.must(err)
	return ok
}

func (l netlab) clean() {
	l.Helper()
	l.must(l.arena.Clean())
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
