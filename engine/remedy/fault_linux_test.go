package remedy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

func engineAt(t *testing.T, state string) *Engine {
	t.Helper()
	s, err := OpenStoreAt(state)
	if err != nil {
		t.Fatal(err)
	}
	return &Engine{Store: s, Machine: here{}, Who: "test", Log: func(l string) { t.Log(l) }}
}

// here is Linux with commands started on the calling thread, which has
// namespaces of its own.
type here struct{ machine.Linux }

func (h here) Ask(ctx context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	return h.Run(ctx, argv, limit)
}

func (here) Run(ctx context.Context, argv []string, _ time.Duration) (machine.Output, error) {
	if !strings.HasPrefix(argv[0], "/") {
		return machine.Output{}, errors.New("not an absolute path")
	}
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return machine.Output{Stdout: out, Stderr: ee.Stderr, Exit: ee.ExitCode()}, nil
	}
	return machine.Output{Stdout: out}, err
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(b)
}

// fill takes what room a file system has left, but for keep bytes.
func fill(t *testing.T, dir string, keep int64) {
	t.Helper()
	var st unix.Statfs_t
	must(t, "statfs", unix.Statfs(dir, &st))
	name := filepath.Join(dir, "ballast")
	os.Remove(name)
	f, err := os.Create(name)
	must(t, "ballast", err)
	defer f.Close()
	if n := int64(st.Bavail)*int64(st.Bsize) - keep; n > 0 {
		must(t, "ballast", unix.Fallocate(int(f.Fd()), 0, 0, n))
	}
}

// TestDiskFull: the second file finds no room; the first is put back, even
// though there is no room for a second copy of it either.
func TestDiskFull(t *testing.T) {
	privately(t)
	dir := tmpfs(t, "size=1m")
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	big := strings.Repeat("x", 300<<10)
	put(t, dir+"/a", big, 0o640)
	put(t, dir+"/b", "small\n", 0o644)
	fill(t, dir, 310<<10) // room for one more copy of a
	plan := Plan{Steps: []step.Step{
		step.File{Path: dir + "/a", Was: []byte(big), Content: []byte(strings.Repeat("y", 300<<10))},
		step.File{Path: dir + "/b", Was: []byte("small\n"), Content: []byte(strings.Repeat("z", 500<<10))},
	}}
	// What a's old content freed is taken away, so that nothing is left for
	// putting it back beside the new one.
	e.Machine = onRename{e.Machine, func() { fill(t, dir, 0) }}
	c, err := e.Apply(t.Context(), Head{Plan: plan}, nil)
	var rb *RolledBack
	if !errors.As(err, &rb) || !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("apply said %v, not that it was rolled back for want of room", err)
	}
	if c.Phase() != TakenBack || len(c.Left()) > 0 {
		t.Errorf("phase %s, left %v", c.Phase(), c.Left())
	}
	if read(t, dir+"/a") != big || read(t, dir+"/b") != "small\n" {
		t.Errorf("files are not as they were: a has %d bytes, b %q", len(read(t, dir+"/a")), read(t, dir+"/b"))
	}
	if left, _ := filepath.Glob(dir + "/.fettle*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// onRename does something after each file was put in its place.
type onRename struct {
	machine.Machine
	then func()
}

func (m onRename) Rename(a machine.Ref, b string) error {
	err := m.Machine.Rename(a, b)
	m.then()
	return err
}

// TestStoreFull: the journal's disk fills up between two steps. What was done
// is undone, with the room kept in reserve.
func TestStoreFull(t *testing.T) {
	privately(t)
	state, dir := tmpfs(t, "size=1m,mode=0755"), t.TempDir()
	e := engineAt(t, state+"/state")
	put(t, dir+"/a", "old a\n", 0o640)
	put(t, dir+"/b", "old b\n", 0o640)
	e.Machine = onRename{e.Machine, func() { fill(t, state, 0) }}
	plan := Plan{Steps: []step.Step{
		step.File{Path: dir + "/a", Was: []byte("old a\n"), Content: []byte("new\n")},
		step.File{Path: dir + "/b", Was: []byte("old b\n"), Content: []byte("new\n")},
	}}
	c, err := e.Apply(t.Context(), Head{Plan: plan}, nil)
	var rb *RolledBack
	if !errors.As(err, &rb) || !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("apply said %v, not that it was rolled back for want of room", err)
	}
	if read(t, dir+"/a") != "old a\n" || read(t, dir+"/b") != "old b\n" {
		t.Errorf("files are not as they were: a %q, b %q", read(t, dir+"/a"), read(t, dir+"/b"))
	}
	if c, err = e.Store.Change(c.ID); err != nil || c.Phase() != TakenBack {
		t.Errorf("the journal says %v %v, not that the change was rolled back", c, err)
	}
}

// TestStoreFullFirst: without room for the plan nothing is begun.
func TestStoreFullFirst(t *testing.T) {
	privately(t)
	state, dir := tmpfs(t, "size=256k,mode=0755"), t.TempDir()
	e := engineAt(t, state+"/state")
	fill(t, state, 8<<10)
	_, err := e.Apply(t.Context(), Head{Plan: Plan{Steps: []step.Step{step.File{Path: dir + "/a", Content: []byte("new\n")}}}}, nil)
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("apply said %v", err)
	}
	if _, err := os.Stat(dir + "/a"); err == nil {
		t.Error("the file was made although the plan could not be kept")
	}
	if ids, _ := e.Store.IDs(); len(ids) > 0 {
		t.Errorf("changes %v", ids)
	}
}

// TestReadOnly: the file system turns read-only between two steps, as it does
// on I/O errors. Nothing can be put back then; once it is writable, undo does.
func TestReadOnly(t *testing.T) {
	privately(t)
	dir := tmpfs(t, "")
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	put(t, dir+"/a", "old a\n", 0o640)
	put(t, dir+"/b", "old b\n", 0o640)
	remount := func(flags uintptr) { must(t, "remount", unix.Mount("", dir, "", unix.MS_REMOUNT|flags, "")) }
	e.Machine = onRename{e.Machine, func() { remount(unix.MS_RDONLY) }}
	plan := Plan{Steps: []step.Step{
		step.File{Path: dir + "/a", Was: []byte("old a\n"), Content: []byte("new\n")},
		step.File{Path: dir + "/b", Was: []byte("old b\n"), Content: []byte("new\n")},
	}}
	c, err := e.Apply(t.Context(), Head{Plan: plan}, nil)
	var inc *Incomplete
	if !errors.As(err, &inc) || !errors.Is(inc.Why, unix.EROFS) || !strings.Contains(err.Error(), "fettle undo "+c.ID) {
		t.Fatalf("apply said %v", err)
	}
	if _, err := e.Apply(t.Context(), Head{Plan: plan}, nil); !errors.As(err, new(*Unfinished)) {
		t.Errorf("the next apply said %v, not that a change stands half-way", err)
	}
	remount(0)
	e.Machine = machine.Linux{}
	if _, err := e.Undo(t.Context(), "", UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if read(t, dir+"/a") != "old a\n" || read(t, dir+"/b") != "old b\n" {
		t.Errorf("files are not as they were: a %q, b %q", read(t, dir+"/a"), read(t, dir+"/b"))
	}
}

// TestStillFound: a plan that does not help is taken back.
func TestStillFound(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	put(t, dir+"/a", "old\n", 0o640)
	asked := 0
	plan := Plan{Settle: 1e9, Steps: []step.Step{step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")}}}
	_, err := e.Apply(t.Context(), Head{Plan: plan}, func(context.Context) error {
		if asked++; asked > 50 {
			return nil // it would be asked for ever
		}
		return &StillFound{"it bites"}
	})
	var rb *RolledBack
	var still *StillFound
	if !errors.As(err, &rb) || !errors.As(err, &still) || read(t, dir+"/a") != "old\n" {
		t.Errorf("apply said %v, file says %q", err, read(t, dir+"/a"))
	}
	if asked < 3 {
		t.Errorf("the check was asked %d times in a second", asked)
	}
	// Could not look is not gone.
	_, err = e.Apply(t.Context(), Head{Plan: Plan{Steps: plan.Steps}}, func(context.Context) error { return errors.New("needs a wizard") })
	if !errors.As(err, &rb) || !strings.Contains(err.Error(), "could not be seen") || read(t, dir+"/a") != "old\n" {
		t.Errorf("apply said %v, file says %q", err, read(t, dir+"/a"))
	}
	// Interrupted is taken back too.
	ctx, cancel := context.WithCancel(t.Context())
	_, err = e.Apply(ctx, Head{Plan: plan}, func(context.Context) error { cancel(); return &StillFound{"it bites"} })
	if !errors.As(err, &rb) || !strings.Contains(err.Error(), "interrupted") || read(t, dir+"/a") != "old\n" {
		t.Errorf("apply said %v, file says %q", err, read(t, dir+"/a"))
	}
}

// tight is a disk without room for a journal's line while the reserve lies there. A lazy one finds that out at a sync
// alone, as one over the network does.
type tight struct {
	disk
	full, lazy bool
}

func (d *tight) WriteAt(name string, b []byte, off int64) error {
	if d.full && !d.lazy {
		return unix.ENOSPC
	}
	return d.disk.WriteAt(name, b, off)
}

func (d *tight) Sync(name string) error {
	if d.full && d.lazy && filepath.Base(name) == "journal.jsonl" {
		return unix.EDQUOT
	}
	return d.disk.Sync(name)
}

func (d *tight) Remove(name string) error {
	d.full = d.full && filepath.Base(name) != "reserve"
	return d.disk.Remove(name)
}

// TestReserve: the journal's last lines find room that was kept for them, and one whose sync failed is written again over
// itself.
func TestReserve(t *testing.T) {
	privately(t)
	for _, lazy := range []bool{false, true} {
		dir := t.TempDir()
		put(t, dir+"/a", "old\n", 0o640)
		e := engineAt(t, filepath.Join(t.TempDir(), "state"))
		d := &tight{disk: e.Store.disk, lazy: lazy}
		e.Store.disk = d
		e.Machine = onRename{e.Machine, func() { d.full = true }}
		applied(t, e, step.File{Path: dir + "/a", Was: []byte("old\n"), Content: []byte("new\n")})
		c, err := e.Store.Change("1")
		if err != nil || c.Phase() != Applied || d.full {
			t.Fatalf("lazy %v: %v %v, full %v", lazy, c, err, d.full)
		}
		var events []Event
		for _, r := range c.Records {
			events = append(events, r.Event)
		}
		if want := []Event{evBegin, evIntent, evDone, evApplied}; !slices.Equal(events, want) {
			t.Errorf("lazy %v: the journal tells of %v, want %v", lazy, events, want)
		}
	}
}
