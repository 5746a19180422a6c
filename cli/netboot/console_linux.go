package netboot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"fettle/cli/app"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/tools/netboot/bmc"
)

// ssh is the system's; tests give it a configuration of its own.
var ssh = "/usr/bin/ssh"

const (
	ipmitool = "/usr/bin/ipmitool"
	// longest is the longest pause between two tries.
	longest = 30 * time.Second
)

func runConsole(ctx context.Context, a *app.App, w way, o consoleOptions) error {
	s := &session{app: a, way: w, o: o}
	if err := s.prepare(); err != nil {
		return err
	}
	if s.log != nil {
		defer s.log.Close()
	}
	pause := time.Second
	for {
		begun := time.Now()
		why, out := s.unreached(ctx)
		ended, err := false, error(nil)
		if !out {
			ended, err = s.connect(ctx)
		}
		if ctx.Err() == nil && !ended && why == "" {
			if why, err = s.failed(ctx, err); why == final {
				return err
			}
		}
		switch {
		case ended || ctx.Err() != nil:
			return nil
		case o.once && why != "":
			return app.Failf("no console: %s", why)
		case o.once && err != nil:
			return app.Failf("the console broke off: %w", err)
		case o.once:
			return nil
		}
		if time.Since(begun) > time.Minute {
			pause = time.Second
		}
		if why == "" {
			why = "the connection ended (" + ui.Visible(s.lastWords()) + ")"
		}
		a.Warn(fmt.Sprintf("%s; trying again in %s, Ctrl-C ends it", why, pause))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, longest)
	}
}

// session is one console with what came of it.
type session struct {
	app      *app.App
	way      way
	o        consoleOptions
	password string
	log      *os.File
	reach    bmc.Reach // of the BMC, before the connection at hand
	asked    bool      // why it is silent was told; by mu
	endTyped bool      // the key that ends virsh was; by mu

	typing sync.Once
	mu     sync.Mutex
	last   []byte    // the end of what came
	came   int       // bytes that are the host's, not ipmitool's own words
	to     io.Writer // where keys go; nil between two connections
}

func (s *session) prepare() (err error) {
	if s.way.kind == "ipmi" {
		if _, err := os.Stat(ipmitool); err != nil {
			return app.Failf("%s is not there: apt-get install ipmitool", ipmitool)
		}
		if s.password, err = s.ask(); err != nil {
			return err
		}
		if maker := bmc.DefaultOf(s.o.user, s.password); maker != "" {
			s.app.Warn(
				fmt.Sprintf(
					"CRITICAL: %s has the login that %s ships it with: anyone who reaches it controls the host. Change it: ipmitool user set password ID",
					s.way.name,
					maker,
				),
			)
		}
	}
	if s.o.log != "" {
		s.log, err = files.Append(s.o.log, 0o600)
		if err != nil {
			return app.Usagef("--log: %w", err)
		}
	}
	return nil
}

// ask finds the password.
func (s *session) ask() (string, error) {
	if s.o.passwordFile != "" {
		b, err := files.ReadAtMost(s.o.passwordFile, 4096)
		if err != nil {
			return "", app.Usagef("--password-file: %w", err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		return strings.TrimRight(line, "\r"), nil
	}
	if p, ok := os.LookupEnv("IPMI_PASSWORD"); ok {
		return p, nil
	}
	in, ok := s.app.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", app.Usagef("there is no terminal to ask for the BMC's password on: use --password-file or the variable IPMI_PASSWORD")
	}
	fmt.Fprintf(s.app.Stderr, "Password of %s at %s: ", ui.Visible(s.o.user), ui.Visible(s.way.name))
	b, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(s.app.Stderr)
	if err != nil {
		return "", app.Failf("reading the password: %w", err)
	}
	return string(b), nil
}

// ipmi are ipmitool's arguments: the password goes by its environment (-E).
func (s *session) ipmi(args ...string) *exec.Cmd {
	to := []string{"-I", "lanplus", "-H", s.way.name, "-p", strconv.Itoa(s.port()), "-U", s.o.user, "-E"}
	if s.o.cipher >= 0 {
		to = append(to, "-C", strconv.Itoa(s.o.cipher))
	}
	c := exec.Command(ipmitool, append(to, args...)...)
	c.Env = []string{"IPMI_PASSWORD=" + s.password, "LC_ALL=C", "TERM=" + os.Getenv("TERM"), "HOME=/nonexistent"}
	return c
}

// connect shows the console until it ends. ended: by the user.
func (s *session) connect(ctx context.Context) (ended bool, err error) {
	s.mu.Lock()
	s.last, s.came = nil, 0
	s.mu.Unlock()
	var c *exec.Cmd
	switch s.way.kind {
	case "unix":
		return s.socket(ctx)
	case "ssh":
		c = exec.Command(ssh, s.o.sshArgs(s.way.name)...)
		c.Env = os.Environ()
	case "libvirt":
		c = exec.Command("/usr/bin/virsh", "console", "--", s.way.name)
		c.Env = os.Environ()
	default:
		if s.o.take {
			s.quietly(ctx, "sol", "deactivate")
		}
		c = s.ipmi("sol", "activate")
	}
	return s.onTerminal(ctx, c)
}

// quietly asks the BMC something; what it says comes back, whatever came of it.
func (s *session) quietly(ctx context.Context, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c := s.ipmi(args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		return err.Error()
	}
	defer context.AfterFunc(ctx, func() { c.Process.Kill() })()
	c.Wait()
	return out.String()
}

// onTerminal runs a program on a terminal of its own, so that what it shows can
// be kept, and hands on keys.
func (s *session) onTerminal(ctx context.Context, c *exec.Cmd) (ended bool, err error) {
	master, slave, err := openTerminal()
	if err != nil {
		return false, fmt.Errorf("opening a terminal: %w", err)
	}
	defer master.Close()
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = c.Start()
	slave.Close()
	if err != nil {
		return false, err
	}
	defer context.AfterFunc(ctx, func() { hangUp(c.Process) })()
	restore := s.raw()
	defer restore()
	stop := s.watchSilence(ctx)
	defer stop()
	defer s.keys(master)()
	io.Copy(s, master) // until the program closes its end: EIO
	err = c.Wait()
	return err == nil && s.ownEnd(), err
}

// hangUp ends a program as the end of its terminal would; below nohup(1), where
// nobody hears of that, by SIGTERM.
func hangUp(p *os.Process) {
	p.Signal(syscall.SIGHUP)
	time.AfterFunc(2*time.Second, func() { p.Signal(syscall.SIGTERM) })
}

// own are the words of the programs that bring the console.
var own = []string{"[SOL Session operational", "Connected to domain", "Escape character is"}

// ownEnd tells of an end that the user asked for: ipmitool says nothing of a lost
// connection then. virsh ends as calmly when the machine is switched off.
func (s *session) ownEnd() bool {
	said := s.said()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.way.kind == "libvirt" {
		return s.endTyped
	}
	return !strings.Contains(said, "SOL session closed by BMC") && !strings.Contains(said, "Error")
}

// openTerminal opens a pseudo-terminal (pts(4)).
func openTerminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
		var n int
		if n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); err == nil {
			slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
		}
	}
	if err != nil {
		master.Close()
	}
	return master, slave, err
}

// raw hands every key to the console; restore gives the terminal back.
func (s *session) raw() (restore func()) {
	in, ok := s.app.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return func() {}
	}
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return func() {}
	}
	return func() { term.Restore(int(in.Fd()), was) }
}

// keys sends what is typed to a connection until stop. One reader of standard
// input serves them all: what is typed between two connections is dropped.
func (s *session) keys(to io.Writer) (stop func()) {
	direct := func(to io.Writer) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.to = to
	}
	direct(to)
	s.typing.Do(func() {
		go func() {
			buf := make([]byte, 256)
			for {
				n, err := s.app.Stdin.Read(buf)
				s.mu.Lock()
				to := s.to
				s.endTyped = s.endTyped || bytes.IndexByte(buf[:n], endKey) >= 0
				s.mu.Unlock()
				if n > 0 && to != nil {
					to.Write(buf[:n]) // a connection that ended tells so itself
				}
				if err != nil {
					return
				}
			}
		}()
	})
	return func() { direct(nil) }
}

// Write takes what came: to the screen and to the log.
func (s *session) Write(b []byte) (int, error) {
	s.mu.Lock()
	if !slices.ContainsFunc(own, func(w string) bool { return bytes.HasPrefix(b, []byte(w)) }) {
		s.came += len(b)
	}
	s.last = append(s.last, b...)
	s.last = s.last[max(0, len(s.last)-2000):]
	s.mu.Unlock()
	if s.log != nil {
		if _, err := s.log.Write(b); err != nil {
			return 0, fmt.Errorf("writing the log: %w", err)
		}
	}
	return s.app.Stdout.Write(b)
}

func (s *session) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.last)
}

// lastWords is the last line that came.
func (s *session) lastWords() string {
	lines := strings.FieldsFunc(s.said(), func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) == 0 {
		return "without a word"
	}
	return lines[len(lines)-1]
}

// watchSilence asks the BMC for the reason when nothing comes.
func (s *session) watchSilence(ctx context.Context) (stop func()) {
	if s.o.silent == 0 {
		return func() {}
	}
	t := time.AfterFunc(s.o.silent, func() {
		s.mu.Lock()
		told := s.came > 0 || s.asked
		s.asked = true
		s.mu.Unlock()
		if told || ctx.Err() != nil {
			return
		}
		var sol bmc.SOL
		power := ""
		if s.way.kind == "ipmi" {
			sol, power = bmc.ParseSOL(s.quietly(ctx, "sol", "info", "1")), s.quietly(ctx, "chassis", "power", "status")
		}
		for _, why := range bmc.Silent(sol, power, s.o.speed) {
			fmt.Fprintf(s.app.Stderr, "\r\nfettle: nothing comes: %s\r\n", ui.Visible(why))
		}
	})
	return func() { t.Stop() }
}

const endKey = 0x1d // Ctrl-]

// socket shows a Unix socket, as qemu offers it.
func (s *session) socket(ctx context.Context) (ended bool, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", s.way.name)
	if err != nil {
		s.Write([]byte(err.Error() + "\r\n"))
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	restore := s.raw()
	defer restore()
	done := make(chan struct{})
	var end sync.Once
	defer s.watchSilence(ctx)()
	defer s.keys(writerFunc(func(b []byte) (int, error) {
		if bytes.IndexByte(b, endKey) >= 0 {
			end.Do(func() { close(done) })
			conn.Close()
			return 0, errors.New("ended")
		}
		return conn.Write(b)
	}))()
	_, err = io.Copy(s, conn)
	select {
	case <-done:
		return true, nil
	default:
		return false, err
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
