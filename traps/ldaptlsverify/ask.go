package ldaptlsverify

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/ldapconf"
)

// maxPeers bounds how many servers are asked, asking how many concurrently.
const (
	maxPeers = 32
	asking   = 16
)

// question is what a server is asked for a client; false: its connection has
// no certificates. Programs of the OpenLDAP library use StartTLS on plain
// ldap:// when told to (-ZZ).
func question(c *ldapconf.Client, s ldapconf.Server) (host.PeerQuestion, bool) {
	switch {
	case s.Mode == ldapconf.Implicit:
		return host.PeerQuestion{URI: s.URI()}, true
	case s.Mode == ldapconf.StartTLS, s.Mode == ldapconf.Plain && c.Program == ldapconf.OpenLDAP:
		return host.PeerQuestion{URI: s.URI(), StartTLS: true}, true
	}
	return host.PeerQuestion{}, false
}

// asked is a server's answer, or why there is none.
type asked struct {
	peer host.Peer
	err  error
}

// askAll asks every server once, and judges it for each client that uses it.
func askAll(ctx context.Context, h *host.Host, r *trap.Report, cs []*ldapconf.Client, lib Library, why trap.Evidence, libErr error) {
	answers := answersOf(ctx, h, cs)
	known := slices.Concat(mapsValues(elsewhere(ctx, h, cs))...)
	for _, c := range cs {
		if c.Kerberos != "" && len(c.Servers) == 0 {
			continue
		}
		if c.Discovers.Value != "" {
			r.Unknown(
				c.Name+" _srv_",
				fmt.Errorf("its servers are found through DNS, which fettle does not follow: give a server's name, or ask it with openssl s_client"),
			)
		}
		if len(c.Servers) == 0 {
			continue
		}
		ck := checker{h, r, c, lib, why, libErr}
		s, err := store{}, libErr
		if err == nil {
			s, err = trusted(ctx, h, c, lib)
		}
		s.Known = known
		for _, sv := range c.Servers {
			q, ok := question(c, sv)
			if !ok {
				continue
			}
			subject := c.Name + " " + sv.URI()
			a, ok := answers[q]
			switch {
			case !ok:
				r.Unknown(subject, fmt.Errorf("more than %d servers are configured", maxPeers))
			case a.err != nil:
				r.Unknown(subject, a.err)
			case a.peer.Refused != "":
				ck.refused(subject, sv, a.peer)
			case err != nil:
				r.Unknown(subject, err)
			default:
				ck.server(subject, sv, a.peer, s)
			}
		}
	}
}

func mapsValues(m map[string][]*x509.Certificate) (out [][]*x509.Certificate) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func answersOf(ctx context.Context, h *host.Host, cs []*ldapconf.Client) map[host.PeerQuestion]asked {
	out := map[host.PeerQuestion]asked{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, asking)
	begun := map[host.PeerQuestion]bool{}
	for _, c := range cs {
		for _, s := range c.Servers {
			q, ok := question(c, s)
			if !ok || begun[q] || len(begun) >= maxPeers {
				continue
			}
			begun[q] = true
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				p, err := h.Peer(ctx, q)
				mu.Lock()
				defer mu.Unlock()
				out[q] = asked{p, err}
			})
		}
	}
	wg.Wait()
	return out
}

func (ck *checker) refused(subject string, sv ldapconf.Server, p host.Peer) {
	ev := []trap.Evidence{settingEv(sv.From), trap.Ev(p.Address, "StartTLS: %s", p.Refused)}
	if ck.c.Program == ldapconf.OpenLDAP {
		ck.r.Found(trap.Finding{Subject: subject, Severity: trap.Notice, Evidence: ev,
			Summary: "the server does not support StartTLS: everything is sent in the clear"})
		return
	}
	ck.r.Found(trap.Finding{Subject: subject, Severity: trap.Critical, Evidence: ev,
		Summary: "the server refuses StartTLS, and its client insists on it: the connection fails"})
}

// server judges one server's certificates as the client would.
func (ck *checker) server(subject string, sv ldapconf.Server, p host.Peer, s store) {
	c, r := ck.c, ck.r
	if len(p.Chain) == 0 {
		why := p.Failed
		if why == "" {
			why = "the server presented no certificate"
		}
		r.Unknown(subject, fmt.Errorf("the TLS connection failed: %s", why))
		return
	}
	chain, err := parseChain(p.Chain)
	if err != nil {
		r.Unknown(subject, err)
		return
	}
	name := localName(ck.h, sv.Host, certNames(chain[0]))
	v := judge(chain, s.Trust, name, c.ReqSAN.Value, ck.h.Now(), ck.lib)
	ev := append([]trap.Evidence{settingEv(sv.From), caEv(c), ck.why}, showChain(p, chain)...)
	switch {
	case len(v.Problems) == 0 && p.Failed != "":
		r.Unknown(subject, fmt.Errorf("its certificate verifies, but the TLS handshake failed: %s", p.Failed), ev...)
	case len(v.Problems) == 0:
		r.Clear(subject, "its certificate verifies: "+subjectOf(v), ev...)
	case !c.Verifies():
		r.NotApplicable(subject, "its client accepts any certificate; this one would be refused: "+v.Text(), ev...)
	default:
		sev := trap.Critical
		if !c.Login || sv.Loopback() {
			sev = trap.Warning
		}
		r.Found(
			trap.Finding{
				Subject:  subject,
				Severity: sev,
				Evidence: ev,
				Summary:  "the server's certificate is refused: " + v.Text(),
				Detail:   hints(v, chain),
			},
		)
	}
}

func subjectOf(v Verdict) string { return "trusted through " + subject(v.Path[len(v.Path)-1]) }

// hints say more on the first problem.
func hints(v Verdict, chain []*x509.Certificate) trap.Prose {
	leaf := chain[0]
	switch v.Problems[0].Reason {
	case UnknownIssuer:
		if len(chain) == 1 {
			s := fmt.Sprintf(
				"The server sends one certificate only. If %s is an intermediate CA, the server has to send its certificate too.",
				issuerName(leaf),
			)
			if len(leaf.IssuingCertificateURL) > 0 {
				s += " According to the server's certificate, that of the issuer is at " + shortName(leaf.IssuingCertificateURL[0]) + "."
			}
			return trap.Lines(s)
		}
	case SelfSigned:
		return "Clients trust it if their CA file contains it; first compare its fingerprint with the one from its owner."
	case Expired, NotYetValid:
		return "It has to be renewed on the server; if the clock of either side is wrong, that comes first."
	case WrongName:
		return "The client must use a name that is in the certificate, or the server a certificate that contains the name used."
	case WeakSignature, ShortKey:
		return "It must be issued again with SHA-256 and a longer key; until then, newer versions of GnuTLS or OpenSSL refuse what older " +
			"ones accepted."
	case Incomplete:
		return "Its certificate belongs in the server's file (slapd: TLSCertificateFile), after the server's own."
	}
	return ""
}

// showChain is the chain as sent, one piece of evidence a certificate.
func showChain(p host.Peer, chain []*x509.Certificate) []trap.Evidence {
	ev := []trap.Evidence{trap.Ev(p.Address, "%s, %d certificate(s) sent", orUnknown(p.Version), len(chain))}
	for i, c := range chain {
		s := fmt.Sprintf(
			"%s; issued by %s; until %s; SHA-256 %s",
			subject(c),
			issuerName(c),
			c.NotAfter.UTC().Format(time.DateOnly),
			fingerprint(c),
		)
		if i == 0 {
			s += "; for " + strings.Join(certNames(c), ", ")
		}
		ev = append(ev, trap.Ev(fmt.Sprintf("certificate %d", i+1), "%s", s))
	}
	return ev
}

func orUnknown(s string) string {
	if s == "" {
		return "TLS"
	}
	return s
}
