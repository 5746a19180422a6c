package remedy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultDir is where changes are kept, root's alone: pre-images may hold
// secrets.
const DefaultDir = "/var/lib/fettle"

// Store is the folder that keeps every change:
//
//	lock                        held by the fettle at work; says who that is
//	nothing-mended.json         the last fix had nothing to mend
//	changes/0007/plan.json      what was planned, for which finding
//	changes/0007/journal.jsonl  what was done, one line an event, append only
//	changes/0007/pre/2-0        content of a file before step 2 (counted from 0)
//	changes/0007/reserve        room for the last lines when the disk is full
type Store struct {
	Dir  string
	root *os.Root // Dir, as it was found to be root's
	disk disk     // the same; tests put power cuts in between
	// hook is told of every write, before and after; tests kill there.
	hook func(point string)
}

// ErrNeedsRoot is returned to others than root.
var ErrNeedsRoot = errors.New("needs root: run it as root, or with sudo")

// ErrStorePath: the folder named for changes cannot be one.
var ErrStorePath = errors.New(
	"FETTLE_STATE: the folder of changes must be an absolute path without quotes, dollars, backslashes and control characters",
)

// OpenStore opens the folder that FETTLE_STATE names, or DefaultDir, and
// makes it when it is not there.
func OpenStore() (*Store, error) { return OpenStoreAt(Dir()) }

// Dir is the folder that OpenStore opens.
func Dir() string {
	if dir := os.Getenv("FETTLE_STATE"); dir != "" {
		return dir
	}
	return DefaultDir
}

// OpenStoreAt opens or makes the folder dir.
func OpenStoreAt(dir string) (*Store, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNeedsRoot
	}
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("%w, not %q", ErrStorePath, dir)
	}
	// Guards write it into units, where these mean something.
	if strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`"$\`, r) }) {
		return nil, fmt.Errorf("%w, not %q", ErrStorePath, dir)
	}
	up, err := makeRoots(filepath.Dir(dir))
	if err != nil {
		return nil, fmt.Errorf("the folder of changes %s cannot be used: %w", dir, err)
	}
	defer up.Close()
	// Who else may look into the folder itself does no harm, and check --new or
	// systemd (StateDirectory=) may have made it first. Contents are in changes.
	root, err := ownFolder(up, filepath.Base(dir), 0o022, "only root may write to")
	if err != nil {
		return nil, err
	}
	changes, err := ownFolder(root, "changes", 0o077, "only root may read (mode 0700; it keeps file contents)")
	if err != nil {
		root.Close()
		return nil, err
	}
	changes.Close()
	return &Store{Dir: filepath.Join(up.Name(), filepath.Base(dir)), root: root, disk: rootDisk{root}}, nil
}

// Close lets go of the folder, which could not be unmounted before.
func (s *Store) Close() error { return s.root.Close() }

func (s *Store) folder(id string) string { return filepath.Join(s.Dir, inStore(id)) }

// inStore is the name of a change's folder, or of what is in it, in the store.
func inStore(id string, name ...string) string {
	return filepath.Join(append([]string{"changes", id}, name...)...)
}

// OnWrite has hook told of every write, before and after: proofs kill there.
func (s *Store) OnWrite(hook func(point string)) { s.hook = hook }

// Held is the error of Lock when another fettle is at work.
type Held struct {
	By  string
	PID int // 0 when not known
}

func (e *Held) Error() string {
	return "another fettle is at work: " + e.By + "; wait for it, or use --wait"
}

// Lock takes the store for one command line. what says which, for others who
// meet it. With wait it waits until ctx ends.
func (s *Store) Lock(ctx context.Context, what string, wait bool) (unlock func(), err error) {
	f, err := s.root.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		held := holder(f)
		if !wait {
			f.Close()
			return nil, held
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			f.Close()
			return nil, held
		}
	}
	who := fmt.Sprintf("process %d, %s, since %s\n", os.Getpid(), what, time.Now().Format(time.DateTime))
	f.Truncate(0) // only words for people; the lock itself is held
	f.WriteAt([]byte(who), 0)
	s.sweep()
	return func() { f.Close() }, nil
}

func holder(f *os.File) *Held {
	b := make([]byte, 300)
	n, _ := f.ReadAt(b, 0)
	h := &Held{By: strings.TrimSpace(string(b[:n]))}
	fmt.Sscanf(h.By, "process %d,", &h.PID)
	if h.By == "" {
		h.By = "one that has just begun"
	}
	return h
}

// holdsLock tells whether the process has the lock's file open: process
// numbers are used again.
func (s *Store) holdsLock(pid int) bool {
	lock, err := s.root.Stat("lock")
	if err != nil {
		return false
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if st, err := os.Stat(fd); err == nil && os.SameFile(st, lock) {
			return true
		}
	}
	return false
}

// sweep removes what a kill left of a change that never began.
func (s *Store) sweep() {
	names, _ := s.disk.List("changes")
	for _, n := range names {
		if strings.HasPrefix(n, ".new-") {
			s.disk.RemoveAll(inStore(n))
		}
	}
}

// IDs lists the changes, the oldest first.
func (s *Store) IDs() ([]string, error) {
	names, err := s.disk.List("changes")
	if err != nil {
		return nil, fmt.Errorf("listing the changes: %w", err)
	}
	var ids []string
	for _, n := range names {
		if _, err := strconv.Atoi(n); err == nil {
			ids = append(ids, n)
		}
	}
	sort.Slice(ids, func(i, j int) bool { return number(ids[i]) < number(ids[j]) })
	return ids, nil
}

func number(id string) int { n, _ := strconv.Atoi(id); return n }

// create makes the folder of a new change, whole or not at all.
func (s *Store) create(h Head) (*Change, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	next := 1
	if len(ids) > 0 {
		next = number(ids[len(ids)-1]) + 1
	}
	h.ID = fmt.Sprintf("%04d", next)
	b, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return nil, err
	}
	tmp := inStore(".new-" + h.ID)
	s.disk.RemoveAll(tmp)
	if err := s.fill(tmp, h.ID, append(b, '\n')); err != nil {
		s.disk.RemoveAll(tmp)
		return nil, fmt.Errorf("keeping the plan in %s, so nothing was changed: %w", filepath.Join(s.Dir, "changes"), err)
	}
	s.disk.Remove(nothing)
	return s.Change(h.ID)
}

// fill makes a change's folder under a name that is swept away, makes all of
// it durable, and gives it its own name.
func (s *Store) fill(tmp, id string, plan []byte) error {
	for _, dir := range []string{tmp, filepath.Join(tmp, "pre")} {
		if err := s.disk.Mkdir(dir); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{"plan.json", plan}, {"journal.jsonl", nil}, {"reserve", make([]byte, reserveSize)}} {
		if err := s.write(filepath.Join(tmp, f.name), f.content); err != nil {
			return err
		}
	}
	if err := s.disk.Sync(tmp); err != nil {
		return err
	}
	if err := s.disk.Rename(tmp, inStore(id)); err != nil {
		return err
	}
	return s.disk.Sync("changes")
}

// reserveSize is the room kept for the journal's last lines, in bytes.
const reserveSize = 64 << 10

// write makes a file and its content durable; its name is so with its folder.
func (s *Store) write(name string, content []byte) error {
	s.point("write " + filepath.Base(name))
	if err := s.disk.Write(name, content); err != nil {
		return err
	}
	if err := s.disk.Sync(name); err != nil {
		return err
	}
	s.point("wrote " + filepath.Base(name))
	return nil
}

func (s *Store) point(p string) {
	if s.hook != nil {
		s.hook(p)
	}
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// nothing is the file that tells of a fix which had nothing to fix, as long as
// no later one changed something.
const nothing = "nothing-mended.json"

type nothingRecord struct {
	What string    `json:"what"`
	When time.Time `json:"when"`
}

// NothingToMend notes that a fix changed nothing: undo without an ID then does
// not take back an earlier change. It is a courtesy: where it cannot be written,
// nothing is lost.
func (s *Store) NothingToMend(what string) {
	if ids, err := s.IDs(); err != nil || len(ids) == 0 {
		return
	}
	if b, err := json.Marshal(nothingRecord{what, time.Now().UTC()}); err == nil {
		s.disk.Write(nothing, append(b, '\n'))
	}
}

func (s *Store) nothingMended() *NothingMended {
	b, err := s.disk.Read(nothing)
	var r nothingRecord
	if err != nil || json.Unmarshal(b, &r) != nil {
		return nil
	}
	return &NothingMended{What: r.What, When: r.When}
}
