package steps

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy/step"
)

// TestWaitsTell: how far a sync is, each time that it got on by a tenth.
func TestWaitsTell(t *testing.T) {
	for _, c := range []struct{ completed, speed, want string }{
		{"0 / 2048000", "51200", "0 % synced, 50 MiB/s, about 20s left"},
		{"1024000 / 2048000", "10240", "50 % synced, 10 MiB/s, about 50s left"},
		{"1740800 / 2048000", "1024", "80 % synced, 1 MiB/s, about 2m30s left"},
		{"1740800 / 2048000", "0", "80 % synced"},
		{"1740800 / 2048000", "", "80 % synced"},
		{"none", "1024", ""},
		{"delayed", "1024", ""},
		{"0 / 0", "1024", ""},
		{"1 of 2 / 3", "1024", ""},
	} {
		f := newFakeMD(t)
		f.files["sync_completed"], f.files["sync_speed"] = c.completed, c.speed
		if got := progress(f, "/sys/block/md0/md/"); got != c.want {
			t.Errorf("%q at %q: %q, want %q", c.completed, c.speed, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		of  string
		act func(context.Context, *fakeMD, *step.Site) error
	}{
		"while it waits for an array": {"md0", func(ctx context.Context, f *fakeMD, st *step.Site) error {
			f.syncs("resync", 4)
			return calm(ctx, st, "md0", "/sys/block/md0/md/")
		}},
		"while it waits for a member": {"sda1", func(ctx context.Context, f *fakeMD, st *step.Site) error {
			d := f.devs["sda1"]
			d.state, d.syncing, f.files["sync_action"] = "spare", 4, "recover"
			return member.wait(ctx, st)
		}},
	} {
		inTime(t, name, func(t *testing.T) {
			f := newFakeMD(t)
			var notes []string
			st := &step.Site{Machine: f, Log: func(l string) { notes = append(notes, l) }}
			f.files["sync_completed"] = "1 / 10"
			f.ask = func(what string) error {
				if strings.HasSuffix(what, "sync_completed") && len(notes) > 0 && strings.Contains(notes[len(notes)-1], "10 %") {
					f.files["sync_completed"] = "2 / 10"
				}
				return nil
			}
			err := c.act(t.Context(), f, st)
			said := strings.Join(notes, "\n")
			if err != nil || strings.Count(said, c.of+": 10 % synced") != 1 || strings.Count(said, "20 % synced") != 1 ||
				strings.Count(said, ": \n") > 0 {
				t.Errorf("%v; it said\n%s", err, said)
			}
		})
	}
}

// TestCalm is how long an array is waited for, and for what.
func TestCalm(t *testing.T) {
	const never = 1 << 30
	for _, c := range []struct {
		name    string
		prepare func(*fakeMD)
		want    time.Duration
	}{
		{"idle", nil, 0},
		{"a check", func(f *fakeMD) { f.files["sync_action"] = "check" }, 0},
		{"a reshape", func(f *fakeMD) { f.files["sync_action"], f.files["resync_start"] = "reshape", "0" }, 0},
		{"a resync", func(f *fakeMD) { f.syncs("resync", 400) }, 40 * time.Second},
		{"a recovery", func(f *fakeMD) { f.syncs("recover", 400) }, 40 * time.Second},
		{"a resync that never begins", func(f *fakeMD) { f.files["resync_start"] = "0" }, startLimit},
		{"a resync that stops on the way", func(f *fakeMD) {
			f.syncs("resync", 400)
			f.files["resync_start"] = "0"
			looked := f.looked
			f.looked = func() {
				if looked(); f.looked == nil {
					f.files["resync_start"] = "1000"
				}
			}
		}, 40*time.Second + startLimit},
		{"levels without redundancy", func(f *fakeMD) { delete(f.files, "resync_start") }, 0},
		{"nothing to resync", func(f *fakeMD) { f.files["resync_start"] = "" }, 0},
		{"auto-read-only", func(f *fakeMD) { f.files["resync_start"], f.files["array_state"] = "0", "read-auto" }, 0},
		{"read-only, and as if it synced", func(f *fakeMD) { f.files["array_state"] = "readonly"; f.syncs("resync", never) }, 0},
	} {
		inTime(t, c.name, func(t *testing.T) {
			f := newFakeMD(t)
			if c.prepare != nil {
				c.prepare(f)
			}
			begun := time.Now()
			err := calm(t.Context(), &step.Site{Machine: f}, "md0", "/sys/block/md0/md/")
			if took := time.Since(begun); err != nil || took < c.want-pollEvery || took > c.want+pollEvery {
				t.Errorf("waited for %s, want %s; %v", took, c.want, err)
			}
		})
	}
}

// TestSettles: an array that says that it is busy for ever is not waited for any longer than it may take.
func TestSettles(t *testing.T) {
	for action, want := range map[string]time.Duration{"idle": 0, "recover": startLimit, "": 0} {
		inTime(t, action, func(t *testing.T) {
			f := newFakeMD(t)
			if f.files["sync_action"] = action; action == "" {
				delete(f.files, "sync_action")
			}
			begun := time.Now()
			member.settle(f)
			if took := time.Since(begun); took != want {
				t.Errorf("%q: %s, want %s", action, took, want)
			}
		})
	}
}

// TestWhere: a member stands where the kernel says, and an array that does not run has none.
func TestWhere(t *testing.T) {
	f := newFakeMD(t)
	for state, want := range map[string]string{"in_sync": inSync, "in_sync,write_mostly": inSync, "spare": syncing, "faulty": faulty,
		"faulty,in_sync": faulty, "want_replacement": syncing, "": out} {
		f.devs["sda1"].state = state
		if at, err := member.where(f); at != want || err != nil {
			t.Errorf("%q: %s, %v, want %s", state, at, err, want)
		}
	}
	f.devs["sda1"].state, f.devs["sda1"].gone = "in_sync", true
	if at, err := member.where(f); at != out || err != nil {
		t.Errorf("the kernel has let go of it: %s, %v", at, err)
	}
	f.devs["sda1"].array = ""
	if has, entries, err := member.hasList(f); err == nil || !strings.Contains(err.Error(), "/dev/sda1 has no superblock") {
		t.Errorf("without a superblock: %t, %t, %v", has, entries, err)
	}
	for _, level := range []string{"", "none"} {
		if f.files["level"] = level; level == "none" {
			delete(f.files, "level")
		}
		if at, err := member.where(f); err == nil || !strings.Contains(err.Error(), "md0 is no longer running") {
			t.Errorf("level %q: %s, %v", level, at, err)
		}
	}
}

// TestSearch: which devices are asked for a superblock, and which are known by name not to have one, or would not answer.
func TestSearch(t *testing.T) {
	f := newFakeMD(t)
	for _, name := range []string{"ram0", "zram12", "sr0", "fd1", "ramdisk", "sram0", "empty", "dm-0", "dm-1", "cciss!c0d0p1"} {
		f.devs[name] = &fakeDev{}
	}
	f.devs["cciss/c0d0p1"] = &fakeDev{array: mdArray, device: "cc"}
	f.values = map[string]string{"/sys/class/block/empty/size": "0", "/sys/class/block/dm-1/size": "8",
		"/sys/class/block/dm-0/dm/suspended": "1", "/sys/class/block/dm-1/dm/suspended": "0"}
	asked := map[string]bool{}
	f.ask = func(what string) error {
		if dev, ok := strings.CutPrefix(what, "superblock of "); ok {
			asked[dev] = true
		}
		return nil
	}
	got, err := search(f, mdArray)
	for dev, want := range map[string]bool{"ram0": false, "zram12": false, "sr0": false, "fd1": false, "ramdisk": true, "sram0": true,
		"empty": false, "dm-0": false, "dm-1": true, "cciss/c0d0p1": true, "sda1": true, "sdc1": true} {
		if asked[dev] != want {
			t.Errorf("%s was asked: %t", dev, asked[dev])
		}
	}
	if err != nil || len(got.members) != 3 || got.members["cciss/c0d0p1"] != "cc" || got.members["sda1"] != mdFirst ||
		strings.Join(got.arrays, " ") != "md0" || got.doubt() != " (these could not be read: dm-0 is suspended)" {
		t.Errorf("%+v, %v", got, err)
	}
	if name, err := got.Running("md5", mdArray); name != "md0" || err != nil {
		t.Errorf("it runs as %q, %v", name, err)
	}
	got.arrays = []string{"md0", "md1"}
	if _, err := got.Running("md0", mdArray); err == nil || !strings.Contains(err.Error(), "runs more than once") {
		t.Errorf("two arrays with one UUID: %v", err)
	}
}

// TestNothingLeft: only where no device of the array is left, and all answered, is there nothing to lead back.
func TestNothingLeft(t *testing.T) {
	for _, c := range []struct {
		f    found
		want bool
	}{
		{found{}, true},
		{found{members: map[string]string{"sda1": "x"}}, false},
		{found{unread: []string{"sda1: input/output error"}}, false},
	} {
		_, err := c.f.Running("md0", mdArray)
		if left := gone(err); err == nil || (left == nil) != c.want {
			t.Errorf("%+v: %v, left %v", c.f, err, left)
		}
	}
	if broke := errors.New("it broke"); gone(broke) != broke || gone(nil) != nil {
		t.Error("another error is taken for nothing left")
	}
}

// TestSlashes: the names of some controllers' disks have a slash, where sysfs has an exclamation mark.
func TestSlashes(t *testing.T) {
	f := newFakeMD(t)
	f.devs["cciss/c0d0"] = f.devs["sda1"]
	delete(f.devs, "sda1")
	f.values = map[string]string{"/sys/block/md0/md/dev-cciss!c0d0/state": "in_sync"}
	s := member
	s.Member = "cciss/c0d0"
	if got, err := s.locate(t.Context(), f); err != nil || got != s {
		t.Errorf("%+v, %v", got, err)
	}
	if at, err := s.where(f); at != inSync || err != nil {
		t.Errorf("%s, %v", at, err)
	}
	f.devs = map[string]*fakeDev{"cciss!c0d0": {state: "in_sync"}, "cciss/c0d0": {array: mdArray}}
	f.ask = func(what string) error {
		if what == "/sys/class/block" {
			return fs.ErrInvalid
		}
		return nil
	}
	if got, err := bitmap.locate(f); err != nil || got != bitmap {
		t.Errorf("an array of such disks: %+v, %v", got, err)
	}
}

// TestNamesOfSteps are what may be in a plan.
func TestNamesOfSteps(t *testing.T) {
	for _, name := range []string{"md0", "md/home", "cciss/c0d0", "nvme0n1p1", "md_d0", "dm-0"} {
		if !nameForm().MatchString(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, s := range []Bitmap{{Array: "md0"}, {Array: "../md0", ArrayUUID: mdArray}, {Array: "", ArrayUUID: mdArray},
		{Array: "md0", ArrayUUID: mdArray + ":1"}} {
		if _, err := s.Items(t.Context(), newFakeMD(t)); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
	if _, err := bitmap.Items(t.Context(), newFakeMD(t)); err != nil {
		t.Error(err)
	}
	if _, err := member.Items(t.Context(), newFakeMD(t)); err != nil {
		t.Error(err)
	}
}
