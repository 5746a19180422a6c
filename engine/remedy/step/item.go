package step

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"fettle/engine/remedy/machine"
)

// Item is one thing on the host that a step may change, and how it stood at
// one moment. Snapshots, journals, undo and conflicts are made of items; only
// here is it known how each kind is read, compared and put back.
type Item struct {
	Kind string `json:"kind"`
	// Path is the real path of a file, folder or value, the name of a link or
	// of a unit.
	Path  string         `json:"path"`
	Image *machine.Image `json:"image,omitempty"` // of file, meta and folder items
	Value string         `json:"value,omitempty"` // of the others
	Index int            `json:"index,omitempty"` // of an mtu item: the link's index
	// SideEffect is set for what the step does not aim at but may change on the
	// way: the interfaces' columns of conf/all.
	SideEffect bool `json:"aside,omitempty"`
	// Drifts is set for a value that the kernel itself changes: it is put
	// back, and never taken for somebody's change.
	Drifts bool `json:"drifts,omitempty"`
	// Gone is set when a value or link is no longer there: its interface went
	// away, or was made again.
	Gone bool `json:"gone,omitempty"`
	// Secret keeps the content out of diffs.
	Secret bool `json:"secret,omitempty"`
}

// Kinds of Item.
const (
	FileItem    = "file"    // content, mode, owner, xattrs
	MetaItem    = "meta"    // mode, owner, xattrs of a file or folder
	FolderItem  = "folder"  // that it exists: parents of new files
	ValueItem   = "value"   // a file of /proc/sys or /sys
	MTUItem     = "mtu"     // a link's
	EnabledItem = "enabled" // systemctl is-enabled
	ActiveItem  = "active"  // systemctl is-active
)

func (it Item) Key() string { return it.Kind + ":" + it.Path }

// ReadItem reads the item as it is now.
func ReadItem(ctx context.Context, m machine.Machine, it Item) (Item, error) {
	now := it
	now.Image, now.Value, now.Index, now.Gone = nil, "", 0, false
	switch it.Kind {
	case FileItem, MetaItem, FolderItem:
		img, err := m.Look(it.Path, it.Kind == FileItem)
		now.Image = &img
		return now, err
	case ValueItem:
		v, err := m.ReadValue(it.Path)
		if now.Gone = errors.Is(err, fs.ErrNotExist); now.Gone {
			err = nil
		}
		now.Value = selected(v)
		return now, err
	case MTUItem:
		ls, err := m.Links()
		now.Gone = true
		for _, l := range ls {
			if l.Name == it.Path && l.Index == it.Index { // another index is another link of that name
				now.Value, now.Index, now.Gone = fmt.Sprint(l.MTU), l.Index, false
			}
		}
		return now, err
	case EnabledItem, ActiveItem:
		v, err := unitState(ctx, m, it)
		now.Value = v
		return now, err
	}
	return now, fmt.Errorf("unknown kind of item %q", it.Kind)
}

// ReadItems reads all of them again.
func ReadItems(ctx context.Context, m machine.Machine, items []Item) ([]Item, error) {
	out := make([]Item, len(items))
	for i, it := range items {
		now, err := ReadItem(ctx, m, it)
		if err != nil {
			return nil, fmt.Errorf("reading the state of %s: %w", it.Path, err)
		}
		out[i] = now
	}
	return out, nil
}

// selected takes the word in brackets out of "always [madvise] never", the
// form of many /sys files.
func selected(v string) string {
	words := strings.Fields(v)
	if len(words) > 1 {
		for _, w := range words {
			if strings.HasPrefix(w, "[") && strings.HasSuffix(w, "]") && len(w) > 2 {
				return w[1 : len(w)-1]
			}
		}
	}
	return v
}

// sameValue compares as the kernel does: it answers "1\t2" to "1 2".
func sameValue(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// Same tells whether two readings of an item are alike.
func (it Item) Same(b Item) bool {
	switch it.Kind {
	case FileItem, MetaItem:
		return it.Image != nil && b.Image != nil && sameImage(*it.Image, *b.Image, it.Kind == FileItem)
	case FolderItem:
		return it.Image != nil && b.Image != nil && it.Image.Type == b.Image.Type
	}
	return it.Gone || b.Gone || sameValue(it.Value, b.Value) // what is gone differs from nothing
}

func sameImage(a, b machine.Image, content bool) bool {
	return a.Type == b.Type && SameMeta(a, b) && (!content || a.Sum == b.Sum)
}

// SameMeta compares mode, owner and extended attributes, but for those that the
// kernel recomputes by itself.
func SameMeta(a, b machine.Image) bool {
	if a.Type == machine.Absent {
		return b.Type == machine.Absent
	}
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID &&
		maps.EqualFunc(lasting(a.Xattrs), lasting(b.Xattrs), slices.Equal)
}

// lasting leaves out the attributes that the kernel recomputes by itself
// (integrity measurement; Documentation/ABI/testing/ima_policy).
func lasting(x map[string][]byte) map[string][]byte {
	x = maps.Clone(x)
	delete(x, "security.ima")
	delete(x, "security.evm")
	return x
}

// PutBack makes the host's item what it was. content is a file's pre-image.
func PutBack(ctx context.Context, s *Site, was Item, content []byte) error {
	now, err := ReadItem(ctx, s.Machine, was)
	if err != nil {
		return err
	}
	if was.Same(now) {
		return nil
	}
	switch was.Kind {
	case FileItem:
		return putBackFile(s, was.Path, *was.Image, *now.Image, content)
	case MetaItem:
		if now.Image.Type != was.Image.Type {
			return fmt.Errorf("%s is no longer a %s", was.Path, was.Image.Type)
		}
		if known, ok := s.seen(was.Path); ok && now.Image.Foreign && known.ID != now.Image.ID {
			return &machine.Changed{Path: was.Path, Why: "has since been replaced by another file"}
		}
		f := machine.Ref{Path: was.Path, ID: now.Image.ID}
		if err := setMeta(s.Machine, f, *now.Image, *was.Image); err != nil {
			return err
		}
		return s.Machine.Sync(f)
	case FolderItem:
		if was.Image.Type != machine.Absent || now.Image.Type != machine.Folder {
			return nil
		}
		if names, err := s.Machine.List(was.Path); err != nil || len(names) > 0 {
			s.Note("%s is kept: it is not empty", was.Path)
			return err
		}
		return removeDir(s.Machine, was.Path)
	case ValueItem:
		return s.Machine.WriteValue(was.Path, was.Value)
	case MTUItem:
		var mtu int
		if _, err := fmt.Sscan(was.Value, &mtu); err != nil {
			return fmt.Errorf("journaled MTU %q of %s: %w", was.Value, was.Path, err)
		}
		return s.Machine.SetMTU(was.Index, mtu)
	}
	return putBackUnit(ctx, s, was, now) // ReadItem knows no further kinds than those of units
}

func (it Item) Content() []byte {
	if it.Image == nil || it.Image.Type != machine.Regular {
		return nil
	}
	if it.Image.Content == nil {
		return []byte{}
	}
	return it.Image.Content
}

// Private tells of a file that others than its owner and group may not read:
// its content is not for logs and tickets.
func (it Item) Private() bool {
	return it.Image != nil && it.Image.Type == machine.Regular && it.Image.Mode&0o004 == 0
}

// Show is an item in one line, without content.
func (it Item) Show() string {
	if it.Image == nil {
		if it.Value == "" {
			return "absent"
		}
		return it.Value
	}
	i := it.Image
	if i.Type == machine.Absent {
		return "absent"
	}
	s := fmt.Sprintf("mode %04o, owner %d:%d", i.Mode, i.UID, i.GID)
	for _, k := range sortedKeys(i.Xattrs) {
		s += ", " + k
		if a, err := parseACL(k, i.Xattrs[k]); err == nil {
			s += "=" + a
		}
	}
	if it.Kind == FileItem {
		s += fmt.Sprintf(", %d bytes", i.Size)
	}
	return s
}

// attributes are the changes of mode, owner and extended attributes.
func (it Item) attributes(was Item) string {
	now, then := *it.Image, *was.Image
	if now.Type != then.Type {
		return it.Show() + " → " + was.Show()
	}
	var out []string
	if now.Mode != then.Mode {
		out = append(out, fmt.Sprintf("mode %04o → %04o", now.Mode, then.Mode))
	}
	if now.UID != then.UID || now.GID != then.GID {
		out = append(out, fmt.Sprintf("owner %d:%d → %d:%d", now.UID, now.GID, then.UID, then.GID))
	}
	for _, k := range sortedKeys(lasting(then.Xattrs)) {
		if !slices.Equal(now.Xattrs[k], then.Xattrs[k]) {
			out = append(out, "sets "+k)
			if a, err := parseACL(k, then.Xattrs[k]); err == nil {
				out[len(out)-1] += " to " + a
			}
		}
	}
	for _, k := range sortedKeys(lasting(now.Xattrs)) {
		if _, ok := then.Xattrs[k]; !ok {
			out = append(out, "removes "+k)
		}
	}
	return strings.Join(out, ", ")
}

// Becomes says what changes when the item, which stands so, is made what it
// was: a diff of a file's text, or "PATH: NOW → BEFORE"; empty where nothing
// does. Of secret or private files it tells sizes only.
func (it Item) Becomes(was Item) string {
	if it.Same(was) {
		return ""
	}
	switch it.Kind {
	case FileItem:
	case MetaItem:
		return fmt.Sprintf("%s: %s\n", it.Path, it.attributes(was))
	default:
		return fmt.Sprintf("%s: %s → %s\n", it.Path, it.Show(), was.Show())
	}
	from, to := it.Path, it.Path
	if it.Image.Type == machine.Absent {
		from = devNull
	}
	if was.Image.Type == machine.Absent {
		to = devNull
	}
	var out string
	if it.Secret || it.Private() || was.Private() {
		if it.Image.Sum != was.Image.Sum {
			out = Hidden(from, to, it.Content(), was.Content())
		}
	} else {
		out = Diff(from, to, it.Content(), was.Content())
	}
	if out == "" {
		out = fmt.Sprintf("%s: %s → %s\n", it.Path, it.Show(), was.Show())
	}
	return out
}
