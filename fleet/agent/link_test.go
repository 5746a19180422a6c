package agent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"fettle/fleet/agent/spool"
	"fettle/fleet/hub/message"
	"fettle/report"
)

// plainServer is a NATS server on the loopback that knows no encryption and lets
// everybody in.
func plainServer(t *testing.T) string {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("no NATS server within 10 s")
	}
	return s.ClientURL()
}

// idle is an agent with an empty spool that logs into said.
func idle(t *testing.T, conn *nats.Conn, said *[]string) *Agent {
	t.Helper()
	a := &Agent{
		Config: Config{
			Dir:    t.TempDir(),
			Answer: time.Second,
			Beat:   time.Hour,
			Now:    time.Now,
			Log:    func(s string) { *said = append(*said, s) },
		},
		member:         &Member{Agent: "aaaaaaaaaaaaaaaa", Machine: "m"},
		instance:       newInstance(),
		conn:           conn,
		wait:           time.Second,
		heartbeatTimer: time.NewTimer(time.Hour),
	}
	var err error
	if a.spool, err = spool.Open(filepath.Join(a.Dir, spoolDir), 1<<20); err != nil {
		t.Fatal(err)
	}
	return a
}

func kinds(a *Agent) (out []string) {
	for i := range a.spool.Len() {
		out = append(out, a.spool.At(i).Kind)
	}
	return out
}

// An agent says that it is there only where nothing else of it waits, and only
// where somebody hears it.
func TestBeatsAlone(t *testing.T) {
	conn, err := nats.Connect(plainServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var said []string
	a := idle(t, conn, &said)
	a.heartbeat()
	if got := kinds(a); !slices.Equal(got, []string{"beat"}) {
		t.Fatalf("connected, and nothing waits: %q; %q", got, said)
	}
	if a.heartbeat(); a.spool.Len() != 1 {
		t.Errorf("a beat behind what waits: %q", kinds(a))
	}
	a.subject = "s"
	if a.send(); a.sent != 1 {
		t.Errorf("%d sent; %q", a.sent, said)
	}
	conn.Close()
	b := idle(t, conn, &said)
	if b.heartbeat(); b.spool.Len() != 0 {
		t.Errorf("a beat that nobody hears: %q", kinds(b))
	}
}

// The answer to a question is the pack that was asked for, whatever comes before it.
func TestAnswerTo(t *testing.T) {
	conn, err := nats.Connect(plainServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sub, err := conn.SubscribeSync("x")
	if err != nil {
		t.Fatal(err)
	}
	packs := [][]byte{[]byte("no pack")}
	for _, asked := range []string{"another", "one"} {
		p := message.NewPack("acme", 1, []byte(asked))
		p.Asked = asked
		b, err := p.Pack()
		if err != nil {
			t.Fatal(err)
		}
		packs = append(packs, b)
	}
	for _, b := range packs {
		if err := conn.Publish("x", b); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := answerTo(t.Context(), sub, &message.Message{Instance: "one"}); err != nil || string(p.File) != "one" {
		t.Errorf("%+v, %v", p, err)
	}
}

// An agent takes the hub's answers, and nothing that is none.
func TestHearAnswer(t *testing.T) {
	a := &Agent{acks: make(chan *message.Ack, 1)}
	b, err := json.Marshal(message.Ack{Instance: newInstance(), Seq: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range [][]byte{[]byte("x"), b, b} { // the last one has no place, and comes again
		a.hear(&nats.Msg{Subject: message.To("a", "ack"), Data: data})
		if len(a.acks) != min(i, 1) {
			t.Fatalf("after %d: %d answers", i, len(a.acks))
		}
	}
	if ack := <-a.acks; ack.Seq != 3 {
		t.Errorf("%+v", ack)
	}
}

// An agent checks at its start, when it is asked, after a pack and each hour; what is asked too often it only counts.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		a := idle(t, &nats.Conn{}, &said)
		a.Fettle, a.Every, a.allowance, a.asked = "/bin/false", time.Hour, 2, uptime()
		a.hub.To = a.Log
		a.asks, a.packs = make(chan *message.Ask, 1), make(chan *message.Pack, 1)
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.loop(ctx) }()
		pass := func(d time.Duration, want ...string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			var got []string
			for i := range a.spool.Len() {
				b, err := a.spool.Payload(a.spool.At(i))
				if err != nil {
					t.Fatal(err)
				}
				m, err := message.Unpack(b)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, m.Why)
			}
			if !slices.Equal(got, want) {
				t.Errorf("told %q, want %q", got, want)
			}
		}
		pass(time.Second, "start")
		a.asks <- message.NewAsk("q1", false, 0)
		pass(time.Second, "start", "ask")
		a.packs <- message.NewPack("acme", 1, []byte("x"))
		pass(time.Second, "start", "ask", "pack")
		a.asks <- message.NewAsk("q2", false, 0)
		a.packs <- message.NewPack("acme", 1, []byte("x"))
		// The spool is read again when nothing else will be kept: no channel leads from here to the next check.
		time.Sleep(time.Second)
		synctest.Wait()
		if a.refused != 2 {
			t.Errorf("%d refused", a.refused)
		}
		pass(70*time.Minute, "start", "ask", "pack", "schedule")
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Where the space for waiting messages is full, the next report is whole again:
// changes build on what is lost.
func TestWholeAfterLoss(t *testing.T) {
	var said []string
	a := idle(t, &nats.Conn{}, &said)
	var err error
	if a.spool, err = spool.Open(filepath.Join(a.Dir, "small"), 4096); err != nil {
		t.Fatal(err)
	}
	a.sent = 3
	for i := range 100 {
		m := a.message(message.Change, "", "")
		m.Base, m.Digest = strings.Repeat("0", 64), strings.Repeat("1", 64)
		m.Run = &message.Run{Meta: &report.Meta{Host: strings.Repeat("h", i)}, Results: []message.Result{}}
		a.keep(m)
		if a.spool.Dropped > 0 {
			break
		}
		if a.needWhole {
			t.Fatalf("a whole report is due though nothing was lost: %q", said)
		}
	}
	if a.spool.Dropped == 0 || !a.needWhole || a.sent != 0 || !strings.Contains(strings.Join(said, "\n"), "are lost") {
		t.Errorf("%d lost, whole report due: %v, under way %d, said %q", a.spool.Dropped, a.needWhole, a.sent, said)
	}
}

// Each answer that does not come doubles the wait, up to a quarter of an hour.
func TestWaitDoubles(t *testing.T) {
	var said []string
	a := idle(t, nil, &said)
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
		if a.resend(); a.wait != want {
			t.Errorf("waits %s, want %s", a.wait, want)
		}
	}
	for range 20 {
		a.resend()
	}
	if a.wait != answerMax {
		t.Errorf("waits %s at most, want %s", a.wait, answerMax)
	}
}

// An agent that was given an authority, or a tls:// address, does not talk in plain text.
func TestNoPlainText(t *testing.T) {
	url := plainServer(t)
	ca, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url, ca string
		plain   bool
	}{
		"neither":        {url, "", true},
		"an authority":   {url, string(ca), false},
		"a tls address":  {strings.Replace(url, "nats://", "tls://", 1), "", false},
		"both":           {strings.Replace(url, "nats://", "tls://", 1), string(ca), false},
		"no certificate": {url, "-----BEGIN CERTIFICATE-----\n", false},
	} {
		var said []string
		a := idle(t, nil, &said)
		a.Log = func(string) {}
		a.connected = make(chan struct{}, 1)
		a.acks, a.asks = make(chan *message.Ack, 1), make(chan *message.Ask, 1)
		a.member.URLs, a.member.CA = []string{c.url}, c.ca
		writeCreds(t, filepath.Join(a.Dir, credsFile))
		conn, err := a.connect()
		if err != nil {
			if c.plain || name != "no certificate" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for end := time.Now().Add(time.Second); !conn.IsConnected() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if o := conn.Opts; o.Timeout != 30*time.Second || o.PingInterval != 5*time.Minute || o.MaxReconnect >= 0 {
			t.Errorf("%s: connects within %s, asks each %s, %d times", name, o.Timeout, o.PingInterval, o.MaxReconnect)
		}
		if conn.IsConnected() != c.plain {
			t.Errorf("%s: connected in plain text: %v, want %v", name, conn.IsConnected(), c.plain)
		}
		conn.Close()
	}
}

func writeCreds(t *testing.T, file string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := pair.Seed()
	key, _ := pair.PublicKey()
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.NewUserClaims(key).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
