package remedy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// faults lets one call of a machine or of a store's disk fail.
type faults struct {
	calls, at int // from 1; 0: none
	failed    string
	began     bool // a change is made, or resumed
	early     bool // it failed before that
}

func (f *faults) hit(call string) error {
	if f.calls++; f.calls == f.at {
		f.failed, f.early = call, !f.began
		return errBroken
	}
	return nil
}

// do is one call that may fail.
func do[T any](f *faults, call string, act func() (T, error)) (out T, err error) {
	if err := f.hit(call); err != nil {
		return out, err
	}
	f.began = f.began || strings.HasPrefix(call, "store mkdir") || strings.HasPrefix(call, "store append")
	return act()
}

func (f *faults) act(call string, act func() error) error {
	_, err := do(f, call, func() (struct{}, error) { return struct{}{}, act() })
	return err
}

type faultyMachine struct {
	machine.Machine
	f *faults
}

func (m faultyMachine) BootID() (string, error) { return do(m.f, "boot id", m.Machine.BootID) }
func (m faultyMachine) Resolve(p string) (string, error) {
	return do(m.f, "resolve "+p, func() (string, error) { return m.Machine.Resolve(p) })
}
func (m faultyMachine) Look(p string, content bool) (machine.Image, error) {
	return do(m.f, "look "+p, func() (machine.Image, error) { return m.Machine.Look(p, content) })
}
func (m faultyMachine) List(p string) ([]string, error) {
	return do(m.f, "list "+p, func() ([]string, error) { return m.Machine.List(p) })
}
func (m faultyMachine) Ask(ctx context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	return do(m.f, "ask "+argv[0], func() (machine.Output, error) { return m.Machine.Ask(ctx, argv, limit) })
}
func (m faultyMachine) Run(ctx context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	return do(m.f, "run "+argv[0], func() (machine.Output, error) { return m.Machine.Run(ctx, argv, limit) })
}
func (m faultyMachine) Create(p string, b []byte) (machine.ID, error) {
	return do(m.f, "create "+p, func() (machine.ID, error) { return m.Machine.Create(p, b) })
}
func (m faultyMachine) Mkdir(p string, mode uint32) error {
	return m.f.act("mkdir "+p, func() error { return m.Machine.Mkdir(p, mode) })
}
func (m faultyMachine) Rmdir(p string) error {
	return m.f.act("rmdir "+p, func() error { return m.Machine.Rmdir(p) })
}
func (m faultyMachine) Unlink(r machine.Ref) error {
	return m.f.act("unlink "+r.Path, func() error { return m.Machine.Unlink(r) })
}
func (m faultyMachine) Rename(r machine.Ref, to string) error {
	return m.f.act("rename "+r.Path, func() error { return m.Machine.Rename(r, to) })
}
func (m faultyMachine) Chmod(r machine.Ref, mode uint32) error {
	return m.f.act("chmod "+r.Path, func() error { return m.Machine.Chmod(r, mode) })
}
func (m faultyMachine) Sync(r machine.Ref) error {
	return m.f.act("sync "+r.Path, func() error { return m.Machine.Sync(r) })
}

type faultyDisk struct {
	disk
	f *faults
}

func (d faultyDisk) Mkdir(n string) error {
	return d.f.act("store mkdir "+n, func() error { return d.disk.Mkdir(n) })
}
func (d faultyDisk) Write(n string, b []byte) error {
	return d.f.act("store write "+n, func() error { return d.disk.Write(n, b) })
}
func (d faultyDisk) WriteAt(n string, b []byte, off int64) error {
	return d.f.act("store append "+n, func() error { return d.disk.WriteAt(n, b, off) })
}
func (d faultyDisk) Rename(a, b string) error {
	return d.f.act("store rename "+a, func() error { return d.disk.Rename(a, b) })
}
func (d faultyDisk) Remove(n string) error {
	return d.f.act("store remove "+n, func() error { return d.disk.Remove(n) })
}
func (d faultyDisk) RemoveAll(n string) error {
	return d.f.act("store removeall "+n, func() error { return d.disk.RemoveAll(n) })
}
func (d faultyDisk) Sync(n string) error {
	return d.f.act("store sync "+n, func() error { return d.disk.Sync(n) })
}
func (d faultyDisk) Read(n string) ([]byte, error) {
	return do(d.f, "store read "+n, func() ([]byte, error) { return d.disk.Read(n) })
}
func (d faultyDisk) List(n string) ([]string, error) {
	return do(d.f, "store list "+n, func() ([]string, error) { return d.disk.List(n) })
}

// faultWorld is a small host on which each fault is tried.
type faultWorld struct {
	t           *testing.T
	dir         string
	mended, old map[string]string
}

func (w *faultWorld) plan() Plan {
	return Plan{Title: "mend", Steps: []step.Step{
		step.File{Path: w.dir + "/h/a", Was: []byte("old\n"), Content: []byte("new\n")},
		step.File{Path: w.dir + "/h/n/b", Content: []byte("new\n")},
		step.Perm{Path: w.dir + "/h/a", Mode: 0o600, UID: -1, GID: -1},
		step.Remove{Path: w.dir + "/h/gone", Was: []byte("gone\n")},
		step.Check{Run: []string{"/bin/check"}},
		step.Command{Do: []string{"/bin/do"}, Undo: []string{"/bin/undo"}, Probe: []string{"/bin/probe"}},
	}}
}

// fresh makes host and store as they were.
func (w *faultWorld) fresh() {
	must(w.t, "old host", errors.Join(os.RemoveAll(w.dir+"/h"), os.RemoveAll(w.dir+"/state")))
	put(w.t, w.dir+"/h/a", "old\n", 0o640)
	put(w.t, w.dir+"/h/gone", "gone\n", 0o644)
}

func (w *faultWorld) engine(at int) (*Engine, *faults) {
	w.t.Helper()
	s, err := OpenStoreAt(w.dir + "/state")
	must(w.t, "store", err)
	f := &faults{at: at}
	s.disk = faultyDisk{s.disk, f}
	return &Engine{Store: s, Machine: faultyMachine{doer{file: w.dir + "/h/done"}, f}, Log: func(string) {}}, f
}

// doer has a command that makes a file, one that removes it, and one that tells whether it is there.
type doer struct {
	machine.Linux
	file string
}

func (m doer) Ask(ctx context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	return m.Run(ctx, argv, limit)
}

func (m doer) Run(_ context.Context, argv []string, _ time.Duration) (machine.Output, error) {
	switch argv[0] {
	case "/bin/do":
		return machine.Output{}, os.WriteFile(m.file, nil, 0o644)
	case "/bin/undo":
		return machine.Output{}, os.Remove(m.file)
	case "/bin/probe":
		_, err := os.Stat(m.file)
		return machine.Output{Exit: map[bool]int{true: 0, false: 1}[err == nil]}, nil
	}
	return machine.Output{}, nil
}

func (w *faultWorld) now() map[string]string {
	out := map[string]string{}
	must(w.t, "walk", filepath.WalkDir(w.dir+"/h", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := d.Info()
		if err == nil {
			out[p] = i.Mode().String()
			if i.Mode().IsRegular() {
				out[p] += " " + read(w.t, p)
			}
		}
		return err
	}))
	return out
}

func newFaultWorld(t *testing.T) *faultWorld {
	privately(t)
	w := &faultWorld{t: t, dir: tmpfs(t, "mode=0755")}
	w.fresh()
	w.old = w.now()
	e, _ := w.engine(0)
	if _, err := e.Apply(t.Context(), Head{Plan: w.plan()}, nil); err != nil {
		t.Fatal(err)
	}
	w.mended = w.now()
	return w
}

// is tells whether the host is as it was, or mended.
func (w *faultWorld) is(what string, want map[string]string) {
	w.t.Helper()
	if got := w.now(); !maps.Equal(got, want) {
		w.t.Errorf("%s: the host is\n%v\nnot\n%v", what, got, want)
	}
}

// told tells whether a failure reached the caller, but for those calls whose failure does no harm: looks ahead of
// the first change, which are repeated, and what is swept away.
func (w *faultWorld) told(what string, f *faults, err error) {
	w.t.Helper()
	for _, h := range []string{"store remove nothing-mended.json", "store remove changes/0001/reserve", "store remove changes/0001/fettle",
		"store removeall changes/.new-", "store list changes"} {
		if strings.HasPrefix(f.failed, h) && err == nil {
			return
		}
	}
	if f.early && err == nil && (strings.HasPrefix(f.failed, "resolve") || strings.HasPrefix(f.failed, "look")) {
		return
	}
	if err == nil || !strings.Contains(err.Error(), "broken") {
		w.t.Errorf("%s: when %q failed, it said %v", what, f.failed, err)
	}
}

// TestEveryFaultOfApply: whichever call fails, apply says so; the host is as it was, or is after an undo.
func TestEveryFaultOfApply(t *testing.T) {
	w := newFaultWorld(t)
	for i := 1; ; i++ {
		w.fresh()
		e, f := w.engine(i)
		_, err := e.Apply(t.Context(), Head{Plan: w.plan()}, nil)
		if f.failed == "" {
			if i < 100 {
				t.Errorf("only %d calls", i)
			}
			return
		}
		w.told("apply", f, err)
		if err == nil {
			w.is("applied although "+f.failed+" failed", w.mended)
			continue
		}
		if errors.As(err, new(*RolledBack)) {
			w.is("rolled back, "+f.failed+" failed", w.old)
		}
		e, _ = w.engine(0)
		if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil {
			t.Errorf("undo after %q failed: %v", f.failed, err)
		}
		w.is("undone after "+f.failed+" failed", w.old)
	}
}

// TestEveryFaultOfUndo: whichever call fails, undo says so, and a second one leads back.
func TestEveryFaultOfUndo(t *testing.T) {
	w := newFaultWorld(t)
	for i := 1; ; i++ {
		e, f := w.engine(i)
		_, err := e.PreviewUndo(t.Context(), "1", UndoOptions{})
		if f.failed == "" {
			must(t, "preview", err)
			break
		}
		w.told("preview", f, err)
		w.is("previewed", w.mended)
	}
	for i := 1; ; i++ {
		w.fresh()
		e, _ := w.engine(0)
		if _, err := e.Apply(t.Context(), Head{Plan: w.plan()}, nil); err != nil {
			t.Fatal(err)
		}
		e, f := w.engine(i)
		_, err := e.Undo(t.Context(), "1", UndoOptions{})
		if f.failed == "" {
			if i < 60 {
				t.Errorf("only %d calls", i)
			}
			return
		}
		w.told("undo", f, err)
		e, _ = w.engine(0)
		if _, err := e.Undo(t.Context(), "1", UndoOptions{}); err != nil && !errors.Is(err, ErrTakenBack) {
			t.Errorf("second undo after %q failed: %v", f.failed, err)
		}
		w.is("undone after "+f.failed+" failed", w.old)
	}
}

// TestEveryFaultOfResume: a change that was cut off anywhere is resumed; whichever call fails, resume says so, and
// an undo leads back.
func TestEveryFaultOfResume(t *testing.T) {
	w := newFaultWorld(t)
	for _, cut := range []string{"after journal intent 1", "after journal done 2", "before journal done 5"} {
		for i := 1; ; i++ {
			w.fresh()
			w.cutOff(cut)
			e, f := w.engine(i)
			_, err := e.Resume(t.Context(), "1", nil)
			if f.failed == "" {
				if err != nil {
					t.Errorf("cut off %s, resumed: %v", cut, err)
				}
				w.is("resumed", w.mended)
				break
			}
			if !(f.early && f.failed == "boot id" && err == nil) { // it was not armed, and does not depend on the boot
				w.told(fmt.Sprintf("cut off %s, resume", cut), f, err)
			}
			if err == nil {
				w.is("resumed although "+f.failed+" failed", w.mended)
			}
			e, _ = w.engine(0)
			if _, err := e.Undo(t.Context(), "1", UndoOptions{}); err != nil && !errors.Is(err, ErrTakenBack) {
				t.Errorf("undo after %q failed: %v", f.failed, err)
			}
			w.is("undone after "+f.failed+" failed", w.old)
		}
	}
}

// cutOff applies the plan until a point of the journal.
func (w *faultWorld) cutOff(point string) {
	e, _ := w.engine(0)
	e.Store.hook = func(p string) {
		if p == point {
			panic(point)
		}
	}
	defer func() {
		if r := recover(); r != point {
			w.t.Fatalf("not cut off: %v", r)
		}
	}()
	e.Apply(w.t.Context(), Head{Plan: w.plan()}, nil)
}
