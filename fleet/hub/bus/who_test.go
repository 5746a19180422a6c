package bus

import (
	"bytes"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/message"
	"fettle/internal/means"
)

// Keys are made once, readable by their owner alone. Another signing key ends what the former
// one signed, and leaves the others as they are.
func TestKeysStay(t *testing.T) {
	dir := t.TempDir()
	if err := NewSigning(dir); err == nil {
		t.Error("keys that are not there are renewed")
	}
	load := func() *Keys {
		t.Helper()
		k, err := LoadKeys(dir)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a, b := load(), load()
	if st, err := os.Stat(filepath.Join(dir, keyFile)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if public(a.operator) != public(b.operator) || public(a.system) != public(b.system) || public(a.account) != public(b.account) ||
		!bytes.Equal(a.Secret(), b.Secret()) || len(a.Secret()) == 0 {
		t.Error("keys are others the second time")
	}
	if err := NewSigning(dir); err != nil {
		t.Fatal(err)
	}
	if c := load(); bytes.Equal(a.Secret(), c.Secret()) || public(a.account) != public(c.account) || public(a.operator) != public(c.operator) {
		t.Error("renewed: another signing key, and the others as before, is what is wanted")
	}
	for _, damaged := range []string{"", `{"operator":"x"}`} {
		if err := os.WriteFile(filepath.Join(dir, keyFile), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKeys(dir); err == nil || !strings.Contains(err.Error(), keyFile) {
			t.Errorf("%q: %v", damaged, err)
		}
		if err := NewSigning(dir); damaged == "" && err == nil {
			t.Error("a damaged file is renewed")
		}
	}
	for _, where := range []string{"/nonexistent/x", keyFile} {
		if _, err := LoadKeys(filepath.Join(dir, where)); err == nil {
			t.Errorf("keys in %s", where)
		}
	}
}

// credentials are those of an agent.
func credentials(t *testing.T, k *Keys, name string) (nats.Option, string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key := public(pair)
	token, err := k.AgentJWT(name, key)
	if err != nil {
		t.Fatal(err)
	}
	return nats.UserJWT(
		func() (string, error) { return token, nil },
		func(nonce []byte) ([]byte, error) { return pair.Sign(nonce) },
	), key
}

// A banned agent's connection ends and no other is made, until it is allowed again; others
// notice nothing.
func TestBan(t *testing.T) {
	s, k := serving(t)
	bad, key := credentials(t, k, "bad")
	good, _ := credentials(t, k, "good")
	connect := func(who nats.Option, more ...nats.Option) (*nats.Conn, error) {
		return nats.Connect("tls://"+s.Addr(), append(more, who, nats.NoReconnect(), nats.Secure(&tls.Config{InsecureSkipVerify: true}))...)
	}
	ended := make(chan struct{})
	nc, err := connect(bad, nats.ClosedHandler(func(*nats.Conn) { close(ended) }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	other, err := connect(good)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var since time.Time
	for i := range 2 {
		if err := s.Ban(key); err != nil {
			t.Fatal(err)
		}
		free(t, &s.mu)
		if at := s.banned[key]; i == 0 {
			since = at
		} else if !at.Equal(since) {
			t.Errorf("banned since %s, and once more since %s: each time the server tells all connections", since, at)
		}
	}
	if len(s.banned) != 1 {
		t.Fatalf("banned: %v", s.banned) // and nothing would end
	}
	select {
	case <-ended:
	case <-time.After(means.Patience):
		t.Fatal("the connection of a banned agent goes on")
	}
	if nc, err := connect(bad); err == nil {
		nc.Close()
		t.Error("a banned agent comes back")
	}
	if err := other.Flush(); err != nil {
		t.Errorf("another agent: %v", err)
	}
	if err := s.Allow(key); err != nil {
		t.Fatal(err)
	}
	free(t, &s.mu)
	back, err := connect(bad)
	if err != nil {
		t.Fatalf("allowed again: %v", err)
	}
	back.Close()
}

// The stream keeps what the hub did not take yet, within bounds, a few messages of an agent
// each; recreated, it is empty. A question goes to one agent or to all.
func TestStream(t *testing.T) {
	s, k := serving(t)
	hub, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	if _, err := OpenStream(t.Context(), hub, 1<<19, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Trouble(); err != nil {
		t.Errorf("trouble: %v", err)
	}
	if revived, err := s.Revive(); revived || err != nil {
		t.Errorf("revived without trouble: %t, %v", revived, err)
	}
	js, err := jetstream.New(hub)
	if err != nil {
		t.Fatal(err)
	}
	kept := func() (n uint64, c jetstream.StreamConfig) {
		t.Helper()
		st, err := js.Stream(t.Context(), Stream)
		if err != nil {
			t.Fatal(err)
		}
		info, err := st.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return info.State.Msgs, info.Config
	}
	who, key := credentials(t, k, "loud")
	agent, err := nats.Connect("", nats.InProcessServer(s.Server), who)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	send(t, agent, message.From("loud", key)+".beat", perSubject+5)
	for end := time.Now().Add(means.Patience); ; time.Sleep(time.Millisecond) {
		st, err := js.Stream(t.Context(), Stream)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := st.Info(t.Context()); err == nil && info.State.LastSeq == perSubject+5 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%+v, %v", info, err)
		}
	}
	n, c := kept()
	if n != perSubject || c.MaxAge != 72*time.Hour || c.MaxBytes != 1<<19 || int(c.MaxMsgSize) < message.MaxPacked || c.Retention != 0 {
		t.Errorf("%d messages kept: %+v", n, c)
	}
	if _, err := RenewStream(t.Context(), hub, 1<<19, 1); err != nil {
		t.Fatal(err)
	}
	if n, _ := kept(); n != 0 {
		t.Errorf("%d messages in a new stream", n)
	}
	asked := make(chan string, 4)
	for _, subject := range []string{message.ToAll, message.To("aaaaaaaaaaaaaaaa", "ask")} {
		if _, err := hub.Subscribe(subject, func(m *nats.Msg) { asked <- m.Subject }); err != nil {
			t.Fatal(err)
		}
	}
	if err := Ask(hub, "no id", &message.Ask{}); err == nil {
		t.Error("an agent that cannot be is asked")
	}
	for to, want := range map[string]string{"": message.ToAll, "aaaaaaaaaaaaaaaa": message.To("aaaaaaaaaaaaaaaa", "ask")} {
		if err := Ask(hub, to, &message.Ask{}); err != nil {
			t.Fatal(err)
		}
		if got := <-asked; got != want {
			t.Errorf("%q: asked %s, want %s", to, got, want)
		}
	}
}

// What a backup must have is all that the hub has made.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadKeys(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := OwnCertificate(dir, []string{"hub.example"}); err != nil {
		t.Fatal(err)
	}
	es, err := os.ReadDir(dir)
	if err != nil || len(es) != len(Files()) {
		t.Errorf("%v: want %q; %v", es, Files(), err)
	}
	for _, name := range Files() {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
