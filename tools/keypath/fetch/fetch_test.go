package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pgp "github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"fettle/internal/means"
)

// key makes a key: its fingerprint, and what gpg --export writes.
func key(t *testing.T, name string) (fingerprint string, packets []byte) {
	t.Helper()
	e, err := pgp.NewEntity(name, "", name+"@example.org", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := e.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%X", e.PrimaryKey.Fingerprint), b.Bytes()
}

func armored(b []byte) []byte {
	var out bytes.Buffer
	w, _ := armor.Encode(&out, "PGP PUBLIC KEY BLOCK", nil)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// answering is a keyserver that gives one answer, cut off where its status is 0, and counts the questions.
func answering(t *testing.T, status int, body []byte) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.Host+" "+r.URL.Query().Get("search"))
		if status == 0 {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)+1))
			w.Write(body)
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// TestByID: of what servers send, the key that was asked for is kept, and no other.
func TestByID(t *testing.T) {
	alice, a := key(t, "alice")
	_, b := key(t, "bob")
	good, _ := answering(t, 200, bytes.Join([][]byte{b, a, b}, nil))
	inArmor, _ := answering(t, 200, armored(a))
	other, _ := answering(t, 200, b)
	broken, _ := answering(t, 200, []byte{0xc6, 2, 4, 0}) // a public key of two bytes
	none, _ := answering(t, 404, a)
	ill, _ := answering(t, 500, a)
	cut, _ := answering(t, 0, a)
	for name, c := range map[string]struct {
		id      string
		servers []string
		left    int
		kept    []byte // nil: none; empty: that there is none
		err     string // "" where the key is there
		asked   int
	}{
		"fingerprint":       {alice, []string{good}, 1, a, "", 1},
		"small letters":     {strings.ToLower(alice), []string{good}, 1, a, "", 1},
		"long id":           {alice[24:], []string{good, good}, 2, a, "", 1},
		"armored":           {alice, []string{inArmor}, 1, a, "", 1},
		"another's":         {alice, []string{other}, 1, []byte{}, "no keyserver has it", 1},
		"no key":            {alice, []string{broken}, 1, []byte{}, "no keyserver has it", 1},
		"none, then there":  {alice, []string{none, other, good}, 3, a, "", 3},
		"none":              {alice, []string{none, none}, 3, []byte{}, "no keyserver has it", 2},
		"ill":               {alice, []string{ill}, 1, nil, "it answers 500 Internal Server Error", 1},
		"ill, then there":   {alice, []string{ill, good}, 2, a, "", 2},
		"none, then ill":    {alice, []string{none, ill}, 2, nil, "it answers 500", 2},
		"cut off":           {alice, []string{cut}, 1, nil, "EOF", 1},
		"nobody there":      {alice, []string{"http://127.0.0.1:1"}, 1, nil, "connection refused", 1},
		"no requests left":  {alice, []string{good}, 0, nil, "no more keys are fetched: 0 requests were sent (--fetch allows more)", 0},
		"one request left":  {alice, []string{none, good}, 1, nil, "no more keys are fetched: 1 requests were sent", 1},
		"no server at all":  {alice, nil, 1, []byte{}, "no keyserver has it", 0},
		"no such transport": {alice, []string{"ftp://127.0.0.1"}, 1, nil, "ftp", 1},
	} {
		cl := Client{Servers: c.servers, Folder: t.TempDir(), Left: c.left}
		got, err := cl.ByID(t.Context(), c.id)
		if got != (c.err == "") || c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, %v; want %q", name, got, err, c.err)
		}
		if cl.Asked != c.asked || cl.Left != c.left-c.asked {
			t.Errorf("%s: %d asked, %d left", name, cl.Asked, cl.Left)
		}
		kept, err := os.ReadFile(filepath.Join(cl.Folder, strings.ToUpper(c.id)+".pgp"))
		if (err == nil) != (c.kept != nil) || !bytes.Equal(kept, c.kept) {
			t.Errorf("%s: kept %x, %v; want %x", name, kept, err, c.kept)
		}
	}
	before := means.OpenFiles(t)
	cl := Client{Servers: []string{ill}, Folder: t.TempDir(), Left: 1}
	if cl.ByID(t.Context(), alice); !maps.Equal(before, means.OpenFiles(t)) {
		t.Errorf("left open: %v, before %v", means.OpenFiles(t), before)
	}
	cl = Client{Servers: []string{good}, Folder: "fetch_test.go", Left: 1}
	if _, err := cl.ByID(t.Context(), alice); err == nil || !strings.HasPrefix(err.Error(), "keeping a key: ") {
		t.Errorf("a file in the place of the folder: %v", err)
	}
}

// TestKept: when a key that was fetched, or that nobody had, is asked for again.
func TestKept(t *testing.T) {
	alice, a := key(t, "alice")
	for _, c := range []struct {
		text  string
		age   time.Duration
		again bool
	}{
		{"a key", fresh - time.Hour, false}, {"a key", fresh + time.Hour, true}, {"a key", absent + time.Hour, false},
		{"", absent - time.Hour, false}, {"", absent + time.Hour, true},
	} {
		url, asked := answering(t, 200, a)
		cl := Client{Servers: []string{url}, Folder: t.TempDir(), Left: 5}
		file, at := filepath.Join(cl.Folder, alice+".pgp"), time.Now().Add(-c.age)
		if err := errors.Join(os.WriteFile(file, []byte(c.text), 0o600), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
		got, err := cl.ByID(t.Context(), alice)
		if got != c.again || len(*asked) > 0 != c.again || errors.Is(err, ErrNone) != (c.text == "" && !c.again) {
			t.Errorf("%q, %s old: %v, %v, asked %q", c.text, c.age, got, err, *asked)
		}
	}
}

// TestByAddress: the domain's two URLs are asked first, through a proxy that reaches neither, and then keyservers.
func TestByAddress(t *testing.T) {
	_, a := key(t, "alice")
	_, b := key(t, "bob")
	proxy, domain := answering(t, 502, nil)
	t.Setenv("https_proxy", proxy)
	for _, c := range []struct {
		status int
		err    error
	}{{200, nil}, {404, ErrNone}} {
		url, asked := answering(t, c.status, append(bytes.Clone(a), b...))
		*domain = nil
		cl := Client{Servers: []string{url}, Folder: filepath.Join(t.TempDir(), "keys"), Left: 5}
		if kept, err := cl.Kept(); err != nil || kept != nil {
			t.Errorf("before: %q, %v", kept, err)
		}
		if err := cl.Prepare(); err != nil {
			t.Fatal(err)
		}
		if err := cl.ByAddress(t.Context(), "Alice@example.org"); !errors.Is(err, c.err) {
			t.Errorf("%d: %v", c.status, err)
		}
		if got := strings.Join(*domain, ", "); got != "CONNECT openpgpkey.example.org:443 , CONNECT example.org:443 " {
			t.Errorf("asked of the domain: %s", got)
		}
		if len(*asked) != 1 || !strings.HasSuffix((*asked)[0], " Alice@example.org") {
			t.Errorf("asked of the keyserver: %q", *asked)
		}
		os.WriteFile(filepath.Join(cl.Folder, "notes.txt"), []byte("x"), 0o600)
		kept, err := cl.Kept()
		switch {
		case c.err != nil && len(kept) > 0, c.err == nil && len(kept) != 1, err != nil:
			t.Errorf("%d: kept %q, %v", c.status, kept, err)
		case c.err == nil:
			if got, _ := os.ReadFile(kept[0]); !bytes.Equal(got, append(bytes.Clone(a), b...)) {
				t.Errorf("kept %x", got)
			}
		}
	}
	cl := Client{Folder: "fetch_test.go"}
	if err := cl.ByAddress(t.Context(), "nobody"); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("no address: %v", err)
	}
	if err := cl.Prepare(); err == nil || !strings.HasPrefix(err.Error(), "a folder for keys that are fetched: ") {
		t.Errorf("a file in the place of the folder: %v", err)
	}
	if _, err := cl.Kept(); err == nil || !strings.HasPrefix(err.Error(), "the folder of keys that were fetched: ") {
		t.Errorf("a file in the place of the folder: %v", err)
	}
}
