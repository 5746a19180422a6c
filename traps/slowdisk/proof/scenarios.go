package proof

import (
	"fmt"
	"strconv"
	"time"

	"fettle/lab"
)

// slowMS is what the slow disk takes for each request.
const slowMS = 10 * baseDelay

// under is an array of disks of which the last is slow, while something writes to it.
func under(level string, disks int, args ...string) []lab.Act {
	var acts []lab.Act
	argv := append([]string{"mdadm", "--create", "/dev/md0", "--run", "--quiet", "--assume-clean", "--metadata=1.2",
		"--level=" + level, "--raid-devices=" + strconv.Itoa(disks)}, args...)
	for i := range disks {
		file, loop, ms := fmt.Sprintf("/run/disk%d", i), fmt.Sprintf("/dev/loop%d", i), baseDelay
		if i == disks-1 {
			ms = slowMS
		}
		acts = append(acts,
			lab.Act{Run: []string{"truncate", "-s", strconv.Itoa(diskMiB) + "M", file}},
			lab.Act{Until: []string{"losetup", loop, file}},
			lab.Act{Run: []string{"dmsetup", "create", "--noudevrules", "--noudevsync", name(i), "--table", table(loop, ms)}},
			lab.Act{Run: []string{"dmsetup", "mknodes", name(i)}})
		argv = append(argv, "/dev/mapper/"+name(i))
	}
	return append(acts, lab.Act{Run: argv},
		lab.Act{Start: []string{"fio", "--name=w", "--filename=/dev/md0", "--size=2M", "--rw=randwrite", "--bs=4k", "--direct=1",
			"--ioengine=libaio", "--iodepth=8", "--time_based", "--runtime=900", "--norandommap"}, MayEnd: true},
		lab.Act{Until: []string{"sh", "-c", fmt.Sprintf("set -- $(cat /sys/block/dm-%d/stat); test $5 -gt 100", disks-1)}})
}

// member is how the kernel sees the slow one.
func member(disks int, fixed string) []lab.Probe {
	const in = `(.*,)?in_sync(,.*)?`
	return []lab.Probe{
		{Name: "state of the slow disk", Run: []string{"cat", fmt.Sprintf("/sys/block/md0/md/dev-dm-%d/state", disks-1)},
			Want: []string{in, fixed, in}, Within: time.Minute}, // after the undo what was written meanwhile is copied to it
		{Name: "writes wait for it", Run: []string{"sh", "-c", "w() { set -- $(cat /sys/block/md0/stat); echo $5; }; a=$(w); sleep 2; b=$(w); " +
			"test $((b - a)) -gt 250 && echo no || echo yes"}, Want: []string{"yes", "no", "yes"}},
	}
}

var scenarioNeeds = func() lab.Needs {
	n := needs(6 * time.Minute)
	n.Tools = append(n.Tools, "truncate", "grep", "sh", "cat", "test", "sleep")
	return n
}()

// sampled: a fix looks for ten seconds.
var sampled = []string{"--sample", "4s"}

// degraded is what the array is without its slow member; the plan says so.
var degraded = []string{"raid-degraded:md0"}

func foundNow(subject string) lab.Act {
	a := lab.Checked("slow-disk", map[string]string{subject: "found"})
	a.Expect.Run = append(a.Expect.Run, sampled...)
	return a
}

var Scenarios = []lab.Scenario{
	{
		Name: "mirror", About: "One half of a mirror takes ten times as long, while the array is written to", Needs: scenarioNeeds,
		Prepare: under("1", 2, "--bitmap=internal", "--bitmap-chunk=64K"), Subject: "md0/dm-1",
		CheckArgs: sampled, Vanishes: true, Sets: degraded,
		Probes: member(2, "faulty.*"),
	},
	{
		Name: "raid5", About: "A member of a RAID5 is slow: its stripes are made up from the others",
		Needs: scenarioNeeds, Long: true, CheckArgs: sampled,
		Prepare: under("5", 3, "--bitmap=internal", "--bitmap-chunk=64K"), Subject: "md0/dm-2", Vanishes: true, Sets: degraded,
		Probes: member(3, "faulty.*")[:1],
	},
	{
		Name: "no-copy-to-spare", About: "The slow disk is one of the last two copies: it stays", Needs: scenarioNeeds,
		Steps: []lab.Step{
			{Name: "a-copy-lost", Acts: append(under("1", 3, "--bitmap=internal", "--bitmap-chunk=64K"),
				lab.Act{Run: []string{"mdadm", "/dev/md0", "--fail", "/dev/dm-0"}})},
			{Name: "found", Acts: []lab.Act{foundNow("md0/dm-2")}},
			{Name: "refused", Acts: []lab.Act{{Expect: &lab.Expect{Run: []string{"fettle", "fix", "slow-disk", "--on", "md0/dm-2", "--yes",
				"--format", "json"}, Status: 5, Has: "cannot spare dm-2"}}}},
			{Name: "still-there", Acts: []lab.Act{{Run: []string{"grep", "-q", "in_sync", "/sys/block/md0/md/dev-dm-2/state"}}}},
		},
	},
	{
		Name: "zfs-mirror", About: "One half of a mirror of ZFS is slow, while the pool is written to", Long: true,
		Needs: lab.Needs{Engine: "qemu", Kernel: "zfs/stable", MemMiB: 1536, Limit: 15 * time.Minute,
			Modules: []string{"loop", "dm-mod", "dm-delay", "zfs"}, BuiltTools: []string{"zpool", "zfs"},
			Tools: []string{"losetup", "dmsetup", "truncate", "dd", "sh", "grep", "cat", "sleep"}},
		Prepare: pool(), Subject: "tank/mirror-0//dev/mapper/" + name(1), CheckArgs: []string{"--sample", "10s"}, Vanishes: true,
		Probes: []lab.Probe{{Name: "the slow disk", Run: []string{"sh", "-c", "zpool status tank | grep -o '" + name(1) + " .*'"},
			Want: []string{name(1) + ` +ONLINE .*`, name(1) + ` +OFFLINE .*`, name(1) + ` +ONLINE .*`}}},
	},
}

// pool is one of ZFS with a slow half, and somebody who writes to it.
func pool() []lab.Act {
	var acts []lab.Act
	for i, ms := range []int{1, 2 * slowMS} { // an emulated machine takes its own time for each request
		file, loop := fmt.Sprintf("/run/disk%d", i), fmt.Sprintf("/dev/loop%d", i)
		acts = append(acts,
			lab.Act{Run: []string{"truncate", "-s", strconv.Itoa(zfsMiB) + "M", file}},
			lab.Act{Run: []string{"losetup", loop, file}},
			lab.Act{Run: []string{"dmsetup", "create", "--noudevrules", "--noudevsync", name(i), "--table",
				fmt.Sprintf("0 %d delay %s 0 %d", zfsMiB<<20/512, loop, ms)}},
			lab.Act{Run: []string{"dmsetup", "mknodes", name(i)}})
	}
	return append(acts, // each record a write of its own
		lab.Act{Write: &lab.File{Path: "/sys/module/zfs/parameters/zfs_vdev_aggregation_limit", Content: "0"}},
		lab.Act{Run: []string{"zpool", "create", "-f", "-O", "compression=off", "-O", "recordsize=16k", "tank", "mirror",
			"/dev/mapper/" + name(0), "/dev/mapper/" + name(1)}},
		lab.Act{Start: []string{"sh", "-c", "while :; do dd if=/dev/zero of=/tank/file bs=128k count=200 conv=notrunc 2>/dev/null; done"},
			MayEnd: true},
		lab.Act{Run: []string{"sleep", "5"}})
}

// zfsMiB is the least that a pool takes, and some room.
const zfsMiB = 256
