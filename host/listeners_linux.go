package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fettle/internal/sorted"
)

func readListeners(ctx context.Context, running *processTable) ([]byte, error) {
	all := map[uint64]Listener{}
	for _, file := range []string{"tcp", "tcp6", "udp", "udp6"} {
		b, err := os.ReadFile("/proc/self/net/" + file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // without IPv6
		}
		if err != nil {
			return nil, err
		}
		some, err := parseSockets(strings.TrimSuffix(file, "6"), string(b))
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	if err := holders(ctx, all, running); err != nil {
		return nil, err
	}
	out := slices.AppendSeq([]Listener{}, maps.Values(all))
	sorted.By(out, func(a, b Listener) int {
		return strings.Compare(a.Proto+a.Address+strconv.Itoa(a.Port), b.Proto+b.Address+strconv.Itoa(b.Port))
	})
	return json.Marshal(out)
}

// holders finds the process of each socket: the one that has it open with the lowest PID, first
// among those that candidates names first.
func holders(ctx context.Context, sockets map[uint64]Listener, running *processTable) error {
	all, err := candidates(ctx, running)
	if err != nil {
		return err
	}
	left := len(sockets)
	buf := make([]byte, 64<<10)
	here := home()
	for _, pid := range all {
		if ctx.Err() != nil || left == 0 {
			return ctx.Err()
		}
		fd, err := openProcess(pid)
		if err != nil {
			continue
		}
		for _, inode := range socketsOf(fd) {
			l, wanted := sockets[inode]
			if !wanted || l.PID != 0 {
				continue
			}
			if p, ok := processOf(fd, pid, here, buf); ok {
				l.Process = p
				sockets[inode] = l
				left--
			}
		}
		unix.Close(fd)
	}
	return nil
}

// candidates are all processes, the first of each name before the second ones: what listens are a few
// programs, and a host's thousands of processes are many of the same ones. Their descriptors are what
// takes long.
func candidates(ctx context.Context, running *processTable) ([]int, error) {
	ps, err := running.read(ctx)
	if err != nil { // some are hidden: one's own may hold a socket
		return pids()
	}
	byName, rounds := map[string]int{}, make([]int, len(ps))
	order := make([]int, len(ps))
	for i, p := range ps { // by PID
		rounds[i], order[i] = byName[p.Comm], i
		byName[p.Comm]++
	}
	sorted.By(order, func(a, b int) int { return cmp.Compare(rounds[a], rounds[b]) })
	out := make([]int, len(ps))
	for i, o := range order {
		out[i] = ps[o].PID
	}
	return out, nil
}

// socketsOf are the inodes of the sockets that a process holds; none where that is not shown.
func socketsOf(dirfd int) (out []uint64) {
	fds, err := unix.Openat(dirfd, "fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	d := os.NewFile(uintptr(fds), "fd")
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, n := range names {
		link, err := readlinkAt(fds, n)
		if err != nil {
			continue
		}
		if digits, ok := strings.CutPrefix(link, "socket:["); ok {
			if inode, err := strconv.ParseUint(strings.TrimSuffix(digits, "]"), 10, 64); err == nil {
				out = append(out, inode)
			}
		}
	}
	return out
}
