package step

import (
	"context"
	"errors"
	"fmt"
	"path"
	"syscall"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
)

// Remove deletes a file; undo brings it back with content, mode, owner, ACL
// and xattrs.
type Remove struct {
	Path string `json:"path"`
	Was  []byte `json:"was"`
	// Secret keeps the content out of diffs.
	Secret bool `json:"secret,omitempty"`
}

func (Remove) Kind() string { return "remove" }

func (s Remove) Describe() string { return "delete " + s.Path }

func (s Remove) Reversal() Reversal { return Reversal{Class: Restorable} }

func (s Remove) Target() string { return s.Path }

func (Remove) Running() bool { return false }

func (s Remove) Commands() [][]string { return [][]string{{"rm", "--", s.Path}} }

func (s Remove) Items(_ context.Context, m machine.Machine) ([]Item, error) {
	real, img, err := lookFile(m, s.Path)
	if err != nil {
		return nil, err
	}
	if real != path.Clean(s.Path) {
		// The name that goes away is the symlink's folder plus the real name.
		if link, err := m.Look(path.Clean(s.Path), false); err == nil && link.Type == machine.Other {
			return nil, &machine.Changed{Path: s.Path, Why: "is a symlink to " + real + "; fettle removes files only"}
		}
	}
	if img.Type == machine.Absent {
		return []Item{{Kind: FileItem, Path: real, Image: &img}}, nil // gone already: nothing to do
	}
	if err := unchanged(s.Path, s.Was, img); err != nil {
		return nil, err
	}
	if img.Links > 1 {
		return nil, &machine.Changed{
			Path: s.Path,
			Why:  fmt.Sprintf("has %d hard links: undo could bring back a file, but not this one", img.Links),
		}
	}
	return []Item{{Kind: FileItem, Path: real, Image: &img, Secret: s.Secret}}, nil
}

func (s Remove) Apply(_ context.Context, st *Site, before []Item) error {
	it := before[0]
	now, err := st.Machine.Look(it.Path, true)
	if err != nil || now.Type == machine.Absent {
		return err
	}
	if !it.Same(Item{Kind: FileItem, Image: &now}) {
		return &machine.Changed{Path: it.Path, Why: "was changed a moment ago"}
	}
	if err := st.Machine.Unlink(machine.Ref{Path: it.Path, ID: now.ID}); err != nil {
		if errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("%w: a mount point; unmount it first", err)
		}
		return err
	}
	return st.Machine.Sync(machine.At(path.Dir(it.Path)))
}

func (Remove) Done(_ context.Context, _ machine.Machine, _, now []Item) (bool, error) {
	return now[0].Image.Type == machine.Absent, nil
}

func (Remove) Between(_, now Item) bool { return now.Image.Type == machine.Absent }

// Diff shows the content that goes; of a secret file its size.
func (s Remove) Diff() string {
	if s.Secret {
		return Hidden(s.Path, devNull, s.Was, nil)
	}
	return Diff(s.Path, devNull, s.Was, nil)
}

func (Remove) Keeps() (first, rest string) { return FileItem, FolderItem }

func (s Remove) Shell(name string) (string, error) {
	q := shell.Quote(s.Path)
	return fmt.Sprintf(
		"expect %s %s\ncp -a -- %s \"$backup/%s\"\nundo cp -a -- ./%s %s\nrm -- %s\n",
		q,
		machine.Sum(s.Was),
		q,
		name,
		name,
		q,
		q,
	), nil
}

func (s Remove) Ansible(b *Tasks) error {
	stat := b.Expect(s.Path, append([]byte{}, s.Was...), nil)
	b.Task("keep a copy of " + s.Path)
	b.argv([]string{"cp", "-a", "--", s.Path, s.Path + ".fettle-removed~"})
	b.Line("      changed_when: true")
	b.Line("      when: %s.stat.exists", stat)
	b.Task(s.Describe())
	b.Line("      ansible.builtin.file:")
	b.Line("        path: %s", YAML(s.Path))
	b.Line("        state: absent")
	b.Changer()
	return nil
}

// Writes: the file is not there after it.
func (Remove) Writes() (content []byte, there bool) { return nil, false }
