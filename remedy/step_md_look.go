package remedy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Reading where a member stands: sysfs (Documentation/admin-guide/md.rst) and
// mdadm, which reads superblocks past the page cache.

func (s MDReadd) sysfs(file string) string { return "/sys/block/" + s.Array + "/md/" + file }

// memberFile is a file of the member in the array's sysfs folder, where "!"
// stands for the "/" of names like cciss/c0d0.
func (s MDReadd) memberFile(file string) string {
	return s.sysfs("dev-" + strings.ReplaceAll(s.Member, "/", "!") + "/" + file)
}

// where the member stands.
const (
	mdIn      = "in sync"
	mdSyncing = "syncing" // or a spare
	mdFaulty  = "faulty"
	mdOut     = "not in the array"
)

// where reads where the member stands. An array that does not run is an error.
func (s MDReadd) where(m Machine) (string, error) {
	v, err := m.ReadValue(s.memberFile("state"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		if level, err := m.ReadValue(s.sysfs("level")); err != nil || level == "" {
			return "", fmt.Errorf("array %s does not run any more", s.Array)
		}
		return mdOut, nil
	}
	if err != nil {
		return "", err
	}
	switch words := strings.Split(v, ","); {
	case slices.Contains(words, "faulty"):
		return mdFaulty, nil
	case slices.Contains(words, "in_sync"):
		return mdIn, nil
	}
	return mdSyncing, nil
}

// hasList asks mdadm for the member's list.
func (s MDReadd) hasList(ctx context.Context, m Machine) (has, entries bool, err error) {
	out, err := m.Ask(ctx, []string{mdadm, "--examine-badblocks", "/dev/" + s.Member}, mdLimit)
	if err != nil {
		return false, false, err
	}
	switch text := string(out.Stdout); {
	case strings.Contains(text, "No bad-blocks list configured"):
		return false, false, nil
	case strings.Contains(text, "Bad-blocks list is empty"):
		return true, false, nil
	case strings.Contains(text, "Bad-blocks on"):
		return true, true, nil
	}
	return false, false, fmt.Errorf("asking mdadm for the bad blocks list of /dev/%s%s", s.Member, said(out))
}

// superblock is what mdadm tells of a device.
type mdSuperblock struct {
	array, device string   // UUIDs
	flags         []string // that --add needs so that the member stays as it is
}

// examine reads a device's superblock; one without any is an empty answer.
func (s MDReadd) examine(ctx context.Context, m Machine, dev string) (mdSuperblock, error) {
	var sb mdSuperblock
	out, err := m.Ask(ctx, []string{mdadm, "--examine", "/dev/" + dev}, mdLimit)
	if err != nil || out.Exit != 0 {
		return sb, err
	}
	for line := range strings.Lines(string(out.Stdout)) { // mdadm 4.2, super1.c examine_super1
		k, v, _ := strings.Cut(line, " : ")
		v = strings.TrimSpace(v)
		switch strings.TrimSpace(k) {
		case "Array UUID":
			sb.array = v
		case "Device UUID":
			sb.device = v
		case "Flags":
			for f := range strings.FieldsSeq(v) {
				if f == "write-mostly" || f == "failfast" {
					sb.flags = append(sb.flags, "--"+f)
				}
			}
		}
	}
	return sb, nil
}

func (s MDReadd) mine(sb mdSuperblock) bool {
	return sb.array == s.ArrayUUID && sb.device == s.DeviceUUID
}

// mdLost is the error of a member or an array that is not found.
type mdLost struct {
	what  string
	whole bool // nothing lacks it
}

func (e *mdLost) Error() string { return e.what }

// locate finds the array and the member by their UUIDs, and returns the step
// with the names that they have now.
func (s MDReadd) locate(ctx context.Context, m Machine) (MDReadd, error) {
	sb, err := s.examine(ctx, m, s.Member)
	if err != nil {
		return s, err
	}
	if s.mine(sb) {
		if _, err := m.ReadValue(s.memberFile("state")); err == nil {
			return s, nil
		}
	}
	devs, err := m.List("/sys/class/block")
	if err != nil {
		return s, err
	}
	was := s
	var mine []string // devices that hold the member's superblock
	arrays := map[string]bool{}
	relatives := false // other devices of the array
	for _, d := range devs {
		if strings.HasPrefix(d, "ram") {
			continue
		}
		name := strings.ReplaceAll(d, "!", "/")
		sb, err := s.examine(ctx, m, name)
		if err != nil {
			return s, err
		}
		if sb.array != s.ArrayUUID {
			continue
		}
		if s.mine(sb) {
			mine = append(mine, name)
		} else {
			relatives = true
		}
		holders, _ := m.List("/sys/class/block/" + d + "/holders")
		for _, h := range holders {
			if _, err := m.ReadValue("/sys/block/" + h + "/md/dev-" + d + "/state"); err == nil {
				arrays[h] = true
			}
		}
	}
	if len(arrays) != 1 {
		if len(arrays) > 1 {
			return s, fmt.Errorf("the array %s runs more than once on this host", s.ArrayUUID)
		}
		return s, &mdLost{fmt.Sprintf("array %s (%s) does not run: assemble it first", was.Array, s.ArrayUUID), len(mine) == 0 && !relatives}
	}
	for a := range arrays {
		s.Array = a
	}
	switch {
	case len(mine) == 1:
		s.Member = mine[0]
		return s, nil
	case len(mine) == 0:
		missing, _ := m.ReadValue(s.sysfs("degraded"))
		return s, &mdLost{fmt.Sprintf("no device holds the superblock of %s (device UUID %s) any more: connect it again, or replace it in %s",
			was.Member, s.DeviceUUID, s.Array), missing == "0"}
	}
	for _, name := range mine { // paths to one disk: the one that md uses
		s.Member = name
		if _, err := m.ReadValue(s.memberFile("state")); err == nil {
			return s, nil
		}
	}
	return was, fmt.Errorf("more than one device holds the superblock of %s: %s; add the right one to %s by hand", was.Member, strings.Join(mine, ", "), s.Array)
}

// fit is the precondition of failing a member.
func (s MDReadd) fit(m Machine) error {
	v := map[string]string{}
	for _, f := range []string{"level", "metadata_version", "degraded", "sync_action", "raid_disks", "array_state", "bitmap/location"} {
		var err error
		if v[f], err = m.ReadValue(s.sysfs(f)); err != nil {
			return fmt.Errorf("%s is not an array that can spare a member: %w", s.Array, err)
		}
	}
	disks, _ := strconv.Atoi(v["raid_disks"])
	switch {
	case !slices.Contains([]string{"raid1", "raid4", "raid5", "raid6", "raid10"}, v["level"]) || disks < 2:
		return fmt.Errorf("%s (%s of %s) has no redundancy", s.Array, v["level"], v["raid_disks"])
	case !strings.HasPrefix(v["metadata_version"], "1."):
		return fmt.Errorf("%s has metadata %s, not version 1", s.Array, v["metadata_version"])
	case v["degraded"] != "0":
		return fmt.Errorf("%s misses %s of its members", s.Array, v["degraded"])
	case v["sync_action"] != "idle":
		return fmt.Errorf("%s is busy: %s", s.Array, v["sync_action"])
	case !strings.HasPrefix(v["bitmap/location"], "+") && !strings.HasPrefix(v["bitmap/location"], "-"):
		return fmt.Errorf("%s has no internal write-intent bitmap (%s): the member could not be re-added", s.Array, v["bitmap/location"])
	case slices.Contains([]string{"clear", "inactive", "readonly", "read-auto", "broken"}, v["array_state"]):
		return fmt.Errorf("%s is %s", s.Array, v["array_state"])
	}
	for f, want := range map[string]string{"consistency_policy": "bitmap", "bitmap/metadata": "internal"} { // Linux 4.12 and 2.6.33
		if got, err := m.ReadValue(s.sysfs(f)); err == nil && got != want {
			return fmt.Errorf("%s of %s is %s, expected %s", f, s.Array, got, want)
		}
	}
	return s.fitMembers(m, disks)
}

// fitMembers wants every member in sync and free of recorded bad blocks: what
// one has recorded, the others alone still hold. A spare would take the
// failed member's place at once.
func (s MDReadd) fitMembers(m Machine, disks int) error {
	names, err := m.List(strings.TrimSuffix(s.sysfs(""), "/"))
	if err != nil {
		return err
	}
	n := 0
	for _, name := range names {
		dev, ok := strings.CutPrefix(name, "dev-")
		if !ok {
			continue
		}
		n++
		state, err := m.ReadValue(s.sysfs(name + "/state"))
		if err != nil {
			return err
		}
		for _, w := range strings.Split(state, ",") {
			switch w {
			case "in_sync", "write_mostly", "failfast":
			case "spare":
				return fmt.Errorf("%s has the spare %s, which would take the place of %s: take it out first (mdadm /dev/%s --remove /dev/%s)", s.Array, dev, s.Member, s.Array, dev)
			default:
				return fmt.Errorf("%s of %s is %s", dev, s.Array, state)
			}
		}
		for _, f := range []string{"bad_blocks", "unacknowledged_bad_blocks"} {
			if v, err := m.ReadValue(s.sysfs(name + "/" + f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			} else if strings.TrimSpace(v) != "" {
				return fmt.Errorf("%s of %s has bad blocks recorded: what they held is on the other members alone", dev, s.Array)
			}
		}
	}
	if n != disks {
		return fmt.Errorf("%s has %d of %d members", s.Array, n, disks)
	}
	return nil
}

// settle waits until md has ended the recovery in all its parts: for a moment
// after the member is in sync the array still says that it is busy.
func (s MDReadd) settle(m Machine) {
	for begun := time.Now(); time.Since(begun) < mdStart; time.Sleep(mdPoll) {
		if a, err := m.ReadValue(s.sysfs("sync_action")); err != nil || a == "idle" {
			return
		}
	}
}

// wait waits until the member is in sync, or leaves, and tells how far it is.
func (s MDReadd) wait(ctx context.Context, st *site) error {
	told := ""
	active, interrupt := time.Now(), ctx.Done()
	for {
		at, err := s.where(st.m)
		if err != nil || at != mdSyncing {
			return err
		}
		action, err := st.m.ReadValue(s.sysfs("sync_action"))
		switch {
		case err == nil && action != "idle" && action != "frozen":
			active = time.Now()
		case time.Since(active) > mdStart && action == "frozen":
			return fmt.Errorf("%s is back in %s, but its recovery is held up (sync_action is frozen): echo idle > %s", s.Member, s.Array, s.sysfs("sync_action"))
		case time.Since(active) > mdStart:
			return fmt.Errorf("%s is back in %s, but nothing syncs it: see mdadm --detail /dev/%s; if it is a spare there, another took its place", s.Member, s.Array, s.Array)
		}
		if p := s.progress(st.m); p != told && p != "" {
			told = p
			st.note("%s: %s", s.Member, p)
		}
		select {
		case <-interrupt:
			interrupt = nil
			st.note("interrupted: %s is being synced, fettle ends when that is done; md goes on by itself if you press Ctrl-C once more, and fettle resume finishes", s.Member)
		case <-time.After(mdPoll):
		}
	}
}

// progress reads sync_completed, "done / all" in sectors, in tenths.
func (s MDReadd) progress(m Machine) string {
	v, err := m.ReadValue(s.sysfs("sync_completed"))
	f := strings.Fields(v)
	if err != nil || len(f) != 3 {
		return ""
	}
	done, _ := strconv.ParseFloat(f[0], 64)
	all, _ := strconv.ParseFloat(f[2], 64)
	if all == 0 {
		return ""
	}
	speed, _ := m.ReadValue(s.sysfs("sync_speed")) // KiB/s
	kib, _ := strconv.ParseFloat(speed, 64)
	if kib == 0 {
		return fmt.Sprintf("%d %% synced", int(done/all*10)*10)
	}
	left := time.Duration((all - done) / 2 / kib * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%d %% synced, %.0f MiB/s, about %s left", int(done/all*10)*10, kib/1024, left)
}
