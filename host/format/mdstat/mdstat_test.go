package mdstat

import (
	"errors"
	"reflect"
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

const text = `Personalities : [raid1] [raid6] [raid5] [raid4] [raid0] [raid10] 
md127 : active (auto-read-only) raid1 vdb1[0] vdc1[1]
      1046528 blocks super 1.2 [2/2] [UU]
      	resync=PENDING
      
md1 : active raid1 sdb1[1](F) sda1[0]
      976630464 blocks super 1.2 [2/1] [U_]
      bitmap: 3/8 pages [12KB], 65536KB chunk

md2 : active raid5 sdd[3] sdc[1] sdb[0]
      2093056 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/2] [UU_]
      [==>..................]  recovery = 12.6% (132864/1046528) finish=0.4min speed=33216K/sec

md_d3 : active raid0 sde[0] sdf[1]
      2093056 blocks super 1.2 512k chunks

md4 : inactive sdg[1](S)
      1046528 blocks super 1.2

md5 : active raid10 sdh[0] sdi[1] sdj[2]
      2093056 blocks super 1.2 512K chunks 2 near-copies [4/3] [UUU_]
      [>....................]  check =  0.1% (1/2) finish=1min speed=1K/sec

unused devices: <none>
`

func TestParse(t *testing.T) {
	want := []Array{
		{Name: "md127", Level: "raid1", Active: true, Redundant: true, Disks: 2, Marks: "[2/2] [UU]", Action: "resync",
			Members: []string{"vdb1", "vdc1"}},
		{Name: "md1", Level: "raid1", Active: true, Redundant: true, Disks: 2, Missing: 1, Marks: "[2/1] [U_]",
			Members: []string{"sdb1", "sda1"}},
		{Name: "md2", Level: "raid5", Active: true, Redundant: true, Disks: 3, Missing: 1, Marks: "[3/2] [UU_]", Action: "recovery",
			Members: []string{"sdd", "sdc", "sdb"}},
		{Name: "md_d3", Level: "raid0", Active: true,
			Members: []string{"sde", "sdf"}},
		{Name: "md4",
			Members: []string{"sdg"}},
		{Name: "md5", Level: "raid10", Active: true, Redundant: true, Disks: 4, Missing: 1, Marks: "[4/3] [UUU_]", Action: "check",
			Members: []string{"sdh", "sdi", "sdj"}},
	}
	if got := Parse(text); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := Parse("Personalities : \n  [2/1] [U_]\nunused devices: <none>\n"); len(got) != 0 {
		t.Errorf("of none: %+v", got)
	}
}

func TestRebuilding(t *testing.T) {
	for action, want := range map[string]bool{"recovery": true, "reshape": true, "resync": false, "check": false, "": false} {
		if a := (Array{Action: action}); a.Rebuilding() != want {
			t.Errorf("%q: %v", action, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(text)
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range Parse(text) {
			if a.Missing < 0 || a.Missing > a.Disks || a.Missing > 0 && !a.Redundant {
				t.Errorf("%+v", a)
			}
		}
	})
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// TestOlderCapture: one that was made before anybody asked for the file has the folders
// of the arrays.
func TestOlderCapture(t *testing.T) {
	const none = "-- uncollected/proc/mdstat --\n"
	h := hosttest.New(t, none+"-- stat/sys/block/loop0 --\ntype dir\n-- stat/sys/block/md --\ntype dir\n"+
		"-- root/sys/block/md0/md/degraded --\n1\n-- root/sys/block/md0/md/raid_disks --\n2\n"+
		"-- root/sys/block/md0/md/level --\nraid1\n-- root/sys/block/md0/md/sync_action --\nrecover\n")
	want := []Array{{Name: "md0", Level: "raid1", Active: true, Redundant: true, Disks: 2, Missing: 1, Marks: "[2/1]", Action: "recovery"}}
	if got, err := Read(t.Context(), h); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{none, none + "-- stat/sys/block --\ntype dir\n", none + "-- root/sys/block/md0/md/degraded --\nx\n",
		none + "-- denied/sys/block/md0/md/degraded --\n-- stat/sys/block/md0 --\ntype dir\n"} {
		if got, err := Read(t.Context(), hosttest.New(t, text)); !errors.Is(err, host.ErrNotCollected) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
