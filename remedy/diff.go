package remedy

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hexops/gotextdiff"
	"github.com/hexops/gotextdiff/myers"
)

// Diff is a unified diff from old to new content; a nil content is a file that
// does not exist. Content that is not text is only measured.
func Diff(oldName, newName string, old, new []byte) string {
	if bytes.Equal(old, new) && (old == nil) == (new == nil) {
		return ""
	}
	if !isText(old) || !isText(new) {
		return fmt.Sprintf("--- %s\n+++ %s\nnot text: %d bytes become %d bytes\n", oldName, newName, len(old), len(new))
	}
	edits := myers.ComputeEdits("", string(old), string(new))
	out := fmt.Sprint(gotextdiff.ToUnified(oldName, newName, string(old), edits))
	if out == "" { // an empty file made or deleted
		return fmt.Sprintf("--- %s\n+++ %s\n", oldName, newName)
	}
	return out
}

func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }

const devNull = "/dev/null" // patch(1)'s name of a file that does not exist

// Diff is what the step does to a file's content, as a unified diff; empty
// for steps that leave content alone. Of a secret file it says sizes only.
func (s File) Diff() string {
	from := s.Path
	if s.Was == nil {
		from = devNull
	}
	if s.Secret {
		return hidden(from, s.Path, s.Was, s.Content)
	}
	return Diff(from, s.Path, s.Was, s.Content)
}

// Diff shows the content that goes.
func (s Remove) Diff() string { return Diff(s.Path, devNull, s.Was, nil) }

func hidden(oldName, newName string, old, new []byte) string {
	return fmt.Sprintf("--- %s\n+++ %s\nnot shown, because it is secret: %d bytes become %d bytes\n", oldName, newName, len(old), len(new))
}

// Diff is the three-way view of a conflict: what fettle changed, and what was
// changed since.
func (c Conflict) Diff() string {
	before, wrote, now := c.Was.show(), c.Wrote.show(), c.Now.show()
	name := c.Now.Path
	if c.Now.Kind == itemFile {
		var b strings.Builder
		if c.Now.Secret || c.Was.private() || c.Now.private() {
			diff := func(a, b Item) string {
				return hidden(name+" ("+a.Kind+")", name+" ("+b.Kind+")", a.content(), b.content())
			}
			a, w, n := c.Was, c.Wrote, c.Now
			a.Kind, w.Kind, n.Kind = "before", "fettle", "now"
			return "what fettle changed:\n" + diff(a, w) + "what was changed since:\n" + diff(w, n)
		}
		if d := Diff(name+" (before)", name+" (fettle)", c.Was.content(), c.Wrote.content()); d != "" {
			b.WriteString("what fettle changed:\n" + d)
		}
		if d := Diff(name+" (fettle)", name+" (now)", c.Wrote.content(), c.Now.content()); d != "" {
			b.WriteString("what was changed since:\n" + d)
		}
		if b.Len() > 0 && sameMeta(*c.Wrote.Image, *c.Now.Image) {
			return b.String()
		}
		fmt.Fprintf(&b, "%s\n  before:  %s\n  fettle:  %s\n  now:     %s\n", name, before, wrote, now)
		return b.String()
	}
	return fmt.Sprintf("%s\n  before:  %s\n  fettle:  %s\n  now:     %s\n", name, before, wrote, now)
}

func (it Item) content() []byte {
	if it.Image == nil || it.Image.Type != Regular {
		return nil
	}
	if it.Image.Content == nil {
		return []byte{}
	}
	return it.Image.Content
}

// private tells of a file that others than its owner and group may not read:
// its content is not for logs and tickets.
func (it Item) private() bool {
	return it.Image != nil && it.Image.Type == Regular && it.Image.Mode&0o004 == 0
}

// show is an item in one line, without content.
func (it Item) show() string {
	if it.Image == nil {
		if it.Value == "" {
			return "absent"
		}
		return it.Value
	}
	i := it.Image
	if i.Type == Absent {
		return "absent"
	}
	s := fmt.Sprintf("mode %04o, owner %d:%d", i.Mode, i.UID, i.GID)
	for _, k := range sortedKeys(i.Xattrs) {
		s += ", " + k
		if a, err := parseACL(k, i.Xattrs[k]); err == nil {
			s += "=" + a
		}
	}
	if it.Kind == itemFile {
		s += fmt.Sprintf(", %d bytes", i.Size)
	}
	return s
}
