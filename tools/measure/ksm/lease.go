package ksm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fettle/internal/files"
	"fettle/internal/sorted"
)

// LeaseDir keeps what was found while KSM is set by us. It is emptied at boot, as
// KSM's settings are.
const LeaseDir = "/run/fettle"

// Lease is the right to set KSM: one program of ours at a time has it. What was
// there is on file before the first write, so that it can be restored
// whatever became of the program that wrote.
type Lease struct {
	k    *Kernel
	dir  string
	lock *os.File
	kept []Kept
}

// Kept is one setting: what it was, what it is now, and what it was before that
// (a program may be killed between the file and the write).
type Kept struct {
	Name   string `json:"name"`
	Found  string `json:"found"`
	Before string `json:"before"`
	Set    string `json:"set"`
}

// Busy is the error of Take while another program has the lease.
type Busy struct{ Holder string }

func (e *Busy) Error() string {
	return fmt.Sprintf("another fettle (process %s) sets KSM already: end it first", e.Holder)
}

// Taken is the error of Set, and of Check, when a setting is not what we made
// it: somebody else sets KSM too.
type Taken struct{ Name, Have, Want string }

func (e *Taken) Error() string {
	return fmt.Sprintf("something else set %s/%s to %s (it was %s): left unchanged", Dir, e.Name, e.Have, e.Want)
}

// Take takes the lease. Where a killed program left settings of its own, they
// are restored first; gave says which.
func Take(k *Kernel, dir string) (l *Lease, gave []string, err error) {
	if err := k.Writable(); err != nil {
		return nil, nil, err
	}
	l = &Lease{k: k, dir: dir}
	if err := l.obtain(false); err != nil {
		return nil, nil, err
	}
	if gave, err = l.giveBack(); err != nil {
		l.lock.Close()
		return nil, nil, err
	}
	return l, gave, nil
}

// GiveBack restores what a program left that did not end in order. It waits
// until that has ended. gave is empty where nothing was left.
func GiveBack(k *Kernel, dir string, wait bool) (gave []string, err error) {
	if _, err := os.Stat(filepath.Join(dir, leaseFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := k.Writable(); err != nil {
		return nil, err
	}
	l := &Lease{k: k, dir: dir}
	if err := l.obtain(wait); err != nil {
		return nil, err
	}
	defer l.lock.Close()
	return l.giveBack()
}

const (
	leaseFile = "ksm.json"
	lockFile  = "ksm.lock"
)

// obtain locks the folder. It must be ours alone: what is in its file is
// written to the kernel.
func (l *Lease) obtain(wait bool) error {
	if err := os.Mkdir(l.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making %s, to keep KSM's settings in: %w", l.dir, withoutPath(err))
	}
	st, err := os.Lstat(l.dir)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); !st.IsDir() || st.Mode().Perm()&0o022 != 0 || ok && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("%s must be a folder that only this user can write to", l.dir)
	}
	f, err := os.OpenFile(filepath.Join(l.dir, lockFile), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		if err = syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		b := make([]byte, 16)
		n, _ := f.ReadAt(b, 0)
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return &Busy{strings.TrimSpace(string(b[:n]))}
		}
		return err
	}
	if err := f.Truncate(0); err == nil {
		f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	l.lock = f
	return nil
}

// order is that in which settings are restored. The advisor goes first: while
// it is on, the kernel refuses pages_to_scan, and when it goes off it sets that
// to 100 (mm/ksm.c, set_advisor_defaults and advisor_mode_store). run goes last.
var order = []string{
	"advisor_mode",
	"advisor_target_scan_time",
	"advisor_max_cpu",
	"advisor_min_pages_to_scan",
	"advisor_max_pages_to_scan",
	"smart_scan",
	"pages_to_scan",
	"sleep_millisecs",
	"run",
}

// Set makes a setting be value, once it is on file what it was. A setting that
// is no longer what we made it belongs to somebody else: the error is Taken.
func (l *Lease) Set(name, value string) error {
	if !slices.Contains(order, name) {
		return fmt.Errorf("%s is not a setting that can be restored", name)
	}
	have, err := l.k.Value(name)
	if err != nil {
		return fmt.Errorf("reading %s/%s: %w", Dir, name, withoutPath(err))
	}
	if name == "advisor_mode" { // it changes the other, too
		if err := l.keep("pages_to_scan"); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(l.kept, func(k Kept) bool { return k.Name == name })
	switch {
	case i < 0:
		l.kept = append(l.kept, Kept{name, have, have, value})
		i = len(l.kept) - 1
	case have != l.kept[i].Set && !l.advised(name):
		return &Taken{name, have, l.kept[i].Set}
	case have == value:
		return nil
	default:
		l.kept[i].Before, l.kept[i].Set = have, value
	}
	if err := l.file(); err != nil {
		return err
	}
	if have == value {
		return nil
	}
	if err := l.k.write(name, value); err != nil {
		if now, rerr := l.k.Value(name); rerr == nil {
			l.kept[i].Set = now
			l.file()
		}
		return err
	}
	if name == "advisor_mode" {
		l.kept[slices.IndexFunc(l.kept, func(k Kept) bool { return k.Name == "pages_to_scan" })].Set, _ = l.k.Value("pages_to_scan")
	}
	return nil
}

// keep files what a setting is, and leaves it.
func (l *Lease) keep(name string) error {
	if slices.ContainsFunc(l.kept, func(k Kept) bool { return k.Name == name }) {
		return nil
	}
	have, err := l.k.Value(name)
	if err != nil {
		return err
	}
	l.kept = append(l.kept, Kept{name, have, have, have})
	return l.file()
}

// advised: where the advisor was ours to switch, pages_to_scan changes by itself.
func (l *Lease) advised(name string) bool {
	return name == "pages_to_scan" && slices.ContainsFunc(l.kept, func(k Kept) bool { return k.Name == "advisor_mode" })
}

// Check tells whether all is as we set it: Taken where it is not.
func (l *Lease) Check() error {
	for _, k := range l.kept {
		have, err := l.k.Value(k.Name)
		if err != nil {
			return fmt.Errorf("reading %s/%s: %w", Dir, k.Name, withoutPath(err))
		}
		if have != k.Set && !l.advised(k.Name) {
			return &Taken{k.Name, have, k.Set}
		}
	}
	return nil
}

// Release gives everything back and ends the lease.
func (l *Lease) Release() (gave []string, err error) {
	gave, err = l.giveBack()
	l.lock.Close()
	return gave, err
}

func (l *Lease) file() error {
	b, err := json.Marshal(l.kept)
	if err != nil {
		return err
	}
	if err := files.WriteFile(filepath.Join(l.dir, leaseFile), b, 0o600); err != nil {
		return fmt.Errorf("keeping KSM's settings in %s: %w", l.dir, err)
	}
	return nil
}

// giveBack writes what was found over what we set, and leaves what somebody else
// set meanwhile. It may be called again where it was cut off.
func (l *Lease) giveBack() (gave []string, err error) {
	name := filepath.Join(l.dir, leaseFile)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		l.kept = nil
		return nil, nil
	}
	var kept []Kept
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what KSM's settings were, in %s: %w", name, err)
	}
	l.kept = kept
	sorted.By(kept, func(a, b Kept) int { return slices.Index(order, a.Name) - slices.Index(order, b.Name) })
	var errs []error
	for _, k := range kept {
		if !slices.Contains(order, k.Name) {
			errs = append(errs, fmt.Errorf("%s names %q, which is no setting of KSM's", name, k.Name))
			continue
		}
		said, err := l.back(k)
		if err != nil {
			errs = append(errs, err)
		} else if said != "" {
			gave = append(gave, said)
		}
	}
	if len(errs) > 0 {
		return gave, errors.Join(errs...)
	}
	l.kept = nil
	return gave, os.Remove(name)
}

// back gives one setting back, and says what it did.
func (l *Lease) back(k Kept) (string, error) {
	have, err := l.k.Value(k.Name)
	if err != nil {
		return "", fmt.Errorf("reading %s/%s: %w", Dir, k.Name, withoutPath(err))
	}
	if k.Name == "pages_to_scan" {
		if mode, err := l.k.Value("advisor_mode"); err == nil && mode != "none" {
			return "", nil // the advisor's, as it was found
		}
	}
	switch {
	case have == k.Found:
		return "", nil
	case have != k.Set && have != k.Before && !l.advised(k.Name):
		return fmt.Sprintf("%s is %s, set by something else: left unchanged (it was %s)", k.Name, have, k.Found), nil
	}
	if err := l.k.write(k.Name, k.Found); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is %s again", k.Name, k.Found), nil
}
