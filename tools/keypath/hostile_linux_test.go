package keypath

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/ed25519"
	"crypto/sha1"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"

	pgp "fettle/host/format/openpgp"
	"fettle/internal/means"
)

// TestHostileForReal: keyrings that are made to take time and memory, given to
// fettle-lab as it ships. The path through them is found, within bounds.
func TestHostileForReal(t *testing.T) {
	means.Long(t, "writes keyrings of hundreds of megabytes")
	const most, longest = 1 << 30, 3 * time.Minute
	dir := means.Programs(t, "fettle-lab")
	alice, bob, carol := person(t, "alice", at(made)), person(t, "bob", at(made)), person(t, "carol", at(made))
	sign(t, alice, bob, "bob", at(made.AddDate(1, 0, 0)))
	sign(t, bob, carol, "carol", at(made.AddDate(1, 0, 0)))
	a, b := bytesOf(t, alice), bytesOf(t, bob)
	c, d := cutBeforeSubkey(t, bytesOf(t, carol))
	carolID := pgp.Fingerprint(carol.PrimaryKey.Fingerprint).ID()
	aliceID := pgp.Fingerprint(alice.PrimaryKey.Fingerprint).ID()
	when := uint32(made.Unix())
	whole := func(middle func(w io.Writer)) func(w io.Writer) {
		return func(w io.Writer) {
			w.Write(a)
			w.Write(b)
			w.Write(c)
			middle(w)
			w.Write(d)
		}
	}
	for _, tt := range []struct {
		name string
		ring func(w io.Writer)
	}{
		{"a million signatures by nobody", whole(func(w io.Writer) {
			for i := range uint32(1_000_000) {
				w.Write(forgery(uint64(i)<<20, when+i))
			}
		})},
		{"a million by herself and by alice", whole(func(w io.Writer) {
			for i := range uint32(500_000) {
				w.Write(forgery(carolID, when+i))
				w.Write(forgery(aliceID, when+i))
			}
		})},
		{"a hundred user ids of a megabyte", whole(func(w io.Writer) {
			text := bytes.Repeat([]byte("A\x1b[31m"), 1<<20/6)
			for i := range 100 {
				text[0] = byte(i)
				w.Write(binary.BigEndian.AppendUint32([]byte{0xcd, 255}, uint32(len(text))))
				w.Write(text)
			}
		})},
		{"a hundred megabytes of lengths that lead beyond the end", func(w io.Writer) {
			w.Write(a)
			lie := []byte{0xc2, 0xff, 0x7f, 0xff, 0xff, 0xff, 4}
			for range 100 << 20 / len(lie) {
				w.Write(lie)
			}
			w.Write(b)
			w.Write(append(c, d...))
		}},
		{"keys that claim a part of what follows", func(w io.Writer) {
			w.Write(a)
			w.Write(b)
			w.Write(append(c, d...))
			lie := []byte{0x99, 0x1f, 0xff, 4, 0, 0, 0, 0, 1, 0xff, 0xff}
			for range 50 << 20 / len(lie) {
				w.Write(lie)
			}
		}},
		{"a bomb: a compressed gigabyte", func(w io.Writer) {
			w.Write(a)
			w.Write(bomb(t))
			w.Write(b)
			w.Write(append(c, d...))
		}},
		{"the same in ASCII armor", func(w io.Writer) {
			out, err := armor.Encode(w, "PGP PUBLIC KEY BLOCK", nil)
			if err != nil {
				t.Error(err)
				return
			}
			for _, part := range [][]byte{a, bomb(t), b, c, d} {
				out.Write(part)
			}
			out.Close()
		}},
		{"20,000 keys that alice did not sign", func(w io.Writer) { // bob, over whom the path leads, is met after all of them
			w.Write(a)
			w.Write(c)
			shortcuts(w, aliceID, c)
			w.Write(b)
		}},
		{"signatures from the future", whole(func(w io.Writer) {
			for i := range uint32(100_000) {
				w.Write(forgery(carolID, 0xffffffff-i))
			}
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ring := filepath.Join(t.TempDir(), "ring.pgp")
			f, err := os.Create(ring)
			if err != nil {
				t.Fatal(err)
			}
			out := bufio.NewWriterSize(f, 1<<20)
			tt.ring(out)
			if err := out.Flush(); err != nil {
				t.Fatal(err)
			}
			size, _ := f.Seek(0, io.SeekCurrent)
			f.Close()
			ctx, stop := context.WithTimeout(t.Context(), longest)
			defer stop()
			cmd := exec.CommandContext(
				ctx,
				filepath.Join(dir, "fettle-lab"),
				"keypath",
				"--cache",
				t.TempDir(),
				"--at",
				"2024-01-01",
				"--keyring",
				ring,
				"alice@example.org",
				"carol@example.org",
			)
			cmd.Env = []string{"HOME=" + dir}
			begun := time.Now()
			said, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(said), "A shortest path: 2 signatures") {
				t.Fatalf("%v after %s\n%.2000s", err, time.Since(begun), said)
			}
			took := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			t.Logf("%d MB: %.1f s, of CPU %.1f s, %d MiB of memory", size/1e6, time.Since(begun).Seconds(),
				(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), took.Maxrss>>10)
			if took.Maxrss<<10 > most {
				t.Errorf("%d MiB of memory, expected %d at most", took.Maxrss>>10, most>>20)
			}
		})
	}
}

// cutBeforeSubkey splits a key where further signatures over its user id belong.
func cutBeforeSubkey(t *testing.T, key []byte) (before, after []byte) {
	t.Helper()
	r := pgp.NewReader(bytes.NewReader(key), 0)
	for {
		p, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if p.Tag == pgp.TagPublicSubkey {
			return key[:p.Start], key[p.Start:]
		}
	}
}

// bomb is a packet of compressed data (RFC 9580, section 5.6): a gigabyte of zeros.
func bomb(t *testing.T) []byte {
	t.Helper()
	var body bytes.Buffer
	body.WriteByte(2) // ZLIB
	z := zlib.NewWriter(&body)
	zeros := make([]byte, 1<<20)
	for range 1 << 10 {
		z.Write(zeros)
	}
	z.Close()
	return append(binary.BigEndian.AppendUint32([]byte{0xc8, 255}, uint32(body.Len())), body.Bytes()...)
}

// shortcuts are keys on each of which a signature by the issuer is forged, and
// which all have signed the user id before, genuinely.
func shortcuts(w io.Writer, issuer uint64, signee []byte) {
	keys := make([]ed25519.PrivateKey, 20_000)
	over := signedName(signee)
	var bodies bytes.Buffer
	for i := range keys {
		seed := make([]byte, ed25519.SeedSize)
		binary.BigEndian.PutUint64(seed, uint64(i)+1)
		keys[i] = ed25519.NewKeyFromSeed(seed)
		body := keyBody(keys[i])
		sum := sha1.Sum(append([]byte{0x99, 0, byte(len(body))}, body...))
		id := binary.BigEndian.Uint64(sum[12:])
		w.Write(certify(keys[i], id, over))
		name := []byte("Shortcut")
		own := append(
			binary.BigEndian.AppendUint32(append(append([]byte{0x99, 0, byte(len(body))}, body...), 0xb4), uint32(len(name))),
			name...)
		bodies.Write(append([]byte{0x98, byte(len(body))}, body...))
		bodies.Write(append([]byte{0xcd, byte(len(name))}, name...))
		bodies.Write(certify(keys[i], id, own))
		bodies.Write(forgery(issuer, 0x5f000001))
	}
	w.Write(bodies.Bytes())
}

// signedName is what is hashed of a key and its first user id.
func signedName(key []byte) (out []byte) {
	r := pgp.NewReader(bytes.NewReader(key), 0)
	for {
		p, err := r.Next()
		switch {
		case err != nil:
			return out
		case p.Tag == pgp.TagPublicKey:
			out = append(pgp.HashPrefix(p.Body), p.Body...)
		case p.Tag == pgp.TagUserID:
			return append(binary.BigEndian.AppendUint32(append(out, 0xb4), uint32(len(p.Body))), p.Body...)
		}
	}
}
