package step

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
)

// File writes a whole file: replaces one, or makes a new one (a drop-in)
// with the folders above it. Mode, owner, ACL and xattrs of a file that
// exists are kept. Symlinks are followed first.
type File struct {
	Path    string      `json:"path"`
	Content []byte      `json:"content"`
	Mode    fs.FileMode `json:"mode,omitempty"` // of a new file; 0 is 0644
	// Was is the content the plan was made from; nil for a file that did not
	// exist. Apply refuses when the file says something else by then.
	Was []byte `json:"was"`
	// Secret keeps the content out of diffs.
	Secret bool `json:"secret,omitempty"`
	// Like is the file that a new one is a copy of: it takes mode, owner, ACL, xattrs
	// and time of that one.
	Like string `json:"like,omitempty"`
}

func (File) Kind() string { return "file" }

func (s File) Describe() string {
	if s.Was == nil && s.Like != "" {
		return "copy " + s.Like + " to " + s.Path + ", with owner, mode and time"
	}
	if s.Was == nil {
		return "create " + s.Path
	}
	return "change " + s.Path
}

func (s File) Reversal() Reversal { return Reversal{Class: Restorable} }

func (s File) Target() string { return s.Path }

func (File) Running() bool { return false }

func (s File) Commands() [][]string {
	if s.Like != "" && s.Was == nil {
		return [][]string{{"cp", "-aL", "--", s.Like, s.Path}}
	}
	return nil
}

// Items: the file itself, then the folders above it that are not there yet,
// the deepest first.
func (s File) Items(_ context.Context, m machine.Machine) ([]Item, error) {
	real, img, err := lookFile(m, s.Path)
	if err != nil {
		return nil, err
	}
	if !(img.Type == machine.Regular && bytes.Equal(img.Content, s.Content)) { // else it says already what it should
		if err := unchanged(s.Path, s.Was, img); err != nil {
			return nil, err
		}
		if _, err := s.like(m); err != nil {
			return nil, err
		}
	}
	out := []Item{{Kind: FileItem, Path: real, Image: &img, Secret: s.Secret}}
	for dir := path.Dir(real); dir != "/"; dir = path.Dir(dir) {
		d, err := m.Look(dir, false)
		if err != nil {
			return nil, err
		}
		if d.Type != machine.Absent {
			if d.Type != machine.Folder {
				return nil, &machine.Changed{Path: dir, Why: "is not a folder"}
			}
			break
		}
		out = append(out, Item{Kind: FolderItem, Path: dir, Image: &d})
	}
	return out, nil
}

func (s File) Apply(_ context.Context, st *Site, before []Item) error {
	it := before[0]
	for i := len(before) - 1; i > 0; i-- {
		dir := before[i].Path
		if err := st.Machine.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := st.Machine.Sync(machine.At(path.Dir(dir))); err != nil {
			return err
		}
	}
	now, err := st.Machine.Look(it.Path, true)
	if err != nil {
		return err
	}
	if n := (Item{Kind: FileItem, Image: &now}); !it.Same(n) && !s.Between(it, n) {
		return &machine.Changed{Path: it.Path, Why: "was changed a moment ago"}
	}
	like, err := s.like(st.Machine)
	if err != nil {
		return err
	}
	// A journal that was read back has the attributes, so a second go over a
	// half-written file gives it those of the first.
	return replaceFile(st, it.Path, now, s.Content, func(made machine.Image) machine.Image {
		if it.Image.Type == machine.Absent && like != nil {
			return *like
		}
		if it.Image.Type == machine.Absent {
			made.Mode, made.ModNS = s.mode(), 0
			return made
		}
		want := *it.Image
		want.ModNS = 0
		return want
	})
}

func (s File) Done(_ context.Context, m machine.Machine, before, now []Item) (bool, error) {
	b, n := before[0].Image, now[0].Image
	if n.Type != machine.Regular || n.Sum != machine.Sum(s.Content) {
		return false, nil
	}
	if b.Type == machine.Absent {
		like, err := s.like(m)
		if err != nil {
			return true, nil // a later step removed it, and none begins before this one is done
		}
		if like != nil {
			return SameMeta(*n, *like) && n.ModNS == like.ModNS, nil
		}
		return n.Mode == s.mode(), nil
	}
	return SameMeta(*n, *b), nil
}

// Between: in-place writing leaves the beginning of the new content (or, when
// an undo was cut off, of the old), and attributes that a write drops.
func (s File) Between(before, now Item) bool {
	if before.Kind == FolderItem {
		return now.Image.Type == machine.Folder || now.Image.Type == machine.Absent
	}
	if now.Image.Type != machine.Regular {
		return false
	}
	if bytes.Equal(now.Image.Content, s.Content) {
		return true
	}
	inPlace := before.Image.Type == machine.Regular
	return inPlace && (bytes.HasPrefix(s.Content, now.Image.Content) || bytes.HasPrefix(before.Image.Content, now.Image.Content))
}

// lookFile resolves a path and reads the file there, if any.
func lookFile(m machine.Machine, name string) (real string, img machine.Image, err error) {
	if real, err = m.Resolve(name); err != nil {
		return "", img, err
	}
	if img, err = m.Look(real, true); err != nil {
		return "", img, err
	}
	if img.Type != machine.Regular && img.Type != machine.Absent {
		what := "not a regular file"
		if img.Type == machine.Folder {
			what = "a folder"
		}
		if real != name {
			what = "a symlink to " + real + ", which is " + what
		}
		return "", img, &machine.Changed{Path: name, Why: "is " + what + "; fettle changes files only"}
	}
	return real, img, nil
}

// unchanged refuses a file that is not what the plan was made from.
func unchanged(name string, was []byte, img machine.Image) error {
	switch {
	case was == nil && img.Type != machine.Absent:
		return &machine.Changed{Path: name, Why: "was not there when the plan was made, and is now"}
	case was != nil && img.Type == machine.Absent:
		return &machine.Changed{Path: name, Why: "was deleted since the plan was made"}
	case was != nil && !bytes.Equal(was, img.Content):
		return &machine.Changed{Path: name, Why: "was changed since the plan was made"}
	}
	return nil
}

// like is how the file stands whose attributes a new one takes; nil: it takes those of
// no other.
func (s File) like(m machine.Machine) (*machine.Image, error) {
	if s.Like == "" || s.Was != nil {
		return nil, nil
	}
	_, img, err := lookFile(m, s.Like)
	if err == nil && img.Type == machine.Absent {
		err = &machine.Changed{Path: s.Like, Why: "was deleted since the plan was made"}
	}
	return &img, err
}

func (s File) mode() uint32 {
	if s.Mode == 0 {
		return 0o644
	}
	return uint32(s.Mode.Perm())
}

// Diff is what the step does to a file's content, as a unified diff; empty
// for steps that leave content alone. Of a secret file it says sizes only; a copy is
// told by its command.
func (s File) Diff() string {
	if s.Like != "" && s.Was == nil {
		return ""
	}
	from := s.Path
	if s.Was == nil {
		from = devNull
	}
	if s.Secret {
		return Hidden(from, s.Path, s.Was, s.Content)
	}
	return Diff(from, s.Path, s.Was, s.Content)
}

const devNull = "/dev/null" // patch(1)'s name of a file that does not exist

// Hidden is the diff of content that is not shown: sizes alone.
func Hidden(oldName, newName string, old, new []byte) string {
	return fmt.Sprintf("--- %s\n+++ %s\nnot shown, because it is secret: %d bytes become %d bytes\n", oldName, newName, len(old), len(new))
}

// Writes is what the file says after it.
func (s File) Writes() (content []byte, there bool) { return s.Content, true }

func (File) Keeps() (first, rest string) { return FileItem, FolderItem }

func (s File) Shell(name string) (string, error) {
	q := shell.Quote(s.Path)
	if s.Like != "" && s.Was == nil {
		return fmt.Sprintf("expect %s ''\nexpect %s %s\nundo rm -f -- %s\nmkdir -p -- %s\n", q, shell.Quote(s.Like), machine.Sum(s.Content), q,
			shell.Quote(path.Dir(s.Path))) + ShellCommands(s), nil
	}
	if s.Secret {
		return "", ErrSecret
	}
	var b strings.Builder
	was := "''"
	if s.Was != nil {
		was = machine.Sum(s.Was)
	}
	fmt.Fprintf(&b, "expect %s %s\n", q, was)
	if s.Was != nil {
		fmt.Fprintf(&b, "cp -aL -- %s \"$backup/%s\"\n", q, name)
		// In place, so that hard links stay: cp -a would part them.
		fmt.Fprintf(&b, "undo cp --preserve=all --no-preserve=links -- ./%s %s\n", name, q)
	} else {
		fmt.Fprintf(&b, "undo rm -f -- %s\n", q)
	}
	if !IsText(s.Content) || !bytes.HasSuffix(s.Content, []byte("\n")) {
		// A here-document is text that ends with a newline.
		fmt.Fprintf(&b, "base64 -d <<'FETTLE' | replace %s %04o\n", q, s.mode())
		enc := base64.StdEncoding.EncodeToString(s.Content)
		for ; len(enc) > 76; enc = enc[76:] {
			b.WriteString(enc[:76] + "\n")
		}
		b.WriteString(enc + "\nFETTLE\n")
		return b.String(), nil
	}
	end := "FETTLE"
	for bytes.Contains(append([]byte("\n"), s.Content...), []byte("\n"+end+"\n")) {
		end += "_"
	}
	fmt.Fprintf(&b, "replace %s %04o <<'%s'\n%s%s\n", q, s.mode(), end, s.Content, end)
	return b.String(), nil
}

func (s File) Ansible(b *Tasks) error {
	like := s.Like != "" && s.Was == nil
	if s.Secret && !like {
		return ErrSecret
	}
	if !IsText(s.Content) && !like {
		return errors.New("a playbook cannot contain content that is not text")
	}
	b.Expect(s.Path, s.Was, append([]byte{}, s.Content...)) // an empty file is one
	b.Task("have the folder of " + s.Path)
	b.Line("      ansible.builtin.file:")
	b.Line("        path: %s", YAML(path.Dir(s.Path)))
	b.Line("        state: directory")
	b.Task(s.Describe())
	if like {
		b.argv(s.Commands()[0])
		b.Line("        creates: %s", YAML(s.Path))
		b.Changer()
		return nil
	}
	b.Line("      ansible.builtin.copy:")
	b.Line("        dest: %s", YAML(s.Path))
	b.Line("        content: %s", YAML(string(s.Content)))
	b.Line("        backup: true")
	b.Line("        follow: false")
	if s.Was == nil {
		b.Line("        mode: \"%04o\"", s.mode())
	} // else left out: copy keeps the mode of a file that is there
	b.Changer()
	return nil
}
