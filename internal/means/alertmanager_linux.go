package means

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Alertmanager starts a real Alertmanager that keeps what it is sent until the test ends. It returns where it
// listens, or soon will, and what it says.
func Alertmanager(t testing.TB) (addr string, log *bytes.Buffer) {
	t.Helper()
	daemon, dir := Tool(t, "prometheus-alertmanager"), t.TempDir()
	conf := filepath.Join(dir, "am.yml")
	if err := os.WriteFile(conf, []byte("route:\n  receiver: none\nreceivers:\n- name: none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	l.Close()
	log = new(bytes.Buffer)
	cmd := exec.Command(daemon, "--config.file="+conf, "--storage.path="+dir, "--web.listen-address="+addr, "--cluster.listen-address=")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return addr, log
}
