package bus

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle/fleet/hub/message"
)

// JetStream in trouble is started again, not more often than each 20 seconds, and not where its disk takes nothing.
func TestRevive(t *testing.T) {
	s, _ := serving(t)
	if err := s.ShutdownJetStream(); err != nil {
		t.Fatal(err)
	}
	if err := s.Trouble(); err == nil {
		t.Fatal("no trouble without JetStream")
	}
	s.revived = time.Now().Add(-19 * time.Second)
	if revived, err := s.Revive(); !revived || err == nil || s.JetStreamEnabled() {
		t.Errorf("after 19 seconds: %t, %v", revived, err)
	}
	free(t, &s.mend)
	where := s.js.StoreDir
	s.js.StoreDir = filepath.Join(where, "none")
	s.revived = time.Now().Add(-21 * time.Second)
	revived, err := s.Revive()
	if !revived || s.JetStreamEnabled() || time.Since(s.revived) < 20*time.Second {
		t.Errorf("on a disk that takes nothing: %t", revived)
	}
	says(t, "on a disk that takes nothing", err, s.Trouble().Error()+"\nopen "+s.js.StoreDir)
	s.js.StoreDir = where
	if revived, err := s.Revive(); !revived || err != nil || !s.JetStreamEnabled() || time.Since(s.revived) > time.Minute {
		t.Errorf("after 21 seconds: %t, %v", revived, err)
	}
	if revived, err := s.Revive(); revived || err != nil {
		t.Errorf("when all is well: %t, %v", revived, err)
	}
	if left, err := filepath.Glob(filepath.Join(where, ".room-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	for text, want := range map[string]string{
		`{"status":"ok"}`: "", `{"status":"error","errors":[{"error":"a"},{"error":"b"}]}`: "a\nb",
	} {
		if err := troubles([]byte(text)); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	says(t, "an answer that cannot be read", troubles([]byte("x")), "the server's health: invalid character")
}

// What the server is told to bear: large reports, hosts on slow lines, and a stream on disk soon.
func TestServerOptions(t *testing.T) {
	s, k := serving(t)
	v, err := s.Varz(&server.VarzOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v.MaxPayload <= message.MaxPacked || v.PingInterval != 5*time.Minute || v.WriteDeadline != 20*time.Second ||
		v.JetStream.Config.SyncInterval != 10*time.Second || s.js.SyncInterval != 10*time.Second {
		t.Errorf("%+v; %+v", v, v.JetStream.Config)
	}
	if electing < 30*time.Second || starting < 30*time.Second {
		t.Errorf("elections may take %s, a server on a slow machine %s", electing, starting)
	}
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c, err := OpenStream(t.Context(), nc, 1<<19, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.CachedInfo().Config; got.AckWait != time.Minute || got.AckPolicy != jetstream.AckAllPolicy ||
		got.DeliverPolicy != jetstream.DeliverAllPolicy || got.Durable != Consumer {
		t.Errorf("%+v", got)
	}
	js := must(jetstream.New(nc))
	st, err := js.Stream(t.Context(), Stream)
	if err != nil {
		t.Fatal(err)
	}
	if got := st.CachedInfo().Config; got.Duplicates != 100*time.Millisecond || got.MaxMsgSize <= message.MaxPacked || !got.NoAck ||
		!got.DenyDelete {
		t.Errorf("%+v", got)
	}
	// Keys that the server does not trust ban nobody, which is an error.
	if s.keys, err = LoadKeys(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	err = s.Ban("U")
	free(t, &s.mu)
	if err == nil || s.Allow("U") == nil {
		t.Error("keys of another hub ban")
	}
	s.keys = k
}

// A server that cannot start says why, at once.
func TestDoesNotStart(t *testing.T) {
	k, err := LoadKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	for what, c := range map[string]struct{ dir, listen, says string }{
		"no port":        {t.TempDir(), "127.0.0.1", "--listen 127.0.0.1: address 127.0.0.1: missing port"},
		"another port":   {t.TempDir(), "127.0.0.1:x", "--listen 127.0.0.1:x: its port is no number"},
		"no folder":      {file, "127.0.0.1:0", "mkdir "},
		"a port in use":  {t.TempDir(), addr, "the NATS server on " + addr + " does not start: is the port taken?"},
		"no such number": {t.TempDir(), "127.0.0.1:70000", "the NATS server"},
	} {
		s, err := Start(Config{Dir: c.dir, Listen: c.listen, MaxStore: 1 << 20, Log: func(string) {}}, k)
		if s != nil {
			s.Shutdown()
		}
		says(t, what, err, c.says)
	}
}

// Streams and consumers that are not as they should be, and connections that are gone, are errors.
func TestStreamTroubles(t *testing.T) {
	s, _ := serving(t)
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js := must(jetstream.New(nc))
	wrong := jetstream.StreamConfig{Name: Stream, Storage: jetstream.MemoryStorage, MaxBytes: 1 << 10}
	if _, err := js.CreateStream(t.Context(), wrong); err != nil {
		t.Fatal(err)
	}
	_, err = OpenStream(t.Context(), nc, 1<<19, 1)
	says(t, "a stream in memory", err, "the stream FETTLE: nats: ")
	st, err := RenewStream(t.Context(), nc, 1<<19, 1)
	if err != nil || st == nil {
		t.Fatal(err)
	}
	if err := js.DeleteConsumer(t.Context(), Stream, Consumer); err != nil {
		t.Fatal(err)
	}
	other := jetstream.ConsumerConfig{Durable: Consumer, AckPolicy: jetstream.AckNonePolicy}
	if _, err := js.CreateConsumer(t.Context(), Stream, other); err != nil {
		t.Fatal(err)
	}
	_, err = OpenStream(t.Context(), nc, 1<<19, 1)
	says(t, "another consumer", err, "the consumer ingest: nats: ")
	if err := js.DeleteStream(t.Context(), Stream); err != nil {
		t.Fatal(err)
	}
	if _, err := RenewStream(t.Context(), nc, 1<<19, 1); err != nil {
		t.Errorf("renewed where there is none: %v", err)
	}
	nc.Close()
	_, err = OpenStream(t.Context(), nc, 1<<19, 1)
	says(t, "no connection", err, "the stream FETTLE: nats: ")
	_, err = RenewStream(t.Context(), nc, 1<<19, 1)
	says(t, "no connection", err, "the stream FETTLE: nats: ")
	says(t, "no connection", Ask(nc, "", &message.Ask{}), nats.ErrConnectionClosed.Error())
	s.Shutdown()
	if _, err := s.Connect(); err == nil {
		t.Error("connected to a server that has ended")
	}
	if s.Doorkeeper() == nil {
		t.Error("a doorkeeper of a server that has ended")
	}
}

// Servers say in several ways that they have too little space for a stream.
func TestNoSpace(t *testing.T) {
	for what, c := range map[string]struct {
		err  error
		want bool
	}{
		"storage of a server":       {&jetstream.APIError{ErrorCode: 10047}, true},
		"resources of a cluster":    {fmt.Errorf("x: %w", &jetstream.APIError{ErrorCode: 10023}), true},
		"no peer":                   {&jetstream.APIError{ErrorCode: 10005, Description: "no suitable peers, insufficient storage"}, true},
		"another error of a server": {&jetstream.APIError{ErrorCode: 10005, Description: "no suitable peers for placement"}, false},
		"another error":             {io.EOF, false},
	} {
		if noSpace(c.err) != c.want {
			t.Errorf("%s: %t", what, !c.want)
		}
	}
}
