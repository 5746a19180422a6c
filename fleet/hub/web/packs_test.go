package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/host"
	"fettle/report"
)

// withPacks offers two packs: one that a host refused and that was stopped, and one that waits for a group in which no
// host takes packs.
func (w *world) withPacks() {
	w.t.Helper()
	ctx := w.t.Context()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	for i, name := range []string{"acme-mail", "zeta"} {
		must(w.db.Offer(ctx, store.Pack{Name: name, Version: 12, Signer: "ops@example.org", Canary: []string{"ams-web", "night-shift"}[i],
			Wait: 4 * time.Hour, StopAt: 20, Who: "root", File: []byte("x"), Traps: []string{"acme-mail-queue"}}))
	}
	tell := func(agent string, seq int64, found bool, has ...message.HasPack) {
		w.t.Helper()
		at := time.Now()
		m := message.New(message.Whole)
		m.Agent, m.Instance, m.Seq, m.Sent, m.Self = agent, "i", seq, at, &message.Self{TakesPacks: true, Packs: has}
		o := trap.Outcome{Trap: "acme-mail-queue", Status: trap.Clear}
		if found {
			o = trap.Outcome{Trap: o.Trap, Status: trap.Found, Severity: trap.Warning, Summary: "the queue is long"}
		}
		meta := report.Meta{Host: agent + ".ams.example.org", Kind: host.KindLive, Version: "1", Started: at}
		st := message.StateOf(report.NewDocument(meta, nil,
			[]trap.Result{{Trap: o.Trap, Outcomes: []trap.Outcome{o}}}, time.Second))
		m.Digest, m.Run = st.Digest(), &message.Run{Meta: &st.Meta, Traps: st.Traps, Results: st.Results}
		_, err := w.db.Ingest(ctx, []store.Item{{Message: m, Key: "U" + agent, At: at}})
		must(err)
	}
	for i, agent := range []string{"canary1", "canary2", "canary3", "canary4"} {
		must(w.db.AddToken(ctx, store.Token{Hash: agent, Expires: time.Now().Add(time.Hour), Uses: 1, Group: "ams-web"}))
		_, err := w.db.JoinByToken(ctx, agent, store.Joining{Agent: agent, Host: agent + ".ams.example.org", Key: "U" + agent, How: "token"})
		must(err)
		tell(agent, 1, false)
		has := message.HasPack{Name: "acme-mail", Version: 12}
		switch i {
		case 0:
			has.Refused = "signed by a key that is not pinned on this host: SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8"
		case 3:
			continue
		}
		time.Sleep(2 * time.Millisecond) // what is found after it was sent counts
		tell(agent, 2, i == 1, has)
	}
	_, err := w.db.Judge(ctx)
	must(err)
}

// TestPacksPage: an offer that stopped, or that waits, is where the fleet is looked at, with the reason and the hosts.
func TestPacksPage(t *testing.T) {
	w := ofHosts(t, 3)
	w.login("bob")
	if _, body, _ := w.get("/packs"); !strings.Contains(body, "fettle-hub pack offer FILE") {
		t.Error("a hub without packs does not say how one is offered")
	}
	w.withPacks()
	for path, want := range map[string][]string{
		"/": {"<a href=\"/pack/acme-mail\">Pack acme-mail 12</a>\n  is stopped: of 3 hosts, 1 with more findings, " +
			"0 could not check, 1 refused it"},
		"/packs": {"stopped</span> of 3 hosts, 1 with more findings", `data-of="refused">1<`,
			"no host of the group night-shift that takes packs has reported since"},
		"/pack/acme-mail": {"fettle-hub pack resume acme-mail --stop-at 34", "refused</span> signed by a key that is not pinned on this host",
			"no answer yet", "more findings<", "canary3.ams.example.org", "ops@example.org"},
		"/api/v1/packs": {`"standing":"of 3 hosts`, `"stalled":true`},
	} {
		code, body, _ := w.get(path)
		for _, s := range want {
			if code != http.StatusOK || !strings.Contains(body, s) {
				t.Errorf("%s: %d without %q", path, code, s)
			}
		}
	}
	if code, _, _ := w.get("/pack/none"); code != http.StatusNotFound {
		t.Errorf("a pack that is not offered: %d", code)
	}
}
