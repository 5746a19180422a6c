package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func findSSH(name string) (string, error) {
	if name == "" {
		name = "ssh"
	}
	p, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("OpenSSH's client is needed to reach other hosts: %w", err)
	}
	return filepath.Abs(p)
}

// persist is how long a connection is kept for the next run.
const persist = 60 * time.Second

// controlDir makes the folder for ssh's control sockets: one that lasts, so
// that the next run finds the connections still open, unless its path is too
// long for a socket's name.
func controlDir() (dir string, own bool, err error) {
	var tries []string
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		tries = append(tries, filepath.Join(run, "fettle-ssh"))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		tries = append(tries, filepath.Join(cache, "fettle", "ssh"))
	}
	for _, d := range tries {
		// sun_path holds 108 bytes with its end; %C is 40 of them, and ssh
		// first binds to a temporary name that is 17 longer (mux.c).
		if len(d)+len("/")+40+17 >= 108 {
			continue
		}
		if os.MkdirAll(filepath.Dir(d), 0o700) != nil {
			continue
		}
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			continue
		}
		st, err := os.Lstat(d)
		if err != nil || !st.IsDir() || st.Mode().Perm() != 0o700 || !ownedByUs(st) {
			continue
		}
		return d, false, nil
	}
	d, err := os.MkdirTemp("", "fettle-")
	if err != nil {
		return "", false, fmt.Errorf("making a folder for ssh's control sockets: %w", err)
	}
	return d, true, nil
}

func ownedByUs(st os.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// args is ssh's argument list for a command on a host. What the user's own
// configuration says of the host (names, ports, keys, jump hosts) holds; what
// would ask, forward or take over the terminal does not.
func (c *Client) args(host, command string) []string {
	a := []string{}
	if c.opt.Config != "" {
		a = append(a, "-F", c.opt.Config)
	}
	for _, o := range []string{
		"BatchMode=yes",
		fmt.Sprintf("ConnectTimeout=%d", max(1, int(c.opt.Connect.Seconds()))),
		"ServerAliveInterval=5", "ServerAliveCountMax=3",
		"ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no",
		"RequestTTY=no", "RemoteCommand=none",
	} {
		a = append(a, "-o", o)
	}
	if c.control == "" {
		a = append(a, "-o", "ControlMaster=no", "-o", "ControlPath=none")
	} else {
		a = append(a, "-o", "ControlMaster=auto", "-o", "ControlPath="+strings.ReplaceAll(c.control, "%", "%%")+"/%C",
			"-o", fmt.Sprintf("ControlPersist=%d", int(persist.Seconds())))
	}
	return append(a, "--", host, command)
}

// Run runs one command on a host. in may be nil. The error says that ssh
// itself failed; otherwise exit is the command's own status.
func (c *Client) Run(ctx context.Context, host, command string, in io.Reader, out io.Writer) (exit int, errs string, err error) {
	return c.stream(ctx, host, command, in, out, nil)
}

// stream is Run; also, if it is not nil, gets all of standard error.
func (c *Client) stream(ctx context.Context, host, command string, in io.Reader, out, also io.Writer) (exit int, errs string, err error) {
	c.mu.Lock()
	c.open[host] = true
	c.mu.Unlock()
	cmd := exec.CommandContext(ctx, c.ssh, c.args(host, command)...)
	cmd.Stdin, cmd.Stdout = in, out
	tail := &tailBuffer{max: 8 << 10}
	cmd.Stderr = tail
	if also != nil {
		cmd.Stderr = io.MultiWriter(tail, also)
	}
	// A group of its own: jump hosts and proxy commands die with ssh.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err = cmd.Run()
	var ee *exec.ExitError
	switch {
	case ctx.Err() != nil:
		why := context.Cause(ctx).Error()
		if errors.Is(context.Cause(ctx), context.Canceled) {
			why = "interrupted"
		}
		return 0, tail.String(), errors.New(why)
	case errors.As(err, &ee) && ee.ExitCode() != 255:
		return ee.ExitCode(), tail.String(), nil
	case err != nil && tail.String() != "":
		return 0, tail.String(), errors.New(Words(tail.String()))
	case err != nil:
		return 0, "", fmt.Errorf("the connection was lost (ssh: %w)", err)
	}
	return 0, tail.String(), nil
}

// Close closes connections that will not be used again: all of them when the
// folder of the sockets is only of this run.
func (c *Client) Close() error {
	if !c.own {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for host := range c.open {
		c.HangUp(host)
	}
	return os.RemoveAll(c.control)
}

// Anew reaches the same hosts, each time over a connection of its own: what shows
// that one can still log in.
func (c *Client) Anew() *Client {
	return &Client{opt: c.opt, ssh: c.ssh, open: map[string]bool{}}
}

// HangUp asks a control master to go: one that holds a stuck connection, or
// one whose socket is about to vanish.
func (c *Client) HangUp(host string) {
	if c.control == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	a := []string{"-O", "exit"}
	if c.opt.Config != "" {
		a = append(a, "-F", c.opt.Config)
	}
	a = append(a, "-o", "ControlPath="+strings.ReplaceAll(c.control, "%", "%%")+"/%C", "--", host)
	exec.CommandContext(ctx, c.ssh, a...).Run()
}

// tailBuffer keeps the end of what is written.
type tailBuffer struct {
	b   []byte
	max int
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > t.max {
		t.b = append(t.b[:0], t.b[len(t.b)-t.max:]...)
	}
	return len(p), nil
}

func (t *tailBuffer) String() string { return string(t.b) }

// Words makes the last lines of an error output one line.
func Words(s string) string {
	var keep []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Warning: Permanently added") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep[max(0, len(keep)-3):], "; ")
}
