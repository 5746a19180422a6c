package watch

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// served is a server's URL; net/http's client is the judge of its answers.
func served(t *testing.T, page func() ([]byte, bool)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); Serve(l, page) }()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestServe(t *testing.T) {
	var text atomic.Value
	address := served(t, func() ([]byte, bool) { b, ok := text.Load().([]byte); return b, ok })
	ask := func(method, path string) (int, string) {
		t.Helper()
		req, _ := http.NewRequest(method, "http://"+address+path, nil)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	if code, _ := ask("GET", "/metrics"); code != 503 {
		t.Errorf("before the first look: %d", code)
	}
	text.Store([]byte("fettle_up 1\n"))
	for _, c := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", "/metrics", 200, "fettle_up 1\n"},
		{"HEAD", "/metrics", 200, ""},
		{"POST", "/metrics", 405, "expected GET\n"},
		{"GET", "/", 404, "the metrics are at /metrics\n"},
	} {
		if code, body := ask(c.method, c.path); code != c.code || body != c.body {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, code, body, c.code, c.body)
		}
	}
}

// Bad requests, and ones without an end, cost nobody else anything.
func TestServeBadRequests(t *testing.T) {
	address := served(t, func() ([]byte, bool) { return []byte("x 1\n"), true })
	for sent, want := range map[string]string{
		"nonsense\r\n\r\n":                  "HTTP/1.1 400 ",
		"\r\n\r\n":                          "HTTP/1.1 400 ",
		"GET /metrics HTTP/1.0\n\n":         "HTTP/1.1 200 ",
		strings.Repeat("a", requestLimit+1): "",
	} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		io.WriteString(c, sent)
		b, _ := io.ReadAll(c)
		c.Close()
		if !strings.HasPrefix(string(b), want) || want == "" && len(b) > 0 {
			t.Errorf("%.20q: answered %q, want %q", sent, b, want)
		}
	}
}
