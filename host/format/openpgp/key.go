package openpgp

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Fingerprint is that of a version 4 (20 bytes) or 6 key (32).
type Fingerprint string

// ID is the key's 64-bit id (RFC 9580, section 5.5.4).
func (f Fingerprint) ID() uint64 {
	switch len(f) {
	case 20:
		return binary.BigEndian.Uint64([]byte(f[12:]))
	case 32:
		return binary.BigEndian.Uint64([]byte(f[:8]))
	}
	return 0
}

func (f Fingerprint) String() string { return strings.ToUpper(hex.EncodeToString([]byte(f))) }

// Algorithm is of public keys (RFC 9580, section 9.1).
type Algorithm byte

var algorithms = map[Algorithm]string{
	1: "RSA", 2: "RSA", 3: "RSA", 16: "ElGamal", 17: "DSA", 18: "ECDH", 19: "ECDSA", 20: "ElGamal", 22: "EdDSA", 25: "X25519",
	26: "X448", 27: "Ed25519", 28: "Ed448",
}

func (a Algorithm) String() string {
	if s, ok := algorithms[a]; ok {
		return s
	}
	return fmt.Sprintf("algorithm %d", byte(a))
}

// counted reports whether the strength of the algorithm depends on its length
// in bits as RSA's is.
func (a Algorithm) counted() bool { return a <= 3 || a == 16 || a == 17 || a == 20 }

// Key is what a public key packet says.
type Key struct {
	Fingerprint Fingerprint
	Version     int
	Created     time.Time
	Algorithm   Algorithm
	Bits        int // of RSA, DSA, ElGamal; 0: not measured in bits
}

// Short reports whether the key is of a length that is not considered safe
// (NIST SP 800-57, part 1: under 2048 bits since 2014).
func (k Key) Short() bool { return k.Algorithm.counted() && k.Bits < 2048 }

// Kind is the key's algorithm and length for people.
func (k Key) Kind() string {
	if k.Bits > 0 {
		return fmt.Sprintf("%d-bit %s", k.Bits, k.Algorithm)
	}
	return k.Algorithm.String()
}

// ParseKey reads the body of a public (sub)key packet, of a secret one its
// public part.
func ParseKey(body []byte) (Key, error) {
	if len(body) < 8 {
		return Key{}, fmt.Errorf("a key of %d bytes", len(body))
	}
	k := Key{Version: int(body[0]), Created: time.Unix(int64(binary.BigEndian.Uint32(body[1:])), 0), Algorithm: Algorithm(body[5])}
	material := body[6:]
	switch k.Version {
	case 4:
		k.Fingerprint = fingerprint4(body)
	case 6:
		if len(body) < 12 {
			return Key{}, fmt.Errorf("a version 6 key of %d bytes", len(body))
		}
		k.Fingerprint = fingerprint6(body)
		material = body[10:]
	default:
		return Key{}, fmt.Errorf("a version %d key", k.Version)
	}
	if k.Algorithm.counted() {
		bits := int(binary.BigEndian.Uint16(material))
		if len(material) < 2+(bits+7)/8 {
			return Key{}, fmt.Errorf("a %s key whose number is cut off", k.Algorithm)
		}
		k.Bits = bits
	}
	return k, nil
}

// HashPrefix begins what is hashed for fingerprints and signatures (RFC 9580,
// section 5.2.4).
func HashPrefix(body []byte) []byte {
	if len(body) > 0 && body[0] == 6 {
		return binary.BigEndian.AppendUint32([]byte{0x9b}, uint32(len(body)))
	}
	return binary.BigEndian.AppendUint16([]byte{0x99}, uint16(len(body)))
}

func fingerprint4(body []byte) Fingerprint {
	h := sha1.New()
	h.Write(HashPrefix(body))
	h.Write(body)
	return Fingerprint(h.Sum(nil))
}

func fingerprint6(body []byte) Fingerprint {
	h := sha256.New()
	h.Write(HashPrefix(body))
	h.Write(body)
	return Fingerprint(h.Sum(nil))
}
