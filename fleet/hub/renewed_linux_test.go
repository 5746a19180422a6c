package hub_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fettle/fleet/hub"
	"fettle/fleet/hub/bus"
)

// TestRenewed: a hub with the certificate of another authority, which is renewed
// while it serves: agents stay, come back, and join.
func TestRenewed(t *testing.T) {
	w := newWorld(t)
	own := filepath.Join(w.dir, "tls")
	renew := func(names ...string) tls.Certificate {
		t.Helper()
		if err := os.MkdirAll(own, 0o700); err != nil {
			t.Fatal(err)
		}
		c, err := bus.OwnCertificate(own, names)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	shown := func() (serial string) {
		t.Helper()
		pool, err := hub.Pool(filepath.Join(own, bus.CAFile))
		if err != nil {
			t.Fatal(err)
		}
		// Without credentials the server ends what begins after TLS.
		_, _ = nats.Connect(
			"tls://"+w.listen,
			nats.NoReconnect(),
			nats.Secure(&tls.Config{RootCAs: pool, VerifyConnection: func(s tls.ConnectionState) error {
				serial = s.PeerCertificates[0].SerialNumber.String()
				return nil
			}}),
		)
		return serial
	}
	first := renew("127.0.0.1")
	w.env = []string{
		"HUB_CERT=" + filepath.Join(own, "nats.pem"),
		"HUB_KEY=" + filepath.Join(own, "nats-key.pem"),
		"HUB_CA=" + filepath.Join(own, bus.CAFile),
	}
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Uses: 2})
	if invite.Pin != "" || invite.CA == nil {
		t.Errorf("%+v", invite)
	}
	one := w.join("web1", invite)
	one.run(300 * time.Millisecond)
	w.until("the hub has checks", func() bool { return w.newest(db, one) >= 2 })
	if got := shown(); got != first.Leaf.SerialNumber.String() {
		t.Errorf("shown %s", got)
	}
	second := renew("127.0.0.1", "hub.example.org")
	if got := shown(); got != second.Leaf.SerialNumber.String() || got == first.Leaf.SerialNumber.String() {
		t.Errorf("after the renewal, shown %s", got)
	}
	two := w.join("web2", invite)
	two.run(300 * time.Millisecond)
	now := one.checks()
	w.until("both are heard", func() bool { return w.newest(db, two) >= 2 && w.newest(db, one) > now })
}
