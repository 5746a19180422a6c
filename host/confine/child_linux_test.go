package confine

import (
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
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/host"
	"fettle/internal/means"
)

// pair is a socket between a parent and a child that are both here.
func pair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
}

// open are the sockets of parents that listen, which a closed one would end.
var open []*os.File

// joined is a child that asks what answer answers.
func joined(t *testing.T, answer func(ask) ([]byte, error)) *Parent {
	t.Helper()
	ours, theirs := pair(t)
	open = append(open, ours, theirs)
	p := &Parent{conn: ours, waiting: map[uint32]chan []byte{}}
	if p.Say(nil); !p.send.TryLock() {
		t.Fatal("it stays locked after a word")
	}
	p.send.Unlock()
	go p.listen(ours)
	go func() {
		readFrame(theirs, ofChild)
		for {
			f, err := readFrame(theirs, ofChild)
			if err != nil {
				return
			}
			var q ask
			json.Unmarshal(f.body, &q)
			b, err := answer(q)
			writeFrame(theirs, frame{kind: kindAnswer, num: f.num + 1000, body: pack([]byte("nobody asked"), nil)})
			writeFrame(theirs, frame{kind: kindAnswer, num: f.num, body: pack(b, err)})
		}
	}()
	return p
}

// local is a host that says the same to every question, but what its errors say.
type local struct {
	host.Source
	err error
}

func (l local) ReadFile(context.Context, string, int64) ([]byte, error) { return []byte("here"), l.err }
func (l local) ReadDir(context.Context, string) ([]host.Entry, error) {
	return []host.Entry{{Name: "here"}}, l.err
}
func (l local) Readlink(context.Context, string) (string, error)  { return "here", l.err }
func (l local) Table(context.Context, host.Table) ([]byte, error) { return []byte("table"), l.err }
func (l local) Command(context.Context, host.Command) (host.Output, error) {
	return host.Output{Stdout: []byte("out"), Exit: 3}, l.err
}

// TestChildAsks: what a child reads itself, what it asks its parent for, and what nobody reads for it.
func TestChildAsks(t *testing.T) {
	means.Ends(t)
	var mu sync.Mutex
	var asked []ask
	var fails error
	p := joined(t, func(q ask) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q)
		switch {
		case q.Command != nil:
			b, _ := json.Marshal(host.Output{Stdout: []byte("there"), Exit: 4})
			return b, fails
		case q.Proc == "list":
			return []byte(`[{"Name":"there"}]`), fails
		}
		return []byte("there"), fails
	})
	read := func(name string, limit int64) func(host.Source) (string, error) {
		return func(s host.Source) (string, error) {
			b, err := s.ReadFile(t.Context(), name, limit)
			return string(b), err
		}
	}
	list := func(name string) func(host.Source) (string, error) {
		return func(s host.Source) (string, error) {
			es, err := s.ReadDir(t.Context(), name)
			if len(es) == 0 {
				return "", err
			}
			return es[0].Name, err
		}
	}
	follow := func(name string) func(host.Source) (string, error) {
		return func(s host.Source) (string, error) { return s.Readlink(t.Context(), name) }
	}
	command := func(s host.Source) (string, error) {
		out, err := s.Command(t.Context(), host.Command{Name: "x"})
		return fmt.Sprintf("%s%d", out.Stdout, out.Exit), err
	}
	table := func(s host.Source) (string, error) { b, err := s.Table(t.Context(), "t"); return string(b), err }
	for name, c := range map[string]struct {
		look  func(host.Source) (string, error)
		err   error // here
		fails error // there
		want  string
		is    error
		asks  string
	}{
		"a file":                    {read("/etc/a", 4), nil, nil, "here", nil, ""},
		"a file that is denied":     {read("/etc/a", 4), host.ErrDenied, nil, "here", host.ErrDenied, ""},
		"of a process":              {read("/proc/1/maps", 9), nil, nil, "there", nil, "read /proc/1/maps"},
		"of a process, as limited":  {read("/proc/1/maps", 5), nil, nil, "there", nil, "read /proc/1/maps"},
		"of a process, too big":     {read("/proc/1/maps", 4), nil, nil, "", host.ErrTooBig, "read /proc/1/maps"},
		"of a process, gone":        {read("/proc/1/maps", 9), nil, host.ErrAbsent, "", host.ErrAbsent, "read /proc/1/maps"},
		"secret":                    {read("/proc/1/environ", 9), nil, nil, "", host.ErrDenied, ""},
		"a folder":                  {list("/etc"), nil, nil, "here", nil, ""},
		"a folder that is denied":   {list("/etc"), host.ErrDenied, nil, "here", host.ErrDenied, ""},
		"descriptors":               {list("/proc/1/fd"), host.ErrDenied, nil, "there", nil, "list /proc/1/fd"},
		"descriptors, not denied":   {list("/proc/1/fd"), nil, nil, "here", nil, ""},
		"descriptors, gone":         {list("/proc/1/fd"), host.ErrAbsent, nil, "here", host.ErrAbsent, ""},
		"descriptors, gone there":   {list("/proc/1/fd"), host.ErrDenied, host.ErrAbsent, "here", host.ErrAbsent, "list /proc/1/fd"},
		"a link":                    {follow("/etc/l"), nil, nil, "here", nil, ""},
		"a link that is denied":     {follow("/etc/l"), host.ErrDenied, nil, "here", host.ErrDenied, ""},
		"a program":                 {follow("/proc/1/exe"), host.ErrDenied, nil, "there", nil, "link /proc/1/exe"},
		"a program, not denied":     {follow("/proc/1/exe"), nil, nil, "here", nil, ""},
		"a program, gone there":     {follow("/proc/1/exe"), host.ErrDenied, host.ErrAbsent, "", host.ErrAbsent, "link /proc/1/exe"},
		"a command":                 {command, nil, nil, "there4", nil, "command x"},
		"a command that is not one": {command, nil, host.ErrNoCommand, "0", host.ErrNoCommand, "command x"},
		"a table":                   {table, nil, nil, "there", nil, "table t"},
		"a table that is not there": {table, nil, host.ErrAbsent, "", host.ErrAbsent, "table t"},
	} {
		mu.Lock()
		asked, fails = nil, c.fails
		mu.Unlock()
		got, err := c.look(p.Source(local{err: c.err}))
		mu.Lock()
		var said string
		for _, q := range asked {
			switch said += q.Proc + " " + q.Path; {
			case q.Command != nil:
				said = "command " + q.Command.Name
			case q.Table != "":
				said = "table " + string(q.Table)
			}
		}
		mu.Unlock()
		if got != c.want || !errors.Is(err, c.is) || said != c.asks {
			t.Errorf("%s: %q, %v, asked %q", name, got, err, said)
		}
	}
}

// TestQuestionsThatFail: too long, without a parent, and given up; and answers in another order.
func TestQuestionsThatFail(t *testing.T) {
	means.Ends(t)
	p := joined(t, func(ask) ([]byte, error) { select {} })
	if _, err := p.ask(t.Context(), ask{Path: strings.Repeat("x", maxAsk)}); !errors.Is(err, host.ErrTooBig) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.ask(ctx, ask{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ours, theirs := pair(t)
	theirs.Close()
	ours.Close()
	p = &Parent{conn: ours, waiting: map[uint32]chan []byte{}}
	if _, err := p.ask(t.Context(), ask{}); !errors.Is(err, os.ErrClosed) ||
		!strings.HasPrefix(err.Error(), "asking the unconfined parent: ") {
		t.Error(err)
	}
	if err := p.Say(nil); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	ours, theirs = pair(t)
	open = append(open, ours, theirs)
	p = &Parent{conn: ours, waiting: map[uint32]chan []byte{}}
	go p.listen(ours)
	var wg sync.WaitGroup
	for _, path := range []string{"a", "b"} {
		wg.Go(func() {
			if b, err := p.ask(t.Context(), ask{Path: path}); string(b) != path || err != nil {
				t.Errorf("%s was answered %q, %v", path, b, err)
			}
		})
	}
	var frames []frame
	for range 2 {
		f, err := readFrame(theirs, ofChild)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
	for i := range frames {
		f := frames[1-i]
		var q ask
		json.Unmarshal(f.body, &q)
		writeFrame(theirs, frame{kind: kindAnswer, num: f.num, body: pack([]byte(q.Path), nil)})
	}
	wg.Wait()
	if len(p.waiting) != 0 {
		t.Errorf("%d questions wait for ever", len(p.waiting))
	}
}

// TestParentLooks: what a parent looks at for its child, and what it refuses.
func TestParentLooks(t *testing.T) {
	means.Ends(t)
	out := `{"Stdout":"b3V0","Stderr":null,"Exit":3}`
	for q, want := range map[string]string{
		`{"table":"x"}`: "table", `{"command":{"name":"x"}}`: out, `{"proc":"read","path":"/proc/1/maps"}`: "here",
		`{"proc":"link","path":"/proc/1/exe"}`: "here", `{"proc":"list","path":"/proc/1/fd"}`: "here",
		`{"proc":"read","path":"/proc/1/environ"}`: "", `{"proc":"read","path":"/proc/1/fd"}`: "", `{"proc":"list","path":"/proc/1/maps"}`: "",
		`{"proc":"list","path":"/etc"}`: "", `{"proc":"link","path":"/proc/1/fd"}`: "", `{"proc":"link","path":"/etc/l"}`: "", `{}`: "",
		`{"proc":"list","path":"/proc/1/exe"}`: "", `{"path":"/proc/1/maps"}`: "", `{"proc":"read","path":"/proc/1/exe"}`: "",
	} {
		for _, err := range []error{nil, host.ErrAbsent} {
			c := &Child{job: Job{Host: local{err: err}}}
			b, got := c.look(t.Context(), []byte(q))
			switch {
			case want == "":
				if !errors.Is(got, host.ErrDenied) || len(b) > 0 {
					t.Errorf("%s: %q, %v", q, b, got)
				}
			case !errors.Is(got, err) || err == nil && (got != nil || !strings.Contains(string(b), want) && want != out):
				t.Errorf("%s: %q, %v; here %v", q, b, got, err)
			}
			if err == nil && want == out {
				var o host.Output
				if err := json.Unmarshal(b, &o); err != nil || string(o.Stdout) != "out" || o.Exit != 3 {
					t.Errorf("%s: %s, %v", q, b, err)
				}
			}
		}
	}
	ours, theirs := pair(t)
	defer ours.Close()
	defer theirs.Close()
	locks := &Child{conn: ours}
	if err := locks.write(frame{kind: kindJob}); err != nil || !locks.send.TryLock() {
		t.Fatalf("it stays locked after the job, %v", err)
	}
	if _, err := (&Child{}).look(t.Context(), []byte(`{"table":"x"}`)); !errors.Is(err, host.ErrNotRunning) {
		t.Error(err)
	}
	if _, err := (&Child{job: Job{Host: local{}}}).look(t.Context(), []byte(`{`)); err == nil {
		t.Error("what is no question is answered")
	}
}

// listening is a parent whose child is this test.
func listening(t *testing.T, messages int) (c *Child, theirs *os.File) {
	t.Helper()
	ours, theirs := pair(t)
	c = &Child{conn: ours, job: Job{Host: local{}}, said: make(chan []byte, messages), gone: make(chan struct{}),
		slots: make(chan struct{}, maxAsking), words: &head{}, stop: func() {}}
	c.cmd = exec.Command("/bin/true")
	if err := c.cmd.Run(); err != nil {
		t.Fatal(err)
	}
	close(c.gone)
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return c, theirs
}

// TestChildIsBounded: a child may speak as often as its job says, and ask so much at once; then it ends.
func TestChildIsBounded(t *testing.T) {
	means.Ends(t)
	say, beats := frame{kind: kindMessage, body: []byte("x")}, frame{kind: kindBeat}
	for name, c := range map[string]struct {
		frames []frame
		busy   int // slots that are taken
		want   string
	}{
		"as often as it may": {[]frame{say, beats, say}, 0, ""},
		"once more":          {[]frame{say, beats, say, say}, 0, "sent too much"},
		"a last question":    {[]frame{{kind: kindAsk, body: []byte(`{"table":"x"}`)}}, maxAsking - 1, ""},
		"a question more":    {[]frame{{kind: kindAsk, body: []byte(`{"table":"x"}`)}}, maxAsking, "sent too much"},
		"not a kind":         {[]frame{{kind: 'x'}, say}, 0, ""},
		"a body too many":    {[]frame{{kind: kindBeat, body: []byte("x")}}, 0, `unexpected frame 'B' of 1 bytes`},
	} {
		ch, theirs := listening(t, 2)
		for range c.busy {
			ch.slots <- struct{}{}
		}
		done := make(chan struct{})
		go func() { ch.listen(t.Context()); close(done) }()
		for _, f := range c.frames {
			if err := writeFrame(theirs, f); err != nil {
				t.Fatal(name, err)
			}
		}
		if c.want == "" {
			if c.frames[0].kind == kindAsk {
				if f, err := readFrame(theirs, ofParent); err != nil || string(f.body) != "\x00table" {
					t.Errorf("%s: answered %q, %v", name, f.body, err)
				}
				for range c.busy {
					<-ch.slots
				}
			}
			theirs.Close()
			means.Until(t, name+": the lock that it has while it answers", ch.send.TryLock)
			ch.send.Unlock()
			c.want = "the confined child ended: exit status 0"
		}
		<-done
		if ch.err == nil || !strings.Contains(ch.err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, ch.err, c.want)
		}
		for range ch.said {
		}
		if _, err := ch.Receive(t.Context()); err != ch.err {
			t.Errorf("%s: %v", name, err)
		}
		if len(ch.slots) > 0 && c.busy < maxAsking {
			t.Errorf("%s: %d slots are taken", name, len(ch.slots))
		}
	}
}

// TestReason: why a child said no more, in words.
func TestReason(t *testing.T) {
	unlocked := &head{}
	unlocked.Write(nil)
	if !unlocked.mu.TryLock() {
		t.Fatal("it stays locked after a write")
	}
	unlocked.mu.Unlock()
	if unlocked.firstLine(); !unlocked.mu.TryLock() {
		t.Fatal("it stays locked after it was read")
	}
	for script, want := range map[string]string{
		"exit 0": "the confined child ended: exit status 0", "exit 2": "the confined child ended: exit status 2",
		"kill -9 $$":                        "the confined child ended: signal: killed (killed by somebody, or the host is out of memory)",
		"kill -15 $$":                       "the confined child ended: signal: terminated",
		"echo ' a' >&2; echo b >&2; exit 1": "the confined child ended: exit status 1: a",
	} {
		c := &Child{gone: make(chan struct{}), words: &head{}}
		c.cmd = exec.Command("/bin/sh", "-c", script)
		c.cmd.Stderr = c.words
		c.cmd.Run()
		close(c.gone)
		for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, fmt.Errorf("x: %w", syscall.EPIPE)} {
			if got := c.reason(err).Error(); got != want {
				t.Errorf("%s, %v: %s", script, err, got)
			}
		}
		for err, want := range map[error]string{errBroken: "listening to the confined child: broken",
			os.ErrDeadlineExceeded: "the confined child gave no sign of life for 15s, and was ended"} {
			if got := c.reason(err).Error(); got != want {
				t.Errorf("%v: %s", err, got)
			}
		}
	}
	h := &head{}
	for _, n := range []int{0, 1, lastWords - 2, 5, lastWords} {
		if got, err := h.Write(make([]byte, n)); got != n || err != nil {
			t.Errorf("%d of %d bytes, %v", got, n, err)
		}
	}
	if h.b.Len() != lastWords {
		t.Errorf("%d bytes are kept", h.b.Len())
	}
	h = &head{}
	if h.Write([]byte("\n \xff first\nsecond")); h.firstLine() != "? first" {
		t.Errorf("%q", h.firstLine())
	}
	if parting > 500*time.Millisecond || reaping > 5*time.Second || parting < time.Millisecond || reaping < parting {
		t.Error("times", parting, reaping)
	}
	if beat < 100*1e6 || silence < 3*beat || answerTime < 10*1e9 {
		t.Error("times")
	}
}

// extracting remembers what it was asked to take apart.
type extracting struct {
	host.Source
	asked *string
}

func (e extracting) Extract(_ context.Context, kind, name string, _ func(io.Reader) ([]byte, error)) ([]byte, error) {
	*e.asked = kind + " " + name
	return []byte("taken apart"), nil
}

// TestExtract: foreign data is taken apart here, of the kind and by the name that were asked for.
func TestExtract(t *testing.T) {
	means.Ends(t)
	var asked string
	local := extracting{asked: &asked}
	for name, s := range map[string]host.Source{"a child": (&Parent{}).Source(local), "alone": &live{local}} {
		asked = ""
		b, err := s.(host.Extractor).Extract(t.Context(), "kind", "/name", nil)
		if string(b) != "taken apart" || err != nil || asked != "kind /name" {
			t.Errorf("%s: %q, %v, asked %q", name, b, err, asked)
		}
	}
}
