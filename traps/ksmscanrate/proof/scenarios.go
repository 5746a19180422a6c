package proof

import (
	"fmt"
	"time"

	"fettle/internal/mergeable"
	"fettle/lab"
)

// needs is a kernel with KSM: User-Mode Linux has none.
var needs = lab.Needs{Engine: "qemu", MemMiB: 640, Limit: 8 * time.Minute, Tools: []string{"cat", "grep"}}

// advised is a kernel that has an advisor (Linux 6.8).
var advised = lab.Needs{
	Engine: "qemu",
	Kernel: "linux-image-6.12-cloud-amd64",
	MemMiB: 640,
	Limit:  15 * time.Minute,
	Tools:  []string{"cat", "grep", "sh"},
}

// ready is made when the memory is written.
const ready = "/run/mergeable"

// guestMiB is held by a process that stands in for virtual machines.
const guestMiB = 192

var probes = []lab.Probe{
	{Name: "pages_to_scan", Run: []string{"cat", dir + "pages_to_scan"}},
	{Name: "advisor_mode", Run: []string{"grep", "-s", "", dir + "advisor_mode"}},
	{
		Name:   "pages saved",
		Run:    []string{"cat", dir + "pages_sharing"},
		Ratio:  2,
		Lasts:  true,
		Within: 5 * time.Minute,
	}, // half a minute, where nobody else wants the CPU
}

// lasting has what sets values at boot.
var lasting = lab.Needs{Engine: "qemu", MemMiB: 640, Limit: 8 * time.Minute, Tools: []string{"cat", "grep", "sh", "systemd-tmpfiles"}}

// atBoot has the pace set as the next boot does.
var atBoot = lab.Probe{Name: "the same pace at the next boot", Run: []string{"sh", "-c", "cd " + dir + " && v=$(cat pages_to_scan) && " +
	"echo 7 > pages_to_scan && systemd-tmpfiles --create --boot --prefix=" + dir + "; n=$(cat pages_to_scan); " +
	"echo $v > pages_to_scan; [ $n = $v ] && echo yes || echo no"}, Want: []string{"no", "yes", "no"}}

// merging turns KSM on at a pace, with memory to merge. Pages a batch, and
// milliseconds of sleep between batches.
func merging(pages, sleep int) []lab.Act {
	return []lab.Act{
		{Write: &lab.File{Path: dir + "pages_to_scan", Content: fmt.Sprint(pages)}},
		{Write: &lab.File{Path: dir + "sleep_millisecs", Content: fmt.Sprint(sleep)}},
		{Start: append([]string{"fettle-lab", lab.MergeableVerb}, mergeable.Guest{MiB: guestMiB, Equal: 0.5, Ready: ready}.Args()...)},
		{Until: []string{"cat", ready}},
		{Write: &lab.File{Path: dir + "run", Content: "1"}},
	}
}

// The pace of Ubuntu's qemu-kvm, 100 pages every 200 ms, takes too long for
// some gigabytes; a tenth of it for a tenth of them.
var Scenarios = []lab.Scenario{
	{
		Name: "slow-scan", About: "A full scan of all memory that takes a quarter of an hour",
		Needs: lasting, Probes: append([]lab.Probe{atBoot}, probes...), Subject: "scan-rate",
		Prepare: merging(10, 200),
		Files: map[string]string{"/etc/tmpfiles.d/fettle-ksm.conf": "# Settings of kernel samepage merging, tmpfiles.d(5). Written by fettle.\n" +
			"w /sys/kernel/mm/ksm/pages_to_scan - - - - 100\n"},
	},
	{
		Name: "slow-scan-advised", About: "The kernel's own number of pages, and too long a sleep: the advisor is to find the pace",
		Needs: advised, Subject: "scan-rate", Long: true,
		// 500 pages every 2 s, the advisor's least: a full scan takes 200 s, and pages merge in the second.
		Probes: []lab.Probe{
			{
				Name: "mode",
				Run:  []string{"cat", dir + "advisor_mode"},
				Want: []string{`\[none\] scan-time`, `none \[scan-time\]`, `\[none\] scan-time`},
			},
			{
				Name: "its bounds",
				Run: []string{"sh", "-c", "cd " + dir + " && echo $(cat advisor_max_cpu advisor_target_scan_time " +
					"advisor_max_pages_to_scan advisor_min_pages_to_scan)"},
				Want: []string{"70 200 20000 400", "50 600 30000 500", "70 200 20000 400"},
			},
			{Name: "pages saved", Run: []string{"cat", dir + "pages_sharing"}, Ratio: 2, Lasts: true, Within: 6 * time.Minute},
		},
		Prepare: append(merging(100, 2000),
			lab.Act{Write: &lab.File{Path: dir + "advisor_max_pages_to_scan", Content: "20000"}},
			lab.Act{Write: &lab.File{Path: dir + "advisor_min_pages_to_scan", Content: "400"}}),
		Files: map[string]string{"/etc/tmpfiles.d/fettle-ksm.conf": "# Settings of kernel samepage merging, tmpfiles.d(5). Written by fettle.\n" +
			"w /sys/kernel/mm/ksm/advisor_target_scan_time - - - - 600\nw /sys/kernel/mm/ksm/advisor_max_cpu - - - - 50\n" +
			"w /sys/kernel/mm/ksm/advisor_max_pages_to_scan - - - - 30000\nw /sys/kernel/mm/ksm/advisor_min_pages_to_scan - - - - 500\n" +
			"w /sys/kernel/mm/ksm/advisor_mode - - - - scan-time\n"},
	},
	{
		Name: "quick-scan", About: "The kernel's default pace is quick enough for so little memory",
		Needs: needs, Innocent: true,
		Prepare: merging(100, 20),
	},
	{
		Name: "configured-and-off", About: "KSM that tmpfiles.d turns on, and that is off",
		Needs: needs, Subject: "run", Probes: []lab.Probe{{Name: "run", Run: []string{"cat", dir + "run"}, Want: []string{"0", "1", "0"}}},
		Prepare: []lab.Act{{Write: &lab.File{Path: "/etc/tmpfiles.d/ksm.conf", Content: "w " + dir + "run - - - - 1\n"}}},
	},
	{
		Name: "off", About: "KSM that is off, and that nothing turns on",
		Needs: needs, Innocent: true,
	},
}
