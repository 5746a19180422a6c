package remedy

import (
	"os"
	"path/filepath"
	"testing"

	"fettle/remedy/machine"
	"fettle/remedy/step"
)

// A command that works up what the other steps wrote runs once more when they
// are put back, in another boot too; and again after it was cut off.
func TestCommandAgain(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	boot := dir + "/boot_id"
	put(t, boot, "first\n", 0o600)
	put(t, dir+"/source", "old\n", 0o644)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	e.Machine = here{machine.Linux{BootIDFile: boot}}
	steps := []step.Step{
		step.File{Path: dir + "/source", Was: []byte("old\n"), Content: []byte("new\n")},
		step.Command{Do: []string{"/usr/bin/cp", dir + "/source", dir + "/worked-up"}, Again: true},
	}
	for name, undo := range map[string]func(){
		"same boot":    func() {},
		"another boot": func() { put(t, boot, "second\n", 0o600) },
	} {
		c := applied(t, e, steps...)
		if got := read(t, dir+"/worked-up"); got != "new\n" {
			t.Fatalf("%s: worked up: %q", name, got)
		}
		undo()
		if _, err := e.Undo(t.Context(), c.ID, UndoOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := read(t, dir+"/worked-up"); got != "old\n" || read(t, dir+"/source") != "old\n" {
			t.Errorf("%s: after the undo it is worked up from %q", name, got)
		}
	}

	c, err := e.Store.create(Head{Format: 1, Trap: "demo", Plan: Plan{Title: "demo", Steps: steps[1:]}})
	must(t, "create", err)
	must(t, "begin", c.append(Record{Event: evBegin, Boot: "second"}))
	must(t, "intent", c.append(Record{Event: evIntent, Boot: "second"}))
	must(t, "remove", os.Remove(dir+"/worked-up"))
	if _, err := e.Resume(t.Context(), c.ID, nil); err != nil || read(t, dir+"/worked-up") != "old\n" {
		t.Errorf("resumed: %v", err)
	}
}
