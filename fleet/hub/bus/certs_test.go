package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestReloading: a certificate that others renew is served from then on, also to
// who connects by an address; half a renewal changes nothing.
func TestReloading(t *testing.T) {
	dir := t.TempDir()
	file, keyFile := filepath.Join(dir, certFile), filepath.Join(dir, certKey)
	renew := func(name string) tls.Certificate {
		t.Helper()
		os.Remove(file)
		c, err := OwnCertificate(dir, []string{name, "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := renew("one")
	conf, err := ServerTLS(file, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = c.(*tls.Conn).Handshake(); c.Close() }()
		}
	}()
	shows := func(name string) *x509.Certificate {
		t.Helper()
		c, err := tls.DialWithDialer(
			&net.Dialer{Timeout: 10 * time.Second},
			"tcp",
			l.Addr().String(),
			&tls.Config{InsecureSkipVerify: true, ServerName: name},
		)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0]
	}
	both := func(what string, want tls.Certificate) {
		t.Helper()
		for _, name := range []string{"one", "127.0.0.1"} { // by an address no name is sent
			if got := shows(name); !got.Equal(want.Leaf) {
				t.Errorf("%s: %s is shown the certificate of %v", what, name, got.DNSNames)
			}
		}
	}
	both("at first", first)
	second := renew("two")
	both("renewed", second)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	third := renew("three")
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	both("again", third)
	for what, half := range map[string]struct{ cert, key []byte }{
		"a certificate without its key": {whole, key}, "cut off": {whole[:len(whole)/2], key}, "empty": {nil, key},
	} {
		if err := errors.Join(os.WriteFile(file, half.cert, 0o600), os.WriteFile(keyFile, half.key, 0o600)); err != nil {
			t.Fatal(err)
		}
		both(what, third)
	}
	if err := errors.Join(os.Remove(file), os.Remove(keyFile)); err != nil {
		t.Fatal(err)
	}
	both("gone", third)
	both("back", renew("four"))
	if _, err := ServerTLS(filepath.Join(dir, "none"), keyFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestOwnCertificate: it is renewed for other names and before it expires, by the
// same authority.
func TestOwnCertificate(t *testing.T) {
	dir := t.TempDir()
	get := func(names ...string) tls.Certificate {
		t.Helper()
		c, err := OwnCertificate(dir, names)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one := get("a", "::1")
	if again := get("::1"); !again.Leaf.Equal(one.Leaf) {
		t.Error("made anew for names that it has")
	}
	other := get("b")
	if other.Leaf.Equal(one.Leaf) || other.Leaf.VerifyHostname("b") != nil {
		t.Errorf("for b: %v", other.Leaf.DNSNames)
	}
	authority, err := ownCA(dir)
	if err != nil {
		t.Fatal(err)
	}
	soon := *other.Leaf
	soon.NotAfter = time.Now().Add(29 * 24 * time.Hour)
	if _, err := issue(dir, certFile, certKey, &soon, &authority); err != nil {
		t.Fatal(err)
	}
	renewed := get("b")
	if time.Until(renewed.Leaf.NotAfter) < 2*years-time.Hour || renewed.Leaf.CheckSignatureFrom(authority.Leaf) != nil {
		t.Errorf("ends %s", renewed.Leaf.NotAfter)
	}
	for _, name := range []string{caKey, certKey} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}
