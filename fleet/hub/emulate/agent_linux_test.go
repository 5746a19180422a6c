package emulate

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/synthetic"
	"fettle/internal/means"
)

// line is one agent's connection, as a server of NATS has it.
type line struct {
	net.Conn
	r     *bufio.Reader
	from  string // address
	hello struct {
		JWT, Sig, Name string
		TLS            bool `json:"tls_required"`
		Headers        bool
	}
	subs []string
}

const nonce = "the nonce"

// served is a server that greets agents as NATS does, and hands their connections over.
func served(t *testing.T, conf *tls.Config) (addr string, lines chan *line) {
	t.Helper()
	lines = make(chan *line, 100)
	return means.Serve(t, func(c net.Conn) {
		l := &line{Conn: c, from: c.RemoteAddr().String()}
		fmt.Fprintf(c, "INFO {\"server_id\":\"x\",\"nonce\":%q}\r\n", nonce)
		if conf != nil {
			l.Conn = tls.Server(c, conf)
		}
		l.r = bufio.NewReader(l)
		for {
			said, err := l.r.ReadString('\n')
			if err != nil {
				return
			}
			verb, rest, _ := strings.Cut(strings.TrimSpace(said), " ")
			switch verb {
			case "CONNECT":
				if json.Unmarshal([]byte(rest), &l.hello) != nil {
					return
				}
			case "SUB":
				l.subs = append(l.subs, rest)
			case "PING":
				io.WriteString(l, "+OK\r\nPONG\r\n")
				lines <- l
				<-t.Context().Done()
				return
			}
		}
	}), lines
}

// got waits for one of a channel.
func got[T any](t *testing.T, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(means.Patience):
		t.Fatalf("%s does not come", what)
	}
	return v
}

// next is the next message that an agent publishes, and its headers.
func (l *line) next(t *testing.T) (subject string, headers map[string]string, m *message.Message) {
	t.Helper()
	l.SetReadDeadline(time.Now().Add(means.Patience))
	said, err := l.r.ReadString('\n')
	f := strings.Fields(said)
	if err != nil || len(f) != 4 || f[0] != "HPUB" {
		t.Fatalf("an agent says %q, %v", said, err)
	}
	head, _ := strconv.Atoi(f[2])
	all, _ := strconv.Atoi(f[3])
	b := make([]byte, all+2)
	if _, err := io.ReadFull(l.r, b); err != nil || head > all || string(b[all:]) != "\r\n" {
		t.Fatalf("%s: %v, %q", said, err, b)
	}
	headers = map[string]string{}
	lines := strings.Split(string(b[:head]), "\r\n")
	for _, h := range lines[1:] {
		if k, v, ok := strings.Cut(h, ": "); ok {
			headers[k] = v
		}
	}
	if m, err = message.Unpack(b[head:all]); err != nil || lines[0] != "NATS/1.0" || !strings.HasSuffix(string(b[:head]), "\r\n\r\n") {
		t.Fatalf("%q: %v", b[:head], err)
	}
	return f[1], headers, m
}

// tell sends a message to an agent.
func (l *line) tell(t *testing.T, subject string, b []byte) {
	t.Helper()
	if _, err := fmt.Fprintf(l, "MSG %s 1 %d\r\n%s\r\n", subject, len(b), b); err != nil {
		t.Fatal(err)
	}
}

func pack(t *testing.T, v interface{ Pack() ([]byte, error) }) []byte {
	t.Helper()
	b, err := v.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newFleet(t *testing.T, addr string, hosts int) *Fleet {
	t.Helper()
	keys, err := bus.LoadKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &Fleet{Fleet: synthetic.Fleet{Seed: 1, Hosts: hosts, PerHost: 5, Start: time.Now().Add(-60 * 24 * time.Hour)}, Addr: addr, Keys: keys}
	t.Cleanup(f.Close)
	return f
}

// TestAgentsTalkAsRealOnes: how an emulated agent logs in, reports, answers, and counts what the hub has acknowledged.
func TestAgentsTalkAsRealOnes(t *testing.T) {
	means.Ends(t)
	addr, lines := served(t, nil)
	f := newFleet(t, addr, 4)
	f.First, f.Changed = 19_998, 0.5
	for _, to := range []int{1, 4} {
		if err := f.Connect(to, 2); err != nil {
			t.Fatal(err)
		}
	}
	of := map[string]*line{}
	for range 4 {
		l := got(t, "a connection", lines)
		var claims struct{ Sub, Name string }
		parts := strings.Split(l.hello.JWT, ".")
		b, err := base64.RawURLEncoding.DecodeString(parts[min(1, len(parts)-1)])
		if err == nil {
			err = json.Unmarshal(b, &claims)
		}
		if err != nil {
			t.Fatalf("%+v: %v", l.hello, err)
		}
		public, err := nkeys.FromPublicKey(claims.Sub)
		if err != nil {
			t.Fatal(err)
		}
		sig, err := base64.RawURLEncoding.DecodeString(l.hello.Sig)
		if err != nil || public.Verify([]byte(nonce), sig) != nil || l.hello.Name != "emulated" || l.hello.TLS || !l.hello.Headers {
			t.Errorf("%+v: %v", l.hello, err)
		}
		id := strings.Split(l.subs[1], ".")[3]
		if !slices.Equal(l.subs, []string{message.ToAll + " 1", message.To(id, "*") + " 2"}) {
			t.Errorf("%s listens to %q", id, l.subs)
		}
		of[id] = l
	}
	for i := 19_998; i < 20_002; i++ { // so many leave from each address
		l := of[f.Agent(i)]
		if l == nil {
			t.Fatalf("agent %d has no connection: %v", i, of)
		}
		if want := map[bool]string{true: "127.0.1.1:", false: "127.0.1.2:"}[i < 20_000]; !strings.HasPrefix(l.from, want) {
			t.Errorf("agent %d comes from %s, want %s", i, l.from, want)
		}
	}
	if err := f.Report(1, 3); err != nil {
		t.Fatal(err)
	}
	digests := map[int]string{}
	for _, i := range []int{19_999, 20_000} {
		l, state := of[f.Agent(i)], f.State(i, 0)
		subject, headers, m := l.next(t)
		digests[i] = state.Digest()
		if !strings.HasPrefix(subject, "fettle.v1.agent."+f.Agent(i)+".U") || !strings.HasSuffix(subject, "."+string(message.Whole)) {
			t.Errorf("agent %d reports to %s", i, subject)
		}
		if m.Kind != message.Whole || m.Agent != f.Agent(i) || m.Seq != 1 || m.Why != "start" || m.Digest != digests[i] || m.Run == nil ||
			len(m.Run.Results) != len(state.Results) || len(m.Run.Traps) != len(state.Traps) || m.Run.Meta == nil || m.Run.Took != time.Second/5 ||
			m.Self == nil || m.Self.Every != time.Hour || m.Self.Machine != "of "+f.Agent(i) || m.Self.Accepts != message.NoAccepts {
			t.Errorf("agent %d reports %+v", i, m)
		}
		clock, err := strconv.ParseInt(headers[message.HeaderClock], 10, 64)
		if off := time.Since(time.UnixMilli(clock)); err != nil || off < -time.Minute || off > time.Hour || headers[message.HeaderPrev] != "0" ||
			headers[message.HeaderAge] != "0" || time.Since(m.Sent) > time.Hour {
			t.Errorf("agent %d: headers %v, sent %s", i, headers, m.Sent)
		}
	}

	// What was acknowledged is counted, where it is that and was taken.
	const n = 20_000
	l, id := of[f.Agent(n)], f.Agent(n)
	for _, ack := range []message.Ack{{Instance: "emulated", Seq: 0}, {Instance: "emulated", Seq: 1, Whole: true},
		{Instance: "emulated", Seq: 1, Refused: "no"}} {
		l.tell(t, message.To(id, "ack"), pack(t, &ack))
	}
	io.WriteString(l, "PING\r\n")
	l.SetReadDeadline(time.Now().Add(means.Patience))
	if said, err := l.r.ReadString('\n'); err != nil || said != "PONG\r\n" {
		t.Errorf("to a PING an agent says %q, %v", said, err)
	}
	if len(f.Acked) > 0 {
		t.Errorf("%d were counted, and none was acknowledged", len(f.Acked))
	}
	l.tell(t, message.To(id, "ack"), pack(t, &message.Ack{Instance: "emulated", Seq: 1}))
	if a := got(t, "the count", f.Acked); a != n {
		t.Errorf("agent %d was acknowledged, want %d", a, n)
	}

	// Half of the hosts have changed, each time by a month.
	for _, i := range []int{20_000, 19_999} {
		l, now := of[f.Agent(i)], digests[i]
		for round := range 2 {
			l.tell(t, message.ToAll, pack(t, message.NewAsk(fmt.Sprint("q", round), false, 0)))
			subject, headers, m := l.next(t)
			want := now
			was, next := f.State(i, 30*round), f.State(i, 30*round+30)
			if i == 20_000 {
				want = next.Digest()
			}
			if !strings.HasSuffix(subject, "."+string(message.Change)) || m.Seq != int64(round+2) ||
				headers[message.HeaderPrev] != fmt.Sprint(round+1) ||
				m.Why != "ask" || m.Ask != fmt.Sprint("q", round) || m.Base != now || m.Digest != want || m.Run == nil {
				t.Errorf("agent %d, round %d: %s, %v, %+v; want from %s to %s", i, round, subject, headers, m, now, want)
				continue
			}
			if i == 20_000 {
				if since := next.Since(&was); len(m.Run.Results) != len(since.Results) || len(m.Run.Gone) != len(since.Gone) {
					t.Errorf("agent %d, round %d: %d results, want %d", i, round, len(m.Run.Results), len(since.Results))
				}
			} else if len(m.Run.Results) > 0 || m.Run.Took != time.Second/5 {
				t.Errorf("agent %d, where nothing changed: %+v", i, m.Run)
			}
			now = want
		}
	}

	// Whose line breaks, or who is told what nobody can read, is named.
	for i, act := range []func(l *line){
		func(l *line) { l.Close() }, func(l *line) { io.WriteString(l, "-ERR 'Stale Connection'\r\n") },
		func(l *line) { l.tell(t, message.To("x", "ack"), []byte("{")) }, func(l *line) { l.tell(t, message.ToAll, []byte("{")) },
	} {
		act(of[f.Agent(19_998+i)])
		err := got(t, "what broke", f.Failed)
		if !strings.HasPrefix(err.Error(), fmt.Sprintf("agent %d: ", 19_998+i)) || i == 1 && !strings.Contains(err.Error(), "Stale Connection") {
			t.Errorf("%d: %v", i, err)
		}
	}
	f.Close()
	l = of[f.Agent(20_001)]
	l.SetReadDeadline(time.Now().Add(means.Patience))
	if _, err := l.r.ReadByte(); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end the connection stays: %v", err)
	}
	if err := f.Report(0, 1); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a report over a closed connection: %v", err)
	}
	(&Fleet{agents: []*agent{nil, {}}}).Close() // of those that never came to a connection
}

// TestMessagesThatEndEarly: a message that is cut off is no message.
func TestMessagesThatEndEarly(t *testing.T) {
	means.Ends(t)
	addr, lines := served(t, nil)
	f := newFleet(t, addr, 2)
	if err := f.Connect(2, 1); err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"MSG " + message.ToAll + " 1 x\r\n", "MSG " + message.ToAll + " 1 100\r\n{"} {
		l := got(t, "a connection", lines)
		io.WriteString(l, said)
		if c, ok := l.Conn.(*net.TCPConn); ok {
			c.CloseWrite()
		}
		if err := got(t, "what broke", f.Failed); strings.HasSuffix(said, "x\r\n") != errors.Is(err, strconv.ErrSyntax) ||
			strings.HasSuffix(said, "{") != errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// TestAgentsAreEncrypted: with TLS what an agent says comes encrypted, by a server that it knows.
func TestAgentsAreEncrypted(t *testing.T) {
	means.Ends(t)
	dir := t.TempDir()
	cert, err := bus.OwnCertificate(dir, []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := bus.CA(dir)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	addr, lines := served(t, &tls.Config{Certificates: []tls.Certificate{cert}})
	f := newFleet(t, addr, 1)
	f.TLS = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
	if err := f.Connect(1, 1); err != nil {
		t.Fatal(err)
	}
	if l := got(t, "a connection", lines); !l.hello.TLS {
		t.Errorf("%+v", l.hello)
	}
	other := newFleet(t, addr, 1)
	other.TLS = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}
	if err := other.Connect(1, 1); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that nobody knows: %v", err)
	}
}

// TestAgentsThatDoNotConnect: the first that does not connect is named, with the reason, and ends the others.
func TestAgentsThatDoNotConnect(t *testing.T) {
	means.Ends(t)
	for name, c := range map[string]struct {
		serve func(net.Conn)
		want  string
	}{
		"no greeting": {func(net.Conn) {}, "EOF"},
		"no JSON":     {func(c net.Conn) { io.WriteString(c, "INFO x\r\n") }, "invalid character"},
		"refused": {func(c net.Conn) {
			io.WriteString(c, "INFO {\"nonce\":\"x\"}\r\n")
			bufio.NewReader(c).ReadString('\n')
			io.WriteString(c, "-ERR 'Authorization Violation'\r\n")
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		}, "the server says -ERR 'Authorization Violation'"},
		"no answer": {func(c net.Conn) {
			io.WriteString(c, "INFO {\"nonce\":\"x\"}\r\n")
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		}, "EOF"},
	} {
		for _, atOnce := range []int{1, 3} {
			f := newFleet(t, means.Serve(t, c.serve), 8)
			f.First = 100
			err := f.Connect(8, atOnce)
			var n int
			var why string
			if err != nil {
				head, tail, _ := strings.Cut(err.Error(), ": ")
				fmt.Sscanf(head, "agent %d", &n)
				why = tail
			}
			if n < 100 || n > 107 || !strings.Contains(why, c.want) {
				t.Errorf("%s, %d at once: %v; want %q", name, atOnce, err, c.want)
			}
		}
	}
	f := newFleet(t, "127.0.0.1:1", 1)
	if err := f.Connect(1, 1); err == nil || !strings.HasPrefix(err.Error(), "agent 0: dial tcp ") {
		t.Errorf("no server: %v", err)
	}
}
