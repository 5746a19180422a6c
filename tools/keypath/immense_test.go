package keypath

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	pgp "fettle/host/format/openpgp"
)

// number is an OpenPGP number of so many bits (RFC 9580, section 3.2), odd.
func number(bits int) []byte {
	n := bytes.Repeat([]byte{0xa5}, (bits+7)/8)
	n[0] = 1 << ((bits - 1) % 8)
	return append(binary.BigEndian.AppendUint16(nil, uint16(bits)), n...)
}

// immense is a key's body with numbers of these lengths.
func immense(algorithm byte, bits ...int) []byte {
	body := append(binary.BigEndian.AppendUint32([]byte{4}, uint32(made.Unix())), algorithm)
	for _, b := range bits {
		body = append(body, number(b)...)
	}
	return body
}

// A key under which each signature takes seconds, or minutes, to verify.
func TestImmenseKeys(t *testing.T) {
	for what, c := range map[string]struct {
		body   []byte
		usable bool
	}{
		"RSA, 4096 bits":            {immense(1, 4096, 17), true},
		"RSA, 16384 bits":           {immense(1, 16384, 17), true},
		"RSA, 32768 bits":           {immense(1, 32768, 17), false},
		"DSA, 3072 bits":            {immense(17, 3072, 256, 3071, 3071), true},
		"DSA, 16384 bits":           {immense(17, 16384, 256, 16383, 16383), false},
		"DSA with an immense group": {immense(17, 3072, 3071, 3071, 3071), false},
	} {
		if _, err := publicKey(c.body); (err == nil) != c.usable {
			t.Errorf("%s: %v", what, err)
		}
	}
	body := immense(17, 65535, 65535, 65534, 65534)
	packet := append(binary.BigEndian.AppendUint32([]byte{0xc0 | pgp.TagPublicKey, 255}, uint32(len(body))), body...)
	k, err := pgp.ParseKey(body)
	if err != nil {
		t.Fatal(err)
	}
	w := webOf(t, Policy{Now: now}, packet, []byte{0xcd, 1, 'x'}, forgery(k.Fingerprint.ID(), uint32(made.Unix())+1))
	if s := w.State(0); !strings.Contains(s.Against, "too long to calculate") {
		t.Errorf("the key %s", s.Against)
	}
}

// A key under a flood of user ids: those that its owner signed are found, the
// others are not kept.
func TestManyUserIDs(t *testing.T) {
	alice := bytesOf(t, person(t, "alice", at(made)))
	first := 2 + int(alice[1])
	var flood bytes.Buffer
	for i := range uint32(50_000) {
		flood.Write(binary.BigEndian.AppendUint32([]byte{0xcd, 4}, i))
	}
	w := webOf(t, Policy{Now: now}, alice[:first], flood.Bytes(), alice[first:])
	if s := w.State(0); !s.Live() || len(s.names) > maxUnowned+1 {
		t.Errorf("%d user ids kept, and the key %s", len(s.names), s.Against)
	}
}
