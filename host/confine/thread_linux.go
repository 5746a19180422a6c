package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// inThread calls f in a thread of its own that ends with it, whatever f gave
// up there. The Go runtime makes no threads out of such a thread.
func inThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			f() // and is never unlocked
			return
		}
		inThread(f) // the process's first thread would stay, and stand for the process in /proc
		runtime.UnlockOSThread()
	}()
	<-done
}

// confineThread confines the calling thread alone, and what it starts.
func confineThread(r Rules, abi int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	if abi > 0 {
		if err := restrictThread(r, abi); err != nil {
			return fmt.Errorf("restricting with Landlock: %w", err)
		}
	}
	if err := installFilter(filter(r), 0); err != nil && !errors.Is(err, errNoFilter) {
		return fmt.Errorf("installing the system call filter: %w", err)
	}
	return nil
}

// restrictThread is restrict for one thread, which the library does not know.
func restrictThread(r Rules, abi int) error {
	grants, err := r.grants()
	if err != nil {
		return err
	}
	handled := r.handled(abi)
	attr := ll.RulesetAttr{
		HandledAccessFS:  uint64(handled.HandledAccessFS),
		HandledAccessNet: uint64(handled.HandledAccessNet),
		Scoped:           uint64(handled.Scoped),
	}
	set, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("making a rule set: %w", err)
	}
	defer unix.Close(set)
	for _, g := range grants {
		if err := g.add(set, attr.HandledAccessFS); err != nil {
			return fmt.Errorf("granting %s: %w", g.path, err)
		}
	}
	return ll.LandlockRestrictSelf(set, 0)
}

// add puts what the kernel knows of a grant into a rule set.
func (g grant) add(set int, known uint64) error {
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return ll.LandlockAddPathBeneathRule(set, &ll.PathBeneathAttr{ParentFd: fd, AllowedAccess: uint64(g.access) & known}, 0)
}
