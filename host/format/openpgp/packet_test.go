package openpgp

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func packet(tag byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0xc0 | tag, 255}, uint32(len(body))), body...)
}

// key4 is the body of an RSA key of so many bits.
func key4(bits int) []byte {
	b := []byte{4, 0x5e, 0x0b, 0xe1, 0, 1}
	b = binary.BigEndian.AppendUint16(b, uint16(bits))
	return append(b, bytes.Repeat([]byte{0x81}, (bits+7)/8)...)
}

// TestHeaders: all forms of a packet's header (RFC 9580, sections 4.2.1 and 4.2.2), and what is none.
func TestHeaders(t *testing.T) {
	for text, want := range map[string]string{
		"\xc6\x05": "6: 5 after 2", "\xc6\xbf": "6: 191 after 2", "\xc6\xc0\x00": "6: 192 after 3", "\xc6\xc5\xfb": "6: 1723 after 3",
		"\xc6\xdf\xff": "6: 8383 after 3", "\xc6\xff\x00\x01\x00\x00": "6: 65536 after 6",
		"\x98\x33": "6: 51 after 2", "\x99\x01\x0d": "6: 269 after 3", "\x9a\x00\x01\x00\x00": "6: 65536 after 5",
		"\xcd\x05": "13: 5 after 2", "\xca\x03": "10: 3 after 2", "\xd5\x01": "21: 1 after 2", "\xcc\x01": "12: 1 after 2",
		"\xd1\x01": "17: 1 after 2",
		"\x06\x05": "none", "\xc6": "none", "\xc6\xc0": "none", "\xc6\xe0\x00\x00\x00\x00": "none", "\xc6\xff\x00\x01\x00": "none",
		"\x98": "none", "\x99\x01": "none", "\x9a\x00\x01\x00": "none", "\x9b\x00\x00\x00\x00": "none",
		"\xc1\x05": "none", "\xd2\x05": "none", "\xff\x05": "none", "\x80\x05": "none",
	} {
		tag, length, used, err := header([]byte(text))
		got := fmt.Sprintf("%d: %d after %d", tag, length, used)
		if err != nil {
			got = "none"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// told are the packets of a stream, and how many bytes belong to none.
func told(t *testing.T, in io.Reader) string {
	t.Helper()
	var out []string
	r := NewReader(in, 1000)
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(append(out, fmt.Sprint(r.Skipped)), " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d:%d-%d:%d", p.Tag, p.Start, p.End, len(p.Body)))
		if p.TooLong {
			out[len(out)-1] += "!"
		}
	}
}

// TestStreams: where packets lie; behind what makes no sense the next public key is found, and a length that lies hides nothing.
func TestStreams(t *testing.T) {
	key, name := packet(TagPublicKey, key4(1024)), packet(TagUserID, []byte("alice"))
	all := func(parts ...[]byte) string { return string(slices.Concat(parts...)) }
	cut := []byte("\xc6\xff\x00\x00\x20\x00")
	long := packet(TagUserID, make([]byte, MaxBody+1))
	longKey := packet(TagSignature, make([]byte, MaxBody+1))
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "0"},
		{"a key", all(key, name), "6:1000-1142:136 13:1142-1153:5 0"},
		{"rubbish before", all([]byte("rubbish"), key), "6:1007-1149:136 7"},
		{"rubbish between", all(key, []byte("rubbish"), key), "6:1000-1142:136 6:1149-1291:136 7"},
		{"rubbish behind", all(key, []byte("rubbish")), "6:1000-1142:136 7"},
		{"a length beyond the end", all(cut, key), "6:1006-1148:136 6"},
		{"a name as long as may be", all(packet(TagUserID, make([]byte, MaxBody)), key), "13:1000-1049582:1048576 6:1049582-1049724:136 0"},
		{"a longer name", all(long, key), "13:1000-1049583:0! 6:1049583-1049725:136 0"},
		{"a longer name, cut", all(long[:len(long)-1]), "0"},
		{"a longer signature", all(longKey, key), "6:1049583-1049725:136 1048583"},
		{"no keys behind rubbish", all([]byte("x"), name), "12"},
	} {
		if got := told(t, strings.NewReader(c.in)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if len(c.in) < 5000 {
			if got := told(t, iotest.OneByteReader(strings.NewReader(c.in))); got != c.want {
				t.Errorf("%s, a byte at a time: %s, want %s", c.name, got, c.want)
			}
		}
	}
	broken := errors.New("a bad sector")
	r := NewReader(io.MultiReader(bytes.NewReader(key), iotest.ErrReader(broken)), 0)
	if _, err := r.Next(); err != nil {
		t.Error(err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "reading packets: ") {
		t.Error(err)
	}
}

// TestLooksLikeKey: behind rubbish only keys of a version, an algorithm and a length that exist count.
func TestLooksLikeKey(t *testing.T) {
	key := func(version, algorithm byte, length int) []byte {
		return append(binary.BigEndian.AppendUint16([]byte{0x99}, uint16(length)), version, 0, 0, 0, 0, algorithm, 0, 0, 0)
	}
	for _, c := range []struct {
		version, algorithm byte
		length             int
		want               bool
	}{
		{4, 1, 20, true}, {6, 27, 42, true}, {4, 1, 19, false}, {4, 1, 8192, true}, {4, 1, 8193, false}, {3, 1, 100, false}, {5, 1, 100, false},
		{4, 0, 100, false}, {4, 3, 100, true}, {4, 4, 100, false}, {4, 15, 100, false}, {4, 16, 100, true}, {4, 36, 100, true}, {4, 37, 100,
			false},
		{6, 4, 100, false}, {7, 16, 100, false},
	} {
		if got := looksLikeKey(key(c.version, c.algorithm, c.length)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if looksLikeKey(key(4, 1, 100)[:8]) || looksLikeKey([]byte("\xcd\x64\x04\x00\x00\x00\x00\x01\x00\x00")) {
		t.Error("a key that is cut off, or a user ID")
	}
}

// TestKeys: what keys say, and the fingerprint of RFC 9580's sample (appendix A.3).
func TestKeys(t *testing.T) {
	sample, err := base64.StdEncoding.DecodeString("BmOHf+MbAAAAIPlNp7tI1gph5WdwamWH0DMZmbudiRoIJC6thFQ9+JWj")
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseKey(sample)
	const want = "CB186C4F0609A697E4D52DFA6C722B0C1F1E27C18A56708F6525EC27BAD9ACC9"
	if err != nil || k.Fingerprint.String() != want || k.Kind() != "Ed25519" ||
		k.Short() || k.Fingerprint.ID() != 0xCB186C4F0609A697 || k.Created.Unix() != 0x63877fe3 {
		t.Errorf("%+v, %v", k, err)
	}
	for bits, short := range map[int]bool{1024: true, 2047: true, 2048: false, 4096: false} {
		k, err := ParseKey(key4(bits))
		if err != nil || k.Bits != bits || k.Short() != short || k.Kind() != fmt.Sprintf("%d-bit RSA", bits) {
			t.Errorf("%+v, %v", k, err)
		}
		if _, err := ParseKey(key4(bits)[:len(key4(bits))-1]); err == nil || !strings.Contains(err.Error(), "a RSA key whose number is cut off") {
			t.Errorf("%d bits, cut: %v", bits, err)
		}
	}
	for algorithm, counted := range map[Algorithm]bool{1: true, 3: true, 16: true, 17: true, 20: true, 18: false, 19: false, 22: false,
		27: false} {
		if k := (Key{Algorithm: algorithm, Bits: 100}); k.Short() != counted {
			t.Errorf("%s: %v", algorithm, k.Short())
		}
	}
	if got := Algorithm(99).String(); got != "algorithm 99" {
		t.Error(got)
	}
	for text, want := range map[string]string{"\x04aaaa\x01\x00": "a key of 7 bytes", "\x05aaaa\x01\x00\x00": "a version 5 key",
		"\x06aaaa\x1b\x00\x00\x00\x00\x00": "a version 6 key of 11 bytes"} {
		if _, err := ParseKey([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if got := Fingerprint("x").ID(); got != 0 {
		t.Error(got)
	}
	if got := HashPrefix(sample); !bytes.Equal(got, []byte{0x9b, 0, 0, 0, 42}) {
		t.Errorf("% x", got)
	}
	if got := HashPrefix(key4(1024)); !bytes.Equal(got, []byte{0x99, 0, 136}) {
		t.Errorf("% x", got)
	}
}

// signature4 is a signature with areas of subpackets, signed and not.
func signature(version byte, hashed, unhashed string) []byte {
	b := []byte{version, byte(CertPositive), 1, 8}
	for _, area := range []string{hashed, unhashed} {
		if version == 6 {
			b = append(b, 0, 0)
		}
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(area))), area...)
	}
	return append(b, 0xab, 0xcd)
}

func sub(kind byte, data string) string { return string([]byte{byte(1 + len(data)), kind}) + data }

// TestSignatures: what subpackets say (RFC 9580, section 5.2.3.7). Of those that are not signed the issuer counts alone.
func TestSignatures(t *testing.T) {
	const hour = "\x00\x00\x0e\x10"
	finger4, finger6 := strings.Repeat("f", 20), strings.Repeat("s", 32)
	plain := Signature{Version: 4, Type: CertPositive, Hash: 8, Algorithm: 1}
	with := func(change func(s *Signature)) Signature { s := plain; change(&s); return s }
	wide := func(n int) string { // a notation of that length
		return string([]byte{byte((n-192)>>8 + 192), byte(n - 192)}) + "\x14" + strings.Repeat("x", n-1)
	}
	for _, c := range []struct {
		name, hashed, unhashed string
		want                   Signature
	}{
		{"nothing", "", "", plain},
		{"created", sub(2, "\x00\x00\x00\x07"), "", with(func(s *Signature) { s.Created = time.Unix(7, 0) })},
		{"critical", sub(0x82, "\x00\x00\x00\x07"), "", with(func(s *Signature) { s.Created = time.Unix(7, 0) })},
		{"lifetimes", sub(3, hour) + sub(9, "\x00\x00\x00\x02"), "",
			with(func(s *Signature) { s.Lifetime, s.KeyLifetime = time.Hour, 2*time.Second })},
		{"local", sub(4, "\x00"), "", with(func(s *Signature) { s.Local = true })},
		{"exportable", sub(4, "\x01"), "", plain},
		{"trust", sub(5, "\x02\x78"), "", with(func(s *Signature) { s.TrustDepth = 2 })},
		{"irrevocable", sub(7, "\x00"), "", with(func(s *Signature) { s.Irrevocable = true })},
		{"revocable", sub(7, "\x01"), "", plain},
		{"a revoker", sub(12, "\x80\x01"+finger4), "", with(func(s *Signature) { s.Revokers = []Fingerprint{Fingerprint(finger4)} })},
		{"none by its class", sub(12, "\x00\x01"+finger4), "", plain},
		{"more revokers than count", strings.Repeat(sub(12, "\x80\x01"+finger4), 9), "",
			with(func(s *Signature) { s.Revokers = slices.Repeat([]Fingerprint{Fingerprint(finger4)}, 8) })},
		{"an issuer", "", sub(16, "\x00\x00\x00\x00\x00\x00\x00\x07"), with(func(s *Signature) { s.Issuer = 7 })},
		{"two", sub(16, "\x00\x00\x00\x00\x00\x00\x00\x08"), sub(16, "\x00\x00\x00\x00\x00\x00\x00\x07"),
			with(func(s *Signature) { s.Issuer = 8 })},
		{"a reason", sub(29, "\x02lost"), "", with(func(s *Signature) { s.Reason = 2 })},
		{"an issuer's fingerprint", sub(16, "\x00\x00\x00\x00\x00\x00\x00\x07"), sub(33, "\x04"+finger4),
			with(func(s *Signature) { s.IssuerFingerprint, s.Issuer = Fingerprint(finger4), 0x6666666666666666 })},
		{"of version 6", sub(33, "\x06"+finger6), sub(33, "\x04"+finger4),
			with(func(s *Signature) { s.IssuerFingerprint, s.Issuer = Fingerprint(finger6), 0x7373737373737373 })},
		{"of the wrong length", sub(33, "\x04"+finger6) + sub(33, "\x06"+finger4), "", plain},
		{"not signed", "", sub(2, "\x00\x00\x00\x07") + sub(3, hour) + sub(4, "\x00") + sub(29, "\x02"), plain},
		{"too short", sub(2, "\x00\x00\x07") + sub(3, "\x0e\x10") + sub(9, "\x01") + sub(4, "") + sub(5, "") + sub(7, "") + sub(29, "") +
			sub(12, "\x80\x01short") + sub(16, "short"), "", plain},
		{"long ones before", wide(192) + wide(8000) + sub(4, "\x00"), "", with(func(s *Signature) { s.Local = true })},
		{"one of five octets before", "\xff\x00\x00\x00\x02\x14x" + sub(4, "\x00"), "", with(func(s *Signature) { s.Local = true })},
	} {
		for _, version := range []byte{4, 6} {
			want := c.want
			want.Version = int(version)
			if got, err := ParseSignature(signature(version, c.hashed, c.unhashed)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, version %d: %+v, %v, want %+v", c.name, version, got, err, want)
			}
		}
	}
	const cut, longer, area = "a signature that is cut off", "a subpacket that is longer than its area",
		"a signature whose subpackets are longer than itself"
	for _, c := range []struct {
		name string
		body []byte
		want string
	}{
		{"one byte", []byte{4}, "a signature of 1 bytes"}, {"five", []byte{4, 0x13, 1, 8, 0}, "a signature of 5 bytes"},
		{"version 5", []byte{5, 0x13, 1, 8, 0, 0}, "a version 5 signature"}, {"without the second area", signature(4, "", "")[:7], cut},
		{"six, of version 6", []byte{6, 0x13, 1, 8, 0, 0}, cut},
		{"an area that leads out", []byte{4, 0x13, 1, 8, 0, 9, 1}, area}, {"the second one", signature(4, "", sub(4, "\x00"))[:10], area},
		{"a subpacket that leads out", signature(4, "\x03\x04\x00", ""), longer}, {"not signed", signature(4, "", "\x03\x04\x00"), longer},
		{"an empty one", signature(4, "\x00", ""), longer}, {"half a length", signature(4, "\xc0", ""), longer},
		{"half a longer one", signature(4, "\xff\x00\x00\x00", ""), longer}, {"a huge one", signature(4, "\xff\xff\xff\xff\xff\x04", ""), longer},
	} {
		if s, err := ParseSignature(c.body); err == nil || err.Error() != c.want {
			t.Errorf("%s: %+v, %v, want %s", c.name, s, err, c.want)
		}
	}
}

// TestOldSignatures: a version 3 signature has time and issuer at fixed places.
func TestOldSignatures(t *testing.T) {
	body := []byte{3, 5, 0x10, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8, 17, 2, 0xab, 0xcd}
	want := Signature{Version: 3, Type: CertGeneric, Created: time.Unix(7, 0), Issuer: 0x0102030405060708, Algorithm: 17, Hash: SHA1}
	if got, err := ParseSignature(body); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	other := bytes.Clone(body)
	other[1] = 6
	for _, b := range [][]byte{body[:18], other} {
		if _, err := ParseSignature(b); err == nil || err.Error() != "a version 3 signature that is cut off" {
			t.Errorf("% x: %v", b, err)
		}
	}
}

func TestNames(t *testing.T) {
	for h, want := range map[Hash]string{MD5: "MD5 weak", SHA1: "SHA-1 weak", RIPEMD160: "RIPEMD-160 weak", 8: "SHA-256", 11: "SHA-224",
		99: "hash 99"} {
		got := h.String()
		if h.Weak() {
			got += " weak"
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for typ, want := range map[SigType]bool{0x0f: false, CertGeneric: true, CertPersona: true, CertPositive: true, 0x14: false,
		CertRevocation: false} {
		if got := typ.Certifies(); got != want {
			t.Errorf("%#x: %v", typ, got)
		}
	}
	s := Signature{Created: time.Unix(100, 0)}
	if !s.Expires().IsZero() {
		t.Error(s.Expires())
	}
	if s.Lifetime = time.Minute; !s.Expires().Equal(time.Unix(160, 0)) {
		t.Error(s.Expires())
	}
}

// TestKeyblocks: the parts of a keybox that hold packets; damage is named by its place, and what came before it is kept.
func TestKeyblocks(t *testing.T) {
	blob := func(kind byte, length, start, size uint32, bytes int) string {
		b := binary.BigEndian.AppendUint32(nil, length)
		b = append(b, kind, 1, 0, 0)
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, start), size)
		return string(append(b, make([]byte, bytes-len(b))...))
	}
	head := blob(1, 32, 0, 0, 32)
	for _, c := range []struct{ name, box, want string }{
		{"no keys", head, "[] <nil>"},
		{"a key", head + blob(2, 64, 20, 30, 64), "[{52 30}] <nil>"},
		{"one to the end", head + blob(2, 64, 20, 44, 64), "[{52 44}] <nil>"},
		{"one beyond it", head + blob(2, 64, 20, 45, 64), "[] <nil>"},
		{"a certificate", head + blob(3, 64, 20, 30, 64) + blob(2, 64, 20, 30, 64), "[{116 30}] <nil>"},
		{"one that is too short", head + blob(2, 16, 0, 0, 16), "[] <nil>"},
		{"damage", head + blob(2, 64, 20, 30, 64) + blob(2, 4, 0, 0, 16), "[{52 30}] the keybox is damaged at byte 96"},
		{"cut", head + blob(2, 65, 20, 30, 64), "[] the keybox is damaged at byte 32"},
		{"a rest", head + "\x00\x00\x00\x05", "[] <nil>"},
		{"the shortest", head + "\x00\x00\x00\x05\x00", "[] <nil>"},
	} {
		got, err := Keyblocks(strings.NewReader(c.box), int64(len(c.box)))
		if said := fmt.Sprint(got, " ", err); said != c.want {
			t.Errorf("%s: %s, want %s", c.name, said, c.want)
		}
	}
	if got, err := Keyblocks(strings.NewReader(head), 1000); err != nil || len(got) > 0 { // it became shorter meanwhile
		t.Error(got, err)
	}
	if _, err := Keyblocks(badSector{}, 1000); err == nil || err.Error() != "reading the keybox: a bad sector" {
		t.Error(err)
	}
}

type badSector struct{}

func (badSector) ReadAt([]byte, int64) (int, error) { return 0, errors.New("a bad sector") }

// TestDearmor: what blocks hold, one after the other, and no more than the limit.
func TestDearmor(t *testing.T) {
	block := func(kind, text string) string {
		return "-----BEGIN PGP " + kind + "-----\n\n" + base64.StdEncoding.EncodeToString([]byte(text)) + "\n-----END PGP " + kind + "-----\n"
	}
	const key = "PUBLIC KEY BLOCK"
	text := "words\n" + block(key, "hello") + "words\n" + block("SIGNATURE", "no") + block(key, " world")
	if got, err := Dearmor(strings.NewReader(text), 11); err != nil || string(got) != "hello world" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Dearmor(strings.NewReader(text), 10); err == nil || !strings.Contains(err.Error(),
		"more than 10 bytes of ASCII armor: gpg --dearmor") {
		t.Error(err)
	}
	if _, err := Dearmor(strings.NewReader(strings.Replace(text, "aGVsbG8=", "!!!!", 1)), 100); err == nil || !strings.HasPrefix(err.Error(),
		"reading ASCII armor: ") {
		t.Error(err)
	}
	broken := errors.New("a bad sector")
	if _, err := Dearmor(io.MultiReader(strings.NewReader("words\n"), iotest.ErrReader(broken)), 100); !errors.Is(err, broken) {
		t.Error(err)
	}
}
