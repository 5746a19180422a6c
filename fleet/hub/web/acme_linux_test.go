package web

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"fettle/fleet/hub/bus"
	"fettle/internal/means"
)

// acmeServer is the ACME server that Let's Encrypt tests clients with, and the
// version of it that is known to work.
const acmeServer = "github.com/letsencrypt/pebble/v2/cmd/pebble@v2.6.0"

// TestACME: the page gets its certificate of a real ACME server, which looks for
// the proof at the page itself; later it goes on without that server.
func TestACME(t *testing.T) {
	means.Long(t, "builds and runs an ACME server")
	if dir := os.Getenv("ACME_DIR"); dir != "" {
		acmeClient(t, dir)
		return
	}
	dir := t.TempDir()
	install := exec.Command("go", "install", acmeServer)
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		means.Missing(t, fmt.Sprintf("needs %s: %v: %s", acmeServer, err, out))
	}
	if _, err := bus.OwnCertificate(dir, []string{"127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	ports := map[string]int{}
	for _, name := range []string{"directory", "management", "page"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[name] = l.Addr().(*net.TCPAddr).Port
		l.Close()
	}
	at := func(name string) string { return fmt.Sprintf("127.0.0.1:%d", ports[name]) }
	conf, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": at(
			"directory",
		), "managementListenAddress": at("management"), "tlsPort": ports["page"], "httpPort": 1, "ocspResponderURL": "",
		"certificate": filepath.Join(dir, "nats.pem"), "privateKey": filepath.Join(dir, "nats-key.pem"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pebble.json")
	if err := os.WriteFile(file, conf, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	server := exec.Command(filepath.Join(dir, "pebble"), "-config", file, "-dnsserver", nameServer(t))
	server.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	server.Stdout, server.Stderr = &said, &said
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() { _ = server.Process.Kill(); _ = server.Wait() }
	t.Cleanup(end)
	means.Dial(t, "tcp", at("directory")).Close()
	visit := func() {
		t.Helper()
		// crypto/x509 reads the system's authorities once: this is a process of its own.
		copied := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		copied.Env = append(os.Environ(), "ACME_DIR="+dir, "ACME_DIRECTORY=https://"+at("directory")+"/dir", "ACME_PAGE="+at("page"),
			"SSL_CERT_FILE="+filepath.Join(dir, bus.CAFile))
		out, err := copied.CombinedOutput()
		means.Copy(t, out, err)
	}
	visit()
	end()
	if n := strings.Count(said.String(), "Issued certificate serial"); n != 1 {
		t.Errorf("%d certificates were issued:\n%s", n, said.String())
	}
	visit() // with what it kept
	kept, err := os.ReadDir(filepath.Join(dir, "acme"))
	if err != nil || len(kept) < 2 {
		t.Errorf("%v, %v", kept, err)
	}
	for _, e := range kept {
		if st, err := e.Info(); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), st.Mode(), err)
		}
	}
}

// nameServer says of every name that it is this machine.
func nameServer(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			m.Answer = []dns.RR{
				&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)},
			}
		}
		_ = w.WriteMsg(m)
	})}
	go func() { _ = s.ActivateAndServe() }()
	t.Cleanup(func() { _ = s.Shutdown() })
	return c.LocalAddr().String()
}

// acmeClient serves a page by the settings, and visits it.
func acmeClient(t *testing.T, dir string) {
	file := filepath.Join(dir, "web.yaml")
	if err := os.WriteFile(file, []byte("tls: {acme: [hub.example.org], "+
		"acme_mail: admin@example.org, acme_directory: "+os.Getenv("ACME_DIRECTORY")+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := ReadSettings(file)
	if err != nil {
		t.Fatal(err)
	}
	conf, err := s.Certificates(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", os.Getenv("ACME_PAGE"))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = Serve(
			t.Context(),
			tls.NewListener(l, conf),
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the page") }),
		)
	}()
	visit := func(name string) (string, *x509.Certificate, error) {
		c := &http.Client{
			Timeout:   time.Minute,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: name}},
		}
		defer c.CloseIdleConnections()
		res, err := c.Get("https://" + os.Getenv("ACME_PAGE") + "/")
		if err != nil {
			return "", nil, err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return string(b), res.TLS.PeerCertificates[0], err
	}
	body, cert, err := visit("hub.example.org")
	if err != nil || body != "the page" || cert.VerifyHostname("hub.example.org") != nil ||
		!strings.HasPrefix(cert.Issuer.CommonName, "Pebble") {
		t.Fatalf("%q, %v, %+v", body, err, cert)
	}
	for _, name := range []string{"other.example.org", ""} {
		if body, _, err := visit(name); err == nil {
			t.Errorf("a certificate for %q: %s", name, body)
		}
	}
}
