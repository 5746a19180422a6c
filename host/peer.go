package host

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// PeerQuestion names an LDAP server whose certificate is asked for.
type PeerQuestion struct {
	// URI is ldap://HOST:PORT or ldaps://HOST:PORT, the port written out.
	URI string
	// StartTLS: plain LDAP first, and the StartTLS operation (RFC 4511, section 4.14).
	StartTLS bool
}

// Peer is what a server answered. A server that could not be reached, or that
// stalled, is an error instead.
type Peer struct {
	Address string `json:"address"`           // that answered, with its port
	Refused string `json:"refused,omitempty"` // what it said to StartTLS instead of yes
	Version string `json:"version,omitempty"` // "TLS 1.3"
	// Chain are the certificates as sent, in DER, the server's own first.
	Chain [][]byte `json:"chain,omitempty"`
	// Failed says why there was no TLS connection in the end. Nothing is
	// verified here: a bad certificate is no reason.
	Failed string `json:"failed,omitempty"`
}

// tablePeer begins the name of the table that holds a Peer.
const tablePeer = "peer "

// Table is the question as a Source is asked it.
func (q PeerQuestion) Table() Table {
	if q.StartTLS {
		return Table(tablePeer + "starttls " + q.URI)
	}
	return Table(tablePeer + "tls " + q.URI)
}

// Peer is the reverse of PeerQuestion.Table.
func (t Table) Peer() (PeerQuestion, bool) {
	rest, ok := strings.CutPrefix(string(t), tablePeer)
	how, uri, both := strings.Cut(rest, " ")
	if !ok || !both || how != "tls" && how != "starttls" || len(uri) > 1000 {
		return PeerQuestion{}, false
	}
	return PeerQuestion{URI: uri, StartTLS: how == "starttls"}, true
}

// Talks reports whether reading the table means to talk to another host. Who
// answers for checks refuses that where nobody asked for it.
func (t Table) Talks() bool {
	return slices.ContainsFunc(
		[]string{tablePeer, tableGet, tableAddresses, tableServices},
		func(p string) bool { return strings.HasPrefix(string(t), p) },
	)
}

// Peer asks an LDAP server for its certificates. Checks call it only where
// trap.MayTalk says so. Not collected: a capture that was made without it.
func (h *Host) Peer(ctx context.Context, q PeerQuestion) (Peer, error) {
	b, err := remember(ctx, &h.cache, "table:"+string(q.Table()), func() ([]byte, error) {
		b, err := h.src.Table(ctx, q.Table())
		return b, wrap("asking", q.URI, err)
	})
	var p Peer
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	return p, err
}
