// Package openpgp reads OpenPGP keys (RFC 9580, RFC 4880) as facts: what keys,
// user ids and signatures say of themselves. It verifies nothing, and it holds
// one packet in memory at a time: whoever believes what is said here verifies
// it first.
package openpgp

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Tags of the packets that transferable keys consist of.
const (
	TagSignature    = 2
	TagSecretKey    = 5
	TagPublicKey    = 6
	TagSecretSubkey = 7
	TagMarker       = 10
	TagTrust        = 12 // GnuPG's own
	TagUserID       = 13
	TagPublicSubkey = 14
	TagAttribute    = 17
	TagPadding      = 21
)

// MaxBody is the longest body that is kept. Photographs are the longest
// packets that keys really have; keyservers refuse anything longer.
const MaxBody = 1 << 20

// Packet is one packet. Body is valid until the next call of Next.
type Packet struct {
	Tag        byte
	Body       []byte
	TooLong    bool // longer than MaxBody: Body is empty
	Start, End int64
}

// Reader reads packets one after the other. Where the stream makes no sense it
// goes on at the next place that looks like a public key.
type Reader struct {
	in  *bufio.Reader
	pos int64
	buf []byte
	// Skipped counts bytes that belong to no packet.
	Skipped int64
}

// NewReader reads binary packets from in; offsets count from base.
func NewReader(in io.Reader, base int64) *Reader {
	return &Reader{in: buffered(in, 256<<10), pos: base}
}

// buffered reads ahead up to most bytes, and no more than there are in memory:
// a host has dozens of small keyrings.
func buffered(in io.Reader, most int) *bufio.Reader {
	if b, ok := in.(*bytes.Reader); ok {
		most = min(most, b.Len()+1)
	}
	return bufio.NewReaderSize(in, most)
}

// errBroken: what follows is no packet.
var errBroken = errors.New("not an OpenPGP packet")

// Next is the next packet, or io.EOF.
func (r *Reader) Next() (Packet, error) {
	for {
		p, err := r.packet()
		if !errors.Is(err, errBroken) {
			return p, err
		}
		if err := r.resync(); err != nil {
			return Packet{}, err
		}
	}
}

// packet reads a packet. When the header is broken nothing is consumed.
func (r *Reader) packet() (Packet, error) {
	head, err := r.in.Peek(6)
	if len(head) == 0 {
		return Packet{}, eof(err)
	}
	tag, length, used, err := header(head)
	if err != nil {
		return Packet{}, err
	}
	p := Packet{Tag: tag, Start: r.pos, TooLong: length > MaxBody}
	if p.TooLong && !skippable(tag) {
		return Packet{}, errBroken
	}
	if !p.TooLong && !r.whole(used, int(length)) {
		return Packet{}, errBroken
	}
	r.advance(int64(used))
	if p.TooLong {
		n, err := io.CopyN(io.Discard, r.in, length)
		r.pos += n
		p.End = r.pos
		if err != nil {
			return Packet{}, eof(err)
		}
		return p, nil
	}
	if cap(r.buf) < int(length) {
		r.buf = make([]byte, length)
	}
	p.Body = r.buf[:length]
	n, err := io.ReadFull(r.in, p.Body)
	r.pos += int64(n)
	p.End = r.pos
	if err != nil {
		return Packet{}, eof(err)
	}
	return p, nil
}

// whole reports whether a short packet lies wholly in the stream; a length that
// leads past the end of the file is a lie. What exceeds the buffer is believed.
func (r *Reader) whole(used, length int) bool {
	n := used + length
	if n > r.in.Size() {
		return true
	}
	b, _ := r.in.Peek(n)
	return len(b) == n
}

// skippable: only what a key may well hold at such a length is skipped over.
func skippable(tag byte) bool { return tag == TagUserID || tag == TagAttribute }

func (r *Reader) advance(n int64) {
	m, _ := r.in.Discard(int(n))
	r.pos += int64(m)
}

// resync moves to the next thing that looks like a public key.
func (r *Reader) resync() error {
	for {
		r.advance(1)
		r.Skipped++
		b, err := r.in.Peek(12)
		if len(b) == 0 {
			return eof(err)
		}
		if looksLikeKey(b) {
			return nil
		}
	}
}

// looksLikeKey reports whether b begins a version 4 or 6 public key packet of a
// length and algorithm that exist.
func looksLikeKey(b []byte) bool {
	tag, length, used, err := header(b)
	if err != nil || tag != TagPublicKey || length < 20 || length > 8192 || len(b) < used+6 {
		return false
	}
	version, algo := b[used], b[used+5]
	return (version == 4 || version == 6) && (algo >= 1 && algo <= 3 || algo >= 16 && algo <= 36)
}

// header reads a packet's header (RFC 9580, section 4.2): its tag, the length
// of its body and its own. Partial and indeterminate lengths are for data, not
// for keys (section 4.2.1.4).
func header(b []byte) (tag byte, length int64, used int, err error) {
	h := b[0]
	if h&0x80 == 0 {
		return 0, 0, 0, errBroken
	}
	if h&0x40 == 0 {
		return oldHeader(b)
	}
	tag = h & 0x3f
	switch {
	case len(b) < 2:
		err = errBroken
	case b[1] < 192:
		length, used = int64(b[1]), 2
	case b[1] < 224 && len(b) >= 3:
		length, used = (int64(b[1])-192)<<8+int64(b[2])+192, 3
	case b[1] == 255 && len(b) >= 6:
		length, used = int64(binary.BigEndian.Uint32(b[2:])), 6
	default:
		err = errBroken
	}
	return tag, length, used, known(tag, err)
}

func oldHeader(b []byte) (tag byte, length int64, used int, err error) {
	tag = b[0] >> 2 & 0x0f
	switch kind := b[0] & 3; {
	case kind == 0 && len(b) >= 2:
		length, used = int64(b[1]), 2
	case kind == 1 && len(b) >= 3:
		length, used = int64(binary.BigEndian.Uint16(b[1:])), 3
	case kind == 2 && len(b) >= 5:
		length, used = int64(binary.BigEndian.Uint32(b[1:])), 5
	default:
		err = errBroken
	}
	return tag, length, used, known(tag, err)
}

// known refuses tags that no keyring has.
func known(tag byte, err error) error {
	switch tag {
	case TagSignature, TagSecretKey, TagPublicKey, TagSecretSubkey, TagMarker, TagTrust, TagUserID, TagPublicSubkey, TagAttribute, TagPadding:
		return err
	}
	return errBroken
}

func eof(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return fmt.Errorf("reading packets: %w", err)
}
