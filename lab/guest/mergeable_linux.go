package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"fettle/lab"
)

// HoldMergeable is the hidden verb that stands in for virtual machines, in a
// guest alone. It takes the number of MiB to hold: private anonymous memory with
// MADV_MERGEABLE, as qemu's. Half of its pages are one of 128 contents, the
// others are like no other. It tells that all is written by making
// lab.MergeableReady, and never returns.
func HoldMergeable(args []string) error {
	if init, _ := os.Readlink("/proc/1/exe"); init != "/init" || !exists(lab.OrdersFile) {
		return errors.New("this verb is for the guests of fettle lab alone")
	}
	if len(args) != 1 {
		return errors.New("expected a number of MiB")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of MiB", args[0])
	}
	if err := os.WriteFile("/proc/self/comm", []byte("qemu-stand-in"), 0); err != nil {
		return err
	}
	mem, err := unix.Mmap(-1, 0, n<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("taking %d MiB of memory: %w", n, err)
	}
	if err := unix.Madvise(mem, unix.MADV_MERGEABLE); err != nil {
		return fmt.Errorf("madvise(MADV_MERGEABLE): %w: has this kernel KSM?", err)
	}
	page := os.Getpagesize()
	for i := 0; i < len(mem)/page; i++ {
		content := uint64(i)<<8 | 1
		if i%2 == 0 {
			content = uint64(i/2%128) << 8
		}
		binary.LittleEndian.PutUint64(mem[i*page:], content|1<<63)
	}
	if err := os.WriteFile(lab.MergeableReady, nil, 0o644); err != nil {
		return err
	}
	for { // mem is no Go memory: nothing takes it back
		time.Sleep(time.Hour)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
