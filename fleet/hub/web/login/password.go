package login

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Effort is what one hash costs.
type Effort struct {
	Memory uint32 // KiB
	Time   uint32 // passes
}

// Usual is the second choice of RFC 9106, section 4, with one lane: a log-in
// takes about a fifth of a second of one core.
var Usual = Effort{Memory: 64 << 10, Time: 3}

const (
	saltBytes, keyBytes = 16, 32

	// minPassword and maxPassword are in bytes: NIST SP 800-63B-4, 3.1.1.2 asks
	// for 15 characters where a password is all there is, and for no more rules.
	minPassword, maxPassword = 15, 1024
)

// Hash makes the string that the database keeps of a password, in the form of
// the PHC string format.
func Hash(password string, e Effort) (string, error) {
	switch {
	case utf8.RuneCountInString(password) < minPassword:
		return "", fmt.Errorf("a password needs %d characters or more", minPassword)
	case len(password) > maxPassword:
		return "", fmt.Errorf("a password has %d bytes at most", maxPassword)
	}
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails: crypto/rand.Read
	key := argon2.IDKey([]byte(password), salt, e.Time, e.Memory, 1, keyBytes)
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, e.Memory, e.Time, b64(salt), b64(key)), nil
}

var errHash = errors.New("not a password hash of this hub: expected $argon2id$v=19$m=…,t=…,p=1$salt$key")

// matches reports whether a password is the one that was hashed.
func matches(password, hash string) (bool, error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return false, errHash
	}
	var e Effort
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=1", &e.Memory, &e.Time); err != nil || e.Time == 0 || e.Time > 64 || e.Memory > 1<<21 {
		return false, errHash
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(salt) < 8 || len(want) < 16 || len(want) > 64 {
		return false, errHash
	}
	if len(password) > maxPassword {
		return false, nil
	}
	got := argon2.IDKey([]byte(password), salt, e.Time, e.Memory, 1, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}
