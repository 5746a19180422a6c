package login

import (
	"strconv"
	"strings"
	"time"
)

// parser turns the lines of ssh -vvv, each with the time of its arrival, into
// the phases of a login. What it knows is said alike by OpenSSH 7.1 to 10:
// numbers of packets (packet.c, "send packet: type 50"), which older ones do
// not print, and the words of DEBUG1, which serve as well but for Span.Server.
// It keeps no line, so that a server that talks forever costs no memory.
type parser struct {
	l     Login
	phase Phase
	since time.Duration // the phase began
	tries int
	sent  time.Duration // a packet went out and no answer has come; -1: none is awaited
	wait  time.Duration // spent waiting in this phase
	typed bool          // packet numbers are printed
	said  []string      // the last lines that are no debugging
	why   failure       // what a line said of the reason to end
}

type failure int

const (
	unexplained failure = iota
	keyChanged
	keyUnknown
	notAccepted
)

func newParser() *parser { return &parser{phase: Start, sent: -1} }

// enter ends the phase at hand and begins another.
func (p *parser) enter(next Phase, at time.Duration) {
	if next == p.phase {
		return
	}
	p.close(at)
	p.phase, p.since, p.tries, p.wait = next, at, 0, 0
}

func (p *parser) close(at time.Duration) {
	if p.sent >= 0 {
		p.wait += at - max(p.sent, p.since)
		p.sent = at
	}
	s := Span{Phase: p.phase, Took: at - p.since, Server: p.wait, Tries: p.tries}
	if p.phase == Connect || p.phase == Banner || p.phase == Output && p.typed {
		s.Server = s.Took
	}
	for i := range p.l.Spans {
		if old := &p.l.Spans[i]; old.Phase == s.Phase { // publickey again after a partial success
			old.Took, old.Server, old.Tries = old.Took+s.Took, old.Server+s.Server, old.Tries+s.Tries
			return
		}
	}
	// A server has a handful of methods; one that invents more is no server.
	if len(p.l.Spans) < maxSpans {
		p.l.Spans = append(p.l.Spans, s)
	}
}

const maxSpans = 24

// line takes one line of ssh's log.
func (p *parser) line(at time.Duration, s string) {
	at = max(at, p.since)
	level, text, ok := strings.Cut(s, ": ")
	if !ok || !strings.HasPrefix(level, "debug") {
		p.message(at, s)
		return
	}
	switch {
	case level == "debug3" && strings.HasPrefix(text, "send packet: type "):
		p.typed = true
		if p.sent < 0 {
			p.sent = at
		}
	case level == "debug3" && strings.HasPrefix(text, "receive packet: type "):
		p.typed = true
		n, err := strconv.Atoi(text[len("receive packet: type "):])
		if err == nil {
			p.packet(at, n)
		}
	case p.phase == Start || p.phase == Resolve:
		p.early(at, text)
	case p.phase == Connect || p.phase == Banner || p.phase == Proxy:
		p.greeting(at, text)
	default:
		p.late(at, text)
	}
}

func (p *parser) early(at time.Duration, text string) {
	switch {
	case strings.HasPrefix(text, `resolving "`): // ssh.c, main, right before resolve_host
		p.enter(Resolve, at)
	case strings.HasPrefix(text, "Connecting to "):
		p.enter(Connect, at)
		p.connecting(text)
	case strings.HasPrefix(text, "Executing proxy "): // "command: ", "dialer command: "
		p.enter(Proxy, at)
	case strings.Contains(text, "mux_client_request_session: master session id"),
		strings.HasPrefix(text, "mux_client_hello_exchange: master version"):
		p.enter(Mux, at)
	}
}

// connecting reads `Connecting to NAME [ADDRESS] port N.`
func (p *parser) connecting(text string) {
	p.tries++
	_, a, ok := strings.Cut(text, " [")
	if a, _, ok2 := strings.Cut(a, "] port "); ok && ok2 {
		p.l.Address = clip(a)
	}
}

func (p *parser) greeting(at time.Duration, text string) {
	switch {
	case strings.HasPrefix(text, "Connecting to "):
		p.connecting(text)
	case strings.HasPrefix(text, "Connection established."):
		p.enter(Banner, at)
	case strings.HasPrefix(text, "Remote protocol version "):
		if _, v, ok := strings.Cut(text, "remote software version "); ok {
			p.l.Server = clip(v)
		}
		p.enter(Exchange, at)
	}
}

func (p *parser) late(at time.Duration, text string) {
	switch {
	case strings.HasPrefix(text, "Authenticating to "): // HOST:PORT as 'USER'
		if _, u, ok := strings.Cut(text, " as '"); ok {
			p.l.User = clip(strings.TrimSuffix(u, "'"))
		}
	case strings.HasPrefix(text, "SSH2_MSG_NEWKEYS received"):
		if p.phase == Exchange {
			p.enter(Service, at)
		}
	case strings.HasPrefix(text, "SSH2_MSG_SERVICE_ACCEPT received"):
		if p.phase == Service {
			p.enter(Auth("none"), at)
		}
	case strings.HasPrefix(text, "Authentications that can continue: "):
		p.l.Offered = clip(text[len("Authentications that can continue: "):])
	case strings.HasPrefix(text, "Next authentication method: "):
		if p.authenticating() {
			p.enter(Auth(clip(text[len("Next authentication method: "):])), at)
		}
	case strings.HasPrefix(text, "Offering "): // "public key: ", before 7.8 "RSA public key: "
		p.tries++
	case strings.HasPrefix(text, "Authentication succeeded ("): // to 8.7; "Authenticated to" is said by all
		p.l.Method = clip(strings.TrimSuffix(text[len("Authentication succeeded ("):], ")."))
		p.accepted(at)
	case strings.HasPrefix(text, "Sending command: "):
		if p.phase == Session && !p.typed {
			p.enter(Output, at)
		}
	}
}

// packet takes the number of a packet that came (RFC 4250, section 4.1).
func (p *parser) packet(at time.Duration, n int) {
	switch n {
	case 1, 2, 3, 4, 7, 53, 80, 93: // DISCONNECT to DEBUG, EXT_INFO, BANNER, GLOBAL_REQUEST, WINDOW_ADJUST: answers to nothing
	default:
		if p.sent >= 0 {
			p.wait += at - max(p.sent, p.since)
			p.sent = -1
		}
	}
	switch {
	case n == 21 && p.phase == Exchange: // NEWKEYS
		p.enter(Service, at)
	case n == 6 && p.phase == Service: // SERVICE_ACCEPT
		p.enter(Auth("none"), at)
	case n == 52: // USERAUTH_SUCCESS
		p.accepted(at)
	case n == 91 && p.phase == Session: // CHANNEL_OPEN_CONFIRMATION
		p.enter(Output, at)
	}
}

func (p *parser) authenticating() bool { return strings.HasPrefix(string(p.phase), "auth ") }

func (p *parser) accepted(at time.Duration) {
	if p.authenticating() {
		if p.l.Method == "" {
			p.l.Method = strings.TrimPrefix(string(p.phase), "auth ")
		}
		p.enter(Session, at)
	}
}

// message takes a line that is no debugging.
func (p *parser) message(at time.Duration, s string) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return
	case strings.HasPrefix(s, "OpenSSH_") && p.l.Client == "":
		v, _, _ := strings.Cut(s, ", ")
		p.l.Client = clip(v)
		return
	case strings.HasPrefix(s, "Authenticated to "):
		if _, m, ok := strings.Cut(s, ` using "`); ok {
			p.l.Method = clip(strings.TrimRight(m, `".`))
		}
		p.accepted(at)
		return
	case strings.Contains(s, "REMOTE HOST IDENTIFICATION HAS CHANGED"):
		p.why = keyChanged
	case strings.HasPrefix(s, "Host key verification failed"), strings.Contains(s, "host key is known for"):
		if p.why == unexplained {
			p.why = keyUnknown
		}
	case strings.Contains(s, "Permission denied (") || strings.Contains(s, "Too many authentication failures"):
		p.why = notAccepted
	}
	if strings.HasPrefix(s, "@@@") {
		return
	}
	if p.said = append(p.said, clip(s)); len(p.said) > 3 {
		p.said = p.said[1:]
	}
}

// output takes the time of the first output, or of the end where there is none.
func (p *parser) output(at time.Duration) {
	at = max(at, p.since)
	p.close(at)
	p.l.Total = at
}

// clip bounds what is kept of a foreign word, and copies it out of its line.
func clip(s string) string {
	const most = 256
	if len(s) > most {
		s = s[:most]
	}
	return strings.Clone(strings.ToValidUTF8(s, "?"))
}
