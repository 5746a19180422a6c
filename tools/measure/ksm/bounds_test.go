package ksm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReadMissing: what every kernel has must be there; what came later is zero where it is not.
func TestReadMissing(t *testing.T) {
	for name, optional := range map[string]bool{"run": false, "pages_to_scan": false, "sleep_millisecs": false, "pages_shared": false,
		"pages_sharing": false, "pages_unshared": false, "pages_volatile": false, "full_scans": false, "ksm_zero_pages": true,
		"pages_scanned": true,
		"pages_skipped": true, "general_profit": true, "advisor_mode": true} {
		k := fake(t)
		must(t, os.Remove(k.path(name)))
		if s, err := k.Read(); (err == nil) != optional || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %+v, %v", name, s, err)
		}
		if optional {
			continue
		}
		set(t, k, name, "many")
		if s, err := k.Read(); err == nil {
			t.Errorf("%s is no number: %+v", name, s)
		}
	}
	for _, name := range []string{"vmstat", "meminfo", "37/stat"} {
		k := fake(t)
		must(t, os.Remove(k.proc(name)))
		if s, err := k.Read(); err == nil {
			t.Errorf("without %s: %+v", name, s)
		}
	}
	k := fake(t)
	set(t, k, "sleep_millisecs", "20")
	if s, err := k.Read(); err != nil || s.Sleep != 20*time.Millisecond || !s.HasProfit {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestCPUTime: in nanoseconds where the kernel counts them, else in hundredths of a second.
func TestCPUTime(t *testing.T) {
	for schedstat, want := range map[string]time.Duration{"1808195924 1 4\n": 1808195924, "1 1 4\n": 1,
		"0 0 0\n":  1800 * time.Millisecond,
		"-5 0 0\n": 1800 * time.Millisecond, "x 0 0\n": 1800 * time.Millisecond, "1808195924 1\n": 1800 * time.Millisecond,
		"": 1800 * time.Millisecond} {
		k := fake(t)
		must(t, os.WriteFile(k.proc("37/schedstat"), []byte(schedstat), 0o644))
		if s, err := k.Read(); err != nil || s.CPU != want {
			t.Errorf("%q: %s, %v", schedstat, s.CPU, err)
		}
	}
	k := fake(t)
	if _, err := k.Read(); err != nil || k.CPUOf() != 1 {
		t.Errorf("CPU %d, %v", k.CPUOf(), err)
	}
	must(t, os.Remove(k.proc("37/stat")))
	if got := k.CPUOf(); got != -1 {
		t.Errorf("of a thread that is gone: %d", got)
	}
	must(t, os.WriteFile(k.proc("37/schedstat"), nil, 0o644))
	if s, err := k.Read(); err == nil {
		t.Errorf("of a thread that is gone: %s", s.CPU)
	}
}

// TestSeriesBounds: between the ends, whatever was before; a reading a little late is still of its time.
func TestSeriesBounds(t *testing.T) {
	begin := time.Unix(1e9, 0)
	s := Series{Page: 4096, States: []State{{At: begin, CPU: 5 * time.Second, Sharing: 3}, {At: begin.Add(50 * time.Millisecond),
		Sharing: 4},
		{At: begin.Add(51 * time.Millisecond), CPU: 5*time.Second + 10*time.Millisecond, Sharing: 5}}}
	if s.CPU() != 10*time.Millisecond || s.Saved() != 2*4096 || s.At(0).Sharing != 4 || s.At(time.Millisecond).Sharing != 5 {
		t.Errorf("%s, %d, %+v", s.CPU(), s.Saved(), s.At(0))
	}
	if per, ok := s.SavedPerCPU(); !ok || per != 2*4096*100 {
		t.Errorf("%f a second, %t", per, ok)
	}
	s.States[2].CPU -= time.Nanosecond
	if per, ok := s.SavedPerCPU(); ok {
		t.Errorf("%f a second of next to none", per)
	}
}

// TestTryAdvisor: the kernel's own advisor is stopped for a setting, and stays where all does.
func TestTryAdvisor(t *testing.T) {
	for setting, want := range map[string]string{"1000": "none", "": "scan-time"} {
		k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
		set(t, k, "advisor_mode", "none [scan-time]")
		set(t, k, "run", "1")
		s := Setting{Name: "as it is"}
		if setting != "" {
			var err error
			s, err = ParseSetting(setting)
			must(t, err)
		}
		mode, run := "", ""
		_, err := Trial{Every: time.Millisecond, For: 2 * time.Millisecond}.Try(t.Context(), k, dir, s, func(Series) {
			mode, _ = k.Value("advisor_mode")
			run, _ = k.Value("run")
		})
		if mode != want || run != "1" {
			t.Errorf("%q: advisor %s, run %s, want %s (%v)", setting, mode, run, want, err)
		}
	}
	k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
	s, err := ParseSetting("1000")
	must(t, err)
	must(t, os.Remove(k.path("pages_to_scan")))
	if _, err := (Trial{Every: time.Millisecond, For: time.Millisecond}).Try(t.Context(), k, dir, s, func(Series) {}); err == nil {
		t.Error("a setting that the kernel does not have")
	}
}
