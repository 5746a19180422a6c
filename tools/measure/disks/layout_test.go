package disks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/host"
	"fettle/host/hosttest"
)

// files makes a host of lines "PATH CONTENT" below /sys; "!PATH" is denied to the reader.
func files(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		name, content, _ := strings.Cut(l, " ")
		if denied, ok := strings.CutPrefix(name, "!"); ok {
			fmt.Fprintf(&b, "-- denied/sys/%s --\n", denied)
		} else {
			fmt.Fprintf(&b, "-- root/sys/%s --\n%s\n", name, content)
		}
	}
	return b.String()
}

// TestLayout: who works together, what does not count as a member, and which file could not be read.
func TestLayout(t *testing.T) {
	const md, dm = "block/md0/md/level raid1", "block/dm-0/dm/name vg-lv"
	volume := func(more ...string) string {
		return files(append([]string{dm, "block/dm-0/dm/uuid LVM-x", "block/dm-0/slaves/sda/dev", "block/dm-0/slaves/sdb/dev"}, more...)...)
	}
	images := func(names ...string) string {
		lines := []string{dm, "block/dm-0/dm/uuid LVM-x"}
		for i, n := range names {
			lines = append(lines, fmt.Sprintf("block/dm-0/slaves/dm-%d/dev", i+1), fmt.Sprintf("block/dm-%d/dm/name %s", i+1, n),
				fmt.Sprintf("block/dm-%d/dm/uuid LVM-y", i+1))
		}
		return files(lines...)
	}
	const status = "-- command/dmsetup status --\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing is stacked", files("block/sda/dev", "block/loop0/dev"), ""},
		{"no /sys/block", "", "listing /sys/block: file does not exist"},
		{"an array after a disk", files("block/a/dev", md, "block/md0/slaves/sda/dev", "block/md0/slaves/sdb/dev"), "md0 (md raid1): sda sdb"},
		{"one alone", files(md, "block/md0/slaves/sda/dev"), ""},
		{"linear", files("block/md0/md/level linear", "block/md0/slaves/sda/dev", "block/md0/slaves/sdb/dev"), ""},
		{"no level", files("block/md0/slaves/sda/dev", "block/md0/slaves/sdb/dev"), ""},
		{"no members", files(md), ""},
		{"write-mostly, failed, the rest", files(md, "block/md0/slaves/sda/dev", "block/md0/md/dev-sda/state in_sync,write_mostly",
			"block/md0/slaves/sdb/dev", "block/md0/md/dev-sdb/state faulty", "block/md0/slaves/sdc/dev", "block/md0/slaves/sdd/dev"),
			"md0 (md raid1): sdc sdd"},
		{"level denied", files("!block/md0/md/level", "block/md0/slaves/sda/dev"), "reading /sys/block/md0/md/level: permission denied"},
		{"state denied", files(md, "block/md0/slaves/sda/dev", "!block/md0/md/dev-sda/state"),
			"reading /sys/block/md0/md/dev-sda/state: permission denied"},
		{"members denied", files(md, "!block/md0/slaves"), "listing /sys/block/md0/slaves: permission denied"},
		{"neither name nor id", files("block/dm-0/dev", "!block/dm-0/dm/name", "!block/dm-0/dm/uuid"),
			"reading /sys/block/dm-0/dm/name: permission denied\nreading /sys/block/dm-0/dm/uuid: permission denied"},
		{"a member's name denied", files(dm, "block/dm-0/dm/uuid x", "block/dm-0/slaves/dm-1/dev", "!block/dm-1/dm/name"),
			"reading /sys/block/dm-1/dm/name: permission denied"},
		{"a member without a name", volume("block/dm-0/slaves/dm-9/dev") + status + "vg-lv: 0 8 striped 2\n",
			"vg-lv (device mapper): dm-9 sda sdb"},
		{"striped", volume() + status + "vg-lv: 0 8 striped 2\n", "vg-lv (device mapper): sda sdb"},
		{"raid", volume() + status + "vg-lv: 0 8 raid raid1\n", "vg-lv (device mapper): sda sdb"},
		{"mirror, in a second line", volume() + status + "vg-lv: 0 8 linear\nvg-lv: 8 8 mirror\n", "vg-lv (device mapper): sda sdb"},
		{"extended", volume() + status + "vg-lv: 0 8 linear\nvg-lv: 8 8 linear\nother: 0 8 striped\n", ""},
		{"no target", volume() + status + "vg-lv: 0 8\n", ""},
		{"dmsetup fails", volume() + status + "exit 1\n", "vg-lv (device mapper): sda sdb, unsure: whether it is striped is not known: " +
			"dmsetup status: exit status 1"},
		{"no dmsetup", volume() + "-- denied/command/dmsetup status --\n", "vg-lv (device mapper): sda sdb, unsure: " +
			"whether it is striped is not known: running dmsetup status: permission denied"},
		{"paths to one disk", files(dm, "block/dm-0/dm/uuid mpath-x", "block/dm-0/slaves/sda/dev", "block/dm-0/slaves/sdb/dev"), ""},
		{"images", images("vg-lv_rimage_0", "vg-lv_rimage_1"), "vg-lv (device mapper): dm-1 dm-2"},
		{"images and their metadata", images("vg-lv_rmeta_0", "vg-lv_rimage_0", "vg-lv_rmeta_1", "vg-lv_rimage_1"),
			"vg-lv (device mapper): dm-2 dm-4"},
		{"an image beside something else", images("vg-lv_rimage_0", "vg-other") + status + "vg-lv: 0 8 linear\n", ""},
		{"a cache", images("vg-lv_cdata", "vg-lv_rimage_1"), ""},
		{"btrfs: two, one, none, with and without a label", files("block/sda/dev",
			"fs/btrfs/1-1-1/devices/sda/dev", "fs/btrfs/1-1-1/devices/sdb/dev", "fs/btrfs/1-1-1/label data",
			"fs/btrfs/2-2-2/devices/sdc/dev", "fs/btrfs/2-2-2/label one", "fs/btrfs/3-3-3/label none",
			"fs/btrfs/4-4-4/devices/sdd/dev", "fs/btrfs/4-4-4/devices/sde/dev", "fs/btrfs/features/raid56 0"),
			"data (btrfs): sda sdb; 4-4-4 (btrfs): sdd sde"},
		{"an array, then a btrfs", files(md, "block/md0/slaves/sda/dev", "block/md0/slaves/sdb/dev",
			"fs/btrfs/1-1-1/devices/sdc/dev", "fs/btrfs/1-1-1/devices/sdd/dev"), "md0 (md raid1): sda sdb; 1-1-1 (btrfs): sdc sdd"},
		{"btrfs denied", files("block/sda/dev", "!fs/btrfs"), "listing /sys/fs/btrfs: permission denied"},
		{"its devices denied", files("block/sda/dev", "fs/btrfs/1-1-1/label x", "!fs/btrfs/1-1-1/devices"),
			"listing /sys/fs/btrfs/1-1-1/devices: permission denied"},
		{"its label denied", files("block/sda/dev", "fs/btrfs/1-1-1/devices/sda/dev", "!fs/btrfs/1-1-1/label"),
			"reading /sys/fs/btrfs/1-1-1/label: permission denied"},
	} {
		layout, err := Layout(t.Context(), hosttest.New(t, c.text))
		var got []string
		for _, s := range layout {
			text := fmt.Sprintf("%s (%s): %s", s.Name, s.Kind, strings.Join(s.Members, " "))
			if s.Unsure != nil {
				text += ", unsure: " + s.Unsure.Error()
			}
			got = append(got, text)
		}
		if err != nil {
			got = append(got, err.Error())
		}
		if said := strings.Join(got, "; "); said != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, said, c.want)
		}
	}
}

// TestPools: for how long the pools were imported, and what zpool said instead.
func TestPools(t *testing.T) {
	const module = "-- root/sys/module/zfs/version --\n2.1.11\n"
	const since = "-- command/zpool iostat -v -l -p -P --\n"
	const report = "pool alloc free read write read write\ntank 2 8 5 10 100 200\n  sda 2 8 1 2 3 4\n"
	txgs := func(head string) string {
		return module + since + report + "-- root/proc/spl/kstat/zfs/tank/txgs --\n" + head + "\ntxg birth\n"
	}
	const assumed = "tank 10s true 50 100 1000 2000, sda 10 20 30 40"
	over := func(s string) string {
		return module + "-- command/zpool iostat -v -l -p -P -y " + s + " 1 --\n" + report +
			"-- root/proc/spl/kstat/zfs/tank/txgs --\n0 0 0x01 7 672 1 21000000001\n"
	}
	for _, c := range []struct {
		name, text string
		interval   time.Duration
		want       string
	}{
		{"no ZFS", "", 0, ""},
		{"a second", over("1"), time.Second, "tank 1s false 5 10 100 200, sda 1 2 3 4"},
		{"two and a half", over("2"), 2500 * time.Millisecond, "tank 2s false 10 20 200 400, sda 2 4 6 8"},
		{"less than one", txgs("0 0 0x01 7 672 1000000000 21000000000"), time.Second / 2, "tank 20s false 100 200 2000 4000, sda 20 40 60 80"},
		{"the host's", "-- uncollected/sys/module/zfs --\n", 0, "stat of /sys/module/zfs: not collected in this capture"},
		{"no zpool", module + "-- denied/command/zpool iostat -v -l -p -P --\n", 0, "running zpool iostat -v -l -p -P: permission denied"},
		{"it fails", module + since + "exit 2\n", 0, "zpool iostat -v -l -p -P: exit status 2: "},
		{"no pools", module + since + "no pools available\n", 0, ""},
		{"nothing", module + since + "\n", 0, ""},
		{"something else", module + since + "usage:\n", 0, "zpool: no output of zpool iostat -v or zpool list -v in it"},
		{"not known since when", module + since + report, 0, assumed},
		{"for 20 s", txgs("0 0 0x01 7 672 1000000000 21000000000"), 0, "tank 20s false 100 200 2000 4000, sda 20 40 60 80"},
		{"from 0 on", txgs("0 0 0x01 7 672 0 1000000000"), 0, "tank 1s false 5 10 100 200, sda 1 2 3 4"},
		{"another head", txgs("0 0 0x01 7 672 21000000000"), 0, assumed},
		{"of no time", txgs("0 0 0x01 7 672 5 5"), 0, assumed},
		{"backwards", txgs("0 0 0x01 7 672 -9000000000 5"), 0, assumed},
		{"not read", txgs("0 0 0x01 7 672 -5 x"), 0, assumed},
		{"not made", txgs("0 0 0x01 7 672 x 20000000000"), 0, assumed},
	} {
		ps, err := Pools(t.Context(), hosttest.New(t, c.text), c.interval)
		got := ""
		for _, p := range ps {
			l, m := p.Load, p.Children[0].Load
			got += fmt.Sprintf("%s %s %v %v %v %v %v, %s %v %v %v %v", l.Name, l.Time, l.Assumed, l.Reads, l.Writes, l.ReadBytes, l.WriteBytes,
				m.Name, m.Reads, m.Writes, m.ReadBytes, m.WriteBytes)
		}
		if err != nil {
			got += err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	const list = "-- command/zpool list -v -p -P --\n"
	for _, c := range []struct{ name, text, want string }{
		{"no ZFS", "", ""},
		{"modules not collected", "-- uncollected/sys/module/zfs --\n", "stat of /sys/module/zfs: not collected in this capture"},
		{"no zpool", module + "-- denied/command/zpool list -v -p -P --\n", "running zpool list -v -p -P: permission denied"},
		{"it fails", module + list + "exit 1\n", "zpool list: exit status 1: "},
		{"a pool", module + list + "NAME SIZE ALLOC FREE\ntank 10 2 8\n", "tank 2 8"},
	} {
		ps, err := Vdevs(t.Context(), hosttest.New(t, c.text))
		got := ""
		for _, p := range ps {
			got += fmt.Sprintf("%s %v %v", p.Name, p.Alloc, p.Free)
		}
		if err != nil {
			got += err.Error()
		}
		if got != c.want {
			t.Errorf("list, %s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestLookFails: what could not be read is said, on a live host and a captured one.
func TestLookFails(t *testing.T) {
	const array = "-- root/sys/block/md0/md/level --\nraid1\n-- stat/sys/block/md0/slaves/sda --\ntype dir\n" +
		"-- stat/sys/block/md0/slaves/sdb --\ntype dir\n"
	for _, c := range []struct{ name, text, want string }{
		{"layout", "-- denied/sys/block --\n", "listing /sys/block: permission denied"},
		{"counters", array + "-- denied/proc/diskstats --\n", "reading /proc/diskstats: permission denied"},
		{"pools", array + "-- root/proc/diskstats --\n" + zfs + "-- denied/sys/module/zfs/parameters/metaslab_bias_enabled --\n",
			"ZFS: reading /sys/module/zfs/parameters/metaslab_bias_enabled: permission denied"},
		{"no pools, no rule", array + "-- root/proc/diskstats --\n-- denied/sys/module/zfs/parameters/metaslab_bias_enabled --\n", ""},
	} {
		src, _, err := hosttest.Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []*host.Host{host.New(src), host.New(&live{Source: src})} {
			s, err := Look(t.Context(), h, time.Nanosecond)
			if s.ZFS != nil {
				err = fmt.Errorf("ZFS: %w", s.ZFS)
			}
			if said := fmt.Sprint(err); said != c.want && (err != nil || c.want != "") {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
		}
	}
}

// changing is a live host whose counters are others at each reading.
type changing struct {
	hosttest.Source
	readings []string
}

func (c *changing) ReadFile(context.Context, string, int64) ([]byte, error) {
	b := []byte(c.readings[0])
	c.readings = c.readings[1:]
	return b, nil
}

// TestOver: of the disks that are there twice and whose counters did not fall, what they did in between.
func TestOver(t *testing.T) {
	line := func(name string, writes int) string {
		return fmt.Sprintf("8 0 %s 1 0 8 1 %d 0 8 1 0 1 2\n", name, writes)
	}
	for _, c := range []struct {
		name     string
		readings []string
		want     string
	}{
		{"one more, one gone, one come, one reset", []string{line("sda", 1) + line("gone", 1) + line("reset", 9) + line("sdz", 3),
			line("come", 1) + line("sda", 8) + line("reset", 1) + line("sdz", 4)}, "sda 7 sdz 1"},
		{"a second reading in another form", []string{line("sda", 1), "8 0 sda\n"}, "/proc/diskstats:1: 3 fields, expected 14 at least"},
		{"a first one", []string{"8 0 sda\n", line("sda", 1)}, "/proc/diskstats:1: 3 fields, expected 14 at least"},
	} {
		loads, err := Over(t.Context(), &changing{readings: c.readings}, time.Nanosecond)
		var got []string
		for _, n := range []string{"come", "gone", "reset", "sda", "sdz"} {
			if l, ok := loads[n]; ok {
				got = append(got, fmt.Sprint(n, " ", l.Writes))
			}
		}
		if err != nil {
			got = append(got, err.Error())
		}
		if said := strings.Join(got, " "); said != c.want {
			t.Errorf("%s: %s, want %s", c.name, said, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Over(ctx, &changing{readings: []string{line("sda", 1), line("sda", 2)}}, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// failing reads a few bytes, then no more.
type failing struct{ first string }

func (f *failing) Read(p []byte) (int, error) {
	n := copy(p, f.first)
	f.first = ""
	if n == 0 {
		return 0, errors.New("input/output error")
	}
	return n, nil
}

// TestReadFails: the line that could not be read.
func TestReadFails(t *testing.T) {
	if _, err := ParseIostat("f", &failing{"a\nb\n"}, 0); err == nil || err.Error() != "f:3: input/output error" {
		t.Error(err)
	}
}
