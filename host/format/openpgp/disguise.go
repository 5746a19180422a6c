package openpgp

import (
	"bytes"
	"encoding/binary"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
)

// disguised is the user id of every key of a disguised keyring.
const disguised = "a key"

// Disguise gives each key of a keyring other numbers, made by number, and
// another name. What stays is of what sort and length a key is, since when and
// until when it is valid, whether it was revoked, and the form of the file.
// Nothing of it verifies afterwards. False: it holds a secret key, or one that
// cannot be read.
func Disguise(keyring []byte, number func(of []byte) []byte) ([]byte, bool) {
	form := FormOf(keyring[:min(len(keyring), 4096)])
	switch form {
	case Keybox:
		return []byte("\x00\x00\x00\x20\x01\x01\x00\x02KBXf"), true
	case Unknown:
		return []byte("no keys\n"), true
	case Empty:
		return keyring, true
	case Armored:
		var err error
		if keyring, err = Dearmor(bytes.NewReader(keyring), int64(len(keyring))); err != nil {
			return nil, false
		}
	}
	d := disguise{number: number}
	for packets := NewReader(bytes.NewReader(keyring), 0); ; {
		p, err := packets.Next()
		if err != nil {
			break
		}
		if !d.packet(p) {
			return nil, false
		}
	}
	if form == Binary {
		return d.out.Bytes(), d.out.Len() > 0
	}
	return armored(d.out.Bytes())
}

func armored(b []byte) ([]byte, bool) {
	var out bytes.Buffer
	w, err := armor.Encode(&out, "PGP PUBLIC KEY BLOCK", nil)
	if err != nil {
		return nil, false
	}
	if _, err = w.Write(b); err == nil {
		err = w.Close()
	}
	return append(out.Bytes(), '\n'), err == nil
}

type disguise struct {
	out      bytes.Buffer
	number   func(of []byte) []byte
	was, now Fingerprint // of the key whose packets follow
}

func (d *disguise) packet(p Packet) bool {
	switch p.Tag {
	case TagPublicKey, TagPublicSubkey:
		return d.key(p)
	case TagUserID:
		d.write(TagUserID, []byte(disguised))
	case TagSignature:
		d.signature(p.Body)
	case TagSecretKey, TagSecretSubkey:
		return false
	}
	return true
}

func (d *disguise) write(tag byte, body []byte) {
	d.out.Write([]byte{0xc0 | tag, 0xff})
	d.out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(body))))
	d.out.Write(body)
}

// key writes a key of the same version, time, algorithm and length.
func (d *disguise) key(p Packet) bool {
	old, err := ParseKey(p.Body)
	if err != nil {
		return false
	}
	head := 6
	if old.Version == 6 {
		head = 10
	}
	body := bytes.Clone(p.Body)
	material := body[head:]
	from := 0
	if old.Algorithm.counted() {
		from = 2 // the length in bits
	}
	d.fill(material[from:])
	if old.Bits > 0 { // a number begins with its highest bit
		top := byte(1) << ((old.Bits - 1) % 8)
		material[2] = material[2]&(top-1) | top
	}
	now, err := ParseKey(body)
	if err != nil {
		return false
	}
	if p.Tag == TagPublicKey {
		d.was, d.now = old.Fingerprint, now.Fingerprint
	}
	d.write(p.Tag, body)
	return true
}

// fill puts numbers made from b into it.
func (d *disguise) fill(b []byte) {
	sum := d.number(b)
	for n := range b {
		if n > 0 && n%len(sum) == 0 {
			sum = d.number(sum)
		}
		b[n] = sum[n%len(sum)]
	}
}

// signature writes what a key says of itself: when, how, until when.
// Signatures by others are left out.
func (d *disguise) signature(body []byte) {
	s, err := ParseSignature(body)
	if err != nil || d.was == "" || s.Issuer != d.was.ID() {
		return
	}
	if s.Version == 3 {
		out := bytes.Clone(body[:19])
		binary.BigEndian.PutUint64(out[7:], d.now.ID())
		d.write(TagSignature, append(out, 0, 0))
		return
	}
	var said []byte
	said = append(said, 5, 2)
	said = binary.BigEndian.AppendUint32(said, uint32(s.Created.Unix()))
	if s.Lifetime > 0 {
		said = binary.BigEndian.AppendUint32(append(said, 5, 3), uint32(s.Lifetime.Seconds()))
	}
	if s.KeyLifetime > 0 {
		said = binary.BigEndian.AppendUint32(append(said, 5, 9), uint32(s.KeyLifetime.Seconds()))
	}
	by := append([]byte{byte(len(d.now) + 2), 33, byte(s.Version)}, d.now...)
	out := []byte{byte(s.Version), byte(s.Type), byte(s.Algorithm), byte(s.Hash)}
	for _, area := range [][]byte{said, by} {
		if s.Version == 6 {
			out = binary.BigEndian.AppendUint32(out, uint32(len(area)))
		} else {
			out = binary.BigEndian.AppendUint16(out, uint16(len(area)))
		}
		out = append(out, area...)
	}
	d.write(TagSignature, append(out, 0, 0, 0, 0))
}
