package slowdisk

import (
	"context"
	"os"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/host/hosttest"
)

const member = `-- root/sys/block/md0/md/degraded --
0
-- root/sys/block/md0/md/sync_action --
idle
-- root/sys/block/md0/md/dev-sda1/state --
in_sync
-- root/sys/block/md0/md/dev-sdb1/state --
in_sync
-- root/sys/block/md0/md/dev-sdc1/state --
in_sync
-- root/sys/block/md0/md/bitmap/location --
+8
-- root/proc/spl/kstat/zfs/tank/state --
ONLINE
`

func planFor(t *testing.T, f facts, changes ...string) (remedy.Plan, error) {
	t.Helper()
	b, err := os.ReadFile("testdata/trapped.txtar")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(b), "-- want --", member+"-- want --", 1)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("there is no %q", changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	return plan(context.Background(), hosttest.New(t, text), trap.Finding{Subject: f.Group + "/" + f.Member, Facts: trap.FactsOf(f)})
}

func TestPlan(t *testing.T) {
	raid5 := facts{Group: "md0", Member: "sdb1", Kind: "md raid5"}
	vdev := facts{Group: "tank/mirror-1", Member: "sdd", Kind: "zfs vdev"}
	for name, c := range map[string]struct {
		f       facts
		changes []string
		want    string // in the last acting step, or in the refusal
		undo    string
	}{
		"md":        {raid5, nil, "run /sbin/mdadm /dev/md0 --fail /dev/sdb1", "--remove /dev/sdb1 --re-add /dev/sdb1"},
		"no bitmap": {raid5, []string{"+8\n", "none\n"}, "run /sbin/mdadm /dev/md0 --fail /dev/sdb1", "--remove /dev/sdb1 --add /dev/sdb1"},
		"degraded":  {raid5, []string{"degraded --\n0", "degraded --\n1"}, "does not have all its members (degraded: 1)", ""},
		"busy":      {raid5, []string{"\nidle", "\ncheck"}, "is busy (check)", ""},
		"rebuilt":   {raid5, []string{"dev-sdb1/state --\nin_sync", "dev-sdb1/state --\nspare"}, "not a member in sync", ""},
		"a spare": {raid5, []string{"dev-sdc1/state --\nin_sync", "dev-sdc1/state --\nspare"},
			"mdadm /dev/md0 --replace /dev/sdb1 --with /dev/sdc1", ""},
		"not told":       {raid5, []string{"-- root/sys/block/md0/md/degraded --\n0\n", ""}, "does not have all its members", ""},
		"stripe":         {facts{"md0", "sdb1", "md raid0"}, nil, "cannot spare a member", ""},
		"btrfs":          {facts{"data", "sdb1", "btrfs"}, nil, "by its own tools", ""},
		"option":         {facts{"md0", "--zero-superblock", "md raid1"}, nil, "are not names", ""},
		"zfs":            {vdev, nil, "run /sbin/zpool offline tank sdd", "/sbin/zpool online tank sdd"},
		"zfs degraded":   {vdev, []string{"state --\nONLINE", "state --\nDEGRADED"}, "may not be able to spare sdd", ""},
		"zfs, no option": {facts{"tank/mirror-1", "-f", "zfs vdev"}, nil, "are not names", ""},
	} {
		p, err := planFor(t, c.f, c.changes...)
		if c.undo == "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var said []string
		for _, s := range p.Steps {
			said = append(said, s.Describe()+" | "+s.Reversal().String())
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, c.want) || !strings.Contains(all, c.undo) {
			t.Errorf("%s: %s", name, all)
		}
	}
}
