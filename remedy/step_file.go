package remedy

import (
	"bytes"
	"context"
	"errors"
	"fettle/remedy/machine"
	"fmt"
	"io/fs"
	"path"
	"syscall"
)

func (s File) target() string   { return s.Path }
func (s Remove) target() string { return s.Path }

func (File) running() bool   { return false }
func (Remove) running() bool { return false }

// items: the file itself, then the folders above it that are not there yet,
// the deepest first.
func (s File) items(_ context.Context, m Machine) ([]Item, error) {
	real, img, err := lookFile(m, s.Path)
	if err != nil {
		return nil, err
	}
	if !(img.Type == Regular && bytes.Equal(img.Content, s.Content)) { // else it says already what it should
		if err := unchanged(s.Path, s.Was, img); err != nil {
			return nil, err
		}
	}
	out := []Item{{Kind: itemFile, Path: real, Image: &img, Secret: s.Secret}}
	for dir := path.Dir(real); dir != "/"; dir = path.Dir(dir) {
		d, err := m.Look(dir, false)
		if err != nil {
			return nil, err
		}
		if d.Type != Absent {
			if d.Type != Folder {
				return nil, &Changed{Path: dir, Why: "is not a folder"}
			}
			break
		}
		out = append(out, Item{Kind: itemFolder, Path: dir, Image: &d})
	}
	return out, nil
}

// lookFile resolves a path and reads the file there, if any.
func lookFile(m Machine, name string) (real string, img Image, err error) {
	if real, err = m.Resolve(name); err != nil {
		return "", img, err
	}
	if img, err = m.Look(real, true); err != nil {
		return "", img, err
	}
	if img.Type != Regular && img.Type != Absent {
		what := "not a regular file"
		if img.Type == Folder {
			what = "a folder"
		}
		if real != name {
			what = "a symlink to " + real + ", which is " + what
		}
		return "", img, &Changed{Path: name, Why: "is " + what + "; fettle changes files only"}
	}
	return real, img, nil
}

// unchanged refuses a file that is not what the plan was made from.
func unchanged(name string, was []byte, img Image) error {
	switch {
	case was == nil && img.Type != Absent:
		return &Changed{Path: name, Why: "was not there when the plan was made, and is now"}
	case was != nil && img.Type == Absent:
		return &Changed{Path: name, Why: "was deleted since the plan was made"}
	case was != nil && !bytes.Equal(was, img.Content):
		return &Changed{Path: name, Why: "was changed since the plan was made"}
	}
	return nil
}

func (s File) mode() uint32 {
	if s.Mode == 0 {
		return 0o644
	}
	return uint32(s.Mode.Perm())
}

func (s File) act(_ context.Context, st *site, before []Item) error {
	it := before[0]
	for i := len(before) - 1; i > 0; i-- {
		dir := before[i].Path
		if err := st.m.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := st.m.Sync(machine.At(path.Dir(dir))); err != nil {
			return err
		}
	}
	now, err := st.m.Look(it.Path, true)
	if err != nil {
		return err
	}
	if n := (Item{Kind: itemFile, Image: &now}); !it.same(n) && !s.between(it, n) {
		return &Changed{Path: it.Path, Why: "was changed a moment ago"}
	}
	// A journal that was read back has the attributes, so a second go over a
	// half-written file gives it those of the first.
	return replaceFile(st, it.Path, now, s.Content, func(made Image) Image {
		if it.Image.Type == Absent {
			made.Mode, made.ModNS = s.mode(), 0
			return made
		}
		want := *it.Image
		want.ModNS = 0
		return want
	})
}

func (s File) done(_ context.Context, _ Machine, before, now []Item) (bool, error) {
	b, n := before[0].Image, now[0].Image
	if n.Type != Regular || n.Sum != machine.Sum(s.Content) {
		return false, nil
	}
	if b.Type == Absent {
		return n.Mode == s.mode(), nil
	}
	return sameMeta(*n, *b), nil
}

// between: in-place writing leaves the beginning of the new content (or, when
// an undo was cut off, of the old), and attributes that a write drops.
func (s File) between(before, now Item) bool {
	if before.Kind == itemFolder {
		return now.Image.Type == Folder || now.Image.Type == Absent
	}
	if now.Image.Type != Regular {
		return false
	}
	if bytes.Equal(now.Image.Content, s.Content) {
		return true
	}
	inPlace := before.Image.Type == Regular
	return inPlace && (bytes.HasPrefix(s.Content, now.Image.Content) || bytes.HasPrefix(before.Image.Content, now.Image.Content))
}

func (s Remove) items(_ context.Context, m Machine) ([]Item, error) {
	real, img, err := lookFile(m, s.Path)
	if err != nil {
		return nil, err
	}
	if real != path.Clean(s.Path) {
		// The name that goes away is the symlink's folder plus the real name.
		if link, err := m.Look(path.Clean(s.Path), false); err == nil && link.Type == Other {
			return nil, &Changed{Path: s.Path, Why: "is a symlink to " + real + "; fettle removes files only"}
		}
	}
	if img.Type == Absent {
		return []Item{{Kind: itemFile, Path: real, Image: &img}}, nil // gone already: nothing to do
	}
	if err := unchanged(s.Path, s.Was, img); err != nil {
		return nil, err
	}
	if img.Links > 1 {
		return nil, &Changed{Path: s.Path, Why: fmt.Sprintf("has %d hard links: undo could bring back a file, but not this one", img.Links)}
	}
	return []Item{{Kind: itemFile, Path: real, Image: &img}}, nil
}

func (s Remove) act(_ context.Context, st *site, before []Item) error {
	it := before[0]
	now, err := st.m.Look(it.Path, true)
	if err != nil || now.Type == Absent {
		return err
	}
	if !it.same(Item{Kind: itemFile, Image: &now}) {
		return &Changed{Path: it.Path, Why: "was changed a moment ago"}
	}
	if err := st.m.Unlink(machine.Ref{Path: it.Path, ID: now.ID}); err != nil {
		if errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("%w: a mount point; unmount it first", err)
		}
		return err
	}
	return st.m.Sync(machine.At(path.Dir(it.Path)))
}

func (Remove) done(_ context.Context, _ Machine, _, now []Item) (bool, error) {
	return now[0].Image.Type == Absent, nil
}

func (Remove) between(_, now Item) bool { return now.Image.Type == Absent }
