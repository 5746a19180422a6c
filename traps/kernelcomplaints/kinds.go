package kernelcomplaints

import (
	"regexp"
	"strings"

	"fettle/engine/trap"
	"fettle/internal/lazy"
)

// kind is a sort of complaint.
type kind struct {
	subject string // "disk", before the name that the group "what" matches
	re      func() *regexp.Regexp
	name    func(string) string // of what is meant: the disk of a partition
	// innocent are names that complain on healthy hosts.
	innocent func(string) bool
	least    int  // lines from which it counts
	grows    int  // lines from which it is one degree graver; 0: never
	lately   bool // only if it goes on: the last one within two days, and one a day
	cable    bool // nothing on a host with a battery
	severity trap.Severity
	summary  string
	byHand   string
}

const onDisk = "file system on"

const (
	disks         = "smartctl -a /dev/WHAT; back up its data, check its cable, replace it"
	machineChecks = "the processor or its memory reports hardware errors (machine checks)"
	askVendor     = "rasdaemon, or mcelog --client, says which part; ask the hardware vendor"
)

// notDisks are what to do about block devices that smartctl cannot query, by the beginnings of their names.
var notDisks = []struct{ prefix, byHand string }{
	{"dm-", "lsblk -s /dev/WHAT shows the disks below it; lvs -a shows a thin pool or a snapshot that is full"},
	{"md", "lsblk -s /dev/WHAT and /proc/mdstat show the disks below it: check those"},
	{"vd", "back up its data; the disk is the hypervisor's: look there, or ask the provider"},
	{"xvd", "back up its data; the disk is the hypervisor's: look there, or ask the provider"},
	{"mmcblk", "back up its data, replace the card; on a small board, check the power supply"},
}

// kinds in the order in which they are tried. The words are those of Linux 4.4
// to 6.12.
var kinds = []kind{
	// What a device cannot do at all, it refuses, and a mount with a wrong option, too: nothing was lost.
	{
		re: lazy.Regexp(
			`BTRFS error \(device [^)]*\): (?:unrecognized|unknown|open_ctree failed)|operation not supported error, dev|error, dev .* op ` +
				`0x[0-9a-f]+:\((?:DISCARD|SECURE_ERASE|WRITE_SAME|WRITE_ZEROES)\)`,
		),
		innocent: func(string) bool { return true },
	},
	// The words before "error" are those of blk_errors (block/blk-core.c).
	{
		subject: "disk",
		re: lazy.Regexp(
			`(?:I/O|timeout|critical [\w ]+|recoverable transport|recovered \w+|protection|device offline) error, dev ` +
				`(?P<what>[\w-]+)[,:]|[Bb]uffer I/O error on dev(?:ice)? (?P<what>[\w-]+)`,
		),
		name:     disk,
		innocent: removable,
		least:    1,
		severity: trap.Critical,
		summary:  "the kernel reports I/O errors of this disk: reads or writes failed",
		byHand:   disks,
	},
	{
		subject: onDisk,
		re: lazy.Regexp(
			`EXT4-fs error \(device (?P<what>[\w-]+)|EXT4-fs \((?P<what>[\w-]+)\): (?:Remounting filesystem read-only|error count since last ` +
				`fsck|warning: mounting fs with errors)|FAT-fs \((?P<what>[\w-]+)\): (?:error, |Filesystem has been set read-only)|XFS ` +
				`\((?P<what>[\w-]+)\): (?:[Cc]orruption|[Mm]etadata (?:I/O error|[Cc]orruption)|Internal error|log I/O error|Filesystem has been ` +
				`shut down)|BTRFS (?:error|critical) \(device (?P<what>[\w-]+)`,
		),
		innocent: removable,
		least:    1,
		severity: trap.Critical,
		summary:  "the kernel found this file system damaged, or could not write to it",
		byHand:   "back up what can be read, then check it unmounted: fsck -n /dev/WHAT",
	},
	{
		re: lazy.Regexp(
			`BUG: unable to handle|BUG: kernel NULL pointer|kernel BUG at |\bOops: |general protection fault, (?:probably|maybe)|general ` +
				`protection fault: 0{4} \[#|Unable to handle kernel`,
		),
		subject:  "kernel",
		least:    1,
		severity: trap.Critical,
		summary:  "a part of the kernel crashed; it continues in an undefined state",
		byHand:   "reboot soon, and report the lines to the distribution",
	},
	{
		subject: "link",
		re: lazy.Regexp(
			`(?:^|\s)(?P<what>ata\d+)(?:\.\d+)?: (?:exception Emask|hard resetting link|limiting SATA link)`,
		), // not "failed command": one reset has it for each of 32 commands
		least:    6,
		severity: trap.Warning,
		summary:  "the link to this disk keeps being reset: cable, power, or the disk itself",
		byHand:   "dmesg names the disk on WHAT; change its cable, check smartctl -a",
	},
	{
		subject: "NVMe disk",
		re: lazy.Regexp(
			`(?P<what>nvme\d+): (?:I/O (?:tag )?\d+ .*timeout|controller is down|Device not ready|Removing after probe failure|Disabling device ` +
				`after reset failure)`,
		),
		least:    1,
		severity: trap.Warning,
		summary:  "this NVMe disk does not answer in time",
		byHand:   "nvme smart-log /dev/WHAT; update its firmware; check APST (nvme_core.default_ps_max_latency_us=0)",
	},
	{subject: "program", re: lazy.Regexp(`Memory cgroup out of memory: Kill(?:ed)? process \d+ \((?P<what>[^)]+)\)`),
		least: 1, severity: trap.Notice, summary: "the kernel killed this program at " +
			"the memory limit of its control group", byHand: "raise the limit (MemoryMax=, --memory), or find out why WHAT grows"},
	{
		subject:  "program",
		re:       lazy.Regexp(`(?:Out of memory|Out of memory \(oom_kill_allocating_task\)): Kill(?:ed)? process \d+ \((?P<what>[^)]+)\)`),
		least:    1,
		severity: trap.Warning,
		summary:  "memory ran out, and the kernel killed this program",
		byHand:   "journalctl -k -b -g 'Out of memory' shows who used it; limit what grows, or add memory",
	},
	{subject: "task", re: lazy.Regexp(`INFO: task (?P<what>.+?):\d+ blocked (?:in I/O wait )?for more than \d+ seconds`), name: worker,
		least: 1, severity: trap.Warning, summary: "it was blocked in the kernel for minutes: a " +
			"disk, an NFS server or a lock did not answer", byHand: "the trace below the line in journalctl -k -b names what it waited for"},
	{
		subject: "program",
		re: lazy.Regexp(
			`(?:^|\s)(?P<what>[^\s\[\]:]+(?: [^\s\[\]:]+){0,2})\[\d+\]: segfault at|traps: (?P<what>[^\[]+)\[\d+\] (?:general protection|trap ` +
				`divide error|trap invalid opcode)`,
		),
		least:    3,
		severity: trap.Warning,
		summary:  "it keeps crashing (segfault)",
		byHand: "coredumpctl info WHAT (package systemd-coredump) shows where; report it to its vendor. If several programs crash, test " +
			"the memory (memtest86+)",
	},
	{subject: "CPU", re: lazy.Regexp(`\[Hardware Error\]: (?:Uncorrected|.*[Ff]atal)|Machine Check Exception|mce: Uncorrected`),
		least: 1, severity: trap.Warning, summary: machineChecks, byHand: askVendor},
	// These speak of corrected errors, too, and of what the firmware of many laptops leaves behind at each boot.
	{subject: "CPU", re: lazy.Regexp(`\[Hardware Error\]: (?:Machine check|CPU \d+: Machine)`),
		least: 1, grows: 10, severity: trap.Notice, summary: machineChecks, byHand: askVendor},
	{subject: "CPU", re: lazy.Regexp(`soft lockup - CPU|self-detected stall on CPU|detected stalls on CPUs|[Hh]ard LOCKUP`),
		least: 1, grows: 3, severity: trap.Notice, summary: "a processor was stuck in one task for tens " +
			"of seconds, or the virtual machine was paused", byHand: "in a guest: look for an overloaded host, or a pause for a " +
			"snapshot; otherwise the trace in journalctl -k -b names the driver"},
	{subject: "CPU", re: lazy.Regexp(`(?:Core|Package) temperature (?:is )?above threshold, cpu clock`),
		least: 20, lately: true, severity: trap.Notice, summary: "the processor is too hot, and is throttled",
		byHand: "clean its fan and air path; " +
			"sensors shows the temperatures"},
	// Since Linux 6.6 the link's name stands before it, and the CPU's number after it.
	{
		subject: "link",
		re: lazy.Regexp(
			`(?:^|\s)(?P<what>[\w.-]+): NETDEV WATCHDOG: CPU: \d+: transmit queue \d+ timed out|NETDEV WATCHDOG: (?P<what>[\w.-]+)(?: ` +
				`\([^)]*\))?: .*transmit queue \d+ timed out`,
		),
		least:    1,
		severity: trap.Warning,
		summary:  "the network card stopped sending, and was reset",
		byHand:   "ethtool -i WHAT names driver and firmware: update them; try ethtool -K WHAT tso off gso off",
	},
	{subject: "power supply", re: lazy.Regexp(`(?i)under-?voltage detected`),
		least: 3, severity: trap.Warning, summary: "its voltage drops too low: this board is " +
			"slowed down, and its card and USB disks may fail", byHand: "a stronger power supply with a short, thick cable; a " +
			"powered hub for USB disks. vcgencmd get_throttled says whether it happens now"},
	{
		subject: "link",
		re: lazy.Regexp(
			`(?i)(?:^|\s)(?P<what>[a-z][a-z0-9._-]{1,14}): (?:[\w.-]+: )?(?:[\w.-]+ )?(?:nic )?link (?:is )?down\b|\(slave (?P<what>[\w.-]+)\): ` +
				`link status definitely down`,
		),
		innocent: virtual,
		least:    5,
		lately:   true,
		cable:    true,
		severity: trap.Warning,
		summary:  "its link keeps going down",
		byHand:   "ethtool -S WHAT; change the cable or the transceiver, check the switch port",
	},
	{subject: "NFS server", re: lazy.Regexp(`nfs: server (?P<what>\S+) not responding`),
		least: 3, lately: true, severity: trap.Warning, summary: "it repeatedly does not " +
			"answer, and whatever uses it waits", byHand: "check the server and the network in between; nfsstat -rc " +
			"counts the retransmissions"},
	{subject: "program", re: lazy.Regexp(`(?P<what>[\w/.:-]+): page allocation failure`), name: worker,
		least: 3, severity: trap.Notice, summary: "the kernel had no free " +
			"memory of the kind needed for it", byHand: "sysctl vm.min_free_kbytes: a " +
			"larger reserve helps network drivers"},
}

// disk is the disk of a partition: sda of sda1, nvme0n1 of nvme0n1p2.
func disk(dev string) string {
	switch base := strings.TrimRight(dev, "0123456789"); {
	case strings.HasPrefix(dev, "sd"), strings.HasPrefix(dev, "vd"), strings.HasPrefix(dev, "hd"), strings.HasPrefix(dev, "xvd"):
		return base
	case strings.HasSuffix(base, "p") && (strings.HasPrefix(dev, "nvme") || strings.HasPrefix(dev, "mmcblk")):
		return strings.TrimSuffix(base, "p")
	}
	return dev
}

// removable are drives without a medium, and what has no hardware behind it:
// they complain on healthy hosts.
func removable(dev string) bool {
	for _, p := range []string{"fd", "sr", "scd", "loop", "nbd", "zram", "ram"} {
		if n, ok := strings.CutPrefix(dev, p); ok && strings.Trim(n, "0123456789") == "" {
			return true
		}
	}
	return strings.HasPrefix(dev, "mmcblk") && strings.HasSuffix(dev, "rpmb") // answers only who has its key
}

// virtual are links that come and go with guests and containers, and names
// that are no network links.
func virtual(link string) bool {
	for _, p := range []string{"veth", "vnet", "tap", "tun", "docker", "br-", "virbr", "cali", "cni", "lxc", "lxd", "wl", "ata", "usb",
		"vif", "fwpr", "fwln"} {
		if strings.HasPrefix(link, p) {
			return true
		}
	}
	return false
}

// worker is a task's name without the number of the worker that it is.
func worker(task string) string {
	name, _, _ := strings.Cut(task, "/")
	return name
}
