package keypath

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/means"
	"fettle/internal/sks"
)

// TestRealServers: a real keyserver behind HTTPS, and folders that GnuPG's own tool
// made for WKD, all under names and a certificate authority that only a network and a
// mount namespace of the test's own have. gpg fetches from them too.
func TestRealServers(t *testing.T) {
	if !alone(t) {
		return
	}
	k := ring(t, "alice", "bob", "carol", "dave")
	s := serve(t, sks.Serve(t, k["alice"], k["bob"], k["carol"]))
	published(t, s.folder, k["dave"])

	cache, alice := t.TempDir(), keep(t, k["alice"])
	// Dave's key comes from his domain, those between from the keyserver.
	args := []string{"--cache", cache, "--keyring", alice, "--network", "--keyserver", "hkps://keys.test", "alice", "dave@example.org"}
	out, err := run(t, args...)
	if err != nil || !strings.Contains(out, "3 signatures") {
		t.Fatalf("%v\n%s\nasked %q", err, out, s.asked())
	}
	first := s.asked()
	if !slices.ContainsFunc(first, func(a string) bool {
		return strings.HasPrefix(a, "openpgpkey.example.org/.well-known/openpgpkey/example.org/hu/")
	}) {
		t.Errorf("not asked for by WKD: %q", first)
	}
	if out, err := run(t, args...); err != nil || len(s.asked()) != len(first) {
		t.Errorf("the second time: %v, asked %q\n%s", err, s.asked()[len(first):], out)
	}
	// A week later they are asked for again.
	files, _ := filepath.Glob(filepath.Join(cache, "keys/*"))
	for _, f := range files {
		old := time.Now().Add(-8 * 24 * time.Hour)
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(cache, "keys", wkdFile(t, files))); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, args...); err != nil || len(s.asked()) == len(first) {
		t.Errorf("without the kept key: %v, nothing asked\n%s", err, out)
	}
	for _, c := range []struct{ server, key, want string }{
		{"hkps://other.test", "0123456789ABCDEF", "certificate"},                // the name is not in the certificate
		{"hkps://huge.test", "0123456789ABCDEF", "33554432 bytes"},              // a key of gigabytes
		{"hkps://broken.test", "0123456789ABCDEF", "it answers 502"},            //
		{"hkps://keys.test", "0123456789ABCDEF", "no key for 0123456789ABCDEF"}, // not there
		{"hkps://keys.test", "nobody@nowhere.invalid", "no key for nobody@nowhere.invalid"},
	} {
		out, err := run(t, "--keyring", alice, "--network", "--keyserver", c.server, "alice", c.key)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s from %s: %v, want %q\n%s", c.key, c.server, err, c.want, out)
		}
	}
	gpgFetches(t)
}

// gpgFetches shows that the servers are what gpg takes for such.
func gpgFetches(t *testing.T) {
	gpg := means.Tool(t, "gpg")
	means.Tool(t, "dirmngr")
	home, err := os.MkdirTemp("", "gpg") // its socket's name must be short
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		exec.Command("/usr/bin/gpgconf", "--homedir", home, "--kill", "all").Run()
		os.RemoveAll(home)
	}()
	// dirmngr's own resolver does not read /etc/hosts.
	if err := os.WriteFile(filepath.Join(home, "dirmngr.conf"), []byte("standard-resolver\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--auto-key-locate", "clear,nodefault,wkd", "--locate-keys", "dave@example.org"},
		{"--keyserver", "hkps://keys.test:443", "--search-keys", "bob@example.org"},
	} {
		cmd := exec.Command(gpg, append([]string{"--homedir", home, "--batch", "--with-colons"}, args...)...)
		cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		if !strings.Contains(string(out), "pub:") {
			t.Errorf("gpg %q: %v\n%s", args, err, out)
		}
	}
}

// wkdFile is the kept file of what came by WKD.
func wkdFile(t *testing.T, files []string) string {
	t.Helper()
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), "wkd-") {
			return filepath.Base(f)
		}
	}
	t.Fatalf("nothing was kept of WKD: %q", files)
	return ""
}

// servers are those that all names lead to.
type servers struct {
	mu     sync.Mutex
	said   []string
	folder string
}

func (s *servers) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said)
}

// serve answers on port 443: a keyserver as keys.test, a folder for WKD, and hosts that misbehave.
func serve(t *testing.T, keyserver int) *servers {
	t.Helper()
	s := &servers{folder: filepath.Join(t.TempDir(), "openpgpkey")}
	if err := os.Mkdir(s.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	hkp := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", keyserver)})
	wkd := http.StripPrefix("/.well-known/openpgpkey/", http.FileServer(http.Dir(s.folder)))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.said = append(s.said, r.Host+r.URL.String())
		s.mu.Unlock()
		switch r.Host {
		case "keys.test":
			hkp.ServeHTTP(w, r)
		case "openpgpkey.example.org":
			wkd.ServeHTTP(w, r)
		case "huge.test":
			for junk := make([]byte, 1<<20); r.Context().Err() == nil; {
				w.Write(junk)
			}
		default:
			http.Error(w, "broken", http.StatusBadGateway)
		}
	})
	names := []string{"keys.test", "openpgpkey.example.org", "huge.test", "broken.test"}
	authority, cert := certificates(t, names)
	over(t, "/etc/ssl/certs/ca-certificates.crt", authority)
	over(t, "/etc/hosts", []byte("127.0.0.1 localhost other.test "+strings.Join(names, " ")+"\n"))
	l, err := tls.Listen("tcp", "127.0.0.1:443", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: handler}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return s
}

// published puts a key where a domain keeps it, with GnuPG's tool for that.
func published(t *testing.T, folder string, key []byte) {
	t.Helper()
	client := "/usr/lib/gnupg/gpg-wks-client"
	if _, err := os.Stat(client); err != nil {
		means.Missing(t, "needs the package gpg-wks-client")
	}
	if err := os.MkdirAll(filepath.Join(folder, "example.org"), 0o755); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(client, "--directory", folder, "--install-key", keep(t, key), "dave@example.org")
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin", "GNUPGHOME=" + home}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gpg-wks-client: %v\n%s", err, out)
	}
}

// certificates makes an authority and a server's certificate.
func certificates(t *testing.T, names []string) (authority []byte, server tls.Certificate) {
	t.Helper()
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: names[0]},
		DNSNames:     names,
		NotBefore:    ca.NotBefore,
		NotAfter:     ca.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	var keys [2]*ecdsa.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	signed := func(c *x509.Certificate, of *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, ca, &of.PublicKey, keys[0])
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	root := signed(ca, keys[0])
	return pem.EncodeToMemory(
			&pem.Block{Type: "CERTIFICATE", Bytes: root},
		), tls.Certificate{
			Certificate: [][]byte{signed(leaf, keys[1]), root},
			PrivateKey:  keys[1],
		}
}

// over puts text in a file's place, in this mount namespace alone.
func over(t *testing.T, file string, text []byte) {
	t.Helper()
	f := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(f, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(f, file, "", unix.MS_BIND, ""); err != nil {
		t.Fatalf("mounting over %s: %v", file, err)
	}
}

// alone runs the calling test again in namespaces of its own, and tells whether
// this is that run.
func alone(t *testing.T) bool {
	t.Helper()
	ip := means.Tool(t, "ip")
	if !means.Inside(t, syscall.CLONE_NEWNS|syscall.CLONE_NEWNET, 3*time.Minute) {
		return false
	}
	if out, err := exec.Command(ip, "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return true
}
