package powercut

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/lab"
)

// filesCase is an experiment on the root alone: a plan with every kind of step
// that changes files is applied and undone, and the power is cut.
type filesCase struct{ cuts int }

const (
	etc     = rootDir + "/etc"
	applied = "applied"
	undone  = "undone"
)

// filesPlan is the plan; prepare makes what it changes.
func filesPlan() remedy.Plan {
	return remedy.Plan{Title: "every step that changes files", Steps: []step.Step{
		step.File{Path: etc + "/existing.conf", Content: []byte(strings.Repeat("new\n", 3000)), Was: []byte(strings.Repeat("old\n", 5000))},
		step.File{Path: etc + "/unit.d/fettle.conf", Content: []byte("[Service]\nNice=5\n"), Mode: 0o600},
		step.Perm{Path: etc + "/perm", Mode: 0o640, UID: 1000, GID: 4},
		step.ACL{
			Path:    etc + "/journal",
			Access:  "user::rwx,group::r-x,group:4:r-x,mask::r-x,other::r-x",
			Default: "user::rwx,group::r-x,group:4:r-x,mask::r-x,other::r-x",
		},
		step.Remove{Path: etc + "/away.conf", Was: []byte("away\n")},
	}}
}

func (filesCase) prepare(d *disk) error {
	if err := d.mapOn(d.loop, false); err != nil {
		return err
	}
	if err := d.makeRoot(); err != nil {
		return err
	}
	if err := os.MkdirAll(etc+"/journal", 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"existing.conf": strings.Repeat("old\n", 5000), "perm": "x\n", "away.conf": "away\n"} {
		name = filepath.Join(etc, name)
		if err := os.WriteFile(name, []byte(text), 0o604); err != nil {
			return err
		}
		if err := errors.Join(os.Chown(name, 1000, 4), os.Chmod(name, 0o604), unix.Setxattr(name, "user.note", []byte("kept"), 0)); err != nil {
			return err
		}
	}
	return d.close()
}

func (fc filesCase) run(ctx context.Context, b *lab.Bench) error {
	d, err := newDisk(b, 0)
	if err != nil {
		return err
	}
	if err := fc.prepare(d); err != nil {
		return errors.Join(err, d.close())
	}
	var was, mended world
	l, closeLog, err := d.recordWhile(func() error {
		if err := errors.Join(bootID("recorded"), d.mountRoot()); err != nil {
			return err
		}
		was, mended, err = fc.live(ctx, func(text string) error { return mark("recorded", text) })
		return err
	})
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	defer closeLog()
	return replayAll(ctx, b, d, l, fc.cuts, func(d *disk, l *Log, c Cut, n int, f *lie) result {
		r := result{resume: n%2 == 0}
		if r.err = fc.trial(ctx, d, l, c, n, &r, was, mended, f); r.err == nil {
			r.finished = true
		}
		return r
	}, filesLies)
}

// live applies the plan and undoes it, and marks what is done.
func (filesCase) live(ctx context.Context, mark func(text string) error) (was, mended world, err error) {
	if was, err = look(); err != nil {
		return nil, nil, err
	}
	e, err := engine()
	if err != nil {
		return nil, nil, err
	}
	defer e.Store.Close()
	if err := mark(begun); err != nil {
		return nil, nil, err
	}
	if _, err := e.Apply(ctx, remedy.Head{Trap: "files", Plan: filesPlan()}, nil); err != nil {
		return nil, nil, err
	}
	if err := mark(applied); err != nil {
		return nil, nil, err
	}
	if mended, err = look(); err != nil {
		return nil, nil, err
	}
	if err := mark(undoBegun); err != nil {
		return nil, nil, err
	}
	if _, err := e.Undo(ctx, "", remedy.UndoOptions{}); err != nil {
		return nil, nil, err
	}
	if err := mark(undone); err != nil {
		return nil, nil, err
	}
	if back, err := look(); err != nil || back.differs(was, true) != "" {
		return nil, nil, fmt.Errorf("an undo without a power cut differs: %s (%v)", back.differs(was, true), err)
	}
	return was, mended, mark(ended)
}

// filesLies are told of the root.
var filesLies = []lie{
	{"half a content", applied, mounted, halve(etc + "/existing.conf"), "neither its old content nor its new one"},
	{"a mode that is the old one", applied, mounted, func(*disk) error { return os.Chmod(etc+"/perm", 0o604) }, "it was said to be applied"},
	{
		"a new file that is gone",
		applied,
		mounted,
		func(*disk) error { return os.Remove(etc + "/unit.d/fettle.conf") },
		"it was said to be applied",
	},
	{"no journal", applied, mounted, func(*disk) error { return os.RemoveAll(state + "/changes") }, "no journal tells of what was changed"},
	{"half a content, undone", undone, mounted, halve(etc + "/existing.conf"), "neither its old content nor its new one"},
	{"a removed file that is gone", undone, mounted, func(*disk) error { return os.Remove(etc + "/away.conf") }, "it was said to be undone"},
	{"what is changed behind the undo", applied, ending, func(*disk) error { return os.Chmod(etc+"/perm", 0o600) }, "in the end"},
}

func halve(name string) func(*disk) error {
	return func(*disk) error {
		st, err := os.Stat(name)
		if err != nil {
			return err
		}
		return os.Truncate(name, st.Size()/2)
	}
}

func engine() (*remedy.Engine, error) {
	s, err := remedy.OpenStoreAt(state)
	return &remedy.Engine{Store: s, Machine: machine.New(), Who: "power cuts"}, err
}

// trial mounts the root as the cut left it, and resumes or undoes.
func (fc filesCase) trial(ctx context.Context, d *disk, l *Log, c Cut, n int, r *result, was, mended world, f *lie) error {
	if err := errors.Join(bootID(fmt.Sprint("trial-", n)), d.replay(l, c, false)); err != nil {
		return err
	}
	if err := d.mountRoot(); err != nil {
		r.lost = true
		return err
	}
	return fc.finish(ctx, d, factsAt(l, c).marks, r, was, mended, f)
}

// finish holds what is on the root against what had been said, and resumes or undoes.
func (filesCase) finish(ctx context.Context, d *disk, marks map[string]bool, r *result, was, mended world, f *lie) error {
	if err := f.at(mounted, d); err != nil {
		return err
	}
	now, err := look()
	if err != nil {
		return err
	}
	for name, f := range now {
		if f.sum != was[name].sum && f.sum != mended[name].sum && !strings.Contains(name, "/.fettle-") {
			r.data = true
			return fmt.Errorf("%s holds neither its old content nor its new one", name)
		}
	}
	e, err := engine()
	if err != nil {
		return err
	}
	defer e.Store.Close()
	phase := func() (remedy.Phase, error) {
		all, err := e.Store.Changes()
		if err != nil || len(all) == 0 {
			return "", err
		}
		return all[0].Phase(), nil
	}
	p, err := phase()
	switch {
	case err != nil:
		return err
	case p == "" && now.differs(was, true) != "":
		return fmt.Errorf("no journal tells of what was changed: %s", now.differs(was, true))
	case marks[applied] && !marks[undoBegun] && (p != remedy.Applied || now.differs(mended, true) != ""):
		return fmt.Errorf("it was said to be applied; it is %q, and differs: %s", p, now.differs(mended, true))
	case marks[undone] && (p != remedy.TakenBack || now.differs(was, true) != ""):
		return fmt.Errorf("it was said to be undone; it is %q, and differs: %s", p, now.differs(was, true))
	}
	want, times := was, true
	if r.resume {
		_, err = e.Resume(ctx, "", nil)
		if finish(p) == remedy.Applied {
			want, times = mended, false
		}
	} else if p != "" && p != remedy.TakenBack {
		_, err = e.Undo(ctx, "", remedy.UndoOptions{})
	}
	if err != nil {
		return err
	}
	if q, err := phase(); err != nil || r.resume && q != finish(p) || !r.resume && !finishUndo(q) {
		return fmt.Errorf("the change was %q, and is %q in the end (%v)", p, q, err)
	}
	if err := f.at(ending, d); err != nil {
		return err
	}
	if now, err = look(); err != nil {
		return err
	}
	if diff := now.differs(want, times); diff != "" {
		return fmt.Errorf("the change was %q; in the end %s", p, diff)
	}
	return nil
}

// world is what is below etc, by name.
type world map[string]file

// file is all that a plan may change of one.
type file struct {
	attributes string // mode, owner, extended attributes with the ACLs
	sum        string // of a regular file's content
	modified   int64
}

func look() (world, error) {
	w := world{}
	err := filepath.Walk(etc, func(name string, st os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		sys := st.Sys().(*syscall.Stat_t)
		f := file{attributes: fmt.Sprint(st.Mode(), sys.Uid, sys.Gid)}
		for _, a := range []string{"user.note", "system.posix_acl_access", "system.posix_acl_default"} {
			b := make([]byte, 1<<10)
			if n, err := unix.Lgetxattr(name, a, b); err == nil {
				f.attributes += " " + a + "=" + hex.EncodeToString(b[:n])
			}
		}
		if st.Mode().IsRegular() {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			s := sha256.Sum256(b)
			f.sum, f.modified = hex.EncodeToString(s[:]), st.ModTime().UnixNano()
		}
		w[name] = f
		return nil
	})
	return w, err
}

// differs says in what w is not like want; empty: in nothing.
func (w world) differs(want world, times bool) string {
	var out []string
	for name, f := range want {
		g, ok := w[name]
		if !times {
			g.modified = f.modified
		}
		if !ok {
			out = append(out, name+" is missing")
		} else if f != g {
			out = append(out, fmt.Sprintf("%s is %v, expected %v", name, g, f))
		}
	}
	for name := range w {
		if _, ok := want[name]; !ok {
			out = append(out, name+" is there")
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
