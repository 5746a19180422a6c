package remedy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/internal/shell"
)

// The crash matrix: a child applies a plan that holds every kind of step and
// is ended by SIGKILL before, after, and where it can be midway of, every
// single act on the machine and every write to the store. Then resume must
// finish, and undo must lead back byte for byte.

const childEnv = "FETTLE_TEST_CRASH"

func TestMain(m *testing.M) {
	if dir := os.Getenv(movedEnv); dir != "" {
		os.Exit(movedChild(dir))
	}
	if spec := os.Getenv(childEnv); spec != "" {
		os.Exit(crashChild(spec))
	}
	if len(os.Args) > 1 && os.Args[1] == "undo" {
		os.Exit(1) // started as a guard, which this program cannot be: it would run all tests
	}
	os.Exit(m.Run())
}

type crashSpec struct {
	State, Root string
	Op          string // apply, undo, resume, expire
	Plan        string // of stackedPlan; empty is crashPlan
	ID          string // to undo or expire; empty is the last
	Kill        int    // at which point to die; 0 counts them
}

// killer dies at its kill-th point.
type killer struct {
	machine.Machine
	at, kill int
	names    []string
	before   func(n int)       // called ahead of the nth act
	after    func(name string) // called after each act that did not fail
	acts     int
}

func die() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (k *killer) here(name string) bool {
	k.at++
	k.names = append(k.names, name)
	return k.at == k.kill
}

func (k *killer) point(name string) {
	if k.here(name) {
		die()
	}
}

// around is one act: a point before it, one midway where half is given, and
// one after it.
func (k *killer) around(name string, half, act func() error) error {
	if k.acts++; k.before != nil {
		k.before(k.acts)
	}
	k.point("before " + name)
	if half != nil && k.here("midway "+name) {
		half()
		die()
	}
	err := act()
	if k.after != nil && err == nil {
		k.after(name)
	}
	k.point("after " + name)
	return err
}

func (k *killer) Mkdir(p string, mode uint32) error {
	return k.around("mkdir "+p, nil, func() error { return k.Machine.Mkdir(p, mode) })
}
func (k *killer) Rmdir(p string) error {
	return k.around("rmdir "+p, nil, func() error { return k.Machine.Rmdir(p) })
}
func (k *killer) Create(p string, b []byte) (id machine.ID, err error) {
	k.around("create "+p, func() error { _, err := k.Machine.Create(p, b[:len(b)/2]); return err },
		func() error { id, err = k.Machine.Create(p, b); return err })
	return id, err
}
func (k *killer) Overwrite(f machine.Ref, b []byte) error {
	return k.around(
		"overwrite "+f.Path,
		func() error { return k.Machine.Overwrite(f, b[:len(b)/2]) },
		func() error { return k.Machine.Overwrite(f, b) },
	)
}
func (k *killer) Unlink(f machine.Ref) error {
	return k.around("unlink "+f.Path, nil, func() error { return k.Machine.Unlink(f) })
}
func (k *killer) Rename(f machine.Ref, q string) error {
	return k.around("rename "+f.Path, nil, func() error { return k.Machine.Rename(f, q) })
}
func (k *killer) Chown(f machine.Ref, u, g uint32) error {
	return k.around("chown "+f.Path, nil, func() error { return k.Machine.Chown(f, u, g) })
}
func (k *killer) Chmod(f machine.Ref, m uint32) error {
	return k.around("chmod "+f.Path, nil, func() error { return k.Machine.Chmod(f, m) })
}
func (k *killer) SetXattr(f machine.Ref, n string, v []byte) error {
	return k.around("setxattr "+f.Path, nil, func() error { return k.Machine.SetXattr(f, n, v) })
}
func (k *killer) RemoveXattr(f machine.Ref, n string) error {
	return k.around("removexattr "+f.Path, nil, func() error { return k.Machine.RemoveXattr(f, n) })
}
func (k *killer) SetModTime(f machine.Ref, ns int64) error {
	return k.around("utime "+f.Path, nil, func() error { return k.Machine.SetModTime(f, ns) })
}
func (k *killer) Sync(f machine.Ref) error {
	return k.around("sync "+f.Path, nil, func() error { return k.Machine.Sync(f) })
}
func (k *killer) WriteValue(p, v string) error {
	return k.around("value "+p, nil, func() error { return k.Machine.WriteValue(p, v) })
}
func (k *killer) CopyOpen(ctx context.Context, f machine.OpenFile, to string) error {
	return k.around("copy "+to, nil, func() error { return k.Machine.CopyOpen(ctx, f, to) })
}
func (k *killer) SetMTU(i, mtu int) error {
	return k.around("mtu", nil, func() error { return k.Machine.SetMTU(i, mtu) })
}
func (k *killer) Solicit(ctx context.Context, l string) error {
	return k.around("solicit", nil, func() error { return k.Machine.Solicit(ctx, l) })
}
func (k *killer) Run(ctx context.Context, argv []string, limit time.Duration) (out machine.Output, err error) {
	k.around("run "+shell.Join(argv), nil, func() error { out, err = k.Ask(ctx, argv, limit); return err })
	return out, err
}

// Ask answers for systemctl, which has no systemd to talk to where tests run:
// a unit's state is a file, and what a reload reads is copied.
func (k *killer) Ask(ctx context.Context, argv []string, limit time.Duration) (machine.Output, error) {
	bin, _ := k.Systemctl()
	if argv[0] != bin {
		return k.Machine.Ask(ctx, argv, limit)
	}
	state := func(suffix string) string { return filepath.Join(filepath.Dir(bin), argv[2]+suffix) }
	word := func(suffix, yes, no string) (machine.Output, error) {
		if _, err := os.Stat(state(suffix)); err == nil {
			return machine.Output{Stdout: []byte(yes + "\n")}, nil
		}
		return machine.Output{Stdout: []byte(no + "\n"), Exit: 3}, nil
	}
	switch argv[1] {
	case "is-enabled":
		return word(".enabled", "enabled", "disabled")
	case "is-active":
		return word(".active", "active", "inactive")
	case "enable":
		return machine.Output{}, os.WriteFile(state(".enabled"), nil, 0o644)
	case "disable":
		return machine.Output{}, os.Remove(state(".enabled"))
	case "start":
		return machine.Output{}, os.WriteFile(state(".active"), nil, 0o644)
	case "stop":
		return machine.Output{}, os.Remove(state(".active"))
	case "reload":
		b, err := os.ReadFile(filepath.Join(filepath.Dir(bin), "../etc/existing.conf"))
		if err == nil {
			err = os.WriteFile(filepath.Join(filepath.Dir(bin), "loaded"), b, 0o644)
		}
		return machine.Output{}, err
	}
	return machine.Output{Exit: 1}, nil
}

// crashChild does one operation and, without a kill, prints its points.
func crashChild(text string) int {
	var spec crashSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	names, err := operate(spec, crashMachine(spec.Root), func(l string) { fmt.Fprintln(os.Stderr, l) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Println(strings.Join(names, "\n"))
	return 0
}

// operate does one operation, with nothing known but what the disk holds.
func operate(spec crashSpec, m machine.Machine, log func(string)) (points []string, err error) {
	store, err := OpenStoreAt(spec.State)
	if err != nil {
		return nil, err
	}
	k := &killer{Machine: m, kill: spec.Kill}
	store.hook = k.point
	e := &Engine{Store: store, Machine: k, Who: "test child", Log: log}
	switch spec.Op {
	case "apply":
		p := crashPlan(spec.Root)
		if spec.Plan != "" {
			p = stackedPlan(spec.Plan, spec.Root)
		}
		_, err = e.Apply(context.Background(), Head{Trap: "every-step", Plan: p}, func(context.Context) error { return nil })
	case "undo":
		var c *Change
		if c, err = e.Undo(context.Background(), spec.ID, UndoOptions{}); errors.Is(err, ErrTakenBack) || errors.Is(err, ErrNoChange) {
			return []string{"nothing to undo"}, nil
		}
		if c != nil && len(c.Left()) > 0 {
			err = fmt.Errorf("undo left %v", c.Left())
		}
	case "expire":
		err = e.UndoUnconfirmed(context.Background(), spec.ID, time.Time{}, false, func() {})
	case "resume":
		var c *Change
		if c, err = e.Resume(context.Background(), "", nil); err == nil && c == nil {
			return []string{"nothing to resume"}, nil
		}
	}
	return k.names, err
}

func runChild(t *testing.T, where string, spec crashSpec) (points []string, killed bool) {
	t.Helper()
	b, _ := json.Marshal(spec)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{childEnv + "=" + string(b), "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "GORACE=" + os.Getenv("GORACE")}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var ee *exec.ExitError
	if errors.As(err, &ee) && ee.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return nil, true
	}
	if err != nil {
		t.Fatalf("%s: child %s: %v\n%s", where, b, err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), false
}

func TestCrashMatrix(t *testing.T) {
	const workers = 2 // each with a world of its own, and every other point
	for w := range workers {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			crashMatrix(t, w, workers)
		})
	}
}

func crashMatrix(t *testing.T, worker, workers int) {
	root, state := crashWorld(t)
	store, err := OpenStoreAt(state)
	if err != nil {
		t.Fatal(err)
	}
	was := world(t, root, true)
	// What is not to be killed needs no process of its own, which takes longer
	// to start than what it does. One in eight has one all the same.
	done := 0
	do := func(where, op string) (nothing bool) {
		t.Helper()
		forked()
		spec := crashSpec{State: state, Root: root, Op: op}
		if done++; done%8 == 0 {
			names, _ := runChild(t, where, spec)
			return slices.Equal(names, []string{"nothing to resume"})
		}
		var said []string
		names, err := operate(spec, here{machine.Linux{SystemctlPath: root + "/bin/systemctl"}}, func(l string) { said = append(said, l) })
		if err != nil {
			t.Fatalf("%s: %s: %v\n%s", where, op, err, strings.Join(said, "\n"))
		}
		return slices.Equal(names, []string{"nothing to resume"})
	}

	// Count the points, see the plan's effect, and that undo leads back.
	points, _ := runChild(t, "apply", crashSpec{State: state, Root: root, Op: "apply"})
	mended := world(t, root, true)
	if d := diffWorlds(was, mended); len(d) < len(crashPlan(root).Steps) {
		t.Fatalf("the plan changed only:\n%s", strings.Join(d, "\n"))
	}
	undoPoints, _ := runChild(t, "undo", crashSpec{State: state, Root: root, Op: "undo"})
	same(t, "after an undisturbed undo", was, world(t, root, true))

	began := time.Now()
	kill := func(where string, spec crashSpec) {
		t.Helper()
		forked()
		if _, killed := runChild(t, where, spec); !killed {
			t.Fatalf("%s: the child was not killed", where)
		}
	}
	tried := 0
	mine := func(points []string, i int) bool {
		if sameInstant(points, i) {
			return false
		}
		if tried++; testing.Short() && tried/workers%8 > 0 { // an eighth, between two edits
			return false
		}
		return tried%workers == worker
	}
	for i, name := range points {
		if t.Failed() {
			return
		}
		if !mine(points, i) {
			continue
		}
		forget(t, store)
		spec := crashSpec{State: state, Root: root, Op: "apply", Kill: i + 1}
		where := fmt.Sprintf("killed at %d, %s", i+1, name)
		kill(where, spec)
		if i/workers%3 == 0 {
			tear(t, store)
		}
		// Nothing is to be resumed where the kill came before the change
		// began, or after it was finished.
		if !do(where+", resume", "resume") {
			same(t, where+", resumed", mended, world(t, root, i/workers%8 == 0))
		}
		do(where+", resumed, undo", "undo")
		same(t, where+", resumed, undone", was, world(t, root, i/workers%8 == 0))

		kill(where, spec)
		if i/workers%3 == 1 {
			tear(t, store)
		}
		do(where+", undo", "undo")
		same(t, where+", undone", was, world(t, root, i/workers%8 == 0))
	}
	for i, name := range undoPoints {
		if t.Failed() {
			return
		}
		if !mine(undoPoints, i) {
			continue
		}
		forget(t, store)
		where := fmt.Sprintf("undo killed at %d, %s", i+1, name)
		do(where+", apply", "apply")
		kill(where, crashSpec{State: state, Root: root, Op: "undo", Kill: i + 1})
		if i/workers%2 == 0 {
			tear(t, store)
		}
		if do(where+", resume", "resume") { // killed before the undo began, or after it was finished
			do(where+", undo", "undo")
		}
		same(t, where+", resumed", was, world(t, root, i/workers%8 == 0))
	}
	t.Logf(
		"%d points while applying, %d while undoing, %d distinct, of which this worker tried every %d. in %s",
		len(points),
		len(undoPoints),
		tried,
		workers,
		time.Since(began).Round(time.Millisecond),
	)
}

// forked waits until what the other worker starts has become another program:
// until then it has a copy of our lock.
func forked() {
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
}

// sameInstant tells of a point before an act that comes right after the point
// after another: nothing has changed in between, so one kill stands for both.
// FETTLE_LONG=1 tries both (make lab-long).
func sameInstant(points []string, i int) bool {
	return os.Getenv("FETTLE_LONG") == "" && i > 0 && strings.HasPrefix(points[i], "before ") && strings.HasPrefix(points[i-1], "after ")
}

// tear leaves half a line at the end of the last journal, as a power cut does.
func tear(t *testing.T, s *Store) {
	t.Helper()
	ids, _ := s.IDs()
	if len(ids) == 0 {
		return
	}
	name := filepath.Join(s.folder(ids[len(ids)-1]), "journal.jsonl")
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"event":"taken-ba`); err != nil {
		t.Fatal(err)
	}
}

// forget empties the store, so that a long test does not read ever more journals.
func forget(t *testing.T, s *Store) {
	t.Helper()
	ids, _ := s.IDs()
	for _, id := range ids {
		if err := os.RemoveAll(s.folder(id)); err != nil {
			t.Fatal(err)
		}
	}
}
