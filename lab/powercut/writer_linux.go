package powercut

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"
)

// recordSize is what the writer writes at a time, in bytes.
const recordSize = 16 << 10

// record is what the writer writes n-th.
func record(n int) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(n))
	b := make([]byte, recordSize)
	rand.NewChaCha8(seed).Read(b)
	return b
}

const writerMark = "written:"

// writer appends records to a file, and says in the log of writes when each
// is durable.
type writer struct {
	stop chan struct{}
	done chan error
}

func startWriter(name, recorded string) *writer {
	w := &writer{make(chan struct{}), make(chan error, 1)}
	go func() { w.done <- w.run(name, recorded) }()
	return w
}

func (w *writer) run(name, recorded string) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for n := 0; ; n++ {
		if _, err := f.Write(record(n)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if err := mark(recorded, fmt.Sprint(writerMark, n)); err != nil {
			return err
		}
		select {
		case <-w.stop:
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (w *writer) end() error {
	close(w.stop)
	return <-w.done
}

// intact tells whether the first n records are in the file. What comes after
// them was not durable yet and may be anything.
func intact(name string, n int) error {
	if n == 0 {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	got := make([]byte, recordSize)
	for i := range n {
		if _, err := io.ReadFull(f, got); err != nil {
			return fmt.Errorf("%s: record %d of %d: %w", name, i, n, err)
		}
		if !bytes.Equal(got, record(i)) {
			return fmt.Errorf("%s: record %d of %d is not what was written", name, i, n)
		}
	}
	return nil
}
