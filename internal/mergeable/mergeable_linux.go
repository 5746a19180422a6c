// Package mergeable holds memory as virtual machines do, for proofs and tests of
// kernel samepage merging.
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
}

// Parse reads what Args writes: "MIB", "MIB EQUAL" or "MIB EQUAL CHURN".
func Parse(args []string) (g Guest, err error) {
	g.Equal = 0.5
	if len(args) < 1 || len(args) > 3 {
		return g, fmt.Errorf("expected MIB [EQUAL [CHURN]]")
	}
	if g.MiB, err = strconv.Atoi(args[0]); err != nil || g.MiB < 1 {
		return g, fmt.Errorf("%q is not a number of MiB", args[0])
	}
	for i, into := range []*float64{&g.Equal, &g.Churn} {
		if len(args) > i+1 {
			if *into, err = strconv.ParseFloat(args[i+1], 64); err != nil || *into < 0 {
				return g, fmt.Errorf("%q is not a number", args[i+1])
			}
		}
	}
	return g, nil
}

// Args are the arguments that Parse reads.
func (g Guest) Args() []string {
	return []string{strconv.Itoa(g.MiB), fmt.Sprint(g.Equal), fmt.Sprint(g.Churn)}
}

// Hold takes the memory, writes it, calls ready, and never returns unless that
// fails. The process calls itself a qemu.
func (g Guest) Hold(ready func() error) error {
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
	if err := ready(); err != nil {
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
