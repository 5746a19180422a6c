// Package asuser works on files with a user's rights instead of root's: in a
// folder that the user can change at any time, none of his links then leads
// anywhere he could not go himself.
package asuser

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrRefused says that the kernel did not give the rights, and that f was not run.
var ErrRefused = errors.New("the user's rights were refused")

// Do runs f on the calling thread with the file system rights of a user, his groups
// among them (setfsuid(2)), and then gives the thread its own back. Linux drops the
// capabilities that would override permissions meanwhile (capabilities(7)).
func Do(uid, gid uint32, groups []uint32, f func() error) error {
	if uint32(os.Geteuid()) == uid {
		return f()
	}
	own, err := unix.Getgroups()
	if err != nil {
		return err
	}
	var before []uint32
	for _, g := range own {
		before = append(before, uint32(g))
	}
	runtime.LockOSThread()
	defer func() {
		// A thread that kept the user's rights is never used again.
		if become(uint32(os.Geteuid()), uint32(os.Getegid()), before) == nil {
			runtime.UnlockOSThread()
		}
	}()
	if err := become(uid, gid, groups); err != nil {
		return fmt.Errorf("becoming user ID %d: %w: %w", uid, ErrRefused, err)
	}
	return f()
}

// become gives the calling thread these rights to files, and it alone, unlike
// syscall.Setgroups and its kin. After an error it may have some of them.
func become(uid, gid uint32, groups []uint32) error {
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(unsafe.SliceData(groups))), 0); e != 0 {
		return fmt.Errorf("giving up root's groups: %w", e)
	}
	unix.Setfsgid(int(gid))
	unix.Setfsuid(int(uid))
	// Both calls return the ID of before and no error; asked again, they tell.
	if now, _ := unix.SetfsgidRetGid(-1); uint32(now) != gid {
		return fmt.Errorf("group ID %d: %w", gid, unix.EPERM)
	}
	if now, _ := unix.SetfsuidRetUid(-1); uint32(now) != uid {
		return unix.EPERM
	}
	return nil
}
