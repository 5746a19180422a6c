package steps

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"fettle/engine/remedy/machine"
)

// fit is the precondition of failing a member.
func (s Readd) fit(m machine.Machine) error {
	v := map[string]string{}
	for _, f := range []string{"level", "metadata_version", "degraded", "sync_action", "raid_disks", "array_state", "bitmap/location"} {
		var err error
		if v[f], err = m.ReadValue(s.sysfs(f)); err != nil {
			return fmt.Errorf("%s is not an array that can spare a member: %w", s.Array, err)
		}
	}
	pending, err := pending(m, s.sysfs(""))
	if err != nil {
		return fmt.Errorf("%s is not an array that can spare a member: %w", s.Array, err)
	}
	disks, _ := strconv.Atoi(v["raid_disks"])
	switch {
	case !slices.Contains([]string{"raid1", "raid4", "raid5", "raid6", "raid10"}, v["level"]) || disks < 2:
		return fmt.Errorf("%s (%s of %s) has no redundancy", s.Array, v["level"], v["raid_disks"])
	case !strings.HasPrefix(v["metadata_version"], "1."):
		return fmt.Errorf("%s has metadata %s, not version 1", s.Array, v["metadata_version"])
	case v["degraded"] != "0":
		return fmt.Errorf("%s lacks %s of its members", s.Array, v["degraded"])
	case v["sync_action"] != "idle":
		return fmt.Errorf("%s is busy: %s", s.Array, v["sync_action"])
	case !strings.HasPrefix(v["bitmap/location"], "+") && !strings.HasPrefix(v["bitmap/location"], "-"):
		return fmt.Errorf("%s has no internal write-intent bitmap (%s): the member could not be re-added", s.Array, v["bitmap/location"])
	case slices.Contains([]string{"clear", "inactive", "readonly", "read-auto", "broken"}, v["array_state"]):
		return fmt.Errorf("%s is %s (mdadm --readwrite /dev/%[1]s makes it writable)", s.Array, v["array_state"])
	case pending:
		return fmt.Errorf("%s was not stopped cleanly, and its resync is still to come: after it, fix this again", s.Array)
	}
	for f, want := range map[string]string{"consistency_policy": "bitmap", "bitmap/metadata": "internal"} { // Linux 4.12 and 2.6.33
		if got, err := m.ReadValue(s.sysfs(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is not an array that can spare a member: %w", s.Array, err)
		} else if err == nil && got != want {
			return fmt.Errorf("%s of %s is %s, expected %s", f, s.Array, got, want)
		}
	}
	return s.fitMembers(m, disks)
}

// fitMembers wants every member in sync and free of recorded bad blocks: what
// one has recorded, the others alone still hold. A spare would take the
// failed member's place at once.
func (s Readd) fitMembers(m machine.Machine, disks int) error {
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
				return fmt.Errorf(
					"%s has the spare %s, which would take the place of %s: take it out first (mdadm /dev/%s --remove /dev/%s)",
					s.Array,
					dev,
					s.Member,
					s.Array,
					dev,
				)
			default:
				return fmt.Errorf("%s of %s is %s", dev, s.Array, state)
			}
		}
		for _, f := range []string{"bad_blocks", "unacknowledged_bad_blocks"} {
			if v, err := m.ReadValue(s.sysfs(name + "/" + f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			} else if strings.TrimSpace(v) != "" {
				return fmt.Errorf("%s of %s has bad blocks recorded: their data is only on the other members", dev, s.Array)
			}
		}
	}
	if n != disks {
		return fmt.Errorf("%s has %d of %d members", s.Array, n, disks)
	}
	return nil
}
