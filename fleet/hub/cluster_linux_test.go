package hub_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/fleet/hub"
	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// cluster is three servers of another's NATS.
type cluster struct {
	ca      string // of the certificate that all three have
	urls    []string
	servers []*exec.Cmd
}

func newCluster(w *world) *cluster {
	w.Helper()
	program := means.Tool(w.T, "nats-server")
	if err := hub.OpenDir(w.hubDir()); err != nil {
		w.Fatal(err)
	}
	keys, err := bus.LoadKeys(w.hubDir())
	if err != nil {
		w.Fatal(err)
	}
	conf, err := keys.ServerConfig()
	if err != nil {
		w.Fatal(err)
	}
	ports := freePorts(w.T, 6)
	var routes []string
	for _, p := range ports[3:] {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	own := filepath.Join(w.dir, "tls")
	if err := os.Mkdir(own, 0o700); err != nil {
		w.Fatal(err)
	}
	if _, err := bus.OwnCertificate(own, []string{"127.0.0.1"}); err != nil {
		w.Fatal(err)
	}
	c := &cluster{ca: filepath.Join(own, bus.CAFile)}
	for i := range 3 {
		dir := filepath.Join(w.dir, fmt.Sprintf("nats%d", i))
		file := dir + ".conf"
		text := fmt.Sprintf(
			"server_name: n%d\nlisten: 127.0.0.1:%d\njetstream: {store_dir: %q, max_file: 1G, max_mem: 64M}\ntls: {cert_file: %[6]q, key_file: "+
				"%[7]q}\ncluster: {name: c, listen: 127.0.0.1:%[4]d, routes: [%[5]s]}\n%[8]s",
			i,
			ports[i],
			dir,
			ports[3+i],
			strings.Join(routes, ", "),
			filepath.Join(own, "nats.pem"),
			filepath.Join(own, "nats-key.pem"),
			conf,
		)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			w.Fatal(err)
		}
		log, err := os.Create(dir + ".log")
		if err != nil {
			w.Fatal(err)
		}
		defer log.Close()
		s := exec.Command(program, "-c", file)
		s.Stderr = log
		s.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := s.Start(); err != nil {
			w.Fatal(err)
		}
		w.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
		c.servers = append(c.servers, s)
		c.urls = append(c.urls, fmt.Sprintf("tls://127.0.0.1:%d", ports[i]))
	}
	return c
}

func freePorts(t *testing.T, n int) []int {
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

// TestOthersServers: over a NATS cluster, by TLS, that loses a server, and a PostgreSQL
// server that crashes, nothing is lost and nothing comes twice.
func TestOthersServers(t *testing.T) {
	means.Long(t, "starts a NATS cluster and PostgreSQL, and kills them")
	w := newWorld(t)
	c := newCluster(w)
	pg := storetest.NewServer(t)
	w.env = []string{"HUB_NATS=" + strings.Join(c.urls, ","), "HUB_CA=" + c.ca, "HUB_THREE=3", "HUB_DATABASE=" + pg.Database(t)}
	// The servers elect a leader first.
	w.until("the hub serves", func() bool {
		if w.hub == nil {
			w.start()
		}
		time.Sleep(3 * time.Second)
		if w.hub.Process.Signal(syscall.Signal(0)) != nil || strings.Count(w.log(), "the stream") > 0 {
			w.stop(syscall.SIGKILL)
			_ = os.Truncate(filepath.Join(w.dir, "hub.log"), 0)
			return false
		}
		_, err := hub.ReadKnown(w.hubDir())
		return err == nil
	})
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Uses: 2})
	a, b := w.join("a", invite), w.join("b", invite)
	a.run(500 * time.Millisecond)
	b.run(500 * time.Millisecond)
	time.Sleep(2 * time.Second)
	_ = c.servers[1].Process.Kill()
	time.Sleep(3 * time.Second)
	pg.Stop(syscall.SIGQUIT)
	time.Sleep(time.Second)
	pg.Start(t)
	w.complete(db, a)
	w.complete(db, b)
}
