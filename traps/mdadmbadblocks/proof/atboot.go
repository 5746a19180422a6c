package proof

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fettle/lab"
	"fettle/traps/mdadmbadblocks"
)

// atBoot runs the script of the initramfs on arrays in all states, as
// initramfs-tools calls it: from /scripts/local-top, and local-premount, by sh.
// udev is not there; how the script gets along with it was tried on a real
// initramfs (docs/raid.md).
func atBoot(_ context.Context, b *lab.Bench) error {
	r := &rig{Bench: b}
	if err := r.need(4, 24); err != nil {
		return err
	}
	for _, stage := range []string{"local-top", "local-premount"} {
		name := bootName(stage)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, mdadmbadblocks.BootScript, 0o755); err != nil {
			return err
		}
	}
	b.Columns("Array", "State", "Lists before", "Lists after", "Missing", "Data")
	for _, c := range []bootCase{
		{"1", 2, "whole, with a bitmap", "none", []string{"--bitmap=internal"}, nil},
		{"1", 2, "whole, without a bitmap", "none", []string{"--bitmap=none"}, nil},
		{"0", 2, "no redundancy", "none", nil, nil},
		{"10", 4, "whole", "none", nil, nil},
		{"6", 4, "whole", "none", nil, nil},
		{"1", 2, "being synced", "none", []string{"--bitmap=none"}, func(r *rig) error {
			if err := os.WriteFile(speedLimit, []byte("1000\n"), 0); err != nil { // KiB/s
				return err
			}
			return cmds("mdadm --stop /dev/md0", "mdadm --assemble /dev/md0 "+
				"--update=resync /dev/loop0 /dev/loop1", "grep -qx resync /sys/block/md0/md/sync_action")(r)
		}},
		{"1", 2, "misses a member", "empty", nil, cmds("mdadm /dev/md0 --fail /dev/loop1", "mdadm /dev/md0 --remove /dev/loop1")},
		{"1", 2, "mounted", "empty", nil, func(r *rig) error {
			os.MkdirAll("/run/fs", 0o755)
			return cmds("mkfs.ext4 -qF /dev/md0", "mount -t ext4 /dev/md0 /run/fs")(r)
		}},
		{"1", 2, "an entry in the list of loop1", "empty", nil, func(r *rig) error { return r.enterBad("loop1", 8192, 8) }},
		{"1", 2, "a system may have to be resumed", "empty", nil, func(*rig) error { return os.Setenv("resume", "/dev/not-there-yet") }},
	} {
		if err := r.boot(c); err != nil {
			return fmt.Errorf("RAID%s, %s: %w", c.level, c.state, err)
		}
	}
	return nil
}

const speedLimit = "/proc/sys/dev/raid/speed_limit_max"

func bootName(stage string) string { return "/scripts/" + stage + "/fettle-md-no-bbl" }

type bootCase struct {
	level string
	n     int
	state string
	want  string // list of loop0 after it
	args  []string
	spoil func(*rig) error
}

// boot makes the array, runs the script twice, and looks.
func (r *rig) boot(c bootCase) error {
	if err := r.create(c.level, c.n, c.args...); err != nil {
		return err
	}
	var data []byte
	for i := range uint64(256) {
		data = append(data, content(i, i+7)...)
	}
	if err := writeAll(data); err != nil {
		return err
	}
	if c.spoil != nil {
		if err := c.spoil(r); err != nil {
			return err
		}
		defer os.Unsetenv("resume")
		defer os.WriteFile(speedLimit, []byte("200000\n"), 0)
		defer r.Exec([]string{"umount", "/run/fs"})
	}
	before, err := r.badblocks("loop0")
	if err != nil {
		return err
	}
	missing := md("degraded")
	for range 2 { // the second time there is nothing left to do
		if out, code, err := r.Exec([]string{"sh", bootName("local-top")}); err != nil || code != 0 {
			return fmt.Errorf("the script ended with status %d, %v: %s", code, err, out)
		}
	}
	after, err := r.badblocks("loop0")
	if err != nil {
		return err
	}
	data2 := "as written"
	if got, err := readAll(len(data)); err != nil ||
		!bytes.Equal(got, data) && !strings.Contains(c.state, "mounted") && !strings.Contains(c.state, "entry") {
		data2 = fmt.Sprintf("differs (%v)", err)
	}
	r.Row("RAID"+c.level, c.state, before, after, cmp.Or(md("degraded"), "none"), data2)
	switch {
	case before != "empty" || after != c.want:
		return fmt.Errorf("the list was %s and is %s, want %s", before, after, c.want)
	case c.state == "being synced" && md("sync_action") != "resync":
		return fmt.Errorf("the sync did not go on: %s", md("sync_action"))
	case md("degraded") != missing:
		return fmt.Errorf("%s members were missing, and %s are", missing, md("degraded"))
	case data2 != "as written":
		return fmt.Errorf("the data %s", data2)
	}
	if os.Getenv("resume") != "" { // where we come to the second place, there was nothing to resume
		if out, code, err := r.Exec([]string{"sh", bootName("local-premount")}); err != nil || code != 0 {
			return fmt.Errorf("the script ended with status %d, %v: %s", code, err, out)
		}
		last, err := r.badblocks("loop0")
		if err != nil || last != "none" {
			return fmt.Errorf("in local-premount the list is %s, %v; want none", last, err)
		}
		r.Row("RAID"+c.level, "there was none to resume (local-premount)", after, last, md("degraded"), data2)
	}
	r.Exec([]string{"umount", "/run/fs"})
	return r.remove()
}

func writeAll(data []byte) error {
	f, err := os.OpenFile("/dev/md0", os.O_WRONLY|os.O_SYNC, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(data)
	return err
}

func readAll(n int) ([]byte, error) {
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("1\n"), 0); err != nil {
		return nil, err
	}
	f, err := os.Open("/dev/md0")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	_, err = f.ReadAt(b, 0)
	return b, err
}
