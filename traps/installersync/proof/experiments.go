package proof

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fettle/lab"
)

// Experiments measure what dpkg's fsyncs cost, and what they keep.
var Experiments = []lab.Experiment{
	{
		Name:  "slow-disk",
		About: "dpkg on a slow disk with and without fsync: time, flushes, and what a power cut leaves",
		Long:  true,
		Run:   slowDisk,
		Needs: lab.Needs{Engine: "uml", MemMiB: 900, Limit: 20 * time.Minute, Modules: []string{"loop", "dm-mod", "dm-delay"},
			Tools: []string{"losetup", "dmsetup", "mkfs.ext4", "e2fsck", "mount", "umount", "sync", "env", "sh", "cp",
				"dpkg", "dpkg-deb", "dpkg-split", "tar", "rm", "diff", "ldconfig", "start-stop-daemon"},
			Libs: []string{"libeatmydata.so"}},
	},
}

const (
	debs     = 40
	perDeb   = 12        // files
	fileSize = 3000      // bytes of each
	diskSize = 256 << 20 // bytes
	diskWait = 5         // ms that dm-delay adds to each request
	debDir   = "/run/debs"
	disk     = "/run/disk" // what has reached the platters
	mapped   = "/dev/mapper/slow"
	target   = "/run/target"
)

// way is how dpkg is run.
type way struct {
	name string
	argv []string
}

var ways = []way{
	{"as usual", nil},
	{"unsafe-io", []string{"--force-unsafe-io"}},
	{"eatmydata", nil},
}

// slowDisk installs the same packages onto the same slow disk in each way, and
// cuts the power in the middle and after the sync with which an installation ends.
func slowDisk(ctx context.Context, b *lab.Bench) error {
	b.Columns("dpkg", "Took", "Sync after it", "Flushes", "Cut in the middle: packages", "broken", "Cut at the end: packages", "broken")
	if err := makeDebs(b); err != nil {
		return err
	}
	for _, w := range ways {
		if err := w.install(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	b.Note(
		"%d packages of %d files of %d bytes each onto ext4 on dm-delay, %d ms for each request and more as its clock ticks. User-Mode "+
			"Linux, one processor.",
		debs,
		perDeb,
		fileSize,
		diskWait,
	)
	b.Note(
		"A power cut is what the disk holds at that moment, whatever is still in memory. packages: installed, as dpkg's database says; " +
			"broken: of these, a file is missing or has another content.",
	)
	return nil
}

func content(deb, file int) string {
	return strings.Repeat(fmt.Sprintf("%d/%d\n", deb, file), fileSize/4)[:fileSize]
}

func fileName(deb, file int) string { return fmt.Sprintf("/usr/share/deb%d/f%d", deb, file) }

func makeDebs(b *lab.Bench) error {
	if err := os.MkdirAll(debDir, 0o755); err != nil {
		return err
	}
	for d := range debs {
		const root = "/run/build"
		for f := range perDeb {
			name := root + fileName(d, f)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(name, []byte(content(d, f)), 0o644); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(root+"/DEBIAN", 0o755); err != nil {
			return err
		}
		control := fmt.Sprintf("Package: deb%d\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.com>\nDescription: x\n", d)
		if err := os.WriteFile(root+"/DEBIAN/control", []byte(control), 0o644); err != nil {
			return err
		}
		if _, err := b.Run("dpkg-deb", "-Znone", "--build", root, fmt.Sprintf("%s/deb%d.deb", debDir, d)); err != nil {
			return err
		}
		if err := os.RemoveAll(root); err != nil {
			return err
		}
	}
	return nil
}

// install runs dpkg in one way and adds the row.
func (w way) install(ctx context.Context, b *lab.Bench) error {
	loop, err := newDisk(b)
	if err != nil {
		return err
	}
	before, err := flushes()
	if err != nil {
		return err
	}
	began := time.Now()
	var pid int
	argv := append([]string{"dpkg", "--root=" + target, "--force-bad-path"}, w.argv...)
	argv = append(argv, "--install")
	for d := range debs {
		argv = append(argv, fmt.Sprintf("%s/deb%d.deb", debDir, d))
	}
	if w.name == "eatmydata" {
		argv = append([]string{"env", "LD_PRELOAD=libeatmydata.so"}, argv...)
	}
	pid, stop, err := b.Spawn(argv)
	if err != nil {
		return err
	}
	defer stop()
	if err := unpacked(ctx, pid, debs/2); err != nil {
		return err
	}
	pause := time.Now()
	middle, err := cut(b)
	if err != nil {
		return err
	}
	paused := time.Since(pause)
	if err := ended(ctx, pid); err != nil {
		return err
	}
	took := time.Since(began) - paused
	synced := time.Now()
	if _, err := b.Run("sync", "-f", target); err != nil {
		return err
	}
	syncTook := time.Since(synced)
	after, err := flushes()
	if err != nil {
		return err
	}
	end, err := cut(b)
	if err != nil {
		return err
	}
	if end.installed != debs || end.broken != 0 {
		return fmt.Errorf("after the sync %d of %d packages are installed, %d of them broken", end.installed, debs, end.broken)
	}
	if w.name == "as usual" && middle.broken != 0 {
		return fmt.Errorf("%d packages are broken though dpkg waited for the disk: this is no power cut", middle.broken)
	}
	b.Row(w.name, fmt.Sprintf("%.1f s", took.Seconds()), fmt.Sprintf("%.1f s", syncTook.Seconds()), strconv.Itoa(after-before),
		strconv.Itoa(middle.installed), strconv.Itoa(middle.broken), strconv.Itoa(end.installed), strconv.Itoa(end.broken))
	for _, argv := range [][]string{{"umount", target}, {"dmsetup", "remove", "--noudevrules", "--noudevsync", "slow"},
		{"losetup", "-d", loop}} {
		if _, err := b.Run(argv...); err != nil {
			return err
		}
	}
	return nil
}

// newDisk makes an empty ext4 on a slow disk, with an empty database of dpkg's.
func newDisk(b *lab.Bench) (loop string, err error) {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return "", err
	}
	f, err := os.Create(disk)
	if err != nil {
		return "", err
	}
	err = f.Truncate(diskSize)
	f.Close()
	if err != nil {
		return "", err
	}
	out, err := b.Run("losetup", "-f", "--show", disk)
	if err != nil {
		return "", err
	}
	loop = strings.TrimSpace(out)
	for _, argv := range [][]string{
		{"mkfs.ext4", "-q", "-F", loop},
		{"dmsetup", "create", "--noudevrules", "--noudevsync", "slow", "--table",
			fmt.Sprintf("0 %d delay %s 0 %d", diskSize/512, loop, diskWait)},
		{"dmsetup", "mknodes", "slow"},
		{"mount", "-t", "ext4", mapped, target},
	} {
		if _, err := b.Run(argv...); err != nil {
			return "", err
		}
	}
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(target+"/var/lib/dpkg/"+dir, 0o755); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(target+"/var/lib/dpkg/status", nil, 0o644); err != nil {
		return "", err
	}
	_, err = b.Run("sync", "-f", target)
	return loop, err
}

// flushes is how many the disk was asked for (Documentation/admin-guide/iostats.rst,
// field 16).
func flushes() (int, error) {
	dev, err := os.Readlink("/sys/block/loop0")
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join("/sys/block", dev, "stat"))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(text))
	if len(f) < 16 {
		return 0, fmt.Errorf("this kernel counts no flushes: %d fields in stat", len(f))
	}
	return strconv.Atoi(f[15])
}

// unpacked waits until dpkg has unpacked so many packages.
func unpacked(ctx context.Context, pid, n int) error {
	for {
		lists, err := filepath.Glob(target + "/var/lib/dpkg/info/deb*.list")
		switch {
		case err != nil:
			return err
		case len(lists) >= n:
			return nil
		case !alive(pid):
			return fmt.Errorf("dpkg ended after %d packages", len(lists))
		}
		if err := pauseFor(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func ended(ctx context.Context, pid int) error {
	for alive(pid) {
		if err := pauseFor(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// left is what a power cut leaves.
type left struct{ installed, broken int }

// cut copies what the disk holds now, without letting the file system write
// anything more, and looks at the copy as the next boot would.
func cut(b *lab.Bench) (left, error) {
	const copied, at = "/run/cut", "/run/after"
	if err := os.MkdirAll(at, 0o755); err != nil {
		return left{}, err
	}
	for _, argv := range [][]string{
		{"dmsetup", "suspend", "--nolockfs", "--noflush", "slow"},
		{"cp", "--sparse=always", disk, copied},
		{"dmsetup", "resume", "slow"},
		{"sh", "-c", "e2fsck -fy " + copied + "; test $? -le 1"},
		{"mount", "-o", "loop", "-t", "ext4", copied, at},
	} {
		if _, err := b.Run(argv...); err != nil {
			return left{}, err
		}
	}
	l, err := look(at)
	if _, uerr := b.Run("umount", at); err == nil {
		err = uerr
	}
	return l, err
}

// look counts the packages that dpkg's database below root calls installed.
func look(root string) (left, error) {
	var l left
	status, err := os.ReadFile(root + "/var/lib/dpkg/status")
	if err != nil {
		return l, err
	}
	updates, err := filepath.Glob(root + "/var/lib/dpkg/updates/[0-9]*")
	if err != nil {
		return l, err
	}
	state := map[string]string{} // of each package, the last that was written
	for _, name := range append([]string{""}, updates...) {
		text := status
		if name != "" {
			if text, err = os.ReadFile(name); err != nil {
				return l, err
			}
		}
		for stanza := range strings.SplitSeq(string(text), "\n\n") {
			name, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimLeft(stanza, "\n"), "Package: deb"), "\n")
			if ok && strings.Contains(stanza, "Package: deb") {
				state[name] = rest
			}
		}
	}
	for name, text := range state {
		d, err := strconv.Atoi(name)
		if err != nil || !strings.Contains(text, "Status: install ok installed") && !strings.Contains(text, "Status: install ok unpacked") {
			continue
		}
		l.installed++
		for f := range perDeb {
			if got, err := os.ReadFile(root + fileName(d, f)); err != nil || string(got) != content(d, f) {
				l.broken++
				break
			}
		}
	}
	return l, nil
}
