package remedy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// Head is plan.json: what one change was made for.
type Head struct {
	Format  int       `json:"format"` // 1
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Version string    `json:"fettle,omitempty"` // fettle's version
	By      string    `json:"by,omitempty"`     // the user who ran fettle fix
	Trap    string    `json:"trap,omitempty"`
	Subject string    `json:"subject,omitempty"`
	Summary string    `json:"summary,omitempty"` // of the finding
	// Parts are the findings, where there are several: Subject and Summary are
	// for people then.
	Parts []Part `json:"parts,omitempty"`
	// ConfirmWithin, when set, is how long fettle confirm may take until the
	// change is undone.
	ConfirmWithin time.Duration `json:"confirm_within_ns,omitempty"`
	Plan          Plan          `json:"plan"`
	// Seen is what Survey found.
	Seen []step.Item `json:"seen,omitempty"`
}

// Event is what a journal line tells.
type Event string

const (
	evBegin      Event = "begin"       // fettle starts or resumes applying
	evArmed      Event = "armed"       // an independent rollback stands by
	evIntent     Event = "intent"      // a step is about to act; Items is the snapshot
	evDone       Event = "done"        // it has acted; Items is how that left things
	evApplied    Event = "applied"     // all steps done, and the check agrees
	evConfirmed  Event = "confirmed"   // the admin is still there
	evUndoing    Event = "undoing"     // taking back begins
	evUndoIntent Event = "undo-intent" // a step is about to be undone
	evUndone     Event = "undone"      // it is undone
	evLeft       Event = "left"        // it is not, and Why
	evTakenBack  Event = "taken-back"  // taking back is finished
	evNote       Event = "note"
)

// Record is one journal line.
type Record struct {
	Time  time.Time   `json:"time"`
	Event Event       `json:"event"`
	Step  int         `json:"step"` // from 0
	Boot  string      `json:"boot,omitempty"`
	PID   int         `json:"pid,omitempty"`
	Items []step.Item `json:"items,omitempty"`
	// Why says in words why something was left, noted, or taken back.
	Why string `json:"why,omitempty"`
	// Force and Skip of an undoing: write over what others changed, or leave
	// it and go on.
	Force bool `json:"force,omitempty"`
	Skip  bool `json:"skip,omitempty"`
	// Deadline and Guards of armed: until when confirm is due, and what stands by.
	Deadline time.Time `json:"deadline,omitzero"`
	Guards   []string  `json:"guards,omitempty"`
}

// Damaged is a journal that says something impossible ahead of its last line.
type Damaged struct {
	Path string
	Line int // from 1
	Err  error
}

func (e *Damaged) Error() string {
	return fmt.Sprintf("%s:%d: the journal is damaged: %v; the original files are in %s",
		e.Path, e.Line, e.Err, filepath.Join(filepath.Dir(e.Path), "pre"))
}

// parseJournal reads journal lines. A last line that was cut off by a kill or
// a power cut tells of nothing that had begun, and is left out; good is the
// length of what counts, in bytes. name is for the error.
func parseJournal(name string, b []byte, steps int) (recs []Record, good int, err error) {
	for n := 1; good < len(b); n++ {
		line, rest, whole := bytes.Cut(b[good:], []byte("\n"))
		last := len(bytes.TrimSpace(rest)) == 0
		if !whole {
			break
		}
		var r Record
		if err = json.Unmarshal(line, &r); err == nil {
			err = r.valid(steps)
		}
		if err != nil {
			if last {
				break
			}
			return recs, good, &Damaged{name, n, err}
		}
		recs = append(recs, r)
		good += len(line) + 1
	}
	return recs, good, nil
}

func (r Record) valid(steps int) error {
	switch r.Event {
	case evBegin, evArmed, evApplied, evConfirmed, evUndoing, evTakenBack, evNote:
	case evIntent, evDone, evUndoIntent, evUndone, evLeft:
		if r.Step < 0 || r.Step >= steps {
			return fmt.Errorf("step %d of a plan of %d", r.Step, steps)
		}
	default:
		return fmt.Errorf("unknown event %q", r.Event)
	}
	for _, it := range r.Items {
		switch it.Kind {
		case step.FileItem, step.MetaItem, step.FolderItem:
			if it.Image == nil {
				return fmt.Errorf("item %s without an image", it.Path)
			}
			if it.Image.Blob != "" && !fs.ValidPath(it.Image.Blob) {
				return fmt.Errorf("item %s: bad name %q of a kept file", it.Path, it.Image.Blob)
			}
		case step.ValueItem, step.MTUItem, step.EnabledItem, step.ActiveItem:
		default:
			return fmt.Errorf("unknown kind of item %q", it.Kind)
		}
	}
	return nil
}

// append writes one line and makes it durable. On a full disk it gives up the
// reserve.
func (c *Change) append(r Record) error {
	r.Time, r.PID = time.Now().UTC(), os.Getpid()
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	point := fmt.Sprintf("journal %s %d", r.Event, r.Step)
	c.store.point("before " + point)
	err = c.appendLine(b)
	if noSpace(err) && c.store.disk.Remove(c.in("reserve")) == nil {
		err = c.appendLine(b)
	}
	if err != nil {
		return fmt.Errorf("writing the journal of change %s: %w", c.ID, err)
	}
	c.store.point("after " + point)
	c.Records = append(c.Records, r)
	c.replay()
	return nil
}

// appendLine cuts off a torn last line first, so that the new one does not
// stick to it.
func (c *Change) appendLine(b []byte) error {
	if err := c.store.disk.WriteAt(c.in("journal.jsonl"), b, c.good); err != nil {
		return err
	}
	if err := c.store.disk.Sync(c.in("journal.jsonl")); err != nil {
		return err
	}
	c.good += int64(len(b))
	return nil
}

// keep writes the content of a snapshot's files into the store, durably, and
// names them in the items.
func (c *Change) keep(at int, items []step.Item) error {
	any := false
	for i := range items {
		if img := items[i].Image; items[i].Kind == step.FileItem && img.Type == machine.Regular {
			img.Blob = fmt.Sprintf("pre/%d-%d", at, i)
			if err := c.store.write(c.in(img.Blob), img.Content); err != nil {
				return fmt.Errorf("keeping a copy of %s: %w", items[i].Path, err)
			}
			any = true
		}
	}
	if any {
		return c.store.disk.Sync(c.in("pre"))
	}
	return nil
}

// load reads the kept content back into a snapshot.
func (c *Change) load(items []step.Item) error {
	for i := range items {
		img := items[i].Image
		if img == nil || img.Blob == "" || img.Content != nil {
			continue
		}
		b, err := c.store.disk.Read(c.in(img.Blob))
		if err != nil {
			return fmt.Errorf("reading the kept copy of %s: %w", items[i].Path, err)
		}
		if machine.Sum(b) != img.Sum {
			return fmt.Errorf("the kept copy %s of %s is damaged: its SHA-256 is not the journaled one", img.Blob, items[i].Path)
		}
		img.Content = b
	}
	return nil
}

// ErrNoChange: the ID is of no change that is kept here.
var ErrNoChange = errors.New("there is no such change; fettle changes lists them")

// ErrTakenBack: the change was undone before.
var ErrTakenBack = errors.New("it is already rolled back")
