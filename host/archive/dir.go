package archive

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"fettle/host"
)

// dirStore is a folder on disk, read where it is asked. os.Root keeps every
// name inside, also when somebody changes the folder meanwhile.
type dirStore struct {
	root *os.Root
	seen *looks
}

// looks keeps what lstat said: the folders above a name are asked of for each
// name below them, and os.Root opens all of them each time.
type looks struct {
	mu sync.Mutex
	m  map[string]look
}

type look struct {
	info host.Info
	err  error
}

// maxLooks bounds what is kept, in names.
const maxLooks = 10_000

func openDir(dir string) (store, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return dirStore{r, &looks{m: map[string]look{}}}, nil
}

func (d dirStore) close() error { return d.root.Close() }

func (d dirStore) lstat(p string) (host.Info, error) {
	d.seen.mu.Lock()
	l, ok := d.seen.m[p]
	d.seen.mu.Unlock()
	if ok {
		return l.info, l.err
	}
	st, err := d.root.Lstat(p)
	if err != nil {
		l.err = bare(err)
	} else {
		l.info = infoOf(st)
	}
	d.seen.mu.Lock()
	defer d.seen.mu.Unlock()
	if len(d.seen.m) < maxLooks {
		d.seen.m[p] = l
	}
	return l.info, l.err
}

func (d dirStore) readlink(p string) (string, error) {
	s, err := d.root.Readlink(p)
	return s, bare(err)
}

func (d dirStore) open(p string) (*os.File, error) {
	// O_NONBLOCK: a FIFO that takes the file's place must not hold fettle up.
	f, err := d.root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return f, bare(err)
}

func (d dirStore) readFile(p string, limit int64) ([]byte, error) {
	f, err := d.open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, host.ErrNotRegular
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(b)) > limit {
		return nil, host.ErrTooBig
	}
	return b, bare(err)
}

func (d dirStore) readTail(p string, n int64) (b []byte, cut bool, err error) {
	f, err := d.open(p)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, false, host.ErrNotRegular
	}
	from := max(st.Size()-n, 0)
	b, err = io.ReadAll(io.NewSectionReader(f, from, n))
	return b, from > 0, bare(err)
}

func (d dirStore) readDir(p string) ([]host.Entry, error) {
	f, err := d.open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	des, err := f.ReadDir(-1)
	out := make([]host.Entry, 0, len(des))
	for _, de := range des {
		out = append(out, host.Entry{Name: de.Name(), Type: de.Type()})
	}
	return out, bare(err)
}

// bare takes the os package's path off an error: callers add the host's.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
