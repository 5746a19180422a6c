package remedy

import (
	"context"
	"errors"
	"fettle/remedy/machine"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
)

// Item is one thing on the host that a step may change, and how it stood at
// one moment. Snapshots, journals, undo and conflicts are made of items; only
// here is it known how each kind is read, compared and put back.
type Item struct {
	Kind string `json:"kind"`
	// Path is the real path of a file, folder or value, the name of a link or
	// of a unit.
	Path  string `json:"path"`
	Image *Image `json:"image,omitempty"` // of file, meta and folder items
	Value string `json:"value,omitempty"` // of the others
	Index int    `json:"index,omitempty"` // of an mtu item: the link's index
	// Aside is set for what the step does not aim at but may change on the
	// way: the interfaces' columns of conf/all.
	Aside bool `json:"aside,omitempty"`
	// Drifts is set for a value that the kernel itself changes: it is put
	// back, and never taken for somebody's change.
	Drifts bool `json:"drifts,omitempty"`
	// Gone is set when a value or link is no longer there: its interface went
	// away, or was made anew.
	Gone bool `json:"gone,omitempty"`
	// Secret keeps the content out of diffs.
	Secret bool `json:"secret,omitempty"`
}

// Kinds of Item.
const (
	itemFile    = "file"    // content, mode, owner, xattrs
	itemMeta    = "meta"    // mode, owner, xattrs of a file or folder
	itemFolder  = "folder"  // that it exists: parents of new files
	itemValue   = "value"   // a file of /proc/sys or /sys
	itemMTU     = "mtu"     // a link's
	itemEnabled = "enabled" // systemctl is-enabled
	itemActive  = "active"  // systemctl is-active
)

func (it Item) key() string { return it.Kind + ":" + it.Path }

// readItem reads the item as it stands now.
func readItem(ctx context.Context, m Machine, it Item) (Item, error) {
	now := it
	now.Image, now.Value, now.Index, now.Gone = nil, "", 0, false
	switch it.Kind {
	case itemFile, itemMeta, itemFolder:
		img, err := m.Look(it.Path, it.Kind == itemFile)
		now.Image = &img
		return now, err
	case itemValue:
		v, err := m.ReadValue(it.Path)
		if now.Gone = errors.Is(err, fs.ErrNotExist); now.Gone {
			err = nil
		}
		now.Value = selected(v)
		return now, err
	case itemMTU:
		ls, err := m.Links()
		now.Gone = true
		for _, l := range ls {
			if l.Name == it.Path && l.Index == it.Index { // another index is another link of that name
				now.Value, now.Index, now.Gone = fmt.Sprint(l.MTU), l.Index, false
			}
		}
		return now, err
	case itemEnabled, itemActive:
		v, err := unitState(ctx, m, it)
		now.Value = v
		return now, err
	}
	return now, fmt.Errorf("unknown kind of item %q", it.Kind)
}

// readItems reads all of them anew.
func readItems(ctx context.Context, m Machine, items []Item) ([]Item, error) {
	out := make([]Item, len(items))
	for i, it := range items {
		now, err := readItem(ctx, m, it)
		if err != nil {
			return nil, fmt.Errorf("reading how %s stands: %w", it.Path, err)
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

// same tells whether two readings of an item are alike.
func (it Item) same(b Item) bool {
	switch it.Kind {
	case itemFile, itemMeta:
		return it.Image != nil && b.Image != nil && sameImage(*it.Image, *b.Image, it.Kind == itemFile)
	case itemFolder:
		return it.Image != nil && b.Image != nil && it.Image.Type == b.Image.Type
	}
	return it.Gone || b.Gone || sameValue(it.Value, b.Value) // what is gone differs from nothing
}

func sameImage(a, b Image, content bool) bool {
	return a.Type == b.Type && sameMeta(a, b) && (!content || a.Sum == b.Sum)
}

func sameMeta(a, b Image) bool {
	if a.Type == Absent {
		return b.Type == Absent
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

// putBack makes the host's item what it was. content is a file's pre-image.
func putBack(ctx context.Context, s *site, was Item, content []byte) error {
	now, err := readItem(ctx, s.m, was)
	if err != nil {
		return err
	}
	if was.same(now) {
		return nil
	}
	switch was.Kind {
	case itemFile:
		return putBackFile(s, was.Path, *was.Image, *now.Image, content)
	case itemMeta:
		if now.Image.Type != was.Image.Type {
			return fmt.Errorf("%s is no longer a %s", was.Path, was.Image.Type)
		}
		if known, ok := s.seen(was.Path); ok && now.Image.Foreign && known.ID != now.Image.ID {
			return &Changed{Path: was.Path, Why: "was replaced by another file since"}
		}
		f := machine.Ref{Path: was.Path, ID: now.Image.ID}
		if err := setMeta(s.m, f, *now.Image, *was.Image); err != nil {
			return err
		}
		return s.m.Sync(f)
	case itemFolder:
		if was.Image.Type != Absent || now.Image.Type != Folder {
			return nil
		}
		if names, err := s.m.List(was.Path); err != nil || len(names) > 0 {
			s.note("%s stays: it is not empty", was.Path)
			return err
		}
		return removeDir(s.m, was.Path)
	case itemValue:
		return s.m.WriteValue(was.Path, was.Value)
	case itemMTU:
		var mtu int
		if _, err := fmt.Sscan(was.Value, &mtu); err != nil {
			return fmt.Errorf("journaled MTU %q of %s: %w", was.Value, was.Path, err)
		}
		return s.m.SetMTU(was.Index, mtu)
	case itemEnabled, itemActive:
		return putBackUnit(ctx, s, was, now)
	}
	return fmt.Errorf("unknown kind of item %q", was.Kind)
}

// site is where a step is carried out.
type site struct {
	m Machine
	// temp is the name of the step's temporary files: fixed, so that those
	// of a killed run are found again.
	temp string
	// inPlace lets a file be written in place when the disk has no room for
	// a second copy; only where the pre-image is safe and going back matters
	// more than atomicity.
	inPlace bool
	// records tell how files stood when fettle itself saw them last.
	records []Record
	log     func(string)
}

func (s *site) seen(path string) (Image, bool) { return lastSeen(path, s.records, nil) }

func (s *site) note(format string, args ...any) {
	if s.log != nil {
		s.log(fmt.Sprintf(format, args...))
	}
}

// askLimit is how long a question to systemctl may take.
const askLimit = 10 * time.Second
