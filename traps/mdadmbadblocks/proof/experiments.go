package proof

import (
	"time"

	"fettle/lab"
)

// rigNeeds is what an experiment's machine has.
var rigNeeds = lab.Needs{MemMiB: 768, Limit: 4 * time.Minute, Modules: []string{"raid0", "raid1", "raid10", "loop"},
	Tools: []string{"env", "mdadm", "losetup", "mknod", "dd", "grep", "mkfs.ext4", "e2fsck", "mount", "umount"}}

func longNeeds() lab.Needs {
	n := parity(rigNeeds)
	n.Limit = time.Hour // on a busy machine; some ten minutes on a free one
	return n
}

func scriptNeeds() lab.Needs {
	n := rigNeeds
	n.Tools = append([]string{"sh", "id", "mkdir", "mktemp", "cat", "mv", "sed", "sleep", "chmod", "rm"}, n.Tools...)
	return n
}

var Experiments = []lab.Experiment{
	{
		Name:  "refusals",
		About: "States in which an array is left alone, and what fettle says of each",
		Long:  true,
		Needs: parity(rigNeeds),
		Run:   refusals,
	},
	{
		Name:  "mounted",
		About: "Both members of a mirror one after the other, under a file system that is written to",
		Needs: rigNeeds,
		Run:   mounted(arrayKind{"1", 2}),
	},
	{Name: "mounted-raid10", About: "The same with RAID10 of four", Long: true, Needs: rigNeeds, Run: mounted(arrayKind{"10", 4})},
	{Name: "watch", About: "How soon fettle watch tells of a new entry", Needs: rigNeeds, Run: watching},
	{Name: "script", About: "The plan as a shell script, with and without a bitmap", Needs: scriptNeeds(), Run: script},
	{Name: "at-boot", About: "The script of the initramfs on arrays in all states", Long: true, Needs: parity(scriptNeeds()), Run: atBoot},
	{
		Name:  "superblocks",
		About: "The superblock reader against mdadm --examine, over levels, versions and lists",
		Long:  true,
		Needs: longNeeds(),
		Run:   superblocks,
	},
	{
		Name:  "copies",
		About: "What becomes of a list with entries when members are added, replaced and re-added",
		Long:  true,
		Needs: longNeeds(),
		Run:   copies,
	},
	{
		Name:  "crash-sample",
		About: "SIGKILL of fettle at one point of a fix and one of an undo, on a mirror",
		Needs: rigNeeds,
		Run:   crash(arrayKind{"1", 2}, "internal", onePoint),
	},
	{
		Name:  "crash",
		About: "SIGKILL of fettle at chosen points, on a mirror",
		Long:  true,
		Needs: longNeeds(),
		Run:   crash(arrayKind{"1", 2}, "internal", chosenPoints),
	},
	{
		Name:  "crash-no-bitmap",
		About: "The same without a bitmap: one is added for the time",
		Long:  true,
		Needs: longNeeds(),
		Run:   crash(arrayKind{"1", 2}, "none", chosenPoints),
	},
	{
		Name:  "crash-raid1",
		About: "SIGKILL of fettle at every point: a mirror of two",
		Long:  true,
		Needs: longNeeds(),
		Run:   crash(arrayKind{"1", 2}, "internal", nil),
	},
	{
		Name:  "crash-raid1-no-bitmap",
		About: "SIGKILL of fettle at every point: a mirror without a bitmap",
		Long:  true,
		Needs: longNeeds(),
		Run:   crash(arrayKind{"1", 2}, "none", nil),
	},
	{
		Name:  "crash-raid10",
		About: "SIGKILL of fettle at every point: RAID10 of four",
		Long:  true,
		Needs: longNeeds(),
		Run:   crash(arrayKind{"10", 4}, "internal", nil),
	},
	{
		Name:  "crash-raid6",
		About: "SIGKILL of fettle at every point: RAID6 of four",
		Long:  true,
		Needs: longNeeds(),
		Run:   crash(arrayKind{"6", 4}, "internal", nil),
	},
}
