package join

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// listening is a hub's NATS server, and an invitation to it.
func listening(t *testing.T, expires time.Time) (*bus.Keys, *nats.Conn, Invite) {
	t.Helper()
	dir := storetest.Dir(t)
	keys, err := bus.LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := bus.OwnCertificate(dir, []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := bus.Start(
		bus.Config{Dir: dir, Listen: "127.0.0.1:0", TLS: &tls.Config{Certificates: []tls.Certificate{cert}}, MaxStore: 1 << 20},
		keys,
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	text, err := bus.CA(dir)
	if err != nil {
		t.Fatal(err)
	}
	ca, _ := pem.Decode(text)
	i := Invite{URLs: []string{"tls://" + s.Addr()}, Pin: Pin(ca.Bytes), Token: NewToken()}
	if i.JWT, err = keys.JoinJWT(expires); err != nil {
		t.Fatal(err)
	}
	return keys, nc, i
}

// TestAs: a host joins the hub of its invitation, and no other.
func TestAs(t *testing.T) {
	keys, nc, invite := listening(t, time.Now().Add(time.Hour))
	_, _, other := listening(t, time.Now().Add(time.Hour))
	d := &Service{DB: storetest.SQLite(t), Keys: keys, URLs: []string{"tls://hub.example:4222"}, Log: func(string) {}}
	if _, err := As(t.Context(), invite, "web1", nil); err == nil || !strings.Contains(err.Error(), "no hub answers there") {
		t.Errorf("while no hub serves: %v", err)
	}
	if _, err := d.Serve(nc); err != nil {
		t.Fatal(err)
	}
	if err := d.DB.AddToken(t.Context(), store.Token{Hash: Hash(invite.Token), Expires: time.Now().Add(time.Hour), Uses: 1}); err != nil {
		t.Fatal(err)
	}
	expired := invite
	var err error
	if expired.JWT, err = keys.JoinJWT(time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	stolen, plain, byKey := invite, invite, invite
	stolen.JWT, plain.Pin, byKey.Token = other.JWT, "", ""
	impostor := invite
	impostor.URLs = other.URLs
	for what, c := range map[string]struct {
		i   Invite
		why string
	}{
		"expired":           {expired, "it expired, or is of another hub"},
		"of another hub":    {stolen, "it expired, or is of another hub"},
		"a hub not its own": {impostor, "the server is not the hub of this invitation"},
		"without a pin":     {plain, "certificate"}, // the system does not know this authority
		"no ssh host key":   {byKey, "there is none to be read"},
	} {
		if got, err := As(t.Context(), c.i, "web1", nil); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	got, err := As(t.Context(), invite, "web1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := d.DB.HostByAgent(t.Context(), got.Agent); err != nil || h.Name != "web1" {
		t.Errorf("%+v, %v", h, err)
	}
	if !slices.Equal(got.URLs, d.URLs) {
		t.Errorf("it is to connect to %v, want what the hub says, %v", got.URLs, d.URLs)
	}
	if b, _ := pem.Decode(got.CA); b == nil || Pin(b.Bytes) != invite.Pin {
		t.Errorf("its authority: %s", got.CA)
	}
	if _, err := As(t.Context(), invite, "web2", nil); err == nil || !strings.Contains(err.Error(), "the hub says: the token is not valid") {
		t.Errorf("the token a second time: %v", err)
	}
}

// TestServeElsewhere: nobody makes the hub speak on a subject of its own choice.
func TestServeElsewhere(t *testing.T) {
	keys, nc, _ := listening(t, time.Now().Add(time.Hour))
	d := &Service{DB: storetest.SQLite(t), Keys: keys, Log: func(string) {}}
	if _, err := d.Serve(nc); err != nil {
		t.Fatal(err)
	}
	heard, err := nc.SubscribeSync(">")
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{message.ToAll, message.To("a", "ack"), message.JoinInbox, "_INBOX.x"} {
		if err := nc.PublishRequest(message.Join, reply, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if m, err := heard.NextMsg(10 * time.Second); err != nil || m.Subject != message.Join {
			t.Fatalf("%+v, %v", m, err)
		}
	}
	inbox := message.JoinInbox + ".x"
	if err := nc.PublishRequest(message.Join, inbox, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := heard.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatal("the hub does not answer")
		}
		if m.Subject == inbox {
			return
		}
		if m.Subject != message.Join {
			t.Errorf("the hub spoke on %s", m.Subject)
		}
	}
}

// TestHostileHub: what is no hub's answer is not taken, and cannot write to the
// terminal.
func TestHostileHub(t *testing.T) {
	keys, nc, invite := listening(t, time.Now().Add(time.Hour))
	var answer []byte
	if _, err := nc.Subscribe(message.Join, func(m *nats.Msg) { _ = m.Respond(answer) }); err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	token, err := keys.AgentJWT("a", newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	text := func(r Reply) string {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for what, c := range map[string]struct{ answer, why string }{
		"nothing":          {"", "the hub's answer is damaged"},
		"no JSON":          {"hello", "the hub's answer is damaged"},
		"no credentials":   {text(Reply{Agent: "a"}), "the hub's answer is damaged"},
		"no name":          {text(Reply{JWT: token}), "the hub's answer is damaged"},
		"a path as a name": {text(Reply{Agent: "../a", JWT: token}), "the hub's answer is damaged"},
		"a wild card":      {text(Reply{Agent: ">", JWT: token}), "the hub's answer is damaged"},
		"a challenge":      {text(Reply{Challenge: "x"}), "the hub's answer is damaged"},
		"an error":         {text(Reply{Error: "\x1b[2J\u009b1m\nno" + strings.Repeat("x", 10_000), Agent: "a", JWT: token}), `the hub says: \x1b[2J\u009b1m\nnox`},
	} {
		answer = []byte(c.answer)
		got, err := As(t.Context(), invite, "web1", nil)
		if err == nil || !strings.Contains(err.Error(), c.why) || strings.ContainsAny(err.Error(), "\x1b\n\u009b") || len(err.Error()) > 600 {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// admission is a hub's answer that admits a host as agent a.
func admission(t *testing.T, keys *bus.Keys) []byte {
	t.Helper()
	token, err := keys.AgentJWT("a", newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(Reply{Agent: "a", JWT: token})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestAnswerToAnEarlierRequest: an answer to the first request counts, also when it comes after another
// was sent.
func TestAnswerToAnEarlierRequest(t *testing.T) {
	means.Short(t, "takes seconds")
	keys, nc, invite := listening(t, time.Now().Add(time.Hour))
	answer := admission(t, keys)
	var first *nats.Msg
	if _, err := nc.Subscribe(message.Join, func(m *nats.Msg) {
		if first == nil {
			first = m
			return
		}
		_ = first.Respond(answer)
	}); err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	if got, err := As(t.Context(), invite, "web1", nil); err != nil || got.Agent != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}
