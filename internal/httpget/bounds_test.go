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
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"fettle/internal/means"
)

// all is io.ReadAll of what makes progress, and ends.
func all(r io.Reader) ([]byte, error) {
	var out []byte
	b := make([]byte, 32<<10)
	for idle := 0; idle < 100 && len(out) < 16<<20; {
		n, err := r.Read(b)
		out = append(out, b[:n]...)
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			return out, err
		case n == 0:
			idle++
		}
	}
	return out, errors.New("there is no end to it")
}

// get is the body that an answer of a server has.
func get(t *testing.T, answer string, o Options) (res *Response, body string, err error) {
	t.Helper()
	means.Within(t, answer[:min(len(answer), 60)], func() {
		if res, err = Get(t.Context(), raw(t, answer, true), o); err == nil {
			var b []byte
			b, err = all(res.Body)
			body = string(b)
			res.Body.Close()
		}
	})
	return res, body, err
}

const ok = "HTTP/1.1 200 OK\r\n"

// TestAnswersAtTheBounds are taken, and a byte more is not.
func TestAnswersAtTheBounds(t *testing.T) {
	long := strings.Repeat("ab", 2500)
	for _, tt := range []struct {
		answer string
		limit  int64
		status int
		body   string
	}{
		{ok + "Content-Length: 0\r\n\r\n", 0, 200, ""},
		{ok + "Content-Length: 5\r\n\r\nhello", 5, 200, "hello"},
		{ok + "Content-Length: 5\r\ncontent-length: 5\r\n\r\nhello and more", 0, 200, "hello"},
		{ok + "Transfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n2 \r\nde\r\n0\r\n\r\n", 5, 200, "abcde"},
		{ok + "Transfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n0\r\n\r\n", 0, 200, ""},
		{"HTTP/1.0 599 x\nContent-Length: 2\n\nno", 1 << 20, 599, "no"},
		{"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", 2, 404, "no"},
		{"HTTP/1.1 299 x\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n", 0, 299, ""},
		{"HTTP/1.1 400 x\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n", 0, 400, ""},
		{"HTTP/1.1 304 x\r\nContent-Length: 0\r\n\r\n", 0, 304, ""},
		{ok + strings.Repeat("A: b\r\n", maxHeaders-2) + "Content-Length: 1\r\n\r\nx", 0, 200, "x"},
		{ok + "A: " + strings.Repeat("b", maxLine-5) + "\r\nContent-Length: 1\r\n\r\nx", 0, 200, "x"},
		{"HTTP/1.1 200 " + long + "\r\nContent-Length: 0\r\n\r\n", 0, 200, ""},
	} {
		res, body, err := get(t, tt.answer, Options{Limit: tt.limit, Stall: 3 * time.Second})
		if err != nil || res.Status != tt.status || body != tt.body {
			t.Errorf("%.60q: %+v, %q, %v", tt.answer, res, body, err)
		} else if strings.Contains(tt.answer, long) && res.Reason != long {
			t.Errorf("the reason is %.60q", res.Reason)
		}
	}
	for _, tt := range []struct {
		answer, want string
		limit        int64
	}{
		{ok + "Content-Length: 5\r\n\r\nhello", "announces 5 bytes, more than is expected: 4 at most", 4},
		{ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "sends more than is expected: 4 bytes at most", 4},
		{ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "does not answer in HTTP", 0},
		{ok + "Content-Length: x\r\n\r\nhello", "does not answer in HTTP", 0}, {ok + "no colon\r\n\r\n", "does not answer in HTTP", 0},
		{ok + strings.Repeat("A: b\r\n", maxHeaders) + "\r\n", "more than 100 header fields", 0},
		{ok + "A: " + strings.Repeat("b", maxLine-4) + "\r\n\r\n", "does not answer in HTTP", 0},
		{"HTTP/1.1 199 x\r\n\r\n", "does not answer in HTTP", 0}, {"HTTP/1.1 600 x\r\n\r\n", "does not answer in HTTP", 0},
		{"HTTP/2 200 x\r\n\r\n", "does not answer in HTTP", 0}, {"HTTP/1.1 x\r\n\r\n", "does not answer in HTTP", 0},
		{ok + "Transfer-Encoding: chunked\r\n\r\n1\r\naXX\r\n0\r\n\r\n", "unexpected EOF", 0},
		{ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n", "does not answer in HTTP", 0},
		{"HTTP/1.1 300 x\r\nLocation: ftp://h/\r\n\r\n", "redirects to \"ftp://h/\", which cannot be followed", 0},
		{"HTTP/1.1 399 x\r\nLocation: http://[::1\r\n\r\n", "which cannot be followed", 0},
	} {
		if res, body, err := get(t, tt.answer, Options{Limit: tt.limit, Stall: 3 * time.Second}); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60q: %+v, %q, %v; want %q", tt.answer, res, body, err, tt.want)
		}
	}
}

// TestBodiesThatEndEarly are no whole ones, whoever closes them.
func TestBodiesThatEndEarly(t *testing.T) {
	for _, answer := range []string{"Transfer-Encoding: chunked\r\n\r\n5\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"Transfer-Encoding: chunked\r\n\r\n",
		"Content-Length: 6\r\n\r\nhello"} {
		means.Within(t, answer, func() {
			res, err := Get(t.Context(), raw(t, ok+answer, false), Options{})
			if err == nil {
				_, err = all(res.Body)
			}
			if err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
				t.Errorf("%q: %v", answer, err)
			}
		})
	}
	for _, from := range []io.Reader{strings.NewReader("hello"), iotest.DataErrReader(strings.NewReader("hello")),
		iotest.OneByteReader(strings.NewReader("hello, world"))} {
		if b, err := all(&whole{r: from, left: 5}); err != nil || string(b) != "hello" {
			t.Errorf("%q, %v", b, err)
		}
	}
	broken := errors.New("broken")
	for name, r := range map[string]io.Reader{"announced": &whole{r: iotest.ErrReader(broken), left: 5},
		"chunks":  &chunks{r: bufio.NewReader(iotest.ErrReader(broken))},
		"a chunk": &chunks{r: bufio.NewReader(io.MultiReader(strings.NewReader("5\r\nab"), iotest.ErrReader(broken)))}} {
		if _, err := all(r); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParse(t *testing.T) {
	address := "http://host/" + strings.Repeat("x", 2000-len("http://host/"))
	for _, good := range []string{address, "https://[::1]:8080/a?b", "http://host"} {
		if _, err := Parse(good); err != nil {
			t.Errorf("%.40s: %v", good, err)
		}
	}
	for _, bad := range []string{address + "x", "", "host/path", "file:///etc/passwd", "http://", "http:///x", "http://a b/",
		"http://me@host/", "https://:80/"} {
		if _, err := Parse(bad); err == nil || !strings.Contains(err.Error(), "is no URL as http://HOST/PATH") {
			t.Errorf("%.40s: %v", bad, err)
		}
	}
}

// server accepts connections and hands each, with its request, to serve.
func server(t *testing.T, serve func(c net.Conn, request string)) (address string) {
	t.Helper()
	return means.Serve(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		var request strings.Builder
		for !strings.HasSuffix(request.String(), "\r\n\r\n") {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			request.WriteString(line)
		}
		serve(c, request.String())
	})
}

// closes has the server answer, and tells when the client has gone.
func closes(t *testing.T, answer string) (address string, gone chan struct{}) {
	gone = make(chan struct{}, 10)
	return server(t, func(c net.Conn, _ string) {
		_, _ = io.WriteString(c, answer)
		_, _ = c.Read(make([]byte, 1))
		gone <- struct{}{}
	}), gone
}

func TestConnectionsAreClosed(t *testing.T) {
	end := raw(t, ok+"Content-Length: 0\r\n\r\n", true)
	for name, c := range map[string]struct {
		answer string
		err    string
	}{
		"of a redirect":     {"HTTP/1.1 302 x\r\nLocation: " + end + "\r\nContent-Length: 10\r\n\r\n", ""},
		"of a liar":         {"SSH-2.0\r\n", "HTTP"},
		"of a long answer":  {ok + "Content-Length: 999999999\r\n\r\n", "announces"},
		"of one that ended": {ok + "Content-Length: 0\r\n\r\n", ""},
	} {
		address, gone := closes(t, c.answer)
		means.Within(t, "a connection "+name, func() {
			res, err := Get(t.Context(), "http://"+address+"/", Options{})
			if err == nil && c.err == "" {
				defer res.Body.Close()
				if name == "of one that ended" {
					res.Body.Close()
				}
			} else if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
				return
			}
			<-gone
		})
	}
}

func TestInterrupted(t *testing.T) {
	for name, answer := range map[string]string{"before an answer": "", "in the header": ok, "in the body": ok +
		"Content-Length: 10\r\n\r\nabc"} {
		address, gone := closes(t, answer)
		means.Within(t, name, func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			res, err := Get(ctx, "http://"+address+"/", Options{})
			if err == nil {
				_, err = all(res.Body)
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			<-gone
		})
	}
}

// TestFollow is asked of each redirect, with the first URL and the next.
func TestFollow(t *testing.T) {
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/c" {
			http.Redirect(w, r, map[string]string{"/a": "/b", "/b": s.URL + "/c"}[r.URL.Path], http.StatusFound)
		}
	}))
	defer s.Close()
	var asked []string
	no := errors.New("not there")
	var refuse string
	follow := func(first, to *url.URL) error {
		asked = append(asked, first.Path+" "+to.Path)
		if to.Path == refuse {
			return no
		}
		return nil
	}
	res, err := Get(t.Context(), s.URL+"/a", Options{Follow: follow})
	if err != nil || res.URL != s.URL+"/c" || fmt.Sprint(asked) != "[/a /b /a /c]" {
		t.Errorf("%+v, %v; asked %q", res, err, asked)
	}
	for path, redirects := range map[string]int{"/b": 5, "/c": 2} {
		refuse = path
		if res, err := Get(t.Context(), s.URL+"/a", Options{Follow: follow, Redirects: redirects}); err != no {
			t.Errorf("%s: %+v, %v", path, res, err)
		}
	}
	if _, err := Get(t.Context(), s.URL+"/a", Options{Redirects: 1}); err == nil ||
		!strings.Contains(err.Error(), "redirects more than 1 times") {
		t.Errorf("one at most: %v", err)
	}
	if res, err := Get(t.Context(), s.URL+"/a", Options{Redirects: -1}); err != nil || res.Status != http.StatusFound ||
		res.URL != s.URL+"/a" {
		t.Errorf("none at all: %+v, %v", res, err)
	}
}

// unwritable is a connection that takes nothing.
type unwritable struct{ net.Conn }

func (unwritable) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// unreadable is one that gives nothing.
type unreadable struct{ net.Conn }

func (unreadable) Write(b []byte) (int, error) { return len(b), nil }
func (unreadable) Read([]byte) (int, error)    { return 0, io.ErrNoProgress }

func TestBrokenConnections(t *testing.T) {
	for want, wrap := range map[error]func(net.Conn) net.Conn{
		io.ErrClosedPipe: func(c net.Conn) net.Conn { return unwritable{c} },
		io.ErrNoProgress: func(c net.Conn) net.Conn { return unreadable{c} },
	} {
		var dialled string
		dial := func(_ context.Context, network, address string) (net.Conn, error) {
			dialled = network + " " + address
			c, _ := net.Pipe()
			return wrap(c), nil
		}
		if _, err := Get(t.Context(), "http://host/", Options{Dial: dial}); !errors.Is(err, want) || dialled != "tcp host:80" {
			t.Errorf("%v, %q; want %v", err, dialled, want)
		}
		t.Setenv("https_proxy", "http://proxy:3128")
		if _, err := Get(t.Context(), "https://host/", Options{Dial: dial}); !errors.Is(err, want) || dialled != "tcp proxy:3128" ||
			!strings.Contains(err.Error(), "through the proxy proxy:3128: ") {
			t.Errorf("through a proxy: %v, %q; want %v", err, dialled, want)
		}
	}
}

// TestProxiesThatRefuse, or do what they should not, are told with their names.
func TestProxiesThatRefuse(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 403 Forbidden here\r\n\r\n": "it refuses a connection to www.corp.invalid:443: 403 Forbidden here",
		"HTTP/1.1 300 x\r\n\r\n":              "it refuses a connection to www.corp.invalid:443: 300 x",
		"HTTP/1.1 200 x\r\n\r\nSSH-2.0":       "it answers for www.corp.invalid:443",
		"SSH-2.0\r\n":                         "it does not answer in HTTP",
		"":                                    "unexpected EOF",
		"HTTP/1.1 407 x\r\n\r\n":              "it wants a login: set https_proxy to http://USER:PASSWORD@",
		"HTTP/1.1 502 " + strings.Repeat("x", 100) + "\r\n\r\n":           "502 " + strings.Repeat("x", 60),
		"HTTP/1.1 299 connected\r\n\r\n" /* and nothing, as to a host */ : "EOF",
	} {
		gone := make(chan struct{}, 1)
		address := server(t, func(c net.Conn, request string) {
			if !strings.HasPrefix(request, "CONNECT www.corp.invalid:443 HTTP/1.1\r\nHost: www.corp.invalid:443\r\n") {
				t.Errorf("asked %q", request)
			}
			_, _ = io.WriteString(c, answer)
			if strings.Contains(want, "EOF") {
				c.Close()
			}
			_, _ = io.Copy(io.Discard, c)
			gone <- struct{}{}
		})
		t.Setenv("https_proxy", "http://"+address)
		means.Within(t, answer, func() {
			_, err := Get(t.Context(), "https://www.corp.invalid/", Options{Stall: 4 * time.Second})
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), strings.Repeat("x", 61)) {
				t.Errorf("%.40q: %v, want %q", answer, err, want)
			} else if name := "through the proxy " + address + ": "; !strings.Contains(err.Error(), name) && !strings.Contains(answer, "299") {
				t.Errorf("%.40q: %v names no proxy", answer, err)
			}
			<-gone // the connection was closed
		})
	}
}

func TestInterruptedAtTheProxy(t *testing.T) {
	address, gone := closes(t, "")
	t.Setenv("https_proxy", "http://"+address)
	means.Within(t, "a proxy that says nothing", func() {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := Get(ctx, "https://www.corp.invalid/", Options{}); err == nil {
			t.Error("it answered")
		}
		<-gone
	})
}

// TestProxyOverTLS is trusted as a host is.
func TestProxyOverTLS(t *testing.T) {
	var asked []string
	p := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		fmt.Fprint(w, "by proxy")
	}))
	defer p.Close()
	pool := x509.NewCertPool()
	pool.AddCert(p.Certificate())
	t.Setenv("http_proxy", p.URL)
	means.Within(t, "a proxy over TLS", func() {
		res, err := Get(t.Context(), "http://www.corp.invalid/x", Options{Roots: pool})
		if err != nil {
			t.Error(err)
			return
		}
		if b, err := all(res.Body); err != nil || !bytes.Equal(b, []byte("by proxy")) || fmt.Sprint(asked) != "[http://www.corp.invalid/x]" {
			t.Errorf("%q, %v; asked %q", b, err, asked)
		}
		if _, err := Get(t.Context(), "http://www.corp.invalid/x", Options{}); err == nil ||
			!strings.Contains(err.Error(), "through the proxy 127.0.0.1:") ||
			!strings.Contains(err.Error(), "certificate") {
			t.Errorf("with a certificate that nobody knows: %v", err)
		}
	})
}
