package hub_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"fettle/fleet/agent"
	"fettle/fleet/hub"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/internal/means"
)

// TestHostile: who has an agent's credentials, and ill will, hurts that agent
// alone.
func TestHostile(t *testing.T) {
	means.Long(t, "floods a hub")
	w := newWorld(t)
	w.start()
	known, db := w.open()
	invite := w.invited(known, db, hub.Inviting{Uses: 2})
	honest, evil := w.join("web1", invite), w.join("web2", invite)
	honest.run(500 * time.Millisecond)
	nc, key, refused := evil.connect()
	defer nc.Close()

	for _, subject := range []string{message.From(honest.agent, key) + ".report", message.From(evil.agent, key) + ".report.x",
		"$JS.API.STREAM.DELETE.FETTLE", message.ToAll, message.To(honest.agent, "ack"), message.Join, "$SYS.REQ.SERVER.PING"} {
		w.refused(refused, subject, func() error { return nc.Publish(subject, []byte("{}")) })
	}
	for _, subject := range []string{message.AllFrom, ">", message.To(honest.agent, "*"), message.Join, "_INBOX.>", "$JS.>"} {
		w.refused(refused, subject, func() error { _, err := nc.Subscribe(subject, func(*nats.Msg) {}); return err })
	}

	// A reply elsewhere: what the hub says would reach all agents.
	mine := message.From(evil.agent, key) + ".report"
	if err := nc.PublishRequest(mine, message.ToAll, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	forged := message.New(message.Beat)
	forged.Agent, forged.Instance, forged.Seq = honest.agent, "x", 1
	packed, err := forged.Pack()
	if err != nil {
		t.Fatal(err)
	}
	bomb := message.Squeeze(bytes.Repeat([]byte(" "), 256<<20))
	for _, b := range [][]byte{packed, bomb, make([]byte, message.MaxPacked), []byte("{"), nil, []byte(strings.Repeat("[", 100_000))} {
		if err := nc.Publish(mine, b); err != nil {
			t.Fatal(err)
		}
	}
	row := func(h *host) *store.Host {
		r, err := db.HostByAgent(t.Context(), h.agent)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	w.until("the hub counts what is bad", func() bool { return row(evil).Bad >= 7 })
	if r := row(honest); r.Bad != 0 {
		t.Errorf("another's fault is counted as %s's: %+v", r.Name, r)
	}
	// A flood: the hub shuts its sender out, and goes on with the others.
	before := row(honest).Checked
	for i := 0; i < 20_000_000 && nc.IsConnected(); i++ {
		_ = nc.Publish(mine, fmt.Appendf(nil, `{"n":%d}`, i))
	}
	w.until("the honest one is heard", func() bool { return row(honest).Checked.After(before.Add(2 * time.Second)) })
	w.complete(db, honest)
	if !strings.Contains(w.log(), "shut out") {
		t.Errorf("nobody was shut out:\n%s", w.log())
	}
}

func (h *host) creds() string { return filepath.Join(h.dir, "nats.creds") }

// key is what the host logs in with.
func (h *host) key() string {
	h.w.Helper()
	b, err := os.ReadFile(h.creds())
	if err != nil {
		h.w.Fatal(err)
	}
	pair, err := nkeys.ParseDecoratedNKey(b)
	if err != nil {
		h.w.Fatal(err)
	}
	key, err := pair.PublicKey()
	if err != nil {
		h.w.Fatal(err)
	}
	return key
}

// connect logs in as an agent, and hands over what the server refuses.
func (h *host) connect() (*nats.Conn, string, chan error) {
	h.w.Helper()
	m, err := agent.Load(h.dir)
	if err != nil {
		h.w.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(m.CA))
	refused := make(chan error, 100)
	nc, err := nats.Connect(m.URLs[0], nats.UserCredentials(h.creds()), nats.Secure(&tls.Config{RootCAs: pool}), nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		h.w.Fatal(err)
	}
	return nc, h.key(), refused
}

// refused wants the server to refuse what is tried.
func (w *world) refused(said chan error, subject string, try func() error) {
	w.Helper()
	if err := try(); err != nil {
		w.Fatal(err)
	}
	select {
	case err := <-said:
		if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
			w.Errorf("%s: %v", subject, err)
		}
	case <-time.After(means.Patience):
		w.Errorf("%s was not refused", subject)
	}
}
