package powercut

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fettle/engine/remedy"
)

// result is what one cut left, and what became of it.
type result struct {
	lost     bool   // the array, or the root, does not come back
	forced   bool   // the array needed --force
	missing  int    // members out of sync right after assembly
	differed string // sectors in which the copies differed in the end
	asked    bool   // md had a resync to do after the assembly
	about    string // what the array was like then
	data     bool   // something that was durable is gone
	resume   bool   // resume was tried; else undo
	finished bool
	err      error // the first thing that was not as it must be
}

// trial boots the disk as the cut left it. Every other one resumes, the
// others undo; of four, one resumes at once, and one sees its members by
// other names.
func (rc raidCase) trial(d *disk, l *Log, c Cut, n int, f *lie) (r result) {
	r.resume = n%2 == 0
	fail := func(format string, args ...any) result {
		r.err = fmt.Errorf(format, args...)
		return r
	}
	if err := bootID(fmt.Sprint("trial-", n)); err != nil {
		return fail("%w", err)
	}
	if err := d.replay(l, c, n%4 >= 2); err != nil {
		return fail("putting the disk together: %w", err)
	}
	if err := d.mountRoot(); err != nil {
		r.lost = true
		return fail("%w", err)
	}
	if err := f.at(mounted, d); err != nil {
		return fail("%w", err)
	}
	var err error
	if r.forced, err = d.assemble(); err != nil {
		r.lost = true
		return fail("assembling: %w", err)
	}
	if err := f.at(assembled, d); err != nil {
		return fail("%w", err)
	}
	r.asked = md("resync_start") != "none" || md("sync_action") == "resync"
	if r.missing = missing(); r.missing > 1 {
		return fail("%d members are missing", r.missing)
	}
	if n%4 != 0 {
		if err := settled(); err != nil {
			return fail("%w", err)
		}
	}
	if err := d.mount(array, dataDir, "ext4", 0); err != nil {
		r.data = true
		return fail("%w", err)
	}
	known := factsAt(l, c)
	if err := intact(dataDir+"/records", known.written); err != nil {
		r.data = true
		return fail("%w", err)
	}
	if err := rc.journal(d, known); err != nil {
		r.data = true
		return fail("%w", err)
	}
	if err := rc.act(d, r.resume); err != nil {
		return fail("%w", err)
	}
	if err := f.at(ending, d); err != nil {
		return fail("%w", err)
	}
	if err := rc.end(d, l, c, known, &r); err != nil {
		return fail("%w", err)
	}
	r.finished = true
	return r
}

// facts are what was known to be durable when the power went.
type facts struct {
	written int // records
	marks   map[string]bool
}

func factsAt(l *Log, c Cut) facts {
	k := facts{marks: map[string]bool{}}
	for _, e := range l.Entries[:c.Prefix] {
		if n, ok := strings.CutPrefix(e.Mark, writerMark); ok && e.Flags&Mark != 0 {
			last := 0
			fmt.Sscan(n, &last)
			k.written = last + 1
		} else if e.Flags&Mark != 0 {
			k.marks[e.Mark] = true
		}
	}
	return k
}

// changes are the phases of the two changes, "" where there is none.
func (rc raidCase) changes() (conf, list remedy.Phase, err error) {
	s, err := remedy.OpenStoreAt(state)
	if err != nil {
		return "", "", err
	}
	defer s.Close()
	all, err := s.Changes()
	for _, c := range all {
		if c.Subject == rc.confSubject {
			conf = c.Phase()
		} else {
			list = c.Phase()
		}
	}
	return conf, list, err
}

// journal holds what fettle's journal and mdadm.conf say against what fettle
// had said when the power went.
func (rc raidCase) journal(d *disk, k facts) error {
	if _, err := os.Stat(state); os.IsNotExist(err) && !k.marks[confFixed] {
		return nil
	}
	if out, err := d.b.Run("fettle", "changes"); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	conf0, list, err := rc.changes()
	if err != nil {
		return err
	}
	mended, err := conf()
	switch {
	case err != nil:
		return err
	case k.marks[confFixed] && (conf0 != remedy.Applied || !mended):
		return fmt.Errorf("fettle had said that %s is mended; it is %q in the journal, mended: %t", rc.confSubject, conf0, mended)
	case mended && conf0 == "":
		return fmt.Errorf("%s is mended, and no journal tells of it", rc.confSubject)
	case k.marks[listUndone] && list != remedy.TakenBack:
		return fmt.Errorf("fettle had said that the list is back; the change is %q", list)
	case k.marks[listFixed] && !k.marks[undoBegun] && list != remedy.Applied:
		return fmt.Errorf("fettle had said that the list is gone; the change is %q", list)
	}
	has, err := d.hasList(victim)
	if err == nil && !has && list == "" {
		err = fmt.Errorf("the list is gone, and no journal tells of it")
	}
	return err
}

// act finishes what was cut off, or takes everything back.
func (rc raidCase) act(d *disk, resume bool) error {
	conf0, list, err := rc.changes()
	if err != nil {
		return err
	}
	if resume {
		began := time.Now()
		out, err := d.b.Run("fettle", "resume")
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		if took := time.Since(began); took > 10*time.Second {
			fmt.Printf("resume took %s, and said:\n%s", took.Round(time.Second), out)
		}
		conf1, list1, err := rc.changes()
		if err == nil && (conf1 != finish(conf0) || list1 != finish(list)) {
			err = fmt.Errorf("resume made of %q, %q: %q, %q", conf0, list, conf1, list1)
		}
		return err
	}
	for range 3 {
		conf0, list, err := rc.changes()
		if err != nil || finishUndo(conf0) && finishUndo(list) {
			return err
		}
		if out, err := d.b.Run("fettle", "undo", "--yes"); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return fmt.Errorf("two changes are not undone after three undos")
}

func finish(p remedy.Phase) remedy.Phase {
	switch p {
	case remedy.Applying:
		return remedy.Applied
	case remedy.Undoing:
		return remedy.TakenBack
	}
	return p
}

func finishUndo(p remedy.Phase) bool { return p == "" || p == remedy.TakenBack }

// end looks at what there is when fettle says that it is done.
func (rc raidCase) end(d *disk, l *Log, c Cut, k facts, r *result) error {
	conf0, list, err := rc.changes()
	if err != nil {
		return err
	}
	mended, err := conf()
	if err != nil {
		return err
	}
	if mended != (conf0 == remedy.Applied) {
		return fmt.Errorf("%s: change %q, mended: %t", rc.confSubject, conf0, mended)
	}
	if left, _ := filepath.Glob(confDir + "/.fettle-*"); len(left) > 0 {
		return fmt.Errorf("temporary files stay: %s", strings.Join(left, ", "))
	}
	if err := settled(); err != nil {
		return err
	}
	for i := range d.parts {
		has, err := d.hasList(i)
		if err != nil {
			return err
		}
		if want := i != victim || list != remedy.Applied; has != want {
			return fmt.Errorf("change %q: member %d has a list: %t", list, i, has)
		}
	}
	if n := missing(); n != 0 {
		return fmt.Errorf("%d members are missing in the end", n)
	}
	if loc := md("bitmap/location"); (loc == "none") != (rc.Bitmap == "none") {
		return fmt.Errorf("the bitmap was %s, and is at %s in the end", rc.Bitmap, loc)
	}
	if err := intact(dataDir+"/records", k.written); err != nil {
		return err
	}
	if err := d.unmountData(); err != nil {
		return err
	}
	return rc.equal(
		d,
		l,
		c,
		k,
		r,
		fmt.Sprintf("%d missing, force: %t, resync asked for: %t, changes %q and %q at the end", r.missing, r.forced, r.asked, conf0, list),
	)
}

// equal has md compare the copies, now that every resync that the bitmap, or
// an array that was not clean, asked for has ended. Where they differ, no write
// to that place was durable on all members when the power went: else md has
// broken its promise. A repair makes them equal, and what was durable must be
// the same whichever copy wins.
func (rc raidCase) equal(d *disk, l *Log, c Cut, k facts, r *result, about string) error {
	if v := md("resync_start"); v != "none" {
		return fmt.Errorf("the array is idle, and its resync after the cut is still to come (resync_start %s)", v)
	}
	n, err := scrub("check")
	if err != nil || n == "0" {
		return err
	}
	differ, sb, err := rc.differences(d)
	if err != nil {
		return fmt.Errorf("finding where the copies differ: %w", err)
	}
	waiting := limbo(l, c, d.part, func(p int) uint64 {
		return (rootSize + uint64(p-1)*diskSize) / sector // the root is disk 0
	})
	var broken []string
	for _, x := range differ {
		var group []span
		for _, m := range x.group {
			for _, w := range waiting[m+1] {
				if w.to > sb.DataOffset {
					group = append(group, span{max(w.from, sb.DataOffset) - sb.DataOffset, w.to - sb.DataOffset})
				}
			}
		}
		if len(promised([]span{x.span}, group)) > 0 {
			broken = append(broken, x.String())
		}
	}
	r.differed, r.about = n, fmt.Sprintf("%v; %s", differ, about)
	if r.asked && r.missing == 0 && !r.forced {
		return fmt.Errorf("the array was whole and was to be synced after the cut, and yet the copies differ: %v (%s)", differ, about)
	}
	if len(broken) > 0 && !r.forced {
		return fmt.Errorf("the copies differ where nothing was being written when the power went: %s (%s)", strings.Join(broken, ", "), about)
	}
	if _, err := scrub("repair"); err != nil {
		return err
	}
	if left, err := scrub("check"); err != nil || left != "0" {
		return fmt.Errorf("the copies differ in %s sectors after a repair (%v)", left, err)
	}
	if err := d.mount(array, dataDir, "ext4", 0); err != nil {
		return err
	}
	if err := intact(dataDir+"/records", k.written); err != nil {
		r.data = true
		return fmt.Errorf("after a repair: %w", err)
	}
	return nil
}
