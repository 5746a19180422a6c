package httpd

import (
	"bufio"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// request is what counts of one.
type request struct {
	path   string // "/debian-installer/amd64/linux", clean
	head   bool
	last   bool // the connection ends after it
	ranged bool
	from   int64
	to     int64 // behind the last byte; -1: to the end; with from -1: so many at the end
}

const (
	maxLine    = 8 << 10
	maxHeaders = 64
)

// refusal is an error that is answered.
type refusal struct{ status string }

func (e *refusal) Error() string { return e.status }

// readRequest reads a request's head (RFC 9112, sections 3 and 5). A body would
// be taken for the next request: those that announce one are refused.
func readRequest(r *bufio.Reader) (request, error) {
	line, err := readLine(r)
	if err != nil {
		return request{}, err
	}
	f := strings.Split(line, " ")
	if len(f) != 3 || f[2] != "HTTP/1.1" && f[2] != "HTTP/1.0" {
		return request{}, &refusal{"400 Bad Request"}
	}
	q := request{head: f[0] == "HEAD", last: f[2] == "HTTP/1.0"}
	if f[0] != "GET" && !q.head {
		return q, &refusal{"501 Not Implemented"}
	}
	if q.path, err = clean(f[1]); err != nil {
		return q, err
	}
	for range maxHeaders {
		line, err := readLine(r)
		if err != nil || line == "" {
			return q, err
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return q, &refusal{"400 Bad Request"}
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "connection":
			q.last = q.last || strings.EqualFold(value, "close")
		case "range":
			q.setRange(value)
		case "transfer-encoding":
			return q, &refusal{"400 Bad Request"}
		case "content-length":
			if value != "0" {
				return q, &refusal{"400 Bad Request"}
			}
		}
	}
	return q, &refusal{"431 Request Header Fields Too Large"}
}

// clean takes the path out of a target: "/a/b", or "http://host/a/b" as to a proxy.
func clean(target string) (string, error) {
	u, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(u.Path, "/") || strings.ContainsRune(u.Path, 0) {
		return "", &refusal{"400 Bad Request"}
	}
	return path.Clean(u.Path), nil
}

// setRange reads "bytes=500-999", "bytes=500-" or "bytes=-500" (RFC 9110, section
// 14.1.2). What it does not understand is no range: the whole file is sent.
func (q *request) setRange(value string) {
	spec, ok := strings.CutPrefix(value, "bytes=")
	first, last, dash := strings.Cut(spec, "-")
	if !ok || !dash {
		return
	}
	number := func(s string) (int64, bool) {
		n, err := strconv.ParseInt(s, 10, 62)
		return n, err == nil && s[0] != '+' && s[0] != '-'
	}
	a, ok1 := number(first)
	b, ok2 := number(last)
	switch {
	case ok1 && last == "":
		q.ranged, q.from, q.to = true, a, -1
	case ok1 && ok2 && b >= a:
		q.ranged, q.from, q.to = true, a, b+1
	case first == "" && ok2:
		q.ranged, q.from, q.to = true, -1, b
	}
}

// bytes is the part of a file of this size that is asked for, from and up to;
// from is the size or more where there is nothing of it.
func (q *request) bytes(size int64) (from, to int64, part bool) {
	switch {
	case !q.ranged:
		return 0, size, false
	case q.from < 0 && q.to == 0:
		return size, size, true
	case q.from < 0:
		return max(0, size-q.to), size, true
	case q.to < 0:
		return q.from, size, true
	}
	return q.from, min(q.to, size), true
}

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return "", &refusal{"431 Request Header Fields Too Large"}
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}
