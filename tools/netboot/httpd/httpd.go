// Package httpd hands out the files of one folder over HTTP/1.1, to firmware and
// boot loaders: GET and HEAD, one range, connections that stay open. It is what
// a boot server needs of net/http, which would add 5 MB to the binary.
package httpd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Server hands out what is below Root. Symlinks are followed: the folder is the
// caller's own.
type Server struct {
	Root string
	// Sent is told of each answer to a GET that has ended: "" is a file that went
	// out whole (to its end), else what went wrong. It is called from several
	// goroutines, one at a time.
	Sent func(client, name, trouble string)
	mu   sync.Mutex
	open map[string]int // connections by address
}

const (
	// maxClients are served at once; others wait in the kernel's queue.
	maxClients = 128
	// maxOfOne are one address's: firmware and boot loaders open one, or a few.
	maxOfOne = 16
	// idle is how long a client may say or take nothing.
	idle = 60 * time.Second
)

// headLimit is how long a request may take to be said, and the next to begin.
var headLimit = idle

// Serve answers until ctx ends or the listener breaks.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	room := make(chan struct{}, maxClients)
	var all sync.WaitGroup
	defer all.Wait()
	for {
		room <- struct{}{}
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("waiting for HTTP clients: %w", err)
		}
		of, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		if !s.enter(of) {
			conn.Close()
			<-room
			continue
		}
		all.Add(1)
		go func() {
			defer func() { s.leave(of); <-room; all.Done() }()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			defer conn.Close()
			s.talk(&deadlineConn{conn})
		}()
	}
}

// enter counts a connection of an address, unless that has as many as it may: one
// client that holds all keeps the others out.
func (s *Server) enter(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]int{}
	}
	if s.open[address] >= maxOfOne {
		return false
	}
	s.open[address]++
	return true
}

func (s *Server) leave(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[address]--; s.open[address] == 0 {
		delete(s.open, address)
	}
}

// deadlineConn gives each write a time limit of its own, and all reads of one
// request one: it is short, and could be said a byte a minute.
type deadlineConn struct{ net.Conn }

func (p *deadlineConn) begin() { p.SetReadDeadline(time.Now().Add(headLimit)) }

func (p *deadlineConn) Write(b []byte) (int, error) {
	p.SetWriteDeadline(time.Now().Add(idle))
	return p.Conn.Write(b)
}

// talk answers one client's requests, one after the other.
func (s *Server) talk(conn *deadlineConn) {
	r := bufio.NewReaderSize(conn, maxLine)
	client, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	for {
		conn.begin()
		q, err := readRequest(r)
		if bad := new(refusal); errors.As(err, &bad) {
			fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", bad.status)
			return
		}
		if err != nil || s.answer(conn, client, q) != nil || q.last {
			return
		}
	}
}

// answer sends what was asked for; an error ends the connection.
func (s *Server) answer(conn net.Conn, client string, q request) error {
	f, size, status := s.file(q.path)
	if f == nil {
		if !q.head {
			s.tell(client, q.path, status)
		}
		_, err := fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status)
		return err
	}
	defer f.Close()
	from, to, part := q.bytes(size)
	extra := ""
	if status = "200 OK"; part {
		status, extra = "206 Partial Content", fmt.Sprintf("Content-Range: bytes %d-%d/%d\r\n", from, to-1, size)
	}
	if from >= size && q.ranged {
		_, err := fmt.Fprintf(conn, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */%d\r\nContent-Length: 0\r\n\r\n", size)
		return err
	}
	_, err := fmt.Fprintf(
		conn,
		"HTTP/1.1 %s\r\nContent-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\n%sContent-Length: %d\r\n\r\n",
		status,
		extra,
		to-from,
	)
	if err != nil || q.head {
		return err
	}
	if _, err = f.Seek(from, io.SeekStart); err == nil {
		_, err = io.CopyN(conn, f, to-from)
	}
	switch {
	case err != nil:
		s.tell(client, q.path, "broke off")
	case to == size:
		s.tell(client, q.path, "")
	}
	return err
}

// file opens a regular file below the root. Without one the status says why.
func (s *Server) file(path string) (*os.File, int64, string) {
	f, err := os.OpenFile(filepath.Join(s.Root, path), os.O_RDONLY|nonblock, 0)
	if err == nil {
		st, serr := f.Stat()
		if serr == nil && st.Mode().IsRegular() {
			return f, st.Size(), ""
		}
		f.Close()
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, 0, "403 Forbidden"
	}
	return nil, 0, "404 Not Found"
}

func (s *Server) tell(client, name, trouble string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Sent != nil {
		s.Sent(client, name, trouble)
	}
}
