package ksm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle/internal/means"
)

// breakFile makes a file one that is neither read nor written: a folder, be it root who tries.
func breakFile(t *testing.T, name string) {
	t.Helper()
	must(t, os.RemoveAll(name))
	must(t, os.Mkdir(name, 0o755))
}

const broke = "is a directory"

func says(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %v, want %q in it", what, err, p)
		}
	}
}

// TestLeaseFails: each file that is needed on the way is not as it must be, and that is said.
func TestLeaseFails(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, k *Kernel, dir string)
		act   func(k *Kernel, dir string, l *Lease) error
		says  []string
	}{
		"take, no KSM that can be set": {
			func(t *testing.T, k *Kernel, _ string) { breakFile(t, k.path("pages_to_scan")) },
			func(k *Kernel, dir string, l *Lease) error { killed(l); _, _, err := Take(k, dir); return err }, []string{broke},
		},
		"give back, no KSM that can be set": {
			func(t *testing.T, k *Kernel, _ string) { breakFile(t, k.path("pages_to_scan")) },
			func(k *Kernel, dir string, l *Lease) error { killed(l); _, err := GiveBack(k, dir, false); return err }, []string{broke},
		},
		"the lock is a folder": {
			func(t *testing.T, _ *Kernel, dir string) { breakFile(t, dir+"/"+lockFile) },
			func(k *Kernel, dir string, l *Lease) error { killed(l); _, _, err := Take(k, dir); return err }, []string{broke},
		},
		"the lock is a link": {
			func(t *testing.T, k *Kernel, dir string) {
				must(t, os.Remove(dir+"/"+lockFile))
				must(t, os.Symlink(k.path("run"), dir+"/"+lockFile))
			},
			func(k *Kernel, dir string, l *Lease) error { killed(l); _, _, err := Take(k, dir); return err }, []string{"symbolic links"},
		},
		"a setting cannot be read": {
			func(t *testing.T, k *Kernel, _ string) { breakFile(t, k.path("sleep_millisecs")) },
			func(k *Kernel, dir string, l *Lease) error { return l.Set("sleep_millisecs", "7") },
			[]string{"reading " + Dir + "/sleep_millisecs: ", broke},
		},
		"the other setting that the advisor changes cannot be read": {
			func(t *testing.T, k *Kernel, _ string) { breakFile(t, k.path("pages_to_scan")) },
			func(k *Kernel, dir string, l *Lease) error {
				l.kept = nil
				return l.Set("advisor_mode", "scan-time")
			}, []string{"pages_to_scan", broke},
		},
		"it cannot be kept what a setting was": {
			func(t *testing.T, _ *Kernel, dir string) { breakFile(t, dir+"/"+leaseFile) },
			func(k *Kernel, dir string, l *Lease) error { return l.Set("sleep_millisecs", "7") },
			[]string{"keeping KSM's settings in "},
		},
		"it cannot be kept what the advisor changes": {
			func(t *testing.T, _ *Kernel, dir string) { breakFile(t, dir+"/"+leaseFile) },
			func(k *Kernel, dir string, l *Lease) error { l.kept = nil; return l.keep("pages_to_scan") },
			[]string{"keeping KSM's settings in "},
		},
		"whether all is as it was set": {
			func(t *testing.T, k *Kernel, _ string) { breakFile(t, k.path("run")) },
			func(k *Kernel, dir string, l *Lease) error { return l.Check() }, []string{"reading " + Dir + "/run: ", broke},
		},
		"what was kept cannot be read": {
			func(t *testing.T, _ *Kernel, dir string) { breakFile(t, dir+"/"+leaseFile) },
			func(k *Kernel, dir string, l *Lease) error { _, err := l.Release(); return err },
			[]string{"reading what KSM's settings were, in ", leaseFile, broke},
		},
		"a setting that was changed cannot be read": {
			func(t *testing.T, k *Kernel, _ string) { breakFile(t, k.path("run")) },
			func(k *Kernel, dir string, l *Lease) error { _, err := l.Release(); return err },
			[]string{"reading " + Dir + "/run: ", broke},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
			l := take(t, k, dir)
			must(t, l.Set("pages_to_scan", "5000"))
			must(t, l.Set("run", "1"))
			c.spoil(t, k, dir)
			says(t, "first", c.act(k, dir, l), c.says...)
			wants := map[string]string{"sleep_millisecs": "20", "advisor_mode": "none"}
			for n, v := range wants {
				if got, err := k.Value(n); err == nil && got != v {
					t.Errorf("%s is %s", n, got)
				}
			}
			if strings.HasPrefix(name, "what was kept") || strings.HasPrefix(name, "a setting that was") {
				// The lease ended all the same: nobody else is kept out.
				_, _, err := Take(k, dir)
				says(t, "again", err, c.says...)
			}
		})
	}
}

// TestGivesBackTheRest: of several settings those that can be are given back, and the rest when it can be.
func TestGivesBackTheRest(t *testing.T) {
	for name, c := range map[string]struct{ spoil, mend func(k *Kernel, dir string) }{
		"one cannot be read": {
			func(k *Kernel, _ string) { breakFile(t, k.path("sleep_millisecs")) },
			func(k *Kernel, _ string) {
				must(t, os.Remove(k.path("sleep_millisecs")))
				set(t, k, "sleep_millisecs", "500")
			},
		},
		"one is no setting": {
			func(k *Kernel, dir string) { rewrite(t, dir, `"sleep_millisecs"`, `"../mm"`) },
			func(k *Kernel, dir string) { rewrite(t, dir, `"../mm"`, `"sleep_millisecs"`) },
		},
	} {
		for _, first := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
				l := take(t, k, dir)
				must(t, l.Set("run", "1"))
				must(t, l.Set("sleep_millisecs", "500"))
				must(t, l.Set("pages_to_scan", "5000"))
				killed(l)
				c.spoil(k, dir)
				for range 2 {
					var gave []string
					var err error
					if first {
						gave, err = GiveBack(k, dir, false)
					} else {
						_, gave, err = Take(k, dir)
					}
					var busy *Busy
					if err == nil || errors.As(err, &busy) {
						t.Fatalf("%q, %v", gave, err)
					}
					wants(t, k, "pages_to_scan", "100")
					wants(t, k, "run", "0")
				}
				c.mend(k, dir)
				gave, err := GiveBack(k, dir, false)
				if err != nil || strings.Join(gave, "; ") != "sleep_millisecs is 20 again" {
					t.Errorf("%q, %v", gave, err)
				}
				wants(t, k, "sleep_millisecs", "20")
				if _, err := os.Stat(filepath.Join(dir, leaseFile)); err == nil {
					t.Error("all is given back, and still on file")
				}
			})
		}
	}
}

func rewrite(t *testing.T, dir, old, new string) {
	t.Helper()
	name := filepath.Join(dir, leaseFile)
	b, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, []byte(strings.Replace(string(b), old, new, 1)), 0o600))
}

// TestGivesBackInOrder: the advisor goes first, for it sets and refuses others, and run last.
func TestGivesBackInOrder(t *testing.T) {
	k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
	l := take(t, k, dir)
	for _, s := range [][2]string{{"run", "1"}, {"sleep_millisecs", "500"}, {"smart_scan", "0"}, {"pages_to_scan", "5000"},
		{"advisor_mode", "scan-time"}} {
		must(t, l.Set(s[0], s[1]))
	}
	gave, err := l.Release()
	const want = "advisor_mode is none again; smart_scan is 1 again; pages_to_scan is 100 again; sleep_millisecs is 20 again; run is 0 again"
	if err != nil || strings.Join(gave, "; ") != want {
		t.Errorf("%q, %v, want %s", gave, err, want)
	}
	if again, err := GiveBack(k, dir, false); err != nil || again != nil {
		t.Errorf("again: %q, %v", again, err)
	}
}

// TestLeaseFolders are those that are not ours alone, or no folders.
func TestLeaseFolders(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string) error
		says string
	}{
		"a group may write": {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o720)) }, "only this user"},
		"others may write":  {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o702)) }, "only this user"},
		"others may read":   {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755)) }, ""},
		"a file":            {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "only this user"},
		"below a file": {func(dir string) error { return os.WriteFile(filepath.Dir(dir), nil, 0o600) },
			"to keep KSM's settings in: not a directory"},
		"in none": {func(dir string) error { return os.Remove(filepath.Dir(dir)) }, "to keep KSM's settings in: no such file"},
		"somebody else's": {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, means.Nobody, 0)) },
			"only this user"},
		"not there, as ever": {func(dir string) error { return nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "somebody else's" {
				means.Root(t)
			}
			parent := filepath.Join(t.TempDir(), "in")
			if name != "below a file" {
				must(t, os.Mkdir(parent, 0o700))
			}
			k, dir := fake(t), filepath.Join(parent, "lease")
			must(t, c.make(dir))
			l, _, err := Take(k, dir)
			if c.says == "" {
				must(t, err)
				l.Release()
				return
			}
			says(t, name, err, c.says)
		})
	}
}

// TestBusyNames: the process that has the lease is named, whoever had it before.
func TestBusyNames(t *testing.T) {
	k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.WriteFile(dir+"/"+lockFile, []byte("99999999999"), 0o600))
	l := take(t, k, dir)
	defer l.Release()
	_, _, err := Take(k, dir)
	says(t, "busy", err, "(process "+strconv.Itoa(os.Getpid())+")")
}

// TestLeaseOfNobody: what may not be written is not taken for set.
func TestLeaseOfNobody(t *testing.T) {
	means.Root(t)
	k := fake(t)
	dir := filepath.Join(t.TempDir(), "lease")
	for d := range strings.SplitSeq(k.Root+" "+filepath.Dir(dir)+" "+filepath.Dir(k.Root), " ") {
		must(t, os.Chmod(d, 0o755))
	}
	must(t, os.Chmod(filepath.Dir(dir), 0o777))
	must(t, os.Chmod(k.path("pages_to_scan"), 0o666))
	var errs []error
	var gave []string
	means.AsNobody(t, func() {
		l, _, err := Take(k, dir)
		if errs = append(errs, err); err != nil {
			return
		}
		errs = append(errs, l.Set("pages_to_scan", "5000"), l.Set("run", "1"), l.Check())
		gave, err = l.Release()
		errs = append(errs, err, os.Mkdir(dir+"/x", 0o700), os.Remove(dir+"/x"))
	})
	if len(errs) != 7 || errors.Join(errs[0], errs[1], errs[3], errs[4]) != nil || !errors.Is(errs[2], ErrNotRoot) {
		t.Errorf("%v", errs)
	}
	if strings.Join(gave, "; ") != "pages_to_scan is 100 again" {
		t.Errorf("given back: %q", gave)
	}
	wants(t, k, "run", "0")
	must(t, os.Chmod(k.path("pages_to_scan"), 0o644))
	means.AsNobody(t, func() { _, _, errs[0] = Take(k, dir); errs[1] = k.Writable() })
	if !errors.Is(errs[0], ErrNotRoot) || !errors.Is(errs[1], ErrNotRoot) {
		t.Errorf("as nobody: %v", errs[:2])
	}
	// And what was set already is given back by who may, not by nobody.
	must(t, os.RemoveAll(dir))
	l := take(t, k, dir)
	must(t, l.Set("run", "1"))
	killed(l)
	must(t, os.Chown(dir, means.Nobody, 0))
	must(t, os.Chown(filepath.Join(dir, lockFile), means.Nobody, 0))
	must(t, os.Chown(filepath.Join(dir, leaseFile), means.Nobody, 0))
	must(t, os.Chmod(k.path("pages_to_scan"), 0o666))
	means.AsNobody(t, func() { gave, errs[0] = GiveBack(k, dir, false) })
	if !errors.Is(errs[0], ErrNotRoot) || len(gave) > 0 {
		t.Errorf("%q, %v", gave, errs[0])
	}
	if _, err := os.Stat(filepath.Join(dir, leaseFile)); err != nil {
		t.Errorf("what is to be given back is forgotten: %v", err)
	}
}

// TestPermission: programs whose files nobody may read are counted.
func TestPermission(t *testing.T) {
	means.Root(t)
	k := fake(t)
	must(t, os.Chmod(k.Root, 0o755))
	must(t, os.Chmod(filepath.Dir(k.Root), 0o755))
	for pid, mode := range map[string]os.FileMode{"self": 0o644, "100": 0o600, "101": 0o644, "102": 0o600, "103": 0o644} {
		must(t, os.MkdirAll(k.proc(pid), 0o755))
		must(t, os.WriteFile(k.proc(pid+"/ksm_merging_pages"), []byte("7\n"), mode))
	}
	var all []Process
	var closed int
	var err error
	means.AsNobody(t, func() { all, closed, err = k.Processes() })
	if err != nil || closed != 2 || len(all) != 2 {
		t.Errorf("%+v, %d closed, %v", all, closed, err)
	}
}

// TestProcFails: without /proc nothing is known, and that is said.
func TestProcFails(t *testing.T) {
	k := fake(t)
	p := k.Programs()
	breakProc := func(with string) {
		must(t, os.RemoveAll(k.proc("")))
		must(t, os.WriteFile(strings.TrimSuffix(k.proc(""), "/"), []byte(with), 0o644))
	}
	breakProc("")
	_, err := k.Read()
	says(t, "read", err, "/proc")
	_, _, err = k.Processes()
	says(t, "processes", err, "/proc")
	_, err = p.Look()
	says(t, "look", err, "/proc")
	_, err = k.Result(nil)
	says(t, "result", err, "/proc")
	must(t, os.RemoveAll(k.proc("")))
	if _, err = p.Look(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"vmstat", "meminfo"} {
		k := fake(t)
		breakFile(t, k.proc(name))
		_, err := k.Read()
		says(t, name, err, broke)
	}
	k = fake(t)
	must(t, os.WriteFile(filepath.Join(k.Root, "file"), nil, 0o644))
	if _, err := Open(filepath.Join(k.Root, "file")); err == nil || errors.Is(err, ErrNoKSM) {
		t.Errorf("a root that is a file: %v", err)
	}
}

// TestReadTold: numbers beyond what the kernel takes do not wrap around.
func TestReadTold(t *testing.T) {
	k := fake(t)
	set(t, k, "run", "18446744073709551615")
	set(t, k, "sleep_millisecs", "18446744073709551615")
	set(t, k, "general_profit", "-5")
	s, err := k.Read()
	if err != nil || s.Run != 2 || s.Sleep != (1<<32-1)*time.Millisecond || s.Profit != -5 || !s.HasProfit ||
		s.Available != 12000000<<10 || s.Anon != 409600<<10 || s.Skipped != 11 || s.Scans != 20 || s.Pages != 100 {
		t.Errorf("%+v, %v", s, err)
	}
	set(t, k, "general_profit", "much")
	set(t, k, "run", "1")
	if s, err = k.Read(); err != nil || s.HasProfit || s.Run != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	for text, want := range map[string]uint64{"a 1\nab 2\n": 2, "ab\nab 3": 3, "ab x": 0, "": 0, "cab 5\n": 0} {
		if got := field([]byte(text), "ab"); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestStatFields: a name may have parentheses, and an older kernel fewer fields.
func TestStatFields(t *testing.T) {
	dir := t.TempDir()
	fields := func(n int) string { return strings.Repeat(" 3", n) }
	for text, want := range map[string]stat{
		"7 (a) b) S 2" + fields(35):    {comm: "a) b", state: "S", parent: 2, cpu: 60 * time.Millisecond, processor: 3},
		"7 () Z 1" + fields(35):        {state: "Z", parent: 1, cpu: 60 * time.Millisecond, processor: 3},
		"(x) Z 1" + fields(35) + " 99": {comm: "x", state: "Z", parent: 1, cpu: 60 * time.Millisecond, processor: 3},
	} {
		must(t, os.WriteFile(dir+"/stat", []byte(text), 0o600))
		if got, err := readStat(dir); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, part := range map[string]string{"7 (a) S 2" + fields(34): "38 fields, expected at least 39", "": "no name", "7 )a( S": "no name",
		"7 a) S 2" + fields(40): "no name"} {
		must(t, os.WriteFile(dir+"/stat", []byte(text), 0o600))
		_, err := readStat(dir)
		says(t, text, err, part)
	}
}

// TestGuests: the memory of virtual machines is their own, and whose file is odd has none that is known.
func TestGuests(t *testing.T) {
	k := fake(t)
	put := func(pid, statm string) {
		must(t, os.MkdirAll(k.proc(pid), 0o755))
		must(t, os.WriteFile(k.proc(pid+"/comm"), []byte("qemu-system-x86\n"), 0o644))
		must(t, os.WriteFile(k.proc(pid+"/statm"), []byte(statm), 0o644))
	}
	put("400", "900 30 10\n")
	put("399", "900 30\n")
	put("1000", "900 5 10 1\n")
	p := k.Programs()
	s, err := p.Look()
	if err != nil || s.Memory != 20*4096 || len(s.Guests) != 3 || s.Guests[0] != 399 || s.Guests[2] != 1000 {
		t.Errorf("%+v, %v", s, err)
	}
	// A number that is free again is another process's.
	for range sure + 2 {
		p.Look()
	}
	must(t, os.RemoveAll(k.proc("400")))
	if _, err := p.Look(); err != nil || p.names[400] != nil || p.names[399] == nil {
		t.Errorf("%v, %v", p.names, err)
	}
	put("400", "900 30 10\n")
	must(t, os.WriteFile(k.proc("400/comm"), []byte("bash\n"), 0o644))
	if s, err = p.Look(); err != nil || len(s.Guests) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	// Names are believed after some looks, and asked for again now and then.
	must(t, os.WriteFile(k.proc("399/comm"), []byte("bash\n"), 0o644))
	looks := 0
	for ; looks < 2*readAgain && len(s.Guests) == 2; looks++ {
		s, err = p.Look()
		must(t, err)
	}
	if looks < 2 || looks > readAgain || len(s.Guests) != 1 {
		t.Errorf("a process that is no guest any more is one for %d looks: %+v", looks, s)
	}
}

// TestWatch: readings are at their times, and an end in between leaves what was read.
func TestWatch(t *testing.T) {
	k := fake(t)
	means.Ends(t)
	synctest.Test(t, func(t *testing.T) {
		for length, want := range map[time.Duration]int{0: 1, 3 * time.Second: 4, 2500 * time.Millisecond: 4} {
			begun, shown := time.Now(), 0
			s, err := Watch(t.Context(), k, time.Second, length, func(s Series) { shown = len(s.States) })
			if err != nil || len(s.States) != want || shown != want || s.Page != 4096 || time.Since(begun) != s.Took() ||
				s.Took() != time.Duration(want-1)*time.Second {
				t.Errorf("%s: %d readings, %d shown, in %s, %v", length, len(s.States), shown, s.Took(), err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		begun := time.Now()
		s, err := Watch(ctx, k, time.Second, time.Hour, func(Series) {})
		if err != nil || len(s.States) != 2 || time.Since(begun) != 1500*time.Millisecond {
			t.Errorf("ended: %d readings after %s, %v", len(s.States), time.Since(begun), err)
		}
		s, err = Watch(t.Context(), k, time.Second, time.Hour, func(s Series) {
			if len(s.States) == 3 {
				breakFile(t, k.path("pages_shared"))
			}
		})
		says(t, "watch", err, "pages_shared", broke)
		if len(s.States) != 3 {
			t.Errorf("%d readings before it failed", len(s.States))
		}
	})
}

// TestCurve: what is saved, in MiB, over seconds.
func TestCurve(t *testing.T) {
	at := time.Unix(1e9, 0)
	c := Series{Page: 4096, States: []State{{At: at, Sharing: 256}, {At: at.Add(1500 * time.Millisecond), Sharing: 256, Zero: 256}}}.
		SavedCurve("x")
	if c.Name != "x" || len(c.X) != 2 || c.X[0] != 0 || c.X[1] != 1.5 || c.Y[0] != 1 || c.Y[1] != 2 {
		t.Errorf("%+v", c)
	}
	s := Series{Page: 4096, States: []State{{At: at, Sharing: 9}, {At: at.Add(time.Second), Sharing: 10}}}
	if after, ok := s.Reaches(10 * 4096); !ok || after != time.Second {
		t.Errorf("%s, %t", after, ok)
	}
}

// TestTryFails: whatever a trial needs fails, which is said, and what it had set until then is given back.
func TestTryFails(t *testing.T) {
	pace := Setting{Name: "1000", Values: []Value{{"pages_to_scan", "1000"}, {"sleep_millisecs", "30"}}}
	steered := func(err error, after time.Duration) Setting {
		return Setting{Name: "tune", Run: func(ctx context.Context, k *Kernel, l *Lease) error {
			must(t, l.Set("run", "1"))
			select {
			case <-ctx.Done():
			case <-time.After(after):
			}
			return err
		}}
	}
	for name, c := range map[string]struct {
		setting Setting
		trial   Trial
		before  func(k *Kernel, dir string)
		at2     func(k *Kernel) // at the second reading
		says    []string        // none: it goes well
		read    int
	}{
		"all goes well":      {setting: pace, read: 4},
		"it is steered":      {setting: steered(nil, time.Hour), read: 4},
		"nothing is set":     {setting: Setting{Name: "as-is"}, read: 4},
		"the steering ends":  {setting: steered(nil, 1500*time.Millisecond), read: 2},
		"the steering fails": {setting: steered(errors.New("off course"), 1500*time.Millisecond), says: []string{"off course"}, read: 2},
		"the lease is refused": {setting: pace, before: func(k *Kernel, dir string) { must(t, os.WriteFile(dir, nil, 0o600)) },
			says: []string{"only this user"}},
		"run cannot be read": {setting: pace, before: func(k *Kernel, _ string) { breakFile(t, k.path("run")) }, says: []string{broke}},
		"a setting that this kernel does not have": {
			setting: Setting{Name: "x", Values: []Value{{"pages_to_scan", "9"}, {"advisor_max_cpu", "9"}}},
			says:    []string{"x: this kernel has no " + Dir + "/advisor_max_cpu"}},
		"a setting that cannot be set": {setting: pace, before: func(k *Kernel, _ string) { breakFile(t, k.path("sleep_millisecs")) },
			says: []string{"sleep_millisecs", broke}},
		"a setting that is not given back": {setting: Setting{Name: "x", Values: []Value{{"pages_to_scan", "9"}, {"full_scans", "9"}}},
			says: []string{"full_scans is not a setting that can be restored"}},
		"the advisor cannot be stopped": {setting: Setting{Name: "x", Values: []Value{{"sleep_millisecs", "30"}}},
			before: func(k *Kernel, _ string) {
				set(t, k, "advisor_mode", "none [scan-time]")
				must(t, os.Remove(k.path("pages_to_scan")))
				must(t, os.Symlink("/proc/self/clear_refs", k.path("pages_to_scan"))) // which is never read
			}, says: []string{"read", "pages_to_scan"}},
		"a kernel without an advisor": {setting: pace, before: func(k *Kernel, _ string) { must(t, os.Remove(k.path("advisor_mode"))) }, read: 4},
		"somebody else sets the pace": {setting: pace, at2: func(k *Kernel) { set(t, k, "pages_to_scan", "100") },
			says: []string{"something else set " + Dir + "/pages_to_scan to 100 (it was 1000)"}, read: 4},
		"what is to be unmerged cannot be read": {setting: pace, trial: Trial{Unmerge: true},
			before: func(k *Kernel, _ string) { must(t, os.Remove(k.proc("meminfo"))) }, says: []string{"meminfo"}},
		"a reading fails": {setting: pace, at2: func(k *Kernel) { breakFile(t, k.path("full_scans")) },
			says: []string{"full_scans", broke}, read: 2},
		"it cannot be read whether all is as set": {setting: pace, at2: func(k *Kernel) { breakFile(t, k.path("sleep_millisecs")) },
			says: []string{"sleep_millisecs", broke}, read: 2},
	} {
		t.Run(name, func(t *testing.T) {
			means.Ends(t)
			k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
			if c.before != nil {
				c.before(k, dir)
			}
			synctest.Test(t, func(t *testing.T) {
				c.trial.Every, c.trial.For = time.Second, 3*time.Second
				s, err := c.trial.Try(t.Context(), k, dir, c.setting, func(s Series) {
					if len(s.States) == 2 && c.at2 != nil {
						c.at2(k)
					}
				})
				if c.says == nil {
					must(t, err)
				}
				says(t, name, err, c.says...)
				if len(s.States) != c.read {
					t.Errorf("%d readings, want %d", len(s.States), c.read)
				}
			})
			for setting, want := range map[string]string{"run": "0", "pages_to_scan": "100", "sleep_millisecs": "20"} {
				if got, err := k.Value(setting); err == nil && got != want {
					t.Errorf("%s is left at %s", setting, got)
				}
			}
		})
	}
}

// TestTryGivesBackOrSays: what could not be given back at the end is an error of the trial, where it had none.
func TestTryGivesBackOrSays(t *testing.T) {
	for own, want := range map[string]string{"": "reading " + Dir + "/run: ", "off course": "off course"} {
		k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
		s := Setting{Name: "tune", Run: func(ctx context.Context, k *Kernel, l *Lease) error {
			must(t, l.Set("run", "1"))
			breakFile(t, k.path("run"))
			if own != "" {
				return errors.New(own)
			}
			return nil
		}}
		_, err := Trial{Every: time.Hour, For: 0}.Try(t.Context(), k, dir, s, func(Series) {})
		if own == "" && err != nil && !strings.Contains(err.Error(), want) || err == nil {
			t.Errorf("%q: %v", own, err)
		}
	}
}

// TestUnmergeNeedsRoom: a quarter more than what is merged, to the byte.
func TestUnmergeNeedsRoom(t *testing.T) {
	const merged = (50944 + 8) * 4 // KiB
	k := fake(t)
	l := take(t, k, filepath.Join(t.TempDir(), "lease"))
	breakFile(t, k.proc("meminfo"))
	says(t, "unmerge", Trial{Unmerge: true}.prepare(k, l, false), broke)
	wants(t, k, "run", "0")
	for short, fits := range map[int]bool{0: true, 1: false} {
		k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
		set(t, k, "ksm_zero_pages", "8")
		must(t, os.WriteFile(k.proc("meminfo"), []byte("MemAvailable: "+strconv.Itoa(merged+merged/4-short)+" kB\n"), 0o644))
		l := take(t, k, dir)
		err := Trial{Unmerge: true}.prepare(k, l, false)
		run, _ := k.Value("run")
		if (err == nil) != fits || (run == "2") != fits {
			t.Errorf("%d KiB short: run %s, %v", short, run, err)
		}
		l.Release()
	}
}

// TestWritesFail: what the kernel does not take is not taken for set.
func TestWritesFail(t *testing.T) {
	k := fake(t)
	must(t, os.Remove(k.path("run")))
	must(t, os.Symlink("/dev/full", k.path("run")))
	says(t, "write", k.write("run", "1"), "writing 1 to "+Dir+"/run: no space left")
}

// TestPaces are the ends of what the kernel takes.
func TestPaces(t *testing.T) {
	_, err := ParseSetting("100/x")
	says(t, "100/x", err, `"100/x": "x" is not a number`)
	for text, fits := range map[string]bool{"1": true, "4294967295": true, "4294967296": false, "0.5": false, "1/0": true,
		"1/4294967295": true, "1/4294967296": false, "1e0": true} {
		if s, err := ParseSetting(text); (err == nil) != fits || fits && (len(s.Values) != 2 || s.Name != text) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}
