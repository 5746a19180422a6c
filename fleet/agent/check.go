package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"fettle/fleet/hub/message"
	"fettle/report/history"
)

// Bounds of a check.
const (
	checkLimit  = 10 * time.Minute
	reportLimit = 64 << 20
	sayLimit    = 2 << 10
	niceness    = 10
)

// child is a program that ends when ctx does, with all that it started.
func child(ctx context.Context, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...)
	c.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root"}
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	return c
}

// check runs fettle check, and returns what it says.
func check(ctx context.Context, fettle string, args []string) (*message.State, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	began := time.Now()
	c := child(ctx, fettle, append([]string{"check", "--format", "json"}, args...)...)
	said := &head{}
	c.Stderr = said
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	if err := c.Start(); err != nil {
		return nil, 0, err
	}
	_ = syscall.Setpriority(syscall.PRIO_PGRP, c.Process.Pid, niceness)
	d, perr := history.Parse(io.LimitReader(out, reportLimit))
	_, _ = io.Copy(io.Discard, out)
	err = c.Wait()
	took := time.Since(began)
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 4) {
		err = nil // findings, and what is unknown
	}
	switch {
	case ctx.Err() != nil:
		return nil, took, fmt.Errorf("fettle check did not end within %s", checkLimit)
	case err != nil:
		return nil, took, fmt.Errorf("fettle check: %w: %s", err, said)
	case perr != nil:
		return nil, took, fmt.Errorf("what fettle check wrote: %w", perr)
	}
	s := message.StateOf(d)
	return &s, took, nil
}

// fixes are what fettle fix changed on this host; nil where its folder is not there, or
// this fettle cannot say.
func fixes(ctx context.Context, fettle, dir string) []message.Fix {
	if _, err := os.Stat(dir); dir == "" || err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var d struct {
		Changes []message.Fix `json:"changes"`
	}
	// Damaged ones are in its exit status; the others count.
	if _, err := answer(child(ctx, fettle, "changes", "--format", "json"), &d); err != nil {
		return nil
	}
	return message.FitFixes(d.Changes)
}

// answer runs a program that writes JSON, and reads it. The error is of the JSON, or says that
// the program could not be run; how it ended is its exit status, -1 where a signal ended it.
func answer(c *exec.Cmd, into any) (exit int, err error) {
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return -1, err
	}
	err = json.NewDecoder(io.LimitReader(out, reportLimit)).Decode(into)
	_, _ = io.Copy(io.Discard, out)
	_ = c.Wait()
	return c.ProcessState.ExitCode(), err
}

// head keeps the beginning of what a program says.
type head struct{ b bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	h.b.Write(p[:min(len(p), sayLimit-h.b.Len())])
	return len(p), nil
}

func (h *head) String() string {
	return strings.ToValidUTF8(strings.TrimSpace(h.b.String()), "\ufffd")
}

// Runnable tells why a program is none that an agent starts: others could
// replace it.
func Runnable(file string) error {
	for _, name := range []string{file, file[:max(1, strings.LastIndexByte(file, '/'))]} {
		st, err := os.Stat(name)
		if err != nil {
			return err
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if open := st.Mode().Perm()&0o022 != 0 && st.Mode()&os.ModeSticky == 0; open || ok && sys.Uid != 0 && int(sys.Uid) != os.Geteuid() {
			return fmt.Errorf("%s is not run: %s belongs to another user, or others can write to it", file, name)
		}
	}
	return nil
}
