package remedy

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// mdLost is the error of a member or an array that is not found.
type mdLost struct {
	what  string
	whole bool // nothing lacks it
}

func (e *mdLost) Error() string { return e.what }

// mdFound is what the block devices of a host say of one array.
type mdFound struct {
	members map[string]string // device UUIDs by name
	arrays  []string          // that have one of them as a member: "md0"
	unread  []string          // devices that did not answer, and why
}

// mdSkip are kinds of devices that are no members: reading them would spin a
// drive up, or wait for one.
var mdSkip = []string{"ram", "zram", "sr", "fd"}

// mdSearch looks for the array with this UUID on every block device that has a
// size and answers.
func mdSearch(m Machine, uuid string) (mdFound, error) {
	f := mdFound{members: map[string]string{}}
	devs, err := m.List("/sys/class/block")
	if err != nil {
		return f, err
	}
	for _, d := range devs {
		dir := "/sys/class/block/" + d
		if slices.ContainsFunc(mdSkip, func(kind string) bool {
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
func (f mdFound) running(was, uuid string) (string, error) {
	switch len(f.arrays) {
	case 1:
		return f.arrays[0], nil
	case 0:
		return "", &mdLost{fmt.Sprintf("array %s (%s) does not run: assemble it first%s", was, uuid, f.doubt()), len(f.members) == 0 && len(f.unread) == 0}
	}
	return "", fmt.Errorf("the array %s runs more than once on this host", uuid)
}

// doubt names the devices that did not answer.
func (f mdFound) doubt() string {
	if len(f.unread) == 0 {
		return ""
	}
	return " (these could not be read: " + strings.Join(f.unread, "; ") + ")"
}

// locate finds the array and the member by their UUIDs, and returns the step
// with the names that they have now.
func (s MDReadd) locate(_ context.Context, m Machine) (MDReadd, error) {
	if sb, err := m.MDSuperblock(s.Member); err == nil && s.mine(sb) {
		if _, err := m.ReadValue(s.memberFile("state")); err == nil {
			return s, nil
		}
	}
	f, err := mdSearch(m, s.ArrayUUID)
	if err != nil {
		return s, err
	}
	was := s
	if s.Array, err = f.running(was.Array, s.ArrayUUID); err != nil {
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
		return s, &mdLost{fmt.Sprintf("no device holds the superblock of %s (device UUID %s) any more%s: connect it again, or replace it in %s",
			was.Member, s.DeviceUUID, f.doubt(), s.Array), missing == "0"}
	}
	for _, name := range mine { // the one that md uses
		s.Member = name
		if _, err := m.ReadValue(s.memberFile("state")); err == nil {
			return s, nil
		}
	}
	return was, fmt.Errorf("more than one device holds the superblock of %s: %s; add the right one to %s by hand", was.Member, strings.Join(mine, ", "), s.Array)
}
