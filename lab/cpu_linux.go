package lab

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// cpus are those that this process may use, and how many machines it keeps on each.
//
// User-Mode Linux passes each system call and page fault of its guest from one process
// to another by ptrace(2). On one CPU that is a switch; on two it wakes the other each
// time, which took three to four times as long on a virtual machine of two.
type cpus struct {
	mu       sync.Mutex
	machines map[int]int
}

var places cpus

// start runs f with all that it starts kept on the CPU with the fewest machines, and
// returns what gives that place back.
func (c *cpus) start(f func() error) (free func(), err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() < 2 {
		return func() {}, f()
	}
	cpu := c.take(&allowed, os.Getpid())
	free = sync.OnceFunc(func() { c.give(cpu) })
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		free()
		return func() {}, f()
	}
	err = f()
	if unix.SchedSetaffinity(0, &allowed) != nil {
		runtime.LockOSThread() // this thread ends with its goroutine
	}
	return free, err
}

// take chooses the CPU. Processes that begin beside each other begin on different ones.
func (c *cpus) take(allowed *unix.CPUSet, from int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.machines == nil {
		c.machines = map[int]int{}
	}
	var all []int
	for cpu := 0; len(all) < allowed.Count(); cpu++ {
		if allowed.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	best := all[from%len(all)]
	for i := range all {
		if cpu := all[(from+i)%len(all)]; c.machines[cpu] < c.machines[best] {
			best = cpu
		}
	}
	c.machines[best]++
	return best
}

func (c *cpus) give(cpu int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.machines[cpu]--
}
