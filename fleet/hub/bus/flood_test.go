package bus

import (
	"crypto/tls"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fettle/fleet/hub/message"
)

func serving(t *testing.T) (*Server, *Keys) {
	t.Helper()
	dir := t.TempDir()
	k, err := LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := OwnCertificate(dir, []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{cert}}
	s, err := Start(Config{Dir: dir, Listen: "127.0.0.1:0", TLS: conf, MaxStore: 1 << 20, Log: func(string) {}}, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s, k
}

// send publishes messages, and returns when the server has counted them: what it read
// before it answered the first ping is counted before it reads the second.
func send(t *testing.T, nc *nats.Conn, subject string, n int) {
	t.Helper()
	for range n {
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// An agent that floods is distinguished from one that reports much and from the hub, which may
// send as much as it likes. What it sent before the last look doesn't count again.
func TestFloods(t *testing.T) {
	s, k := serving(t)
	hub, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	agent := func(name string) (*nats.Conn, string) {
		as, key := credentials(t, k, name)
		nc, err := nats.Connect("", nats.InProcessServer(s.Server), as)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc, key
	}
	loud, key := agent("loud")
	busy, busyKey := agent("busy")
	send(t, hub, message.ToAll, floodMin+200)
	send(t, busy, message.From("busy", busyKey)+".beat", floodMin)
	send(t, loud, message.From("loud", key)+".beat", floodMin+1)
	for i, want := range [][]string{{key}, nil} {
		if got := s.Floods(); !slices.Equal(got, want) {
			t.Errorf("look %d: %q flood, want %q", i+1, got, want)
		}
		free(t, &s.mu)
	}
}

// An address from which joins flooded three times is shut out for a quarter of an hour.
func TestQuietJoins(t *testing.T) {
	s, k := serving(t)
	token, err := k.JoinJWT(time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	ip := ""
	ask := func(n int) *nats.Conn {
		t.Helper()
		nc, err := nats.Connect("tls://"+s.Addr(), nats.NoReconnect(), nats.Secure(&tls.Config{InsecureSkipVerify: true}), nats.UserJWT(
			func() (string, error) { return token, nil }, func([]byte) ([]byte, error) { return nil, nil }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		send(t, nc, message.Join, n)
		return nc
	}
	look := func() []string {
		t.Helper()
		out := s.QuietJoins()
		free(t, &s.mu)
		for ip = range s.joining {
		}
		return out
	}
	who, key := credentials(t, k, "agent")
	agent, err := nats.Connect("tls://"+s.Addr(), nats.NoReconnect(), nats.Secure(&tls.Config{InsecureSkipVerify: true}), who)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	send(t, agent, message.From("agent", key)+".beat", joinMessages+1) // that it may
	ask(joinMessages)
	if out := look(); len(s.joining) != 0 || out != nil {
		t.Fatalf("%d messages are called a flood: %+v", joinMessages, s.joining)
	}
	for i := range strikesMost {
		if s.shut(ip) {
			t.Errorf("shut out after %d floods", i)
		}
		free(t, &s.mu)
		ask(joinMessages + 1)
		if out := look(); slices.Contains(out, ip) != (i == strikesMost-1) {
			t.Errorf("flood %d: %q are shut out", i+1, out)
		}
	}
	if left := time.Until(s.joining[ip].until); !s.shut(ip) || left < 14*time.Minute || left > 15*time.Minute {
		t.Errorf("shut out for %s: %+v", left, s.joining)
	}
	if err := agent.Flush(); err != nil {
		t.Errorf("an agent from the same address: %v", err)
	}
	s.joining[ip] = strikes{strikesMost, time.Now().Add(-time.Second)}
	if look(); s.shut(ip) {
		t.Error("shut out for ever")
	}
}
