package means

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// NATS is a cluster of three of another's NATS servers.
type NATS struct {
	Addrs   []string
	Servers []*exec.Cmd
}

// NewNATS starts a cluster in a folder, with a certificate and its key; conf is what else belongs into the configuration
// of each.
func NewNATS(t testing.TB, dir, cert, key, maxFile, conf string) *NATS {
	t.Helper()
	program := Tool(t, "nats-server")
	ports := Ports(t, 6)
	var routes []string
	for _, p := range ports[3:] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	n := &NATS{}
	for i := range 3 {
		own := filepath.Join(dir, fmt.Sprintf("nats%d", i))
		text := fmt.Sprintf("server_name: n%d\nlisten: 127.0.0.1:%d\njetstream: {store_dir: %q, max_file: %s, max_mem: 64M}\n"+
			"tls: {cert_file: %q, key_file: %q}\ncluster: {name: c, listen: 127.0.0.1:%d, routes: [%s]}\n%s",
			i, ports[i], own, maxFile, cert, key, ports[3+i], strings.Join(routes, ", "), conf)
		if err := os.WriteFile(own+".conf", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := os.Create(own + ".log")
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		s := exec.Command(program, "-c", own+".conf")
		s.Stderr = log
		s.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
		n.Servers = append(n.Servers, s)
		n.Addrs = append(n.Addrs, fmt.Sprintf("127.0.0.1:%d", ports[i]))
	}
	return n
}

// URLs are where the servers are reached, as a hub wants them.
func (n *NATS) URLs() string { return "tls://" + strings.Join(n.Addrs, ",tls://") }

// Ports are some on which nobody listens.
func Ports(t testing.TB, n int) []int {
	t.Helper()
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out
}
