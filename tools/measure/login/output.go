package login

import (
	"bufio"
	"bytes"
	"io"
	"sync"
	"time"
)

// eachLine calls do for each line, however long; what is over 4 KiB of one is cut.
func eachLine(r io.Reader, do func(string)) {
	br := bufio.NewReaderSize(r, 4<<10)
	for {
		b, err := br.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			line := string(b)
			for err == bufio.ErrBufferFull {
				_, err = br.ReadSlice('\n')
			}
			do(line)
			if err == nil {
				continue
			}
		} else if len(b) > 0 {
			do(string(bytes.TrimRight(b, "\r\n")))
		}
		if err != nil {
			return
		}
	}
}

// firstOutput notes when the command's own word came, or else when anything came.
type firstOutput struct {
	start  time.Time
	enough func()

	mu     sync.Mutex
	first  time.Duration
	marked time.Duration
	head   []byte
	n      int
}

// muchOutput of a forced command that knows no end is enough.
const muchOutput = 1 << 20

func (f *firstOutput) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := time.Since(f.start)
	if f.n == 0 {
		f.first = at
	}
	f.n += len(b)
	if f.marked == 0 {
		f.head = append(f.head, b...)
		if i := bytes.Index(f.head, []byte(marker)); i >= 0 && bytes.IndexByte(f.head[i:], '\n') >= 0 {
			f.marked = at
			f.head = f.head[i:min(len(f.head), i+1<<10)]
		} else if len(f.head) > 8<<10 {
			f.head = append(f.head[:0], f.head[len(f.head)-4<<10:]...)
		}
	}
	if f.n > muchOutput {
		f.enough()
	}
	return len(b), nil
}

func (f *firstOutput) at() (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.marked > 0 {
		return f.marked, true
	}
	return f.first, f.n > 0
}

func (f *firstOutput) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.head)
}

// tail keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	b   []byte
	max int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[max(0, len(p)-t.max):]...)
	if len(t.b) > t.max {
		t.b = append(t.b[:0], t.b[len(t.b)-t.max:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
