package kernelcomplaints

import (
	"strings"
	"sync"

	"fettle/engine/message"
	"fettle/engine/trap"
)

// kind is a sort of complaint.
type kind struct {
	subject string              // "disk", before the name of what the message speaks of
	name    func(string) string // of what is meant: the disk of a partition
	// innocent are names that complain on healthy hosts.
	innocent func(string) bool
	least    int  // lines from which it counts
	grows    int  // lines from which it is one degree more severe; 0: never
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

// said is what the kernel prints, as the lore lists it; a message's about is its kind. The
// words are those of Linux 2.6 to 6.13.
var said = sync.OnceValue(func() *message.Set { return message.MustSet(lore.Messages()) })

var kinds = map[string]*kind{
	"disk": {
		subject:  "disk",
		name:     disk,
		innocent: virtualDisk,
		least:    1,
		severity: trap.Critical,
		summary:  "the kernel reports I/O errors of this disk: reads or writes failed",
		byHand:   disks,
	},
	"fs": {
		subject:  onDisk,
		innocent: virtualDisk,
		least:    1,
		severity: trap.Critical,
		summary:  "the kernel found this file system damaged, or could not write to it",
		byHand:   "back up what can be read, then check it unmounted: fsck -n /dev/WHAT",
	},
	"kernel": {
		subject:  "kernel",
		least:    1,
		severity: trap.Critical,
		summary:  "a part of the kernel crashed; it continues in an undefined state",
		byHand:   "reboot soon, and report the lines to the distribution",
	},
	// Not "failed command": one reset has it for each of 32 commands.
	"link-ata": {
		subject:  "link",
		name:     port,
		least:    6,
		severity: trap.Warning,
		summary:  "the link to this disk keeps being reset: cable, power, or the disk itself",
		byHand:   "dmesg names the disk on WHAT; change its cable, check smartctl -a",
	},
	"nvme": {
		subject:  "NVMe disk",
		least:    1,
		severity: trap.Warning,
		summary:  "this NVMe disk does not answer in time",
		byHand:   "nvme smart-log /dev/WHAT; update its firmware; check APST (nvme_core.default_ps_max_latency_us=0)",
	},
	"oom-memcg": {
		subject:  "program",
		least:    1,
		severity: trap.Notice,
		summary:  "the kernel killed this program at the memory limit of its control group",
		byHand:   "raise the limit (MemoryMax=, --memory), or find out why WHAT grows",
	},
	"oom": {
		subject:  "program",
		least:    1,
		severity: trap.Warning,
		summary:  "memory ran out, and the kernel killed this program",
		byHand:   "journalctl -k -b -g 'Out of memory' shows who used it; limit what grows, or add memory",
	},
	"task": {
		subject:  "task",
		name:     worker,
		least:    1,
		severity: trap.Warning,
		summary:  "it was blocked in the kernel for minutes: a disk, an NFS server or a lock did not answer",
		byHand:   "the trace below the line in journalctl -k -b names what it waited for",
	},
	"segfault": {
		subject:  "program",
		least:    3,
		severity: trap.Warning,
		summary:  "it keeps crashing (segfault)",
		byHand: "coredumpctl info WHAT (package systemd-coredump) shows where; report it to its vendor. If several programs crash, test " +
			"the memory (memtest86+)",
	},
	"mce": {subject: "CPU", least: 1, severity: trap.Warning, summary: machineChecks, byHand: askVendor},
	// These speak of corrected errors, too, and of what the firmware of many laptops leaves behind at each boot.
	"mce-logged": {subject: "CPU", least: 1, grows: 10, severity: trap.Notice, summary: machineChecks, byHand: askVendor},
	"stuck": {
		subject:  "CPU",
		least:    1,
		grows:    3,
		severity: trap.Notice,
		summary:  "a processor was stuck in one task for tens of seconds, or the virtual machine was paused",
		byHand: "in a guest: look for an overloaded host, or a pause for a snapshot; otherwise the trace in journalctl -k -b names " +
			"the driver",
	},
	"hot": {
		subject:  "CPU",
		least:    20,
		lately:   true,
		severity: trap.Notice,
		summary:  "the processor is too hot, and is throttled",
		byHand:   "clean its fan and air path; sensors shows the temperatures",
	},
	"watchdog": {
		subject:  "link",
		least:    1,
		severity: trap.Warning,
		summary:  "the network card stopped sending, and was reset",
		byHand:   "ethtool -i WHAT names driver and firmware: update them; try ethtool -K WHAT tso off gso off (hangs of e1000e)",
	},
	"voltage": {
		subject:  "power supply",
		least:    3,
		severity: trap.Warning,
		summary:  "its voltage drops too low: this board is slowed down, and its card and USB disks may fail",
		byHand: "a stronger power supply with a short, thick cable; a powered hub for USB disks. vcgencmd get_throttled says " +
			"whether it happens now",
	},
	"link": {
		subject:  "link",
		innocent: virtual,
		least:    5,
		lately:   true,
		cable:    true,
		severity: trap.Warning,
		summary:  "its link keeps going down",
		byHand:   "ethtool -S WHAT; change the cable or the transceiver, check the switch port",
	},
	"nfs": {
		subject:  "NFS server",
		least:    3,
		lately:   true,
		severity: trap.Warning,
		summary:  "it repeatedly does not answer, and whatever uses it waits",
		byHand:   "check the server and the network in between; nfsstat -rc counts the retransmissions",
	},
	"memory": {
		subject:  "program",
		name:     worker,
		least:    3,
		severity: trap.Notice,
		summary:  "the kernel had no free memory of the kind needed for it",
		byHand:   "sysctl vm.min_free_kbytes: a larger reserve helps network drivers",
	},
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

// port is an ATA port without the number of the disk behind it.
func port(ata string) string {
	name, _, _ := strings.Cut(ata, ".")
	return name
}

// virtualDisk is a disk without hardware: it complains when its file is gone, which a
// snap's is after each refresh.
func virtualDisk(dev string) bool { return strings.HasPrefix(dev, "loop") }

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
