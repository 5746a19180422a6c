package remedy

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// booted is a host in a boot of its own.
type booted struct {
	machine.Linux
	boot *string
}

func (m booted) BootID() (string, error) { return *m.boot, nil }

// changesAt makes changes in a new store: of each the records that its journal has. All change dir/a, and have done so.
func changesAt(t *testing.T, heads []Head, journals ...[]Record) (*Engine, string, *string) {
	t.Helper()
	means.Root(t)
	dir, boot := t.TempDir(), "now"
	e := engineAt(t, dir+"/state")
	e.Machine, e.Guard = booted{boot: &boot}, Guard{Units: dir + "/units"}
	put(t, dir+"/a", "new\n", 0o644)
	for i, records := range journals {
		h := Head{Format: 1, Trap: "t", Subject: "s"}
		if i < len(heads) {
			h = heads[i]
			h.Format = 1
		}
		h.Plan = Plan{Title: "mend", Steps: []step.Step{step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")}}}
		c, err := e.Store.create(h)
		must(t, "create", err)
		for _, r := range records {
			if r.Event == evIntent {
				img := machine.Image{Type: machine.Regular, Mode: 0o644, Content: []byte("old\n"), Sum: machine.Sum([]byte("old\n")), Links: 1}
				r.Items = []step.Item{{Kind: step.FileItem, Path: dir + "/a", Image: &img}}
				must(t, "keep", c.keep(0, r.Items))
			}
			if r.Event == evDone {
				r.Items, err = step.ReadItems(t.Context(), e.Machine, c.steps[0].before)
				must(t, "items", err)
			}
			must(t, "append", c.append(r))
		}
	}
	return e, dir, &boot
}

func ev(e Event) Record { return Record{Event: e, Boot: "now"} }

func armedUntil(at time.Time) Record {
	return Record{Event: evArmed, Boot: "now", Deadline: at, Guards: []string{"g"}}
}

var (
	later   = armedUntil(time.Now().Add(time.Hour))
	past    = armedUntil(time.Now().Add(-time.Hour))
	doing   = []Record{ev(evBegin), ev(evIntent)}
	ended   = []Record{ev(evBegin), ev(evIntent), ev(evDone), ev(evApplied)}
	undoing = []Record{ev(evBegin), ev(evIntent), ev(evDone), ev(evApplied), {Event: evUndoing, Why: "it bit", Skip: true}}
	back    = append(undoing[:5:5], ev(evUndone), ev(evTakenBack))
)

func with(first Record, rest []Record) []Record { return append([]Record{first}, rest...) }

// TestConfirm: which change is confirmed, and what is said of those that cannot be.
func TestConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		journals [][]Record
		id       string
		confirms string // the change
		want     string // of the error
	}{
		"none":                      {nil, "", "", ""},
		"one that waits":            {[][]Record{with(later, ended)}, "", "0001", ""},
		"one that waits, too late":  {[][]Record{with(past, ended)}, "", "0001", ""}, // as long as it is not rolled back
		"the last that waits":       {[][]Record{with(later, ended), with(later, ended), ended}, "", "0002", ""},
		"by name":                   {[][]Record{with(later, ended), with(later, ended)}, "1", "0001", ""},
		"needs none":                {[][]Record{ended}, "1", "", "change 0001 needs no confirming"},
		"needs none, unnamed":       {[][]Record{ended}, "", "", ""},
		"confirmed already":         {[][]Record{append(with(later, ended), ev(evConfirmed))}, "1", "", "needs no confirming"},
		"cut off":                   {[][]Record{with(later, doing)}, "1", "", "change 0001 was cut off while it was applied"},
		"cut off while undone":      {[][]Record{with(later, undoing)}, "", "", "change 0001 was interrupted while it was rolled back"},
		"rolled back":               {[][]Record{with(past, back)}, "", "", "too late: change 0001 was rolled back: it bit"},
		"rolled back, by name":      {[][]Record{with(past, back)}, "0001", "", "too late: change 0001"},
		"rolled back, not the last": {[][]Record{with(past, back), ended}, "", "", ""},
		"rolled back, never armed":  {[][]Record{back}, "", "", ""},
		"rolled back, had been confirmed": {[][]Record{append(with(later, ended), append([]Record{ev(evConfirmed)}, back[4:]...)...)}, "", "",
			""},
		"no such change": {[][]Record{ended}, "7", "", "there is no such change"},
	} {
		e, _, _ := changesAt(t, nil, c.journals...)
		got, err := e.Confirm(t.Context(), c.id)
		if !says(text(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if errors.As(err, new(*Late)) != strings.Contains(c.want, "too late") ||
			errors.As(err, new(*Unfinished)) != strings.Contains(c.want, "while it was") {
			t.Errorf("%s: %T", name, err)
		}
		all, err := e.Store.Changes()
		must(t, "changes", err)
		for i, ch := range all {
			last := ch.Records[len(ch.Records)-1].Event
			if confirmed := len(ch.Records) > len(c.journals[i]) && last == evConfirmed; confirmed != (ch.ID == c.confirms) {
				t.Errorf("%s: change %s is confirmed: %v", name, ch.ID, confirmed)
			}
			_, err := os.Stat(e.Store.folder(ch.ID) + "/reserve")
			if (err != nil) != (ch.ID == c.confirms) {
				t.Errorf("%s: the reserve of %s: %v", name, ch.ID, err)
			}
		}
		if c.confirms != "" && (got == nil || got.ID != c.confirms) {
			t.Errorf("%s: it returns %+v", name, got)
		}
	}
}

// TestResume: which change is resumed, where to, and which must not be.
func TestResume(t *testing.T) {
	need := []Head{{Trap: "t", Subject: "s", ConfirmWithin: time.Minute}}
	for name, c := range map[string]struct {
		heads    []Head
		journals [][]Record
		id       string
		boot     string
		file     string // then
		phase    Phase  // of the first change, then
		want     string // of the error
	}{
		"none":                       {nil, [][]Record{ended}, "", "now", "new\n", Applied, ""},
		"applied":                    {nil, [][]Record{ended}, "1", "now", "new\n", Applied, "0001 is applied: there is nothing to resume"},
		"rolled back":                {nil, [][]Record{back}, "1", "now", "new\n", TakenBack, "change 0001 is rolled back: there is nothing"},
		"cut off":                    {nil, [][]Record{doing}, "", "now", "new\n", Applied, ""},
		"cut off, another boot":      {nil, [][]Record{doing}, "", "next", "new\n", Applied, ""},
		"cut off before any step":    {nil, [][]Record{doing[:1]}, "", "now", "new\n", Applied, ""},
		"cut off while undone":       {nil, [][]Record{undoing}, "", "now", "old\n", TakenBack, ""},
		"not the last":               {nil, [][]Record{doing, ended}, "", "now", "new\n", Applied, ""},
		"armed":                      {need, [][]Record{with(later, doing)}, "", "now", "new\n", Applied, ""},
		"armed, too late":            {need, [][]Record{with(past, doing)}, "", "now", "new\n", Applying, "was not confirmed until"},
		"armed, another boot":        {need, [][]Record{with(later, doing)}, "", "next", "new\n", Applying, "was to be undone at a reboot"},
		"armed, confirmed, too late": {need, [][]Record{append(with(past, doing), ev(evConfirmed))}, "", "now", "new\n", Applied, ""},
		"not armed":                  {need, [][]Record{doing}, "", "now", "old\n", TakenBack, "could not be armed"},
		"no such change":             {nil, [][]Record{doing}, "7", "now", "new\n", Applying, "no such change"},
	} {
		e, dir, boot := changesAt(t, c.heads, c.journals...)
		*boot = c.boot
		e.Guard.Program = dir + "/nosuch"
		if _, err := e.Resume(t.Context(), c.id, nil); !says(text(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		ch, err := e.Store.Change("1")
		must(t, "change", err)
		if got := read(t, dir+"/a"); got != c.file || ch.phase != c.phase {
			t.Errorf("%s: the file says %q, the change is %s", name, got, ch.phase)
		}
	}
	// It is verified for what it was made for.
	e, dir, _ := changesAt(t, nil, doing)
	var of Head
	_, err := e.Resume(t.Context(), "", func(h Head) Verify {
		of = h
		return func(context.Context) error { return &StillFound{"it bites"} }
	})
	if !errors.As(err, new(*RolledBack)) || of.Subject != "s" || read(t, dir+"/a") != "old\n" {
		t.Errorf("verified for %+v: %v", of, err)
	}
}

// TestUndoingGoesOnAsItBegan: an undo that was cut off writes over what others changed, or leaves it.
func TestUndoingGoesOnAsItBegan(t *testing.T) {
	for name, c := range map[string]struct {
		began Record
		file  string
		want  string
	}{
		"neither": {Record{Event: evUndoing}, "theirs\n", "is not undone"},
		"force":   {Record{Event: evUndoing, Force: true}, "old\n", ""},
		"skip":    {Record{Event: evUndoing, Skip: true}, "theirs\n", ""},
	} {
		e, dir, _ := changesAt(t, nil, append(ended[:4:4], c.began))
		put(t, dir+"/a", "theirs\n", 0o644)
		ch, err := e.Resume(t.Context(), "", nil)
		if !says(text(err), c.want) || read(t, dir+"/a") != c.file {
			t.Errorf("%s: %v, the file says %q", name, err, read(t, dir+"/a"))
		}
		if left := strings.Join(ch.Left(), ""); strings.Contains(left, "was changed since by somebody else") != (name == "skip") {
			t.Errorf("%s: left %q", name, left)
		}
	}
}

// TestUndoUnconfirmed is what a guard does: nothing in the boot that it guards, nothing when it was confirmed, else undo.
func TestUndoUnconfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		journal []Record
		boot    string
		atBoot  bool
		file    string
		why     string // that it was rolled back
		ready   bool
		want    string
	}{
		"never armed":          {ended, "now", false, "new\n", "", false, "change 1 was never armed"},
		"over":                 {with(past, ended), "now", false, "old\n", "it was not confirmed by ", true, ""},
		"confirmed":            {append(with(past, ended), ev(evConfirmed)), "now", false, "new\n", "", true, ""},
		"at boot, the same":    {with(later, ended), "now", true, "new\n", "", true, ""},
		"at boot, another":     {with(later, ended), "next", true, "old\n", "the host was restarted before anybody confirmed it", true, ""},
		"at boot, confirmed":   {append(with(later, ended), ev(evConfirmed)), "next", true, "new\n", "", true, ""},
		"while it was cut off": {with(past, doing), "now", false, "old\n", "it was not confirmed by ", true, ""},
		"rolled back already":  {with(past, back), "now", false, "new\n", "it bit", true, ""},
	} {
		e, dir, boot := changesAt(t, nil, c.journal)
		*boot = c.boot
		ready := false
		if err := e.UndoUnconfirmed(t.Context(), "1", time.Time{}, c.atBoot, func() { ready = true }); !says(text(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		ch, err := e.Store.Change("1")
		must(t, "change", err)
		if got := read(t, dir+"/a"); got != c.file || !says(ch.Why(), c.why) || ready != c.ready {
			t.Errorf("%s: the file says %q, why: %q, ready: %v", name, got, ch.Why(), ready)
		}
		_, err = os.Stat(e.Store.folder("0001") + "/reserve")
		if _, due := ch.Unconfirmed(); ready && !due && !(c.atBoot && c.boot == "now") && err == nil {
			t.Errorf("%s: the guards are still there", name)
		}
	}
	for at, file := range map[time.Duration]string{-time.Second: "old\n", time.Millisecond: "old\n"} { // it was not confirmed until then
		e, dir, _ := changesAt(t, nil, with(past, ended))
		err := e.UndoUnconfirmed(t.Context(), "1", time.Now().Add(at), false, func() {})
		if got := read(t, dir+"/a"); err != nil || got != file {
			t.Errorf("%s from now: %v, the file says %q", at, err, got)
		}
	}
	e, _, _ := changesAt(t, nil)
	if err := e.UndoUnconfirmed(t.Context(), "1", time.Time{}, false, func() {}); !errors.Is(err, ErrNoChange) {
		t.Error(err)
	}
}

// TestUndoPicks: which change is undone, and that after a fix with nothing to fix none is guessed.
func TestUndoPicks(t *testing.T) {
	for name, c := range map[string]struct {
		journals [][]Record
		nothing  bool // the last fix had nothing to mend
		id       string
		undoes   string
		want     string
	}{
		"none":                    {nil, false, "", "", ""},
		"none, nothing to mend":   {nil, true, "", "", ""},
		"the last":                {[][]Record{ended, ended}, false, "", "0002", ""},
		"the last that is there":  {[][]Record{ended, back}, false, "", "0001", ""},
		"all undone":              {[][]Record{back}, false, "", "", ""},
		"undone already":          {[][]Record{back}, false, "1", "", "change 0001: it is already rolled back"},
		"nothing to mend":         {[][]Record{ended}, true, "", "", "had nothing to fix; the change before it is 0001"},
		"nothing to mend, named":  {[][]Record{ended}, true, "1", "0001", ""},
		"nothing to mend, cut":    {[][]Record{doing}, true, "", "0001", ""},
		"nothing to mend, undone": {[][]Record{back}, true, "", "", ""},
	} {
		e, _, _ := changesAt(t, nil, c.journals...)
		if c.nothing {
			e.Store.NothingToMend("demo")
		}
		p, perr := e.PreviewUndo(t.Context(), c.id, UndoOptions{})
		ch, err := e.Undo(t.Context(), c.id, UndoOptions{})
		if !says(text(err), c.want) || text(perr) != text(err) {
			t.Errorf("%s: %v, preview %v", name, err, perr)
		}
		if c.undoes != "" && (ch == nil || ch.ID != c.undoes || ch.phase != TakenBack ||
			p == nil || p.Change.ID != c.undoes || len(p.Steps) != 1) ||
			c.undoes == "" && ch != nil && err == nil {
			t.Errorf("%s: %+v, preview %+v", name, ch, p)
		}
	}
	e, _, _ := changesAt(t, nil, ended)
	e.Store.NothingToMend("demo")
	if e.Store.nothingMended() == nil {
		t.Error("a fix with nothing to mend was forgotten")
	}
	_, err := e.Store.create(Head{Format: 1})
	if must(t, "create", err); e.Store.nothingMended() != nil {
		t.Error("a fix with nothing to mend is remembered after one that mended something")
	}
}
