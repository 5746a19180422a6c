package proof

import (
	"fmt"
	"slices"

	"fettle/lab"
)

// needs is what every scenario's machine has: loop devices of 20 MiB.
var needs = lab.Needs{
	MemMiB:  512,
	Modules: []string{"raid0", "raid1", "raid10", "loop"},
	Tools:   []string{"mdadm", "losetup", "truncate", "mknod", "grep", "cat", "dd", "mkfs.ext4", "mount", "mkdir"},
}

// parity is for arrays that compute it, whose kernel tries at each boot how to do so fastest.
func parity(n lab.Needs) lab.Needs {
	n.Modules = append(slices.Clone(n.Modules), "raid456")
	return n
}

// disks makes loop0 … loopN-1.
func disks(n int) []lab.Act { return sized(n, "20M") }

func sized(n int, size string) []lab.Act {
	var acts []lab.Act
	for i := range n {
		dev := fmt.Sprintf("/dev/loop%d", i)
		acts = append(acts,
			lab.Act{Run: []string{"truncate", "-s", size, fmt.Sprintf("/run/disk%d", i)}},
			lab.Act{Until: []string{"losetup", dev, fmt.Sprintf("/run/disk%d", i)}})
	}
	return acts
}

// create makes md0 of loop0 … loopN-1 and waits until it is in sync.
func create(level string, n int, args ...string) []lab.Act {
	argv := append(
		[]string{"mdadm", "--create", "/dev/md0", "--run", "--quiet", "--level=" + level, fmt.Sprintf("--raid-devices=%d", n)},
		args...)
	for i := range n {
		argv = append(argv, fmt.Sprintf("/dev/loop%d", i))
	}
	return append(append(disks(n), lab.Act{Run: argv}), idle...)
}

// idle waits until md0 has ended its first resync, and has not only not begun.
var idle = []lab.Act{{Until: []string{"grep", "-qx", "none", "/sys/block/md0/md/resync_start"}},
	{Until: []string{"grep", "-qx", "idle", "/sys/block/md0/md/sync_action"}}}

// What mdadm says of a member's list.
const (
	emptyList = "Bad-blocks list is empty in /dev/loop1"
	noList    = "No bad-blocks list configured on /dev/loop1"
)

// probes are what the kernel and mdadm say of loop1, and of the array's bitmap.
func probes(bitmap string) []lab.Probe {
	return []lab.Probe{
		{Name: "list of loop1", Run: []string{"mdadm", "--examine-badblocks", "/dev/loop1"}, Want: []string{emptyList, noList, emptyList}},
		{Name: "members missing", Run: []string{"cat", "/sys/block/md0/md/degraded"}, Want: []string{"0", "0", "0"}},
		{
			Name: "state of loop1",
			Run:  []string{"cat", "/sys/block/md0/md/dev-loop1/state"},
			Want: []string{"(.*,)?in_sync(,.*)?", "(.*,)?in_sync(,.*)?", "(.*,)?in_sync(,.*)?"},
		},
		{Name: "bitmap", Run: []string{"cat", "/sys/block/md0/md/bitmap/location"}, Want: []string{bitmap, bitmap, bitmap}},
	}
}

// listed is what mdadm says of the list of loop1 where nothing is changed.
func listed(want string) []lab.Probe {
	p := probes("")[0]
	p.Want = []string{want}
	return []lab.Probe{p}
}

// online is a scenario in which loop1's empty list is taken away while the array runs.
func online(name, about, level string, n int, args ...string) lab.Scenario {
	bitmap := "[+-]\\d+"
	if slices.Contains(args, "--bitmap=none") {
		bitmap = "none"
	}
	of := needs
	if level == "5" || level == "6" {
		of = parity(needs)
	}
	return lab.Scenario{
		Name:    name,
		About:   about,
		Needs:   of,
		Probes:  probes(bitmap),
		Subject: "md0/loop1",
		Prepare: create(level, n, args...),
	}
}

// long leaves a scenario to the long runs: fettle's part in it is shown by a shorter one.
func long(s lab.Scenario) lab.Scenario {
	s.Long = true
	return s
}

// external is a DDF container with a mirror in it, which md itself does not
// keep the superblocks of.
var external = lab.Scenario{
	Name: "external", About: "Metadata of a firmware's format is none of md's", Needs: needs, Innocent: true, Long: true,
	Prepare: append(append([]lab.Act{{Write: &lab.File{Path: "/etc/mdadm/mdadm.conf", Content: "CREATE bbl=no\n"}}}, sized(2, "64M")...),
		lab.Act{Run: []string{"mdadm", "--create", "/dev/md127", "--run", "--metadata=ddf", "--raid-devices=2", "/dev/loop0", "/dev/loop1"}},
		lab.Act{Run: []string{"mdadm", "--create", "/dev/md0", "--run", "--level=1", "--raid-devices=2", "/dev/md127"}}),
}

// refused is a scenario that is found, and that fettle leaves alone.
func refused(name, about, list string, prepare []lab.Act) lab.Scenario {
	return lab.Scenario{
		Name:      name,
		About:     about,
		Needs:     needs,
		Probes:    listed(list),
		Subject:   "md0/loop1",
		Unfixable: true,
		Prepare:   prepare,
	}
}

// enter writes an entry into a member's list, and something to the array, so
// that md writes its superblocks.
func enter(members ...string) []lab.Act {
	var acts []lab.Act
	for _, m := range members {
		acts = append(acts, lab.Act{Write: &lab.File{Path: "/sys/block/md0/md/dev-" + m + "/bad_blocks", Content: "4000 8\n"}})
	}
	return append(acts, lab.Act{Run: []string{"dd", "if=/dev/zero", "of=/dev/md0", "bs=4096", "count=4", "conv=fsync", "status=none"}})
}

var Scenarios = []lab.Scenario{
	online("raid1", "Mirror of two with a bitmap", "1", 2, "--bitmap=internal"),
	long(online("raid10", "RAID10 of four", "10", 4, "--bitmap=internal")),
	long(online("raid10-far", "RAID10 of four, far copies", "10", 4, "--bitmap=internal", "--layout=f2")),
	long(online("raid10-odd", "RAID10 of three: copies of one block sit on any two", "10", 3, "--bitmap=internal", "--layout=o2")),
	long(online("mirror-of-three", "Mirror of three", "1", 3, "--bitmap=internal")),
	long(online("metadata-1.0", "Superblocks at the members' ends", "1", 2, "--bitmap=internal", "--metadata=1.0")),
	online("raid6", "RAID6 of four", "6", 4, "--bitmap=internal"),
	long(online("raid5", "RAID5 of three: a redundancy of one", "5", 3, "--bitmap=internal")),
	online("no-bitmap", "Mirror without a bitmap, as small arrays are made: one is added for the time", "1", 2, "--bitmap=none"),
	{
		Name: "write-mostly", About: "A write-mostly and --failfast member stays so", Needs: needs, Subject: "md0/loop1",
		Probes: append(
			probes("[+-]\\d+"),
			lab.Probe{
				Name: "loop1 is write-mostly and failfast",
				Run:  []string{"grep", "-c", "write_mostly.*failfast\\|failfast.*write_mostly", "/sys/block/md0/md/dev-loop1/state"},
				Want: []string{"1", "1", "1"},
			},
		),
		Prepare: append(append(disks(2),
			lab.Act{Run: []string{"mdadm", "--create", "/dev/md0", "--run", "--quiet", "--level=1", "--raid-devices=2", "--bitmap=internal",
				"/dev/loop0", "--write-mostly", "--failfast", "/dev/loop1"}}), idle...),
	},
	{
		Name: "configuration", About: "mdadm.conf that lets new arrays have a list", Needs: needs, Subject: "mdadm.conf",
		Files: map[string]string{"/etc/mdadm/mdadm.conf": "HOMEHOST <system>\nCREATE owner=root bbl=no # as installed\nMAILADDR root\n"},
		Probes: []lab.Probe{{Name: "mdadm.conf", Run: []string{"grep", "-i", "create", "/etc/mdadm/mdadm.conf"},
			Want: []string{"CREATE owner=root # as installed", ".*bbl=no.*", "CREATE owner=root # as installed"}}},
		Prepare: append(
			create("1", 2, "--bitmap=internal"),
			lab.Act{
				Write: &lab.File{Path: "/etc/mdadm/mdadm.conf", Content: "HOMEHOST <system>\nCREATE owner=root # as installed\nMAILADDR root\n"},
			},
		),
	},
	{
		Name: "no-list", About: "An array made under CREATE bbl=no", Needs: needs, Innocent: true,
		Prepare: append(
			[]lab.Act{{Write: &lab.File{Path: "/etc/mdadm/mdadm.conf", Content: "CREATE bbl=no\n"}}},
			create("1", 2, "--bitmap=internal")...),
	},
	{
		Name: "old-metadata", About: "Metadata 0.90 has no list", Needs: needs, Innocent: true, Long: true,
		Prepare: append(
			[]lab.Act{{Write: &lab.File{Path: "/etc/mdadm/mdadm.conf", Content: "CREATE bbl=no\n"}}},
			create("1", 2, "--metadata=0.90")...),
	},
	external,
	inInitramfs,
	afterInstall,
	refused(
		"entries",
		"A list with an entry is told as critical, and left alone",
		"Bad-blocks on /dev/loop1:",
		append(create("1", 2, "--bitmap=internal"), enter("loop1")...),
	),
	long(
		refused(
			"shared-entries",
			"Both members of a mirror have the same entry",
			"Bad-blocks on /dev/loop1:",
			append(create("1", 2, "--bitmap=internal"), enter("loop0", "loop1")...),
		),
	),
	long(refused("degraded", "A mirror that misses a member is left alone", emptyList, append(create("1", 2, "--bitmap=internal"),
		lab.Act{Run: []string{"mdadm", "/dev/md0", "--fail", "/dev/loop0", "--remove", "/dev/loop0"}}))),
	long(refused("stripe", "RAID0 has no redundancy: the way with the array stopped is printed", emptyList, append(
		disks(2),
		lab.Act{
			Run: []string{"mdadm", "--create", "/dev/md0", "--run", "--quiet", "--level=0", "--raid-devices=2", "/dev/loop0", "/dev/loop1"},
		},
	))),
}
