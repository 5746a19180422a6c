package openpgp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// Form is how a file holds keys.
type Form int

// The forms of keyrings.
const (
	Unknown Form = iota
	Binary       // packets, as gpg --export writes them
	Armored      // text between BEGIN and END PGP PUBLIC KEY BLOCK
	Keybox       // gpg's own pubring.kbx
	Empty
)

func (f Form) String() string {
	return [...]string{"no OpenPGP keys", "binary", "ASCII-armored", "GnuPG keybox", "empty"}[f]
}

// FormOf tells a file's form from how it begins; 4096 bytes are enough.
func FormOf(head []byte) Form {
	switch {
	case len(head) == 0:
		return Empty
	case len(head) >= 12 && bytes.Equal(head[8:12], []byte("KBXf")):
		return Keybox
	case bytes.Contains(head, []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")):
		return Armored
	}
	if tag, _, _, err := header(head); err == nil && (tag == TagPublicKey || tag == TagMarker) {
		return Binary
	}
	return Unknown
}

// Dearmor joins the contents of the key blocks in an armored text, up to limit
// bytes. What is between and around the blocks is ignored, as gpg does.
func Dearmor(in io.Reader, limit int64) ([]byte, error) {
	br := buffered(in, 64<<10)
	var out bytes.Buffer
	for {
		b, err := armor.Decode(br)
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err != nil {
			return out.Bytes(), fmt.Errorf("reading ASCII armor: %w", err)
		}
		if b.Type != "PGP PUBLIC KEY BLOCK" {
			continue
		}
		if _, err := io.Copy(&out, io.LimitReader(b.Body, limit+1-int64(out.Len()))); err != nil {
			return out.Bytes(), fmt.Errorf("reading ASCII armor: %w", err)
		}
		if int64(out.Len()) > limit {
			return nil, fmt.Errorf("more than %d bytes of ASCII armor: gpg --dearmor makes it binary, which has no limit", limit)
		}
	}
}

// Span is a part of a file.
type Span struct{ Start, Length int64 }

// Keyblocks are the parts of a keybox that hold packets (GnuPG,
// kbx/keybox-blob.c: length, type 2, version, flags, offset and length of the
// keyblock).
func Keyblocks(in io.ReaderAt, size int64) ([]Span, error) {
	var out []Span
	head := make([]byte, 16)
	for at := int64(0); at+5 <= size; {
		n, err := in.ReadAt(head, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return out, fmt.Errorf("reading the keybox: %w", err)
		}
		if n < 5 {
			return out, nil
		}
		length := int64(binary.BigEndian.Uint32(head))
		if length < 5 || at+length > size {
			return out, fmt.Errorf("the keybox is damaged at byte %d", at)
		}
		if head[4] == 2 && n == 16 && length > 16 {
			s := Span{at + int64(binary.BigEndian.Uint32(head[8:])), int64(binary.BigEndian.Uint32(head[12:]))}
			if s.Start >= at && s.Start+s.Length <= at+length {
				out = append(out, s)
			}
		}
		at += length
	}
	return out, nil
}
