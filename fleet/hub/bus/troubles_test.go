package bus

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// says wants an error that begins so, and is whole.
func says(t *testing.T, what string, err error, begins string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), begins) || strings.Contains(err.Error(), "%!") {
		t.Errorf("%s: %v, want %q", what, err, begins)
	}
}

// free wants locks to be free.
func free(t *testing.T, locks ...*sync.Mutex) {
	t.Helper()
	for _, l := range locks {
		if !l.TryLock() {
			t.Fatal("a lock is held after what it was for")
		}
		l.Unlock()
	}
}

// they sign later; it stays as it is.
func TestKeysOfAnotherKind(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadKeys(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, keyFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(s *seeds){
		"the operator's is an account's": func(s *seeds) { s.Operator = s.System },
		"the system's is an operator's":  func(s *seeds) { s.System = s.Operator },
		"the account's is an operator's": func(s *seeds) { s.Account = s.Operator },
		"what signs is an operator's":    func(s *seeds) { s.Signing = s.Operator },
		"none signs":                     func(s *seeds) { s.Signing = "" },
	} {
		var s seeds
		if err := json.Unmarshal(whole, &s); err != nil {
			t.Fatal(err)
		}
		spoil(&s)
		b, _ := json.Marshal(s)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = LoadKeys(dir)
		says(t, what, err, file+": ")
		if now, err := os.ReadFile(file); err != nil || string(now) != string(b) {
			t.Errorf("%s: the file is another: %v", what, err)
		}
	}
	for what, b := range map[string]string{"cut off": "{", "empty": ""} {
		if err := os.WriteFile(file, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
		says(t, what, NewSigning(dir), file+": ")
		_, err := LoadKeys(dir)
		says(t, what, err, file+": ")
	}
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	_, err = LoadKeys(dir)
	says(t, "a folder", err, "read "+file)
}

// is made again in its last month, and when the authority is another.
func TestCertificatesLast(t *testing.T) {
	dir := t.TempDir()
	const day = 24 * time.Hour
	get := func() tls.Certificate {
		t.Helper()
		c, err := OwnCertificate(dir, []string{"a", "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := get()
	text, err := CA(dir)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatal("no certificate of an authority")
	}
	for _, name := range []string{"a", "127.0.0.1"} {
		if _, err := first.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name}); err != nil {
			t.Error(err)
		}
	}
	authority, err := ownCA(dir)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		cert   *x509.Certificate
		lasts  time.Duration
		longer time.Duration
	}{"authority": {authority.Leaf, 19 * 365 * day, 21 * 365 * day}, "certificate": {first.Leaf, 700 * day, 735 * day}} {
		left, old := time.Until(c.cert.NotAfter), time.Since(c.cert.NotBefore)
		if left < c.lasts || left > c.longer || old < 364*day || old > 366*day {
			t.Errorf("%s: valid from %s to %s", what, c.cert.NotBefore, c.cert.NotAfter)
		}
	}
	if len(first.Certificate) != 2 || !slices.Equal(first.Certificate[1], authority.Certificate[0]) ||
		!slices.Equal(first.Certificate[0], first.Leaf.Raw) {
		t.Errorf("%d certificates are shown", len(first.Certificate))
	}
	again := get()
	if len(again.Certificate) != 2 || !slices.Equal(again.Certificate[0], first.Certificate[0]) {
		t.Error("made again without need")
	}
	for left, kept := range map[time.Duration]bool{31 * day: true, 29 * day: false} {
		c := *first.Leaf
		c.NotAfter = time.Now().Add(left)
		if fits(&c, authority.Leaf, []string{"a"}) != kept {
			t.Errorf("kept %s before its end: %t", left, !kept)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, CAFile)), os.Remove(filepath.Join(dir, caKey))); err != nil {
		t.Fatal(err)
	}
	if c := get(); c.Leaf.CheckSignatureFrom(authority.Leaf) == nil {
		t.Error("of an authority that is gone")
	}
}

// Certificates that cannot be read or written are errors, and what is there is not replaced: hosts trust it.
func TestCertificateTroubles(t *testing.T) {
	for what, c := range map[string]struct {
		names []string
		spoil func(dir string) error
		says  string
	}{
		"no folder":             {[]string{"a"}, os.RemoveAll, "open "},
		"a name that cannot be": {[]string{"hüb"}, nil, "x509: "},
		"a damaged authority": {[]string{"a"}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, CAFile), nil, 0o600)
		}, "tls: "},
		"a damaged certificate": {[]string{"a"}, func(dir string) error {
			_, err := OwnCertificate(dir, []string{"a"})
			return errors.Join(err, os.WriteFile(filepath.Join(dir, certFile), nil, 0o600))
		}, "tls: "},
		"a folder for a key": {[]string{"a"}, func(dir string) error {
			return os.Mkdir(filepath.Join(dir, certKey), 0o700)
		}, "rename "},
		"a folder for an own key": {[]string{"a"}, func(dir string) error {
			return os.Mkdir(filepath.Join(dir, caKey), 0o700)
		}, "read "},
	} {
		dir := t.TempDir()
		if what != "a folder for an own key" {
			if _, err := ownCA(dir); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(filepath.Join(dir, CAFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.spoil != nil {
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := os.ReadFile(filepath.Join(dir, CAFile))
		made, err := OwnCertificate(dir, c.names)
		says(t, what, err, c.says)
		if len(made.Certificate) > 1 {
			t.Errorf("%s: %d certificates", what, len(made.Certificate))
		}
		if conf, err := OwnTLS(dir, c.names); err == nil || conf != nil {
			t.Errorf("%s: served nevertheless", what)
		}
		if after, _ := os.ReadFile(filepath.Join(dir, CAFile)); string(after) != string(before) {
			t.Errorf("%s: the authority is another", what)
		}
	}
	dir := t.TempDir()
	if _, err := OwnCertificate(dir, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	conf, err := OwnTLS(dir, []string{"a"})
	if err != nil || conf.MinVersion < tls.VersionTLS12 {
		t.Fatal(err)
	}
	if c, err := conf.GetCertificate(nil); err != nil || c.Leaf.VerifyHostname("a") != nil {
		t.Error(err)
	}
	file, key := filepath.Join(dir, certFile), filepath.Join(dir, CAFile)
	_, err = ServerTLS(file, key)
	says(t, "a key that is none", err, file+", "+key+": tls: ")
}
