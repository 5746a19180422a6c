package host

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"time"
)

// peerLimit bounds one conversation with a server, from its name's lookup on.
const peerLimit = 8 * time.Second

// Bounds of what a server may send. A TLS certificate message is at most
// 256 KiB (crypto/tls, maxHandshakeCertificateMsg).
const (
	maxChain    = 32       // certificates kept
	maxResponse = 16 << 10 // bytes of an answer to StartTLS
)

// readPeer answers a table that Talks.
func readPeer(ctx context.Context, t Table) ([]byte, error) {
	q, ok := t.Peer()
	if !ok {
		return nil, ErrNotCollected
	}
	p, err := askPeer(ctx, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(p)
}

func askPeer(ctx context.Context, q PeerQuestion) (Peer, error) {
	u, err := url.Parse(q.URI)
	if err != nil || u.Port() == "" || u.Hostname() == "" || u.Scheme != "ldap" && u.Scheme != "ldaps" {
		return Peer{}, fmt.Errorf("%q is not a valid LDAP server", q.URI)
	}
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), u.Port()))
	if err != nil {
		return Peer{}, timedOut(ctx, "connecting", err)
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	conn.SetDeadline(end)
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	p := Peer{Address: conn.RemoteAddr().String()}
	if q.StartTLS {
		if p.Refused, err = startTLS(conn); err != nil {
			return Peer{}, timedOut(ctx, "asking for StartTLS", err)
		}
		if p.Refused != "" {
			return p, nil
		}
	}
	err = p.handshake(ctx, conn, u.Hostname())
	if err != nil && (len(p.Chain) == 0 && ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded)) {
		return Peer{}, timedOut(ctx, "TLS handshake", err)
	}
	if err != nil {
		p.Failed = err.Error()
	}
	return p, nil
}

func timedOut(ctx context.Context, doing string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w (over %s)", doing, ErrTimeout, peerLimit)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// handshake takes what the server shows and verifies nothing: the judgement is
// the check's, by the rules of the host's own clients.
func (p *Peer) handshake(ctx context.Context, conn net.Conn, name string) error {
	var suites []uint16
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		suites = append(suites, s.ID)
	}
	c := tls.Client(conn, &tls.Config{
		ServerName: name, MinVersion: tls.VersionTLS10, CipherSuites: suites,
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			for _, b := range raw[:min(len(raw), maxChain)] {
				p.Chain = append(p.Chain, slices.Clone(b))
			}
			return nil
		},
	})
	err := c.HandshakeContext(ctx)
	if v := c.ConnectionState().Version; v != 0 {
		p.Version = tls.VersionName(v)
	}
	return err
}

// startTLSRequest is an ExtendedRequest, message 1, of 1.3.6.1.4.1.1466.20037
// (RFC 4511, sections 4.12 and 4.14.1).
var startTLSRequest = append([]byte{0x30, 0x1d, 0x02, 0x01, 0x01, 0x77, 0x18, 0x80, 0x16}, "1.3.6.1.4.1.1466.20037"...)

// startTLS returns what the server says instead of yes.
func startTLS(conn net.Conn) (refused string, err error) {
	if _, err := conn.Write(startTLSRequest); err != nil {
		return "", err
	}
	_, msg, err := readBER(conn, 0x30)
	if err != nil {
		return "", err
	}
	return extendedResponse(msg)
}

var errNoLDAP = errors.New("the server does not speak LDAP")

// readBER reads one element with its content (X.690, definite lengths); any
// tag but want, if that is not 0, is none of LDAP.
func readBER(r io.Reader, want byte) (tag byte, content []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	if want != 0 && head[0] != want {
		return 0, nil, errNoLDAP
	}
	n := int(head[1])
	if n&0x80 != 0 {
		k := n & 0x7f
		if k < 1 || k > 4 {
			return 0, nil, errNoLDAP
		}
		b := make([]byte, k)
		if _, err := io.ReadFull(r, b); err != nil {
			return 0, nil, err
		}
		n = 0
		for _, c := range b {
			n = n<<8 | int(c)
		}
	}
	if n < 0 || n > maxResponse {
		return 0, nil, fmt.Errorf("the server's answer: %w", ErrTooBig)
	}
	content = make([]byte, n)
	_, err = io.ReadFull(r, content)
	return head[0], content, err
}

// extendedResponse reads an LDAPMessage's content: the result code of an
// ExtendedResponse, and its words.
func extendedResponse(msg []byte) (refused string, err error) {
	bad := errors.New("the server's answer to StartTLS cannot be read")
	r := &berReader{msg}
	if tag, _ := r.next(); tag != 0x02 { // the message's number
		return "", bad
	}
	tag, op := r.next()
	if tag != 0x78 {
		return "", bad
	}
	r = &berReader{op}
	tag, code := r.next()
	if tag != 0x0a || len(code) == 0 || len(code) > 4 {
		return "", bad
	}
	n := 0
	for _, c := range code {
		n = n<<8 | int(c)
	}
	if n == 0 {
		return "", nil
	}
	r.next() // matchedDN
	_, words := r.next()
	if len(words) > 200 {
		words = words[:200]
	}
	return fmt.Sprintf("result %d %q", n, words), nil
}

type berReader struct{ b []byte }

// next is a zero tag when there is nothing more.
func (r *berReader) next() (tag byte, content []byte) {
	t, c, err := readBER((*sliceReader)(&r.b), 0)
	if err != nil {
		return 0, nil
	}
	return t, c
}

type sliceReader []byte

func (s *sliceReader) Read(p []byte) (int, error) {
	if len(*s) == 0 {
		return 0, io.EOF
	}
	n := copy(p, *s)
	*s = (*s)[n:]
	return n, nil
}
