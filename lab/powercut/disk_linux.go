package powercut

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fettle/lab"
)

// Sizes, in bytes.
const (
	mib       = 1 << 20
	rootSize  = 32 * mib
	diskSize  = 20 * mib // of a member
	logSize   = 320 * mib
	spareSize = 192 * mib // what a trial may write
	sector    = 512
)

const (
	top     = "/run/powercut"
	rootDir = top + "/root" // the file system that keeps fettle's state and mdadm.conf
	dataDir = top + "/data" // the array's
	confDir = "/etc/mdadm"
	state   = rootDir + "/state"
)

// disk is one disk with a partition for the root and one for each member:
// device mapper's linear targets over a loop device, or over what records or
// replays.
type disk struct {
	b       *lab.Bench
	members int
	file    string // as it is before the first cut
	loop    string // of file
	logFile string
	logLoop string
	spare   string // takes what a trial writes
	spareLp string

	root    string   // nodes, while mapped
	parts   []string // of the members
	mapped  []string // names, in the order in which they were made
	mounted []string
}

func newDisk(b *lab.Bench, members int) (*disk, error) {
	d := &disk{b: b, members: members, file: top + "/mem/disk", logFile: top + "/mem/log", spare: top + "/mem/spare"}
	for _, dir := range []string{top + "/mem", rootDir, dataDir, confDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := unix.Mount("tmpfs", top+"/mem", "tmpfs", 0, "size=95%"); err != nil {
		return nil, fmt.Errorf("mounting a tmpfs for the disks: %w", err)
	}
	for _, f := range []struct {
		name string
		size int64
		loop *string
	}{{d.file, d.size(), &d.loop}, {d.logFile, logSize, &d.logLoop}, {d.spare, spareSize, &d.spareLp}} {
		if err := os.WriteFile(f.name, nil, 0o600); err != nil {
			return nil, err
		}
		if err := os.Truncate(f.name, f.size); err != nil {
			return nil, err
		}
		out, err := b.Run("losetup", "--find", "--show", f.name)
		if err != nil {
			return nil, err
		}
		*f.loop = out[:len(out)-1]
	}
	return d, nil
}

func (d *disk) size() int64 { return rootSize + int64(d.members)*diskSize }

// part numbers the disks that the partitions stand for.
func (d *disk) part(s uint64) int {
	if at := int64(s) * sector; at >= rootSize {
		return 1 + int((at-rootSize)/diskSize)
	}
	return 0
}

// class names what a sector of the disk belongs to: the root with fettle's
// journal, the members' metadata, or what is in the array.
func (d *disk) class(s uint64) string {
	at := int64(s) * sector
	switch {
	case at < rootSize:
		return "root"
	case (at-rootSize)%diskSize < 128<<10: // superblock, bitmap and bad blocks list of metadata 1.2
		return "metadata"
	}
	return "data"
}

// mapOn maps the partitions on a device. Reversed, the members come by other
// names than the ones they had.
func (d *disk) mapOn(dev string, reversed bool) error {
	part := func(name string, at, size int64) (string, error) {
		// From Linux 6.11 on a flush bypasses the map of a device that is linear alone
		// (flush_bypasses_map, drivers/md/dm.c), and the log would not tell whose it was. The last
		// sector belongs to no block of a file system, and to no chunk of an array.
		n := uint64(size / sector)
		node, err := mapDevice(name, target{0, n, "linear", fmt.Sprintf("%s %d", dev, at/sector)}, target{n, 1, "error", ""})
		if err == nil {
			d.mapped = append(d.mapped, name)
		}
		return node, err
	}
	var err error
	if d.root, err = part("root", 0, rootSize); err != nil {
		return err
	}
	d.parts = make([]string, d.members)
	for k := range d.members {
		i := k
		if reversed {
			i = d.members - 1 - k
		}
		if d.parts[i], err = part(fmt.Sprint("member", i), rootSize+int64(i)*diskSize, diskSize); err != nil {
			return err
		}
	}
	return nil
}

// record maps the disk so that its writes are logged. Under the log lies a disk
// without a cache: there the block layer ends a flush as soon as it is mapped
// (submit_bio_noacct, block/blk-core.c, Linux 6.1), so the log has the flushes in
// the order in which they took the writes before them. A kernel with voluntary preemption, as
// Debian's User-Mode Linux 7.2, may let another flush go first even there: in one recording
// beside many flushes 18 writes were then logged too late. With a cache, a flush that
// has FUA, as the one before a journal's commit, takes two cycles of the flush
// machine (blk_flush_policy, block/blk-flush.c), and one mapped later is logged first.
func (d *disk) record() error {
	if err := os.WriteFile("/sys/block/"+base(d.loop)+"/queue/write_cache", []byte("write through"), 0); err != nil {
		return fmt.Errorf("taking the cache from the disk that is recorded: %w", err)
	}
	dev, err := mapDevice("recorded", target{0, uint64(d.size() / sector), "log-writes", d.loop + " " + d.logLoop})
	if err != nil {
		return err
	}
	d.mapped = append(d.mapped, "recorded")
	return d.mapOn(dev, false)
}

// replay maps the disk as the cut left it, on top of the entries that are on
// it already. What is written from now on goes to the spare and is forgotten.
func (d *disk) replay(l *Log, c Cut, reversed bool) error {
	dev, err := mapDevice("replayed", target{0, uint64(d.size() / sector), "snapshot", d.loop + " " + d.spareLp + " N 8"})
	if err != nil {
		return err
	}
	d.mapped = append(d.mapped, "replayed")
	f, err := os.OpenFile(dev, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = c.Write(l, f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return d.mapOn(dev, reversed)
}

func (d *disk) mount(dev, dir, fs string, flags uintptr) error {
	if err := unix.Mount(dev, dir, fs, flags, ""); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", dev, dir, err)
	}
	d.mounted = append(d.mounted, dir)
	return nil
}

// mkfs makes an ext4 that has nothing left to initialise once it is mounted.
var mkfs = []string{"mkfs.ext4", "-q", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"}

func (d *disk) makeRoot() error {
	if _, err := d.b.Run(append(mkfs[:len(mkfs):len(mkfs)], d.root)...); err != nil {
		return err
	}
	return d.mountRoot()
}

// mountRoot mounts the root and puts its mdadm.conf where mdadm looks.
func (d *disk) mountRoot() error {
	if err := d.mount(d.root, rootDir, "ext4", 0); err != nil {
		return err
	}
	etc := filepath.Join(rootDir, "mdadm")
	if err := os.Mkdir(etc, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	return d.mount(etc, confDir, "", unix.MS_BIND)
}

// close unmounts, stops the array and unmaps, in that order.
func (d *disk) close() error {
	var errs []error
	if n := len(d.mounted); n > 0 && d.mounted[n-1] == dataDir {
		errs = append(errs, d.unmountData())
	}
	errs = append(errs, d.stopArray())
	for len(d.mounted) > 0 {
		errs = append(errs, d.unmountLast())
	}
	for i := len(d.mapped) - 1; i >= 0; i-- {
		errs = append(errs, unmapDevice(d.mapped[i]))
	}
	d.mapped = nil
	return errors.Join(errs...)
}

func (d *disk) unmountLast() error {
	dir := d.mounted[len(d.mounted)-1]
	d.mounted = d.mounted[:len(d.mounted)-1]
	var err error
	for range 50 {
		if err = unix.Unmount(dir, 0); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("unmounting %s: %w", dir, err)
}

func (d *disk) unmountData() error {
	if n := len(d.mounted); n == 0 || d.mounted[n-1] != dataDir {
		return nil
	}
	return d.unmountLast()
}

// forget empties the spare, for the next trial.
func (d *disk) forget() error {
	f, err := os.OpenFile(d.spare, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, spareSize)
}

// copyFile copies a sparse file, leaving holes where it has them.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := out.Truncate(st.Size()); err != nil {
		return err
	}
	for at := int64(0); ; {
		data, err := in.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return out.Close()
		}
		if err != nil {
			return err
		}
		if at, err = in.Seek(data, unix.SEEK_HOLE); err != nil {
			return err
		}
		if _, err := io.Copy(io.NewOffsetWriter(out, data), io.NewSectionReader(in, data, at-data)); err != nil {
			return err
		}
	}
}
