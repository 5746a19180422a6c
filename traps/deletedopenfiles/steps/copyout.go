// Package steps holds the kind of step that saves what a restart destroys.
package steps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/lazy"
	"fettle/internal/shell"
	"fettle/internal/units"
)

// CopyOut copies the content of a deleted file, which a process still holds
// open, into a folder of root's. When the process lets go of it the file is
// gone, and the copy is all there is.
type CopyOut struct {
	Open machine.OpenFile `json:"open"`
	Name string           `json:"name"` // that the file had, for people
	To   string           `json:"to"`   // absolute; the folder is made
}

// Spare is the room that a copy must leave, in bytes.
const Spare = 16 << 20

func (CopyOut) Kind() string { return "copy-out" }

func (s CopyOut) Describe() string {
	return fmt.Sprintf("copy the deleted %s, which process %d has open, to %s", s.Name, s.Open.PID, s.To)
}

func (CopyOut) Reversal() step.Reversal {
	return step.Reversal{Class: step.Stays, Note: "delete the copy when it is no longer needed"}
}

func (s CopyOut) from() string { return fmt.Sprintf("/proc/%d/fd/%d", s.Open.PID, s.Open.FD) }

func (s CopyOut) Commands() [][]string {
	return [][]string{
		{"install", "-d", "-m", "0700", "--", path.Dir(s.To)},
		{"cp", "--sparse=always", "--no-preserve=mode", "--", s.from(), s.To},
	}
}

// Shell stops where the descriptor is another file by now.
func (s CopyOut) Shell(string) (string, error) {
	return fmt.Sprintf("[ \"$(stat -Lc %%i -- %s)\" = %d ] || { echo %s >&2; exit 1; }\n", s.from(), s.Open.Inode,
		shell.Quote(s.from()+" is another file now; make a new plan")) + step.ShellCommands(s), nil
}

func (s CopyOut) Ansible(b *step.Tasks) error { return b.Commands(s) }

func (CopyOut) Running() bool { return false }

// Items: the copy is nothing to put back. There must be room for it.
func (s CopyOut) Items(_ context.Context, m machine.Machine) ([]step.Item, error) {
	if !path.IsAbs(s.To) || path.Clean(s.To) != s.To || s.Open.PID <= 0 || s.Open.FD < 0 {
		return nil, fmt.Errorf("%q is no file to copy descriptor %d of process %d to", s.To, s.Open.FD, s.Open.PID)
	}
	if err := machine.RootsAlone(m, s.To); err != nil {
		return nil, err
	}
	if there, err := s.Done(context.Background(), m, nil, nil); there || err != nil {
		return nil, err
	}
	return nil, s.fits(m)
}

func (s CopyOut) fits(m machine.Machine) error {
	size, err := m.HeldOpen(s.Open)
	if err != nil {
		return err
	}
	room, err := m.Room(path.Dir(s.To))
	if err != nil {
		return err
	}
	if size+Spare > room {
		return fmt.Errorf(
			"%s has %s, and %s has room for %s: name another folder with --with copy=/FOLDER, or lose the content with --with copy=no",
			s.Name,
			units.Size(size),
			path.Dir(s.To),
			units.Size(max(0, room-Spare)),
		)
	}
	return nil
}

// Apply takes a copy for made only where nobody but root can have put it: it is all
// that will be left of the file.
func (s CopyOut) Apply(ctx context.Context, st *step.Site, _ []step.Item) error {
	if err := machine.RootsAlone(st.Machine, s.To); err != nil {
		return &step.Untouched{Err: err}
	}
	if there, err := s.Done(ctx, st.Machine, nil, nil); there || err != nil {
		return err
	}
	if err := s.fits(st.Machine); err != nil { // copies before this one have taken room
		return &step.Untouched{Err: err}
	}
	if err := folder(st.Machine, path.Dir(s.To)); err != nil {
		return err
	}
	part := path.Join(path.Dir(s.To), st.Temp)
	if err := step.DropTemp(st.Machine, part); err != nil {
		return err
	}
	if err := st.Machine.CopyOpen(ctx, s.Open, part); err != nil {
		return fmt.Errorf("copying %s: %w", s.Name, err)
	}
	img, err := st.Machine.Look(part, false)
	if err != nil {
		return err
	}
	if err := st.Machine.Rename(machine.Ref{Path: part, ID: img.ID}, s.To); err != nil {
		return err
	}
	return st.Machine.Sync(machine.At(path.Dir(s.To)))
}

// Tidy removes a copy that was cut off, and the folder if nothing else is in it.
func (s CopyOut) Tidy(ctx context.Context, st *step.Site) (stays bool, err error) {
	dir := path.Dir(s.To)
	if err := step.DropTemp(st.Machine, path.Join(dir, st.Temp)); err != nil {
		return false, err
	}
	if stays, err = s.Done(ctx, st.Machine, nil, nil); stays || err != nil {
		return stays, err
	}
	if err := st.Machine.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return false, err
	}
	return false, nil
}

// folder makes a folder for root alone, and those above it.
func folder(m machine.Machine, dir string) error {
	var missing []string
	for at := dir; at != "/"; at = path.Dir(at) {
		img, err := m.Look(at, false)
		if err != nil {
			return err
		}
		if img.Type == machine.Folder {
			break
		}
		missing = append(missing, at)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := m.Mkdir(missing[i], 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := m.Sync(machine.At(path.Dir(missing[i]))); err != nil {
			return err
		}
	}
	return nil
}

// Done: a copy has its name only when it is whole.
func (s CopyOut) Done(_ context.Context, m machine.Machine, _, _ []step.Item) (bool, error) {
	img, err := m.Look(s.To, false)
	return err == nil && img.Type == machine.Regular, err
}

var _ step.Tidier = CopyOut{}

var _ = step.Register[CopyOut]()

var odd = lazy.Regexp(`[^-.@_0-9A-Za-z]`)

// FileName makes the name of a copy of what a file was called; it is for people
// to find, and holds no character that means something to a shell.
func FileName(unit, name string, f machine.OpenFile) string {
	plain := odd().ReplaceAllString(unit+"-"+path.Base(name), "_")
	return fmt.Sprintf("%s.%d-%d", plain[:min(len(plain), 200)], f.PID, f.FD)
}
