package host

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Live is the running machine.
type Live struct {
	tree
	id        Identity
	processes processTable
}

// NewLive opens the running machine.
func NewLive() (*Live, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	id := Identity{Hostname: cstr(u.Nodename[:]), Sysname: cstr(u.Sysname[:]), Release: cstr(u.Release[:]),
		Version: cstr(u.Version[:]), Machine: cstr(u.Machine[:]), Time: time.Now().UTC(), EUID: os.Geteuid()}
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		id.BootID = strings.TrimSpace(string(b))
	}
	return &Live{tree: tree{root: "/", fd: unix.AT_FDCWD, euid: id.EUID}, id: id}, nil
}

func cstr(b []byte) string { return unix.ByteSliceToString(b) }

func (l *Live) Kind() Kind         { return KindLive }
func (l *Live) Name() string       { return l.id.Hostname }
func (l *Live) Identity() Identity { return l.id }
func (l *Live) Close() error       { return nil }

// mounted tells the absence of a file from that of the whole file system: in a
// chroot or a rescue shell without /proc and /sys nothing is known of the
// kernel, and "no such file" is no answer.
func mounted(name string, err error) error {
	if err == nil || !IsAbsent(err) {
		return err
	}
	for top, magic := range map[string]int64{"/proc": unix.PROC_SUPER_MAGIC, "/sys": unix.SYSFS_MAGIC} {
		if name != top && !strings.HasPrefix(name, top+"/") {
			continue
		}
		var st unix.Statfs_t
		serr := unix.Statfs(top, &st)
		switch {
		case serr == unix.ENOENT:
			return fmt.Errorf("%s: %w", top, ErrNotMounted)
		case serr != nil || int64(st.Type) == magic:
		case top == "/sys" && kernelMade(name, top, int64(st.Type)):
		case top == "/sys" && int64(st.Type) == unix.TMPFS_MAGIC:
			return fmt.Errorf("%s: %w", name, ErrHidden)
		default:
			return fmt.Errorf("%s: %w", top, ErrNotMounted)
		}
	}
	return err
}

// kernelMade reports whether the deepest folder above name that is there, below
// top, is the kernel's own, and not of what lies on top: some containers
// (systemd-nspawn's) have a tmpfs on /sys, with parts of sysfs mounted in it. What
// such a part lacks is absent.
func kernelMade(name, top string, on int64) bool {
	for dir := path.Dir(name); dir != top && len(dir) > len(top); dir = path.Dir(dir) {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			return int64(st.Type) != on
		}
	}
	return false
}

func (l *Live) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	b, err := l.tree.ReadFile(ctx, name, limit)
	return b, mounted(name, err)
}

func (l *Live) ReadDir(ctx context.Context, name string) ([]Entry, error) {
	list, err := l.tree.ReadDir(ctx, name)
	return list, mounted(name, err)
}

func (l *Live) Stat(ctx context.Context, name string, follow bool) (Info, error) {
	i, err := l.tree.Stat(ctx, name, follow)
	return i, mounted(name, err)
}

func (l *Live) Readlink(ctx context.Context, name string) (string, error) {
	target, err := l.tree.Readlink(ctx, name)
	return target, mounted(name, err)
}

// Table reads running state from netlink and /proc.
func (l *Live) Table(ctx context.Context, t Table) ([]byte, error) {
	switch t {
	case TableLinks:
		return readLinks(ctx)
	case TableRoutes6:
		return readRoutes6(ctx)
	case TableRoutes4:
		return readRoutes4(ctx)
	case TableRules:
		return readRules(ctx)
	case TableNeighbours:
		return readNeighbours(ctx)
	case TableProcesses:
		return l.processes.json(ctx)
	case TableOpenFiles:
		return readOpenFiles(ctx, &l.mounts)
	case TableFilesystems:
		return readFilesystems(ctx, &l.mounts)
	case TableHeld:
		return readHeld(ctx)
	case TableListeners:
		return readListeners(ctx, &l.processes)
	case TableMD:
		return readMD(ctx)
	case TableJournal:
		return ReadJournal(ctx, runCommand)
	}
	if url, ok := t.Page(); ok {
		return readPage(ctx, url)
	}
	if name, services, ok := t.DNS(); ok {
		return readNames(ctx, name, services)
	}
	if t.Talks() {
		return readPeer(ctx, t)
	}
	return nil, ErrNotCollected
}

// Command runs one of Commands: absolute path, clean environment, no standard
// input, its own process group, a time limit and bounded output.
func (l *Live) Command(ctx context.Context, c Command) (Output, error) {
	return runCommand(ctx, c)
}
