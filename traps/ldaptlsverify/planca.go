package ldaptlsverify

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/host/format/ldapconf"
	"fettle/internal/sorted"
)

// systemBundles hold the CAs that the whole system trusts. fettle never adds
// one there: that would be trusted for everything.
var systemBundles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/tls/cert.pem",
	"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"}

// trust sees to it that every server of the client verifies.
func (p *planner) trust(ctx context.Context, c *ldapconf.Client) error {
	s, err := trusted(ctx, p.h, c, p.lib)
	if err != nil {
		return err
	}
	var used, lacking []*x509.Certificate // anchors of servers that verify; certificates to trust besides
	var need []asked
	for _, sv := range c.Servers {
		q, ok := question(c, sv)
		if !ok {
			continue
		}
		a := p.answers[q]
		if a.err != nil || len(a.peer.Chain) == 0 {
			if !c.Login {
				p.notes = append(p.notes, fmt.Sprintf("%s could not be asked; whether its certificate verifies is not known.", sv.URI()))
			}
			continue // simulate refuses it where logins depend on it
		}
		chain, err := parseChain(a.peer.Chain)
		if err != nil {
			return err
		}
		v := judge(chain, s.Trust, localName(p.h, sv.Host, certNames(chain[0])), c.ReqSAN.Value, p.h.Now(), p.lib)
		if v.Trusted && s.Wrong == "" {
			used = append(used, v.Path[len(v.Path)-1])
		} else {
			need = append(need, a)
		}
		for _, pr := range v.Problems {
			switch pr.Reason {
			case SelfSigned, UnknownIssuer, BadSignature:
			default:
				return remedy.Refuse("%s: %s. Fix that on the server%s", sv.URI(), pr.Text, p.orNever())
			}
		}
	}
	if len(need) == 0 && s.Wrong == "" {
		return nil
	}
	if file, ok := p.onHost(ctx, c, need); ok {
		return p.set(ctx, p.c, keysOf[c.Program].cacert, file, c.CACert)
	}
	if len(need) == 0 {
		return remedy.Refuse(
			"%s, and fettle finds no other file of CA certificates on this host; give one with --with ca=FILE once its servers can be asked",
			s.Wrong,
		)
	}
	for _, a := range need {
		top, err := p.choose(ctx, a)
		if err != nil {
			return err
		}
		if !contains(lacking, top) && !contains(used, top) {
			lacking = append(lacking, top)
		}
	}
	return p.install(ctx, c, s, used, lacking)
}

func (p *planner) orNever() string {
	if !strings.Contains(p.f.Subject, " ") {
		return ""
	}
	return "; --with verify=never makes the client accept any certificate, and is open to interception"
}

// onHost finds a file of CA certificates that root already keeps on this host,
// with which all servers verify.
func (p *planner) onHost(ctx context.Context, c *ldapconf.Client, need []asked) (string, bool) {
	if p.f.Chosen("ca") != "" {
		return "", false
	}
	files := elsewhere(ctx, p.h, p.cs)
	names := slices.Sorted(maps.Keys(files))
	sorted.By(names, func(a, b string) int { // the system's first
		return boolInt(slices.Contains(systemBundles, b)) - boolInt(slices.Contains(systemBundles, a))
	})
	for _, f := range names {
		if f == c.CACert.Value || len(files[f]) == 0 || allExpired(files[f], p.h.Now()) || strings.HasPrefix(f, "/home/") {
			continue
		}
		ok := len(need) > 0 || slices.Contains(systemBundles, f)
		for _, sv := range c.Servers {
			q, asks := question(c, sv)
			a := p.answers[q]
			if !asks || a.err != nil || len(a.peer.Chain) == 0 {
				continue
			}
			chain, err := parseChain(a.peer.Chain)
			if err != nil {
				return "", false
			}
			v := judge(chain, Trust{Certs: files[f], From: f}, localName(p.h, sv.Host, certNames(chain[0])), c.ReqSAN.Value, p.h.Now(), p.lib)
			if ok = ok && v.Trusted; ok {
				top := v.Path[len(v.Path)-1]
				p.notes = append(
					p.notes,
					fmt.Sprintf("%s is trusted through %s, SHA-256 %s, which %s already contains.", sv.URI(), subject(top), fingerprint(top), f),
				)
			}
		}
		if ok {
			return f, true
		}
	}
	return "", false
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// choose finds the certificate to trust for a server: in the file that the
// admin gave, or in the chain that came over the network, if the admin knows
// its fingerprint from elsewhere.
func (p *planner) choose(ctx context.Context, a asked) (*x509.Certificate, error) {
	chain, err := parseChain(a.peer.Chain)
	if err != nil {
		return nil, err
	}
	if file := p.f.Chosen("ca"); file != "" {
		if !path.IsAbs(file) {
			return nil, remedy.Refuse("ca=%s: give an absolute path", file)
		}
		b, err := p.h.ReadFile(ctx, file)
		if err != nil {
			return nil, remedy.Refuse("ca=%s: %v", file, err)
		}
		certs := parsePEM(b)
		if len(certs) == 0 {
			return nil, remedy.Refuse("ca=%s: no certificate in PEM form is in it", file)
		}
		v := Verdict{}
		if v.build(chain, Trust{Certs: certs, From: file}, p.lib); v.Trusted {
			return v.Path[len(v.Path)-1], nil
		}
		return nil, remedy.Refuse("ca=%s does not verify the server at %s: %s", file, a.peer.Address, v.Text())
	}
	top := sentTop(chain)
	if top == nil {
		return nil, remedy.Refuse(
			"the server at %s does not send the certificate of its CA, %s. Get it from the CA's operator, and give it with --with ca=FILE",
			a.peer.Address,
			issuerName(chain[len(chain)-1]),
		)
	}
	given := p.f.Chosen("fingerprint")
	switch {
	case given == "":
		return nil, remedy.Refuse(
			"the server at %s sends what would have to be trusted: %s, SHA-256 %s. The network cannot tell whether that is the right one: "+
				"ask its operator for the fingerprint, and if it matches, give it with --with fingerprint=SHA256; or give the certificate with "+
				"--with ca=FILE",
			a.peer.Address,
			subject(top),
			fingerprint(top),
		)
	case plainHex(given) != plainHex(fingerprint(top)):
		return nil, remedy.Refuse(
			"fingerprint=%s is not that of %s, which the server at %s sends (SHA-256 %s): somebody may be intercepting the connection",
			given,
			subject(top),
			a.peer.Address,
			fingerprint(top),
		)
	}
	return top, nil
}

// sentTop is the last link of the chain, where that is signed by itself.
func sentTop(chain []*x509.Certificate) *x509.Certificate {
	v := Verdict{}
	v.build(chain, Trust{}, GnuTLS)
	if top := v.Path[len(v.Path)-1]; selfIssued(top) && checkSignature(top, top) == nil {
		return top
	}
	return nil
}

func plainHex(s string) string {
	s = strings.ToLower(s)
	for _, lead := range []string{"sha256:", "sha-256:", "sha256=", "sha256 fingerprint="} {
		s = strings.TrimPrefix(s, lead)
	}
	return strings.NewReplacer(":", "", " ", "", "-", "").Replace(s)
}

// install writes the certificates to a file of the client's own.
func (p *planner) install(ctx context.Context, c *ldapconf.Client, s store, used, lacking []*x509.Certificate) error {
	name := c.CACert.Value
	if !path.IsAbs(name) || slices.Contains(systemBundles, name) || strings.HasPrefix(name, "/home/") {
		name = "/etc/ldap/ldap-ca.pem"
		if ok, _ := p.h.Exists(ctx, "/etc/openldap"); ok {
			name = "/etc/openldap/certs/ldap-ca.pem"
		}
	}
	f, err := p.file(ctx, name)
	if err != nil {
		return err
	}
	have := parsePEM(f.now)
	for _, crt := range append(slices.Clone(lacking), used...) {
		if contains(have, crt) {
			continue
		}
		have = append(have, crt)
		var b bytes.Buffer
		if len(f.now) > 0 && !bytes.HasSuffix(f.now, []byte("\n")) {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "# %s\n# SHA-256 %s\n", subject(crt), fingerprint(crt))
		pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: crt.Raw})
		f.now = append(f.now, b.Bytes()...)
		p.notes = append(
			p.notes,
			fmt.Sprintf(
				"Trusted from now on, for LDAP: %s, until %s, SHA-256 %s",
				subject(crt),
				crt.NotAfter.UTC().Format("2006-01-02"),
				fingerprint(crt),
			),
		)
	}
	if c.CACert.Value == name && slices.Contains(p.c.Files, c.CACert.File) {
		return nil
	}
	if slices.Contains(systemBundles, c.CACert.Value) && c.Program == ldapconf.OpenLDAP {
		p.notes = append(p.notes, "So far all CAs of the system were trusted for LDAP ("+c.CACert.Value+"). From now on "+name+
			" alone is: if programs here talk to other LDAP servers, add their CA to it.")
	}
	return p.set(ctx, p.c, keysOf[c.Program].cacert, name, c.CACert)
}
