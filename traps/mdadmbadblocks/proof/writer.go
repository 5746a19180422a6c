package proof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const writerBlock = 4096

// writer writes to an array without pause and remembers what it was told is
// on the disk, while something else happens to the array.
type writer struct {
	file   *os.File
	ledger []uint64 // by block: which write was the last to be answered
	n      atomic.Uint64
	stop   chan struct{}
	done   sync.WaitGroup
	err    error
}

// startWriter gives every block of the device a content of its own, and starts
// writing to it at places that jump about.
func startWriter(dev string) (*writer, error) {
	f, err := os.OpenFile(dev, os.O_RDWR|os.O_SYNC, 0)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, 2)
	if err != nil {
		return nil, err
	}
	w := &writer{file: f, ledger: make([]uint64, size/writerBlock), stop: make(chan struct{})}
	var all bytes.Buffer
	for i := range w.ledger {
		all.Write(content(uint64(i), 0))
	}
	if _, err := f.WriteAt(all.Bytes(), 0); err != nil {
		return nil, err
	}
	w.done.Add(1)
	go w.run()
	return w, nil
}

func content(block, seq uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, block)
	return bytes.Repeat(binary.LittleEndian.AppendUint64(b, seq), writerBlock/16)
}

func (w *writer) run() {
	defer w.done.Done()
	x := uint64(88172645463325252)
	for seq := uint64(1); ; seq++ {
		select {
		case <-w.stop:
			return
		default:
		}
		x ^= x << 13 // xorshift64, Marsaglia 2003
		x ^= x >> 7
		x ^= x << 17
		block := x % uint64(len(w.ledger))
		if _, err := w.file.WriteAt(content(block, seq), int64(block)*writerBlock); err != nil {
			w.err = fmt.Errorf("write %d to block %d of the array: %w", seq, block, err)
			return
		}
		w.ledger[block] = seq
		w.n.Add(1)
		time.Sleep(8 * time.Millisecond)
	}
}

// end stops writing.
func (w *writer) end() error {
	close(w.stop)
	w.done.Wait()
	return w.err
}

// verify reads the whole array past the page cache and compares.
func (w *writer) verify() error {
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("1\n"), 0); err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for at := 0; at < len(w.ledger); {
		n := min(len(buf)/writerBlock, len(w.ledger)-at)
		if _, err := w.file.ReadAt(buf[:n*writerBlock], int64(at)*writerBlock); err != nil {
			return fmt.Errorf("reading the array back at block %d: %w", at, err)
		}
		for i := range n {
			if !bytes.Equal(buf[i*writerBlock:(i+1)*writerBlock], content(uint64(at+i), w.ledger[at+i])) {
				return fmt.Errorf("block %d of the array does not hold what write %d put there", at+i, w.ledger[at+i])
			}
		}
		at += n
	}
	return nil
}

// intact stops nothing and asks md itself: do all copies agree?
func (r *rig) intact() error {
	if err := setMD("sync_action", "check"); err != nil {
		return err
	}
	if err := r.idle(); err != nil {
		return err
	}
	if n := md("mismatch_cnt"); n != "0" {
		return errors.New("the members disagree in " + n + " sectors")
	}
	return nil
}

// watchMissing notes the largest number of missing members that it saw.
type watchMissing struct {
	most, looks atomic.Int64
	stop        chan struct{}
}

func startWatch() *watchMissing {
	w := &watchMissing{stop: make(chan struct{})}
	go func() {
		for {
			select {
			case <-w.stop:
				return
			default:
			}
			w.looks.Add(1)
			if n, err := strconv.ParseInt(md("degraded"), 10, 64); err == nil && n > w.most.Load() {
				w.most.Store(n)
			}
			time.Sleep(4 * time.Millisecond)
		}
	}()
	return w
}
