package confine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
)

// Parent is what a child talks to.
type Parent struct {
	conn *os.File
	send sync.Mutex // one frame at a time

	mu      sync.Mutex
	asked   uint32
	waiting map[uint32]chan []byte
}

// channel is the child's descriptor of the socket: the first of exec.Cmd.ExtraFiles.
const channel = 3

// Handed is one of the files that the parent handed over open (Job.Files).
func Handed(i int) (*os.File, error) {
	fd := channel + 1 + i
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
		return nil, fmt.Errorf("the parent handed over no file %d: %w", i, err)
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "(handed over)"), nil
}

// beat is how often a child says that it lives.
const beat = time.Second

// Join makes this process, started by Start, its parent's child, and returns
// the job. The process ends when its parent does.
func Join() (*Parent, []byte, error) {
	if kind, err := unix.GetsockoptInt(channel, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_STREAM {
		return nil, nil, errors.New("only fettle itself starts this")
	}
	unix.CloseOnExec(channel)
	if err := unix.SetNonblock(channel, true); err != nil {
		return nil, nil, fmt.Errorf("setting up the socket to the parent: %w", err)
	}
	p := &Parent{conn: os.NewFile(channel, "parent"), waiting: map[uint32]chan []byte{}}
	r := bufio.NewReaderSize(p.conn, 64<<10)
	f, err := readFrame(r, ofParent)
	if err != nil || f.kind != kindJob {
		return nil, nil, fmt.Errorf("reading the job: %w", err)
	}
	net.DefaultResolver.PreferGo = true // libc's would ask daemons over Unix sockets
	go p.listen(r)
	go func() {
		for range time.Tick(beat) {
			p.write(frame{kind: kindBeat})
		}
	}()
	return p, f.body, nil
}

// listen hands out answers. Without a parent there is nobody to work for.
func (p *Parent) listen(r io.Reader) {
	for {
		f, err := readFrame(r, ofParent)
		if err != nil {
			os.Exit(1)
		}
		p.mu.Lock()
		c := p.waiting[f.num]
		delete(p.waiting, f.num)
		p.mu.Unlock()
		if c != nil {
			c <- f.body
		}
	}
}

func (p *Parent) write(f frame) error {
	p.send.Lock()
	defer p.send.Unlock()
	return writeFrame(p.conn, f)
}

// Say sends a message of at most MaxSaying bytes.
func (p *Parent) Say(body []byte) error { return p.write(frame{kind: kindMessage, body: body}) }

// ask puts a question and waits for the answer as long as ctx allows.
func (p *Parent) ask(ctx context.Context, q ask) ([]byte, error) {
	body, _ := json.Marshal(q) // words alone
	if len(body) > maxAsk {
		return nil, host.ErrTooBig
	}
	c := make(chan []byte, 1)
	p.mu.Lock()
	p.asked++
	num := p.asked
	p.waiting[num] = c
	p.mu.Unlock()
	if err := p.write(frame{kind: kindAsk, num: num, body: body}); err != nil {
		return nil, fmt.Errorf("asking the unconfined parent: %w", err)
	}
	select {
	case b := <-c:
		return unpack(b)
	case <-ctx.Done():
		return nil, ctx.Err() // the answer, when it comes, goes into c and is dropped with it
	}
}

// Source is local, with what a confined process may not do asked of the parent.
func (p *Parent) Source(local host.Source) host.Source { return &source{local, p} }

type source struct {
	host.Source
	p *Parent
}

// Table asks the parent: root under Landlock may not look into other
// processes, and the filter leaves no netlink sockets.
func (s *source) Table(ctx context.Context, t host.Table) ([]byte, error) {
	return s.p.ask(ctx, ask{Table: t})
}

// Extract reads here: foreign data is taken apart in the confined process.
func (s *source) Extract(ctx context.Context, kind, name string, of func(io.Reader) ([]byte, error)) ([]byte, error) {
	return host.ExtractOf(ctx, s.Source, kind, name, of)
}

// Command asks the parent: nothing can be executed here.
func (s *source) Command(ctx context.Context, c host.Command) (host.Output, error) {
	b, err := s.p.ask(ctx, ask{Command: &c})
	if err != nil {
		return host.Output{}, err
	}
	var out host.Output
	return out, json.Unmarshal(b, &out)
}

// ReadFile reads here what may be read here. Of other processes Landlock
// hides what ptrace(2) would show, some of it by empty files: that is asked of
// the parent, or refused.
func (s *source) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	switch {
	case procSecret.MatchString(name):
		return nil, &fs.PathError{Op: "open", Path: name, Err: host.ErrDenied}
	case procFile.MatchString(name):
		b, err := s.p.ask(ctx, ask{Proc: "read", Path: name})
		if int64(len(b)) > limit {
			return nil, host.ErrTooBig
		}
		return b, err
	}
	return s.Source.ReadFile(ctx, name, limit)
}

// ReadDir asks the parent for what Landlock refuses.
func (s *source) ReadDir(ctx context.Context, name string) ([]host.Entry, error) {
	es, err := s.Source.ReadDir(ctx, name)
	if errors.Is(err, host.ErrDenied) && procDir.MatchString(name) {
		var b []byte
		if b, err = s.p.ask(ctx, ask{Proc: "list", Path: name}); err == nil {
			err = json.Unmarshal(b, &es)
		}
	}
	return es, err
}

// Readlink is like ReadDir.
func (s *source) Readlink(ctx context.Context, name string) (string, error) {
	to, err := s.Source.Readlink(ctx, name)
	if errors.Is(err, host.ErrDenied) && procLink.MatchString(name) {
		var b []byte
		b, err = s.p.ask(ctx, ask{Proc: "link", Path: name})
		to = string(b)
	}
	return to, err
}
