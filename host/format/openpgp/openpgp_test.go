package openpgp

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"fettle/internal/means"
)

func TestForm(t *testing.T) {
	for _, c := range []struct {
		head string
		want Form
	}{
		{"", Empty},
		{"\x99\x01\x0d\x04", Binary},
		{"\x98\x33\x04", Binary},
		{"\xc6\x33\x04", Binary},
		{"Comment\n-----BEGIN PGP PUBLIC KEY BLOCK-----\n", Armored},
		{"\x00\x00\x00\x20\x01\x01\x00\x02KBXf\x00\x00", Keybox},
		{"deb http://deb.debian.org/debian stable main\n", Unknown},
		{"\x99", Unknown},
	} {
		if got := FormOf([]byte(c.head)); got != c.want {
			t.Errorf("%q: %s, want %s", c.head, got, c.want)
		}
	}
}

// gpg makes keys in a home of its own; with it everything that is read here is
// compared.
func gpg(t *testing.T, home string, args ...string) string {
	t.Helper()
	c := exec.Command(
		"/usr/bin/gpg",
		append([]string{"--homedir", home, "--batch", "--quiet", "--no-tty", "--faked-system-time", "20200101T000000!"}, args...)...)
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	out, err := c.Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			t.Fatalf("gpg %v: %v: %s", args, err, e.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}

func TestAgainstGPG(t *testing.T) {
	means.Tool(t, "gpg")
	home, err := os.MkdirTemp("", "gpg") // its socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c := exec.Command("/usr/bin/gpgconf", "--homedir", home, "--kill", "all")
		if out, err := c.CombinedOutput(); err != nil {
			t.Logf("gpgconf: %v: %s", err, out)
		}
		os.RemoveAll(home)
	})
	gpg(t, home, "--passphrase", "", "--quick-gen-key", "Alice <alice@example.org>", "ed25519", "cert", "3y")
	gpg(t, home, "--passphrase", "", "--quick-gen-key", "Bob <bob@example.org>", "rsa1024", "default", "never")
	listed := gpg(t, home, "--with-colons", "--list-keys")
	box, err := os.ReadFile(home + "/pubring.kbx")
	if err != nil {
		t.Fatal(err)
	}
	spans, err := Keyblocks(bytes.NewReader(box), int64(len(box)))
	if err != nil || len(spans) != 2 {
		t.Fatalf("keybox: %d keys, %v", len(spans), err)
	}
	var inBox []byte
	for _, s := range spans {
		inBox = append(inBox, box[s.Start:s.Start+s.Length]...)
	}
	armored, err := Dearmor(strings.NewReader(gpg(t, home, "--armor", "--export")), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	checkDisguise(t, []byte(gpg(t, home, "--export")))
	checkDisguise(t, []byte(gpg(t, home, "--armor", "--export")))
	for form, b := range map[string][]byte{"keybox": inBox, "armor": armored, "binary": []byte(gpg(t, home, "--export"))} {
		keys := keysOf(t, b)
		if len(keys) != 2 || keys[0].Short() || !keys[1].Short() || keys[1].Bits != 1024 {
			t.Errorf("%s: %+v", form, keys)
		}
		for _, k := range keys {
			if !strings.Contains(listed, "fpr:::::::::"+k.Fingerprint.String()+":") {
				t.Errorf("%s: gpg does not list %s:\n%s", form, k.Fingerprint, listed)
			}
		}
	}
}

// checkDisguise: the keys stay of a sort, an age and a validity, and nothing of
// them is left.
func checkDisguise(t *testing.T, ring []byte) {
	t.Helper()
	out, ok := Disguise(ring, func(of []byte) []byte { h := sha256.Sum256(append([]byte("key"), of...)); return h[:] })
	if !ok || FormOf(out) != FormOf(ring) {
		t.Fatalf("disguised: %t, %s instead of %s", ok, FormOf(out), FormOf(ring))
	}
	plain := func(b []byte) []byte {
		if FormOf(b) == Armored {
			var err error
			if b, err = Dearmor(bytes.NewReader(b), 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		return b
	}
	ring, out = plain(ring), plain(out)
	was, is := keysOf(t, ring), keysOf(t, out)
	if len(is) != len(was) {
		t.Fatalf("%d keys of %d", len(is), len(was))
	}
	for i := range was {
		if was[i].Fingerprint == is[i].Fingerprint || was[i].Kind() != is[i].Kind() || !was[i].Created.Equal(is[i].Created) {
			t.Errorf("%+v became %+v", was[i], is[i])
		}
	}
	// A length, a version, a time, an algorithm and a length stay: nine bytes, with seven of the key.
	const long = 16
	for i := 0; i+long <= len(ring); i++ {
		if n := bytes.Index(out, ring[i:i+long]); n >= 0 {
			t.Errorf("%q of the keyring survives at byte %d", ring[i:i+long], n)
		}
	}
	wasSelf, isSelf := selfSignatures(ring), selfSignatures(out)
	if len(wasSelf) == 0 || !reflect.DeepEqual(wasSelf, isSelf) {
		t.Errorf("signatures %+v became %+v", wasSelf, isSelf)
	}
}

// selfSignatures are when and for how long each key's signatures by itself hold.
func selfSignatures(b []byte) (out []Signature) {
	var id uint64
	for r := NewReader(bytes.NewReader(b), 0); ; {
		p, err := r.Next()
		if err != nil {
			return out
		}
		if k, err := ParseKey(p.Body); p.Tag == TagPublicKey && err == nil {
			id = k.Fingerprint.ID()
		}
		if s, err := ParseSignature(p.Body); p.Tag == TagSignature && err == nil && s.Issuer == id {
			out = append(out, Signature{Type: s.Type, Hash: s.Hash, Created: s.Created, KeyLifetime: s.KeyLifetime})
		}
	}
}

func keysOf(t *testing.T, b []byte) (out []Key) {
	t.Helper()
	r := NewReader(bytes.NewReader(b), 0)
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Tag == TagPublicKey {
			k, err := ParseKey(p.Body)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, k)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("\x99\x00\x06\x04aaaa\x01\xcd\x05alice\xc2\x03\x04\x10\x01"))
	f.Add([]byte("rubbish\xc6\xff\xff\xff\xff\xff\x04"))
	f.Add([]byte("\x00\x00\x00\x20\x02\x01\x00\x02KBXf\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		FormOf(b)
		spans, _ := Keyblocks(bytes.NewReader(b), int64(len(b)))
		for _, s := range spans {
			if s.Start < 0 || s.Length < 0 || s.Start+s.Length > int64(len(b)) {
				t.Fatalf("a span outside of the file: %+v", s)
			}
		}
		r := NewReader(bytes.NewReader(b), 0)
		last := int64(0)
		for {
			p, err := r.Next()
			if err != nil {
				break
			}
			if p.Start < last || p.End < p.Start || p.End > int64(len(b)) {
				t.Fatalf("a packet from %d to %d after %d, of %d bytes", p.Start, p.End, last, len(b))
			}
			last = p.End
			ParseKey(p.Body)
			ParseSignature(p.Body)
		}
		if out, ok := Disguise(b, func(of []byte) []byte { return []byte("number") }); ok && len(b) > 0 && FormOf(out) != FormOf(b) {
			t.Fatalf("%s became %s", FormOf(b), FormOf(out))
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }
