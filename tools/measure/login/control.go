package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Control measures o.N logins over a connection that is already open: what
// ControlMaster gains (ssh_config(5)). The connection is one of its own, on a
// socket in a private folder, and ends with the measurement.
func Control(ctx context.Context, o Options) (Stat, error) {
	if err := o.check(ctx); err != nil {
		return Stat{}, err
	}
	// Short, since a socket's path holds 104 bytes at least (unix(7)), and ssh
	// first binds to a name 17 bytes longer (mux.c).
	dir, err := os.MkdirTemp("/tmp", "fettle-")
	if err != nil {
		return Stat{}, fmt.Errorf("making a folder for ssh's control socket: %w", err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	path := "ControlPath=" + strings.ReplaceAll(socket, "%", "%%")
	end, err := o.master(ctx, socket, path)
	if err != nil {
		return Stat{}, err
	}
	defer end()
	var totals []Span
	for i := range o.N {
		l, err := o.once(ctx, "ControlMaster=no", path)
		if err != nil {
			return Stat{}, fmt.Errorf("over a control socket: %w", err)
		}
		if _, ok := l.Span(Mux); !ok {
			return Stat{}, fmt.Errorf("%s: ssh did not use the control socket", o.Host)
		}
		totals = append(totals, Span{Took: l.Total})
		if o.Tell != nil {
			o.Tell(i+1, o.N)
		}
	}
	return stat(Mux, totals), nil
}

// master opens a connection that others share, and waits until they can.
func (o *Options) master(ctx context.Context, socket, path string) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	args := append(o.args("ControlMaster=yes", path, "ControlPersist=no"), "-N", "--", o.Host)
	cmd := exec.CommandContext(ctx, o.SSH, args[1:]...) // without -vvv
	cmd.Env = environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // removes its socket
	cmd.WaitDelay = 2 * time.Second
	errs := &tail{max: 2 << 10}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("starting %s: %w", o.SSH, err)
	}
	gone := make(chan struct{})
	go func() { cmd.Wait(); close(gone) }()
	end = func() { cancel(); <-gone }
	limit := time.NewTimer(o.Limit)
	defer limit.Stop()
	for {
		if _, err := os.Lstat(socket); err == nil {
			return end, nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
			continue
		case <-gone:
			err = errors.New(clip(strings.Join(strings.Fields(errs.String()), " ")))
		case <-limit.C:
			err = fmt.Errorf("not open after %s", o.Limit)
		case <-ctx.Done():
			err = ctx.Err()
		}
		end()
		return nil, fmt.Errorf("%s: a connection to share: %w", o.Host, err)
	}
}
