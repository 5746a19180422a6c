package agent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"fettle/fleet/hub/message"
)

// Waiting times: how long an agent waits before it connects again (somewhere
// between half and the whole of it: a hub that starts has many agents), and
// for the hub's answer before it sends again.
const (
	reconnectMax = 2 * time.Minute
	answerFirst  = 30 * time.Second
	answerMax    = 15 * time.Minute
	window       = 8 // messages ahead of the hub's answers
)

// connect connects to the hub, and goes on trying for ever.
func (a *Agent) connect() (*nats.Conn, error) {
	nc, subject, err := a.member.dial(a.Dir, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1),
		nats.CustomReconnectDelay(backoff), nats.Timeout(30*time.Second), nats.PingInterval(5*time.Minute), nats.IgnoreAuthErrorAbort(),
		nats.ConnectHandler(func(*nats.Conn) { a.wake(a.connected) }), nats.ReconnectHandler(func(*nats.Conn) { a.wake(a.connected) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				a.hub.Say("ended", "the hub: "+refusal(err))
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.hub.Say("error", "the hub: "+refusal(err)) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { a.hub.Say("error", "the hub: "+refusal(err)) }),
	)
	if err != nil {
		return nil, fmt.Errorf("the hub: %w", err)
	}
	a.subject = subject
	for _, s := range []string{message.ToAll, message.To(a.member.Agent, "*")} {
		if _, err := nc.Subscribe(s, a.hear); err != nil {
			return nil, err
		}
	}
	return nc, nil
}

// dial connects as this member, and says below which subject it publishes.
func (m *Member) dial(dir string, opts ...nats.Option) (*nats.Conn, string, error) {
	creds := filepath.Join(dir, credsFile)
	key, err := publicKey(creds)
	if err != nil {
		return nil, "", err
	}
	opts = append(opts, nats.UserCredentials(creds), nats.Name("fettle-agent"))
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	if m.CA != "" {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM([]byte(m.CA)) {
			return nil, "", errors.New("the hub's authority is damaged: join again")
		}
	}
	if m.CA != "" || strings.HasPrefix(m.URLs[0], "tls://") {
		opts = append(opts, nats.Secure(conf))
	}
	nc, err := nats.Connect(strings.Join(m.URLs, ","), opts...)
	return nc, message.From(m.Agent, key), err
}

// refusal is an error of the connection in words. A hub that takes a host's key no longer has
// retired it, or given it another one.
func refusal(err error) string {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked) {
		return "it does not accept this host's key: the host was retired, or got another key (fettle-hub invite --host); join again"
	}
	return err.Error()
}

func backoff(attempts int) time.Duration {
	d := min(time.Second<<min(attempts, 10), reconnectMax)
	return d/2 + rand.N(d/2)
}

// hear takes what the hub says, on NATS's goroutine.
func (a *Agent) hear(m *nats.Msg) {
	if strings.HasSuffix(m.Subject, ".ack") {
		if ack, err := message.UnpackAck(m.Data); err == nil {
			select {
			case a.acks <- ack:
			default: // it comes again
			}
		}
		return
	}
	if strings.HasSuffix(m.Subject, ".pack") {
		a.hearPack(m.Data)
		return
	}
	ask, err := message.UnpackAsk(m.Data)
	if err != nil {
		a.hub.Say("ask", "the hub asks for what this agent does not know: "+err.Error())
		return
	}
	select {
	case a.asks <- ask:
	default:
	}
}

// hearPack takes a pack, where root lets the hub hand packs on.
func (a *Agent) hearPack(b []byte) {
	if a.Packs == "" {
		return
	}
	p, err := message.UnpackPack(b)
	if err != nil {
		a.hub.Say("pack", "the hub hands on what is no pack: "+err.Error())
		return
	}
	if p.Asked != "" { // somebody asked for it by hand: see Fetch
		return
	}
	select {
	case a.packs <- p:
	default: // it comes again
	}
}

// send sends what waits, as far ahead as the window goes. Messages of another
// instance go when those before them have arrived.
func (a *Agent) send() {
	if !a.conn.IsConnected() {
		return
	}
	for a.sent < min(window, a.spool.Len()) {
		e := a.spool.At(a.sent)
		if e.Instance != a.spool.At(0).Instance {
			break
		}
		payload, err := a.spool.Payload(e)
		if err != nil {
			a.Log("a message that waited: " + err.Error())
			a.spool.Forget(a.sent)
			a.needWhole = true
			continue
		}
		prev := int64(0)
		if a.sent > 0 {
			prev = a.spool.At(a.sent - 1).Seq
		} else if e.Instance == a.ackedOf {
			prev = a.acked
		}
		m := nats.NewMsg(a.subject + "." + e.Kind)
		m.Data = payload
		m.Header.Set(message.HeaderAge, strconv.FormatInt(a.age(e).Milliseconds(), 10))
		m.Header.Set(message.HeaderClock, strconv.FormatInt(a.Now().UnixMilli(), 10))
		m.Header.Set(message.HeaderPrev, strconv.FormatInt(prev, 10))
		if err := a.conn.PublishMsg(m); err != nil {
			a.hub.Say("sending", "sending: "+err.Error())
			return
		}
		a.sent++
	}
	if a.sent > 0 && a.ackTimeout == nil {
		a.ackTimeout = time.After(a.wait)
	}
}

// answered takes the hub's answer to what was sent.
func (a *Agent) answered(ack *message.Ack) {
	had := a.spool.Len()
	a.spool.Done(ack.Instance, ack.Seq)
	a.sent = max(0, a.sent-(had-a.spool.Len()))
	if ack.Instance != a.ackedOf || ack.Seq > a.acked || ack.Again {
		a.ackedOf, a.acked = ack.Instance, ack.Seq
	}
	if ack.Refused != "" {
		a.hub.Say("refused", "the hub does not take a result: "+ack.Refused)
	}
	if ack.Again {
		a.sent = 0
	}
	if ack.Whole {
		a.needWhole = true
	}
	if ack.Accepts != nil {
		a.keepAccepts(ack.Accepts)
	}
	if had > a.spool.Len() {
		a.wait = a.Answer
	}
	a.ackTimeout = nil
}

// resend sends again what was not answered.
func (a *Agent) resend() {
	a.sent, a.ackTimeout = 0, nil
	a.wait = min(2*a.wait, answerMax)
}
