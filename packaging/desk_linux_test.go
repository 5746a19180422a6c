package packaging

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAnotherDesk follows docs/hub.md to the letter on a booted host, from apt install to the first user, and
// looks at the page from another machine, which then joins.
func TestAnotherDesk(t *testing.T) {
	long(t, "boots two hosts of Debian 12 and of 13 in a network of their own", "mmdebstrap", "systemd-nspawn", "ip")
	for _, release := range releases {
		t.Run(release, func(t *testing.T) { anotherDesk(t, release) })
	}
}

func anotherDesk(t *testing.T, release string) {
	hub, desk := withTools(t, release), withTools(t, release)
	network(t, "fettle-hub", "fettle-desk")
	crt, key := certificate(t, "hub.example.org")
	for root, programs := range map[string][]string{hub: {"fettle", "fettle-hub"}, desk: {"fettle", "fettle-agent"}} {
		for _, p := range programs {
			run(t, "cp", built(t, p+"_*_amd64.deb"), filepath.Join(root, "root"))
		}
	}
	documented := commands(t, "../docs/hub.md", "as root:", "on the hub", "with the package `fettle-agent` installed:")
	ended, result := make(chan func(string) string), filepath.Join(desk, "result")
	go func() {
		defer close(ended)
		ended <- booted(t, desk, "testdata/desk.sh", map[string]string{
			"root/hub.crt": crt, "result/join": documented[2],
			"etc/hosts": "127.0.0.1 localhost\n192.0.2.1 hub.example.org\n",
		}, "--network-namespace-path=/run/netns/fettle-desk")
	}()
	// What is typed or read on one machine is carried to the other by somebody.
	over, carry := make(chan bool), make(chan bool)
	go func() {
		defer close(carry)
		for _, way := range [][2]string{
			{filepath.Join(hub, "result/serves"), filepath.Join(result, "serves")},
			{filepath.Join(hub, "result/invitation"), filepath.Join(result, "invitation")},
			{filepath.Join(result, "end"), filepath.Join(hub, "result/end")},
		} {
			for waits := true; waits; time.Sleep(200 * time.Millisecond) {
				select {
				case <-over:
					waits = false
				default:
				}
				if b, err := os.ReadFile(way[0]); err == nil && strings.HasSuffix(string(b), "\n") {
					_ = os.WriteFile(way[1]+".part", b, 0o600)
					_ = os.Rename(way[1]+".part", way[1])
					break
				}
			}
		}
	}()
	on := booted(t, hub, "testdata/anotherdesk.sh", map[string]string{
		"root/hub.crt": crt, "root/hub.key": key, "result/lines": documented[0], "result/invite": documented[1],
	}, "--network-namespace-path=/run/netns/fettle-hub")
	close(over)
	<-carry
	at, ok := <-ended
	if !ok {
		t.Fatal("the other desk did not end")
	}
	for name, want := range map[string]string{"typed": "0\n", "active": "active\nactive\n", "listed": "0\n", "failed": ""} {
		if got := on(name); got != want {
			t.Errorf("%s on the hub: %q, want %q\n%s%s", name, got, want, on("log"), on("units"))
		}
	}
	if t.Failed() {
		return
	}
	for name, want := range map[string]string{"refused": "401\n", "in": "303\n", "joined": "0\n", "failed": ""} {
		if got := at(name); got != want {
			t.Errorf("%s at the other desk: %q, want %q\n%s", name, got, want, at("log"))
		}
	}
	if page := at("page"); !strings.Contains(page, "Log out") || !strings.Contains(page, "ann") {
		t.Errorf("ann's page:\n%s", page)
	}
	if hosts := on("hosts"); !strings.Contains(hosts, " web ") {
		t.Errorf("hosts:\n%s", hosts)
	}
}

// commands are the indented lines of a document, each block of them after a line that ends in one of these words.
func commands(t *testing.T, file string, after ...string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out, rest := make([]string, len(after)), string(b)
	for i, words := range after {
		_, text, found := strings.Cut(rest, words+"\n\n")
		if !found {
			t.Fatalf("%s: no line ends in %q", file, words)
		}
		for line := range strings.Lines(text) {
			line, indented := strings.CutPrefix(line, "    ")
			if !indented {
				break
			}
			out[i] += line
		}
		if rest = text; out[i] == "" {
			t.Fatalf("%s: no command after %q", file, words)
		}
	}
	return out
}

// network is a cable between two machines, 192.0.2.1 and 192.0.2.2, which reach nothing else.
func network(t *testing.T, one, another string) {
	t.Helper()
	for i, name := range []string{one, another} {
		run(t, "ip", "netns", "add", name)
		t.Cleanup(func() { run(t, "ip", "netns", "del", name) })
		run(t, "ip", "-n", name, "link", "set", "lo", "up")
		if i == 1 {
			run(t, "ip", "-n", one, "link", "add", "wire0", "type", "veth", "peer", "name", "wire0", "netns", another)
		}
	}
	for i, name := range []string{one, another} {
		run(t, "ip", "-n", name, "address", "add", []string{"192.0.2.1/24", "192.0.2.2/24"}[i], "dev", "wire0")
		run(t, "ip", "-n", name, "link", "set", "wire0", "up")
	}
}

// certificate is one of a server that signed it itself, and its key.
func certificate(t *testing.T, name string) (crt, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
