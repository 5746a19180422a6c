package proof

import (
	"context"
	"fmt"
	"os"
	"strings"

	"fettle/lab"
)

// copies enters bad blocks on loop1 and does what admins do, to see where
// the entries go. Member 0 holds the same data as member 1, or (RAID5, RAID6)
// is needed to compute it.
func copies(_ context.Context, b *lab.Bench) error {
	r := &rig{Bench: b}
	if err := r.need(6, 24); err != nil {
		return err
	}
	b.Columns("Level", "Act", "Entries of the new member", "Entries of the old", "Missing", "Array readable")
	for _, k := range []arrayKind{{"1", 2}, {"10", 4}, {"5", 3}, {"6", 4}} {
		spare := loop(k.n)
		run := func(cmds ...string) func() error {
			return func() error {
				for _, c := range cmds {
					if err := retry(func() error { _, err := r.Run(strings.Fields("mdadm /dev/md0 " + c)...); return err }); err != nil {
						return err
					}
					if err := r.idle(); err != nil {
						return err
					}
				}
				return nil
			}
		}
		for _, a := range []struct {
			about, new, old string
			do              func() error
		}{
			{"the member with entries fails, a new one is added", spare, "", run("--fail /dev/loop1", "--remove /dev/loop1", "--add /dev/"+spare)},
			{"another fails, a new one is " +
				"rebuilt from the member with entries", spare, "loop1", run("--fail /dev/loop0", "--remove /dev/loop0", "--add /dev/"+spare)},
			{"the member with entries is replaced", spare, "", run("--add /dev/"+spare, "--replace /dev/loop1 --with /dev/"+spare)},
			{"another is replaced", spare, "loop1", run("--add /dev/"+spare, "--replace /dev/loop0 --with /dev/"+spare)},
			{"the member with entries is re-added", "", "loop1", run("--fail /dev/loop1", "--remove /dev/loop1", "--re-add /dev/loop1")},
			{"the same with --update=no-bbl", "", "loop1", run("--fail /dev/loop1", "--remove /dev/loop1", "--re-add /dev/loop1 --update=no-bbl")},
			{"a check", "", "loop1", func() error { setMD("sync_action", "check"); return r.idle() }},
			{"a repair", "", "loop1", func() error { setMD("sync_action", "repair"); return r.idle() }},
			{"the whole array is written", "", "loop1", func() error {
				r.Exec([]string{"dd", "if=/dev/zero", "of=/dev/md0", "bs=1M", "oflag=direct", "status=none"}) // ends with "no space left"
				return r.idle()
			}},
		} {
			if err := r.copied(k, a.about, a.new, a.old, a.do); err != nil {
				return fmt.Errorf("RAID%s, %s: %w", k.level, a.about, err)
			}
		}
	}
	b.Note("Before each act loop1 had the entry 8192+8, and no other member any.")
	return nil
}

// retry tries thrice: md lets go of a failed member a moment later.
func retry(do func() error) (err error) {
	for range 10 {
		if err = do(); err == nil {
			return nil
		}
		until(func() bool { return md("sync_action") == "idle" })
	}
	return err
}

func (r *rig) copied(k arrayKind, about, newDev, old string, do func() error) error {
	os.Remove("/etc/mdadm/mdadm.conf")
	if err := r.create(k.level, k.n, "--bitmap=internal"); err != nil {
		return err
	}
	if err := r.enterBad("loop1", 8192, 8); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	entries := func(dev string) string {
		if dev == "" {
			return "-"
		}
		s, err := r.badblocks(dev)
		if err != nil {
			return err.Error()
		}
		return s
	}
	_, code, err := r.Exec([]string{"dd", "if=/dev/md0", "of=/dev/null", "bs=1M", "iflag=direct", "status=none"})
	if err != nil {
		return err
	}
	r.Row(
		"RAID"+k.level,
		about,
		entries(newDev),
		entries(old),
		md("degraded"),
		map[bool]string{true: "yes", false: "no: I/O error"}[code == 0],
	)
	return r.remove()
}
