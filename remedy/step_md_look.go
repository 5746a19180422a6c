package remedy

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"fettle/host/mdraid"
)

// Reading where a member stands: sysfs (Documentation/admin-guide/md.rst) and
// its superblock, which is read past the page cache, as md writes it.

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

// hasList reads whether the member has a list, and whether mdadm would say
// that it is active: it refuses to drop one that has the feature bit (super1.c,
// update_super1), which the kernel sets with every superblock that it writes
// while there are entries (md.c, super_1_sync).
func (s MDReadd) hasList(m Machine) (has, entries bool, err error) {
	sb, err := m.MDSuperblock(s.Member)
	switch {
	case err != nil:
		return false, false, err
	case sb == nil:
		return false, false, fmt.Errorf("/dev/%s holds no superblock", s.Member)
	}
	return sb.HasBBL(), sb.HasBBL() && sb.Features&mdraid.FeatureBadBlocks != 0, nil
}

// mine tells whether a superblock is the member's; nil is none.
func (s MDReadd) mine(sb *mdraid.Superblock) bool {
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
