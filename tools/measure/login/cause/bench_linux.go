package cause

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// bench is where logins are made.
type bench struct {
	o      Options
	dir    string // root's own; the user may pass through it to the keys
	set    settings
	wire   *wire
	signer ssh.Signer
	// cgroup is where sshd is started; nil: where this process is. If that is
	// in a user's session, pam_systemd does less than it does for the daemon.
	cgroup    *os.File
	inSession bool
	n         int
	ends      sync.WaitGroup
}

// variant is a login that differs from the server's own in something.
type variant struct {
	set   map[string]string // sshd's settings
	files map[string][]byte // files of /etc, with what is in them instead
	hide  []string          // folders that are seen empty
	sftp  bool              // a session without a shell
}

// times are when a login got how far, since sshd was started.
type times struct{ accepted, opened, output time.Duration }

func newBench(ctx context.Context, o Options) (*bench, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("the experiments on the server need root")
	}
	if _, err := os.Stat(o.SSHD); err != nil {
		return nil, fmt.Errorf("OpenSSH's server is needed for the experiments: %w", err)
	}
	set, err := effective(ctx, &o)
	if err != nil {
		return nil, err
	}
	b := &bench{o: o}
	if b.dir, err = os.MkdirTemp("/run", "fettle-login-"); err != nil {
		return nil, fmt.Errorf("making a folder for the private sshd: %w", err)
	}
	if err := b.open(ctx, set); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) open(ctx context.Context, set settings) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if b.signer, err = ssh.NewSignerFromKey(key); err != nil {
		return err
	}
	// sshd reads the keys as the user. There is no secret in them.
	if err := os.Chmod(b.dir, 0o711); err != nil {
		return err
	}
	keys := filepath.Join(b.dir, "keys")
	if err := os.WriteFile(keys, ssh.MarshalAuthorizedKey(b.signer.PublicKey()), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(keys, 0o644); err != nil {
		return err
	}
	if b.set, err = set.private(keys).accepted(ctx, b.o.SSHD, filepath.Join(b.dir, "config")); err != nil {
		return err
	}
	b.cgroup, b.inSession = daemonCgroup()
	b.wire, err = newWire(b.o.Client, b.o.Server)
	return err
}

// close ends what is left and removes the folder.
func (b *bench) close() {
	ended := make(chan struct{})
	go func() { b.ends.Wait(); close(ended) }()
	select { // each ends within closeLimit
	case <-ended:
	case <-time.After(closeLimit + 2*time.Second):
	}
	if b.wire != nil {
		b.wire.close()
	}
	if b.cgroup != nil {
		b.cgroup.Close()
	}
	os.RemoveAll(b.dir)
}

// closeLimit is how long a session may take to close by itself: PAM modules
// clean up then.
const closeLimit = 10 * time.Second

// login makes one login.
func (b *bench) login(ctx context.Context, v variant) (t times, err error) {
	c, err := b.connect(ctx, v, func(c *connection) (err error) {
		t, err = b.through(c.near, c.start, v.sftp)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return t, ctx.Err()
		}
		return t, fmt.Errorf("logging in as %s through a private sshd: %w%s", b.o.User, err, c.lastWords())
	}
	return t, nil
}

// connection is one to a private sshd.
type connection struct {
	near  *net.TCPConn
	start time.Time // sshd was started
	log   string
}

// connect starts a private sshd on a new connection and calls talk with the
// client's end.
func (b *bench) connect(ctx context.Context, v variant, talk func(*connection) error) (c connection, err error) {
	b.n++
	name := filepath.Join(b.dir, fmt.Sprint(b.n))
	set := b.set.with(v.set)
	if v.sftp {
		set = set.with(map[string]string{"subsystem": "fettle internal-sftp", "forcecommand": "none"})
	}
	if err := os.WriteFile(name+".config", set.text(), 0o600); err != nil {
		return c, err
	}
	near, far, err := b.wire.pair()
	if err != nil {
		return c, fmt.Errorf("connecting: %w", err)
	}
	defer near.Close()
	sock, err := far.File()
	far.Close()
	if err != nil {
		return c, err
	}
	c = connection{near: near, start: time.Now(), log: name + ".log"}
	near.SetDeadline(c.start.Add(b.o.Limit))
	defer context.AfterFunc(ctx, func() { near.SetDeadline(time.Now()) })()
	cmd, err := b.start(name, sock, v)
	sock.Close()
	if err != nil {
		return c, fmt.Errorf("starting sshd: %w", err)
	}
	b.ends.Add(1)
	go func() {
		defer b.ends.Done()
		end := time.AfterFunc(b.o.Limit+closeLimit, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer end.Stop()
		cmd.Wait()
	}()
	return c, talk(&c)
}

// start starts sshd in a mount namespace in which the variant's files are
// replaced. The namespace belongs to a thread, which ends when sshd has begun.
func (b *bench) start(name string, sock *os.File, v variant) (cmd *exec.Cmd, err error) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked
		defer close(done)
		if err = v.mount(name); err != nil {
			return
		}
		cmd = b.command(name, sock)
		if b.cgroup != nil {
			cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(b.cgroup.Fd())
			if err = cmd.Start(); err == nil {
				return
			}
			b.cgroup.Close()
			b.cgroup = nil
			cmd = b.command(name, sock) // CLONE_INTO_CGROUP is of Linux 5.7
		}
		err = cmd.Start()
	}()
	<-done
	return cmd, err
}

func (b *bench) command(name string, sock *os.File) *exec.Cmd {
	cmd := exec.Command(b.o.SSHD, "-i", "-f", name+".config", "-E", name+".log")
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout = sock, sock
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// mount gives this thread a mount namespace of its own, with the variant's files.
func (v *variant) mount(name string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("making a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mount namespace private: %w", err)
	}
	i := 0
	for file, text := range v.files {
		i++
		instead := fmt.Sprintf("%s.file%d", name, i)
		if err := os.WriteFile(instead, text, 0o644); err != nil {
			return err
		}
		if err := unix.Mount(instead, file, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("replacing %s for one process: %w", file, err)
		}
	}
	for _, dir := range v.hide {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755,size=4k"); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("hiding %s from one process: %w", dir, err)
		}
	}
	return nil
}

// lastWords is the end of sshd's log, for an error.
func (c *connection) lastWords() string {
	text, err := os.ReadFile(c.log)
	if err != nil || len(text) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text[max(0, len(text)-2000):])), "\n")
	return "; sshd says: " + strings.Join(lines[max(0, len(lines)-2):], "; ")
}
