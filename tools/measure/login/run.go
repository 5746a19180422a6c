package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Options says how logins are made.
type Options struct {
	// Host is as ssh takes it: a name, an alias of ssh_config, user@name, ssh://user@name:port.
	Host string
	// N is how many logins are measured, one after another; at least 1.
	N int
	// Limit is how long one login may take; 0 is DefaultLimit.
	Limit time.Duration
	// Config, if set, is given to ssh as its configuration file (-F).
	Config string
	// SSH is the program; empty is /usr/bin/ssh.
	SSH string
	// Tell, if set, hears of each login that ended.
	Tell func(done, all int)

	extra []string          // further -o options
	means map[string]string // ssh -G
}

const DefaultLimit = time.Minute

// DefaultSSH is the client that is driven.
const DefaultSSH = "/usr/bin/ssh"

// CheckHost refuses what ssh would take for an option, and what the shell that
// runs a ProxyCommand would take for more than a word, as ssh does since 9.6
// (CVE-2023-51385).
func CheckHost(host string) error {
	switch {
	case host == "":
		return errors.New("the host's name is empty")
	case strings.HasPrefix(host, "-"):
		return fmt.Errorf("host %q begins with -: ssh would take it for an option", host)
	case strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("host %q has a space or a control character in it", host)
	case strings.ContainsAny(host, "'`\"$\\;&<>|(){}"):
		return fmt.Errorf("host %q has a character in it that a shell acts on", host)
	}
	return nil
}

func (o *Options) check(ctx context.Context) (err error) {
	if err := CheckHost(o.Host); err != nil {
		return err
	}
	if o.N < 1 {
		return fmt.Errorf("%d logins: at least 1 is needed", o.N)
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.SSH == "" {
		o.SSH = DefaultSSH
	}
	if _, err := os.Stat(o.SSH); err != nil {
		return fmt.Errorf("OpenSSH's client is needed (package openssh-client): %w", err)
	}
	if o.means == nil {
		if o.means, err = o.meaning(ctx); err != nil {
			return err
		}
	}
	// Behind a proxy the log has to be apart, and then it must not be tried.
	if o.proxied() && o.means["hostbasedauthentication"] == "yes" {
		o.extra = append(o.extra, "HostbasedAuthentication=no")
	}
	return nil
}

// command is what is run on the host. Every login shell makes the same of it;
// the second word is absent where the server does not set the variable.
const (
	marker  = "fettle-login"
	command = "echo " + marker + " $SSH_CONNECTION"
)

// args is ssh's argument list. What the user's configuration says of the host
// holds. What would ask, forward, share a connection or change known_hosts does
// not: UpdateHostKeys is on by default since 8.5 and writes to it.
func (o *Options) args(more ...string) []string {
	a := []string{"-vvv"}
	if o.Config != "" {
		a = append(a, "-F", o.Config)
	}
	opts := append([]string{
		"BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no",
		"ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no",
		"RequestTTY=no", "RemoteCommand=none",
	}, o.extra...)
	if len(more) == 0 {
		more = []string{"ControlMaster=no", "ControlPath=none"}
	}
	for _, opt := range append(opts, more...) {
		a = append(a, "-o", opt)
	}
	return a
}

// passed are the variables that ssh and what it starts (agents, Kerberos, proxy
// commands) need from the user's environment.
var passed = []string{"HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "TMPDIR", "SSH_AUTH_SOCK",
	"XDG_RUNTIME_DIR", "KRB5CCNAME", "KRB5_CONFIG", "KRB5_CLIENT_KTNAME"}

func environ() []string {
	env := []string{"SSH_ASKPASS_REQUIRE=never"}
	for _, k := range passed {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// once makes one login. more are further -o options in place of those that
// forbid control sockets.
func (o *Options) once(ctx context.Context, more ...string) (*Login, error) {
	dir, err := os.MkdirTemp("", "fettle-login-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for ssh's log: %w", err)
	}
	defer os.RemoveAll(dir)
	// A log of its own (-E) keeps ssh's words apart from those of jump hosts
	// and of the command, which share its standard error. A FIFO gives each
	// line its time.
	fifo := filepath.Join(dir, "log")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		return nil, fmt.Errorf("making a pipe for ssh's log: %w", err)
	}
	// O_RDWR: it opens before ssh does, and does not end before ssh opens it.
	log, err := os.OpenFile(fifo, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	ctx, cancel := context.WithTimeoutCause(ctx, o.Limit, errLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.SSH, append(append(o.args(more...), o.logsTo(fifo)...), "--", o.Host, command)...)
	cmd.Env = environ()
	// A session of its own: no terminal to ask on, and a group whose jump hosts
	// and proxy commands end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	errs := &tail{max: 4 << 10}
	cmd.Stderr = errs
	if o.hostbased() {
		w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		defer w.Close()
		cmd.Stderr = w
	}

	p := newParser()
	var mu sync.Mutex
	start := time.Now()
	out := &firstOutput{start: start, enough: cancel}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", o.SSH, err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		eachLine(log, func(s string) {
			mu.Lock()
			defer mu.Unlock()
			p.line(time.Since(start), s)
		})
	}()
	err = cmd.Wait()
	ended := time.Since(start)
	log.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	<-drained

	if at, ok := out.at(); ok {
		p.finish(at, out.text())
		return &p.l, nil
	}
	if err == nil && (p.phase == Output || p.phase == Session || p.phase == Mux) {
		p.finish(ended, "") // a forced command that is silent
		return &p.l, nil
	}
	return nil, p.failed(ctx, o, ended, err, errs.String())
}

// finish ends the login with its first output. Lines that came later than it
// are none of the login's.
func (p *parser) finish(at time.Duration, text string) {
	p.output(at)
	if _, rest, ok := strings.Cut(text, marker); ok {
		rest, _, _ = strings.Cut(rest, "\n")
		if f := strings.Fields(rest); len(f) == 4 {
			p.l.Conn = Conn{clip(f[0]), clip(f[1]), clip(f[2]), clip(f[3])}
		}
	}
}

var errLimit = errors.New("limit")
