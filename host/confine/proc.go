package confine

import (
	"regexp"

	"fettle/internal/lazy"
)

// Entries of other processes in /proc that need PTRACE_MODE_READ (ptrace(2)),
// which Landlock refuses even to root (security/landlock/task.c). A parent
// reads exactly these for its child: nothing that holds secrets (environ), and
// nothing through a link into another process's files (root/, cwd/).
var (
	procFile = lazyRegexp(lazy.Regexp(`^/proc/[0-9]+/(maps|smaps|smaps_rollup|numa_maps|io|fdinfo/[0-9]+)$`))
	// Empty under Landlock (fs/proc/base.c, environ_read), or secret.
	procSecret = lazyRegexp(lazy.Regexp(`^/proc/[0-9]+/(environ|auxv|mem|pagemap|syscall|stack|personality)$`))
	procDir    = lazyRegexp(lazy.Regexp(`^/proc/[0-9]+/(fd|fdinfo|map_files)$`))
	procLink   = lazyRegexp(lazy.Regexp(`^/proc/[0-9]+/(exe|cwd|root|fd/[0-9]+|map_files/[0-9a-f]+-[0-9a-f]+|ns/[a-z_]+)$`))
)

// lazyRegexp is compiled when it is first used: most runs never do.
type lazyRegexp func() *regexp.Regexp

func (l lazyRegexp) MatchString(s string) bool {
	return len(s) > 6 && s[:6] == "/proc/" && '0' <= s[6] && s[6] <= '9' && l().MatchString(s)
}
