package installer

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

func read(t *testing.T, text string) Run {
	t.Helper()
	r, err := Read("log", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The note's table, from its times of day. It prints 18 % for the first, of
// which 64 to 44 minutes are 31.
func TestNotesTable(t *testing.T) {
	for _, c := range []struct {
		before, after [2]string
		minutes       float64
		percent       float64
	}{
		{[2]string{"07:46", "08:50"}, [2]string{"11:27", "12:11"}, 20, 31},
		{[2]string{"08:48", "09:45"}, [2]string{"07:43", "08:17"}, 23, 40},
		{[2]string{"10:37", "10:59"}, [2]string{"11:16", "11:27"}, 11, 50},
		{[2]string{"08:19", "08:25"}, [2]string{"08:04", "08:08"}, 2, 33},
		{[2]string{"09:21", "09:40"}, [2]string{"10:25", "10:40"}, 4, 21},
	} {
		var runs []Run
		for _, at := range [][2]string{c.before, c.after} {
			runs = append(runs, read(t, fmt.Sprintf("Sep 16 %s:00 pkgsel: starting tasksel\nSep 16 %s:00 pkgsel: finishing up\n", at[0], at[1])))
		}
		got, ok := Saved(runs[0].Packages, runs[1].Packages)
		if d := runs[0].Packages.Took - runs[1].Packages.Took; !ok || math.Round(got*100) != c.percent || d.Minutes() != c.minutes {
			t.Errorf("%v to %v: %.0f %%, %s", c.before, c.after, got*100, d)
		}
	}
}

const log = `Dec 31 23:50:00 kernel: [    0.000000] Linux version 6.1
Dec 31 23:50:01 main-menu[512]: INFO: Menu item 'localechooser' selected
Dec 31 23:50:11 main-menu[512]: INFO: Menu item 'bootstrap-base' selected
Dec 31 23:59:11 debootstrap: /usr/sbin/debootstrap
Jan  1 00:00:11 main-menu[512]: INFO: Menu item 'clock-setup' selected
Jan  1 05:00:00 clock-setup: set
Jan  1 00:00:31 main-menu[512]: INFO: Menu item 'pkgsel' selected
Jan  1 00:01:00 host1 pkgsel: starting tasksel
Jan  1 00:11:00 host1 pkgsel: finishing up
Jan  1 00:11:31 main-menu[512]: INFO: Menu item 'pkgsel' selected
Jan  1 00:12:31 main-menu[512]: INFO: Menu item 'finish-install' selected
no time here
Jan  1 00:12:41 finish-install: info: Running /usr/lib/finish-install.d/06user-setup
`

func TestPhases(t *testing.T) {
	r := read(t, log)
	want := []struct {
		name   string
		took   time.Duration
		jumped bool
	}{{"localechooser", 10 * time.Second, false}, {"bootstrap-base", 10 * time.Minute, false}, {"clock-setup", 0, true},
		{"pkgsel", 12 * time.Minute, false}, {"finish-install", 10 * time.Second, false}}
	got := r.Sums()
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		if p := got[i]; p.Name != w.name || p.Took != w.took || p.Jumped != w.jumped || !p.Done {
			t.Errorf("%+v, expected %+v", p, w)
		}
	}
	if r.Packages == nil || r.Packages.Took != 10*time.Minute {
		t.Errorf("%+v", r.Packages)
	}
}

// TestCutLog: of a phase that is open where the log ends nobody knows how long it took;
// only the last one ends with it, since the machine restarts.
func TestCutLog(t *testing.T) {
	r := read(t, "Jan  1 00:00:00 main-menu[1]: INFO: Menu item 'localechooser' selected\n"+
		"Jan  1 00:00:10 main-menu[1]: INFO: Menu item 'pkgsel' selected\n")
	if p := r.Sums(); len(p) != 2 || !p[0].Done || p[1].Done || p[1].Untimed() != "did not end" {
		t.Errorf("%+v", p)
	}
}

// A selection that failed and was begun again counts from its last beginning;
// one that never ended is not timed.
func TestPackagesFail(t *testing.T) {
	r := read(t, "Jan  1 00:00:00 pkgsel: starting tasksel\nJan  1 00:30:00 pkgsel: starting tasksel\nJan  1 00:31:00 pkgsel: finishing up\n")
	if r.Packages.Took != time.Minute {
		t.Errorf("%+v", r.Packages)
	}
	r = read(t, "Jan  1 00:00:00 pkgsel: starting tasksel\nJan  1 00:30:00 main-menu[1]: (process:1) exit 30\n")
	if _, ok := Saved(r.Packages, r.Packages); ok || r.Packages.Done {
		t.Errorf("%+v", r.Packages)
	}
}

func TestNotALog(t *testing.T) {
	for _, text := range []string{"", "hello\n", "Jan  1 00:00:00 sshd[1]: starting\n", "Jan 99 00:00:00 pkgsel: starting tasksel\n"} {
		if _, err := Read("x", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "expected the syslog") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzRead: no log makes a phase take less than nothing.
func FuzzRead(f *testing.F) {
	f.Add(log)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read("x", strings.NewReader(text))
		if err != nil {
			return
		}
		for _, p := range r.Sums() {
			if p.Took < 0 {
				t.Errorf("%+v", p)
			}
		}
	})
}
