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
	if err := dropCapabilities(); err != nil {
		return s, err
	}
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
	err := installFilter(filter(r), unix.SECCOMP_FILTER_FLAG_TSYNC)
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

// handled is what rules refuse where nothing grants it, on the newest kernel
// or on one of this ABI: older ones refuse what they know.
func (r Rules) handled(abi int) landlock.Config {
	versions := []landlock.Config{landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6, landlock.V7,
		landlock.V8, landlock.V9, landlock.V10, landlock.V11}
	c := versions[min(abi, len(versions))-1]
	switch {
	case r.Program: // programs that only read ask devices for their size and the like by ioctl
		c.HandledAccessFS &^= ll.AccessFSIoctlDev
		c.HandledAccessNet = 0
	case r.Network:
		c.HandledAccessNet &= ll.AccessNetBindTCP
	}
	return c
}

// newestABI is what the library knows.
const newestABI = 11

// grant is what may be done with a file, or with a folder and all below it.
type grant struct {
	path   string
	access landlock.AccessFSSet
}

func (r Rules) grants() ([]grant, error) {
	var out []grant
	read := landlock.AccessFSSet(readAll)
	if r.Program {
		read |= ll.AccessFSExecute | ll.AccessFSResolveUnix
		out = append(out, grant{"/dev/null", writeFile})
	}
	if len(r.Read) == 0 {
		r.Read = []string{"/"}
	}
	for _, p := range r.Read {
		st, err := os.Stat(p)
		switch {
		case err != nil:
			return nil, fmt.Errorf("what may be read: %w", err)
		case !st.IsDir():
			out = append(out, grant{p, readFile})
		default:
			out = append(out, grant{p, read})
		}
	}
	for _, p := range r.Write {
		st, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("what may be written: %w", err)
		case st.IsDir():
			out = append(out, grant{p, write})
		default:
			out = append(out, grant{p, writeFile})
		}
	}
	return out, nil
}

// restrict puts the rules on all threads.
func restrict(r Rules) error {
	grants, err := r.grants()
	if err != nil {
		return err
	}
	var rules []landlock.Rule
	for _, g := range grants {
		rules = append(rules, landlock.PathAccess(g.access, g.path))
	}
	return r.handled(newestABI).BestEffort().Restrict(rules...)
}
