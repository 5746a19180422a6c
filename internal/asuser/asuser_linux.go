// Package asuser does something to files with a user's rights instead of
// root's: in a folder that somebody else can change at any time, no link of
// his then leads anywhere he could not go himself.
package asuser

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Do runs f with the file system rights of a user, his groups among them, on
// a thread of its own that ends with it (setfsuid(2)). Linux drops the
// capabilities that would override them (capabilities(7)).
//
// f runs on another thread than its caller: where that one has a mount
// namespace of its own, f has to name files by descriptor.
func Do(uid, gid uint32, groups []uint32, f func() error) error {
	if uint32(os.Geteuid()) == uid {
		return f()
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("acting as user ID %d needs root", uid)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its changed rights
		if err := Become(uid, gid, groups); err != nil {
			done <- fmt.Errorf("becoming user ID %d: %w", uid, err)
			return
		}
		done <- f()
	}()
	return <-done
}

// Become gives the calling thread these rights to files, and it alone, unlike
// syscall.Setgroups and its kin. After an error it may have some of them.
func Become(uid, gid uint32, groups []uint32) error {
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
