package powercut

import (
	"time"

	"fettle/lab"
)

// Experiments are fettle lab powercut: one for each kind of array, and one for files alone.
var Experiments = []lab.Experiment{
	raid(Level{"raid1", "1", 2, "internal"}),
	raid(Level{"raid1-no-bitmap", "1", 2, "none"}),
	raid(Level{"raid10", "10", 4, "internal"}),
	raid(Level{"raid6", "6", 4, "internal"}),
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
}

func raid(l Level) lab.Experiment {
	rc := raidCase{l, "mdadm-bad-blocks", "mdadm.conf", 60}
	return lab.Experiment{
		Name:  "powercut/" + l.Name,
		About: "Power cuts while fettle takes a bad blocks list away and gives it back: " + l.Name,
		Long:  true,
		Needs: lab.Needs{
			Engine: "uml", MemMiB: 1024, Limit: 15 * time.Minute,
			Modules: []string{"raid1", "raid10", "raid456", "loop", "ext4", "dm-mod", "dm-log-writes", "dm-snapshot"},
			Tools:   []string{"mdadm", "losetup", "mkfs.ext4", "grep"},
		},
		Run: rc.run,
	}
}
