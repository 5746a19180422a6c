package hub_test

import (
	"os"
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

// cluster is three servers of another's NATS, and the authority of the certificate that all three have.
func (w *world) cluster() (servers *means.NATS, ca string) {
	w.Helper()
	if err := hub.OpenDir(w.hubDir()); err != nil {
		w.Fatal(err)
	}
	keys, err := bus.LoadKeys(w.hubDir())
	if err != nil {
		w.Fatal(err)
	}
	conf := keys.ServerConfig()
	own := filepath.Join(w.dir, "tls")
	if err := os.Mkdir(own, 0o700); err != nil {
		w.Fatal(err)
	}
	if _, err := bus.OwnCertificate(own, []string{"127.0.0.1"}); err != nil {
		w.Fatal(err)
	}
	servers = means.NewNATS(w.T, w.dir, filepath.Join(own, "nats.pem"), filepath.Join(own, "nats-key.pem"), "1G", conf)
	return servers, filepath.Join(own, bus.CAFile)
}

// TestOthersServers: over a NATS cluster, by TLS, that loses a server, and a PostgreSQL
// server that crashes, nothing is lost and nothing comes twice.
func TestOthersServers(t *testing.T) {
	means.Long(t, "starts a NATS cluster and PostgreSQL, and kills them")
	w := newWorld(t)
	servers, ca := w.cluster()
	pg := storetest.NewServer(t)
	w.env = []string{"HUB_NATS=" + servers.URLs(), "HUB_CA=" + ca, "HUB_THREE=3", "HUB_DATABASE=" + pg.Database(t)}
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
	_ = servers.Servers[1].Process.Kill()
	time.Sleep(3 * time.Second)
	pg.Stop(syscall.SIGQUIT)
	time.Sleep(time.Second)
	pg.Start(t)
	w.complete(db, a)
	w.complete(db, b)
}
