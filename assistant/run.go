package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bounds of one run of fettle.
const (
	maxOutput = 16 << 20 // bytes
	runLimit  = 5 * time.Minute
	// endsWithin is how long fettle and what it started have to end once nobody waits for them.
	endsWithin = 2 * time.Second
)

// reads are the verbs that may be run. Each reads only, with the flags that must and must not be there.
var reads = map[string]struct{ must, not []string }{
	"check":   {not: []string{"--record", "--new", "--output", "--accepted", "--notify"}},
	"why":     {},
	"explain": {},
	"list":    {},
	"fix":     {must: []string{"--plan"}, not: []string{"--yes", "--as-planned"}},
	"before":  {must: []string{"--no-snapshot"}, not: []string{"--watch"}},
	"after":   {not: []string{"--watched"}},
	"history": {},
	"diff":    {},
	"measure": {not: []string{"--control", "--svg", "--png", "--unmerge", "--csv"}},
}

// ErrChanges is the refusal to run what could change something.
var ErrChanges = errors.New("this server only looks")

// allowed tells whether these arguments of fettle only read. Tools make no others; this is the
// second lock on the same door.
func allowed(args []string) error {
	verb, known := reads[args[0]]
	if !known {
		return fmt.Errorf("%w: fettle %s", ErrChanges, args[0])
	}
	flags := args
	if i := slices.Index(args, "--"); i >= 0 {
		flags = args[:i]
	}
	has := func(flag string) bool {
		return slices.ContainsFunc(flags, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") })
	}
	for _, a := range flags[1:] { // -o, -y and the like: tools write flags in full
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") {
			return fmt.Errorf("%w: %s", ErrChanges, a)
		}
	}
	for _, f := range verb.must {
		if !has(f) {
			return fmt.Errorf("%w: fettle %s without %s", ErrChanges, args[0], f)
		}
	}
	for _, f := range verb.not {
		if has(f) {
			return fmt.Errorf("%w: %s", ErrChanges, f)
		}
	}
	return nil
}

// environment is all that fettle gets of the server's own: what ssh needs to log in.
func environment() []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "NO_COLOR=1", "COLUMNS=100"}
	for _, name := range []string{"HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "XDG_CACHE_HOME", "XDG_STATE_HOME", "STATE_DIRECTORY",
		"TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// fettle runs fettle and gives what it printed, and its exit status. When the call is cancelled, or
// its client is gone, all that was started ends.
func (d *desk) fettle(ctx context.Context, stdin string, args ...string) ([]byte, int, error) {
	if err := allowed(args); err != nil {
		return nil, 0, err
	}
	return output(ctx, stdin, append([]string{d.Fettle}, args...))
}

// output runs a program, bounded in time and output.
func output(ctx context.Context, stdin string, argv []string) ([]byte, int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runLimit, fmt.Errorf("took longer than %s", runLimit))
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env, c.Dir, c.Stdin = environment(), "/", strings.NewReader(stdin)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = endsWithin / 2
	out, said := &bounded{left: maxOutput}, &bounded{left: 64 << 10}
	c.Stdout, c.Stderr = out, said
	err := c.Run()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // what is left of the group
	}
	var exit *exec.ExitError
	switch {
	case out.over:
		return nil, 0, fmt.Errorf("it printed more than %d MiB: ask for less", maxOutput>>20)
	case ctx.Err() != nil:
		return nil, 0, context.Cause(ctx)
	case errors.As(err, &exit):
		if exit.ExitCode() == 2 || exit.ExitCode() == 3 || out.buf.Len() == 0 && said.buf.Len() > 0 {
			return nil, exit.ExitCode(), errors.New(strings.TrimSpace(said.buf.String()))
		}
		return out.buf.Bytes(), exit.ExitCode(), nil
	case err != nil:
		return nil, 0, err
	}
	return out.buf.Bytes(), 0, nil
}

// bounded keeps so many bytes. It embeds no buffer: io.Copy would fill that past the bound, by
// its ReadFrom.
type bounded struct {
	buf  bytes.Buffer
	left int
	over bool
}

// Write takes less than it is given at the bound: io.Copy stops, and whoever writes gets SIGPIPE.
func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		b.over = true
		p = p[:b.left]
	}
	b.left -= len(p)
	b.buf.Write(p)
	return len(p), nil
}

// document runs fettle and reads the JSON that it prints.
func (d *desk) document(ctx context.Context, stdin string, args ...string) (map[string]any, int, error) {
	b, exit, err := d.fettle(ctx, stdin, args...)
	if err != nil {
		return nil, exit, err
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, exit, fmt.Errorf("fettle %s did not print JSON: %w", args[0], err)
	}
	return doc, exit, nil
}
