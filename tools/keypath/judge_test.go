package keypath

import (
	"bytes"
	"context"
	"crypto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	keys "fettle/host/format/openpgp"
)

var (
	made = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	now  = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
)

// at is a configuration with a clock.
func at(t time.Time) *packet.Config {
	return &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return t }}
}

// person makes a key.
func person(t testing.TB, name string, c *packet.Config) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity(name, "", name+"@example.org", c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func idOf(name string) string { return name + " <" + name + "@example.org>" }

func sign(t testing.TB, signer, signee *openpgp.Entity, name string, c *packet.Config) {
	t.Helper()
	if err := signee.SignIdentity(idOf(name), signer, c); err != nil {
		t.Fatal(err)
	}
}

func bytesOf(t testing.TB, e *openpgp.Entity) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := e.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// webOf indexes what a keyring of these bytes would hold.
func webOf(t testing.TB, p Policy, parts ...[]byte) *Web {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ring.gpg")
	if err := os.WriteFile(file, bytes.Join(parts, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := webOfFile(file, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func webOfFile(file string, p Policy) (*Web, error) {
	src, err := Sources(context.Background(), []string{file})
	if err != nil {
		return nil, err
	}
	x, err := Build(context.Background(), src, func(int64, int64) {})
	if err != nil {
		return nil, err
	}
	return NewWeb(x, p), nil
}

func TestHops(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, alice, bob *openpgp.Entity)
		ring    func(alice, bob []byte) []byte // nil: one after the other
		policy  Policy
		against string // "": there is a path
	}{
		{name: "plain"},
		{name: "signer expired", policy: Policy{Now: now}, against: "expired on 2021-01-01",
			prepare: func(t *testing.T, alice, _ *openpgp.Entity) { lifetime(t, alice, "alice", 366*24*3600) }},
		{name: "signer revoked", against: "was revoked on 2022-01-01",
			prepare: func(t *testing.T, alice, _ *openpgp.Entity) {
				if err := alice.RevokeKey(packet.KeyCompromised, "", at(made.AddDate(2, 0, 0))); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "before the key was made", policy: Policy{Now: made.AddDate(-1, 0, 0)}, against: "future"},
		{name: "before it was signed", policy: Policy{Now: made.AddDate(0, 6, 0)}, against: "future"},
		{name: "a signature made for another key of that name", against: "forged or damaged",
			prepare: func(t *testing.T, alice, bob *openpgp.Entity) {
				other := person(t, "bob", at(made))
				sign(t, alice, other, "bob", at(made.AddDate(1, 0, 0)))
				id := bob.Identities[idOf("bob")]
				id.Signatures = append(id.Signatures[:1:1], other.Identities[idOf("bob")].Signatures...)
			}},
		{name: "a user id that its owner has revoked", against: "was revoked by its owner on 2022-01-01",
			prepare: func(t *testing.T, _, bob *openpgp.Entity) { takeBack(t, bob, bob, "bob", made.AddDate(2, 0, 0)) }},
		{name: "a signature that its signer has revoked", against: "was revoked by its signer on 2022-01-01",
			prepare: func(t *testing.T, alice, bob *openpgp.Entity) { takeBack(t, alice, bob, "bob", made.AddDate(2, 0, 0)) }},
		{name: "revoked, and signed again",
			prepare: func(t *testing.T, alice, bob *openpgp.Entity) {
				takeBack(t, alice, bob, "bob", made.AddDate(2, 0, 0))
				sign(t, alice, bob, "bob", at(made.AddDate(2, 6, 0)))
			}},
		{name: "rubbish between the keys",
			ring: func(alice, bob []byte) []byte {
				lie := []byte{0xc2, 0xff, 0x7f, 0xff, 0xff, 0xff, 4} // a signature of 2 GiB
				return bytes.Join([][]byte{alice, []byte("rubbish\x99\xff\xff"), lie, bob}, nil)
			}},
		{name: "each key twice", ring: func(alice, bob []byte) []byte { return bytes.Join([][]byte{bob, alice, bob, alice}, nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			alice, bob := person(t, "alice", at(made)), person(t, "bob", at(made))
			sign(t, alice, bob, "bob", at(made.AddDate(1, 0, 0)))
			if c.prepare != nil {
				c.prepare(t, alice, bob)
			}
			if c.policy.Now.IsZero() {
				c.policy.Now = now
			}
			ring := append(bytesOf(t, alice), bytesOf(t, bob)...)
			if c.ring != nil {
				ring = c.ring(bytesOf(t, alice), bytesOf(t, bob))
			}
			w := webOf(t, c.policy, ring)
			q := Query{Roots: []Root{{Key: w.Find("alice@example.org")[0]}}, To: w.Find("bob")[0], MaxLength: 3}
			p, err := w.Shortest(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			if (p != nil) != (c.against == "") {
				t.Fatalf("path %v, want against %q", p, c.against)
			}
			fresh := NewWeb(w.Index, c.policy) // of which nothing is verified
			t.Cleanup(fresh.Close)
			for _, w := range []*Web{w, fresh} {
				why, err := w.WhyNot(context.Background(), q)
				if err != nil || len(why) != 1 {
					t.Fatalf("why not: %v %v", why, err)
				}
				if got := strings.Join(why[0].Against, "; "); c.against == "" && got != "" || !strings.Contains(got, c.against) {
					t.Errorf("against it: %q, want %q", got, c.against)
				}
			}
		})
	}
}

// takeBack revokes what signer said of a user id (RFC 9580, section 5.2.1.12).
func takeBack(t testing.TB, signer, signee *openpgp.Entity, name string, when time.Time) {
	t.Helper()
	s := &packet.Signature{
		Version:      signer.PrimaryKey.Version,
		SigType:      packet.SigTypeCertificationRevocation,
		PubKeyAlgo:   signer.PrimaryKey.PubKeyAlgo,
		Hash:         crypto.SHA256,
		CreationTime: when,
		IssuerKeyId:  &signer.PrimaryKey.KeyId,
	}
	if err := s.SignUserId(idOf(name), signee.PrimaryKey, signer.PrivateKey, at(when)); err != nil {
		t.Fatal(err)
	}
	id := signee.Identities[idOf(name)]
	id.Signatures = append(id.Signatures, s)
}

// TestHashes: what speaks against a signature before it is verified.
func TestHashes(t *testing.T) {
	s := func(h keys.Hash, version int, kind keys.SigType) signature {
		var s signature
		s.Hash, s.Version, s.Type = h, version, kind
		return s
	}
	for _, c := range []struct {
		policy Policy
		s      signature
		want   string
	}{
		{Policy{AllowSHA1: true}, s(keys.MD5, 4, keys.SigType(0x10)), "uses MD5"},
		{Policy{}, s(keys.SHA1, 4, keys.SigType(0x10)), "uses SHA-1 (--allow sha1 takes it)"},
		{Policy{AllowSHA1: true}, s(keys.SHA1, 4, keys.SigType(0x10)), ""},
		{Policy{}, s(keys.SHA1, 4, keys.CertRevocation), ""}, // a revocation counts whatever its hash
		{Policy{}, s(keys.Hash(8), 3, keys.SigType(0x10)), "version 3"},
		{Policy{}, s(keys.Hash(8), 4, keys.SigType(0x10)), ""},
	} {
		err := (&Web{Policy: c.policy}).accepts(c.s)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s.Signature, err, c.want)
		}
	}
}

// lifetime gives a key an end, signed by itself.
func lifetime(t testing.TB, e *openpgp.Entity, name string, seconds uint32) {
	t.Helper()
	id := e.Identities[idOf(name)]
	id.SelfSignature.KeyLifetimeSecs = &seconds
	if err := id.SelfSignature.SignUserId(id.UserId.Id, e.PrimaryKey, e.PrivateKey, at(made)); err != nil {
		t.Fatal(err)
	}
}
