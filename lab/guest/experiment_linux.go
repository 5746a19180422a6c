package guest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"fettle/lab"
)

// experiment runs Go code that the host knows by name and this binary by heart.
// An error of the experiment itself is a stage that failed.
func experiment(o lab.Orders, host *lab.Teller, find func(trap, name string) (lab.Experiment, bool)) error {
	e, ok := find(o.Trap, o.Experiment)
	if !ok {
		return fmt.Errorf("this fettle has no experiment %q of trap %q", o.Experiment, o.Trap)
	}
	b := &lab.Bench{Teller: host, Exec: func(argv []string) (string, int, error) { return run(argv, nil) }, Spawn: spawn}
	if o.Shell == lab.ShellAfterPrepare {
		shell(o.Console)
		return nil
	}
	if o.Shell == lab.ShellAfterStory {
		defer shell(o.Console)
	}
	start := time.Now()
	err := func() (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("panic: %v", r)
			}
		}()
		return e.Run(context.Background(), b)
	}()
	if sent := b.Finish(); sent != nil {
		return sent
	}
	st := lab.Stage{Name: "experiment", OK: err == nil, Took: time.Since(start)}
	if err != nil {
		st.Said = err.Error()
	}
	return host.Stage(st)
}

func spawn(argv []string) (int, func(), error) {
	bin, err := resolve(argv[0])
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.Command(bin, argv[1:]...)
	cmd.Args[0] = argv[0] // pgrep and ksmtuned look at it
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	return cmd.Process.Pid, func() { cmd.Process.Kill(); cmd.Wait() }, nil
}
