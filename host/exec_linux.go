package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// CleanEnv is the whole environment of every command that fettle runs.
var CleanEnv = []string{
	"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "LANG=C.UTF-8", "HOME=/", "TERM=dumb",
	"SYSTEMD_PAGER=", "PAGER=cat", "SYSTEMD_COLORS=0",
}

// Path finds where the command is installed.
func (s CommandSpec) Path() (string, error) {
	for _, p := range s.Paths {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", ErrNoCommand
}

// runCommand runs c as it is. Confinement is the caller's business.
func runCommand(ctx context.Context, c Command) (Output, error) {
	if err := c.Allowed(); err != nil {
		return Output{}, err
	}
	spec := Commands[c.Name].For(c.Args)
	if spec.Isolated {
		return Output{}, fmt.Errorf("%s runs in a confinement only", c.Name)
	}
	bin, err := spec.Path()
	if err != nil {
		return Output{}, err
	}
	return Exec(ctx, spec, append([]string{bin}, c.Args...))
}

// Exec runs argv under the limits of spec: no input, clean environment, own
// process group that is killed as a whole, bounded output.
func Exec(ctx context.Context, spec CommandSpec, argv []string) (Output, error) {
	return execute(ctx, spec, argv, syscall.SysProcAttr{Setpgid: true}, func(run func()) error { run(); return nil })
}

// ExecIn is Exec in a thread: in calls run, which starts argv and waits for its
// end, in a thread that it has made ready, or tells why it does not. The
// command inherits what that thread gave up, and ends when the thread does.
func ExecIn(ctx context.Context, spec CommandSpec, argv []string, in func(run func()) error) (Output, error) {
	return execute(ctx, spec, argv, syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}, in)
}

func execute(ctx context.Context, spec CommandSpec, argv []string, attr syscall.SysProcAttr, in func(run func()) error) (Output, error) {
	ctx, cancel := context.WithTimeout(ctx, spec.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0])
	cmd.Args, cmd.Env, cmd.Dir = argv, CleanEnv, "/"
	cmd.SysProcAttr = &attr
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, errs := &bounded{max: spec.MaxOutput}, &bounded{max: spec.MaxOutput}
	cmd.Stdout, cmd.Stderr = out, errs
	done := make(chan error, 1)
	go func() {
		var err error
		if refused := in(func() { err = cmd.Run() }); refused != nil {
			err = refused
		}
		if errors.Is(err, exec.ErrWaitDelay) { // something it left behind holds its output open
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		done <- err
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done: // killed and reaped: its output can be used
		case <-time.After(2 * cmd.WaitDelay):
			return Output{}, fmt.Errorf("%w, and cannot be killed (uninterruptible sleep)", ErrTimeout)
		}
	}
	res := Output{Stdout: out.b, Stderr: errs.b}
	var ee *exec.ExitError
	switch {
	case out.over || errs.over:
		return res, fmt.Errorf("output over %d bytes: %w", spec.MaxOutput, ErrTooBig)
	case errors.Is(ctx.Err(), context.Canceled):
		return res, ctx.Err()
	case ctx.Err() != nil && err != nil:
		return res, fmt.Errorf("%w (over %s)", ErrTimeout, spec.Limit)
	case errors.As(err, &ee) && ee.Exited(): // and not by a signal
		res.Exit = ee.ExitCode()
		return res, nil
	}
	return res, err
}

// bounded keeps the first max bytes. At the next it fails, so that whoever
// writes gets SIGPIPE.
type bounded struct {
	b    []byte
	max  int64
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - int64(len(b.b)); int64(len(p)) > room {
		b.over = true
		b.b = append(b.b, p[:max(room, 0)]...)
		return 0, ErrTooBig
	}
	b.b = append(b.b, p...)
	return len(p), nil
}
