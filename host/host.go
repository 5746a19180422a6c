// Package host is what a machine looks like to a check: files, folders,
// links, extended attributes, a short list of read-only commands, and tables
// of running state. The same questions are answered by the live machine, by a
// root folder, by a capture and by a sosreport, so that a check is written once.
package host

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// ReadLimit is the most that Host.ReadFile reads of one file, in bytes.
const ReadLimit = 16 << 20

// Host wraps a Source with what most checks need, and remembers answers, so
// that two hundred checks that read the same file read it once.
type Host struct {
	src   Source
	cache cache
}

// New makes a Host of src. Close the source, not the host.
func New(src Source) *Host { return &Host{src: src} }

func (h *Host) Source() Source     { return h.src }
func (h *Host) Kind() Kind         { return h.src.Kind() }
func (h *Host) Name() string       { return h.src.Name() }
func (h *Host) Identity() Identity { return h.src.Identity() }

// Now is the host's clock: the present on a live host, the moment of the
// capture otherwise. Checks use it instead of time.Now.
func (h *Host) Now() time.Time { return h.src.Identity().Time }

// Running reports whether the host has running state (sysctls, links,
// processes). A root folder has none.
func (h *Host) Running() bool { return h.Kind() != KindRoot }

// ReadFile reads a whole file of at most ReadLimit bytes. The caller must not
// change the bytes.
func (h *Host) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if secret(name) {
		return nil, wrap("reading", name, ErrSecret)
	}
	return remember(ctx, &h.cache, asked(ctx, "file:"+name), func() ([]byte, error) {
		b, err := h.src.ReadFile(ctx, path.Clean(name), ReadLimit)
		return b, wrap("reading", name, err)
	})
}

// ReadString reads a file and trims the white space around it: the form of
// most files in /proc/sys and /sys.
func (h *Host) ReadString(ctx context.Context, name string) (string, error) {
	b, err := h.ReadFile(ctx, name)
	return strings.TrimSpace(string(b)), err
}

// ReadShort is a file's text if that is at most so many bytes; what is absent, longer or
// no regular file says nothing.
func (h *Host) ReadShort(ctx context.Context, name string, most int64) (string, error) {
	st, err := h.Stat(ctx, name)
	if IsAbsent(err) || err == nil && (!st.Mode.IsRegular() || st.Size > most) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	b, err := h.ReadFile(ctx, name)
	if IsAbsent(err) || errors.Is(err, ErrTooBig) {
		return "", nil
	}
	return string(b), err
}

// ReadDir lists a folder, sorted by name.
func (h *Host) ReadDir(ctx context.Context, name string) ([]Entry, error) {
	return remember(ctx, &h.cache, asked(ctx, "dir:"+name), func() ([]Entry, error) {
		es, err := h.src.ReadDir(ctx, path.Clean(name))
		es = slices.Clone(es) // a source may hand out its own
		sort.Slice(es, func(i, j int) bool { return es[i].Name < es[j].Name })
		return es, wrap("listing", name, err)
	})
}

// Glob lists dir's entries whose names match pattern (path.Match), sorted, as
// full paths. A folder that is absent has no entries and is no error.
func (h *Host) Glob(ctx context.Context, dir, pattern string) ([]string, error) {
	es, err := h.ReadDir(ctx, dir)
	if IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range es {
		if ok, err := path.Match(pattern, e.Name); err != nil {
			return nil, err
		} else if ok {
			out = append(out, path.Join(dir, e.Name))
		}
	}
	return out, nil
}

// Stat follows symlinks, Lstat does not.
func (h *Host) Stat(ctx context.Context, name string) (Info, error) {
	return remember(ctx, &h.cache, asked(ctx, "stat:"+name), func() (Info, error) {
		i, err := h.src.Stat(ctx, path.Clean(name), true)
		return i, wrap("stat of", name, err)
	})
}

// Lstat is Stat of the name itself, be it a symlink or not.
func (h *Host) Lstat(ctx context.Context, name string) (Info, error) {
	return remember(ctx, &h.cache, asked(ctx, "lstat:"+name), func() (Info, error) {
		i, err := h.src.Stat(ctx, path.Clean(name), false)
		return i, wrap("lstat of", name, err)
	})
}

// Exists reports whether a path is there; the error says that nobody could look.
func (h *Host) Exists(ctx context.Context, name string) (bool, error) {
	_, err := h.Stat(ctx, name)
	if IsAbsent(err) {
		return false, nil
	}
	return err == nil, err
}

// Readlink reads the target of a symlink, as stored.
func (h *Host) Readlink(ctx context.Context, name string) (string, error) {
	return remember(ctx, &h.cache, asked(ctx, "link:"+name), func() (string, error) {
		s, err := h.src.Readlink(ctx, path.Clean(name))
		return s, wrap("reading link", name, err)
	})
}

// Xattr reads one extended attribute, following symlinks. ErrAbsent: the file
// has no such attribute, or the file system knows none.
func (h *Host) Xattr(ctx context.Context, name, attr string) ([]byte, error) {
	return remember(ctx, &h.cache, asked(ctx, "xattr:"+attr+":"+name), func() ([]byte, error) {
		b, err := h.src.Xattr(ctx, path.Clean(name), attr)
		return b, wrap("reading "+attr+" of", name, err)
	})
}

// Run runs one of the read-only Commands and returns what it printed. An exit
// status other than 0 is in the Output, not in the error.
func (h *Host) Run(ctx context.Context, name string, args ...string) (Output, error) {
	c := Command{Name: name, Args: args}
	return remember(ctx, &h.cache, "cmd:"+c.Key(), func() (Output, error) {
		if err := c.Allowed(); err != nil {
			return Output{}, err
		}
		out, err := h.src.Command(ctx, c)
		return out, wrap("running", c.String(), err)
	})
}

// Memo remembers what somebody makes of the host's answers, under a key of
// their own ("rule:processes"), so that it is made once. Nobody may change it.
func Memo[T any](ctx context.Context, h *Host, key string, ask func() (T, error)) (T, error) {
	return remember(ctx, &h.cache, "memo:"+key, ask)
}

type waitingKey struct{}

// TellWaiting has waits called when somebody begins to wait for a table, and
// what it returns when the wait is over.
func TellWaiting(ctx context.Context, waits func() (over func())) context.Context {
	return context.WithValue(ctx, waitingKey{}, waits)
}

func (h *Host) table(ctx context.Context, t Table) ([]byte, error) {
	if waits, ok := ctx.Value(waitingKey{}).(func() func()); ok {
		defer waits()()
	}
	return remember(ctx, &h.cache, "table:"+string(t), func() ([]byte, error) {
		b, err := h.src.Table(ctx, t)
		return b, wrap("reading", string(t), err)
	})
}

// wrap says what was being done, unless the error names the path already.
func wrap(doing, what string, err error) error {
	var pe *fs.PathError
	if err == nil || errors.As(err, &pe) {
		return err
	}
	return &fs.PathError{Op: doing, Path: what, Err: err}
}

// cache remembers answers by question. Two who ask the same at once share one
// reading; each waits no longer than its own context allows.
type cache struct {
	mu sync.Mutex
	m  map[string]*answer
}

type answer struct {
	done chan struct{}
	val  any
	err  error
	// dropped: the asker's time ran out, which says nothing about the question;
	// whoever waited asks again.
	dropped bool
}

// remember answers key from the cache, or asks. An answer that failed only
// because the asker's time ran out is not kept.
func remember[T any](ctx context.Context, c *cache, key string, ask func() (T, error)) (T, error) {
	var zero T
	var a *answer
	for {
		var asked bool
		if a, asked = c.answer(key); !asked {
			break
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return zero, ctx.Err()
		}
		if !a.dropped {
			v, _ := a.val.(T)
			return v, a.err
		}
	}
	defer close(a.done)
	a.err = errors.New("the reader panicked") // stands only if ask does not return
	v, err := ask()
	a.val, a.err = v, err
	if err != nil && ctx.Err() != nil {
		c.mu.Lock()
		a.dropped = true
		delete(c.m, key)
		c.mu.Unlock()
	}
	return v, err
}

// answer finds or begins the answer to a question; asked reports whether
// somebody asked it before.
func (c *cache) answer(key string) (a *answer, asked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[string]*answer{}
	}
	if a, asked = c.m[key]; !asked {
		a = &answer{done: make(chan struct{})}
		c.m[key] = a
	}
	return a, asked
}
