package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// ABI is the version of the kernel's Landlock; 0 when it has none, or when it
// was not enabled at boot.
func ABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// Self confines this process and all its threads, for good. It does what the
// kernel knows and returns what that was; an error says that something the
// kernel should know went wrong, and that the process must not go on.
func Self(r Rules) (State, error) { return confineSelf(r, ABI()) }

// confineSelf is Self on a kernel with this ABI of Landlock.
func confineSelf(r Rules, abi int) (State, error) {
	s := State{Landlock: abi}
	if s.Landlock > 0 {
		if err := restrict(r); err != nil {
			return s, fmt.Errorf("restricting with Landlock: %w", err)
		}
	}
	runtime.LockOSThread() // no_new_privs is the thread's; the filter carries it to the others
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return s, fmt.Errorf("setting no_new_privs: %w", err)
	}
	err := installFilter(filter(r))
	switch {
	case err == nil:
		s.Filter = true
	case !errors.Is(err, errNoFilter):
		return s, fmt.Errorf("installing the system call filter: %w", err)
	}
	return s, nil
}

const (
	readFile = ll.AccessFSReadFile
	readAll  = readFile | ll.AccessFSReadDir
	// write is what a folder listed in Rules.Write grants; of files only the
	// part that files have. Refer is never granted: names stay in their folder.
	write = readAll | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym | ll.AccessFSMakeSock | ll.AccessFSMakeFifo
	writeFile = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
)

// restrict builds the rule set. Everything the newest known ABI can refuse is
// refused unless listed; older kernels refuse what they know.
func restrict(r Rules) error {
	handled := landlock.V11
	var rules []landlock.Rule
	read := landlock.AccessFSSet(readAll)
	if r.Program {
		read |= ll.AccessFSExecute | ll.AccessFSResolveUnix
		// Programs that only read ask devices for their size and the like by ioctl.
		handled.HandledAccessFS &^= ll.AccessFSIoctlDev
		handled.HandledAccessNet = 0
		rules = append(rules, landlock.PathAccess(writeFile, "/dev/null"))
	}
	if r.Network {
		handled.HandledAccessNet = ll.AccessNetBindTCP
	}
	if len(r.Read) == 0 {
		r.Read = []string{"/"}
	}
	for _, p := range r.Read {
		st, err := os.Stat(p)
		switch {
		case err != nil:
			return fmt.Errorf("what may be read: %w", err)
		case !st.IsDir():
			rules = append(rules, landlock.PathAccess(readFile, p))
		default:
			rules = append(rules, landlock.PathAccess(read, p))
		}
	}
	for _, p := range r.Write {
		st, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("what may be written: %w", err)
		case st.IsDir():
			rules = append(rules, landlock.PathAccess(write, p))
		default:
			rules = append(rules, landlock.PathAccess(writeFile, p))
		}
	}
	return handled.BestEffort().Restrict(rules...)
}
