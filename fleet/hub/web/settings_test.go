package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(text string) (*Settings, error) {
		file := filepath.Join(dir, "web.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadSettings(file)
	}
	s, err := read(`
url: https://hub.example.org/
passwords: false
forwarders: [127.0.0.1, 10.0.0.0/8]
proxy: {from: ["::1"], header: X-Remote-User, groups_header: X-Groups, operators: [sre]}
oidc: {name: Example, issuer: "https://id.example.org", client_id: hub, client_secret_file: ` + secret + `, readers: [staff], operators: [sre, "user:ann"]}
`)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Login()
	if err != nil || !c.Secure || !c.NoPasswords || len(c.Proxies) != 2 || c.Proxy.From[0].String() != "::1/128" ||
		c.OIDC.Secret != "s3cret" ||
		c.OIDC.Redirect != "https://hub.example.org/login/oidc/back" {
		t.Errorf("%+v %v", c, err)
	}
	if s, err := ReadSettings(""); err != nil {
		t.Error(err)
	} else if c, err := s.Login(); err != nil || c.Secure || c.NoPasswords || c.OIDC != nil || c.Proxy != nil {
		t.Errorf("without a file: %+v %v", c, err)
	}
	for text, want := range map[string]string{
		"urls: x":                                                    `web.yaml:1:1: unknown field "urls"`,
		"url: hub.example.org":                                       "expected https://HOST",
		"url: https://hub.example.org/fettle":                        "without a path",
		"passwords: perhaps":                                         "web.yaml:1:12:",
		"forwarders: [0.0.0.0/0]":                                    "expected an address or a network",
		"forwarders: [localhost]":                                    "expected an address or a network",
		"proxy: {header: X-User}":                                    "needs header",
		"proxy: {header: X-User, from: [\"::/0\"]}":                  "expected an address or a network",
		"oidc: {issuer: \"https://x\"}":                              "needs issuer and client_id",
		"oidc: {issuer: \"https://x\", client_id: a}":                "needs url",
		"url: https://h\noidc: {issuer: \"http://x\", client_id: a}": "expected https://",
		"tls: {cert: /x}":                                            "cert and key go together",
		"tls: {cert: /x, key: /y, acme: [h]}":                        "either cert and key, or acme",
		"url: https://h\n---\npasswords: false":                      "web.yaml:3: a second document",
		"# later\n---\n---\npasswords: false":                        "web.yaml:3: the document before this line is empty",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, nothing := range []string{"", "# later\n", "---\n"} {
		if s, err := read(nothing); err != nil || s.URL != "" {
			t.Errorf("%q: %+v, %v", nothing, s, err)
		}
	}
	if _, err := ReadSettings(filepath.Join(dir, "nothing.yaml")); err == nil {
		t.Error("a file that is not there was taken")
	}
	s, err = read("url: https://h\noidc: {issuer: \"https://x\", client_id: a, client_secret_file: /nonexistent}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Login(); err == nil || !strings.Contains(err.Error(), "client_secret_file") {
		t.Error(err)
	}
}

// TestACMEFails: where no certificate is to be had, the log says why, and not of
// names that anybody may ask for.
func TestACMEFails(t *testing.T) {
	s := &Settings{}
	s.TLS.ACME, s.TLS.Directory = []string{"hub.example.org"}, "https://127.0.0.1:1/dir"
	conf, err := s.Certificates(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	was := slog.Default()
	defer slog.SetDefault(was)
	slog.SetDefault(slog.New(slog.NewTextHandler(&said, nil)))
	for _, name := range []string{"other.example.org", "hub.example.org"} {
		hello := &tls.ClientHelloInfo{
			ServerName:        name,
			SupportedVersions: []uint16{tls.VersionTLS13},
			CipherSuites:      []uint16{tls.TLS_AES_128_GCM_SHA256},
		}
		if _, err := conf.GetCertificate(hello); err == nil {
			t.Errorf("a certificate for %s", name)
		}
	}
	if out := said.String(); strings.Count(out, "no certificate") != 1 || !strings.Contains(out, "for=hub.example.org") ||
		!strings.Contains(out, "connection refused") {
		t.Errorf("the log: %s", out)
	}
}

func TestServeEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan bool)
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done() // as the stream does
			time.Sleep(50 * time.Millisecond)
			w.Write([]byte("whole"))
		}))
	}()
	got := make(chan string, 1)
	go func() {
		res, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		b := make([]byte, 10)
		n, _ := res.Body.Read(b)
		got <- string(b[:n])
	}()
	<-began
	cancel()
	if s := <-got; s != "whole" {
		t.Errorf("whoever was in the midst of a page got %q", s)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
