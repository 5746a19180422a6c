package join

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// namespace keeps these signatures apart from all others that a host key gives
// (PROTOCOL.sshsig): sshd signs no data that begins so.
const namespace = "fettle-join@fettle"

// signed is what a host key signs: what OpenSSH's ssh-keygen -Y sign would for
// the challenge and the NKey.
func signed(challenge, key string) []byte {
	h := sha512.Sum512([]byte(challenge + "\n" + key))
	return append([]byte("SSHSIG"), ssh.Marshal(struct{ Namespace, Reserved, Hash, Message string }{namespace, "", "sha512", string(h[:])})...)
}

// Sign proves that a host has its ssh host key.
func Sign(signer ssh.Signer, challenge, key string) ([]byte, error) {
	data := signed(challenge, key)
	sig, err := func() (*ssh.Signature, error) {
		if s, ok := signer.(ssh.AlgorithmSigner); ok && signer.PublicKey().Type() == ssh.KeyAlgoRSA {
			return s.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA512)
		}
		return signer.Sign(rand.Reader, data)
	}()
	if err != nil {
		return nil, err
	}
	return ssh.Marshal(sig), nil
}

func verify(pub ssh.PublicKey, challenge, key string, signature []byte) error {
	var sig ssh.Signature
	if err := ssh.Unmarshal(signature, &sig); err != nil {
		return err
	}
	if sig.Format == ssh.KeyAlgoRSA {
		return errors.New("a signature with SHA-1")
	}
	return pub.Verify(signed(challenge, key), &sig)
}

// challenger makes challenges that every hub with the same secret knows as its
// own, without keeping them.
type challenger struct {
	secret []byte
	now    func() time.Time
}

const challengeLife = 5 * time.Minute

func (c challenger) make(r Request) string {
	b := make([]byte, 8, 8+sha256.Size)
	binary.BigEndian.PutUint64(b, uint64(c.now().Unix()))
	return base64.RawURLEncoding.EncodeToString(append(b, c.mac(b, r)...))
}

func (c challenger) mac(at []byte, r Request) []byte {
	m := hmac.New(sha256.New, c.secret)
	for _, s := range []string{"join", string(at), r.Host, r.Key, string(r.HostKey)} {
		_ = binary.Write(m, binary.BigEndian, uint32(len(s)))
		_, _ = io.WriteString(m, s)
	}
	return m.Sum(nil)
}

func (c challenger) mine(r Request) bool {
	b, err := base64.RawURLEncoding.DecodeString(r.Challenge)
	if err != nil || len(b) != 8+sha256.Size {
		return false
	}
	age := c.now().Sub(time.Unix(int64(binary.BigEndian.Uint64(b)), 0))
	return age > -time.Minute && age < challengeLife && hmac.Equal(b[8:], c.mac(b[:8], r))
}

// errKnownHosts: no key can be judged.
var errKnownHosts = errors.New("reading known_hosts")

// knows reports whether a known_hosts file names the key for a host.
func knows(file, host string, key ssh.PublicKey) error {
	check, err := knownhosts.New(file)
	if err != nil {
		return fmt.Errorf("%w: %w", errKnownHosts, err)
	}
	return check(net.JoinHostPort(host, "22"), &net.TCPAddr{IP: net.IPv4zero, Port: 22}, key)
}
