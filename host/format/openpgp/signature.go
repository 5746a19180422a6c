package openpgp

import (
	"encoding/binary"
	"fmt"
	"time"
)

// SigType is what a signature is for (RFC 9580, section 5.2.1).
type SigType byte

// The types that matter between keys.
const (
	CertGeneric    SigType = 0x10
	CertPersona    SigType = 0x11
	CertCasual     SigType = 0x12
	CertPositive   SigType = 0x13
	SubkeyBinding  SigType = 0x18
	DirectKey      SigType = 0x1f
	KeyRevocation  SigType = 0x20
	CertRevocation SigType = 0x30
)

// Certifies reports whether a signature of this type is over a user id.
func (t SigType) Certifies() bool { return t >= CertGeneric && t <= CertPositive }

// Hash is a hash algorithm (RFC 9580, section 9.5).
type Hash byte

// Hashes that are not collision resistant.
const (
	MD5       Hash = 1
	SHA1      Hash = 2
	RIPEMD160 Hash = 3
)

var hashes = map[Hash]string{
	MD5: "MD5", SHA1: "SHA-1", RIPEMD160: "RIPEMD-160", 8: "SHA-256", 9: "SHA-384", 10: "SHA-512", 11: "SHA-224", 12: "SHA3-256",
	14: "SHA3-512",
}

func (h Hash) String() string {
	if s, ok := hashes[h]; ok {
		return s
	}
	return fmt.Sprintf("hash %d", byte(h))
}

// Weak reports whether collisions of the hash are practical, or as good as.
func (h Hash) Weak() bool { return h == MD5 || h == SHA1 || h == RIPEMD160 }

// Signature is what a signature packet says. Nothing of it is verified, and
// Issuer and IssuerFingerprint may even come from the part that is not signed.
type Signature struct {
	Version   int
	Type      SigType
	Hash      Hash
	Algorithm Algorithm
	Created   time.Time
	Lifetime  time.Duration // 0: forever
	// KeyLifetime is, in self-signatures, that of the key; 0: forever.
	KeyLifetime       time.Duration
	Issuer            uint64
	IssuerFingerprint Fingerprint
	Irrevocable       bool // says of itself that it cannot be revoked
	Local             bool // not meant for others
	TrustDepth        byte
	Revokers          []Fingerprint // who may revoke the key
	Reason            byte          // of a revocation (section 5.2.3.31)
}

// Expires is when the signature does; zero: never.
func (s Signature) Expires() time.Time {
	if s.Lifetime == 0 {
		return time.Time{}
	}
	return s.Created.Add(s.Lifetime)
}

// ParseSignature reads the body of a signature packet.
func ParseSignature(body []byte) (Signature, error) {
	if len(body) < 2 {
		return Signature{}, fmt.Errorf("a signature of %d bytes", len(body))
	}
	s := Signature{Version: int(body[0])}
	switch s.Version {
	case 3:
		return parseV3(body)
	case 4, 6:
	default:
		return s, fmt.Errorf("a version %d signature", s.Version)
	}
	if len(body) < 6 {
		return s, fmt.Errorf("a signature of %d bytes", len(body))
	}
	s.Type, s.Algorithm, s.Hash = SigType(body[1]), Algorithm(body[2]), Hash(body[3])
	hashed, rest, err := area(body[4:], s.Version)
	if err != nil {
		return s, err
	}
	if err := s.subpackets(hashed, true); err != nil {
		return s, err
	}
	unhashed, _, err := area(rest, s.Version)
	if err != nil {
		return s, err
	}
	if err := s.subpackets(unhashed, false); err != nil {
		return s, err
	}
	if s.IssuerFingerprint != "" {
		s.Issuer = s.IssuerFingerprint.ID()
	}
	return s, nil
}

// parseV3 reads the old form (RFC 9580, section 5.2.2), whose time and issuer
// have fixed places.
func parseV3(body []byte) (Signature, error) {
	s := Signature{Version: 3}
	if len(body) < 19 || body[1] != 5 {
		return s, fmt.Errorf("a version 3 signature that is cut off")
	}
	s.Type = SigType(body[2])
	s.Created = time.Unix(int64(binary.BigEndian.Uint32(body[3:])), 0)
	s.Issuer = binary.BigEndian.Uint64(body[7:])
	s.Algorithm, s.Hash = Algorithm(body[15]), Hash(body[16])
	return s, nil
}

// area splits off an area of subpackets with its length before it.
func area(b []byte, version int) (sub, rest []byte, err error) {
	width := 2
	if version == 6 {
		width = 4
	}
	if len(b) < width {
		return nil, nil, fmt.Errorf("a signature that is cut off")
	}
	n := int64(binary.BigEndian.Uint16(b))
	if width == 4 {
		n = int64(binary.BigEndian.Uint32(b))
	}
	if n > int64(len(b)-width) {
		return nil, nil, fmt.Errorf("a signature whose subpackets are longer than itself")
	}
	return b[width : width+int(n)], b[width+int(n):], nil
}

// subpackets reads an area. Of what is not signed only the issuer counts: it
// is a hint, and the signature verifies with that key or not at all.
func (s *Signature) subpackets(b []byte, hashed bool) error {
	for len(b) > 0 {
		n, used := subLength(b)
		if used == 0 || n < 1 || n > len(b)-used {
			return fmt.Errorf("a subpacket that is longer than its area")
		}
		kind, data := b[used]&0x7f, b[used+1:used+n]
		b = b[used+n:]
		if hashed || kind == 16 || kind == 33 {
			s.subpacket(kind, data)
		}
	}
	return nil
}

func subLength(b []byte) (n, used int) {
	switch {
	case b[0] < 192:
		return int(b[0]), 1
	case b[0] < 255 && len(b) >= 2:
		return (int(b[0])-192)<<8 + int(b[1]) + 192, 2
	case b[0] == 255 && len(b) >= 5:
		return int(min(binary.BigEndian.Uint32(b[1:]), 1<<30)), 5
	}
	return 0, 0
}

// subpacket reads one (RFC 9580, section 5.2.3.7). One that is too short says
// nothing.
func (s *Signature) subpacket(kind byte, data []byte) {
	switch {
	case kind == 2 && len(data) >= 4:
		s.Created = time.Unix(int64(binary.BigEndian.Uint32(data)), 0)
	case kind == 3 && len(data) >= 4:
		s.Lifetime = seconds(data)
	case kind == 4 && len(data) >= 1:
		s.Local = data[0] == 0
	case kind == 5 && len(data) >= 1:
		s.TrustDepth = data[0]
	case kind == 7 && len(data) >= 1:
		s.Irrevocable = data[0] == 0
	case kind == 9 && len(data) >= 4:
		s.KeyLifetime = seconds(data)
	case kind == 12 && len(data) >= 22 && data[0]&0x80 != 0 && len(s.Revokers) < 8:
		s.Revokers = append(s.Revokers, Fingerprint(data[2:22]))
	case kind == 16 && len(data) >= 8 && s.Issuer == 0:
		s.Issuer = binary.BigEndian.Uint64(data)
	case kind == 29 && len(data) >= 1:
		s.Reason = data[0]
	case kind == 33 && len(data) == 21 && data[0] == 4, kind == 33 && len(data) == 33 && data[0] == 6:
		if s.IssuerFingerprint == "" {
			s.IssuerFingerprint = Fingerprint(data[1:])
		}
	}
}

func seconds(b []byte) time.Duration {
	return time.Duration(binary.BigEndian.Uint32(b)) * time.Second
}
