package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/ssh"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// server starts another NATS server with a hub's keys.
func server(t *testing.T, keys *bus.Keys, c *tls.Config) *bus.Server {
	t.Helper()
	s, err := bus.Start(bus.Config{Dir: storetest.Dir(t), Listen: "127.0.0.1:0", TLS: c, MaxStore: 1 << 20}, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

// relay hands bytes to a hub's server and back, after a moment, and tells when a client hangs up.
func relay(t *testing.T, to string, late time.Duration) (addr string, gone chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	gone = make(chan struct{}, 100)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			hub, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				return
			}
			go func() {
				time.Sleep(late)
				_, _ = io.Copy(client, hub)
				_ = client.Close()
			}()
			go func() {
				_, _ = io.Copy(hub, client)
				_ = hub.Close()
				gone <- struct{}{}
			}()
		}
	}()
	return l.Addr().String(), gone
}

// A host that proves its ssh host key is given what it connects with from then on; the connection by which it
// asked ends, though hub and network are slow.
func TestAsByHostKey(t *testing.T) {
	keys, nc, invite := listening(t, time.Now().Add(time.Hour))
	mine, other, _ := hostKeys(t)
	known := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(known, []byte("web1 "+string(ssh.MarshalAuthorizedKey(mine.PublicKey()))), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &Service{DB: storetest.SQLite(t), Keys: late{keys}, KnownHosts: known, Log: func(string) {}}
	sub, err := d.Serve(nc)
	if err != nil {
		t.Fatal(err)
	}
	if n, size, err := sub.PendingLimits(); n != 2000 || size != 2000*16<<10 || err != nil {
		t.Errorf("%d requests of %d bytes may wait, %v", n, size, err)
	}
	addr, gone := relay(t, strings.TrimPrefix(invite.URLs[0], "tls://"), 100*time.Millisecond)
	invite.URLs, invite.Token = []string{"tls://" + addr}, ""
	got, err := As(t.Context(), invite, "web1", mine)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	case <-time.After(means.Patience):
		t.Error("the connection does not end")
	}
	if !slices.Equal(got.URLs, invite.URLs) {
		t.Errorf("it is to connect to %v: a hub that names no other place is where it was asked", got.URLs)
	}
	token, err := jwt.ParseDecoratedJWT(got.Creds)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := jwt.ParseDecoratedUserNKey(got.Creds)
	if err != nil {
		t.Fatal(err)
	}
	if key, err := pair.PublicKey(); err != nil || key != claims.Subject || claims.Name != got.Agent {
		t.Errorf("credentials of %s with the key of %s for %s, %v", claims.Subject, key, got.Agent, err)
	}
	for what, c := range map[string]struct {
		key ssh.Signer
		why string
	}{
		"another's key":        {other, "does not name this key"},
		"a key that is locked": {locked{mine}, "locked"},
	} {
		if got, err := As(t.Context(), invite, "web1", c.key); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// late are keys that a hub reads slowly.
type late struct{ *bus.Keys }

func (k late) Secret() []byte {
	time.Sleep(50 * time.Millisecond)
	return k.Keys.Secret()
}

// locked is a key that does not sign.
type locked struct{ ssh.Signer }

func (locked) Sign(io.Reader, []byte) (*ssh.Signature, error) { return nil, errors.New("locked") }

// Whom a host believes: the authority in its invitation, where that names one; with a pin none but that, and
// whoever shows the certificate that is pinned needs one of its own that it signed.
func TestTrust(t *testing.T) {
	keys, _, invite := listening(t, time.Now().Add(time.Hour))
	mine, others := storetest.Dir(t), storetest.Dir(t)
	certificate := func(dir, name string) (tls.Certificate, []byte) {
		t.Helper()
		c, err := bus.OwnCertificate(dir, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		return c, c.Certificate[len(c.Certificate)-1]
	}
	good, ca := certificate(mine, "127.0.0.1")
	stolen, otherCA := certificate(others, "127.0.0.1")
	elsewhere, _ := certificate(others, "192.0.2.1")
	stolen.Certificate = [][]byte{stolen.Certificate[0], ca}
	for what, c := range map[string]struct {
		shown *tls.Certificate
		i     Invite
		why   string
	}{
		"the authority":                     {&good, Invite{CA: ca}, ""},
		"another authority":                 {&good, Invite{CA: otherCA}, "certificate"},
		"the pin":                           {&good, Invite{Pin: Pin(ca)}, ""},
		"a certificate that is pinned":      {&stolen, Invite{Pin: Pin(ca)}, "certificate"},
		"the pin's, for another address":    {&elsewhere, Invite{Pin: Pin(otherCA)}, "certificate"},
		"nothing, without a pin":            {nil, Invite{}, ""},
		"nothing, where a pin was expected": {nil, Invite{Pin: Pin(ca)}, "connecting to"},
	} {
		var conf *tls.Config
		scheme := "nats://"
		if c.shown != nil {
			conf, scheme = &tls.Config{Certificates: []tls.Certificate{*c.shown}}, "tls://"
		}
		s := server(t, keys, conf)
		nc, err := s.Connect()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		d := &Service{DB: storetest.SQLite(t), Keys: keys, Log: func(string) {}}
		if _, err := d.Serve(nc); err != nil {
			t.Fatal(err)
		}
		c.i.URLs, c.i.JWT, c.i.Token = []string{scheme + s.Addr()}, invite.JWT, NewToken()
		tok := store.Token{Hash: Hash(c.i.Token), Expires: time.Now().Add(time.Hour), Uses: 1}
		if err := d.DB.AddToken(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		got, err := As(t.Context(), c.i, "web1", nil)
		switch {
		case c.why != "":
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
		case err != nil:
			t.Errorf("%s: %v", what, err)
		case c.shown == nil:
			if len(got.CA) != 0 {
				t.Errorf("%s: believes %s", what, got.CA)
			}
		default:
			if b, _ := pem.Decode(got.CA); b == nil || Pin(b.Bytes) != Pin(ca) {
				t.Errorf("%s: believes %s", what, got.CA)
			}
		}
	}
}

// With a pin, a certificate of that authority counts where it is for: at a name, and at an address, of which
// crypto/tls says nothing.
func TestPinnedPlaces(t *testing.T) {
	c, err := bus.OwnCertificate(storetest.Dir(t), []string{"hub.example", "192.0.2.1", "2001:db8::1"})
	if err != nil {
		t.Fatal(err)
	}
	var shown []*x509.Certificate
	for _, der := range c.Certificate {
		one, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, one)
	}
	at := func(urls ...string) Invite { return Invite{URLs: urls, Pin: Pin(c.Certificate[1])} }
	for what, c := range map[string]struct {
		i    Invite
		name string
		good bool
	}{
		"its name":                    {at("tls://hub.example:1"), "hub.example", true},
		"another name":                {at("tls://hub.example:1"), "mail.example", false},
		"its address":                 {at("tls://192.0.2.1:1"), "", true},
		"its address of IPv6":         {at("tls://[2001:db8::1]:1"), "", true},
		"another address":             {at("tls://192.0.2.2:1"), "", false},
		"another of IPv6":             {at("tls://[2001:db8::2]:1"), "", false},
		"the second address":          {at("tls://192.0.2.2:1", "tls://192.0.2.1:1"), "", true},
		"the first of two addresses":  {at("tls://192.0.2.1:1", "tls://192.0.2.2:1"), "", true},
		"an address beside names":     {at("tls://hub.example:1", "tls://192.0.2.1:1"), "", true},
		"a name that was not asked":   {at("tls://hub.example:1"), "", false},
		"no address but another":      {at("tls://192.0.2.2:1", "tls://hub.example:1"), "", false},
		"its name, beside an address": {at("tls://192.0.2.2:1", "tls://hub.example:1"), "hub.example", true},
		"a pin that nobody shows":     {Invite{URLs: []string{"tls://192.0.2.1:1"}, Pin: "x"}, "", false},
	} {
		to := trust{invite: c.i}
		err := to.pinned(tls.ConnectionState{PeerCertificates: shown, ServerName: c.name})
		if (err == nil) != c.good || (to.ca != nil) != c.good {
			t.Errorf("%s: %v, believes %s", what, err, to.ca)
		}
	}
}

// A host asks once where it is answered, waits for a slow hub, and asks no more when it is told to end.
func TestAskedOnce(t *testing.T) {
	keys, nc, invite := listening(t, time.Now().Add(time.Hour))
	answer := admission(t, keys)
	var asked atomic.Int32
	var silent atomic.Bool
	if _, err := nc.Subscribe(message.Join, func(m *nats.Msg) {
		asked.Add(1)
		if !silent.Load() {
			time.Sleep(100 * time.Millisecond)
			_ = m.Respond(answer)
		}
	}); err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	settled := func() int32 {
		for n := int32(-1); n != asked.Load(); time.Sleep(50 * time.Millisecond) {
			n = asked.Load()
		}
		return asked.Swap(0)
	}
	if got, err := As(t.Context(), invite, "web1", nil); err != nil || got.Agent != "a" {
		t.Errorf("%+v, %v", got, err)
	}
	if n := settled(); n != 1 {
		t.Errorf("it asked a hub that answers %d times", n)
	}
	silent.Store(true)
	soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if got, err := As(soon, invite, "web1", nil); err == nil || !strings.Contains(err.Error(), "no hub answers there") {
		t.Errorf("a hub that is silent: %+v, %v", got, err)
	}
	if n := settled(); n > 1 {
		t.Errorf("it asked %d times when its time was over", n)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got, err := As(ended, invite, "web1", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("when it is told to end: %+v, %v", got, err)
	}
	nc.Close()
	if got, err := ask(t.Context(), nc, Request{}); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("by a connection that has ended: %+v, %v", got, err)
	}
	if _, err := (&Service{}).Serve(nc); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("serving by a connection that has ended: %v", err)
	}
}

// An answer that was lost may be asked for again for a minute.
func TestOnceMoreForAMinute(t *testing.T) {
	d := newDesk(t)
	token := d.token(store.Token{Uses: 1}, time.Hour)
	r := Request{Version: 1, Host: "web1", Key: newKey(t), Token: token}
	joined := time.Now()
	first := d.ask(r)
	d.admitted("at first", first, r.Key)
	d.now = func() time.Time { return joined.Add(59 * time.Second) }
	if more := d.ask(r); more.Agent != first.Agent {
		t.Errorf("59 seconds later: %+v", more)
	}
	d.now = func() time.Time { return time.Now().Add(again + time.Second) }
	d.refused("61 seconds later", d.ask(r), "the token is not valid")
}

// Who may not join, and what is wrong with the hub, is in its log; what is wrong with it is not told to hosts.
func TestLogOfJoining(t *testing.T) {
	d := newDesk(t)
	var log lines
	d.Service.Log, d.KnownHosts = log.say, d.known
	mine, _, _ := hostKeys(t)
	token := func() string { return d.token(store.Token{Uses: 1}, time.Hour) }
	keys := d.Keys
	for _, c := range []struct {
		what string
		r    Request
		keys Signer
		told string // "" if the host is admitted
		log  string
	}{
		{"no token of ours", Request{Token: NewToken()}, keys, "the token is not valid", `"web1" may not join: the token is not valid`},
		{"no known_hosts", Request{HostKey: mine.PublicKey().Marshal()}, keys, "the hub cannot read its known_hosts",
			"reading known_hosts: open " + d.known},
		{"no signing key", Request{Token: token()}, unable{keys}, "the hub has trouble with its database",
			`"web1" joins: the signing key is lost`},
		{"a good token", Request{Token: token()}, keys, "", `"web1" joined by token as `},
	} {
		log.said = nil
		c.r.Version, c.r.Host, c.r.Key, d.Keys = 1, "web1", newKey(t), c.keys
		got := d.ask(c.r)
		if c.told != "" {
			d.refused(c.what, got, c.told)
		} else {
			d.admitted(c.what, got, c.r.Key)
		}
		if len(log.said) == 0 || !strings.HasPrefix(log.said[0], c.log) || strings.Contains(got.Error, "lost") {
			t.Errorf("%s: %+v, in the log: %q", c.what, got, log.said)
		}
	}
}

// unable are keys that cannot sign.
type unable struct{ Signer }

func (unable) AgentJWT(string, string) (string, error) {
	return "", errors.New("the signing key is lost")
}

type lines struct{ said []string }

func (l *lines) say(s string) { l.said = append(l.said, s) }
