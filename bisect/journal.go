package bisect

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
}

// begun is what must be the same when a hunt goes on.
type begun struct {
	Good  string `json:"good"`
	Bad   string `json:"bad"`
	Build string `json:"build,omitempty"`
	Run   string `json:"run"`
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
	entries, whole, err := readJournal(path)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 && (entries[0].Begun == nil || *entries[0].Begun != b) {
		return nil, fmt.Errorf("%s %w; forget it with --fresh", path, ErrOtherHunt)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	if err := f.Truncate(whole); err != nil {
		return nil, fmt.Errorf("cutting the torn line off %s: %w", path, err)
	}
	if _, err := f.Seek(whole, 0); err != nil {
		return nil, err
	}
	j := &journal{f, entries}
	if len(entries) == 0 {
		return j, j.add(entry{Begun: &b})
	}
	return j, nil
}

// readJournal reads the lines of a journal and says how many bytes are whole.
func readJournal(path string) (entries []entry, whole int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the journal: %w", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return entries, whole, nil // the end, or a line torn by a kill
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, 0, fmt.Errorf("%s:%d is damaged (%v); forget the hunt with --fresh", path, n, err)
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
