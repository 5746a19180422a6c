package keypath

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// ring makes a key for each name; each signs the next one's. It returns each
// as gpg --export would.
func ring(t *testing.T, names ...string) map[string][]byte {
	t.Helper()
	c := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC) }}
	out := map[string][]byte{}
	var last *openpgp.Entity
	for _, n := range names {
		e, err := openpgp.NewEntity(n, "", n+"@example.org", c)
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			if err := e.SignIdentity(fmt.Sprintf("%s <%s@example.org>", n, n), last, c); err != nil {
				t.Fatal(err)
			}
		}
		last = e
		var b bytes.Buffer
		if err := e.Serialize(&b); err != nil {
			t.Fatal(err)
		}
		out[n] = b.Bytes()
	}
	return out
}

// run runs the verb as the command line would.
func run(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out, warnings bytes.Buffer
	wrong := func(format string, args ...any) error { return fmt.Errorf(format, args...) }
	c := New(Given{Stdout: &out, Stderr: &warnings, Usagef: wrong, Failf: wrong})
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(append([]string{"--cache", filepath.Join(t.TempDir(), "cache")}, args...))
	err = c.Execute()
	return out.String(), err
}

func keep(t *testing.T, parts ...[]byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.gpg")
	if err := os.WriteFile(file, bytes.Join(parts, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPaths(t *testing.T) {
	k := ring(t, "alice", "bob", "carol")
	all, carol := keep(t, k["alice"], k["bob"]), keep(t, k["carol"])
	out, err := run(t, "--keyring", all, "alice@example.org", carol)
	if err != nil || !strings.Contains(out, "A shortest path: 2 signatures") || strings.Count(out, "signed 2024-01-02, SHA-") != 2 {
		t.Errorf("text: %v\n%s", err, out)
	}
	out, err = run(t, "--keyring", all, "--format", "json", "alice", carol)
	var j pathsJSON
	if err != nil || json.Unmarshal([]byte(out), &j) != nil || len(j.Paths) != 1 || len(j.Paths[0]) != 2 || !j.Paths[0][1].Valid {
		t.Errorf("json: %v\n%s", err, out)
	}
	for format, want := range map[string]string{"svg": "</svg>", "dot": "digraph keypath {"} {
		if out, err = run(t, "--keyring", all, "--format", format, "alice", carol); err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", format, err, out)
		}
	}
	out, err = run(t, "--keyring", all, "--why-not", "--at", "2025-01-01", carol, "alice")
	if err != nil || !strings.Contains(out, "No signatures lead there") {
		t.Errorf("why not: %v\n%s", err, out)
	}
	out, err = run(t, "--keyring", all, "stats", "--verify")
	if err != nil || !strings.Contains(out, "2, of which 2 are live") {
		t.Errorf("stats: %v\n%s", err, out)
	}
}

// TestCache: the index is kept where help says.
func TestCache(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", home)
	k := ring(t, "alice", "bob")
	if _, err := run(t, "--cache", "", "--keyring", keep(t, k["alice"], k["bob"]), "alice", "bob"); err != nil {
		t.Fatal(err)
	}
	if es, err := os.ReadDir(filepath.Join(home, ".cache/fettle/keypath")); err != nil || len(es) == 0 {
		t.Errorf("%v, %v", es, err)
	}
	help := New(Given{}).Flag("cache").Usage
	if !strings.HasSuffix(help, "(default ~/.cache/fettle/keypath)") {
		t.Error(help)
	}
}

func TestBadInput(t *testing.T) {
	k := ring(t, "alice", "bob")
	two := ring(t, "alice")
	all := keep(t, k["alice"], k["bob"], two["alice"])
	rubbish := t.TempDir()
	if err := os.WriteFile(filepath.Join(rubbish, "readme"), []byte("no keys"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--keyring", all, "dave", "bob"}, `no key for dave among the 3 keys read; --network asks keyservers`},
		{[]string{"--keyring", all, "alice@example.org", "bob"}, "alice@example.org is the name of 2 keys; give a fingerprint:"},
		{[]string{"--keyring", rubbish, "a", "b"}, "none of the 1 files in " + rubbish + " contains OpenPGP public keys"},
		{[]string{"--keyring", "/nowhere.gpg", "a", "b"}, "keyring /nowhere.gpg: no such file or directory"},
		{[]string{"--keyring", "/dev/null", "a", "b"}, "keyring /dev/null is not a regular file"},
		{[]string{"--keyring", all, "bob"}, "expected two keys"},
		{[]string{"--keyring", all, "bob", "bob"}, "is both ends"},
		{[]string{"--keyring", all, "--at", "yesterday", "bob", "bob"}, "expected a date such as"},
		{[]string{"--keyring", all, "--allow", "md5", "bob", "bob"}, "expected sha1 or short-keys"},
		{[]string{"--keyring", all, "--disjoint", "0", "bob", "bob"}, "--disjoint 0"},
		{[]string{"--keyring", all, "--at", "2025-01-01", "bob", keep(t, k["alice"])}, "no path of at most 30 signatures: FROM leads to 0 of " +
			"3 keys, and 0 lead to TO"},
	} {
		if out, err := run(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q\n%s", c.args, err, c.want, out)
		}
	}
}

// keyserver answers as HKP has it; it also sends a key that was not asked for,
// which must not be taken.
func keyserver(t *testing.T, keys, decoy map[string][]byte) (string, *[]string) {
	t.Helper()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		search := strings.TrimPrefix(r.URL.Query().Get("search"), "0x")
		asked = append(asked, search)
		for name, b := range keys {
			e, err := openpgp.ReadEntity(packet.NewReader(bytes.NewReader(b)))
			if err != nil {
				t.Error(err)
			}
			if fmt.Sprintf("%016X", e.PrimaryKey.KeyId) == search || name+"@example.org" == search {
				w.Write(b)
				w.Write(decoy["decoy"])
				return
			}
		}
		http.Error(w, "not found", http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	return s.URL, &asked
}

func TestNetwork(t *testing.T) {
	k := ring(t, "alice", "bob", "carol", "dave")
	url, asked := keyserver(t, k, ring(t, "decoy"))
	alice := keep(t, k["alice"])
	cache := t.TempDir()
	args := []string{"--cache", cache, "--keyring", alice, "--keyring", keep(t, k["dave"]), "--network", "--keyserver", url, "alice", "dave"}
	out, err := run(t, args...)
	if err != nil || !strings.Contains(out, "3 signatures") {
		t.Fatalf("%v\n%s\nasked %v", err, out, *asked)
	}
	if len(*asked) != 2 {
		t.Errorf("asked %v, want two keys", *asked)
	}
	if out, err = run(t, args...); err != nil || len(*asked) != 2 {
		t.Errorf("the second time: %v, asked %v\n%s", err, *asked, out)
	}
	if out, err = run(t, "--cache", cache, "--keyring", alice, "--network", "--keyserver", url, "alice", "decoy"); err == nil ||
		!strings.Contains(err.Error(), "no key for decoy") {
		t.Errorf("a key that nobody asked for was taken: %v\n%s", err, out)
	}
	before := len(*asked)
	for range 2 { // what nobody has is not asked for again the same day
		run(t, "--cache", cache, "--keyring", alice, "--network", "--keyserver", url, "alice", "0123456789ABCDEF")
	}
	if len(*asked) != before+1 {
		t.Errorf("asked %v for a key that nobody has, want once", (*asked)[before:])
	}
	before = len(*asked)
	limited := []string{
		"--keyring",
		alice,
		"--keyring",
		keep(t, k["dave"]),
		"--network",
		"--fetch",
		"1",
		"--keyserver",
		url,
		"alice",
		"dave",
	}
	if out, err = run(t, limited...); err == nil || len(*asked) > before+1 {
		t.Errorf("--fetch 1: %v, asked %v\n%s", err, *asked, out)
	}
	if _, err := run(t, "--keyring", alice, "--network", "--keyserver", "http://127.0.0.1:1", "alice", "0123456789ABCDEF"); err == nil ||
		errors.Is(err, os.ErrNotExist) {
		t.Errorf("a keyserver that does not answer: %v", err)
	}
}

// What others put into user ids and folders.
func TestHostileSurroundings(t *testing.T) {
	c := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC) }}
	var all [][]byte
	var last *openpgp.Entity
	const evil = "\u009b2J\u202e\u0085&\"\\"
	for _, n := range []string{"first", "last"} {
		e, err := openpgp.NewEntity(n+evil, "", n+"@example.org", c)
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			for id := range e.Identities {
				if err := e.SignIdentity(id, last, c); err != nil {
					t.Fatal(err)
				}
			}
		}
		last = e
		var b bytes.Buffer
		if err := e.Serialize(&b); err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Bytes())
	}
	file := keep(t, all...)
	for _, format := range []string{"text", "json", "svg", "dot"} {
		out, err := run(t, "--keyring", file, "--format", format, "first@example.org", "last@example.org")
		if err != nil || strings.ContainsAny(out, "\x1b\u009b\u202e\u0085") {
			t.Errorf("%s: %v %q", format, err, out)
		}
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, "--cache", open, "--keyring", file, "first@example.org", "last@example.org"); err == nil ||
		!strings.Contains(err.Error(), "others can write to it") {
		t.Errorf("a cache folder for everybody: %v", err)
	}
}
