// Package emulate emulates agents by the ten thousand, each with its own
// connection and credentials, to measure a hub. Their reports are those of
// synthetic fleets; their messages to NATS and the hub are those of real
// agents.
package emulate

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/synthetic"
)

// Fleet is agents that are emulated.
type Fleet struct {
	synthetic.Fleet
	First int // the number of the first; a large fleet is emulated by several processes
	Addr  string
	TLS   *tls.Config // nil: plain
	Keys  *bus.Keys
	// Changed is the share of hosts of whose state something changed since.
	Changed float64

	Acked  chan int   // agents that the hub answered
	Failed chan error // agents that ended
	agents []*agent
}

// agent is one of them. It speaks NATS's protocol by itself: a client library
// costs more memory than the server does.
type agent struct {
	f       *Fleet
	n       int
	id, key string
	conn    net.Conn
	mu      sync.Mutex
	seq     int64
	day     int    // of what it reported last
	digest  string // of that
}

// Connect connects agents, some concurrently, until there are so many.
func (f *Fleet) Connect(to, atOnce int) error {
	if f.agents == nil {
		f.Acked, f.Failed = make(chan int, f.Hosts), make(chan error, f.Hosts)
	}
	from := len(f.agents)
	f.agents = append(f.agents, make([]*agent, to-from)...)
	numbers, errs := make(chan int), make(chan error, atOnce)
	for range atOnce {
		go func() {
			for i := range numbers {
				a := &agent{f: f, n: f.First + i, id: f.Agent(f.First + i)}
				if err := a.connect(); err != nil {
					errs <- fmt.Errorf("agent %d: %w", a.n, err)
					return
				}
				f.agents[i] = a
			}
			errs <- nil
		}()
	}
	var failed error
	for i := from; i < to && failed == nil; i++ {
		select {
		case numbers <- i:
		case failed = <-errs:
		}
	}
	close(numbers)
	if failed != nil {
		return failed
	}
	for range atOnce {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// perAddress is how many connections leave from one loopback address.
const perAddress = 20_000

func (a *agent) connect() error {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	if a.key, err = pair.PublicKey(); err != nil {
		return err
	}
	token, err := a.f.Keys.AgentJWT(a.id, a.key)
	if err != nil {
		return err
	}
	d := net.Dialer{Timeout: time.Minute, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+a.n/perAddress))}}
	if a.conn, err = d.Dial("tcp", a.f.Addr); err != nil {
		return err
	}
	r := bufio.NewReaderSize(a.conn, 2048)
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	var info struct {
		Nonce string `json:"nonce"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil {
		return err
	}
	if a.f.TLS != nil {
		a.conn = tls.Client(a.conn, a.f.TLS)
		r = bufio.NewReaderSize(a.conn, 2048)
	}
	sig, err := pair.Sign([]byte(info.Nonce))
	if err != nil {
		return err
	}
	hello, err := json.Marshal(
		map[string]any{"verbose": false, "pedantic": false, "lang": "go", "version": "1", "protocol": 1, "headers": true, "no_responders": true,
			"jwt": token, "nkey": "", "sig": base64.RawURLEncoding.EncodeToString(sig), "tls_required": a.f.TLS != nil, "name": "emulated"},
	)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.conn, "CONNECT %s\r\nSUB %s 1\r\nSUB %s 2\r\nPING\r\n", hello, message.ToAll,
		message.To(a.id, "*")); err != nil {
		return err
	}
	for {
		line, err := r.ReadString('\n')
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(line, "-ERR"):
			return fmt.Errorf("the server says %s", strings.TrimSpace(line))
		case strings.HasPrefix(line, "PONG"):
			go a.listen(r)
			return nil
		}
	}
}

// listen answers questions, and counts what the hub acknowledges.
func (a *agent) listen(r *bufio.Reader) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			a.f.Failed <- fmt.Errorf("agent %d: %w", a.n, err)
			return
		}
		switch {
		case bytes.HasPrefix(line, []byte("PING")):
			err = a.write([]byte("PONG\r\n"))
		case bytes.HasPrefix(line, []byte("-ERR")):
			err = fmt.Errorf("the server says %q", line)
		case bytes.HasPrefix(line, []byte("MSG ")):
			err = a.heard(r, strings.Fields(string(line)))
		}
		if err != nil {
			a.f.Failed <- fmt.Errorf("agent %d: %w", a.n, err)
			return
		}
	}
}

func (a *agent) heard(r *bufio.Reader, fields []string) error {
	n, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return err
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	if strings.HasSuffix(fields[1], ".ack") {
		ack, err := message.UnpackAck(body[:n])
		if err == nil && ack.Seq == a.seq && !ack.Whole && ack.Refused == "" {
			a.f.Acked <- a.n
		}
		return err
	}
	q, err := message.UnpackAsk(body[:n])
	if err != nil {
		return err
	}
	return a.answer(q)
}

func (a *agent) write(b []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := a.conn.Write(b)
	return err
}

func (a *agent) message(kind message.Kind) *message.Message {
	a.seq++
	m := message.New(kind)
	m.Agent, m.Instance, m.Seq, m.Sent = a.id, "emulated", a.seq, time.Now().UTC()
	m.Self = &message.Self{Every: time.Hour, Machine: "of " + a.id, Accepts: message.NoAccepts}
	return m
}

func (a *agent) publish(m *message.Message) error {
	b, err := m.Pack()
	if err != nil {
		return err
	}
	head := fmt.Sprintf(
		"NATS/1.0\r\n%s: %d\r\n%s: %d\r\n%s: 0\r\n\r\n",
		message.HeaderClock,
		time.Now().UnixMilli(),
		message.HeaderPrev,
		m.Seq-1,
		message.HeaderAge,
	)
	out := fmt.Appendf(nil, "HPUB %s.%s %d %d\r\n%s", message.From(a.id, a.key), m.Kind, len(head), len(head)+len(b), head)
	return a.write(append(append(out, b...), '\r', '\n'))
}

// Report lets agents send whole reports: those from and to which it is.
func (f *Fleet) Report(from, to int) error {
	for _, a := range f.agents[from:to] {
		state := f.State(a.n, 0)
		a.digest = state.Digest()
		m := a.message(message.Whole)
		m.Why, m.Digest = "start", a.digest
		m.Run = &message.Run{Meta: &state.Meta, Traps: state.Traps, Results: state.Results, Took: 200 * time.Millisecond}
		if err := a.publish(m); err != nil {
			return err
		}
	}
	return nil
}

// answer is a check that found nothing new or, on some hosts, what is so a
// month later.
func (a *agent) answer(q *message.Ask) error {
	m := a.message(message.Change)
	m.Why, m.Ask, m.Base, m.Digest, m.Run = "ask", q.ID, a.digest, a.digest, &message.Run{Took: 200 * time.Millisecond}
	if every := int(1 / max(a.f.Changed, 1e-6)); a.n%every == 0 {
		const month = 30
		was, next := a.f.State(a.n, a.day), a.f.State(a.n, a.day+month)
		m.Digest, m.Run = next.Digest(), next.Since(&was)
		a.day, a.digest = a.day+month, m.Digest
	}
	return a.publish(m)
}

// Close ends all connections.
func (f *Fleet) Close() {
	for _, a := range f.agents {
		if a != nil && a.conn != nil {
			a.conn.Close()
		}
	}
}
