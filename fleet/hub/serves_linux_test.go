package hub

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fettle/engine/trap"
	"fettle/fleet/hub/join"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/host"
	"fettle/internal/means"
	"fettle/report"
)

// logged is what a hub said.
type logged struct {
	mu   sync.Mutex
	said []string
}

func (l *logged) say(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, s)
}

func (l *logged) has(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.said, func(x string) bool { return strings.Contains(x, s) })
}

// TestServes: a hub in this process: who is invited joins as often as may be, asks arrive, retired and
// replaced hosts are shut out and told, and what is old goes.
func TestServes(t *testing.T) {
	means.Ends(t)
	var log logged
	dir := filepath.Join(storetest.Dir(t), "hub")
	h, err := Start(t.Context(), Config{Dir: dir, Listen: "127.0.0.1:0", MaxStore: 64 << 20, Keep: 24 * time.Hour, Traps: []string{"a"},
		Log: log.say})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	closed := false
	defer func() {
		cancel()
		if !closed {
			<-ended
			h.Close()
		}
	}()
	if _, err := Start(t.Context(), Config{Dir: dir, Log: log.say}); err == nil || !strings.Contains(err.Error(), "another fettle-hub runs") {
		t.Errorf("a second one: %v", err)
	}
	means.Until(t, "the stream", func() bool { n, err := h.Queue(t.Context()); return err == nil && n == 0 })
	known, err := ReadKnown(dir)
	if err != nil || len(known.URLs) != 1 || known.Local != known.URLs[0] || known.Pin == "" || known.Name != "" {
		t.Fatalf("%+v, %v", known, err)
	}

	// Who is invited.
	invited := func(in Inviting) string {
		t.Helper()
		line, err := Invite(t.Context(), dir, known, h.DB, in)
		if err != nil {
			t.Fatal(err)
		}
		i, err := join.ParseInvite(line)
		if err != nil || i.Pin != known.Pin || !slices.Equal(i.URLs, known.URLs) || i.JWT == "" || (i.Token == "") != in.SSH {
			t.Fatalf("%+v, %v", i, err)
		}
		return i.Token
	}
	admitted := func(token, agent, key string) error {
		_, err := h.DB.JoinByToken(t.Context(), join.Hash(token), store.Joining{Agent: agent, Host: agent, Key: key, How: "token"})
		return err
	}
	invited(Inviting{SSH: true})
	twice := invited(Inviting{Uses: 2, Life: time.Hour, Group: "web", Labels: map[string]string{"env": "prod"}})
	one, other := userKey(t), userKey(t)
	for agent, key := range map[string]string{"web1": one, "web2": other} {
		if err := admitted(twice, agent, key); err != nil {
			t.Fatal(err)
		}
	}
	if admitted(twice, "web3", userKey(t)) == nil || admitted(invited(Inviting{Uses: 1, Life: -time.Minute}), "web3", userKey(t)) == nil {
		t.Error("an invitation that was used up, or is over, admits")
	}
	web1, err := h.DB.HostByAgent(t.Context(), "web1")
	if err != nil || web1.Group != "web" || web1.Labels["env"] != "prod" {
		t.Fatalf("%+v, %v", web1, err)
	}

	// Who is asked.
	heard := make(chan *nats.Msg, 16)
	for _, subject := range []string{message.ToAll, message.To("web1", "ask"), message.To("web2", "ack")} {
		sub, err := h.Conn.ChanSubscribe(subject, heard)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Unsubscribe()
	}
	if err := h.Conn.FlushTimeout(means.Patience); err != nil {
		t.Fatal(err)
	}
	hears := func(subject string, has string) {
		t.Helper()
		select {
		case m := <-heard:
			if m.Subject != subject || !bytes.Contains(m.Data, []byte(has)) {
				t.Errorf("on %s: %.200q, want %s", m.Subject, m.Data, subject)
			}
		case <-time.After(means.Patience):
			t.Fatalf("nothing on %s", subject)
		}
	}
	for agent, subject := range map[string]string{"": message.ToAll, "web1": message.To("web1", "ask")} {
		if id, err := h.Ask(agent, false, time.Second); err != nil || id == "" {
			t.Error(id, err)
		}
		hears(subject, "")
		if id, err := Ask(dir, known, []string{agent}, true, time.Second); err != nil || id == "" {
			t.Error(id, err)
		}
		hears(subject, "")
	}
	// By the name under which agents reach it, the hub may not be reached from here.
	local := known
	local.URLs = []string{"tls://127.0.0.1:1"}
	if _, err := Ask(dir, local, []string{"web1"}, true, time.Second); err != nil {
		t.Error(err)
	}
	hears(message.To("web1", "ask"), "")
	local = Known{URLs: known.URLs}
	for _, local.Local = range []string{"", known.Local} { // its authority is nobody's
		if _, err := Ask(dir, local, []string{"web1"}, true, time.Second); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("a hub that is not known is asked: %v", err)
		}
	}
	local = known
	local.Local = ""
	if _, err := Ask(dir, local, []string{"web1"}, true, time.Second); err != nil {
		t.Error(err)
	}
	hears(message.To("web1", "ask"), "")
	if _, err := Ask(dir, known, []string{"a.b"}, true, time.Second); err == nil {
		t.Error("a subject is an agent")
	}

	// Who is shut out: another key takes a host's place, and a host is retired.
	line, err := Rekey(t.Context(), dir, known, h.DB, web1, time.Hour)
	if err != nil || line == "" {
		t.Fatal(line, err)
	}
	web2, err := h.DB.HostByAgent(t.Context(), "web2")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.DB.Retire(t.Context(), web2.ID); err != nil {
		t.Fatal(err)
	}
	h.ban(t.Context())
	hears(message.To("web2", "ack"), "")
	h.ban(t.Context()) // it is told once
	select {
	case m := <-heard:
		t.Errorf("on %s: told again", m.Subject)
	default:
	}
	list, err := readRevoked(filepath.Join(dir, RevokedFile))
	if err != nil || len(list) != 2 || !slices.ContainsFunc(list, func(k store.RevokedKey) bool { return k.Key == one && !k.Retired }) ||
		!slices.ContainsFunc(list, func(k store.RevokedKey) bool { return k.Key == other && k.Retired }) {
		t.Errorf("%+v, %v", list, err)
	}
	fresh := userKey(t)
	if i, err := join.ParseInvite(line); err != nil || admitted(i.Token, "web1", fresh) != nil {
		t.Errorf("the new key of a host is not admitted: %v", err)
	}
	h.flood(one)
	h.floods()
	if !log.has("an agent floods the hub") {
		t.Error("nothing is said of a flood")
	}

	// What is old goes.
	now := time.Now()
	for _, at := range []time.Duration{-48 * time.Hour, -time.Hour} {
		doc := report.NewDocument(report.Meta{Host: "web1", Kind: host.KindLive, Version: "1", Started: now}, nil, []trap.Result{{Trap: "a",
			Outcomes: []trap.Outcome{{Trap: "a", Subject: at.String(), Status: trap.Found, Severity: trap.Notice}}}}, time.Second)
		s := message.StateOf(doc)
		m := message.New(message.Whole)
		m.Agent, m.Instance, m.Seq, m.Sent, m.Digest = "web1", at.String(), 1, now.Add(at), s.Digest()
		m.Run = &message.Run{Meta: &s.Meta, Traps: s.Traps, Results: s.Results}
		r, err := h.DB.Ingest(t.Context(), []store.Item{{Message: m, Key: fresh, At: now.Add(at)}})
		if err != nil || r[0].Verdict != store.Taken {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	changes := func() int {
		t.Helper()
		n, err := h.DB.CountChanges(t.Context(), store.ChangeQuery{Scope: store.Everything})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := changes()
	h.tidy(t.Context())
	h.judge(t.Context())
	h.revive(t.Context())
	if after := changes(); after == 0 || after >= before {
		t.Errorf("%d changes of %d are left", after, before)
	}
	if err := h.Storing(); err != nil {
		t.Error(err)
	}
	if log.has("database") || log.has("cannot") {
		t.Errorf("it said %q", log.said)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	closed = true
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	// With the database gone, it says so, of each.
	h.tidy(t.Context())
	h.judge(t.Context())
	h.ban(t.Context())
	for _, s := range []string{"the database: ", "keeping the list of revoked keys: ", "telling agents that their hosts were retired: "} {
		if !log.has(s) {
			t.Errorf("%q is not said", s)
		}
	}
}
