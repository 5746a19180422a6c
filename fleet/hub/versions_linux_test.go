package hub_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fettle/fleet/hub"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/internal/means"
)

// TestVersions: a hub tells an agent of a later version that it is too old for it, and
// the host's page says so; what an agent says beyond what the hub knows is no mistake;
// and after the hub was upgraded, nothing from before is in the way.
func TestVersions(t *testing.T) {
	w := newWorld(t)
	w.start()
	known, db := w.open()
	h := w.join("web1", w.invited(known, db, hub.Inviting{}))
	nc, key, _ := h.connect()
	defer nc.Close()
	acks := make(chan *message.Ack, 10)
	if _, err := nc.Subscribe(message.To(h.agent, "*"), func(m *nats.Msg) {
		if ack, err := message.UnpackAck(m.Data); err == nil {
			acks <- ack
		}
	}); err != nil {
		t.Fatal(err)
	}
	send := func(kind string, b []byte) *message.Ack {
		t.Helper()
		if err := nc.Publish(message.From(h.agent, key)+"."+kind, b); err != nil {
			t.Fatal(err)
		}
		select {
		case ack := <-acks:
			return ack
		case <-time.After(means.Patience):
			t.Fatalf("no answer to %s; the hub's log:\n%s", b, w.log())
		}
		return nil
	}
	row := func() *store.Host {
		t.Helper()
		r, err := db.HostByAgent(t.Context(), h.agent)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	later := fmt.Sprintf(
		`{"format":"fettle-agent-message","schema":%d,"fettle":"9.0","kind":"report","agent":%q,"instance":"one","seq":%%d,"run":%%s}`,
		message.Version+1,
		h.agent,
	)
	for i, run := range []string{`{"meta":{"host":"web1"}}`, `["another form"]`} {
		ack := send("report", fmt.Appendf(nil, later, i+1, run))
		if ack.Refused != "this agent is newer than the hub" || ack.Instance != "one" || ack.Seq != int64(i+1) || ack.Whole || ack.Again {
			t.Errorf("%s: %+v", run, ack)
		}
	}
	if r := row(); r.Bad != 2 || !strings.Contains(r.BadLast, "version 2: of a later version than this program supports (1)") ||
		!r.Checked.IsZero() {
		t.Errorf("the host's page: %+v", r)
	}
	// The same agent goes on: a change whose base was refused wants a whole report.
	m := message.New(message.Change)
	m.Agent, m.Instance, m.Seq, m.Base, m.Digest, m.Run = h.agent, "one", 3, "b", "d", &message.Run{}
	b, _ := m.Pack()
	if ack := send("change", b); !ack.Whole || ack.Refused != "" {
		t.Errorf("a change of what was refused: %+v", ack)
	}
	// Within the version, an agent may say more, and be of a later fettle.
	b = fmt.Appendf(
		nil,
		`{"format":"fettle-agent-message","schema":%d,"fettle":"9.0","mood":{"x":[1]},"kind":"report","agent":%q,"instance":"one","seq":4,"digest":"d",
		"run":{"weather":"fine","meta":{"host":"web1","kind":"live","phase":"moon"},"results":[{"trap":"of-the-future","colour":1,"outcomes":[{"trap":"of-the-future","subject":"x","status":"found","severity":"warning","summary":"is so","shape":"round"}]}]}}`,
		message.Version,
		h.agent,
	)
	if ack := send("report", bytes.ReplaceAll(b, []byte("\n"), nil)); ack.Refused != "" || ack.Whole || ack.Seq != 4 {
		t.Errorf("unknown fields: %+v", ack)
	}
	if r := row(); r.Counts.Warning != 1 || r.AgentVersion != "9.0" || r.Bad != 2 {
		t.Errorf("after it: %+v", r)
	}
}
