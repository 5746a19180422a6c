package httpd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle/internal/means"
)

// serve serves a folder with some files, until the test ends.
func serve(t *testing.T) (address string, told func() string) {
	t.Helper()
	dir := t.TempDir()
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	for name, text := range map[string][]byte{"root/linux": big, "root/a b/c": []byte("hello"), "root/empty": nil,
		"secret": []byte("secret")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var said []string
	s := &Server{Root: filepath.Join(dir, "root"), Sent: func(client, name, trouble string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, strings.TrimSpace(client+" "+name+" "+trouble))
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(means.Patience):
			t.Error("the server does not end")
		}
	})
	return l.Addr().String(), func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(said, "\n")
	}
}

// TestAgainstNetHTTP: the standard library's client asks.
func TestAgainstNetHTTP(t *testing.T) {
	address, told := serve(t)
	c := &http.Client{Timeout: means.Patience, Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	for _, tt := range []struct {
		method, path, span string
		status, length     int
		begins             string
		part               string // as Content-Range tells
	}{
		{"GET", "/linux", "", 200, 1_000_000, "0123", ""},
		{"HEAD", "/linux", "", 200, 0, "", ""},
		{"GET", "/linux", "bytes=999990-", 206, 10, "0123", "bytes 999990-999999/1000000"},
		{"GET", "/linux", "bytes=0-", 206, 1_000_000, "0123", "bytes 0-999999/1000000"},
		{"GET", "/linux", "bytes=0-0", 206, 1, "0", "bytes 0-0/1000000"},
		{"GET", "/linux", "bytes=5-6", 206, 2, "56", "bytes 5-6/1000000"},
		{"GET", "/linux", "bytes=-3", 206, 3, "789", "bytes 999997-999999/1000000"},
		{"GET", "/linux", "bytes=-2000000", 206, 1_000_000, "0123", "bytes 0-999999/1000000"},
		{"GET", "/linux", "bytes=5-99999999", 206, 999_995, "5678", "bytes 5-999999/1000000"},
		{"GET", "/linux", "bytes=999999-", 206, 1, "9", "bytes 999999-999999/1000000"},
		{"GET", "/linux", "bytes=1000000-", 416, 0, "", "bytes */1000000"},
		{"GET", "/linux", "bytes=-0", 416, 0, "", "bytes */1000000"},
		{"GET", "/linux", "bytes=+5-6", 200, 1_000_000, "0123", ""},
		{"GET", "/linux", "bytes=5", 200, 1_000_000, "0123", ""},
		{"GET", "/linux", "5-6", 200, 1_000_000, "0123", ""},
		{"GET", "/linux", "bytes=7-5", 200, 1_000_000, "0123", ""},
		{"GET", "/linux", "bytes=0-1,4-5", 200, 1_000_000, "0123", ""},
		{"GET", "/linux?x=y", "", 200, 1_000_000, "0123", ""},
		{"GET", "/a%20b/c", "", 200, 5, "hello", ""},
		{"GET", "/a%20b/../empty", "", 200, 0, "", ""},
		{"GET", "/empty", "bytes=0-", 416, 0, "", "bytes */0"},
		{"GET", "/../secret", "", 404, 0, "", ""},
		{"GET", "/%2e%2e/secret", "", 404, 0, "", ""},
		{"GET", "/a%20b", "", 404, 0, "", ""},
		{"GET", "/", "", 404, 0, "", ""},
		{"POST", "/linux", "", 501, 0, "", ""},
	} {
		q, err := http.NewRequest(tt.method, "http://"+address+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.span != "" {
			q.Header.Set("Range", tt.span)
		}
		res, err := c.Do(q)
		if err != nil {
			t.Fatalf("%+v: %v", tt, err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		part := res.Header.Get("Content-Range")
		if err != nil || res.StatusCode != tt.status || len(b) != tt.length || !strings.HasPrefix(string(b), tt.begins) || part != tt.part {
			t.Fatalf("%+v: status %d, %d bytes of %q, %v", tt, res.StatusCode, len(b), part, err)
		}
		if tt.method == "HEAD" && res.ContentLength != 1_000_000 {
			t.Errorf("HEAD says %d bytes", res.ContentLength)
		}
	}
	for _, want := range []string{"127.0.0.1 /linux\n", "127.0.0.1 /secret 404 Not Found\n", "127.0.0.1 /a b/c\n"} {
		if !strings.Contains(told(), want) {
			t.Errorf("not told: %q of\n%s", want, told())
		}
	}
	if strings.Contains(told(), "/linux 4") || strings.Count(told(), "/linux\n") != 13 {
		t.Errorf("told:\n%s", told()) // parts that end before the file does, and HEAD, are not told
	}
}

// TestRefuses: what is no request is answered once, and the connection ends.
func TestRefuses(t *testing.T) {
	address, _ := serve(t)
	for in, want := range map[string]string{
		"hello\r\n\r\n":                                                               "400",
		"GET linux HTTP/1.1\r\n\r\n":                                                  "400",
		"GET /linux HTTP/2.0\r\n\r\n":                                                 "400",
		"GET /linux HTTP/1.1\r\nx\r\n\r\n":                                            "400",
		"GET /empty HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /":                       "400",
		"GET /empty HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n":                   "400",
		"GET /" + strings.Repeat("x", 9000) + " HTTP/1.1\r\n\r\n":                     "431",
		"GET /empty HTTP/1.1\r\n" + strings.Repeat("a: b\r\n", 100) + "\r\n":          "431",
		"GET /empty HTTP/1.0\r\n\r\n":                                                 "200",
		"GET /empty HTTP/1.0\r\nConnection: keep-alive\r\n\r\n":                       "200",
		"GET /empty HTTP/1.1\r\n\r\nGET /empty HTTP/1.1\r\nConnection: close\r\n\r\n": "200",
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(means.Patience))
		fmt.Fprint(conn, in)
		b, err := io.ReadAll(conn)
		conn.Close()
		if os.IsTimeout(err) || !strings.HasPrefix(string(b), "HTTP/1.1 "+want) {
			t.Fatalf("%.40q: %.40q, %v", in, b, err)
		}
		if n := strings.Count(in, "HTTP/1.1\r\n") - strings.Count(in, "x\r\n"); want == "200" &&
			strings.Count(string(b), "HTTP/1.1 200") != max(n, 1) {
			t.Errorf("%.40q: %q", in, b)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzRequest(f *testing.F) {
	f.Add([]byte("GET /debian-installer/amd64/linux HTTP/1.1\r\nHost: 192.0.2.1\r\nRange: bytes=5-9\r\nConnection: close\r\n\r\n"))
	f.Add([]byte("HEAD http://192.0.2.1/%2e%2e/x?y HTTP/1.0\r\nRange: bytes=-5\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := readRequest(bufio.NewReaderSize(bytes.NewReader(b), maxLine))
		if err != nil {
			return
		}
		if !strings.HasPrefix(q.path, "/") || strings.Contains(q.path+"/", "/../") {
			t.Errorf("%q", q.path)
		}
		for _, size := range []int64{0, 1, 7, 1 << 40} {
			if from, to, _ := q.bytes(size); from < 0 || to > size || from < size && to < from {
				t.Errorf("%+v of %d: %d to %d", q, size, from, to)
			}
		}
	})
}

// TestOneClientKeepsNobodyOut: one that opens all the connections that it can, and
// says nothing, or a byte at a time, takes no other client's place.
func TestOneClientKeepsNobodyOut(t *testing.T) {
	short := headLimit
	headLimit = 3 * time.Second
	t.Cleanup(func() { headLimit = short })
	address, _ := serve(t)
	from := func(ip string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, Timeout: means.Patience}
		return d.Dial("tcp", address)
	}
	var held []net.Conn
	for range maxClients + 10 {
		c, err := from("127.0.0.2")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		held = append(held, c)
	}
	drip := time.NewTicker(100 * time.Millisecond) // shorter than any limit for one byte
	defer drip.Stop()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-drip.C:
			}
			for _, c := range held {
				c.Write([]byte("GET /linux HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"[n%60:][:1]))
			}
		}
	}()
	c, err := from("127.0.0.3")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second)) // before the others have to be done
	fmt.Fprint(c, "GET /a%20b/c HTTP/1.0\r\n\r\n")
	if b, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(b), "hello") {
		t.Errorf("the other client: %q, %v", b, err)
	}
	held[0].SetReadDeadline(time.Now().Add(means.Patience))
	if _, err := held[0].Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("a request that drips is still waited for: %v", err)
	}
}

// TestPlaces: an address has as many places as it may, and each that it leaves is free again.
func TestPlaces(t *testing.T) {
	means.Ends(t)
	var s Server
	for i := range maxOfOne {
		if !s.enter("192.0.2.1") {
			t.Fatalf("connection %d is refused", i+1)
		}
	}
	if s.enter("192.0.2.1") || !s.enter("192.0.2.2") {
		t.Fatal("one more is let in, or another address is not")
	}
	s.leave("192.0.2.1")
	if !s.enter("192.0.2.1") || s.enter("192.0.2.1") {
		t.Fatal("not one place is free after one has left")
	}
	for range maxOfOne {
		s.leave("192.0.2.1")
	}
	if s.leave("192.0.2.2"); len(s.open) != 0 {
		t.Errorf("all have left, and there are %v", s.open)
	}
}

// TestBreaksOff: who hangs up before the end is told of, and keeps no file open; a broken listener ends it.
func TestBreaksOff(t *testing.T) {
	means.Ends(t)
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "large"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(root, "large"), 1<<30); err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 1)
	s := &Server{Root: root, Sent: func(client, name, trouble string) { told <- client + " " + name + " " + trouble }}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, "GET /large HTTP/1.1\r\n\r\n")
	if _, err := io.ReadFull(c, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if got := <-told; got != "127.0.0.1 /large broke off" {
		t.Error(got)
	}
	l.Close()
	if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), "waiting for HTTP clients: ") {
		t.Error(err)
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(to, root) {
			t.Errorf("%s is still open", to)
		}
	}
}
