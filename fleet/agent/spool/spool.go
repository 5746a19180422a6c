// Package spool keeps messages until the hub has them: in order, on disk,
// within bounds.
package spool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/internal/files"
)

// Entry is one message that waits.
type Entry struct {
	Instance string    `json:"instance"`
	Seq      int64     `json:"seq"`
	Kind     string    `json:"kind"`
	Boot     string    `json:"boot"`      // in which it was made
	Uptime   int64     `json:"uptime_ms"` // and when, by CLOCK_BOOTTIME
	Wall     time.Time `json:"wall"`      // and by the host's clock

	number  int64
	size    int64
	payload []byte // what could not be written: the disk is full
}

// Spool is a folder of messages.
type Spool struct {
	dir      string
	maxBytes int64
	entries  []*Entry
	bytes    int64
	next     int64
	Dropped  int64 // messages that had no place
}

// maxEntries bounds their number, maxUnwritten those that only memory has.
const (
	maxEntries   = 2000
	maxUnwritten = 16
	headLimit    = 1 << 10
	fileLimit    = 1 << 20
	suffix       = ".msg"
)

// Open reads what waits in a folder. What is damaged goes.
func Open(dir string, maxBytes int64) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	es, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Spool{dir: dir, maxBytes: maxBytes, next: 1}
	for _, e := range es {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		n, err := strconv.ParseInt(name, 10, 64)
		if !ok || err != nil {
			if strings.HasPrefix(e.Name(), ".") { // a write that was cut off
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
			continue
		}
		entry := &Entry{number: n}
		if err := s.head(entry); err != nil {
			_ = os.Remove(s.file(n))
			s.Dropped++
			continue
		}
		s.entries = append(s.entries, entry)
		s.bytes += entry.size
		s.next = max(s.next, n+1)
	}
	slices.SortFunc(s.entries, func(a, b *Entry) int { return int(a.number - b.number) })
	return s, nil
}

func (s *Spool) file(n int64) string { return filepath.Join(s.dir, fmt.Sprintf("%016d%s", n, suffix)) }

// head reads an entry's first line.
func (s *Spool) head(e *Entry) error {
	f, err := os.Open(s.file(e.number))
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	line, err := bufio.NewReader(io.LimitReader(f, headLimit)).ReadBytes('\n')
	if err != nil {
		return err
	}
	if e.size = st.Size(); e.size > fileLimit {
		return errors.New("too large")
	}
	return json.Unmarshal(line, e)
}

// Len is how many messages wait.
func (s *Spool) Len() int { return len(s.entries) }

// At is the i-th of them.
func (s *Spool) At(i int) *Entry { return s.entries[i] }

// Payload is the message itself.
func (s *Spool) Payload(e *Entry) ([]byte, error) {
	if e.payload != nil {
		return e.payload, nil
	}
	b, err := os.ReadFile(s.file(e.number))
	if err != nil {
		return nil, err
	}
	_, payload, ok := bytes.Cut(b, []byte("\n"))
	if !ok {
		return nil, fmt.Errorf("%s is damaged", s.file(e.number))
	}
	return payload, nil
}

// Add keeps a message. Where there is no more place, the oldest go; where the
// disk is full, memory has some. The error says what is wrong with the disk.
func (s *Spool) Add(e Entry, payload []byte) error {
	head, err := json.Marshal(e)
	if err != nil {
		return err
	}
	e.number = s.next
	s.next++
	b := append(append(head, '\n'), payload...)
	e.size = int64(len(b))
	for len(s.entries) > 0 && (s.bytes+e.size > s.maxBytes || len(s.entries) >= maxEntries) {
		s.drop(0)
		s.Dropped++
	}
	werr := files.WriteFile(s.file(e.number), b, 0o600)
	if werr != nil {
		e.payload = payload
		s.boundUnwritten()
	}
	s.entries = append(s.entries, &e)
	s.bytes += e.size
	return werr
}

func (s *Spool) boundUnwritten() {
	n := 0
	for i := len(s.entries) - 1; i >= 0; i-- {
		if s.entries[i].payload == nil {
			continue
		}
		if n++; n >= maxUnwritten {
			s.drop(i)
			s.Dropped++
		}
	}
}

func (s *Spool) drop(i int) {
	e := s.entries[i]
	if e.payload == nil {
		_ = os.Remove(s.file(e.number))
	}
	s.bytes -= e.size
	s.entries = slices.Delete(s.entries, i, i+1)
}

// Done forgets an instance's messages up to a number: the hub has them.
func (s *Spool) Done(instance string, seq int64) {
	for i := 0; i < len(s.entries); {
		if e := s.entries[i]; e.Instance == instance && e.Seq <= seq {
			s.drop(i)
			continue
		}
		i++
	}
}

// Forget drops a message that cannot be read any more.
func (s *Spool) Forget(i int) {
	s.drop(i)
	s.Dropped++
}
