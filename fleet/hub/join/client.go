package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/ssh"

	"fettle/fleet/hub/message"
	"fettle/internal/folded"
)

// Admitted is what a host got by joining.
type Admitted struct {
	Agent string
	URLs  []string
	CA    []byte // PEM; empty: the system's authorities
	Creds []byte // as nats.UserCredentials reads them
}

// As joins a hub by an invitation, as a host; by a token if that has one, else
// by an ssh host key.
func As(ctx context.Context, i Invite, host string, hostKey ssh.Signer) (*Admitted, error) {
	user, key, seed := userKey()
	defer user.Wipe()
	trust := &trust{invite: i}
	nc, err := nats.Connect(
		strings.Join(i.URLs, ","),
		nats.UserJWT(func() (string, error) { return i.JWT, nil }, func([]byte) ([]byte, error) { return nil, nil }),
		nats.CustomInboxPrefix(
			message.JoinInbox,
		),
		nats.Name("fettle-agent join"),
		trust.option(),
		nats.Timeout(20*time.Second),
		nats.NoReconnect(),
	)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return nil, errors.New("the hub does not admit this invitation: it expired, or is of another hub")
	case err != nil:
		return nil, fmt.Errorf("connecting to %s: %s", strings.Join(i.URLs, ", "), folded.Line(err.Error()))
	}
	defer nc.Close()
	r := Request{Version: Version, Host: host, Key: key, Token: i.Token}
	if i.Token == "" {
		if hostKey == nil {
			return nil, errors.New("this invitation is for hosts with an ssh host key, and there is none to be read")
		}
		r.HostKey = hostKey.PublicKey().Marshal()
	}
	reply, err := ask(ctx, nc, r)
	if err == nil && reply.Challenge != "" && hostKey != nil {
		r.Challenge = reply.Challenge
		if r.Signature, err = Sign(hostKey, r.Challenge, key); err == nil {
			reply, err = ask(ctx, nc, r)
		}
	}
	if err != nil {
		return nil, err
	}
	if reply.JWT == "" || !message.IsID(reply.Agent) {
		return nil, errReply
	}
	urls := reply.URLs
	if len(urls) == 0 {
		urls = i.URLs
	}
	return &Admitted{reply.Agent, urls, trust.ca, credentials(reply.JWT, seed)}, nil
}

// userKey draws a key for NATS: the pair, its public half and its seed.
func userKey() (pair nkeys.KeyPair, public string, seed []byte) {
	pair, err := nkeys.CreateUser()
	if err == nil {
		public, err = pair.PublicKey()
	}
	if err == nil {
		seed, err = pair.Seed()
	}
	if err != nil {
		panic(err) // ed25519.GenerateKey does not fail, and the rest is written from its key
	}
	return pair, public, seed
}

// credentials is the form of NATS's .creds files.
func credentials(token string, seed []byte) []byte {
	return fmt.Appendf(
		nil,
		"-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER "+
			"JWT------\n\n-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n",
		token,
		seed,
	)
}

const (
	asks    = 8
	askEach = 5 * time.Second
)

func ask(ctx context.Context, nc *nats.Conn, r Request) (*Reply, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	// A hub that is flooded may drop a request, or answer late: one inbox hears the answer
	// to any of them, as the same key is admitted once.
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	var m *nats.Msg
	for range asks {
		if err = nc.PublishRequest(message.Join, inbox, b); err != nil {
			break
		}
		once, cancel := context.WithTimeout(ctx, askEach)
		m, err = sub.NextMsgWithContext(once)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			break
		}
	}
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
		return nil, errors.New("no hub answers there: is fettle-hub serve running?")
	case err != nil:
		return nil, err
	}
	var reply Reply
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		return nil, errReply
	}
	if reply.Error != "" {
		return nil, fmt.Errorf("the hub says: %s", folded.Line(reply.Error))
	}
	return &reply, nil
}

// trust says whom a host believes that joins.
type trust struct {
	invite Invite
	ca     []byte // PEM, once known
}

func (t *trust) option() nats.Option {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case t.invite.Pin != "":
		// What the pin says is verified below, with all else that is by default.
		c.InsecureSkipVerify = true
		c.VerifyConnection = t.pinned
	case t.invite.CA != nil:
		t.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: t.invite.CA})
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM(t.ca)
	case strings.HasPrefix(t.invite.URLs[0], "nats://"):
		return func(*nats.Options) error { return nil }
	}
	return nats.Secure(c)
}

// pinned verifies a connection by the authority that the pin names, which the
// server shows beside its own certificate.
func (t *trust) pinned(s tls.ConnectionState) error {
	for _, c := range s.PeerCertificates {
		if Pin(c.Raw) != t.invite.Pin {
			continue
		}
		roots := x509.NewCertPool()
		roots.AddCert(c)
		if _, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: s.ServerName}); err != nil {
			return err
		}
		if s.ServerName == "" {
			if err := t.atAddress(s.PeerCertificates[0]); err != nil {
				return err
			}
		}
		t.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
		return nil
	}
	return errors.New("the server is not the hub of this invitation: its authority is another")
}

// atAddress wants a certificate to be for an address of the invitation: crypto/tls does not
// say which one it connected to, as it sends names alone (RFC 6066, 3).
func (t *trust) atAddress(leaf *x509.Certificate) error {
	err := errors.New("the server has no name, and the invitation no address")
	for _, text := range t.invite.URLs {
		u, _ := url.Parse(text) // nats.Connect has read it
		host := u.Hostname()
		if _, bad := netip.ParseAddr(host); bad != nil {
			continue // by name crypto/tls says which
		}
		if err = leaf.VerifyHostname(host); err == nil {
			return nil
		}
	}
	return err
}
