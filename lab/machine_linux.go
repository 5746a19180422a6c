package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fettle/internal/uml"
)

// Supervise is the hidden verb under which fettle watches over a kernel: see
// Supervisor.
const Supervise = "__lab-supervise"

// machine is a kernel that runs.
type machine struct {
	cmd     *exec.Cmd
	console *tail
	leash   *os.File      // the supervisor dies when this end closes
	done    chan error    // gets how it ended, once
	gone    chan struct{} // closed when it has ended
}

// boot starts the kernel on an image (a sealed memory file) and hands every
// message of the guest to each. Nothing it makes outlives it: the kernel runs
// under a supervisor that is init of a PID namespace of its own and ends with
// us, its memory and sockets lie on a tmpfs in that supervisor's mount
// namespace, and the image has no name.
func boot(opt Options, img *os.File, memMiB int, each func(message)) (*machine, error) {
	argv, err := opt.Kernel.argv(memMiB, opt)
	if err != nil {
		return nil, err
	}
	var client []string
	if opt.client != nil {
		if client, err = opt.client.argv(opt.KVM); err != nil {
			return nil, err
		}
	}
	table, err := memoryFile("acpi", func(w io.Writer) error {
		_, err := w.Write(opt.acpi)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer table.Close()
	kernel, err := os.Open(opt.Kernel.File)
	if err != nil {
		return nil, fmt.Errorf("opening the kernel: %w", err)
	}
	defer kernel.Close()
	fromGuest, toHost, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	silent, leash, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	m := &machine{console: &tail{also: opt.Console}, leash: leash, done: make(chan error, 1), gone: make(chan struct{})}
	m.cmd = exec.Command(opt.Init, append([]string{Supervise, room(memMiB, opt.disk)}, withClient(client, argv)...)...)
	m.cmd.ExtraFiles = []*os.File{img, toHost, silent, kernel, table}
	m.cmd.Stdout, m.cmd.Stderr = m.console, m.console
	if opt.Shell != "" {
		m.cmd.Stdin, m.cmd.Stdout = os.Stdin, os.Stdout
	}
	restore := keepTerminal(opt.Shell != "")
	// A UML kernel's processes start as copies of it, whose memory it then unmaps. In
	// a static one that takes glibc's rseq(2) area along, which is their end (SIGSEGV).
	m.cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "GLIBC_TUNABLES=glibc.pthread.rseq=0"}
	m.cmd.WaitDelay = time.Second
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Setsid: true}
	if os.Geteuid() != 0 {
		m.cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		m.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		m.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	free := func() {}
	if opt.Kernel.Engine == "uml" {
		if err = uml.Help(m.cmd); err == nil {
			free, err = places.start(m.cmd.Start)
		}
	} else {
		err = m.cmd.Start()
	}
	toHost.Close()
	silent.Close()
	if err != nil {
		free()
		leash.Close()
		fromGuest.Close()
		return nil, fmt.Errorf("starting the throwaway machine in namespaces of its own: %w", err)
	}
	read := make(chan error, 1)
	go func() {
		err := readFrames(fromGuest, each)
		if err != nil {
			m.stop() // a guest that is no longer understood
		}
		read <- err
	}()
	go func() {
		werr := m.cmd.Wait()
		free()
		restore()
		close(m.gone)
		rerr := <-read
		fromGuest.Close()
		m.done <- errors.Join(rerr, werr)
	}()
	return m, nil
}

// keepTerminal returns a function that gives standard input's terminal the
// settings back that it has now: the engines make it raw, and do not get to
// mending that when they are killed.
func keepTerminal(shell bool) func() {
	if !shell {
		return func() {}
	}
	was, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), unix.TCGETS)
	if err != nil {
		return func() {}
	}
	return func() { unix.IoctlSetTermios(int(os.Stdin.Fd()), unix.TCSETSW, was) }
}

func (m *machine) stop() {
	m.leash.Close()
	m.cmd.Process.Kill()
}

// kill ends the machine and waits for it. A qemu that hangs in /dev/kvm may not
// die at once; it is not waited for longer than five seconds.
func (m *machine) kill() {
	m.stop()
	select {
	case <-m.gone:
	case <-time.After(5 * time.Second):
	}
}

// Supervisor is what the hidden verb runs: it makes the private /tmp and
// /proc, starts the kernel, and ends with it, or as soon as the pipe to
// fettle closes. Being init of its PID namespace, its end is the end of all.
func Supervisor(args []string) error {
	if os.Getpid() != 1 || len(args) < 3 {
		return errors.New("this verb is for fettle lab alone")
	}
	memMiB, disk, err := parseRoom(args[0])
	if err != nil {
		return err
	}
	client, argv, err := splitClient(args[1:])
	if err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc for the throwaway machine: %w", err)
	}
	if err := mountTmp(memMiB + disk); err != nil {
		return fmt.Errorf("mounting /tmp for the throwaway machine: %w", err)
	}
	if disk > 0 {
		if err := makeDisk(disk); err != nil {
			return fmt.Errorf("making a disk for the throwaway machine: %w", err)
		}
	}
	// Descriptor 5 is the guest's silent input: its other end closes when fettle dies.
	go func() {
		fds := []unix.PollFd{{Fd: 5, Events: unix.POLLRDHUP}}
		for {
			if n, _ := unix.Poll(fds, -1); n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0 {
				os.Exit(137)
			}
		}
	}()
	files := []*os.File{
		os.NewFile(3, "image"),
		os.NewFile(4, "channel"),
		os.NewFile(5, "silence"),
		os.NewFile(6, "kernel"),
		os.NewFile(7, "acpi"),
	}
	if os.Getenv("LD_PRELOAD") != "" {
		files = append(files, os.NewFile(8, "preload"))
	}
	if len(client) > 0 {
		if err := startClient(client); err != nil {
			return err
		}
	}
	for {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.ExtraFiles = files
		cmd.Dir = "/tmp"
		if err := cmd.Run(); disk == 0 || !wantsRestart() {
			return err
		}
	}
}

// mountTmp mounts /tmp, in memory. UML keeps the guest's memory in a file here and maps it
// executable: as large as mem=, and a little room for its sockets. In huge pages it takes half as
// long to boot (Documentation/filesystems/tmpfs.rst); kernels without them refuse the word.
func mountTmp(miB int) error {
	plain := fmt.Sprintf("mode=0700,size=%dm", miB)
	err := unix.Mount("tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, plain+",huge=within_size")
	if err == unix.EINVAL {
		err = unix.Mount("tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, plain)
	}
	return err
}

// startClient starts the second machine. It ends with the supervisor, as all do.
func startClient(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Dir = "/tmp"
	// A session has a share of the CPUs of its own (sched(7), autogroup), as the first machine has.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the client: %w", err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	return awaitClient(gone)
}

// tail keeps the last lines of a console and passes them on where asked.
type tail struct {
	mu   sync.Mutex
	buf  []byte
	also io.Writer
}

const tailBytes = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.also != nil {
		t.also.Write(p)
	}
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

// lastWords returns at most n lines: those from where the kernel began to
// complain, else the last.
func (t *tail) lastWords(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(t.buf), "\r", "")), "\n")
	from := max(0, len(all)-n)
	for i, line := range all {
		if strings.Contains(line, "Kernel panic") || strings.Contains(line, "Out of memory") {
			from = max(0, i-2)
			break
		}
	}
	return strings.Join(all[from:min(len(all), from+n)], "\n")
}

// ProbeKVM boots the kernel under KVM and tells whether it answered in time. /dev/kvm
// may exist and hang nevertheless.
func ProbeKVM(ctx context.Context, opt Options) bool {
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f.Close()
	img, err := memoryFile("probe", func(w io.Writer) error {
		return newImage(w).close()
	})
	if err != nil {
		return false
	}
	defer img.Close()
	opt.KVM, opt.Console = true, nil
	// Without an init the kernel panics soon, which reboots (panic=-1) and so ends qemu: an answer.
	m, err := boot(opt, img, 128, func(message) {})
	if err != nil {
		return false
	}
	defer m.kill()
	select {
	case <-m.done:
		return strings.Contains(m.console.lastWords(20), "panic")
	case <-time.After(4 * time.Second):
		return false
	case <-ctx.Done():
		return false
	}
}

// memoryFile makes an unnamed file in memory with what fill writes.
func memoryFile(name string, fill func(io.Writer) error) (*os.File, error) {
	fd, err := unix.MemfdCreate("fettle-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	w := bufio.NewWriterSize(f, 1<<20)
	if err := fill(w); err != nil {
		f.Close()
		return nil, err
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
