package capture

import (
	"context"
	"errors"
	"io"
	"sort"
	"sync"
	"syscall"

	"fettle/host"
	"fettle/host/redact"
)

// Recorder is a host.Source that asks another one and keeps every answer.
type Recorder struct {
	src     host.Source
	mu      sync.Mutex
	answers map[string]Answer
}

// NewRecorder makes a Recorder around src. Closing it closes src.
func NewRecorder(src host.Source) *Recorder {
	return &Recorder{src: src, answers: map[string]Answer{}}
}

func (r *Recorder) Kind() host.Kind         { return r.src.Kind() }
func (r *Recorder) Name() string            { return r.src.Name() }
func (r *Recorder) Identity() host.Identity { return r.src.Identity() }
func (r *Recorder) Close() error            { return r.src.Close() }

// keep files an answer. Asked twice, the later one counts, unless it only
// says that the asker's time ran out.
func (r *Recorder) keep(a Answer, err error) {
	a.Failure = failure(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.answers[a.key()]; ok && a.Failure.temporary() {
		return
	}
	r.answers[a.key()] = a
}

func (r *Recorder) Stat(ctx context.Context, path string, follow bool) (host.Info, error) {
	i, err := r.src.Stat(ctx, path, follow)
	op := OpLstat
	if follow {
		op = OpStat
	}
	a := Answer{Question: of(ctx, op, path)}
	if err == nil {
		a.Info = &i
	}
	r.keep(a, err)
	return i, err
}

func (r *Recorder) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	b, err := r.src.ReadFile(ctx, path, limit)
	r.keep(Answer{Question: of(ctx, OpRead, path), content: redact.Kept(path, b)}, err)
	return b, err
}

func (r *Recorder) ReadDir(ctx context.Context, path string) ([]host.Entry, error) {
	es, err := r.src.ReadDir(ctx, path)
	a := Answer{Question: of(ctx, OpDir, path)}
	for _, e := range es {
		a.Entries = append(a.Entries, entry{text(e.Name), uint32(e.Type)})
	}
	r.keep(a, err)
	return es, err
}

func (r *Recorder) Readlink(ctx context.Context, path string) (string, error) {
	s, err := r.src.Readlink(ctx, path)
	a := Answer{Question: of(ctx, OpLink, path)}
	if err == nil {
		t := text(s)
		a.Target = &t
	}
	r.keep(a, err)
	return s, err
}

func (r *Recorder) Xattr(ctx context.Context, path, name string) ([]byte, error) {
	b, err := r.src.Xattr(ctx, path, name)
	q := of(ctx, OpXattr, path)
	q.Attr = text(name)
	r.keep(Answer{Question: q, Value: b}, err)
	return b, err
}

func (r *Recorder) Command(ctx context.Context, c host.Command) (host.Output, error) {
	out, err := r.src.Command(ctx, c)
	r.keep(Answer{Question: Question{Op: OpCommand, Path: text(c.Name), Args: texts(c.Args)},
		content: out.Stdout, Stderr: text(out.Stderr), Exit: out.Exit}, err)
	return out, err
}

func (r *Recorder) Table(ctx context.Context, t host.Table) ([]byte, error) {
	b, err := r.src.Table(ctx, t)
	r.keep(Answer{Question: Question{Op: OpTable, Path: text(t)}, content: b}, err)
	return b, err
}

// Extract keeps what was made of a file, as a table, and not the file.
func (r *Recorder) Extract(ctx context.Context, kind, name string, of func(io.Reader) ([]byte, error)) ([]byte, error) {
	b, err := host.ExtractOf(ctx, r.src, kind, name, of)
	r.keep(Answer{Question: Question{Op: OpTable, Path: text(host.ExtractTable(kind, name))}, content: b}, err)
	return b, err
}

// Capture is what was recorded so far, in a stable order.
func (r *Recorder) Capture() *Capture {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &Capture{
		Manifest: Manifest{Format: Format, Version: Version, Kind: r.src.Kind(), Name: text(r.src.Name()), Identity: r.src.Identity()},
	}
	for _, a := range r.answers {
		c.Answers = append(c.Answers, a)
	}
	sort.Slice(c.Answers, func(i, j int) bool { return c.Answers[i].key() < c.Answers[j].key() })
	return c
}

// Capture is a capture in memory, on its way to a file.
type Capture struct{ Manifest }

// Unread lists what could not be read, with the reason. That a thing is
// absent, or no symlink, is an answer.
func (c *Capture) Unread() []Unread {
	var out []Unread
	for _, a := range c.Answers {
		if err := a.Failure.err(); err != nil && !host.IsAbsent(err) && !errors.Is(err, host.ErrNotRunning) &&
			!(a.Op == OpLink && errors.Is(err, syscall.EINVAL)) {
			what := string(a.Path)
			for _, arg := range a.Args {
				what += " " + string(arg)
			}
			if a.Op == OpTable {
				what = "table " + what
			}
			out = append(out, Unread{what, err})
		}
	}
	return out
}

// Unread is one thing that a capture lacks.
type Unread struct {
	What string
	Err  error
}
