package ldaptlsverify

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fettle/internal/means"
)

// pair is a certificate with its key.
type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte // of the key, where openssl made it
}

// keys are made once: RSA keys cost time.
var keys = struct {
	sync.Mutex
	of map[string]crypto.Signer
}{of: map[string]crypto.Signer{}}

func key(t testing.TB, name string, bits int) crypto.Signer {
	keys.Lock()
	defer keys.Unlock()
	if k, ok := keys.of[name]; ok {
		return k
	}
	var k crypto.Signer
	var err error
	if bits > 0 {
		k, err = rsa.GenerateKey(rand.Reader, bits)
	} else {
		k, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	keys.of[name] = k
	return k
}

var serial int64

// issue makes a certificate; change may alter what it says.
func issue(t testing.TB, by *pair, cn string, bits int, change func(*x509.Certificate)) *pair {
	t.Helper()
	serial++
	k := key(t, fmt.Sprint(cn, bits), bits)
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: cn, Organization: []string{"Example"}},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment}
	if change != nil {
		change(c)
	}
	parent, signer := c, k
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, k.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return &pair{cert: c, key: k}
}

// opensslIssue makes what Go refuses to: keys too short, signatures with MD5.
func opensslIssue(t testing.TB, by *pair, algorithm, option, digest string) *pair {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(means.Tool(t, "openssl"), args...)
		cmd.Dir = dir
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("openssl %v: %v\n%s", args, err, b)
		}
	}
	write(t, dir+"/ca.pem", pemOf(by.cert))
	write(t, dir+"/ca.key", keyPEM(t, by.key))
	write(t, dir+"/ext", []byte("subjectAltName=IP:127.0.0.1\n"))
	run("genpkey", "-algorithm", algorithm, "-pkeyopt", option, "-out", "key.pem")
	run("req", "-new", "-key", "key.pem", "-subj", "/CN=short", "-out", "csr.pem")
	run(
		"x509",
		"-req",
		"-in",
		"csr.pem",
		"-CA",
		"ca.pem",
		"-CAkey",
		"ca.key",
		"-CAcreateserial",
		"-days",
		"2",
		"-extfile",
		"ext",
		"-"+digest,
		"-out",
		"cert.pem",
	)
	b, err := os.ReadFile(dir + "/cert.pem")
	if err != nil {
		t.Fatal(err)
	}
	k, err := os.ReadFile(dir + "/key.pem")
	if err != nil {
		t.Fatal(err)
	}
	return &pair{cert: parsePEM(b)[0], pem: k}
}

func ca(c *x509.Certificate) {
	c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
}

// forHost names the address that tests serve on.
func forHost(c *x509.Certificate) {
	c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	c.DNSNames = []string{"ldap.example.com"}
}

func both(fs ...func(*x509.Certificate)) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		for _, f := range fs {
			f(c)
		}
	}
}

func pemOf(certs ...*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, c := range certs {
		pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	return b.Bytes()
}

func keyPEM(t testing.TB, k crypto.Signer) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func write(t testing.TB, file string, b []byte) string {
	t.Helper()
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// alone runs a test in a network namespace of its own, where nobody else
// takes its ports: in a child, for which it says true.
func alone(t *testing.T) bool {
	for _, p := range []string{"slapd", "ldapsearch", "openssl", "ip"} {
		means.Tool(t, p)
	}
	if !means.Inside(t, syscall.CLONE_NEWNET, 120*time.Second) {
		return false
	}
	if b, err := exec.Command(means.Tool(t, "ip"), "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return true
}

// nextPort is below those that the kernel gives to clients.
var nextPort atomic.Int32

func freePort(testing.TB) int { return 10000 + int(nextPort.Add(1)) }

// directory is a real slapd with these certificates (none: without TLS), on
// loopback, with a configuration of its own.
type directory struct{ ldap, ldaps int } // ports

func slapd(t testing.TB, leaf *pair, chain ...*x509.Certificate) directory {
	t.Helper()
	d := directory{freePort(t), freePort(t)}
	t.Cleanup(slapdAt(t, "127.0.0.1", d, leaf, chain...))
	return d
}

func slapdAt(t testing.TB, addr string, d directory, leaf *pair, chain ...*x509.Certificate) (stop func()) {
	t.Helper()
	prog := means.Tool(t, "slapd")
	dir := t.TempDir()
	conf := "pidfile " + dir + "/pid\nargsfile " + dir + "/args\nsizelimit 10\n"
	urls := fmt.Sprintf("ldap://%s:%d", addr, d.ldap)
	if leaf != nil {
		write(t, filepath.Join(dir, "cert.pem"), pemOf(append([]*x509.Certificate{leaf.cert}, chain...)...))
		if leaf.pem == nil {
			leaf.pem = keyPEM(t, leaf.key)
		}
		write(t, filepath.Join(dir, "key.pem"), leaf.pem)
		conf += "TLSCertificateFile " + dir + "/cert.pem\nTLSCertificateKeyFile " + dir + "/key.pem\n"
		urls += fmt.Sprintf(" ldaps://%s:%d", addr, d.ldaps)
	}
	file := write(t, filepath.Join(dir, "slapd.conf"), []byte(conf))
	cmd := exec.Command(prog, "-f", file, "-h", urls, "-d", "0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { cmd.Wait(); close(gone) }()
	for range 200 {
		select {
		case <-gone:
			t.Fatalf("slapd ended: %s", out.String())
		default:
		}
		if c, err := net.Dial("tcp", net.JoinHostPort(addr, fmt.Sprint(d.ldap))); err == nil {
			c.Close()
			return func() { cmd.Process.Kill(); <-gone }
		}
		time.Sleep(25 * time.Millisecond)
	}
	cmd.Process.Kill()
	t.Fatal("slapd does not listen")
	return nil
}
