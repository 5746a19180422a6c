package rule

import (
	"fmt"
	"strconv"
	"strings"

	"fettle/host"
)

// readLock tells whether a process holds a lock on a file. In /proc/locks
// (proc_locks(5)) a file is its inode; the device beside it is not what stat
// says on overlayfs and btrfs, so the inode alone counts.
func readLock(r *reading, f *Fact) (*lockFact, error) {
	name := f.arg()
	i, err := r.h.Stat(r.ctx, name)
	if host.IsAbsent(err) {
		return &lockFact{seen: seen{name, "absent"}}, nil
	}
	if err != nil {
		return nil, err
	}
	if i.Ino == 0 {
		return nil, fmt.Errorf("the inode of %s: %w", name, host.ErrNotCollected)
	}
	locks, err := r.h.ReadString(r.ctx, "/proc/locks")
	if err != nil {
		return nil, err
	}
	pid, held := lockedBy(locks, i.Ino)
	brief := "no process locks " + name
	if held {
		brief = fmt.Sprintf("process %d locks %s", pid, name)
	}
	return &lockFact{seen: seen{"/proc/locks", brief}, Exists: true, Held: held, PID: pid}, nil
}

// lockedBy finds the holder of a lock on an inode: a line of /proc/locks such as
// "3: POSIX  ADVISORY  WRITE 1234 fe:00:5678 0 EOF". Those that wait have "->".
func lockedBy(locks string, ino uint64) (pid int, held bool) {
	for line := range strings.Lines(locks) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] == "->" {
			continue
		}
		if dev := strings.Split(f[5], ":"); len(dev) == 3 && dev[2] == strconv.FormatUint(ino, 10) {
			pid, _ = strconv.Atoi(f[4])
			return pid, true
		}
	}
	return 0, false
}
