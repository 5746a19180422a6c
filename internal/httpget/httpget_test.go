package httpget

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// TestGet is against net/http's server.
func TestGet(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789"), 100_000)
	mux := http.NewServeMux()
	mux.HandleFunc("/sized", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(long)))
		w.Write(long)
	})
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		for part := long; len(part) > 0; part = part[min(len(part), 4321):] {
			w.Write(part[:min(len(part), 4321)])
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/there", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/sized?a=b", http.StatusFound) })
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	plain, secure := httptest.NewServer(mux), httptest.NewTLSServer(mux)
	defer plain.Close()
	defer secure.Close()
	mux.HandleFunc("/down", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+"/sized", http.StatusFound)
	})
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	for _, tt := range []struct {
		url    string
		limit  int64
		status int
		err    string
	}{
		{plain.URL + "/sized", 0, 200, ""},
		{plain.URL + "/chunked", 0, 200, ""},
		{plain.URL + "/there", 0, 200, ""},
		{secure.URL + "/chunked", 0, 200, ""},
		{plain.URL + "/nothing", 0, 404, ""},
		{plain.URL + "/sized", 999_999, 0, "announces 1000000 bytes"},
		{plain.URL + "/chunked", 999_999, 0, "sends more than is expected: 999999 bytes at most"},
		{plain.URL + "/round", 0, 0, "redirects more than 5 times"},
		{secure.URL + "/down", 0, 0, "from https to http"},
		{"ftp://example.org/a", 0, 0, "no URL as http://HOST/PATH"},
		{"http://me:secret@example.org/a", 0, 0, "no URL as http://HOST/PATH"},
	} {
		res, err := Get(t.Context(), tt.url, Options{Limit: tt.limit, Roots: pool})
		var b []byte
		if err == nil {
			b, err = all(res.Body)
			res.Body.Close()
		}
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v; want %q", tt.url, err, tt.err)
			}
		case err != nil || res.Status != tt.status || tt.status == 200 && !bytes.Equal(b, long):
			t.Errorf("%s: %+v, %d bytes, %v", tt.url, res, len(b), err)
		}
	}
	if _, err := Get(t.Context(), secure.URL+"/sized", Options{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody knows: %v", err)
	}
}

// raw answers each connection with text, and then hangs or closes.
func raw(t *testing.T, text string, hang bool) string {
	t.Helper()
	return "http://" + means.Serve(t, func(c net.Conn) {
		bufio.NewReader(c).ReadString('\n')
		io.WriteString(c, text)
		if hang {
			io.Copy(io.Discard, c)
		}
	}) + "/"
}

func TestLiars(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "unexpected EOF"},
		{"SSH-2.0-OpenSSH\r\n", "does not answer in HTTP"},
		{"HTTP/1.1 999 x\r\n\r\n", "does not answer in HTTP"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "unexpected EOF"},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "does not answer in HTTP"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "unexpected EOF"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "unexpected EOF"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", "does not answer in HTTP"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "encoding"},
		{"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 200), "more than 100 header fields"},
		{"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", 10_000), "does not answer in HTTP"},
		{"HTTP/1.1 302 x\r\nLocation: file:///etc/passwd\r\n\r\n", "cannot be followed"},
	} {
		res, err := Get(t.Context(), raw(t, tt.text, false), Options{})
		if err == nil {
			_, err = all(res.Body)
			res.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: %v; want %q", tt.text, err, tt.want)
		}
	}
}

// TestNobodyWaitsForEver: for a server that says nothing more.
func TestNobodyWaitsForEver(t *testing.T) {
	stalls := raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", true)
	begun := time.Now()
	res, err := Get(t.Context(), stalls, Options{Stall: 100 * time.Millisecond})
	if err == nil {
		_, err = all(res.Body)
	}
	if err == nil || time.Since(begun) > means.Patience {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if res, err = Get(ctx, stalls, Options{}); err == nil {
		_, err = all(res.Body)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzHeader(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 301 Moved\nLocation: http://a/\nTransfer-Encoding: chunked\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := header(bufio.NewReader(bytes.NewReader(b))); err == nil && (h.status < 200 || h.length < -1) {
			t.Errorf("%+v", h)
		}
	})
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte("3\r\nabc\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, _ := all(&chunks{r: bufio.NewReader(bytes.NewReader(b))})
		if len(out) > len(b) {
			t.Error("more comes out than went in")
		}
	})
}
