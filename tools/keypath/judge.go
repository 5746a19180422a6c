package keypath

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"fettle/host/format/openpgp"
)

// KeyState is what is known of a key after its own signatures were verified.
type KeyState struct {
	Expires time.Time // zero: never
	// Against is why the key does not count; empty: it does.
	Against string
	names   []liveName
}

// Live tells whether the key counts.
func (s *KeyState) Live() bool { return s.Against == "" }

// liveName is a user id that its owner stands by.
type liveName struct {
	*name
	against string
}

// State verifies what a key says of itself.
func (w *Web) State(k Key) *KeyState {
	if s, ok := w.keys[k]; ok {
		return s
	}
	s := w.state(k)
	w.keys[k] = s
	return s
}

func (w *Web) state(k Key) *KeyState {
	c, err := w.certificate(k)
	if err != nil {
		return &KeyState{Against: err.Error()}
	}
	pub, err := w.signingKey(k, c)
	if err != nil {
		return &KeyState{Against: err.Error()}
	}
	s := &KeyState{}
	newest := w.ownWord(c, pub, s)
	switch by := w.revokedBy(c, pub); {
	case c.Created.After(w.Policy.Now):
		s.Against = "was made in the future, on " + c.Created.UTC().Format(time.DateOnly)
	case by != "":
		s.Against = by
	case newest == nil:
		s.Against = "has no valid signature by itself" + unsupported(c)
	case newest.KeyLifetime > 0:
		s.Expires = c.Created.Add(newest.KeyLifetime)
		if !s.Expires.After(w.Policy.Now) {
			s.Against = "expired on " + s.Expires.UTC().Format(time.DateOnly)
		}
	}
	if s.Live() && c.Short() && !w.Policy.AllowShort {
		s.Against = "is short: " + c.Kind()
	}
	return s
}

// unsupported says so where a key's own signatures use a hash that the library
// does not have.
func unsupported(c *certificate) string {
	own := slices.Clone(c.onKey)
	for _, n := range c.names {
		own = append(own, n.self...)
	}
	for _, x := range own {
		if x.Hash == openpgp.RIPEMD160 {
			return "; RIPEMD-160, which it uses, is not supported"
		}
	}
	return ""
}

// ownWord verifies a key's signatures over itself and its user ids, and
// returns the newest that says how long the key lasts.
func (w *Web) ownWord(c *certificate, pub *packet.PublicKey, s *KeyState) (newest *openpgp.Signature) {
	consider := func(x *openpgp.Signature) {
		if newest == nil || x.Created.After(newest.Created) {
			newest = x
		}
	}
	for _, x := range newestFirst(c.onKey) {
		if x.Type == openpgp.DirectKey && w.sound(x, c) == "" && verify(pub, x, signed(c.body, nil)) == nil {
			consider(&x.Signature)
			break
		}
	}
	for _, n := range c.names {
		live := liveName{name: n, against: "has no valid signature by its owner"}
		for _, x := range newestFirst(n.self) {
			if why := w.sound(x, c); why != "" {
				continue
			}
			if verify(pub, x, signed(c.body, n)) != nil {
				continue
			}
			live.against = ""
			switch {
			case x.Type == openpgp.CertRevocation:
				live.against = "was revoked by its owner on " + x.Created.UTC().Format(time.DateOnly)
			case expired(x, w.Policy.Now):
				live.against = "expired on " + x.Expires().UTC().Format(time.DateOnly)
			default:
				consider(&x.Signature)
			}
			break
		}
		s.names = append(s.names, live)
	}
	return newest
}

// sound tells what speaks against a signature before it is verified: its time.
func (w *Web) sound(x signature, signer *certificate) string {
	switch {
	case x.Created.After(w.Policy.Now):
		return "is from the future (" + x.Created.UTC().Format(time.DateOnly) + "): a clock was wrong, here or there"
	case x.Created.Before(signer.Created):
		return "is older than the key that made it: a clock was wrong"
	}
	return ""
}

func expired(x signature, now time.Time) bool {
	return x.Lifetime > 0 && !x.Expires().After(now)
}

// newestFirst sorts, revocations before what they revoke in the same second.
func newestFirst(in []signature) []signature {
	return slices.SortedStableFunc(slices.Values(in), func(a, b signature) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Type, a.Type))
	})
}

// revokedBy tells who has revoked the key: itself, or a key that it named for
// that in a signature over itself.
func (w *Web) revokedBy(c *certificate, pub *packet.PublicKey) string {
	revokers := sync.OnceValue(func() map[uint64]Key { return w.revokers(c, pub) })
	for _, x := range c.onKey {
		if x.Type != openpgp.KeyRevocation {
			continue
		}
		if verify(pub, x, signed(c.body, nil)) == nil {
			return "was revoked on " + x.Created.UTC().Format(time.DateOnly)
		}
		k, ok := revokers()[x.Issuer]
		if !ok {
			continue
		}
		rc, err := w.certificate(k)
		if err != nil {
			continue
		}
		if rp, err := w.signingKey(k, rc); err == nil && verify(rp, x, signed(c.body, nil)) == nil {
			return fmt.Sprintf("was revoked by %s, which it had named for that, on %s", w.Fingerprint(k), x.Created.UTC().Format(time.DateOnly))
		}
	}
	return ""
}

// maxRevokers bounds how many keys are looked for that may revoke another.
const maxRevokers = 64

// revokers are the keys that a key has named to revoke it, by id.
func (w *Web) revokers(c *certificate, pub *packet.PublicKey) map[uint64]Key {
	named := map[openpgp.Fingerprint]bool{}
	for _, x := range c.onKey {
		if len(x.Revokers) > 0 && len(named) < maxRevokers && x.Type == openpgp.DirectKey && verify(pub, x, signed(c.body, nil)) == nil {
			for _, r := range x.Revokers {
				named[r] = true
			}
		}
	}
	out := map[uint64]Key{}
	for r := range named {
		if k, ok := w.byFingerprint(r); ok {
			out[r.ID()] = k
		}
	}
	return out
}

func (w *Web) signingKey(k Key, c *certificate) (*packet.PublicKey, error) {
	if p, ok := w.signing[k]; ok {
		return p, nil
	}
	p, err := publicKey(c.body)
	if err == nil {
		w.signing[k] = p
	}
	return p, err
}

func (w *Web) byFingerprint(f openpgp.Fingerprint) (Key, bool) {
	for k := range Key(w.Keys) {
		if r := w.record(k); string(r[:r[32]]) == string(f) {
			return k, true
		}
	}
	return 0, false
}
