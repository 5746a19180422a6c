package keypath

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	pgp "fettle/host/format/openpgp"
	"fettle/internal/means"
)

// forgery is a signature packet that claims to be by issuer and is not.
func forgery(issuer uint64, created uint32) []byte {
	hashed := binary.BigEndian.AppendUint32([]byte{5, 2}, created)
	hashed = binary.BigEndian.AppendUint64(append(hashed, 9, 16), issuer)
	body := []byte{4, 0x13, 22, 8}
	body = binary.BigEndian.AppendUint16(body, uint16(len(hashed)))
	body = append(body, hashed...)
	body = append(body, 0, 0, 0xab, 0xcd, 0, 8, 0xff, 0, 8, 0xff)
	return append([]byte{0xc2, byte(len(body))}, body...)
}

// A key under a flood of signatures, as in 2019: the honest path through it is
// found, in bounded memory.
func TestPoisonedKey(t *testing.T) {
	alice, bob, carol := person(t, "alice", at(made)), person(t, "bob", at(made)), person(t, "carol", at(made))
	sign(t, alice, bob, "bob", at(made.AddDate(1, 0, 0)))
	sign(t, bob, carol, "carol", at(made.AddDate(1, 0, 0)))
	flood := new(bytes.Buffer)
	carolID := pgp.Fingerprint(carol.PrimaryKey.Fingerprint).ID()
	for i := range uint32(200_000) {
		issuer := uint64(i) << 20
		switch {
		case i%1000 == 0: // carol's own ones
			issuer = carolID
		case i%1000 == 1: // bob never signed this way
			issuer = pgp.Fingerprint(bob.PrimaryKey.Fingerprint).ID()
		case i%1000 == 2: // nor did alice sign carol
			issuer = pgp.Fingerprint(alice.PrimaryKey.Fingerprint).ID()
		}
		flood.Write(forgery(issuer, uint32(made.Unix())+i))
	}
	// Ahead of the subkey: where signatures over the user id belong.
	poisoned := bytesOf(t, carol)
	r := pgp.NewReader(bytes.NewReader(poisoned), 0)
	var cut int64
	for cut == 0 {
		p, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if p.Tag == pgp.TagPublicSubkey {
			cut = p.Start
		}
	}
	w := webOf(t, Policy{Now: now}, bytesOf(t, alice), bytesOf(t, bob), poisoned[:cut], flood.Bytes(), poisoned[cut:])
	p, err := w.Shortest(context.Background(), Query{Roots: []Root{{Key: w.Find("alice")[0]}}, To: w.Find("carol")[0], MaxLength: 5})
	if err != nil || len(p) != 2 {
		t.Fatalf("path %v %v", p, err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 512<<20 {
		t.Errorf("%d MiB of memory", m.HeapAlloc>>20)
	}
}

// A forged revocation must not end a path, a genuine one must.
func TestForgedRevocation(t *testing.T) {
	alice, bob := person(t, "alice", at(made)), person(t, "bob", at(made))
	sign(t, alice, bob, "bob", at(made.AddDate(1, 0, 0)))
	a := bytesOf(t, alice)
	first := 2 + int(a[1])
	if a[1] >= 192 {
		t.Fatal("the key's packet has another form than the test expects")
	}
	lie := forgery(pgp.Fingerprint(alice.PrimaryKey.Fingerprint).ID(), uint32(made.Unix())+100)
	lie[3] = byte(pgp.KeyRevocation)
	w := webOf(t, Policy{Now: now}, a[:first], lie, a[first:], bytesOf(t, bob))
	k := w.Find("alice")[0]
	if !w.claimsRevoked(k) {
		t.Fatal("the lie was not read")
	}
	q := Query{Roots: []Root{{Key: k}}, To: w.Find("bob")[0], MaxLength: 2}
	if p, err := w.Shortest(t.Context(), q); err != nil || len(p) != 1 || !w.State(k).Live() {
		t.Errorf("path %v (%v), and the key %s", p, err, w.State(k).Against)
	}
}

func TestHugeUserID(t *testing.T) {
	alice := bytesOf(t, person(t, "alice", at(made)))
	huge := binary.BigEndian.AppendUint32([]byte{0xcd, 255}, 3<<20)
	huge = append(huge, bytes.Repeat([]byte("A\x1b[31m"), 3<<20/6)...)
	huge = append(huge, make([]byte, 3<<20-(3<<20/6)*6)...)
	w := webOf(t, Policy{Now: now}, alice, huge, bytesOf(t, person(t, "bob", at(made))))
	if w.Keys != 2 || len(w.Find("bob")) != 1 || !w.State(w.Find("alice")[0]).Live() {
		t.Errorf("%d keys", w.Keys)
	}
}

// FuzzKeyring: whatever a keyring holds, indexing and judging it ends.
func FuzzKeyring(f *testing.F) {
	alice, bob := person(f, "alice", at(made)), person(f, "bob", at(made))
	sign(f, alice, bob, "bob", at(made.AddDate(1, 0, 0)))
	f.Add(append(bytesOf(f, alice), bytesOf(f, bob)...))
	f.Add(append(bytesOf(f, bob), forgery(1, 2)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		file := filepath.Join(t.TempDir(), "ring")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := webOfFile(file, Policy{Now: now, AllowSHA1: true, AllowShort: true})
		if err != nil {
			return
		}
		defer w.Close()
		for k := range Key(w.Keys) {
			w.State(k)
			for e, s := range w.signers(k) {
				w.Hop(e, s, k)
			}
		}
	})
}

// FuzzIndex: an index that somebody else wrote is refused or can be searched. Its
// checksum is right: that proves nothing.
func FuzzIndex(f *testing.F) {
	w := graph(f, 3, [][2]int{{0, 1}, {1, 2}})
	f.Add(w.raw[:len(w.raw)-4])
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := decode(binary.LittleEndian.AppendUint32(bytes.Clone(b), crc32.Checksum(b, castagnoli)))
		if err != nil || len(x.Sources) > 0 {
			return // what is read is named by the caller, not by the index
		}
		w := NewWeb(x, Policy{Now: now})
		w.Find("a")
		for k := range Key(x.Keys) {
			x.Names(k)
			x.blocksOf(k)
			w.live(k)
			for e, s := range x.signers(k) {
				w.counts(e, s, k)
			}
		}
	})
}

// Each word of the tables in turn points far away.
func TestForgedIndex(t *testing.T) {
	w := graph(t, 3, [][2]int{{0, 1}, {1, 2}})
	tables := len(w.raw) - 4 - len(w.text) - len(w.blocks) - len(w.edges) - len(w.Index.keys)
	refused := 0
	for at := tables; at < len(w.raw)-8; at += 4 {
		b := bytes.Clone(w.raw[:len(w.raw)-4])
		binary.LittleEndian.PutUint32(b[at:], 1<<30)
		x, err := decode(binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
		if err != nil {
			refused++
			continue
		}
		for k := range Key(x.Keys) {
			x.Names(k)
			x.Fingerprint(k)
			for _, s := range x.signers(k) {
				x.Fingerprint(s)
			}
		}
	}
	if refused < 10 {
		t.Errorf("only %d forged indexes were refused", refused)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
