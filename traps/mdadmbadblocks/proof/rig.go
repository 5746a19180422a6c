package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fettle/lab"
)

// rig is what the experiments have in a throwaway machine: disks that are
// loop devices, and arrays made of them.
type rig struct {
	*lab.Bench
	disks int
}

// need attaches loop devices of this many MiB until there are n.
func (r *rig) need(n, mib int) error {
	for ; r.disks < n; r.disks++ {
		if err := r.disk(r.disks, mib); err != nil {
			return err
		}
	}
	return nil
}

// disk makes loop device i of an empty file of its own.
func (r *rig) disk(i, mib int) error {
	file := fmt.Sprintf("/run/disk%d", i)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(file, int64(mib)<<20); err != nil {
		return err
	}
	dev := "/dev/" + loop(i)
	if _, err := os.Stat(dev); err != nil {
		if _, err := r.Run("mknod", dev, "b", "7", strconv.Itoa(i)); err != nil {
			return err
		}
	}
	_, err := r.Run("losetup", dev, file)
	return err
}

func loop(i int) string { return fmt.Sprintf("loop%d", i) }

// create makes md0 of the first n disks and waits until it is in sync.
func (r *rig) create(level string, n int, args ...string) error {
	argv := append(
		[]string{"mdadm", "--create", "/dev/md0", "--run", "--quiet", "--level=" + level, fmt.Sprintf("--raid-devices=%d", n)},
		args...)
	for i := range n {
		argv = append(argv, "/dev/"+loop(i))
	}
	if _, err := r.Run(argv...); err != nil {
		return err
	}
	return r.whole()
}

// remove stops md0 and wipes its disks' superblocks.
func (r *rig) remove() error {
	if _, err := r.Run("mdadm", "--stop", "/dev/md0"); err != nil {
		return err
	}
	for i := range r.disks {
		r.Exec([]string{"mdadm", "--zero-superblock", "/dev/" + loop(i)})
	}
	return nil
}

const mdDir = "/sys/block/md0/md/"

func md(file string) string {
	b, _ := os.ReadFile(mdDir + file)
	return strings.TrimSpace(string(b))
}

func setMD(file, value string) error { return os.WriteFile(mdDir+file, []byte(value+"\n"), 0) }

// idle waits until md0 has synced whatever it syncs, and has not only not
// begun: for a moment after a change it still says idle.
func (r *rig) idle() error {
	calm := 0
	return until(func() bool {
		a, from := md("sync_action"), md("resync_start")
		calm++
		if a != "idle" && a != "" || from != "none" && from != "" { // RAID0 has neither
			calm = 0
		}
		return calm > 15
	})
}

// whole waits until md0 lacks no member, and is idle.
func (r *rig) whole() error {
	if err := until(func() bool { n := md("degraded"); return n == "0" || n == "" }); err != nil {
		return err
	}
	return r.idle()
}

func until(what func() bool) error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if what() {
			return nil
		}
	}
	return fmt.Errorf("after half a minute md0 is still not as it should be (%s, %s)", md("array_state"), md("sync_action"))
}

// members are the names of md0's members.
func members() []string {
	dirs, _ := filepath.Glob(mdDir + "dev-*")
	for i, d := range dirs {
		dirs[i] = strings.TrimPrefix(filepath.Base(d), "dev-")
	}
	return dirs
}

// badblocks is what mdadm says of a member's list: "none", "empty", or its
// entries as START+COUNT.
func (r *rig) badblocks(dev string) (string, error) {
	out, code, err := r.Exec([]string{"mdadm", "--examine-badblocks", "/dev/" + dev})
	switch {
	case err != nil:
		return "", err
	case strings.Contains(out, "No bad-blocks list"):
		return "none", nil
	case strings.Contains(out, "list is empty"):
		return "empty", nil
	case !strings.Contains(out, "Bad-blocks on"):
		return "", fmt.Errorf("mdadm --examine-badblocks /dev/%s: status %d: %s", dev, code, out)
	}
	var entries []string
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 4 && f[1] == "for" {
			entries = append(entries, f[0]+"+"+f[2])
		}
	}
	return strings.Join(entries, ", "), nil
}

// enterBad writes an entry into a member's list, and makes md write its
// superblocks by writing to the array.
func (r *rig) enterBad(dev string, start, count int) error {
	setMD("safe_mode_delay", "0.05") // seconds until an array that nobody writes to is clean
	if err := setMD("dev-"+dev+"/bad_blocks", fmt.Sprintf("%d %d", start, count)); err != nil {
		return err
	}
	said, text := "", fmt.Sprintf("%d %d", start, count)
	err := until(func() bool {
		if !strings.Contains(md("dev-"+dev+"/bad_blocks"), fmt.Sprintf("%d ", start)) {
			setMD("dev-"+dev+"/bad_blocks", text) // a write that was still under way took it off again
		}
		if md("array_state") == "clean" { // its change to active writes the superblocks
			out, code, err := r.Exec([]string{"dd", "if=/dev/zero", "of=/dev/md0", "bs=4096", "count=1", "conv=fsync", "status=none"})
			said = fmt.Sprint(strings.TrimSpace(out), code, err)
		}
		list, err := r.badblocks(dev)
		if err != nil {
			said += err.Error()
		}
		return strings.Contains(list, fmt.Sprintf("%d+", start)) // an entry holds 512 sectors at most: more are several
	})
	if err != nil {
		list, _ := r.badblocks(dev)
		return fmt.Errorf(
			"the entry %d+%d of %s: %w; in sysfs %q, on the disk %q, %s",
			start,
			count,
			dev,
			err,
			md("dev-"+dev+"/bad_blocks"),
			list,
			said,
		)
	}
	return nil
}
