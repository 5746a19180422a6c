package powercut

import (
	"time"

	"fettle/lab"
)

// Experiments are fettle lab powercut: one for each kind of array, and one for files alone.
// Those of arrays try a sample of the states that a cut can leave; with -all
// behind their names, all.
var Experiments = append(arrays(), []lab.Experiment{
	{
		Name:  "powercut/files",
		About: "Power cuts while a plan of file, permission, ACL and removal steps is applied and undone",
		Long:  true,
		Needs: lab.Needs{
			Engine: "uml", MemMiB: 512, Limit: 10 * time.Minute,
			Modules: []string{"loop", "ext4", "dm-mod", "dm-log-writes", "dm-snapshot"},
			Tools:   []string{"losetup", "mkfs.ext4"},
		},
		Run: filesCase{400}.run,
	},
	{
		Name:  "powercut/files-sample",
		About: "A few of the power cuts of powercut/files",
		Needs: lab.Needs{
			Engine: "uml", MemMiB: 512, Limit: 5 * time.Minute,
			Modules: []string{"loop", "ext4", "dm-mod", "dm-log-writes", "dm-snapshot"},
			Tools:   []string{"losetup", "mkfs.ext4"},
		},
		Run: filesCase{24}.run,
	},
}...)

func arrays() (all []lab.Experiment) {
	for _, l := range []Level{
		{"raid1", "1", 2, "internal"},
		{"raid1-no-bitmap", "1", 2, "none"},
		{"raid10", "10", 4, "internal"},
		{"raid6", "6", 4, "internal"},
	} {
		all = append(all, raid(l, "", 120, 30*time.Minute), raid(l, "-all", 0, 8*time.Hour))
	}
	few := raid(Level{"raid10", "10", 4, "internal"}, "-sample", 2, 10*time.Minute)
	few.Long, few.About = false, "A few of the power cuts of powercut/raid10"
	syncs := raid(Level{"raid10", "10", 4, "internal"}, "-syncs", 2, 5*time.Minute)
	syncs.Long, syncs.About = false, "Whether the log of writes has an order that disks can have, while several are flushed at once"
	syncs.Run = raidCase{Level: Level{"raid10", "10", 4, "internal"}}.syncs
	return append(all, few, syncs)
}

func raid(l Level, suffix string, most int, limit time.Duration) lab.Experiment {
	rc := raidCase{l, "mdadm-bad-blocks", "mdadm.conf", most}
	modules := []string{"raid1", "raid10", "loop", "ext4", "dm-mod", "dm-log-writes", "dm-snapshot"}
	if l.RAID == "6" {
		modules = append(modules, "raid456")
	}
	which := "a sample"
	if most == 0 {
		which = "every state"
	}
	return lab.Experiment{
		Name:  "powercut/" + l.Name + suffix,
		About: "Power cuts while fettle takes a bad blocks list away and gives it back: " + l.Name + ", " + which,
		Long:  true,
		Named: most == 0,
		Needs: lab.Needs{
			Engine: "uml", MemMiB: 1024, Limit: limit,
			Modules: modules,
			Tools:   []string{"mdadm", "losetup", "mkfs.ext4", "grep"},
		},
		Run: rc.run,
	}
}
