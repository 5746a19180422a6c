package steps

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// childEnv tells this test program, started anew, what to copy until it dies.
const childEnv = "FETTLE_TEST_COPYOUT"

type killedCopy struct {
	State string
	Step  CopyOut
}

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		var k killedCopy
		if err := json.Unmarshal([]byte(spec), &k); err != nil {
			panic(err)
		}
		panic(k.run())
	}
	os.Exit(m.Run())
}

// dying is a machine that is gone in the midst of a copy.
type dying struct{ machine.Machine }

func (d dying) CopyOpen(_ context.Context, _ machine.OpenFile, to string) error {
	if err := os.WriteFile(to, []byte("half"), 0o600); err != nil {
		return err
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (k killedCopy) run() error {
	store, err := remedy.OpenStoreAt(k.State)
	if err != nil {
		return err
	}
	e := &remedy.Engine{Store: store, Machine: dying{machine.Linux{}}, Who: "test"}
	_, err = e.Apply(
		context.Background(),
		remedy.Head{Trap: "x", Plan: remedy.Plan{Title: "x", Steps: []step.Step{k.Step}}},
		func(context.Context) error { return nil },
	)
	return err
}

// TestKilledCopyIsUndone: fettle is ended by SIGKILL in the midst of a copy. undo
// leaves no half of it, resume makes it whole.
func TestKilledCopyIsUndone(t *testing.T) {
	for _, then := range []string{"undo", "resume"} {
		t.Run(then, func(t *testing.T) {
			_, open := held(t, []byte("precious"), 0)
			dir := ground(t, "")
			k := killedCopy{State: filepath.Join(dir, "state"), Step: CopyOut{Open: open, Name: "/srv/db", To: dir + "/rescued/db.1-2"}}
			spec, err := json.Marshal(k)
			if err != nil {
				t.Fatal(err)
			}
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(exe)
			cmd.Env = []string{childEnv + "=" + string(spec)}
			out, err := cmd.CombinedOutput()
			var ended *exec.ExitError
			if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child was not killed: %v\n%s", err, out)
			}
			if half, _ := filepath.Glob(dir + "/rescued/.*"); len(half) != 1 {
				t.Fatalf("the kill left %v: this tries nothing", half)
			}
			store, err := remedy.OpenStoreAt(k.State)
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			e := &remedy.Engine{Store: store, Machine: machine.Linux{}, Who: "test", Log: func(l string) { said.WriteString(l + "\n") }}
			if then == "resume" {
				if _, err := e.Resume(t.Context(), "",
					func(remedy.Head) remedy.Verify { return func(context.Context) error { return nil } }); err != nil {
					t.Fatal(err)
				}
				if b, err := os.ReadFile(k.Step.To); err != nil || string(b) != "precious" {
					t.Errorf("%q, %v", b, err)
				}
				return
			}
			if _, err := e.Undo(t.Context(), "", remedy.UndoOptions{}); err != nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(dir + "/rescued"); err == nil {
				t.Errorf("undo left the folder with %v", left)
			}
			if strings.Contains(said.String(), "stays") {
				t.Errorf("undo speaks of a copy that is not there:\n%s", said.String())
			}
		})
	}
}
