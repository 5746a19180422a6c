// Package join admits hosts to a hub: with a token that an admin pastes, or by
// the ssh host key that the hub's known_hosts names.
package join

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/jwt/v2"
)

// Invite is what a host needs to join, in one line.
type Invite struct {
	URLs  []string `json:"u"`           // of NATS: tls://HOST:PORT
	Pin   string   `json:"p,omitempty"` // of the hub's own authority: SHA-256, which the server shows
	CA    []byte   `json:"c,omitempty"` // another authority, DER
	Token string   `json:"t,omitempty"` // empty: by ssh host key
	JWT   string   `json:"-"`           // lets ask to be admitted, and nothing else
}

const invitePrefix = "fettle1:"

// String is the line.
func (i Invite) String() string {
	b, err := json.Marshal(i)
	if err != nil {
		panic(err) // strings alone
	}
	return invitePrefix + base64.RawURLEncoding.EncodeToString(b) + ":" + i.JWT
}

// ParseInvite reads the line.
func ParseInvite(s string) (Invite, error) {
	bad := func(why string) (Invite, error) {
		return Invite{}, fmt.Errorf("this is no invitation of fettle-hub invite: %s", why)
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), invitePrefix)
	head, token, more := strings.Cut(rest, ":")
	if !ok || !more || len(s) > 16<<10 {
		return bad("it has the form " + invitePrefix + "…:…; was a part of the line lost?")
	}
	b, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return bad("its first part is damaged")
	}
	i := Invite{}
	if err := json.Unmarshal(b, &i); err != nil {
		return bad("its first part is damaged")
	}
	if _, err := jwt.DecodeUserClaims(token); err != nil {
		return bad("its last part is damaged")
	}
	i.JWT = token
	if len(i.URLs) == 0 {
		return bad("it names no server")
	}
	for _, u := range i.URLs {
		if p, err := url.Parse(u); err != nil || p.Host == "" || p.Scheme != "tls" && p.Scheme != "nats" {
			return bad(fmt.Sprintf("%.60q is no address of NATS", u))
		}
	}
	return i, nil
}

// NewToken draws a token.
func NewToken() string { return randomID(26) }

// NewAgent draws a name for an agent.
func NewAgent() string { return randomID(12) }

func randomID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it does not fail: crypto/rand
	return strings.ToLower(base32.StdEncoding.EncodeToString(b))[:n]
}

// Hash is the form in which the database keeps a token.
func Hash(token string) string {
	h := sha256.Sum256([]byte("fettle join token " + token))
	return hex.EncodeToString(h[:])
}

// Pin is that of an authority's certificate, DER.
func Pin(der []byte) string {
	h := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(h[:])
}

// Request is a host that wants to join. The first one by ssh host key has no
// signature yet, and is answered by a challenge.
type Request struct {
	Version   int    `json:"version"`
	Host      string `json:"host"`
	Key       string `json:"key"` // the public NKey that it made
	Token     string `json:"token,omitempty"`
	HostKey   []byte `json:"host_key,omitempty"`  // the public ssh host key
	Challenge string `json:"challenge,omitempty"` // as the hub gave it
	Signature []byte `json:"signature,omitempty"` // of that and the NKey, by the ssh host key
}

// Reply is the hub's answer.
type Reply struct {
	Error     string   `json:"error,omitempty"`
	Challenge string   `json:"challenge,omitempty"`
	Agent     string   `json:"agent,omitempty"`
	JWT       string   `json:"jwt,omitempty"`
	URLs      []string `json:"urls,omitempty"`
}

// Version is that of requests and replies.
const Version = 1

var errReply = errors.New("the hub's answer is damaged")
