package remedy

import (
	"os"
	"path/filepath"
	"testing"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
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

// TestWorkedUpInOrder: what works up the work of a command before it does so in an undo, too.
func TestWorkedUpInOrder(t *testing.T) {
	privately(t)
	dir := t.TempDir()
	put(t, dir+"/source", "old\n", 0o644)
	e := engineAt(t, filepath.Join(t.TempDir(), "state"))
	c := applied(t, e,
		step.File{Path: dir + "/source", Was: []byte("old\n"), Content: []byte("new\n")},
		step.Command{Do: []string{"/usr/bin/cp", dir + "/source", dir + "/parts"}, Again: true},
		step.Command{Do: []string{"/usr/bin/cp", dir + "/parts", dir + "/whole"}, Again: true})
	if got := read(t, dir+"/whole"); got != "new\n" {
		t.Fatalf("after the fix the whole is made of %q", got)
	}
	if _, err := e.Undo(t.Context(), c.ID, UndoOptions{}); err != nil || read(t, dir+"/whole") != "old\n" {
		t.Errorf("%v; after the undo the whole is made of %q", err, read(t, dir+"/whole"))
	}
}

// A service that runs after a reboot has read the files of the change: when
// they are put back it reads them again. One that does not run need not.
func TestReloadInAnotherBoot(t *testing.T) {
	for name, active := range map[string]bool{"runs": true, "does not run": false} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "r")
			put(t, root+"/etc/existing.conf", "old\n", 0o644)
			put(t, root+"/bin/systemctl", "", 0o755)
			put(t, root+"/bin/a.service.active", "", 0o644)
			put(t, filepath.Dir(root)+"/boot", "first\n", 0o644)
			e := engineAt(t, filepath.Join(t.TempDir(), "state"))
			e.Machine = &killer{Machine: machineAt(root)}
			c := applied(
				t,
				e,
				step.File{Path: root + "/etc/existing.conf", Was: []byte("old\n"), Content: []byte("new\n")},
				step.Unit{Name: "a.service", Act: "reload"},
			)
			if got := read(t, root+"/bin/loaded"); got != "new\n" {
				t.Fatalf("after the fix it has read %q", got)
			}
			put(t, filepath.Dir(root)+"/boot", "second\n", 0o644)
			if !active {
				must(t, "stop", os.Remove(root+"/bin/a.service.active"))
			}
			p, err := e.PreviewUndo(t.Context(), c.ID, UndoOptions{})
			if err != nil || len(p.Steps) != 2 || (p.Steps[1].Stays == "") != active {
				t.Errorf("preview: %+v, %v", p, err)
			}
			if c, err = e.Undo(t.Context(), c.ID, UndoOptions{}); err != nil || len(c.Left()) > 0 == active {
				t.Errorf("undo: %v, left %v", err, c.Left())
			}
			want := "new\n"
			if active {
				want = "old\n"
			}
			if got := read(t, root+"/bin/loaded"); got != want || read(t, root+"/etc/existing.conf") != "old\n" {
				t.Errorf("after the undo it has read %q, want %q", got, want)
			}
		})
	}
}
