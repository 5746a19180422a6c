package packaging

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPatchNight restarts a real Debian host: the hub learns that it stops, that it is back, and
// without what, and that this was mended.
func TestPatchNight(t *testing.T) {
	long(t, "restarts a Debian host with an agent", "mmdebstrap", "systemd-nspawn")
	root := debian(t, "bookworm")
	if err := os.MkdirAll(filepath.Join(root, "result"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fettle", "fettle-agent"} {
		run(t, "cp", built(t, name+"_*_amd64.deb"), filepath.Join(root, name+".deb"))
	}
	run(t, "systemd-nspawn", "-q", "--register=no", "--keep-unit", "-D", root, "--pipe", "dpkg", "-i", "/fettle.deb", "/fettle-agent.deb")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen, state, hub := l.Addr().String(), t.TempDir(), built(t, "fettle-hub-linux-amd64")
	l.Close()
	serve := exec.Command(hub, "--state", state, "serve", "--listen", listen, "--web", "none")
	serve.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	serve.Stderr = os.Stderr
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	says := func(args ...string) string {
		out, _ := exec.Command(hub, append([]string{"--state", state}, args...)...).CombinedOutput()
		return string(out)
	}
	until := func(what string, so func() bool) {
		t.Helper()
		for end := time.Now().Add(4 * time.Minute); !so(); time.Sleep(300 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("not within minutes: %s\n%s", what, says("restarts"))
				return
			}
		}
	}
	invite := ""
	until("the hub invites", func() bool {
		invite = strings.TrimPrefix(strings.TrimSpace(says("invite", "--group", "web")), "fettle-agent join ")
		return !strings.Contains(invite, "fettle-hub: ")
	})

	stopped := ""
	go func() {
		until("the host says that it stops", func() bool {
			stopped = says("restarts")
			return strings.Contains(stopped, "said that it stops")
		})
		until("the hub hears what is missing", func() bool { return strings.Contains(says("restarts"), "shop.service") })
		t.Log(says("restarts"))
		_ = os.WriteFile(filepath.Join(root, "result/seen"), nil, 0o644)
		until("and that it is mended", func() bool { return strings.Contains(says("restarts"), "1 host restarted, 1 as before") })
		_ = os.WriteFile(filepath.Join(root, "result/end"), nil, 0o644)
	}()
	said := booted(t, root, "testdata/patchnight.sh", map[string]string{"result/invite": invite + "\n"})
	for name, want := range map[string]string{"joined": "0\n", "told": "0\n", "mended": "0\n", "failed": ""} {
		if got := said(name); got != want {
			t.Errorf("%s: %q, want %q\n%s%s", name, got, want, said("log"), said("agent"))
		}
	}
	t.Logf("%s%s", stopped, says("restarts"))
}
