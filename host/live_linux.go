package host

import (
	"context"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Live is the running machine.
type Live struct {
	tree
	id Identity
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
	return &Live{tree: tree{root: "/", fd: unix.AT_FDCWD}, id: id}, nil
}

func cstr(b []byte) string { return unix.ByteSliceToString(b) }

func (l *Live) Kind() Kind         { return KindLive }
func (l *Live) Name() string       { return l.id.Hostname }
func (l *Live) Identity() Identity { return l.id }
func (l *Live) Close() error       { return nil }

// Table reads running state from netlink and /proc.
func (l *Live) Table(ctx context.Context, t Table) ([]byte, error) {
	switch t {
	case TableLinks:
		return readLinks(ctx)
	case TableRoutes6:
		return readRoutes6(ctx)
	case TableProcesses:
		return readProcesses(ctx)
	case TableOpenFiles:
		return readOpenFiles(ctx, &l.mounts)
	case TableFilesystems:
		return readFilesystems(ctx, &l.mounts)
	case TableMD:
		return readMD(ctx)
	}
	return nil, ErrNotCollected
}

// Command runs one of Commands: absolute path, clean environment, no standard
// input, its own process group, a time limit and bounded output.
func (l *Live) Command(ctx context.Context, c Command) (Output, error) {
	return runCommand(ctx, c)
}
