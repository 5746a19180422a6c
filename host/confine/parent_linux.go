package confine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
)

// Job is what a child is started for.
type Job struct {
	Body []byte      // handed to the child as it is
	Host host.Source // answers what the child may not look at; nil: nothing is answered
	// Messages is how many messages the child may send.
	Messages int
	// Files are handed to the child open, which finds them by Handed.
	Files []*os.File
	// Grants says whether this process may talk to another host for the child.
	// Nil: to none.
	Grants func(context.Context, host.Table) bool
}

// Bounds of what a child may do to its parent.
const (
	maxAsking  = 64              // questions concurrently
	maxTotal   = 256 << 20       // bytes of all messages
	answerTime = 2 * time.Minute // for one table
	lastWords  = 4 << 10         // bytes kept of what the child writes to standard error

	parting = 100 * time.Millisecond // for a killed child to end
	reaping = 500 * time.Millisecond // for one that closed its socket
)

// silence is how long a child may give no sign of life. Tests shorten it.
var silence = 15 * beat

// Child is a confined copy of this program.
type Child struct {
	cmd   *exec.Cmd
	conn  *os.File
	job   Job
	send  sync.Mutex
	said  chan []byte
	gone  chan struct{} // closed when the process was reaped
	slots chan struct{}
	words *head
	stop  context.CancelFunc

	// err is why said was closed.
	err error
}

// Start starts a copy of this program with CheckVerb and gives it its job.
func Start(ctx context.Context, job Job) (*Child, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("making a socket to the confined child: %w", err)
	}
	conn, theirs := os.NewFile(uintptr(fds[0]), "child"), os.NewFile(uintptr(fds[1]), "parent")
	keepDescriptors()
	ctx, stop := context.WithCancel(ctx)
	c := &Child{conn: conn, job: job, said: make(chan []byte, job.Messages), gone: make(chan struct{}),
		slots: make(chan struct{}, maxAsking), words: &head{}, stop: stop}
	// The program's own name stays: a test program knows by it what to be.
	c.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{os.Args[0], CheckVerb}, Dir: "/",
		Env: host.CleanEnv, Stderr: c.words, ExtraFiles: append([]*os.File{theirs}, job.Files...),
		// A group of its own: Ctrl-C is for the parent, which ends the child.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, WaitDelay: parting}
	err = c.cmd.Start()
	theirs.Close() // else what is written to a child that has ended would wait for this process
	if err != nil {
		conn.Close()
		stop()
		return nil, fmt.Errorf("starting the confined child: %w", err)
	}
	go func() {
		c.cmd.Wait()
		close(c.gone)
	}()
	go func() {
		<-ctx.Done()
		c.kill()
	}()
	go c.listen(ctx)
	if err := c.write(frame{kind: kindJob, body: job.Body}); err != nil {
		defer c.Close()
		return nil, fmt.Errorf("giving the confined child its job: %w", c.reason(err))
	}
	return c, nil
}

// keepDescriptors lets no descriptor that fettle was started with pass to
// what it starts.
func keepDescriptors() {
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil { // Linux 5.11
		return
	}
	keepEachDescriptor()
}

// keepEachDescriptor is keepDescriptors on kernels that cannot do it with one call.
func keepEachDescriptor() {
	if d, err := os.Open("/proc/self/fd"); err == nil {
		defer d.Close()
		names, _ := d.Readdirnames(-1)
		for _, n := range names {
			var fd int
			if fmt.Sscan(n, &fd); fd > 2 {
				unix.CloseOnExec(fd)
			}
		}
	}
}

// Receive returns the child's next message. An error says that none will come
// any more, and why.
func (c *Child) Receive(ctx context.Context) ([]byte, error) {
	select {
	case b, ok := <-c.said:
		if !ok {
			return nil, c.err
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends the child and lets go of it: a process in uninterruptible sleep
// dies when the kernel lets it, and is not waited for.
func (c *Child) Close() {
	c.stop()
	c.kill()
	c.conn.Close()
	select {
	case <-c.gone:
	case <-time.After(parting):
	}
}

func (c *Child) kill() {
	select {
	case <-c.gone: // its number may be another's by now
	default:
		syscall.Kill(c.cmd.Process.Pid, syscall.SIGKILL)
	}
}

func (c *Child) write(f frame) error {
	c.send.Lock()
	defer c.send.Unlock()
	return writeFrame(c.conn, f)
}

// listen reads what the child says until it ends, misbehaves or falls silent.
func (c *Child) listen(ctx context.Context) {
	defer close(c.said)
	defer c.stop()
	total := 0
	r := bufio.NewReaderSize(c.conn, 64<<10)
	for {
		c.conn.SetReadDeadline(time.Now().Add(silence))
		_, err := r.Peek(1)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// Both may have been stopped (Ctrl-Z), and only now go on.
			c.conn.SetReadDeadline(time.Now().Add(3 * beat))
			_, err = r.Peek(1)
		}
		var f frame
		if err == nil {
			c.conn.SetReadDeadline(time.Now().Add(silence)) // for the whole frame
			f, err = readFrame(r, ofChild)
		}
		if err != nil {
			c.err = c.reason(err)
			return
		}
		switch f.kind {
		case kindBeat:
		case kindMessage:
			total += len(f.body)
			select {
			case c.said <- f.body:
			default:
				total = maxTotal + 1
			}
		case kindAsk:
			select {
			case c.slots <- struct{}{}:
				go c.answer(ctx, f)
			default:
				total = maxTotal + 1
			}
		}
		if total > maxTotal {
			c.err = errors.New("the confined child sent too much, and was killed")
			return
		}
	}
}

// answer answers one question.
func (c *Child) answer(ctx context.Context, f frame) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	// A child that asks and does not read what it is answered holds its slots.
	defer func() { <-c.slots }()
	b, err := c.look(ctx, f.body)
	c.write(frame{kind: kindAnswer, num: f.num, body: pack(b, err)})
}

func (c *Child) look(ctx context.Context, body []byte) ([]byte, error) {
	var q ask
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	switch {
	case c.job.Host == nil:
		return nil, host.ErrNotRunning
	case q.Table.Talks():
		return c.other(ctx, q.Table)
	case q.Table != "":
		return c.job.Host.Table(ctx, q.Table)
	case q.Command != nil:
		out, err := c.job.Host.Command(ctx, *q.Command)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	case q.Proc == "read" && procFile.MatchString(q.Path):
		return c.job.Host.ReadFile(ctx, q.Path, host.ReadLimit)
	case q.Proc == "list" && procDir.MatchString(q.Path):
		es, err := c.job.Host.ReadDir(ctx, q.Path)
		if err != nil {
			return nil, err
		}
		return json.Marshal(es)
	case q.Proc == "link" && procLink.MatchString(q.Path):
		to, err := c.job.Host.Readlink(ctx, q.Path)
		return []byte(to), err
	}
	return nil, fmt.Errorf("%w: the confined child made a request that it may not make", host.ErrDenied)
}

// other asks another host, if the run may, and only one that it grants.
func (c *Child) other(ctx context.Context, t host.Table) ([]byte, error) {
	if c.job.Grants == nil {
		return nil, fmt.Errorf("%w: the confined child asked for another host in a run without --network", host.ErrDenied)
	}
	if !c.job.Grants(ctx, t) {
		return nil, fmt.Errorf("%w: the confined child asked for a server that no configuration names", host.ErrDenied)
	}
	return c.job.Host.Table(ctx, t)
}

// reason puts into words why the child said no more.
func (c *Child) reason(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the confined child gave no sign of life for %s, and was ended", silence)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) &&
		!errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("listening to the confined child: %w", err)
	}
	select {
	case <-c.gone:
	case <-time.After(reaping):
		return errors.New("the confined child closed its socket")
	}
	text := "the confined child ended: " + c.cmd.ProcessState.String()
	if ws, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
		text += " (killed by somebody, or the host is out of memory)"
	}
	if w := c.words.firstLine(); w != "" {
		text += ": " + w
	}
	return errors.New(text)
}

// head keeps the beginning of what is written to it.
type head struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *head) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), lastWords-min(t.b.Len(), lastWords))])
	return len(p), nil
}

// firstLine is the first line written: of a crash of Go, what went wrong.
func (t *head) firstLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(t.b.String()), "\n")
	return strings.ToValidUTF8(line, "?")
}
