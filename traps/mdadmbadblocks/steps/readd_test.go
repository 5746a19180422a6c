package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/host/mdraid"
	"fettle/internal/means"
)

const (
	mdArray = "11111111:22222222:33333333:44444444"
	mdFirst = "aaaaaaaa:00000000:00000000:00000001"
)

// fakeMD is a machine with one mirror, as sysfs and mdadm show it.
type fakeMD struct {
	machine.Machine
	t      *testing.T
	files  map[string]string // below /sys/block/md0/md
	devs   map[string]*fakeDev
	name   string // of the array
	ran    []string
	polls  int // looks until a recovery ends
	refuse func(verb string, d *fakeDev) (out string, exit int)
	looked func() // at every look at sync_action
	marked bool   // no member's bitmap can be read
	ask    func(what string) error
	values map[string]string // of other files
}

// asked is the machine's answer to whatever it is asked for; nil: it does it.
func (f *fakeMD) asked(what string) error {
	if f.ask == nil {
		return nil
	}
	return f.ask(what)
}

// inTime runs a test in a time of its own, in which nothing waits; it ends also where what is tested does not.
func inTime(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		means.Ends(t)
		synctest.Test(t, test)
	})
}

type fakeDev struct {
	state         string // empty: not in the array
	list, entries bool
	array, device string
	writeMostly   bool
	broken        bool // does not show its superblock
	bad           string
	syncing       int
	failfast      bool
	gone          bool // its file of its state is still there, and no longer leads to it
}

func newFakeMD(t *testing.T) *fakeMD {
	return &fakeMD{t: t, name: "md0", polls: 3,
		files: map[string]string{
			"level":              "raid1",
			"metadata_version":   "1.2",
			"sync_action":        "idle",
			"resync_start":       "none",
			"raid_disks":         "2",
			"array_state":        "clean",
			"bitmap/location":    "+8",
			"bitmap/metadata":    "internal",
			"consistency_policy": "bitmap",
		},
		devs: map[string]*fakeDev{
			"sda1": {state: "in_sync,write_mostly", list: true, array: mdArray, device: mdFirst, writeMostly: true},
			"sdb1": {state: "in_sync", list: true, array: mdArray, device: "aaaaaaaa:00000000:00000000:00000002"},
			"sdc1": {}}}
}

func (f *fakeMD) missing() int {
	n := 2
	for _, d := range f.devs {
		if strings.Contains(d.state, "in_sync") {
			n--
		}
	}
	return n
}

func (f *fakeMD) ReadValue(p string) (string, error) {
	if err := f.asked(p); err != nil {
		return "", err
	}
	absent := &fs.PathError{Op: "open", Path: p, Err: os.ErrNotExist}
	if v, ok := f.values[p]; ok {
		return v, nil
	}
	rest, ok := strings.CutPrefix(p, "/sys/block/"+f.name+"/md/")
	if !ok {
		return "", absent
	}
	if dev, ok := strings.CutPrefix(rest, "dev-"); ok {
		name, file, _ := strings.Cut(dev, "/")
		d := f.devs[name]
		if d == nil || d.state == "" {
			return "", absent
		}
		if file == "bad_blocks" {
			return d.bad, nil
		}
		if file != "state" {
			return "", nil
		}
		if d.gone {
			return "", &fs.PathError{Op: "read", Path: p, Err: syscall.ENODEV}
		}
		if d.syncing > 0 {
			if d.syncing--; d.syncing == 0 {
				d.state, f.files["sync_action"] = "in_sync", "idle"
			}
		}
		return d.state, nil
	}
	if rest == "degraded" && f.files[rest] == "" {
		return fmt.Sprint(f.missing()), nil
	}
	if rest == "sync_action" && f.looked != nil {
		f.looked()
	}
	v, ok := f.files[rest]
	if !ok {
		return "", absent
	}
	return v, nil
}

func (f *fakeMD) WriteValue(p, v string) error {
	if err := f.asked("write " + p); err != nil {
		return err
	}
	f.files[strings.TrimPrefix(p, "/sys/block/"+f.name+"/md/")] = v
	return nil
}

func (f *fakeMD) List(dir string) (out []string, _ error) {
	if err := f.asked(dir); err != nil {
		return nil, err
	}
	for name, d := range f.devs {
		switch {
		case dir == "/sys/class/block":
			out = append(out, name)
		case dir == "/sys/block/"+f.name+"/md" && d.state != "":
			out = append(out, "dev-"+name)
		case dir == "/sys/class/block/"+name+"/holders" && d.state != "":
			out = append(out, f.name)
		}
	}
	if dir == "/sys/block/"+f.name+"/md" {
		out = append(out, "array_state", "level", "rd0")
	}
	slices.Sort(out)
	return out, nil
}

func (f *fakeMD) MDSuperblock(name string) (*mdraid.Superblock, error) {
	if err := f.asked("superblock of " + name); err != nil {
		return nil, err
	}
	d := f.devs[name]
	switch {
	case d != nil && d.broken:
		return nil, fmt.Errorf("reading the superblock of /dev/%s: input/output error", name)
	case d == nil || d.array == "":
		return nil, nil
	}
	sb := &mdraid.Superblock{SetUUID: d.array, DeviceUUID: d.device}
	if d.writeMostly {
		sb.DevFlags = 1
	}
	if d.failfast {
		sb.DevFlags |= 2
	}
	if d.list || d.entries {
		sb.BBLSize, sb.BBLOffset = 8, 16
	}
	if d.entries {
		sb.Features = mdraid.FeatureBadBlocks
	}
	return sb, nil
}

func (f *fakeMD) Run(_ context.Context, argv []string, _ time.Duration) (machine.Output, error) {
	if argv[0] != "/sbin/mdadm" || len(argv) < 3 {
		f.t.Errorf("ran %q", argv)
	}
	f.ran = append(f.ran, strings.Join(argv[2:], " "))
	if err := f.asked(strings.Join(argv[1:], " ")); err != nil {
		return machine.Output{}, err
	}
	if argv[1] == "--grow" {
		if f.files["sync_action"] != "idle" {
			return machine.Output{Stderr: []byte("mdadm: Cannot add bitmap while array is resyncing or reshaping etc."), Exit: 1}, nil
		}
		f.files["bitmap/location"] = map[string]string{"--bitmap=internal": "+8", "--bitmap=none": "none"}[argv[3]]
		if f.marked {
			return machine.Output{Stderr: []byte("mdadm: failed to set internal bitmap."), Exit: 1}, nil
		}
		return machine.Output{}, nil
	}
	dev := f.devs[strings.TrimPrefix(argv[len(argv)-1], "/dev/")]
	if update := argv[len(argv)-1]; strings.HasPrefix(update, "--update=") {
		dev = f.devs[strings.TrimPrefix(argv[len(argv)-2], "/dev/")]
	}
	if argv[1] != "/dev/"+f.name || dev == nil {
		f.t.Fatalf("mdadm %v: no such array or device", argv)
	}
	if f.refuse != nil {
		if out, exit := f.refuse(f.ran[len(f.ran)-1], dev); exit != 0 {
			return machine.Output{Stderr: []byte(out), Exit: exit}, nil
		}
	}
	switch argv[2] {
	case "--fail":
		dev.state = "faulty"
	case "--remove":
		dev.state = ""
	case "--re-add", "--add":
		if dev.array != mdArray {
			f.t.Fatalf("%s was written over: it belongs to somebody else", argv)
		}
		dev.state, dev.syncing, f.files["sync_action"] = "spare", f.polls, "recover"
		if i := slices.Index(argv, "--update=no-bbl"); i > 0 && !dev.entries {
			dev.list = false
		} else if slices.Contains(argv, "--update=bbl") || argv[2] == "--add" {
			dev.list = true
		}
	}
	if n := f.missing(); n > 1 {
		f.t.Fatalf("after mdadm %v %d members are missing", argv, n)
	}
	return machine.Output{}, nil
}

func TestReadd(t *testing.T) {
	const fail, remove, readd, plain, add = "--fail /dev/sda1", "--remove /dev/sda1", "--re-add /dev/sda1 --update=no-bbl",
		"--re-add /dev/sda1", "--add --write-mostly /dev/sda1"
	no := func(verbs ...string) func(*fakeMD) {
		return func(f *fakeMD) {
			f.refuse = func(cmd string, _ *fakeDev) (string, int) {
				if slices.Contains(verbs, cmd) {
					return "mdadm: not possible", 1
				}
				return "", 0
			}
		}
	}
	file := func(name, v string) func(*fakeMD) { return func(f *fakeMD) { f.files[name] = v } }
	at := func(state string) func(*fakeMD) { return func(f *fakeMD) { f.devs["sda1"].state = state } }
	for _, c := range []struct {
		name  string
		spoil func(*fakeMD)
		ran   []string // what mdadm was asked for
		err   []string // parts of the error; none: it went well
		out   bool     // the member is out, or still faulty, at the end
		took  time.Duration
	}{
		{name: "all well", ran: []string{fail, remove, readd}},
		{name: "resumed at faulty", spoil: at("faulty"), ran: []string{remove, readd}},
		{name: "resumed out", spoil: at(""), ran: []string{readd}},
		{name: "resumed while syncing", spoil: func(f *fakeMD) {
			d := f.devs["sda1"]
			d.state, d.syncing, d.list, f.files["sync_action"] = "spare", 3, false, "recover"
		}},
		{name: "resumed out, as it shall be", spoil: func(f *fakeMD) { f.devs["sda1"].state, f.devs["sda1"].list = "", false },
			ran: []string{plain}},
		{name: "resumed out, with entries", spoil: func(f *fakeMD) { f.devs["sda1"].state, f.devs["sda1"].entries = "", true },
			ran: []string{plain}, err: []string{"left its superblock as it was"}},
		{name: "done already", spoil: func(f *fakeMD) { f.devs["sda1"].list = false }},

		// After a power cut md syncs first.
		{name: "resync under way", spoil: func(f *fakeMD) { f.syncs("resync", 5) }, ran: []string{fail, remove, readd}},
		{name: "resync about to begin", spoil: func(f *fakeMD) {
			f.files["resync_start"] = "0"
			looks := 0
			f.looked = func() {
				if looks++; looks == 3 {
					f.syncs("resync", 5)
				}
			}
		}, ran: []string{fail, remove, readd}},

		// Refused before anything is touched.
		{name: "degraded", spoil: func(f *fakeMD) { f.devs["sdb1"].state = "" }, err: []string{"md0 lacks 1"}},
		{name: "fewer members than it counts", spoil: func(f *fakeMD) { f.files["raid_disks"], f.files["degraded"] = "3", "0" },
			err: []string{"2 of 3 members"}},
		{name: "busy", spoil: file("sync_action", "check"), err: []string{"busy: check"}},
		{name: "resync to come", spoil: file("resync_start", "0"), err: []string{"not stopped cleanly"}, took: startLimit},
		{name: "read-only, resync to come", spoil: func(f *fakeMD) { f.files["resync_start"], f.files["array_state"] = "0", "read-auto" },
			err: []string{"--readwrite"}},
		{name: "frozen", spoil: file("sync_action", "frozen"), err: []string{"busy: frozen"}},
		{name: "stripe", spoil: file("level", "raid0"), err: []string{"no redundancy"}},
		{name: "old metadata", spoil: file("metadata_version", "0.90"), err: []string{"0.90"}},
		{name: "read-only", spoil: file("array_state", "read-auto"), err: []string{"read-auto"}},
		{name: "no bitmap", spoil: file("bitmap/location", "none"), err: []string{"no internal write-intent bitmap"}},
		{name: "bitmap in a file", spoil: file("bitmap/location", "file"), err: []string{"no internal write-intent bitmap"}},
		{name: "cluster", spoil: file("bitmap/metadata", "clustered"), err: []string{"bitmap/metadata of md0 is clustered, expected internal"}},
		{name: "journal", spoil: file("consistency_policy", "journal"), err: []string{"consistency_policy of md0 is journal, expected bitmap"}},
		{name: "spare", spoil: func(f *fakeMD) { f.devs["sdc1"].state = "spare" }, err: []string{"--remove /dev/sdc1"}},
		{name: "replacement wanted", spoil: func(f *fakeMD) { f.devs["sdb1"].state = "in_sync,want_replacement" },
			err: []string{"want_replacement"}},
		{name: "bad blocks of the other", spoil: func(f *fakeMD) { f.devs["sdb1"].bad = "4000 8" }, err: []string{"sdb1", "bad blocks recorded"}},
		{name: "entries by now", spoil: func(f *fakeMD) { f.devs["sda1"].entries = true }, err: []string{"entries"}},
		{name: "array stopped", spoil: func(f *fakeMD) { delete(f.files, "level"); f.devs["sda1"].state, f.devs["sdb1"].state = "", "" },
			err: []string{"is not running"}, out: true},
		{name: "another disk by now", spoil: func(f *fakeMD) { f.devs["sda1"].array = "somebody"; f.devs["sda1"].state = "" },
			err: []string{"no device has"}, out: true},

		// Failures underway.
		{name: "fail refused", spoil: no(fail), ran: []string{fail}, err: []string{"status 1"}},
		{name: "fail refused with effect", spoil: func(f *fakeMD) {
			f.refuse = func(cmd string, d *fakeDev) (string, int) {
				if cmd == fail {
					d.state = "faulty"
					return "mdadm: timeout", 1
				}
				return "", 0
			}
		}, ran: []string{fail, remove, readd}},
		{name: "remove busy at first", spoil: func(f *fakeMD) {
			n := 0
			f.refuse = func(cmd string, _ *fakeDev) (string, int) {
				if n++; cmd == remove && n < 4 {
					return "mdadm: Device or resource busy", 1
				}
				return "", 0
			}
		}, ran: []string{fail, remove, remove, remove, readd}},
		{name: "remove never", spoil: no(remove), ran: append([]string{fail}, slices.Repeat([]string{remove}, 50)...), out: true,
			err: []string{"mdadm /dev/md0 --remove /dev/sda1", "mdadm /dev/md0 --re-add /dev/sda1"}, took: 50 * retryAfter},
		{name: "update refused", spoil: no(readd), ran: []string{fail, remove, readd, plain}, err: []string{"re-adding sda1", "not possible"}},
		{name: "re-add refused", spoil: no(readd, plain), ran: []string{fail, remove, readd, plain, add}, err: []string{"re-adding sda1"}},
		{name: "all refused", spoil: no(readd, plain, add), ran: []string{fail, remove, readd, plain, add}, out: true,
			err: []string{"is out of md0", "mdadm /dev/md0 --re-add /dev/sda1", "mdadm /dev/md0 --add /dev/sda1"}},
		{name: "udev was quicker", spoil: func(f *fakeMD) {
			f.refuse = func(cmd string, d *fakeDev) (string, int) {
				if cmd == readd {
					d.state, d.syncing = "spare", 3
					return "mdadm: Cannot open /dev/sda1: Device or resource busy", 1
				}
				return "", 0
			}
		}, ran: []string{fail, remove, readd}, err: []string{"something else"}},
		{name: "entry on the way", spoil: func(f *fakeMD) {
			f.refuse = func(cmd string, d *fakeDev) (string, int) { d.entries = d.entries || cmd == remove; return "", 0 }
		}, ran: []string{fail, remove, plain}, err: []string{"left its superblock as it was"}},
		{name: "never syncs", spoil: func(f *fakeMD) { f.polls = 1 << 30; f.looked = func() { f.files["sync_action"] = "idle" } },
			ran: []string{fail, remove, readd}, err: []string{"nothing syncs it"}, out: true, took: startLimit},
		{name: "recovery frozen", spoil: func(f *fakeMD) {
			f.polls = 1 << 30
			f.looked = func() {
				if len(f.ran) > 0 {
					f.files["sync_action"] = "frozen"
				}
			}
		}, ran: []string{fail, remove, readd}, err: []string{"echo idle >"}, out: true, took: startLimit},
		{name: "fails again", spoil: func(f *fakeMD) {
			f.polls = 1 << 30
			f.looked = func() {
				if len(f.ran) == 3 {
					f.devs["sda1"].state = "faulty"
				}
			}
		}, ran: []string{fail, remove, readd}, err: []string{"again", "replace it"}, out: true},
		{name: "recovery ends too early", spoil: func(f *fakeMD) { // 20 s of it, and then nothing
			f.polls = 1 << 30
			f.refuse = func(cmd string, d *fakeDev) (string, int) {
				if cmd == readd {
					begun := time.Now()
					f.looked = func() {
						if time.Since(begun) >= 20*time.Second {
							d.syncing, f.files["sync_action"] = 1<<30, "idle"
						}
					}
				}
				return "", 0
			}
		}, ran: []string{fail, remove, readd}, err: []string{"nothing syncs it"}, out: true, took: 35 * time.Second},
		{name: "a long recovery", spoil: func(f *fakeMD) { f.polls = 3005 }, ran: []string{fail, remove, readd}, took: 5 * time.Minute},
		{name: "remove refused, and gone", spoil: func(f *fakeMD) {
			f.refuse = func(cmd string, d *fakeDev) (string, int) {
				if cmd == remove {
					d.state = ""
					return "mdadm: hot remove failed for /dev/sda1: No such device or address", 1
				}
				return "", 0
			}
		}, ran: []string{fail, remove, readd}},
		{name: "the kernel has let go of it", spoil: func(f *fakeMD) {
			f.refuse = func(cmd string, d *fakeDev) (string, int) { d.gone = cmd == remove; return "", 0 }
		}, ran: []string{fail, remove, readd}},
		{name: "added as it was", spoil: func(f *fakeMD) { f.devs["sda1"].failfast = true; no(readd, plain)(f) },
			ran: []string{fail, remove, readd, plain, "--add --write-mostly --failfast /dev/sda1"}, err: []string{"re-adding sda1"}},
		{name: "one member of one", spoil: func(f *fakeMD) { f.files["raid_disks"], f.files["degraded"] = "1", "0" },
			err: []string{"(raid1 of 1) has no redundancy"}},
		{name: "no number of members", spoil: file("raid_disks", ""), err: []string{"has no redundancy"}},
		{name: "bad blocks that are not in its superblock yet", spoil: func(f *fakeMD) {
			f.values = map[string]string{"/sys/block/md0/md/dev-sdb1/unacknowledged_bad_blocks": "8 8"}
		}, err: []string{"sdb1", "bad blocks recorded"}},
		{name: "blanks for bad blocks", spoil: func(f *fakeMD) { f.devs["sdb1"].bad = " \n" }, ran: []string{fail, remove, readd}},
		{name: "failfast", spoil: func(f *fakeMD) { f.devs["sdb1"].state = "in_sync,failfast" }, ran: []string{fail, remove, readd}},
		{name: "bitmap before the superblock", spoil: file("bitmap/location", "-16"), ran: []string{fail, remove, readd}},
		{name: "an old kernel", spoil: func(f *fakeMD) {
			delete(f.files, "consistency_policy")
			delete(f.files, "bitmap/metadata")
		}, ran: []string{fail, remove, readd}},
		{name: "disk taken by somebody", spoil: func(f *fakeMD) {
			f.refuse = func(cmd string, d *fakeDev) (string, int) {
				if cmd == remove {
					d.device = "ffffffff:00000000:00000000:00000000"
				}
				return "", 0
			}
		}, ran: []string{fail, remove}, err: []string{"no longer holds its superblock", "nothing was written"}, out: true},
	} {
		inTime(t, c.name, func(t *testing.T) {
			f := newFakeMD(t)
			if c.spoil != nil {
				c.spoil(f)
			}
			s := Readd{Array: "md0", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst}
			begun := time.Now()
			err := s.Apply(t.Context(), &step.Site{Machine: f}, nil)
			if took := time.Since(begun); c.took != 0 && (took < c.took || took > c.took+time.Second) {
				t.Errorf("it took %s, want %s", took, c.took)
			}
			if !slices.Equal(f.ran, c.ran) {
				t.Errorf("mdadm was asked for\n%q\nwant\n%q", f.ran, c.ran)
			}
			for _, part := range c.err {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want %q in it", err, part)
				}
			}
			d := f.devs["sda1"]
			if len(c.err) == 0 && (err != nil || !strings.Contains(d.state, "in_sync") || d.list) {
				t.Errorf("error %v, member %+v", err, d)
			}
			var u *step.Untouched
			if touched := len(c.ran) > 0; err != nil && touched && errors.As(err, &u) {
				t.Errorf("it says that it never acted, and ran %q", c.ran)
			}
			if in := strings.Contains(d.state, "in_sync"); in == c.out {
				t.Errorf("member is %q at the end", d.state)
			}
		})
	}
}

// syncs lets the array sync for so many looks.
func (f *fakeMD) syncs(action string, looks int) {
	f.files["sync_action"] = action
	f.looked = func() {
		if looks--; looks == 0 {
			f.files["sync_action"], f.files["resync_start"], f.looked = "idle", "none", nil
		}
	}
}

func TestReaddUndo(t *testing.T) { inTime(t, "", readdUndo) }

func readdUndo(t *testing.T) {
	f := newFakeMD(t)
	s := Readd{Array: "md0", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst}
	if err := s.Apply(t.Context(), &step.Site{Machine: f}, nil); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Done(t.Context(), f, nil, nil); !done || err != nil {
		t.Errorf("done: %v, %v", done, err)
	}
	f.devs["sda1"].state = "spare"
	if done, err := s.Done(t.Context(), f, nil, nil); done || err != nil {
		t.Errorf("done while it is synced: %v, %v", done, err)
	}
	f.devs["sda1"].state = "in_sync"
	if err := s.Invert(t.Context(), &step.Site{Machine: f}); err != nil || !f.devs["sda1"].list {
		t.Errorf("undo: %v, member %+v", err, f.devs["sda1"])
	}
	if done, err := s.Done(t.Context(), f, nil, nil); done || err != nil {
		t.Errorf("done after undo: %v, %v", done, err)
	}
}

// An interrupt is heeded before the member is failed, and not until it is
// back afterwards.
func TestReaddInterrupt(t *testing.T) { inTime(t, "", readdInterrupt) }

func readdInterrupt(t *testing.T) {
	f := newFakeMD(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := Readd{Array: "md0", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst}
	if err := s.Apply(ctx, &step.Site{Machine: f}, nil); !errors.Is(err, context.Canceled) || len(f.ran) > 0 {
		t.Errorf("interrupted before: %v, ran %q", err, f.ran)
	}
	f.syncs("resync", 1<<30)
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var u *step.Untouched
	if err := s.Apply(ctx, &step.Site{Machine: f}, nil); !errors.As(err, &u) || !errors.Is(err, context.DeadlineExceeded) || len(f.ran) > 0 {
		t.Errorf("interrupted while it waits for a resync: %v, ran %q", err, f.ran)
	}
	f.syncs("resync", 1)
	ctx, cancel = context.WithCancel(t.Context())
	f.polls = 20
	f.refuse = func(string, *fakeDev) (string, int) { cancel(); return "", 0 }
	var notes []string
	if err := s.Apply(ctx, &step.Site{Machine: f, Log: func(l string) { notes = append(notes, l) }}, nil); err != nil || f.missing() != 0 ||
		f.devs["sda1"].list {
		t.Errorf("interrupted underway: %v, member %+v", err, f.devs["sda1"])
	}
	if !strings.Contains(strings.Join(notes, "\n"), "Ctrl-C") {
		t.Errorf("notes: %q", notes)
	}
}

// After a boot the array and the disk may have other names.
func TestReaddNames(t *testing.T) { inTime(t, "", readdNames) }

func readdNames(t *testing.T) {
	f := newFakeMD(t)
	f.name = "md127"
	f.devs["sdz1"], f.devs["sda1"] = f.devs["sda1"], &fakeDev{array: "somebody", device: "else"}
	f.devs["sdz1"].state = ""
	s := Readd{Array: "md0", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst}
	if half, err := s.Halfway(t.Context(), f); !half || err != nil {
		t.Errorf("halfway: %v, %v", half, err)
	}
	if err := s.Apply(t.Context(), &step.Site{Machine: f}, nil); err != nil || f.missing() != 0 || f.devs["sdz1"].list {
		t.Errorf("%v, ran %q", err, f.ran)
	}

	f.devs["sdy"] = &fakeDev{array: mdArray, device: mdFirst} // another path to the same disk
	if got, err := s.locate(t.Context(), f); err != nil || got.Member != "sdz1" || got.Array != "md127" {
		t.Errorf("two paths: %+v, %v", got, err)
	}
	f.devs["sdz1"].state = ""
	if _, err := s.locate(t.Context(), f); err == nil || !strings.Contains(err.Error(), "sdy, sdz1") {
		t.Errorf("two paths, both out: %v", err)
	}
}

// A disk that was replaced since leaves nothing to lead back; one that is
// gone while its array lacks it does.
func TestReaddGone(t *testing.T) {
	f := newFakeMD(t)
	f.devs["sda1"].device = "ffffffff:00000000:00000000:00000009"
	s := Readd{Array: "md0", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst}
	if done, err := s.Done(t.Context(), f, nil, nil); done || err != nil {
		t.Errorf("replaced, done: %v, %v", done, err)
	}
	if half, err := s.Halfway(t.Context(), f); half || err != nil {
		t.Errorf("replaced, halfway: %v, %v", half, err)
	}
	f.devs["sda1"].state = ""
	if _, err := s.Halfway(t.Context(), f); err == nil || !strings.Contains(err.Error(), "connect it again") {
		t.Errorf("gone: %v", err)
	}
	f.devs["sdb1"].state = ""
	if _, err := s.Halfway(t.Context(), f); err == nil || !strings.Contains(err.Error(), "assemble it") {
		t.Errorf("stopped: %v", err)
	}
	f.devs = map[string]*fakeDev{"sda1": {broken: true}}
	if _, err := s.Halfway(t.Context(), f); err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("a disk that does not answer: %v", err)
	}
	f.devs = nil
	if half, err := s.Halfway(t.Context(), f); half || err != nil {
		t.Errorf("array destroyed: %v, %v", half, err)
	}
}

func TestReaddNamesRefused(t *testing.T) {
	for _, s := range []Readd{
		{Array: "md0", Member: "../sda", ArrayUUID: mdArray, DeviceUUID: mdFirst},
		{Array: "md0", Member: "a/../../x", ArrayUUID: mdArray, DeviceUUID: mdFirst},
		{Array: "-f", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst},
		{Array: "md0", Member: "sda1", ArrayUUID: mdArray},
		{Array: "md0", Member: "sda1", DeviceUUID: mdFirst},
	} {
		if _, err := s.Items(t.Context(), newFakeMD(t)); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}

// What md may not sync by itself after a power cut is said where there is such.
func TestReaddWarns(t *testing.T) { inTime(t, "", readdWarns) }

func readdWarns(t *testing.T) {
	for _, c := range []struct {
		level, state string
		want         bool
	}{{"raid10", "", true}, {"raid6", "faulty", true}, {"raid1", "", false}, {"raid10", "in_sync", false}} {
		f := newFakeMD(t)
		f.files["level"], f.devs["sda1"].state = c.level, c.state
		var notes []string
		err := Readd{
			Array:      "md0",
			Member:     "sda1",
			ArrayUUID:  mdArray,
			DeviceUUID: mdFirst,
		}.Apply(
			t.Context(),
			&step.Site{Machine: f, Log: func(l string) { notes = append(notes, l) }},
			nil,
		)
		if got := strings.Contains(strings.Join(notes, "\n"), "echo repair"); err != nil || got != c.want {
			t.Errorf("%s, %q: %v, %q", c.level, c.state, err, notes)
		}
	}
}

// TestReaddWaitsForTheEnd: md is busy for a moment after the member is in
// sync, and would refuse what comes next; so it is when the sync began before
// fettle was resumed.
func TestReaddWaitsForTheEnd(t *testing.T) { inTime(t, "", readdWaitsForTheEnd) }

func readdWaitsForTheEnd(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		f := newFakeMD(t)
		d := f.devs["sda1"]
		if resumed {
			d.state, d.syncing, d.list, f.files["sync_action"] = "spare", 3, false, "recover"
		}
		looks := 0
		f.looked = func() {
			if d.state == "in_sync" && (resumed || len(f.ran) == 3) {
				f.files["sync_action"] = "recover"
				if looks++; looks > 3 {
					f.files["sync_action"] = "idle"
				}
			}
		}
		s := Readd{Array: "md0", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst}
		if err := s.Apply(t.Context(), &step.Site{Machine: f}, nil); err != nil || looks <= 3 {
			t.Errorf("resumed %v: %v; it looked %d times whether the array is idle", resumed, err, looks)
		}
	}
}

// After a boot the disks have changed their names with one another.
func TestReaddRenamed(t *testing.T) {
	f := newFakeMD(t)
	f.name = "md127"
	f.devs["sda1"], f.devs["sdb1"] = f.devs["sdb1"], f.devs["sda1"]
	s := Readd{Array: "md0", Member: "sda1", ArrayUUID: mdArray, DeviceUUID: mdFirst}
	if was, is, err := s.Renamed(t.Context(), f); was != "md0/sda1" || is != "md127/sdb1" || err != nil {
		t.Errorf("%s is %s now, %v", was, is, err)
	}
	delete(f.devs, "sdb1")
	if _, is, err := s.Renamed(t.Context(), f); err == nil {
		t.Errorf("a lost disk is called %s now", is)
	}
}

// Journals of older versions name the kinds so.
func TestJournaled(t *testing.T) {
	const old = `{"title":"t","steps":[` +
		`{"kind":"md-bitmap","array":"md0","array_uuid":"` + mdArray + `","internal":true},` +
		`{"kind":"md-readd","array":"md0","member":"sda1","list":true,"array_uuid":"` + mdArray + `","device_uuid":"` + mdFirst + `"}]}`
	var p remedy.Plan
	if err := json.Unmarshal([]byte(old), &p); err != nil {
		t.Fatal(err)
	}
	want := []step.Step{Bitmap{"md0", mdArray, true}, Readd{"md0", "sda1", true, mdArray, mdFirst}}
	if !reflect.DeepEqual(p.Steps, want) {
		t.Errorf("read as %+v, expected %+v", p.Steps, want)
	}
	if b, err := json.Marshal(p); err != nil || string(b) != old {
		t.Errorf("written as\n%s, %v", b, err)
	}
}
