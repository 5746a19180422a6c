package raforwarding

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy/step"
	"fettle/host"
	"fettle/internal/means"
)

// networkd starts the real systemd-networkd in the lab. Where /sys is
// read-only it takes itself to be in a container, and waits for no udev.
func (l netlab) networkd() (stop func()) {
	l.Helper()
	var log bytes.Buffer
	cmd := exec.Command("/usr/lib/systemd/systemd-networkd")
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	l.must(cmd.Start())
	return func() {
		cmd.Process.Kill()
		cmd.Wait()
		if l.Failed() {
			l.Logf("systemd-networkd:\n%s", &log)
		}
	}
}

// TestNetworkdTakesAdvertisementsItself shows with the real daemon what the
// check says of it: that it does not mind the kernel's forwarding, that its
// own IPForward= makes it ignore advertisements, and that the plan's drop-in
// makes it listen.
func TestNetworkdTakesAdvertisementsItself(t *testing.T) {
	means.Short(t, "takes seconds")
	if _, err := os.Stat("/usr/lib/systemd/systemd-networkd"); err != nil {
		means.Tool(t, "systemd-networkd")
		return
	}
	if !alone(t) {
		return
	}
	l := newLab(t)
	l.must(unix.Mount("sysfs", "/sys", "sysfs", unix.MS_RDONLY, ""))
	for _, dir := range []string{"/run/systemd/netif/links", "/run/systemd/netif/leases", "/run/udev"} {
		l.must(os.MkdirAll(dir, 0o777))
	}
	const file = "/etc/systemd/network/10-h0.network"
	const plain = "[Match]\nName=h0\n[Network]\nDHCP=no\n"
	l.clean()
	l.set("all/forwarding", "1")

	l.must(os.WriteFile(file, []byte(plain), 0o644))
	stop := l.networkd()
	if !l.eventually(l.route) {
		t.Error("networkd does not take advertisements while the kernel forwards")
	}
	l.says("not-applicable h0: systemd-networkd handles router advertisements itself")
	stop()

	l.clean()
	l.set("all/forwarding", "1")
	l.must(os.WriteFile(file, []byte(plain+"IPForward=ipv6\nIPv6Forwarding=yes\n"), 0o644))
	stop = l.networkd()
	if !l.eventually(func() bool { return l.get("h0/accept_ra") == "0" }) {
		t.Error("networkd does not take h0")
	}
	time.Sleep(2 * time.Second) // it starts to listen within one where it does
	l.hear(5)
	if l.route() {
		t.Error("networkd takes advertisements although it is told to forward")
	}
	f := l.says("found critical h0: systemd-networkd ignores router advertisements")
	stop()

	src, err := host.NewLive()
	l.must(err)
	p, err := plan(t.Context(), host.New(src), f)
	l.must(err)
	drop := p.Steps[0].(step.File) // there is no systemd here for the reload
	l.must(os.MkdirAll(filepath.Dir(drop.Path), 0o755))
	l.must(os.WriteFile(drop.Path, drop.Content, 0o644))
	stop = l.networkd()
	defer stop()
	if !l.eventually(l.route) {
		t.Error("the drop-in does not make networkd listen")
	}
	if out := l.run(l.ip, "-6", "route", "show", "default"); !strings.Contains(out, "proto ra") {
		t.Errorf("routes: %s", out)
	}
	l.says("not-applicable h0: systemd-networkd handles router advertisements itself")
}

func (l netlab) eventually(ok func() bool) bool {
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return ok()
}
