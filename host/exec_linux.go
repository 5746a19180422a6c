package host

import (
	"bytes"
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
	spec := Commands[c.Name]
	bin, err := spec.Path()
	if err != nil {
		return Output{}, err
	}
	return Exec(ctx, spec, append([]string{bin}, c.Args...))
}

// Exec runs argv under the limits of spec: no input, clean environment, own
// process group that is killed as a whole, bounded output.
func Exec(ctx context.Context, spec CommandSpec, argv []string) (Output, error) {
	ctx, cancel := context.WithTimeout(ctx, spec.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = CleanEnv, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, errs := &bounded{max: spec.MaxOutput}, &bounded{max: spec.MaxOutput}
	cmd.Stdout, cmd.Stderr = out, errs
	err := cmd.Run()
	res := Output{Stdout: out.Bytes(), Stderr: errs.Bytes()}
	var ee *exec.ExitError
	switch {
	case out.over || errs.over:
		return res, fmt.Errorf("output over %d bytes: %w", spec.MaxOutput, ErrTooBig)
	case ctx.Err() != nil:
		return res, fmt.Errorf("%w (over %s)", ErrTimeout, spec.Limit)
	case errors.As(err, &ee):
		res.Exit = ee.ExitCode()
		return res, nil
	}
	return res, err
}

// bounded keeps the first max bytes and remembers whether there were more.
type bounded struct {
	bytes.Buffer
	max  int64
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - int64(b.Len()); int64(len(p)) > room {
		b.over = true
		b.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
