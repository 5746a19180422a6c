package keypath

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle/host/format/openpgp"
)

// Hop is the signature of one key on another.
type Hop struct {
	From, To Key
	// Of the signature that counts.
	Name    string
	Type    openpgp.SigType
	Hash    openpgp.Hash
	Made    time.Time
	Expires time.Time // zero: never
	// Against is why the hop does not count, the most telling first; empty: it does.
	Against []string
}

// Valid tells whether the hop counts.
func (h *Hop) Valid() bool { return len(h.Against) == 0 }

// lieLimit is how many claims of signatures on one key, or by one, may prove
// false before the others are verified as soon as they are met: then somebody
// forged them. After general ones that prove false, that goes for all.
const (
	lieLimit = 8
	general  = 512
)

// forged tells whether claims of the one key on the other have lost their credit.
func (w *Web) forged(from, to Key) bool {
	return w.lies > general || w.lied[to] > lieLimit || w.lied[from] > lieLimit
}

// Hop verifies one key's signatures on another, and both keys.
func (w *Web) Hop(e Edge, from, to Key) *Hop {
	if h, ok := w.hops[e]; ok {
		return h
	}
	h := w.hop(from, to)
	w.hops[e] = h
	if !h.Valid() {
		w.lied[to]++
		w.lied[from]++
		w.lies++
	}
	return h
}

func (w *Web) hop(from, to Key) *Hop {
	h := &Hop{From: from, To: to}
	for _, side := range []struct {
		key  Key
		name string
	}{{from, "the signer's key"}, {to, "the signed key"}} {
		if s := w.State(side.key); !s.Live() {
			h.Against = append(h.Against, fmt.Sprintf("%s %s %s", side.name, w.Fingerprint(side.key), s.Against))
		}
	}
	w.signatures(h)
	return h
}

// signatures finds the newest that counts over any live user id.
func (w *Web) signatures(h *Hop) {
	signer, err := w.certificate(h.From)
	if err != nil {
		h.Against = append(h.Against, err.Error())
		return
	}
	var best *signature
	var reasons []string
	for _, n := range w.State(h.To).names {
		s, why := w.over(n, signer, h)
		switch {
		case why != "":
			reasons = append(reasons, why)
		case s != nil && (best == nil || s.Created.After(best.Created)):
			best = s
			h.Name, h.Type, h.Hash, h.Made, h.Expires = n.text(), s.Type, s.Hash, s.Created, s.Expires()
		}
	}
	if best == nil {
		if len(reasons) == 0 {
			reasons = []string{"there is no signature over a user id"}
		}
		h.Against = append(h.Against, slices.Compact(reasons)...)
	}
}

// over judges the signer's signatures over one user id: the newest that
// verifies decides, as with GnuPG (g10/trustdb.c, mark_usable_uid_certs).
func (w *Web) over(n liveName, signer *certificate, h *Hop) (*signature, string) {
	made := newestFirst(n.by[signer.Fingerprint.ID()])
	if len(made) == 0 {
		return nil, ""
	}
	where := fmt.Sprintf("the signature over %q ", n.text())
	if n.against != "" {
		return nil, fmt.Sprintf("the user id %q %s", n.text(), n.against)
	}
	to, err := w.certificate(h.To)
	if err != nil {
		return nil, err.Error()
	}
	pub, err := w.signingKey(h.From, signer)
	if err != nil {
		return nil, err.Error()
	}
	why := ""
	genuine := func(s signature) bool { return verify(pub, s, signed(to.body, n.name)) == nil }
	for i, s := range made {
		against := w.sound(s, signer)
		if against == "" {
			if err := w.accepts(s); err != nil {
				against = err.Error()
			} else if !genuine(s) {
				against = "is not by that key: forged or damaged"
			}
		}
		switch {
		case against != "":
			if why == "" {
				why = where + against
			}
		case s.Type == openpgp.CertRevocation &&
			slices.ContainsFunc(made[i+1:], func(o signature) bool { return o.Irrevocable && o.Type.Certifies() && genuine(o) }):
		case s.Type == openpgp.CertRevocation:
			return nil, where + "was revoked by its signer on " + s.Created.UTC().Format(time.DateOnly)
		case expired(s, w.Policy.Now):
			return nil, where + "expired on " + s.Expires().UTC().Format(time.DateOnly)
		default:
			return &s, ""
		}
	}
	return nil, why
}

// accepts is the policy on hashes. A revocation counts whatever its hash.
func (w *Web) accepts(s signature) error {
	switch {
	case s.Hash == openpgp.MD5:
		return errors.New("uses MD5")
	case s.Version < 4:
		return errors.New("is of version 3, which is not supported")
	case s.Hash.Weak() && !w.Policy.AllowSHA1 && s.Type.Certifies():
		return fmt.Errorf("uses %s (--allow sha1 takes it)", s.Hash)
	}
	return nil
}
