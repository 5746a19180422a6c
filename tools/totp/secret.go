// Package totp makes, reads and checks one-time codes (RFC 4226, RFC 6238) and
// the file in which pam_google_authenticator stores them.
package totp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Step is the usual time that a code is valid, in seconds (RFC 6238, 4.1).
const Step = 30

// Secret is a shared secret. Printed by any verb of fmt, logged or marshalled
// it says nothing: Base32 shows it.
type Secret struct{ raw []byte }

// secretSize is the length that RFC 4226 (R6) recommends: 160 bits.
const secretSize = 20

// NewSecret makes a secret out of the kernel's random numbers.
func NewSecret() (Secret, error) {
	b := make([]byte, secretSize)
	if _, err := rand.Read(b); err != nil {
		return Secret{}, fmt.Errorf("making a secret: %w", err)
	}
	return Secret{b}, nil
}

// minSecret is 80 bits: what google-authenticator made until 2017, and many
// web services still do. RFC 4226 (R6) wants 128.
const minSecret = 10

// ParseSecret reads a secret in base32 (RFC 4648), as web services show it:
// lower case, blanks, dashes and padding do not matter. The error never
// contains it.
func ParseSecret(s string) (Secret, error) {
	clean := strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\r', '\n', '-', '=':
			return -1
		}
		return r
	}, s)
	clean = strings.ToUpper(clean)
	if clean == "" {
		return Secret{}, errors.New("the secret is empty")
	}
	for i, r := range clean {
		if !(r >= 'A' && r <= 'Z' || r >= '2' && r <= '7') {
			return Secret{}, fmt.Errorf("the secret is not base32: its character %d is not A to Z or 2 to 7", i+1)
		}
	}
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(clean)
	if n := len(clean) % 8; err != nil || n == 1 || n == 3 || n == 6 { // RFC 4648, section 6: something is missing
		return Secret{}, fmt.Errorf("the secret is not base32: %d characters are not a whole number of bytes", len(clean))
	}
	if len(raw) < minSecret {
		return Secret{}, fmt.Errorf("the secret has %d bits; less than %d can be guessed", len(raw)*8, minSecret*8)
	}
	return Secret{raw}, nil
}

// Base32 is the secret in plain text.
func (s Secret) Base32() string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(s.raw)
}

// Bits is its length.
func (s Secret) Bits() int { return len(s.raw) * 8 }

func (s Secret) Format(f fmt.State, _ rune)   { fmt.Fprint(f, "[secret]") }
func (s Secret) String() string               { return "[secret]" }
func (s Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// Code is the code of six digits of a counter (RFC 4226, 5.3).
func (s Secret) Code(counter uint64) string {
	return fmt.Sprintf("%06d", s.truncate(counter)%1_000_000)
}

func (s Secret) truncate(counter uint64) uint32 {
	m := hmac.New(sha1.New, s.raw)
	m.Write(binary.BigEndian.AppendUint64(nil, counter))
	sum := m.Sum(nil)
	return binary.BigEndian.Uint32(sum[sum[len(sum)-1]&0xf:]) & 0x7fffffff
}

// At is the code at a time, for a step in seconds (RFC 6238, 4.2).
func (s Secret) At(t time.Time, step int) string {
	return s.Code(uint64(t.Unix()) / uint64(step))
}

// Reach is how far Search looks, in steps to either side: as far as the PAM
// module does when it learns the skew of a clock (12.5 hours at 30 s).
const Reach = 25 * 60

// Search looks for a code around t. Skew is how many steps the clock that made
// it is ahead of t's (behind, if negative); the nearest counts.
func (s Secret) Search(code string, t time.Time, step int) (skew int, ok bool) {
	now := t.Unix() / int64(step)
	for i := range int64(Reach) {
		for _, at := range []int64{now - i, now + i} {
			if at >= 0 && hmac.Equal([]byte(s.Code(uint64(at))), []byte(code)) {
				return int(at - now), true
			}
		}
	}
	return 0, false
}
