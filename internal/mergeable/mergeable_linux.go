// Package mergeable allocates memory as virtual machines do, for proofs and tests
// of kernel samepage merging.
package mergeable

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Guest is a stand-in for a virtual machine.
type Guest struct {
	MiB   int     // of private anonymous memory with MADV_MERGEABLE, as qemu's
	Equal float64 // share of its pages that have one of 128 contents, the same in every guest
	Churn float64 // MiB a second that are written again, with what was there
	Ready string  // the file that is made once all is written
}

// kvm ends the arguments: ksmtuned counts processes whose command line has it.
const kvm = "-enable-kvm"

// Parse reads what Args writes.
func Parse(args []string) (g Guest, err error) {
	if len(args) != 5 || args[4] != kvm {
		return g, fmt.Errorf("expected READY MIB EQUAL CHURN %s", kvm)
	}
	g.Ready = args[0]
	if g.MiB, err = strconv.Atoi(args[1]); err != nil || g.MiB < 1 {
		return g, fmt.Errorf("%q is not a number of MiB", args[1])
	}
	for i, into := range []*float64{&g.Equal, &g.Churn} {
		if *into, err = strconv.ParseFloat(args[i+2], 64); err != nil || *into < 0 {
			return g, fmt.Errorf("%q is not a number", args[i+2])
		}
	}
	return g, nil
}

// Args are the arguments that Parse reads.
func (g Guest) Args() []string {
	return []string{g.Ready, strconv.Itoa(g.MiB), fmt.Sprint(g.Equal), fmt.Sprint(g.Churn), kvm}
}

// Hold takes the memory, writes it, makes the file, and never returns unless
// that fails. The process calls itself a qemu.
func (g Guest) Hold() error {
	if err := os.WriteFile("/proc/self/comm", []byte("qemu-stand-in"), 0); err != nil {
		return err
	}
	mem, err := unix.Mmap(-1, 0, g.MiB<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("taking %d MiB of memory: %w", g.MiB, err)
	}
	if err := unix.Madvise(mem, unix.MADV_MERGEABLE); err != nil {
		return fmt.Errorf("madvise(MADV_MERGEABLE): %w: has this kernel KSM?", err)
	}
	page := os.Getpagesize()
	n := len(mem) / page
	for i := range n {
		binary.LittleEndian.PutUint64(mem[i*page:], g.content(i))
	}
	if err := os.WriteFile(g.Ready, nil, 0o644); err != nil {
		return err
	}
	const ticks = 20 // a second
	var owed float64
	for {
		time.Sleep(time.Second / ticks) // mem is no Go memory: nothing takes it back
		for owed += g.Churn * float64(1<<20/page) / ticks; owed >= 1; owed-- {
			i := rand.IntN(n)
			binary.LittleEndian.PutUint64(mem[i*page:], g.content(i)) // parts it from the merged ones
		}
	}
}

// content is the first word of a page: for the equal ones, spread evenly, one
// of 128; for the others one that no other guest has.
func (g Guest) content(i int) uint64 {
	if int(float64(i+1)*g.Equal) > int(float64(i)*g.Equal) {
		return uint64(i%128)<<8 | 1<<63
	}
	return uint64(os.Getpid())<<40 | uint64(i)<<8 | 1
}
