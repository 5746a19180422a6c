package bisect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"fettle/tools/bisect/belief"
)

// Command is what is run at a commit: the user's own line, given to /bin/sh.
type Command struct {
	Build string         // first; fails: the commit is skipped
	Run   string         // prints the figure, or passes and fails
	In    []string       // what runs Run, as its last argument, in the checkout; nil: /bin/sh -c
	Match *regexp.Regexp // finds the figure; nil: the last line that is a number
	Kind  belief.Kind
	Limit time.Duration // of either
}

// skip says why a commit gave no reading: never a verdict.
type skip struct{ why string }

func (s *skip) Error() string { return s.why }

// exitSkip is git-bisect(1)'s status of a commit that can't be tested.
const exitSkip = 125

// logLimit bounds what one command may write into its log.
const logLimit = 16 << 20

// runner runs a line and waits for all that it started: a process that outlives
// it would disturb the next reading. in runs it, as its last argument; nil:
// /bin/sh -c. out, if not nil, gets what it prints, and log all.
type runner func(ctx context.Context, in []string, line string, log io.Writer, out *figure) (status int, err error)

// read builds and runs at a commit that is checked out. log
// gets all that is printed.
func (c *Command) read(ctx context.Context, run runner, log io.Writer) (float64, error) {
	if c.Build != "" {
		if status, err := run(ctx, nil, c.Build, log, nil); err != nil || status != 0 {
			return 0, cause("the build", status, err)
		}
	}
	var found figure
	found.match = c.Match
	status, err := run(ctx, c.In, c.Run, log, &found)
	switch {
	case err != nil || status == exitSkip || status > 125:
		return 0, cause("the run", status, err)
	case c.Kind == belief.Tests:
		return float64(min(status, 1)), nil
	case status != 0:
		return 0, cause("the run", status, nil)
	}
	return found.value()
}

func cause(what string, status int, err error) error {
	var s *skip
	if errors.As(err, &s) {
		return &skip{what + " " + s.why}
	}
	if err != nil {
		return err
	}
	return &skip{fmt.Sprintf("%s ended with status %d", what, status)}
}

// here runs lines in a folder of this machine.
func (c *Command) here(dir, hash string) runner {
	return func(ctx context.Context, in []string, line string, log io.Writer, out *figure) (int, error) {
		return c.sh(ctx, dir, hash, in, line, log, out)
	}
}

func (c *Command) sh(ctx context.Context, dir, hash string, in []string, line string, log io.Writer, out *figure) (int, error) {
	within, stop := context.WithTimeout(ctx, c.Limit)
	defer stop()
	if in == nil {
		in = []string{"/bin/sh", "-c"}
	}
	argv := append(slices.Clone(in), line)
	cmd := exec.CommandContext(within, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(environ(), "FETTLE_COMMIT="+hash)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	bounded := &limited{w: log, left: logLimit}
	cmd.Stderr = bounded
	cmd.Stdout = bounded
	if out != nil {
		cmd.Stdout = io.MultiWriter(bounded, out)
	}
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in its group
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case within.Err() != nil:
		return 0, c.tooLong()
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		return 0, &skip{"was ended by " + exit.Sys().(syscall.WaitStatus).Signal().String()}
	case errors.Is(err, exec.ErrWaitDelay):
		return 0, &skip{"left a process behind that holds its output open"}
	case err != nil:
		return 0, fmt.Errorf("running %q: %w", line, err)
	}
	return 0, nil
}

func (c *Command) tooLong() error { return &skip{fmt.Sprintf("took longer than %v", c.Limit)} }

// limited passes on so many bytes and drops the rest. Standard output and error
// may come through it at once.
type limited struct {
	w    io.Writer
	left int
	mu   sync.Mutex
}

func (l *limited) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(b), l.left)
	l.left -= n
	if n > 0 {
		if _, err := l.w.Write(b[:n]); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// tailLimit is how much of the end of the output may hold the figure.
const tailLimit = 64 << 10

// figure keeps the end of what a run prints.
type figure struct {
	match *regexp.Regexp
	tail  []byte
}

func (f *figure) Write(b []byte) (int, error) {
	f.tail = append(f.tail, b...)
	if over := len(f.tail) - tailLimit; over > 0 {
		f.tail = append(f.tail[:0], f.tail[over:]...)
	}
	return len(b), nil
}

// value is the figure printed last.
func (f *figure) value() (float64, error) {
	text, found := "", false
	lines := bufio.NewScanner(strings.NewReader(string(f.tail)))
	lines.Buffer(nil, tailLimit+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if f.match == nil {
			if _, err := strconv.ParseFloat(line, 64); err == nil {
				text, found = line, true
			}
		} else if m := f.match.FindStringSubmatch(line); m != nil {
			text, found = m[len(m)-1], true
		}
	}
	if !found {
		return 0, &skip{"the run printed no figure (a line that is a number, or what --match finds)"}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !countable(v) {
		return 0, &skip{fmt.Sprintf("the run printed %q, which is not a number from 1e-150 to 1e150", text)}
	}
	return v, nil
}

// countable are figures whose squares are numbers, too.
func countable(v float64) bool {
	return v == 0 || math.Abs(v) >= 1e-150 && math.Abs(v) <= 1e150
}
