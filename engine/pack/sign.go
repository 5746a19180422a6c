package pack

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Namespace is what a pack's signature is for: ssh-keygen -Y sign -n fettle-pack. One
// that was given for anything else, a release or a login, signs no pack.
const Namespace = "fettle-pack"

const (
	beginSignature = "-----BEGIN SSH SIGNATURE-----"
	endSignature   = "-----END SSH SIGNATURE-----"
)

// Key is one that root pinned, and whose it is.
type Key struct {
	Signer string
	Key    ssh.PublicKey
}

// ParseKeys reads keys in the form of ssh-keygen's allowed signers: NAME, perhaps
// namespaces="fettle-pack", TYPE and KEY (ssh-keygen(1), ALLOWED SIGNERS). Another option
// would restrict the key in a way that nothing here checks, and is an error.
func ParseKeys(file string, b []byte) ([]Key, error) {
	var out []Key
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(strings.TrimSpace(rest)))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: expected NAME TYPE KEY, as in ops@example.org ssh-ed25519 AAAA…", file, n)
		}
		for _, o := range options {
			if o != `namespaces="`+Namespace+`"` {
				return nil, fmt.Errorf("%s:%d: option %s: expected namespaces=\"%s\" or none", file, n, o, Namespace)
			}
		}
		out = append(out, Key{name, key})
	}
	return out, lines.Err()
}

// blob is the binary form of a signature (OpenSSH's PROTOCOL.sshsig), after its magic.
type blob struct {
	Version                               uint32
	Key, Namespace, Reserved, Hash, Value string
}

// verify tells whose key signed the text.
func verify(armored, text []byte, keys []Key) (string, error) {
	body, ok := bytes.CutPrefix(bytes.TrimSpace(armored), []byte(beginSignature))
	body, okay := bytes.CutSuffix(body, []byte(endSignature))
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(body)), ""))
	raw, magical := bytes.CutPrefix(raw, []byte("SSHSIG"))
	var s blob
	if !ok || !okay || err != nil || !magical || ssh.Unmarshal(raw, &s) != nil || s.Version != 1 {
		return "", errors.New("the pack's signature cannot be read")
	}
	if s.Namespace != Namespace {
		return "", fmt.Errorf("the signature is one for %q, not for a pack", s.Namespace)
	}
	var sig ssh.Signature
	if ssh.Unmarshal([]byte(s.Value), &sig) != nil || sig.Format == ssh.KeyAlgoRSA { // SHA-1
		return "", errors.New("the pack's signature cannot be read")
	}
	var sum []byte
	switch s.Hash {
	case "sha512":
		h := sha512.Sum512(text)
		sum = h[:]
	case "sha256":
		h := sha256.Sum256(text)
		sum = h[:]
	default:
		return "", fmt.Errorf("a signature with %q", s.Hash)
	}
	signed := append([]byte("SSHSIG"), ssh.Marshal(struct{ Namespace, Reserved, Hash, Message string }{
		s.Namespace, s.Reserved, s.Hash, string(sum)})...)
	for _, k := range keys {
		if string(k.Key.Marshal()) != s.Key {
			continue
		}
		if err := k.Key.Verify(signed, &sig); err != nil {
			return "", errors.New("the signature does not belong to this pack: it was changed, or the signature swapped")
		}
		return k.Signer, nil
	}
	pub, err := ssh.ParsePublicKey([]byte(s.Key))
	if err != nil {
		return "", errors.New("the pack's signature cannot be read")
	}
	return "", fmt.Errorf("signed by a key that is not pinned on this host: %s", ssh.FingerprintSHA256(pub))
}
