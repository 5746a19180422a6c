package remedy

import "golang.org/x/sys/unix"

// noExec tells whether programs in dir do not start.
func noExec(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Flags&unix.ST_NOEXEC != 0
}
