package render

import (
	"strings"
	"testing"
	"time"

	"fettle/tools/measure/disks"
)

func TestDisks(t *testing.T) {
	load := func(name string, writes, ms, busy float64) disks.Load {
		return disks.Load{Name: name, Time: 10 * time.Second, Writes: writes, WriteBytes: 4096 * writes,
			WriteWait: time.Duration(ms * float64(time.Millisecond)), Busy: busy}
	}
	pool := func(list string) []*disks.Vdev {
		p, err := disks.ParseZpool("test", strings.NewReader(list), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const head = `              capacity     operations     bandwidth
pool        alloc   free   read  write   read  write
----------  -----  -----  -----  -----  -----  -----
p           2.00G  2.00G      0    100      0  9.00M
  c         1.00G  1.00G      0     50      0  6.00M
  d` + "\x1b" + `        1.00G  1.00G      0     50      0  3.00M
----------  -----  -----  -----  -----  -----  -----
`
	const uneven = `              capacity     operations     bandwidth
pool        alloc   free   read  write   read  write
----------  -----  -----  -----  -----  -----  -----
p           2.00G  2.00G      0    100      0  90.0M
  c         1.00G  1.00G      0     50      0  18.0M
  d` + "\x1b" + `        1.00G  1.00G      0     50      0  72.0M
----------  -----  -----  -----  -----  -----  -----
`
	look := func(over time.Duration, list string) Disks {
		s := disks.Recorded(pool(list))
		s.Groups, s.ZFSOver = nil, over
		return Disks(s)
	}
	slow := disks.Group{
		Name:    "md0\x1b[2J",
		Kind:    "md raid1",
		Members: []disks.Load{load("sda", 900, 5, 0.5), load("sdb\n", 900, 50, 1), load("sdc", 900, 6, -1)},
	}
	for _, c := range []struct {
		name string
		of   Disks
		on   Terminal
	}{
		{"none", Disks{}, plain},
		{"slow", Disks{Groups: []disks.Group{slow}}, plain},
		{"narrow", Disks{Groups: []disks.Group{slow}}, Terminal{Width: 40}},
		{"pool-of-vdevs", Disks{Groups: []disks.Group{{Name: "tank", Kind: "zfs pool", Members: slow.Members}}}, plain}, // no gain
		{"alike-and-idle", Disks{Groups: []disks.Group{
			{Name: "md1", Kind: "md raid1", Members: []disks.Load{load("sda", 900, 5, 0.5), load("sdb", 900, 6, 0.5)}},
			{Name: "md2", Kind: "md raid1", Members: []disks.Load{load("sdc", 3, 5, 0), load("sdd", 3, 500, 0)}}}}, plain},
		{"list", look(0, "NAME SIZE ALLOC FREE CKPOINT EXPANDSZ FRAG CAP DEDUP HEALTH ALTROOT\n"+
			"tank 2.34G 524M 1.83G - - 0% 21% 1.00x ONLINE -\n  vdb 480M 118M "+
			"362M - - 0% 24% - ONLINE\n  vdc 1.88G 406M 1.48G - - 0% 21% - ONLINE\n"), plain},
		{"since-import", look(0, head), plain},
		{"interval", look(0, head+uneven), plain},
		{"live-lags", look(10*time.Second, head+uneven), plain},
		{"live-little", look(10*time.Second, strings.ReplaceAll(head, "M", "")), plain},
	} {
		golden(t, "disks/"+c.name, c.of, c.on)
	}
}
