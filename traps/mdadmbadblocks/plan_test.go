package mdadmbadblocks

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/host/mdraid"
	"fettle/traps/mdadmbadblocks/steps"
)

// planOn plans for a subject on a golden host that was changed: pairs of what
// to replace in its text, and by what.
func planOn(t *testing.T, file, subject string, changes ...string) (remedy.Plan, error) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("%s has no %q", file, changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	return plan(context.Background(), hosttest.New(t, text), trap.Finding{Subject: subject})
}

func TestPlanMember(t *testing.T) {
	p, err := planOn(t, "trapped", "md0/sda1")
	if err != nil || len(p.Steps) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	s, ok := p.Steps[0].(steps.Readd)
	if !ok || s.Array != "md0" || s.Member != "sda1" || s.List || s.ArrayUUID != "24e3c4d3:265b251c:ce30bb17:a6eb931f" ||
		s.DeviceUUID != "2646f113:d61c124e:9ffa6f5d:72d70801" {
		t.Errorf("%+v", p.Steps[0])
	}
	p, err = planOn(
		t,
		"trapped",
		"md0/sdb1",
		"bitmap/location --\n+8",
		"bitmap/location --\nnone",
		"consistency_policy --\nbitmap",
		"consistency_policy --\nresync",
	)
	var got []string
	for _, s := range p.Steps {
		got = append(got, s.Describe())
	}
	if err != nil || len(p.Steps) != 3 ||
		p.Steps[0] != step.Step(steps.Bitmap{Array: "md0", ArrayUUID: "24e3c4d3:265b251c:ce30bb17:a6eb931f", Internal: true}) ||
		p.Steps[2] != step.Step(steps.Bitmap{Array: "md0", ArrayUUID: "24e3c4d3:265b251c:ce30bb17:a6eb931f"}) {
		t.Errorf("no bitmap: %q, %v", got, err)
	}
}

func TestPlanRefuses(t *testing.T) {
	file := func(name, was, is string) []string { return []string{name + " --\n" + was, name + " --\n" + is} }
	two := "-- root/sys/block/md0/md/dev-sdb1/state --\nin_sync"
	spare := "-- root/sys/block/md0/md/dev-sdc1/state --\nspare\n"
	for _, c := range []struct {
		name, host, subject string
		changes             []string
		want                []string
	}{
		{"gone", "trapped", "md0/sdx1", nil, []string{"no longer exists"}},
		{"entries", "trapped-entries", "md0/sda1", nil, []string{"mdadm --stop /dev/md0", "--update=force-no-bbl /dev/sda1 /dev/sdb1"}},
		{"entries of the other", "trapped-entries", "md0/sdb1", nil, []string{"sda1 of md0 has bad blocks"}},
		{"not started", "trapped-inactive", "md0/sda1", nil, []string{"is not started", "--update=no-bbl"}},
		{"sosreport", "trapped-sosreport", "md0/sda1", []string{"bbl=yes", "bbl=no", "incomplete: true", "x"},
			[]string{"superblock of sda1 was not read"}},
		{"stripe", "trapped", "md0/sda1", file("level", "raid1", "raid0"), []string{"no redundancy", "--update=no-bbl"}},
		{"mirror of one", "trapped", "md0/sda1", file("raid_disks", "2", "1"), []string{"no redundancy"}},
		{"degraded", "trapped", "md0/sda1", file("degraded", "0", "1"), []string{"lacks 1"}},
		{"check running", "trapped", "md0/sda1", file("sync_action", "idle", "check"), []string{"busy (check)"}},
		{"read-only", "trapped", "md0/sda1", file("array_state", "clean", "read-auto"), []string{"--readwrite"}},
		{"journal", "trapped", "md0/sda1", file("consistency_policy", "bitmap", "journal"), []string{"journal", "--stop"}},
		{"bitmap in a file", "trapped", "md0/sda1", file("bitmap/location", "+8", "file"), []string{"in a file"}},
		{"spare itself", "trapped", "md0/sda1", []string{"-- root/sys/block/md0/md/" +
			"dev-sda1/state --\nin_sync", "-- root/sys/block/md0/md/dev-sda1/state --\nspare"}, []string{"--remove /dev/sda1", "--add /dev/sda1"}},
		{"a spare beside", "trapped", "md0/sda1", []string{two, spare + two}, []string{"has the spare sdc1", "--add /dev/sdc1"}},
		{"other failed", "trapped", "md0/sda1", []string{two, two[:len(two)-7] + "faulty"}, []string{"sdb1 of md0 is faulty"}},
		{"degraded not readable", "trapped", "md0/sda1",
			[]string{"-- root/sys/block/md0/md/degraded --\n0", "-- denied/sys/block/md0/md/degraded --"},
			[]string{"whether md0 can spare sda1", "degraded"}},
		{"sync_action not readable", "trapped", "md0/sda1",
			[]string{"-- root/sys/block/md0/md/sync_action --\nidle", "-- denied/sys/block/md0/md/sync_action --"},
			[]string{"whether md0 can spare sda1", "sync_action"}},
		{"bitmap not readable", "trapped", "md0/sda1",
			[]string{"-- root/sys/block/md0/md/bitmap/location --\n+8", "-- denied/sys/block/md0/md/bitmap/location --"},
			[]string{"whether md0 can spare sda1", "bitmap/location"}},
		{"policy not readable", "trapped", "md0/sda1", []string{"-- root/sys/block/md0/md/" +
			"consistency_policy --\nbitmap", "-- denied/sys/block/md0/" +
			"md/consistency_policy --"}, []string{"whether md0 can spare sda1", "consistency_policy"}},
		{"state of the other not readable", "trapped", "md0/sda1", []string{two, "-- denied/sys/block/md0/md/dev-sdb1/state --"},
			[]string{"whether md0 can spare sda1", "dev-sdb1/state"}},
		{"entries of the other not readable", "trapped", "md0/sdb1", []string{"-- root/sys/block/md0/md/" +
			"dev-sda1/bad_blocks --\n", "-- denied/sys/block/md0/" +
			"md/dev-sda1/bad_blocks --\n"}, []string{"whether sda1 of md0 has bad blocks"}},
		{"degraded not told", "trapped", "md0/sda1", []string{"-- root/sys/block/md0/md/degraded --\n0", "-- root/sys/block/md0/md/x --"},
			[]string{"does not tell whether md0 is complete"}},
		{"spare group", "trapped", "md0/sda1", []string{"HOMEHOST <system>\n", "ARRAY /dev/md0 UUID=x\n  spare-group=a\n"},
			[]string{"spare-group"}},
		{"said later", "trapped", confSubject, []string{"-- want --", "-- root/etc/mdadm/mdadm.conf.d/" +
			"z.conf --\nCREATE bbl=yes\n-- want --"}, []string{"z.conf:1"}},
	} {
		p, err := planOn(t, c.host, c.subject, c.changes...)
		var r *remedy.Refusal
		if !errors.As(err, &r) || len(p.Steps) > 0 {
			t.Errorf("%s: %+v, %v; want a refusal", c.name, p, err)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(r.Why, part) {
				t.Errorf("%s: refused with\n%s\nwant %q in it", c.name, r.Why, part)
			}
		}
	}
}

func TestPlanConf(t *testing.T) {
	p, err := planOn(t, "trapped", confSubject)
	if err != nil || len(p.Steps) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if s := p.Steps[0].(step.File); s.Path != "/etc/mdadm/mdadm.conf" || string(s.Was) != "HOMEHOST <system>\n" ||
		!strings.HasSuffix(string(s.Content), "\nCREATE bbl=no\n") {
		t.Errorf("%+v", s)
	}
	// Where mdadm reads the other file, a new first one would hide it.
	p, err = planOn(t, "trapped", confSubject, "root/etc/mdadm/mdadm.conf --", "root/etc/mdadm/README --\n-- root/etc/mdadm.conf --")
	if err != nil || p.Steps[0].(step.File).Path != "/etc/mdadm.conf" {
		t.Errorf("only the other file: %+v, %v", p, err)
	}
	p, err = planOn(t, "trapped", confSubject, "root/etc/mdadm/mdadm.conf --\nHOMEHOST <system>", "root/etc/mdadm/README --")
	if s := p.Steps[0].(step.File); err != nil || s.Path != "/etc/mdadm/mdadm.conf" || s.Was != nil ||
		string(s.Content) != "CREATE bbl=no\n" {
		t.Errorf("no file: %+v, %v", p, err)
	}
}

func TestCommandsReadOnly(t *testing.T) {
	for args, ok := range map[string]bool{"--examine /dev/sda1": true, "--examine-badblocks /dev/md/x": true,
		"--examine /etc/shadow": false, "--stop /dev/md0": false,
		"--examine /dev/../etc/x": false, "--examine --scan": false, "--examine": false, "--examine /dev/sda1 --zero-superblock": false,
		"/dev/md0 --fail": false} {
		if err := (host.Command{Name: "mdadm", Args: strings.Fields(args)}).Allowed(); (err == nil) != ok {
			t.Errorf("mdadm %s: %v", args, err)
		}
	}
}

func TestParseExamine(t *testing.T) {
	for _, c := range []struct {
		text, list string
		bad, ok    bool
	}{
		{"", "", false, false},
		{"        Version : 0.90.00\n", "", false, false},
		{"        Version : 1.2\n", "", false, true},
		{"        Version : 1.0\n  Bad Block Log : " +
			"512 entries available at offset -8 sectors\n", "512 entries available at offset -8 sectors", false, true},
		{"        Version : 1.2\n  Bad Block Log : 512 entries " +
			"available at offset 16 sectors - bad blocks present.\n", "512 entries available at offset " +
			"16 sectors - bad blocks present.", true, true},
	} {
		if list, bad, ok := parseExamine(c.text); list != c.list || bad != c.bad || ok != c.ok {
			t.Errorf("%q: %q, %v, %v", c.text, list, bad, ok)
		}
	}
}

func FuzzParseExamine(f *testing.F) {
	f.Add(
		"/dev/sda1:\n          Magic : a92b4efc\n        Version : 1.2\n  Bad Block Log : 512 entries available at offset 16 sectors - bad " +
			"blocks present.\n",
	)
	f.Fuzz(func(t *testing.T, text string) {
		list, bad, _ := parseExamine(text)
		if bad && list == "" {
			t.Errorf("%q: bad blocks in no list", text)
		}
	})
}

func TestLoss(t *testing.T) {
	for _, c := range []struct {
		level, disks string
		depth        int
		want         string
	}{
		{"raid1", "2", 2, "no good copy left"}, {"raid1", "3", 2, "can lose 0 more"}, {"raid5", "3", 2, "no good copy left"},
		{"raid6", "4", 2, "can lose 0 more"}, {"raid6", "5", 3, "no good copy left"}, {"raid10", "4", 2, "Where two of these"},
	} {
		a := array{name: "md0", level: c.level, disks: c.disks}
		if got := a.loss(c.depth); !strings.Contains(got, c.want) {
			t.Errorf("%s of %s, %d: %q, want %q", c.level, c.disks, c.depth, got, c.want)
		}
	}
}

func TestDark(t *testing.T) {
	a := array{
		name: "md0",
		members: []member{
			{name: "sda1", bad: []mdraid.Range{{Start: 8, Count: 8}}},
			{name: "sdb1"},
			{name: "sdc1", err: host.ErrDenied},
			{name: "sdd1", unlisted: true},
		},
	}
	if got := join(a.dark(&a.members[0])); got != "sdc1 and sdd1" {
		t.Errorf("not known: %q", got)
	}
}
