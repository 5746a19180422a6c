package keypath

import (
	"bytes"
	"crypto/dsa" //nolint:staticcheck // keys of it are still about
	"crypto/rsa"
	_ "crypto/sha1" // the hashes that signatures use
	_ "crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"fettle/host/format/openpgp"
)

// signed is what a signature is over (RFC 9580, section 5.2.4).
func signed(key []byte, n *name) []byte {
	out := append(openpgp.HashPrefix(key), key...)
	if n == nil {
		return out
	}
	lead := byte(0xb4)
	if n.tag == openpgp.TagAttribute {
		lead = 0xd1
	}
	out = binary.BigEndian.AppendUint32(append(out, lead), uint32(len(n.body)))
	return append(out, n.body...)
}

// framed gives a packet's body its header.
func framed(tag byte, body []byte) *bytes.Reader {
	b := binary.BigEndian.AppendUint32([]byte{0xc0 | tag, 255}, uint32(len(body)))
	return bytes.NewReader(append(b, body...))
}

func publicKey(body []byte) (*packet.PublicKey, error) {
	p, err := packet.Read(framed(openpgp.TagPublicKey, body))
	if err != nil {
		return nil, fmt.Errorf("reading the signer's key: %w", err)
	}
	k, ok := p.(*packet.PublicKey)
	if !ok {
		return nil, errors.New("the signer's key is of a kind that is not supported")
	}
	return k, affordable(k)
}

// The longest numbers that are calculated with. GnuPG reads no longer ones
// (MAX_EXTERN_MPI_BITS) and makes DSA keys of at most 3072 bits; a signature by
// a DSA key of 16384 bits with a group as large takes seconds to verify.
const (
	maxRSA      = 16384
	maxDSA      = 4096
	maxDSAGroup = 512
)

// affordable refuses keys that are made to take time.
func affordable(k *packet.PublicKey) error {
	long := false
	switch n := k.PublicKey.(type) {
	case *rsa.PublicKey:
		long = n.N.BitLen() > maxRSA
	case *dsa.PublicKey:
		long = n.P.BitLen() > maxDSA || n.Q.BitLen() > maxDSAGroup
	}
	if long {
		return errors.New("has numbers that are too long to calculate with")
	}
	return nil
}

// verify tells whether the signer made the signature over these bytes.
func verify(signer *packet.PublicKey, s signature, over []byte) error {
	if s.Version < 4 {
		return fmt.Errorf("a version %d signature, which is not supported", s.Version)
	}
	p, err := packet.Read(framed(openpgp.TagSignature, s.body))
	if err != nil {
		return fmt.Errorf("reading the signature: %w", err)
	}
	sig, ok := p.(*packet.Signature)
	if !ok {
		return errors.New("the signature is of a kind that is not supported")
	}
	h, err := sig.PrepareVerify()
	if err != nil {
		return fmt.Errorf("hashing: %w", err)
	}
	h.Write(over)
	return signer.VerifySignature(h, sig)
}
