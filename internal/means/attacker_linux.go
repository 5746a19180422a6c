package means

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Nobody is a user without any rights, whom every host has; Staff is a group.
const (
	Nobody = 65534
	Staff  = 50
)

// AsNobody runs do on a thread whose effective user is Nobody.
func AsNobody(t *testing.T, do func()) {
	t.Helper()
	Root(t)
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // and never unlocked: it ends with the goroutine
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), Nobody, ^uintptr(0))
		defer func() { done <- errno }() // also when do ends its goroutine, as t.Fatal does
		if errno == 0 {
			do()
		}
	}()
	if errno := <-done; errno != 0 {
		t.Fatal(errno)
	}
}

// Attacker repeats an act until stop, with the rights to files of Nobody as a
// member of Staff: whatever he may not do fails. Stop tells how often it ran.
func Attacker(t *testing.T, act func()) (stop func() int) {
	t.Helper()
	Root(t)
	var over atomic.Bool
	rounds := make(chan int, 1)
	go func() {
		runtime.LockOSThread() // which ends with the goroutine, and its rights with it
		groups := []uint32{Staff}
		_, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0])), 0)
		unix.Setfsgid(Nobody)
		unix.Setfsuid(Nobody)
		if now, _ := unix.SetfsuidRetUid(-1); e != 0 || now != Nobody {
			t.Errorf("becoming the attacker: %v", e)
			rounds <- 0
			return
		}
		n := 0
		for ; !over.Load(); n++ {
			act()
		}
		rounds <- n
	}()
	stopped := false
	stop = func() int {
		if stopped {
			return 0
		}
		stopped = true
		over.Store(true)
		return <-rounds
	}
	t.Cleanup(func() { stop() })
	return stop
}
