package remedy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// Change is one plan that was applied, or is, or was rolled back.
type Change struct {
	Head
	Records []Record
	store   *Store
	good    int64 // length of the journal that counts, in bytes

	// What the records add up to.
	phase     Phase
	steps     []stepState
	armed     *Record
	confirmed bool
	undoing   *Record // the last one
}

// Phase is where a change stands.
type Phase string

const (
	Applying  Phase = "applying" // or cut off while at it
	Applied   Phase = "applied"
	TakenBack Phase = "rolled back"
	Undoing   Phase = "undoing" // or cut off while at it
)

type stepState struct {
	boot      string      // of the intent
	before    []step.Item // nil: no intent yet, or no items
	after     []step.Item // of a done step
	intended  bool
	done      bool
	undoBegun bool
	undone    bool   // or left for good
	left      string // why it was not undone
}

func (c *Change) dir() string { return c.store.folder(c.ID) }

// in is the name of one of its files in the store.
func (c *Change) in(name string) string { return inStore(c.ID, name) }

// Change reads one change. "7" means 0007.
func (s *Store) Change(id string) (*Change, error) {
	if n, err := strconv.Atoi(id); err != nil || n < 0 {
		return nil, fmt.Errorf("%q: %w", id, ErrNoChange)
	} else if _, err := s.disk.List(inStore(id)); err != nil {
		id = fmt.Sprintf("%04d", n)
	}
	c := &Change{store: s}
	b, err := s.disk.Read(inStore(id, "plan.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q: %w", id, ErrNoChange)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &c.Head); err != nil {
		return nil, fmt.Errorf("%s: is damaged: %w", filepath.Join(s.folder(id), "plan.json"), err)
	}
	switch {
	case c.Format < 1:
		return nil, fmt.Errorf("%s: is damaged: it names no format", filepath.Join(s.folder(id), "plan.json"))
	case c.Format > 1:
		return nil, fmt.Errorf("change %s was written by a newer fettle (format %d)", id, c.Format)
	}
	c.ID = id
	if b, err = s.disk.Read(c.in("journal.jsonl")); err != nil {
		return nil, err
	}
	name := filepath.Join(c.dir(), "journal.jsonl")
	recs, good, err := parseJournal(name, b, len(c.Plan.Steps))
	if err != nil {
		return nil, err
	}
	c.Records, c.good = recs, int64(good)
	if line, err := c.fit(); err != nil {
		return nil, &Damaged{name, line, err}
	}
	c.replay()
	return c, nil
}

// Changes reads all changes, the oldest first. Those that cannot be read are
// in the error, one line each; the others are returned nevertheless.
func (s *Store) Changes() ([]*Change, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	var out []*Change
	var errs []error
	for _, id := range ids {
		c, err := s.Change(id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, c)
	}
	return out, errors.Join(errs...)
}

// replay adds up the records.
func (c *Change) replay() {
	c.phase, c.armed, c.confirmed, c.undoing = Applying, nil, false, nil
	c.steps = make([]stepState, len(c.Plan.Steps))
	for i := range c.Records {
		r := &c.Records[i]
		var st *stepState
		if r.Step >= 0 && r.Step < len(c.steps) {
			st = &c.steps[r.Step]
		}
		switch r.Event {
		case evArmed:
			c.armed = r
		case evIntent:
			*st = stepState{boot: r.Boot, before: r.Items, intended: true}
		case evDone:
			st.done, st.after = true, r.Items
		case evApplied:
			c.phase = Applied
		case evConfirmed:
			c.confirmed = true
		case evUndoing:
			c.phase, c.undoing = Undoing, r
		case evUndoIntent:
			st.undoBegun = true
		case evUndone:
			st.undone = true
		case evLeft:
			st.undone, st.left = true, r.Why
		case evTakenBack:
			c.phase = TakenBack
		}
	}
}

// Phase is where the change stands.
func (c *Change) Phase() Phase { return c.phase }

// Unconfirmed tells until when fettle confirm is due; false when it is not.
func (c *Change) Unconfirmed() (deadline time.Time, due bool) {
	if c.armed == nil || c.confirmed || c.phase == TakenBack {
		return time.Time{}, false
	}
	return c.armed.Deadline, true
}

// expired tells of a change that was to be confirmed and was rolled back.
func (c *Change) expired() bool {
	return c.armed != nil && !c.confirmed && c.phase == TakenBack
}

// Guards says what stands by to undo the change: "systemd timer …".
func (c *Change) Guards() []string {
	if c.armed == nil {
		return nil
	}
	return c.armed.Guards
}

// For names what the change was made for: "bridge-mtu on br0".
func (h *Head) For() string {
	if h.Subject == "" {
		return h.Trap
	}
	return h.Trap + " on " + h.Subject
}

// Before is how a file stood before the change; nil where it is not journaled.
func (c *Change) Before(path string) *machine.Image {
	for _, st := range c.steps {
		for _, it := range st.before {
			if it.Path == path && it.Image != nil {
				return it.Image
			}
		}
	}
	return nil
}

// Why is why the change was rolled back; empty otherwise.
func (c *Change) Why() string {
	if c.undoing == nil {
		return ""
	}
	return c.undoing.Why
}

// Left lists what an undo did not put back, and why.
func (c *Change) Left() []string {
	var out []string
	for i, st := range c.steps {
		if st.left != "" {
			out = append(out, c.Plan.Steps[i].Describe()+": "+st.left)
		}
	}
	return out
}
