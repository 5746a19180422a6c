package proof_test

import (
	"testing"

	"fettle/internal/means"
	"fettle/lab"
	"fettle/lab/labtest"
	"fettle/traps/dmcachesmq"
)

// TestOldKernels boots what make lab-smq-old has built: both run dm-cache with
// smq, and one of them has the old rules, all on. What the rules come to is
// shown by fettle lab dm-cache-smq/old, in half an hour.
func TestOldKernels(t *testing.T) {
	const rules = "/sys/module/dm_cache_smq/parameters/"
	cache := []lab.Act{
		{Run: []string{"truncate", "-s", "16M", "/run/origin", "/run/cache", "/run/meta"}},
		{Run: []string{"losetup", "/dev/loop0", "/run/origin"}},
		{Run: []string{"losetup", "/dev/loop1", "/run/cache"}},
		{Run: []string{"losetup", "/dev/loop2", "/run/meta"}},
		{
			Run: []string{
				"dmsetup",
				"create",
				"--noudevrules",
				"--noudevsync",
				"cached",
				"--table",
				"0 32768 cache /dev/loop2 /dev/loop1 /dev/loop0 128 1 writeback smq 0",
			},
		},
		{Expect: &lab.Expect{Run: []string{"dmsetup", "status", "cached"}, Has: " smq 0 rw "}},
	}
	var old []lab.Act
	for _, r := range []string{"hotspot", "threshold", "write_level", "enter", "evict", "sentinels", "redistribute", "writeback", "period"} {
		old = append(old, lab.Act{Expect: &lab.Expect{Run: []string{"cat", rules + "old_" + r}, Has: "Y"}})
	}
	mended := []lab.Act{{Expect: &lab.Expect{Run: []string{"cat", rules + "old_enter"}, Status: 1}}}
	for name, acts := range map[string][]lab.Act{"smq-old/old": old, "smq-old/mended": mended} {
		k, err := lab.Built(name)
		if err != nil {
			// Not one of CI's means: the build takes too long for it.
			means.Left(t, err.Error())
		}
		s := lab.Scenario{Name: name, Needs: lab.Needs{Engine: "uml", Tools: []string{"truncate", "losetup", "dmsetup", "cat"}},
			Steps: []lab.Step{{Name: "cache", Acts: cache}, {Name: "rules", Acts: acts}}}
		opt := labtest.Programs(t)
		opt.Kernel = k
		v, err := lab.Play(t.Context(), dmcachesmq.Trap.ID(), s, opt)
		if err != nil {
			labtest.Lacks(t, err)
		}
		if !v.OK {
			t.Errorf("%s: %s\n%s", name, v.Why, v.Console)
		}
	}
}
