package proof

import (
	"fmt"
	"time"

	"fettle/lab"
)

// needs: a kernel with ZFS, which make lab-zfs builds, and disks that are files
// in memory behind dm-delay, which makes one as slow as it is told.
func needs(kernel string, limit time.Duration) lab.Needs {
	return lab.Needs{Engine: "qemu", Kernel: kernel, MemMiB: 3072, Limit: limit,
		Modules: []string{"loop", "dm-mod", "dm-delay", "zfs"}, BuiltTools: []string{"zpool", "zfs"},
		Tools: []string{"losetup", "dmsetup", "truncate", "dd", "sh"}}
}

const (
	stable = "zfs/stable" // the zfs-dkms of the release
	newer  = "zfs/new"    // unstable's
)

// slowDelay, in ms, makes a disk whose queue of ten writes takes as long as
// that of a spinning disk with all its seeks.
const slowDelay = 100

var Scenarios = []lab.Scenario{
	{
		Name:      "unequal-sizes",
		About:     "A pool of 512 MiB and 2 GiB: one vdev gets three quarters of the writes",
		Subject:   "test",
		Unfixable: true,
		Long:      true,
		Needs:     needs(stable, 2*time.Minute),
		Prepare:   pool(disk{mib: 512}, disk{mib: 2048}),
	},
	{
		Name:      "one-slow",
		About:     "Two of one size, one of them slow, while the pool is written to",
		Subject:   "test",
		Unfixable: true,
		Long:      true,
		Needs: needs(
			stable,
			2*time.Minute,
		),
		Prepare:   append(pool(disk{mib: 512}, disk{mib: 512, delay: slowDelay}), load...),
		CheckArgs: []string{"--sample", "10s"},
	},
	{Name: "alike", About: "Two of one size and speed, while the pool is written to", Innocent: true, Long: true,
		Needs: needs(
			stable,
			2*time.Minute,
		), Prepare: append(pool(disk{mib: 512}, disk{mib: 512}), load...), CheckArgs: []string{"--sample", "10s"}},
}

// load writes for longer than the check looks, however fast the machine; the first
// transaction group has begun when the check begins.
var load = []lab.Act{
	{Start: []string{"sh", "-c", "while dd if=/dev/zero of=/test/file bs=1M count=700 conv=notrunc; do :; done"}},
	{Run: []string{"sleep", "3"}},
}

// pool makes the pool test of these disks.
func pool(disks ...disk) []lab.Act {
	var acts []lab.Act
	create := []string{"zpool", "create", "-f", "-O", "compression=off", "test"}
	for i, d := range disks {
		for _, argv := range d.make(i) {
			acts = append(acts, lab.Act{Run: argv})
		}
		create = append(create, path(i))
	}
	return append(acts, lab.Act{Run: create})
}

type disk struct {
	mib   int64
	delay int // ms that each request takes longer
}

func backing(i int) string { return fmt.Sprintf("/run/disk%d", i) }
func loop(i int) string    { return fmt.Sprintf("/dev/loop%d", i) }
func name(i int) string    { return fmt.Sprintf("disk%d", i) }
func path(i int) string    { return "/dev/mapper/" + name(i) }

// make is the commands that make the disk, number i.
func (d disk) make(i int) [][]string {
	return [][]string{
		{"truncate", "-s", fmt.Sprintf("%dM", d.mib), backing(i)},
		{"losetup", loop(i), backing(i)},
		{
			"dmsetup",
			"create",
			"--noudevrules",
			"--noudevsync",
			name(i),
			"--table",
			fmt.Sprintf("0 %d delay %s 0 %d", d.mib<<20/512, loop(i), d.delay),
		},
		{"dmsetup", "mknodes", name(i)},
	}
}

// remove is the commands that take it away again.
func remove(i int) [][]string {
	return [][]string{{"dmsetup", "remove", "--noudevsync", name(i)}, {"losetup", "-d", loop(i)}}
}
