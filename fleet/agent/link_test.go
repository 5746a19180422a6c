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
	return serverOf(t, 1<<20).ClientURL()
}

// serverOf is one that takes messages of so many bytes.
func serverOf(t *testing.T, payload int32) *natsserver.Server {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, MaxPayload: payload})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("no NATS server within 10 s")
	}
	return s
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
	ctx := newKeeping()
	if p, err := answerTo(ctx, sub, &message.Message{Instance: "one"}); err != nil || string(p.File) != "one" || ctx.n.Load() != 0 {
		t.Errorf("%+v, %v, and %d left behind", p, err, ctx.n.Load())
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

// turning is an agent whose loop runs, where time is the test's.
type turning struct {
	*Agent
	*testing.T
	told int // of what it told the test has seen
}

// turn runs the loop of an agent whose checks all fail.
func turn(t *testing.T, prepare func(*Agent), act func(a *turning)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		a := idle(t, &nats.Conn{}, &said)
		a.Fettle, a.Every, a.allowance, a.asked, a.wholeAt = "/bin/false", time.Hour, asksBurst, uptime(), uptime()
		a.hub.To = a.Log
		a.asks, a.packs, a.events = make(chan *message.Ask, 1), make(chan *message.Pack, 1), make(chan string, 1)
		a.acks, a.connected = make(chan *message.Ack, 1), make(chan struct{}, 1)
		prepare(a)
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.loop(ctx) }()
		act(&turning{Agent: a, T: t})
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// pass lets time pass, in which the agent tells so: each time why.
func (a *turning) pass(d time.Duration, want ...string) {
	a.Helper()
	time.Sleep(d)
	synctest.Wait()
	var got []string
	for ; a.told < a.spool.Len(); a.told++ {
		b, err := a.spool.Payload(a.spool.At(a.told))
		if err != nil {
			a.Fatal(err)
		}
		m, err := message.Unpack(b)
		if err != nil {
			a.Fatal(err)
		}
		got = append(got, m.Why)
	}
	if !slices.Equal(got, want) {
		a.Errorf("told %q, want %q", got, want)
	}
	a.connected <- struct{}{} // what was read here was read before what the loop does next
	synctest.Wait()
}

// An agent checks at its start, when it is asked, after a pack and each hour; what is asked too often it only counts.
func TestLoop(t *testing.T) {
	turn(t, func(a *Agent) { a.allowance = 2 }, func(a *turning) {
		a.pass(time.Second, "start")
		a.asks <- message.NewAsk("q1", false, 0)
		a.pass(time.Second, "ask")
		a.packs <- message.NewPack("acme", 1, []byte("x"))
		a.pass(time.Second, "pack")
		a.asks <- message.NewAsk("q2", false, 0)
		a.packs <- message.NewPack("acme", 1, []byte("x"))
		if a.pass(time.Second); a.refused != 2 {
			t.Errorf("%d refused", a.refused)
		}
		a.pass(70*time.Minute, "schedule")
	})
}

// What happens on the host is checked half a minute later; a question that waits is answered as one, whatever happens
// meanwhile, and a pack that cannot be kept is no reason to check.
func TestLoopOfEvents(t *testing.T) {
	turn(t, func(*Agent) {}, func(a *turning) {
		a.pass(time.Second, "start")
		a.events <- "link"
		a.pass(20 * time.Second)
		a.events <- "packages"
		a.pass(9 * time.Second)
		a.pass(2*time.Second, "link")
		for range 2 {
			a.asks <- message.NewAsk("q", false, time.Minute)
			synctest.Wait()
			if a.told == a.spool.Len() { // else it was answered at once
				a.events <- "link"
				a.packs <- message.NewPack("acme", 1, []byte("x"))
			}
			a.pass(time.Minute, "ask")
		}
		a.pass(50 * time.Minute)
		a.pass(20*time.Minute, "schedule")
	})
	turn(t, func(a *Agent) { a.Dir = filepath.Join(a.Dir, "none") }, func(a *turning) {
		a.pass(time.Second, "start")
		a.packs <- message.NewPack("acme", 1, []byte("x"))
		a.pass(time.Second)
	})
}

// A hub that lacks a whole report gets the last one, if there is one and it does not ask too often, and no other hub does.
func TestLoopOfAnswers(t *testing.T) {
	whole := &message.Ack{Instance: "x", Whole: true}
	turn(t, func(a *Agent) { a.wholes = asksBurst }, func(a *turning) {
		a.pass(time.Second, "start")
		a.acks <- whole
		a.pass(time.Second)
	})
	turn(t, func(a *Agent) { a.last, a.wholes = stateOf("x"), 1 }, func(a *turning) {
		a.pass(time.Second, "start")
		a.acks <- &message.Ack{Instance: "x"}
		a.pass(time.Second)
		a.acks <- whole
		a.pass(time.Second, "whole")
		a.acks <- whole
		a.pass(time.Second)
	})
}

// A heartbeat is due an hour after the last word, whatever it was.
func TestBeatsAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		a := idle(t, &nats.Conn{}, &said)
		due := func() bool {
			select {
			case <-a.heartbeatTimer.C:
				return true
			default:
				return false
			}
		}
		for what, speaks := range map[string]func(){"a heartbeat that nobody hears": a.heartbeat,
			"a message": func() { a.keep(a.message(message.Beat, "", "")) }} {
			time.Sleep(30 * time.Minute)
			speaks()
			if time.Sleep(59 * time.Minute); due() {
				t.Errorf("%s: the next one is due within the hour", what)
			}
			if time.Sleep(2 * time.Minute); !due() {
				t.Errorf("%s: the next one is not due after an hour", what)
			}
			speaks()
		}
	})
}

// That the hub ends is said, and not that the agent itself does; what the hub does not take waits, and that is said, too.
func TestHubEnds(t *testing.T) {
	said := make(chan string, 99)
	log := func(s string) { said <- s }
	start := func(payload int32) (*Agent, *natsserver.Server) {
		t.Helper()
		s := serverOf(t, payload)
		a := idle(t, nil, &[]string{})
		a.Log, a.hub.To = log, log
		a.connected = make(chan struct{}, 1)
		a.member.URLs = []string{s.ClientURL()}
		writeCreds(t, filepath.Join(a.Dir, credsFile))
		var err error
		if a.conn, err = a.connect(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-a.connected:
		case <-time.After(soon):
			t.Fatal("it does not connect")
		}
		return a, s
	}
	hears := func(want string) {
		t.Helper()
		select {
		case got := <-said:
			if !strings.HasPrefix(got, want) || strings.Contains(got, "dial") { // which is what comes after
				t.Errorf("said %q, want %q", got, want)
			}
		case <-time.After(soon):
			t.Fatalf("nobody says %q", want)
		}
	}
	a, s := start(1 << 20)
	s.Shutdown()
	hears("the hub: ") // EOF, or reset by peer
	a.conn.Close()
	a, _ = start(16)
	a.keep(a.message(message.Beat, "", ""))
	if a.send(); a.sent != 0 || a.spool.Len() != 1 || a.ackTimeout != nil {
		t.Errorf("%d of %d sent", a.sent, a.spool.Len())
	}
	hears("sending: nats: maximum payload exceeded")
	a.conn.Close()
	if len(said) > 0 {
		t.Errorf("an agent that ends says %q", <-said)
	}
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
		limit := 400 * time.Millisecond // in plain text it takes a few
		if c.plain {
			limit = soon
		}
		for end := time.Now().Add(limit); !conn.IsConnected() && time.Now().Before(end); {
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
