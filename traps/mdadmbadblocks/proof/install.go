package proof

import (
	_ "embed"
	"strings"
	"time"

	"fettle/lab"
)

// The units for the end of an installation. docs/raid.md shows them.
//
//go:embed units/fettle-md-no-bbl.service
var onceService string

//go:embed units/fettle-md-no-bbl.timer
var onceTimer string

// quick makes the timer's minutes seconds.
func quick(timer string) string {
	return strings.NewReplacer("5min", "1s", "30min", "2s").Replace(timer)
}

func expect(status int, has string, run ...string) lab.Act {
	return lab.Act{Expect: &lab.Expect{Run: run, Status: status, Has: has, Within: 3 * time.Minute}}
}

// afterInstall is the end of an installation: the array is in its first sync,
// and the timer tries until that is over. Then it is disabled, and stays so.
var afterInstall = lab.Scenario{
	Name: "after-installation", About: "A timer takes the lists away when an installation's first sync is over", Long: true,
	Needs: lab.Needs{Systemd: true, MemMiB: 512, Limit: 8 * time.Minute, Modules: []string{"raid1", "loop"},
		Tools: []string{"mdadm", "losetup", "truncate", "grep", "cat", "sysctl"}},
	Steps: []lab.Step{
		{Name: "install", Acts: append(
			disks(2),
			lab.Act{Run: []string{"sysctl", "-qw", "dev.raid.speed_limit_max=2000"}}, // KiB/s: the sync takes some ten seconds
			lab.Act{
				Run: []string{
					"mdadm",
					"--create",
					"/dev/md0",
					"--run",
					"--quiet",
					"--level=1",
					"--raid-devices=2",
					"--bitmap=internal",
					"/dev/loop0",
					"/dev/loop1",
				},
			},
			lab.Act{Write: &lab.File{Path: "/etc/systemd/system/fettle-md-no-bbl.service", Content: onceService}},
			lab.Act{Write: &lab.File{Path: "/etc/systemd/system/fettle-md-no-bbl.timer", Content: quick(onceTimer)}},
			lab.Act{Run: []string{"systemctl", "daemon-reload"}},
			lab.Act{Run: []string{"systemctl", "enable", "--now", "fettle-md-no-bbl.timer"}},
			lab.Act{Run: []string{"grep", "-qx", "resync", "/sys/block/md0/md/sync_action"}},
		)},
		{Name: "too-early", Acts: []lab.Act{
			expect(0, "failed", "systemctl", "show", "-P", "ActiveState", "fettle-md-no-bbl.service"),
			expect(0, "is empty", "mdadm", "--examine-badblocks", "/dev/loop1"),
			expect(0, "is busy (resync)", "journalctl", "-u", "fettle-md-no-bbl.service"),
		}},
		{Name: "done", Acts: []lab.Act{
			expect(0, "No bad-blocks list", "mdadm", "--examine-badblocks", "/dev/loop0"),
			expect(0, "No bad-blocks list", "mdadm", "--examine-badblocks", "/dev/loop1"),
			expect(0, "0\n", "cat", "/sys/block/md0/md/degraded"),
			expect(1, "disabled", "systemctl", "is-enabled", "fettle-md-no-bbl.timer"),
			expect(0, "inactive", "systemctl", "show", "-P", "ActiveState", "fettle-md-no-bbl.timer"),
			expect(0, "CREATE bbl=no", "cat", "/etc/mdadm.conf"), // this root has no /etc/mdadm
			lab.Checked("mdadm-bad-blocks", lab.Nothing),
		}},
		{
			Name: "next-boot",
			Acts: []lab.Act{{Restart: lab.RestartClean}, expect(1, "disabled", "systemctl", "is-enabled", "fettle-md-no-bbl.timer")},
		},
	},
}

// bootScripts are where initramfs-tools(7) runs the script.
var bootScripts = []string{
	"/etc/initramfs-tools/scripts/local-top/fettle-md-no-bbl",
	"/etc/initramfs-tools/scripts/local-premount/fettle-md-no-bbl",
}

// inInitramfs installs the script for the initramfs, runs it as the next boot
// would, and takes it out again. What makes the initramfs only counts here.
var inInitramfs = lab.Scenario{
	Name: "initramfs", About: "The script for the initramfs is installed when asked for, works, and is taken out again",
	Needs: lab.Needs{
		MemMiB:  512,
		Modules: []string{"raid1", "loop"},
		Tools:   []string{"mdadm", "losetup", "truncate", "mknod", "grep", "sh", "cat", "stat", "mkdir"},
	},
	Steps: []lab.Step{
		{Name: "prepare", Acts: append(
			create("1", 2, "--bitmap=internal"),
			lab.Act{Run: []string{"mkdir", "-p", "/etc/initramfs-tools/scripts/local-top", "/etc/initramfs-tools/scripts/local-premount"}},
			lab.Act{
				Write: &lab.File{
					Path:    "/usr/sbin/update-initramfs",
					Mode:    0o755,
					Content: "#!/bin/sh\necho made anew with: \"$@\" /etc/initramfs-tools/scripts/*/* >> /run/made\n",
				},
			},
		)},
		{Name: "found", Acts: []lab.Act{lab.Checked("mdadm-bad-blocks", map[string]string{"initramfs": "found", "*": "found"})}},
		{
			Name: "not-unasked",
			Acts: []lab.Act{expect(5, "--with at-boot=yes", "fettle", "fix", "mdadm-bad-blocks", "--on", "initramfs", "--yes", "--format", "json")},
		},
		{Name: "installed", Acts: []lab.Act{
			lab.Mended("mdadm-bad-blocks", "--on", "initramfs", "--with", "at-boot=yes", "--yes"),
			expect(0, "755", "stat", "-c", "%a", bootScripts[0]),
			expect(0, "made anew with: -u "+bootScripts[1]+" "+bootScripts[0]+"\n", "cat", "/run/made"),
		}},
		{Name: "next-boot", Acts: []lab.Act{
			{Run: []string{"sh", bootScripts[0]}},
			expect(0, "No bad-blocks list", "mdadm", "--examine-badblocks", "/dev/loop0"),
			expect(0, "No bad-blocks list", "mdadm", "--examine-badblocks", "/dev/loop1"),
			expect(0, "0\n", "cat", "/sys/block/md0/md/degraded"),
		}},
		{Name: "undo", Acts: []lab.Act{
			expect(0, "is undone", "fettle", "undo", "--yes"),
			expect(1, "", "stat", bootScripts[0]),
			expect(0, "made anew with: -u /etc/initramfs-tools/scripts/*/*\n", "cat", "/run/made"),
		}},
	},
}
