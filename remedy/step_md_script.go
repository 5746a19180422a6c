package remedy

import (
	"fettle/internal/shell"
	"fmt"
	"strings"
)

// scriptMDReadd writes the step for a shell, with the preconditions of fit
// and what leads the member back when the update is refused. A "!" before a
// command would keep set -e from heeding it (POSIX, set).
func scriptMDReadd(s MDReadd) string {
	md, dev := shell.Quote("/dev/"+s.Array), shell.Quote("/dev/"+s.Member)
	sys := shell.Quote(strings.TrimSuffix(s.sysfs(""), "/"))
	state := shell.Quote(s.memberFile("state"))
	return fmt.Sprintf(`grep -qx 0 %[3]s/degraded
grep -qx idle %[3]s/sync_action
grep -q '^[+-]' %[3]s/bitmap/location
mdadm --examine %[2]s | grep -q 'Device UUID : %[5]s'
if grep -q . %[3]s/dev-*/bad_blocks %[3]s/dev-*/unacknowledged_bad_blocks; then echo "bad blocks are recorded in %[6]s" >&2; exit 1; fi
if grep -vqE '^in_sync(,write_mostly)?(,failfast)?$' %[3]s/dev-*/state; then echo "a member of %[6]s is a spare, or not in sync" >&2; exit 1; fi
mdadm %[1]s --fail %[2]s
left=50
until mdadm %[1]s --remove %[2]s; do left=$((left - 1)); [ "$left" -gt 0 ]; sleep 1; done
mdadm %[1]s --re-add %[2]s %[7]s || mdadm %[1]s --re-add %[2]s || mdadm %[1]s --add %[2]s
left=30 # seconds for a recovery to begin; one that is under way takes its time
until grep -qw in_sync %[4]s; do
	if grep -qx idle %[3]s/sync_action; then left=$((left - 1)); [ "$left" -gt 0 ]; fi
	sleep 1
done
`, md, dev, sys, state, s.DeviceUUID, s.Array, s.update())
}

// scriptMDBitmap writes the step for a shell: the array is the one that was
// meant, and stands as it did when the plan was made.
func scriptMDBitmap(s MDBitmap) string {
	md, location := shell.Quote("/dev/"+s.Array), shell.Quote(s.sysfs("bitmap/location"))
	other := s
	other.Internal = !s.Internal
	was := "grep -qx none " + location
	if !s.Internal {
		was = "grep -q '^[+-]' " + location
	}
	return fmt.Sprintf("mdadm --detail %[1]s | grep -q 'UUID : %[2]s'\n%[3]s\nmdadm --grow %[1]s %[4]s\nundo mdadm --grow %[1]s %[5]s\n", md, s.ArrayUUID, was, s.to(), other.to())
}
