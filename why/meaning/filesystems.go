package meaning

import (
	"regexp"

	"fettle/internal/lazy"
)

// phrase is a wording whose sense is fixed.
type phrase struct {
	re     func() *regexp.Regexp
	says   string
	source string
}

const (
	ext4Source  = "the kernel's fs/ext4/super.c and fs/jbd2"
	xfsSource   = "the kernel's fs/xfs"
	btrfsSource = "the kernel's fs/btrfs"
)

// What file systems and block devices say (each wording is in the source that is named).
var filesystemPhrases = []phrase{
	{lazy.Regexp(`EXT[234]-fs error \(device [^)]+\)(?:: \w+:\d+)?`),
		"the file system found its own structures damaged or could not write them: it needs a check (e2fsck) while not mounted",
		ext4Source},
	{lazy.Regexp(`[Rr]emounting filesystem read-only`),
		"from here on nothing can be written to it (errors=remount-ro); what failed stands before this line", ext4Source},
	{lazy.Regexp(`Aborting journal on device|Detected aborted journal`),
		"the journal could not be written: the file system stops writing", ext4Source},
	{lazy.Regexp(`previous I/O error to superblock detected`),
		"the superblock could not be written earlier: the device below had the error", ext4Source},
	{lazy.Regexp(`I/O error while writing superblock|lost sync page write`), "a write to the device below failed", ext4Source},
	{lazy.Regexp(`error count since last fsck: \d+`), "errors of the past that a check has not cleared yet: not a new error",
		ext4Source},
	{lazy.Regexp(`This should not happen!! Data will be lost`), "data that programs had written did not reach the disk",
		ext4Source},
	{lazy.Regexp(`XFS \([^)]+\): (?:Metadata (?:CRC|corruption)[^,]*|Corruption (?:detected|of in-memory data)[^,.]*)`),
		"the file system's structures are damaged, on the disk or in memory: unmount it and run xfs_repair", xfsSource},
	{lazy.Regexp(`XFS \([^)]+\): (?:log I/O error|Log I/O Error Detected|[Ff]ilesystem has been shut down|` +
		`Shutting down filesystem)[^.]*`),
		"the file system shut itself down after an error: every access fails until it is mounted again", xfsSource},
	{lazy.Regexp(`BTRFS error[^:]*: parent transid verify failed[^w]*(?:wanted \d+ found \d+)?|parent transid verify failed`),
		"a block of metadata is of another generation than its parent says: writes were lost or came out of order below", btrfsSource},
	{lazy.Regexp(`BTRFS (?:warning|error)[^:]*: (?:csum failed|checksum (?:error|verify failed))`),
		"data or metadata does not match its checksum; with a second copy it is repaired from that", btrfsSource},
	{lazy.Regexp(`open_ctree failed`), "the file system could not be mounted; the lines before say why", btrfsSource},
	{lazy.Regexp(`bdev \S+ errs: wr \d+, rd \d+, flush \d+, corrupt \d+, gen \d+`),
		"a device's counters since they were reset: failed writes, reads and flushes, checksums, generations (btrfs device stats)",
		btrfsSource},
	{lazy.Regexp(`(?:blk_update_request: )?(?:critical medium|critical target|I/O) error, dev (\S+), sector \d+`),
		"the block device reported an error for this place; the driver's lines before it say which", "the kernel's block/blk-core.c"},
	{lazy.Regexp(`Buffer I/O error on (?:dev|device) \S+`), "a cached block could not be read or written",
		"the kernel's fs/buffer.c"},
	{lazy.Regexp(`loop: Write error at byte offset \d+`),
		"a write to the file behind a loop device failed, for example because its file system is full",
		"the kernel's drivers/block/loop.c"},
	{lazy.Regexp(`(?:watchdog: )?BUG: soft lockup - CPU#\d+ stuck for \d+s`),
		"one processor ran kernel code for that long without letting others in; on a virtual machine often the host's doing",
		"https://docs.kernel.org/admin-guide/lockup-watchdogs.html"},
	{lazy.Regexp(`INFO: task \S+ blocked for more than \d+ seconds`),
		"a task waits that long in the kernel, mostly for a disk or a server that does not answer", "the kernel's kernel/hung_task.c"},
	{lazy.Regexp(`USB disconnect, device number \d+`), "the device went off the bus: unplugged, reset, or without power",
		"the kernel's drivers/usb/core/hub.c"},
}

func filesystems(text string) []Meaning { return phrases(text, filesystemPhrases) }

func phrases(text string, table []phrase) []Meaning {
	var out []Meaning
	for _, p := range table {
		if m := p.re().FindString(text); m != "" {
			out = append(out, Meaning{m, p.says, p.source})
		}
	}
	return out
}

const edacSource = "https://docs.kernel.org/driver-api/edac.html"

var edacPhrases = []phrase{
	{lazy.Regexp(`EDAC MC\d+: \d+ CE\b`), "CE: memory errors that ECC corrected; the DIMM is named behind it", edacSource},
	{lazy.Regexp(`EDAC MC\d+: \d+ UE\b`), "UE: memory errors that could not be corrected: data was lost", edacSource},
	{lazy.Regexp(`\[Hardware Error\]: Machine check events logged`),
		"the processor reported a hardware error; the decoded one follows, or rasdaemon has it",
		"the kernel's arch/x86/kernel/cpu/mce"},
}

func edac(text string) []Meaning { return phrases(text, edacPhrases) }
