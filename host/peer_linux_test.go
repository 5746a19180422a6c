package host

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// certificate makes one that is signed by itself, with a chain of n copies.
func certificate(t *testing.T, n int) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "peer"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Certificate{PrivateKey: key}
	for range n {
		c.Certificate = append(c.Certificate, der)
	}
	return c
}

const (
	yes = "\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00"
	no  = "\x30\x19\x02\x01\x01\x78\x14\x0a\x01\x02\x04\x00\x04\x0dunsupported!!"
)

func startTLSWith(answer string, then func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		b := make([]byte, len(startTLSRequest))
		if _, err := io.ReadFull(c, b); err != nil || !bytes.Equal(b, startTLSRequest) {
			return
		}
		io.WriteString(c, answer)
		then(c)
	}
}

func TestPeer(t *testing.T) {
	handshake := func(n int, version uint16) func(net.Conn) {
		cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, n)}, MinVersion: tls.VersionTLS10, MaxVersion: version}
		return func(c net.Conn) { tls.Server(c, cfg).Handshake() }
	}
	end := func(net.Conn) {}
	stall := func(c net.Conn) { io.Copy(io.Discard, c) }
	for _, tt := range []struct {
		name     string
		each     func(net.Conn)
		startTLS bool
		chain    int
		version  string
		refused  string
		failed   string
		err      string
	}{
		{name: "tls", each: handshake(2, tls.VersionTLS13), chain: 2, version: "TLS 1.3"},
		{name: "old tls", each: handshake(1, tls.VersionTLS10), chain: 1, version: "TLS 1.0"},
		{name: "starttls", each: startTLSWith(yes, handshake(1, tls.VersionTLS12)), startTLS: true, chain: 1, version: "TLS 1.2"},
		{name: "refused", each: startTLSWith(no, end), startTLS: true, refused: `result 2 "unsupported!!"`},
		{name: "long chain", each: handshake(200, tls.VersionTLS13), chain: maxChain, version: "TLS 1.3"},
		{name: "a chain beyond bounds", each: handshake(3000, tls.VersionTLS13), failed: "exceeds maximum"},
		{name: "no TLS", each: func(c net.Conn) { io.WriteString(c, "220 smtp.example.com\r\n"); stall(c) },
			failed: "does not look like a TLS handshake"},
		{name: "no LDAP", each: startTLSWith("220 smtp.example.com", stall), startTLS: true, err: "does not speak LDAP"},
		{name: "cut off", each: startTLSWith(yes[:5], end), startTLS: true, err: "EOF"},
		{name: "an answer beyond bounds", each: startTLSWith("\x30\x84\x7f\xff\xff\xff", stall), startTLS: true, err: "larger than fettle reads"},
		{name: "closed after StartTLS", each: startTLSWith(yes, end), startTLS: true, failed: "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			addr := means.Serve(t, tt.each)
			q := PeerQuestion{URI: "ldaps://" + addr}
			if tt.startTLS {
				q = PeerQuestion{URI: "ldap://" + addr, StartTLS: true}
			}
			b, err := readPeer(t.Context(), q.Table())
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("%s, %v, want an error about %q", b, err, tt.err)
				}
				return
			}
			var p Peer
			if err != nil || json.Unmarshal(b, &p) != nil {
				t.Fatal(err)
			}
			if len(p.Chain) != tt.chain || p.Version != tt.version && tt.failed == "" || p.Refused != tt.refused || p.Address != addr ||
				!strings.Contains(p.Failed, tt.failed) || tt.failed == "" && p.Failed != "" {
				t.Errorf("%d certificates, %+v", len(p.Chain), Peer{Address: p.Address, Refused: p.Refused, Version: p.Version, Failed: p.Failed})
			}
		})
	}
}

// A server that says nothing costs no more than its limit, and is no answer.
func TestPeerStalls(t *testing.T) {
	for name, each := range map[string]func(net.Conn){
		"at once":         func(c net.Conn) { io.Copy(io.Discard, c) },
		"in a handshake":  startTLSWith(yes, func(c net.Conn) { io.Copy(io.Discard, c) }),
		"after one byte":  func(c net.Conn) { io.WriteString(c, "\x30"); io.Copy(io.Discard, c) },
		"drop for a drop": func(c net.Conn) { drip(c) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			begin := time.Now()
			_, err := readPeer(ctx, PeerQuestion{URI: "ldap://" + means.Serve(t, each), StartTLS: true}.Table())
			if !errors.Is(err, ErrTimeout) || time.Since(begin) > means.Patience {
				t.Errorf("after %s: %v", time.Since(begin), err)
			}
		})
	}
}

// drip says that 16,000 bytes come, and sends one every 50 ms.
func drip(c net.Conn) {
	io.WriteString(c, "\x30\x82\x3e\x80")
	for range 100 {
		if _, err := c.Write([]byte{0}); err != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestPeerUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	if _, err := readPeer(t.Context(), PeerQuestion{URI: "ldaps://" + addr}.Table()); err == nil ||
		!strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	for _, q := range []string{"peer tls http://127.0.0.1:80", "peer tls ldaps://127.0.0.1", "peer tls ldaps://:636", "peer tls %zz"} {
		if _, err := readPeer(t.Context(), Table(q)); err == nil {
			t.Errorf("%q was asked", q)
		}
	}
}

func FuzzExtendedResponse(f *testing.F) {
	for _, s := range []string{yes, no, "\x30\x80", "\x30\x84\xff\xff\xff\xff", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, msg, err := readBER(bytes.NewReader(b), 0)
		if err != nil {
			return
		}
		if len(msg) > maxResponse {
			t.Fatal("beyond its bound")
		}
		if refused, err := extendedResponse(msg); err == nil && len(refused) > 1000 {
			t.Fatal(fmt.Sprint(len(refused)))
		}
	})
}
