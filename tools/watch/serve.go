package watch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Bounds of one request; a collector's has a few hundred bytes.
const (
	requestLimit = 16 << 10
	requestTime  = 5 * time.Second
	requests     = 16 // answered at once
)

// Serve answers GET /metrics with the page, until the listener is closed: one
// request a connection (RFC 9112 section 9.6). net/http would add 0.8 MB to the
// program for this one page. page is false while there is none yet.
func Serve(l net.Listener, page func() ([]byte, bool)) error {
	slots := make(chan struct{}, requests)
	for {
		slots <- struct{}{}
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { <-slots }()
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(requestTime))
			if line, ok := requestLine(c); ok {
				answer(c, line, page)
			}
		}()
	}
}

// requestLine reads a request to the end of its headers.
func requestLine(r io.Reader) (line string, ok bool) {
	b := bufio.NewReader(io.LimitReader(r, requestLimit))
	for n := 0; ; n++ {
		text, err := b.ReadString('\n')
		if err != nil {
			return "", false
		}
		text = strings.TrimRight(text, "\r\n")
		switch {
		case n == 0:
			line = text
		case text == "":
			return line, true
		}
	}
}

func answer(w io.Writer, line string, page func() ([]byte, bool)) {
	status, body := "200 OK", []byte(nil)
	part := strings.Fields(line)
	switch b, ok := page(); {
	case len(part) != 3 || !strings.HasPrefix(part[2], "HTTP/1."):
		status, body = "400 Bad Request", []byte("expected GET /metrics\n")
	case part[1] != "/metrics":
		status, body = "404 Not Found", []byte("the metrics are at /metrics\n")
	case part[0] != "GET" && part[0] != "HEAD":
		status, body = "405 Method Not Allowed", []byte("expected GET\n")
	case !ok:
		status, body = "503 Service Unavailable", []byte("nothing was read yet\n")
	default:
		body = b
	}
	fmt.Fprintf(
		w,
		"HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		status,
		len(body),
	)
	if len(part) == 0 || part[0] != "HEAD" {
		w.Write(body)
	}
}
