package powercut

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Level is an array to cut the power of.
type Level struct {
	Name    string // "raid1", "raid1-no-bitmap"
	RAID    string // mdadm's --level
	Members int
	Bitmap  string // mdadm's --bitmap: internal or none
}

const array = "/dev/md0"

func md(file string) string {
	b, _ := os.ReadFile("/sys/block/md0/md/" + file)
	return strings.TrimSpace(string(b))
}

// settled waits until md has nothing to sync, at most a minute.
func settled() error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if md("sync_action") == "idle" {
			return nil
		}
	}
	return fmt.Errorf("%s is still busy after a minute: %s", array, md("sync_action"))
}

func (d *disk) createArray(l Level) error {
	argv := []string{"mdadm", "--create", array, "--run", "--quiet", "--metadata=1.2", "--level=" + l.RAID,
		fmt.Sprint("--raid-devices=", l.Members), "--bitmap=" + l.Bitmap}
	if _, err := d.b.Run(append(argv, d.parts...)...); err != nil {
		return err
	}
	return settled()
}

// assemble starts the array with whatever members will come, as a boot does
// when its wait for the others is over. A parity array that lacks a member and
// was being written is refused by md without force (raid5.c,
// setup_conf: "cannot start dirty degraded array").
func (d *disk) assemble() (forced bool, err error) {
	argv := append([]string{"mdadm", "--assemble", array, "--run"}, d.parts...)
	if _, err = d.b.Run(argv...); err == nil && md("array_state") != "inactive" && md("array_state") != "" {
		return false, nil
	}
	d.b.Exec([]string{"mdadm", "--stop", array})
	if _, ferr := d.b.Run(append(argv, "--force")...); ferr != nil {
		return true, fmt.Errorf("%w; with --force: %w", err, ferr)
	}
	if s := md("array_state"); s == "inactive" || s == "" {
		return true, fmt.Errorf("the array does not start, with --force neither: array_state %q", s)
	}
	return true, nil
}

func (d *disk) stopArray() error {
	if _, err := os.Stat("/sys/block/md0/md"); err != nil {
		return nil
	}
	var err error
	for range 50 {
		if _, err = d.b.Run("mdadm", "--stop", array); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// missing counts the members that the array has not in sync.
func missing() int {
	n, err := strconv.Atoi(md("degraded"))
	if err != nil {
		return -1
	}
	return n
}

// hasList tells whether a member has a bad blocks list.
func (d *disk) hasList(member int) (bool, error) {
	out, err := d.b.Run("mdadm", "--examine-badblocks", d.parts[member])
	switch {
	case err != nil:
		return false, err
	case strings.Contains(out, "No bad-blocks list configured"):
		return false, nil
	case strings.Contains(out, "Bad-blocks list is empty"):
		return true, nil
	}
	return false, fmt.Errorf("the bad blocks list of %s: %s", d.parts[member], strings.TrimSpace(out))
}

// scrub has md compare all copies ("check"), or make them equal too
// ("repair"), and returns how many sectors differed.
func scrub(how string) (string, error) {
	if err := os.WriteFile("/sys/block/md0/md/sync_action", []byte(how), 0); err != nil {
		return "", err
	}
	if err := settled(); err != nil {
		return "", err
	}
	return md("mismatch_cnt"), nil
}

func base(dev string) string { return filepath.Base(dev) }
