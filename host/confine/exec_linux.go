package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fettle/host"
)

// execFailed is how a copy of fettle that could not become the command ends;
// execPrefix starts what it says then.
const (
	execFailed = 125
	execPrefix = "fettle: not run: "
)

// Command runs one of host.Commands in a confinement of its own: it may read
// and execute everywhere, and write only to what its CommandSpec lists.
func Command(ctx context.Context, c host.Command) (host.Output, error) {
	if err := c.Allowed(); err != nil {
		return host.Output{}, err
	}
	spec := host.Commands[c.Name]
	if _, err := spec.Path(); err != nil {
		return host.Output{}, err
	}
	keepDescriptors()
	argv := append([]string{os.Args[0], ExecVerb, c.Name}, c.Args...)
	out, err := host.ExecFile(ctx, spec, "/proc/self/exe", argv)
	if err == nil && out.Exit == execFailed && strings.HasPrefix(string(out.Stderr), execPrefix) {
		return host.Output{}, errors.New(strings.TrimSpace(strings.TrimPrefix(string(out.Stderr), execPrefix)))
	}
	return out, err
}

// Exec is ExecVerb: it confines this process and becomes the command that
// args name. It returns only when that failed, with the exit status.
func Exec(args []string) int {
	fmt.Fprintf(os.Stderr, "%s%v\n", execPrefix, become(args))
	return execFailed
}

func become(args []string) error {
	if len(args) == 0 {
		return errors.New("no command given")
	}
	c := host.Command{Name: args[0], Args: args[1:]}
	if err := c.Allowed(); err != nil {
		return err
	}
	spec := host.Commands[c.Name]
	file, err := spec.Path()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the signal below is tied to this thread
	// fettle may be killed while the command runs.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tying the command to fettle: %w", err)
	}
	if _, err := Self(Rules{Write: spec.Write, Program: true}); err != nil {
		return err
	}
	return fmt.Errorf("executing %s: %w", file, syscall.Exec(file, append([]string{file}, c.Args...), host.CleanEnv))
}

// Live is the running machine with confined commands: for verbs that check in
// this process, as capture does. Its reading is not confined.
func Live() (host.Source, error) {
	l, err := host.NewLive()
	if err != nil {
		return nil, err
	}
	return &live{l}, nil
}

type live struct{ host.Source }

// Extract reads the file itself.
func (l *live) Extract(ctx context.Context, kind, name string, of func(io.Reader) ([]byte, error)) ([]byte, error) {
	return host.ExtractOf(ctx, l.Source, kind, name, of)
}

// Table has those tables that commands tell come from confined ones.
func (l *live) Table(ctx context.Context, t host.Table) ([]byte, error) {
	if t == host.TableJournal {
		return host.ReadJournal(ctx, Command)
	}
	return l.Source.Table(ctx, t)
}

func (l *live) Command(ctx context.Context, c host.Command) (host.Output, error) {
	return Command(ctx, c)
}
