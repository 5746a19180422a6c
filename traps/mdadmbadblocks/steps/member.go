package steps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"fettle/engine/remedy/machine"
	"fettle/host/mdraid"
)

// Reading where a member stands: sysfs (Documentation/admin-guide/md.rst) and
// its superblock, which is read past the page cache, as md writes it.

func (s Readd) sysfs(file string) string { return "/sys/block/" + s.Array + "/md/" + file }

// memberFile is a file of the member in the array's sysfs folder, where "!"
// stands for the "/" of names like cciss/c0d0.
func (s Readd) memberFile(file string) string {
	return s.sysfs("dev-" + strings.ReplaceAll(s.Member, "/", "!") + "/" + file)
}

// where the member stands.
const (
	inSync  = "in sync"
	syncing = "syncing" // or a spare
	faulty  = "faulty"
	out     = "not in the array"
)

// where reads where the member stands. An array that does not run is an error.
func (s Readd) where(m machine.Machine) (string, error) {
	v, err := m.ReadValue(s.memberFile("state"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		if level, err := m.ReadValue(s.sysfs("level")); err != nil || level == "" {
			return "", fmt.Errorf("array %s is no longer running", s.Array)
		}
		return out, nil
	}
	if err != nil {
		return "", err
	}
	switch words := strings.Split(v, ","); {
	case slices.Contains(words, "faulty"):
		return faulty, nil
	case slices.Contains(words, "in_sync"):
		return inSync, nil
	}
	return syncing, nil
}

// hasList reads whether the member has a list, and whether mdadm would say
// that it is active: it refuses to drop one that has the feature bit (super1.c,
// update_super1), which the kernel sets with every superblock that it writes
// while there are entries (md.c, super_1_sync).
func (s Readd) hasList(m machine.Machine) (has, entries bool, err error) {
	sb, err := m.MDSuperblock(s.Member)
	switch {
	case err != nil:
		return false, false, err
	case sb == nil:
		return false, false, fmt.Errorf("/dev/%s has no superblock", s.Member)
	}
	return sb.HasBBL(), sb.HasBBL() && sb.Features&mdraid.FeatureBadBlocks != 0, nil
}

// mine tells whether a superblock is the member's; nil is none.
func (s Readd) mine(sb *mdraid.Superblock) bool {
	return sb != nil && sb.SetUUID == s.ArrayUUID && sb.DeviceUUID == s.DeviceUUID
}

// addFlags are what --add needs so that the member stays as it is.
func addFlags(sb *mdraid.Superblock) (flags []string) {
	if sb.WriteMostly() {
		flags = append(flags, "--write-mostly")
	}
	if sb.Failfast() {
		flags = append(flags, "--failfast")
	}
	return flags
}

// lost is the error of a member or an array that is not found.
type lost struct {
	what  string
	whole bool // nothing lacks it
}

func (e *lost) Error() string { return e.what }

// found is what the block devices of a host say of one array.
type found struct {
	members map[string]string // device UUIDs by name
	arrays  []string          // that have one of them as a member: "md0"
	unread  []string          // devices that did not answer, and why
}

// skipped are kinds of devices that are no members: reading them would spin a
// drive up, or wait for one.
var skipped = []string{"ram", "zram", "sr", "fd"}

// search looks for the array with this UUID on every block device that has a
// size and answers.
func search(m machine.Machine, uuid string) (found, error) {
	f := found{members: map[string]string{}}
	devs, err := m.List("/sys/class/block")
	if err != nil {
		return f, err
	}
	for _, d := range devs {
		dir := "/sys/class/block/" + d
		if slices.ContainsFunc(skipped, func(kind string) bool {
			rest, ok := strings.CutPrefix(d, kind)
			return ok && strings.Trim(rest, "0123456789") == ""
		}) {
			continue
		}
		if size, err := m.ReadValue(dir + "/size"); err == nil && size == "0" {
			continue
		}
		if v, err := m.ReadValue(dir + "/dm/suspended"); err == nil && v == "1" {
			f.unread = append(f.unread, d+" is suspended")
			continue // a read would wait until it is resumed
		}
		name := strings.ReplaceAll(d, "!", "/")
		sb, err := m.MDSuperblock(name)
		if err != nil {
			f.unread = append(f.unread, err.Error())
			continue
		}
		if sb == nil || sb.SetUUID != uuid {
			continue
		}
		f.members[name] = sb.DeviceUUID
		holders, _ := m.List(dir + "/holders")
		for _, h := range holders {
			if _, err := m.ReadValue("/sys/block/" + h + "/md/dev-" + d + "/state"); err == nil && !slices.Contains(f.arrays, h) {
				f.arrays = append(f.arrays, h)
			}
		}
	}
	return f, nil
}

// running is the array's name, if it runs, and runs once.
func (f found) Running(was, uuid string) (string, error) {
	switch len(f.arrays) {
	case 1:
		return f.arrays[0], nil
	case 0:
		return "", &lost{
			fmt.Sprintf("array %s (%s) is not running: assemble it first%s", was, uuid, f.doubt()),
			len(f.members) == 0 && len(f.unread) == 0,
		}
	}
	return "", fmt.Errorf("the array %s runs more than once on this host", uuid)
}

// doubt names the devices that did not answer.
func (f found) doubt() string {
	if len(f.unread) == 0 {
		return ""
	}
	return " (these could not be read: " + strings.Join(f.unread, "; ") + ")"
}

// locate finds the array and the member by their UUIDs, and returns the step
// with the names that they have now.
func (s Readd) locate(_ context.Context, m machine.Machine) (Readd, error) {
	if sb, err := m.MDSuperblock(s.Member); err == nil && s.mine(sb) {
		if _, err := m.ReadValue(s.memberFile("state")); err == nil {
			return s, nil
		}
	}
	f, err := search(m, s.ArrayUUID)
	if err != nil {
		return s, err
	}
	was := s
	if s.Array, err = f.Running(was.Array, s.ArrayUUID); err != nil {
		return was, err
	}
	var mine []string // more than one: paths to one disk
	for name, device := range f.members {
		if device == s.DeviceUUID {
			mine = append(mine, name)
		}
	}
	slices.Sort(mine)
	switch len(mine) {
	case 1:
		s.Member = mine[0]
		return s, nil
	case 0:
		missing, _ := m.ReadValue(s.sysfs("degraded"))
		return s, &lost{fmt.Sprintf("no device has the superblock of %s (device UUID %s) any more%s: connect it again, or replace it in %s",
			was.Member, s.DeviceUUID, f.doubt(), s.Array), missing == "0"}
	}
	for _, name := range mine { // the one that md uses
		s.Member = name
		if _, err := m.ReadValue(s.memberFile("state")); err == nil {
			return s, nil
		}
	}
	return was, fmt.Errorf(
		"more than one device has the superblock of %s: %s; add the right one to %s by hand",
		was.Member,
		strings.Join(mine, ", "),
		s.Array,
	)
}
