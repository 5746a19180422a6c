package bisect

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// entry is one line of the journal: how the hunt was begun, or what one run at
// a commit gave.
type entry struct {
	Begun   *begun  `json:"begun,omitempty"`
	Commit  string  `json:"commit,omitempty"`
	Figure  float64 `json:"figure"`
	Skipped string  `json:"skipped,omitempty"` // why the commit gave no reading
	Log     string  `json:"log,omitempty"`
	Start   float64 `json:"start,omitempty"`   // Unix time, seconds
	Seconds float64 `json:"seconds,omitempty"` // how long it took
	Built   bool    `json:"built,omitempty"`   // whether that includes a build
	Host    string  `json:"host,omitempty"`    // where; empty: here
}

// begun is what must be the same when a hunt goes on.
type begun struct {
	Good  string `json:"good"`
	Bad   string `json:"bad"`
	Build string `json:"build,omitempty"`
	Run   string `json:"run"`
	In    string `json:"in,omitempty"`
	Match string `json:"match,omitempty"`
	Tests bool   `json:"tests,omitempty"`
}

// journal is a hunt's memory: each line is on disk before the next run begins.
type journal struct {
	f       *os.File
	entries []entry
}

// ErrOtherHunt is that a repository holds the journal of another hunt.
var ErrOtherHunt = errors.New("is of another hunt (other revisions or commands)")

// openJournal begins a hunt, or goes on with one. The last line may be torn by
// a kill; a line that is damaged elsewhere is an error.
func openJournal(dir string, b begun) (*journal, error) {
	path := filepath.Join(dir, "journal.jsonl")
	f, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	entries, whole, err := readJournal(f)
	if err == nil && len(entries) > 0 && (entries[0].Begun == nil || *entries[0].Begun != b) {
		err = fmt.Errorf("%s %w; forget it with --fresh", path, ErrOtherHunt)
	}
	if err == nil {
		err = cut(f, whole)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	j := &journal{f, entries}
	if len(entries) == 0 {
		return j, j.add(entry{Begun: &b})
	}
	return j, nil
}

// openRegular opens a file to read and write, or makes it: never what a link
// leads to, nor a FIFO or a device.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// cut takes a torn line off the journal's end.
func cut(f *os.File, whole int64) error {
	if err := f.Truncate(whole); err != nil {
		return fmt.Errorf("cutting the torn line off %s: %w", f.Name(), err)
	}
	_, err := f.Seek(whole, io.SeekStart)
	return err
}

// readJournal reads the lines of a journal and says how many bytes are whole.
func readJournal(f *os.File) (entries []entry, whole int64, err error) {
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return entries, whole, nil // the end, or a line torn by a kill
		}
		if err != nil {
			return nil, 0, fmt.Errorf("reading the journal: %w", err)
		}
		var e entry
		err = json.Unmarshal(line, &e)
		if err == nil && !countable(e.Figure) {
			err = fmt.Errorf("the figure %g", e.Figure)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s:%d is damaged (%v); forget the hunt with --fresh", f.Name(), n, err)
		}
		entries = append(entries, e)
		whole += int64(len(line))
	}
}

func (j *journal) add(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := j.f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	if err := j.f.Sync(); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	j.entries = append(j.entries, e)
	return nil
}

func (j *journal) close() error { return j.f.Close() }
