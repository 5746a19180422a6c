package remedy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/means"
)

// stackedPlans are two changes: "first" and "second" change one file, "beside"
// another.
func stackedPlan(name, root string) Plan {
	f, g := root+"/f", root+"/g"
	switch name {
	case "first":
		return Plan{Title: name, Steps: []step.Step{
			step.File{Path: f, Was: []byte("0\n"), Content: []byte("1\n")},
			step.File{Path: root + "/new/h", Content: []byte("1\n")},
			step.Perm{Path: f, Mode: 0o600, UID: -1, GID: -1},
		}}
	case "second": // on top of the first
		return Plan{Title: name, Steps: []step.Step{
			step.File{Path: f, Was: []byte("1\n"), Content: []byte("2\n")},
			step.File{Path: g, Was: []byte("0\n"), Content: []byte("2\n")},
			step.Remove{Path: root + "/new/h", Was: []byte("1\n")},
		}}
	}
	return Plan{
		Title: "beside",
		Steps: []step.Step{step.File{Path: g, Was: []byte("0\n"), Content: []byte("2\n")}, step.Perm{Path: g, Mode: 0o600, UID: -1, GID: -1}},
	}
}

// stack is a small world with its store, and what stands in it by name.
type stack struct {
	t           *testing.T
	root, state string
	store       *Store
}

func newStack(t *testing.T) *stack {
	privately(t)
	s := &stack{t: t, root: filepath.Join(tmpfs(t, "mode=0755"), "r"), state: filepath.Join(tmpfs(t, "mode=0755"), "state")}
	put(t, s.root+"/f", "0\n", 0o644)
	put(t, s.root+"/g", "0\n", 0o644)
	var err error
	s.store, err = OpenStoreAt(s.state)
	must(t, "store", err)
	return s
}

// now is the tree, without /proc and links.
func (s *stack) now() map[string]string {
	w := world(s.t, s.root, false)
	for k := range w {
		if len(k) < len(s.root) || k[:len(s.root)] != s.root {
			delete(w, k)
		}
	}
	return w
}

// do does one thing; a kill before its end is no failure.
func (s *stack) do(op, plan, id string, kill int) (points []string, killed bool) {
	s.t.Helper()
	return runChild(
		s.t,
		fmt.Sprintf("%s %s%s, kill %d", op, plan, id, kill),
		crashSpec{State: s.state, Root: s.root, Op: op, Plan: plan, ID: id, Kill: kill},
	)
}

// unconfirmed makes a change one that waits for a confirming that is overdue.
func (s *stack) unconfirmed(id string) {
	s.t.Helper()
	c, err := s.store.Change(id)
	must(s.t, "change", err)
	boot, err := machine.Linux{}.BootID()
	must(s.t, "boot", err)
	must(s.t, "armed", c.append(Record{Event: evArmed, Boot: boot, Deadline: time.Now().Add(-time.Second).UTC()}))
}

// each kills an operation at each of its points. before leads to where it
// begins, after is told what was killed.
func (s *stack) each(op, plan, id string, before, after func()) {
	s.t.Helper()
	before()
	points, _ := s.do(op, plan, id, 0)
	after()
	tried := 0
	for i := range points {
		if sameInstant(points, i) || s.t.Failed() {
			continue
		}
		before()
		if _, killed := s.do(op, plan, id, i+1); !killed {
			s.t.Fatalf("%s was not killed at %d, %s", op, i+1, points[i])
		}
		if i%3 == 0 {
			tear(s.t, s.store)
		}
		after()
		tried++
	}
	if tried < 20 {
		s.t.Errorf("only %d points of %s %s were tried: %q", tried, op, plan, points)
	}
}

// Changes that lie on one another are taken back one by one, wherever fettle
// was killed.
func TestCrashesOfStackedChanges(t *testing.T) {
	means.Short(t, "takes seconds")
	s := newStack(t)
	was := s.now()
	begin := func() { // the first change alone
		forget(t, s.store)
		s.do("apply", "first", "", 0)
	}
	begin()
	first := s.now()
	s.do("undo", "", "", 0)
	same(t, "first undone", was, s.now())

	s.each("apply", "second", "", begin, func() {
		t.Helper()
		s.do("resume", "", "", 0)
		s.do("undo", "", "0002", 0) // nothing, where the kill came before it began
		same(t, "second killed, resumed, undone", first, s.now())
		s.do("undo", "", "0001", 0)
		same(t, "all undone", was, s.now())
	})
	s.each("undo", "", "0002", func() { begin(); s.do("apply", "second", "", 0) }, func() {
		t.Helper()
		s.do("undo", "", "0002", 0)
		same(t, "undo of the second killed, undone again", first, s.now())
		s.do("undo", "", "0001", 0)
		same(t, "all undone", was, s.now())
	})

	// The one below is not undone under the other.
	begin()
	s.do("apply", "second", "", 0)
	both := s.now()
	e := &Engine{Store: s.store, Machine: machine.Linux{}}
	var conflicts *Conflicts
	if _, err := e.Undo(t.Context(), "0001", UndoOptions{}); !errors.As(err, &conflicts) || conflicts.List[0].Later != "0002" {
		t.Errorf("the first of two: %v", err)
	}
	same(t, "nothing undone", both, s.now())
}

// A change that nobody confirms is taken back wherever its guard was killed, and
// what other changes did stays.
func TestCrashesOfUnconfirmedChanges(t *testing.T) {
	means.Short(t, "takes seconds")
	s := newStack(t)
	was := s.now()
	s.do("apply", "first", "", 0)
	first := s.now()

	// The later of two on one file.
	s.each("expire", "", "0002", func() {
		forget(t, s.store)
		restore(t, s.root)
		s.do("apply", "first", "", 0)
		s.do("apply", "second", "", 0)
		s.unconfirmed("0002")
	}, func() {
		t.Helper()
		s.do("expire", "", "0002", 0)
		same(t, "the second expired", first, s.now())
		s.do("undo", "", "0001", 0)
		same(t, "all undone", was, s.now())
	})

	// The earlier of two on two files; the later one is confirmed, or needs none.
	beside := map[string]string{}
	s.each("expire", "", "0001", func() {
		forget(t, s.store)
		restore(t, s.root)
		s.do("apply", "beside", "", 0)
		beside = s.now()
		forget(t, s.store)
		restore(t, s.root)
		s.do("apply", "first", "", 0)
		s.unconfirmed("0001")
		s.do("apply", "beside", "", 0)
	}, func() {
		t.Helper()
		s.do("expire", "", "0001", 0)
		same(t, "the first expired", beside, s.now())
		s.do("undo", "", "0002", 0)
		same(t, "all undone", was, s.now())
	})

	// On what waits to be confirmed nothing is put.
	forget(t, s.store)
	s.do("apply", "first", "", 0)
	s.unconfirmed("0001")
	e := &Engine{Store: s.store, Machine: machine.Linux{}}
	var waits *Unconfirmed
	_, err := e.Apply(t.Context(), Head{Plan: stackedPlan("second", s.root)}, nil)
	if !errors.As(err, &waits) || waits.ID != "0001" || waits.Path != s.root+"/f" {
		t.Errorf("on top of what waits: %v", err)
	}
	same(t, "refused", first, s.now())
	if _, err := e.Confirm(t.Context(), "0001"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Apply(t.Context(), Head{Plan: stackedPlan("second", s.root)}, nil); err != nil {
		t.Errorf("on top of what is confirmed: %v", err)
	}
}

// restore makes the files of a stack what they were.
func restore(t *testing.T, root string) {
	t.Helper()
	put(t, root+"/f", "0\n", 0o644)
	put(t, root+"/g", "0\n", 0o644)
	must(t, "new", os.RemoveAll(root+"/new"))
}
