package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fettle/engine/trap"
	"fettle/host"
)

// Traps that do what no trap may. The test program knows them when it is
// started as a confined child (TestMain).

// victims is the folder they try to change. It lies beside the test program,
// because a child has no environment to be told it in.
var victims = func() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return filepath.Join(filepath.Dir(exe), "victims")
}()

func init() {
	any := func([]string) bool { return true }
	for _, name := range []string{"touch", "chmod", "tee", "sleep", "cat", "yes", "sh"} {
		host.Commands["test-"+name] = host.CommandSpec{Paths: []string{"/usr/bin/" + name, "/bin/" + name}, Allow: any,
			Limit: 2 * time.Second, MaxOutput: 1 << 20, Write: []string{filepath.Join(victims, "lock")}}
	}
}

// mutations each try one change, and return what came of it.
var mutations = map[string]func() error{
	"write-tmp":      func() error { return os.WriteFile("/tmp/fettle-evil", []byte("x"), 0o644) },
	"write-home":     func() error { return os.WriteFile("/root/.fettle-evil", []byte("x"), 0o644) },
	"write-existing": func() error { return os.WriteFile(victims+"/file", []byte("x"), 0o644) },
	"append":         func() error { return open(victims+"/file", os.O_APPEND|os.O_WRONLY) },
	"open-trunc":     func() error { return open(victims+"/file", os.O_RDONLY|os.O_TRUNC) },
	"open-tmpfile":   func() error { return open(victims, unix.O_TMPFILE|os.O_RDWR) },
	"open-rdwr":      func() error { return open(victims+"/file", os.O_RDWR) },
	"open-dev-null":  func() error { return open("/dev/null", os.O_WRONLY) },
	"proc-sys":       func() error { return open("/proc/sys/vm/swappiness", os.O_WRONLY) },
	"sys":            func() error { return open("/sys/kernel/mm/ksm/run", os.O_WRONLY) },
	"proc-self":      func() error { return open("/proc/self/oom_score_adj", os.O_WRONLY) },
	"mkdir":          func() error { return os.Mkdir(victims+"/new", 0o755) },
	"rmdir":          func() error { return unix.Rmdir(victims + "/folder") },
	"unlink":         func() error { return unix.Unlink(victims + "/file") },
	"unlinkat":       func() error { return unix.Unlinkat(unix.AT_FDCWD, victims+"/file", 0) },
	"rename":         func() error { return os.Rename(victims+"/file", victims+"/file2") },
	"link":           func() error { return os.Link(victims+"/file", victims+"/file2") },
	"symlink":        func() error { return os.Symlink("x", victims+"/link") },
	"chmod":          func() error { return os.Chmod(victims+"/file", 0o777) },
	"fchmod":         func() error { return withFile(func(fd int) error { return unix.Fchmod(fd, 0o777) }) },
	"fchmodat2":      func() error { return unix.Fchmodat(unix.AT_FDCWD, victims+"/file", 0o777, unix.AT_SYMLINK_NOFOLLOW) },
	"chown":          func() error { return os.Chown(victims+"/file", 1, 1) },
	"fchown":         func() error { return withFile(func(fd int) error { return unix.Fchown(fd, 1, 1) }) },
	"utimes":         func() error { return os.Chtimes(victims+"/file", time.Unix(1, 0), time.Unix(1, 0)) },
	"setxattr":       func() error { return unix.Setxattr(victims+"/file", "user.x", []byte("1"), 0) },
	"removexattr":    func() error { return unix.Removexattr(victims+"/file", "user.x") },
	"truncate":       func() error { return os.Truncate(victims+"/file", 0) },
	"chattr": func() error {
		return withFile(func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0) })
	},
	"mknod":  func() error { return unix.Mknod(victims+"/node", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) },
	"mkfifo": func() error { return unix.Mkfifo(victims+"/fifo2", 0o666) },
	"openat2": func() error {
		fd, err := unix.Openat2(unix.AT_FDCWD, victims+"/file", &unix.OpenHow{Flags: unix.O_WRONLY})
		return closing(fd, err)
	},
	"fd-reopen": func() error { // a descriptor handed over, opened again for writing
		return open("/proc/self/fd/2", os.O_WRONLY)
	},
	"exec":        func() error { return exec.Command("/bin/true").Run() },
	"execve":      func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) },
	"mount":       func() error { return unix.Mount("none", victims+"/folder", "tmpfs", 0, "") },
	"umount":      func() error { return unix.Unmount("/proc", unix.MNT_DETACH) },
	"unshare":     func() error { return unix.Unshare(unix.CLONE_NEWNS) },
	"chroot":      func() error { return unix.Chroot(victims) },
	"hostname":    func() error { return unix.Sethostname([]byte("evil")) },
	"clock":       func() error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{Sec: 1}) },
	"kill-parent": func() error { return syscall.Kill(os.Getppid(), 0) },
	"kill-init":   func() error { return syscall.Kill(1, 0) },
	"ptrace":      func() error { return unix.PtraceAttach(os.Getppid()) },
	"renice":      func() error { return unix.Setpriority(unix.PRIO_PROCESS, os.Getppid(), 5) },
	"module":      func() error { return unix.DeleteModule("no_such_module", 0) },
	"klogctl":     func() error { _, err := unix.Klogctl(unix.SYSLOG_ACTION_CLEAR, nil); return err },
	"tcp-connect": func() error { return dial("tcp", "127.0.0.1:9") },
	"tcp-listen":  func() error { return listen("tcp", "127.0.0.1:0") },
	"udp":         func() error { return dial("udp", "127.0.0.1:9") },
	"unix-socket": func() error { return dial("unix", victims+"/socket") },
	"abstract":    func() error { return dial("unix", "@fettle-evil") },
	"netlink":     func() error { return closing(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)) },
	"packet":      func() error { return closing(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)) },
	"io-uring": func() error {
		params := make([]byte, 120)
		fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(pointer(params)), 0)
		return closing(int(fd), errnoErr(errno))
	},
	// Root's other processes hold secrets in their environments.
	"environ":     func() error { return readSome("/proc/" + strconv.Itoa(os.Getppid()) + "/environ") },
	"environ-1":   func() error { return readSome("/proc/1/environ") },
	"mem-of-1":    func() error { return open("/proc/1/mem", os.O_RDONLY) },
	"raw-socket":  func() error { return closing(unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)) },
	"raw-socket6": func() error { return closing(unix.Socket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6)) },
	"inotify":     func() error { return closing(unix.InotifyInit1(0)) },
	"msync":       func() error { return onPage(func(p []byte) error { return unix.Msync(p, unix.MS_SYNC) }) },
	"mbind": func() error {
		return onPage(func(p []byte) error {
			_, _, e := unix.Syscall6(unix.SYS_MBIND, uintptr(pointer(p)), uintptr(len(p)), 0, 0, 0, 1<<2 /* MPOL_MF_MOVE_ALL */)
			return errnoErr(e)
		})
	},
	"sysv-shm": func() error { _, err := unix.SysvShmGet(0x0fe77e, 4096, 0o600|unix.IPC_CREAT); return err },
}

func open(name string, flags int) error { return closing(unix.Open(name, flags|unix.O_CLOEXEC, 0o644)) }

// readSome fails where nothing comes: what must not be read may look empty.
func readSome(name string) error {
	b, err := os.ReadFile(name)
	if err == nil && len(b) == 0 {
		err = fs.ErrPermission
	}
	return err
}

func onPage(f func([]byte) error) error {
	p, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	defer unix.Munmap(p)
	return f(p)
}

func closing(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func withFile(f func(fd int) error) error {
	fd, err := unix.Open(victims+"/file", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("reading must work: %v", err)
	}
	defer unix.Close(fd)
	return f(fd)
}

func dial(network, addr string) error {
	c, err := net.Dial(network, addr)
	if err == nil {
		c.Close()
	}
	return err
}

func listen(network, addr string) error {
	l, err := net.Listen(network, addr)
	if err == nil {
		l.Close()
	}
	return err
}

// evil makes a trap of a check.
func evil(id string, check func(ctx context.Context, h *host.Host, r *trap.Report) error) *trap.Trap {
	return &trap.Trap{Lore: trap.Lore("---\nid: " + id + "\ntitle: " + id + "\n---\n"), Check: check}
}

// EvilTraps lists them all.
func EvilTraps() []*trap.Trap {
	var out []*trap.Trap
	for name, try := range mutations {
		out = append(out, evil("mutate-"+name, func(_ context.Context, _ *host.Host, r *trap.Report) error {
			switch err := try(); {
			case err == nil:
				r.Found(trap.Finding{Severity: trap.Critical, Summary: "it worked"})
			case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOSYS):
				r.Clear("", err.Error())
			default:
				return err
			}
			return nil
		}))
	}
	for id, check := range behaviours {
		out = append(out, evil(id, check))
	}
	sampled := evil("sampled", func(ctx context.Context, _ *host.Host, r *trap.Report) error {
		r.Clear("", fmt.Sprint("sampled over ", trap.Interval(ctx)))
		return nil
	})
	sampled.Cost = trap.Sampled
	network := evil("network", func(_ context.Context, _ *host.Host, r *trap.Report) error {
		for subject, err := range map[string]error{"connect": dial("tcp", "127.0.0.1:9"), "udp": dial("udp", "127.0.0.1:9"),
			"listen": listen("tcp", "127.0.0.1:0"), "unix": dial("unix", victims+"/socket"), "raw": mutations["raw-socket"](),
			"raw6": mutations["raw-socket6"](), "write": mutations["write-tmp"]()} {
			switch {
			case errors.Is(err, fs.ErrPermission):
				r.NotApplicable(subject, "refused")
			case err == nil, errors.Is(err, syscall.ECONNREFUSED):
				r.Clear(subject, "let through")
			default:
				return err
			}
		}
		return nil
	})
	network.Cost = trap.Network
	out = append(out, sampled, network)
	for _, line := range []string{"touch " + victims + "/made", "chmod 777 " + victims + "/file", "tee " + victims + "/lock/made",
		"cat " + victims + "/file", "sleep 60", "yes", "sh -c exit\t3", "sh -c ls\t-l\t/proc/self/fd"} {
		words := strings.Fields(strings.ReplaceAll(line, "\t", "_"))
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "_", " ")
		}
		out = append(out, evil("run-"+strings.ReplaceAll(line, "\t", " "), func(ctx context.Context, h *host.Host, r *trap.Report) error {
			res, err := h.Run(ctx, "test-"+words[0], words[1:]...)
			if err != nil {
				return err
			}
			r.Clear("", fmt.Sprintf("exit %d: %s%s", res.Exit, res.Stdout, res.Stderr))
			return nil
		}))
	}
	return out
}

var behaviours = map[string]func(ctx context.Context, h *host.Host, r *trap.Report) error{
	"good": func(_ context.Context, _ *host.Host, r *trap.Report) error { r.Clear("", "all is well"); return nil },
	"panics": func(context.Context, *host.Host, *trap.Report) error {
		panic("oh no")
	},
	"goexit": func(context.Context, *host.Host, *trap.Report) error { runtime.Goexit(); return nil },
	"hangs":  func(context.Context, *host.Host, *trap.Report) error { select {} },
	"spins": func(context.Context, *host.Host, *trap.Report) error {
		//lint:ignore SA5002 spinning is what it is for
		for { /* the runtime must preempt it with tgkill */
		}
	},
	"silent": func(context.Context, *host.Host, *trap.Report) error { return nil },
	"exits":  func(context.Context, *host.Host, *trap.Report) error { os.Exit(7); return nil },
	"killed": func(context.Context, *host.Host, *trap.Report) error {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	},
	"fatal":   func(context.Context, *host.Host, *trap.Report) error { debug.SetMaxStack(1 << 16); return recurse(1) },
	"garbage": func(context.Context, *host.Host, *trap.Report) error { unix.Write(3, make([]byte, 100)); select {} },
	"hangs-up": func(context.Context, *host.Host, *trap.Report) error {
		unix.Shutdown(3, unix.SHUT_RDWR)
		select {}
	},
	"asks-much": func(ctx context.Context, h *host.Host, _ *trap.Report) error {
		for i := range 10_000 {
			go h.Run(ctx, "test-sleep", "1", fmt.Sprint(i))
		}
		select {}
	},
	"goroutine-panics": func(context.Context, *host.Host, *trap.Report) error {
		go panic("in a goroutine")
		select {}
	},
	"floods": func(_ context.Context, _ *host.Host, r *trap.Report) error {
		ev := trap.Ev("somewhere", "%01000d", 1)
		for i := range 1_000_000 {
			r.Clear("subject"+strconv.Itoa(i), "clear", ev)
		}
		r.Found(trap.Finding{Subject: "the last", Severity: trap.Warning, Summary: "must not be lost"})
		return nil
	},
	"talks": func(_ context.Context, _ *host.Host, r *trap.Report) error {
		o := trap.Finding{Severity: trap.Notice, Summary: strings.Repeat("x", 1<<20)}
		for range 1_000_000 {
			o.Evidence = append(o.Evidence, trap.Ev("a", "b"))
		}
		r.Found(o)
		return nil
	},
	"tables": func(ctx context.Context, h *host.Host, r *trap.Report) error {
		ps, err := h.Processes(ctx)
		if err != nil {
			return err
		}
		links, err := h.Links(ctx)
		if err != nil {
			return err
		}
		r.Clear("", fmt.Sprintf("processes: %t, links: %t", len(ps) > 1, len(links) > 0))
		return nil
	},
	"other-processes": func(ctx context.Context, h *host.Host, r *trap.Report) error {
		dir := fmt.Sprintf("/proc/%d", os.Getppid())
		exe, err := h.Readlink(ctx, dir+"/exe")
		if err != nil {
			return err
		}
		maps, err := h.ReadString(ctx, dir+"/maps")
		if err != nil {
			return err
		}
		fds, err := h.ReadDir(ctx, dir+"/fd")
		if err != nil {
			return err
		}
		if _, err := h.ReadString(ctx, dir+"/environ"); !errors.Is(err, host.ErrDenied) {
			r.Found(trap.Finding{Severity: trap.Critical, Summary: "environ can be read"})
		}
		if _, err := h.ReadString(ctx, dir+"/root/etc/passwd"); !errors.Is(err, host.ErrDenied) {
			r.Found(trap.Finding{Severity: trap.Critical, Summary: "root/ can be followed"})
		}
		r.Clear("", fmt.Sprintf("exe %t, maps %t, fd %t", exe != "", strings.Contains(maps, "[stack]"), len(fds) > 3))
		return nil
	},
	"foreign": func(ctx context.Context, h *host.Host, r *trap.Report) error { // of an archive
		name, err := h.ReadString(ctx, "/etc/hostname")
		if err != nil {
			return err
		}
		if _, err := os.ReadFile("/etc/passwd"); !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("this host's own files can be read: %v", err)
		}
		big, err := h.ReadFile(ctx, "/var/log/noise")
		if !errors.Is(err, host.ErrTooBig) {
			return fmt.Errorf("%d bytes, %w", len(big), err)
		}
		r.Clear("", name)
		return nil
	},
	"descriptors": func(_ context.Context, _ *host.Host, r *trap.Report) error {
		es, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		for _, e := range es {
			to, _ := os.Readlink("/proc/self/fd/" + e.Name())
			if strings.Contains(to, "victims") {
				r.Found(trap.Finding{Subject: e.Name(), Severity: trap.Critical, Summary: to})
			}
		}
		r.Clear("", "nothing was left open")
		return nil
	},
	"vanishing": func(ctx context.Context, h *host.Host, r *trap.Report) error {
		_, err := h.ReadFile(ctx, "/proc/4194304/status") // above PID_MAX_LIMIT: nobody has it
		if !host.IsAbsent(err) {
			return fmt.Errorf("want absent: %w", err)
		}
		r.Clear("", "gone is absent")
		return nil
	},
}

func recurse(n int) error {
	var b [1024]byte
	b[n%1024] = byte(n)
	//lint:ignore SA5007 it shall overflow the stack
	return errors.Join(recurse(n+1), recurse(int(b[0])))
}
