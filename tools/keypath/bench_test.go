package keypath

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"fettle/internal/means"
)

const debian = "/usr/share/keyrings/debian-keyring.gpg"

func benchWeb(b *testing.B, x *Index) *Web {
	return NewWeb(x, Policy{Now: time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)})
}

// BenchmarkDebian is a verified path in Debian's keyring, without and with the
// index kept.
func BenchmarkDebian(b *testing.B) {
	ctx := context.Background()
	src, err := Sources(ctx, []string{debian})
	if err != nil {
		means.Missing(b, "needs the package debian-keyring: "+err.Error())
	}
	file := filepath.Join(b.TempDir(), "index")
	path := func(b *testing.B, x *Index) {
		w := benchWeb(b, x)
		defer w.Close()
		q := Query{Roots: []Root{{Key: w.Find("93sam@debian.org")[0]}}, To: w.Find("pere@debian.org")[0], MaxLength: 30}
		if p, err := w.Shortest(ctx, q); err != nil || p == nil {
			b.Fatal(p, err)
		}
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			x, err := Build(ctx, src, func(int64, int64) {})
			if err != nil {
				b.Fatal(err)
			}
			if err := x.Save(file); err != nil {
				b.Fatal(err)
			}
			path(b, x)
		}
	})
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			x, err := Load(file, src)
			if err != nil {
				b.Fatal(err)
			}
			path(b, x)
		}
	})
}

// BenchmarkStrongSet is a path in a web of half a million keys that was made
// up: each signs four others, rather those that many have signed, and they sign
// back, as at a signing party. KEYS sets
// another number. Keys and signatures are real ones.
func BenchmarkStrongSet(b *testing.B) {
	n := 500_000
	if s := os.Getenv("KEYS"); s != "" {
		n, _ = strconv.Atoi(s)
	} else if os.Getenv("FETTLE_LONG") == "" {
		n = 2000
	}
	ctx := context.Background()
	file := filepath.Join(b.TempDir(), "web.gpg")
	synthetic(b, file, n, 4)
	src, err := Sources(ctx, []string{file})
	if err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	x, err := Build(ctx, src, func(int64, int64) {})
	if err != nil {
		b.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.Logf(
		"%d keys, %d signatures, %d MB of keyring: index in %s, %d MB of it, %d MB of memory taken",
		x.Keys,
		x.Edges,
		src[0].Size>>20,
		time.Since(begun).Round(time.Millisecond),
		len(x.raw)>>20,
		m.Sys>>20,
	)
	kept := filepath.Join(b.TempDir(), "index")
	if err := x.Save(kept); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		x, err := Load(kept, src)
		if err != nil {
			b.Fatal(err)
		}
		w := benchWeb(b, x)
		q := Query{Roots: []Root{{Key: Key(r.IntN(n))}}, To: Key(r.IntN(n)), MaxLength: 30}
		p, err := w.Shortest(ctx, q)
		if err != nil || p == nil && q.Roots[0].Key != q.To {
			b.Fatal(p, err)
		}
		w.Close()
	}
}

// synthetic writes a keyring of version 4 Ed25519 keys that sign each other.
func synthetic(b *testing.B, file string, n, degree int) {
	b.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	keys := make([]ed25519.PrivateKey, n)
	ids := make([]uint64, n)
	signers := make([][]uint32, n)
	var popular []uint32
	for i := range keys {
		seed := make([]byte, ed25519.SeedSize)
		binary.BigEndian.PutUint64(seed, uint64(i)+1)
		keys[i] = ed25519.NewKeyFromSeed(seed)
		sum := sha1.Sum(append([]byte{0x99, 0, byte(len(keyBody(keys[i])))}, keyBody(keys[i])...))
		ids[i] = binary.BigEndian.Uint64(sum[12:])
		for d := range degree {
			other := uint32((i + d + 1) % n) // a ring, so that all is joined
			if d > 0 && i > 0 {
				other = uint32(r.IntN(i))
				if d%2 == 0 {
					other = popular[r.IntN(len(popular))]
				}
			}
			if int(other) != i {
				signers[other] = append(signers[other], uint32(i))
				signers[i] = append(signers[i], other)
				popular = append(popular, other, uint32(i))
			}
		}
	}
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	for i, k := range keys {
		body, name := keyBody(k), []byte("Key "+strconv.Itoa(i)+" <"+strconv.Itoa(i)+"@example.org>")
		over := binary.BigEndian.AppendUint32(append(append([]byte{0x99, 0, byte(len(body))}, body...), 0xb4), uint32(len(name)))
		over = append(over, name...)
		out.Write(append([]byte{0x98, byte(len(body))}, body...))
		out.Write(append([]byte{0xcd, byte(len(name))}, name...))
		out.Write(certify(k, ids[i], over))
		for _, s := range signers[i] {
			out.Write(certify(keys[s], ids[s], over))
		}
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// keyBody is a public key packet's (RFC 9580, section 5.5.5.5: EdDSALegacy).
func keyBody(k ed25519.PrivateKey) []byte {
	b := append([]byte{4, 0x5e, 0, 0, 0, 22, 9}, 0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01)
	return append(append(b, 0x01, 0x07, 0x40), k.Public().(ed25519.PublicKey)...)
}

func certify(k ed25519.PrivateKey, id uint64, over []byte) []byte {
	head := append([]byte{4, 0x10, 22, 8, 0, 6, 5, 2}, 0x5f, 0, 0, 0)
	trailer := append(append([]byte(nil), head...), 4, 0xff, 0, 0, 0, byte(len(head)))
	h := sha256.New()
	h.Write(over)
	h.Write(trailer)
	sum := h.Sum(nil)
	sig := ed25519.Sign(k, sum)
	body := binary.BigEndian.AppendUint64(append(head, 0, 10, 9, 16), id)
	body = append(body, sum[0], sum[1])
	body = append(mpi(body, sig[:32]), mpi(nil, sig[32:])...)
	return append([]byte{0xc2, byte(len(body))}, body...)
}

func mpi(to, n []byte) []byte {
	for len(n) > 0 && n[0] == 0 {
		n = n[1:]
	}
	bits := 8*len(n) - 8
	for v := n[0]; v > 0; v >>= 1 {
		bits++
	}
	return append(binary.BigEndian.AppendUint16(to, uint16(bits)), n...)
}
