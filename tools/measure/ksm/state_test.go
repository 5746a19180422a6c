package ksm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func TestRead(t *testing.T) {
	k := fake(t)
	s, err := k.Read()
	must(t, err)
	if s.Saved() != 50951 || s.Known() != 102659 || s.Scanned != 102400 || s.Advisor != "none" || s.Breaks != 42 {
		t.Errorf("%+v", s)
	}
	// The kernel's own thread, and not a program of its name.
	if s.CPU != 1808195924 || s.Total != 24000000<<10 || !s.HasProfit || s.Profit != 202113024 {
		t.Errorf("CPU %s, total %d, profit %d", s.CPU, s.Total, s.Profit)
	}
	must(t, os.Remove(k.proc("37/schedstat")))
	if s, err = k.Read(); err != nil || s.CPU != 1800*time.Millisecond {
		t.Errorf("from stat: %s, %v", s.CPU, err)
	}
	if k.CPUOf() != 1 {
		t.Errorf("ran on %d", k.CPUOf())
	}
}

// Linux 4.19 has none of these.
func TestReadOld(t *testing.T) {
	k := fake(t)
	for _, name := range []string{"smart_scan", "advisor_mode", "ksm_zero_pages", "pages_scanned", "pages_skipped", "general_profit"} {
		must(t, os.Remove(k.path(name)))
	}
	s, err := k.Read()
	if err != nil || s.Saved() != 50944 || s.HasProfit || s.Advisor != "" {
		t.Errorf("%+v, %v", s, err)
	}
	if k.Has("smart_scan") || !k.Has("run") {
		t.Error("Has")
	}
	set(t, k, "pages_shared", "many")
	if _, err := k.Read(); err == nil || !strings.Contains(err.Error(), "pages_shared") {
		t.Errorf("%v", err)
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoKSM) {
		t.Errorf("%v", err)
	}
	k := fake(t)
	if _, err := Open(k.Root); err != nil {
		t.Error(err)
	}
	must(t, os.RemoveAll(filepath.Join(k.Root, "proc/37")))
	if _, err := k.Read(); err == nil || !strings.Contains(err.Error(), "ksmd") {
		t.Errorf("without ksmd: %v", err)
	}
}

func TestParseSetting(t *testing.T) {
	for text, want := range map[string]string{
		"default": "pages_to_scan=100 sleep_millisecs=20", "1e9": "pages_to_scan=1000000000 sleep_millisecs=20",
		"1250/10": "pages_to_scan=1250 sleep_millisecs=10", "as-is": "",
		"advisor": "pages_to_scan=100 sleep_millisecs=20 advisor_mode=scan-time",
	} {
		s, err := ParseSetting(text)
		var got []string
		for _, v := range s.Values {
			got = append(got, v.Name+"="+v.Value)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "fast", "0", "-1", "1e10", "1.5", "NaN", "100/", "100/x", "100/-1", "tune"} {
		if _, err := ParseSetting(text); err == nil {
			t.Errorf("%q is a setting", text)
		}
	}
}

func TestTry(t *testing.T) {
	k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
	set(t, k, "pages_to_scan", "333")
	s, err := ParseSetting("1e9")
	must(t, err)
	seen := 0
	out, err := Trial{Every: 10 * time.Millisecond, For: 50 * time.Millisecond, Unmerge: true}.Try(t.Context(), k, dir, s, func(Series) {
		seen++
		wants(t, k, "pages_to_scan", "1000000000")
		wants(t, k, "run", "1")
	})
	if err != nil || len(out.States) != 6 || seen != 6 {
		t.Errorf("%d readings, %v", len(out.States), err)
	}
	wants(t, k, "pages_to_scan", "333")
	wants(t, k, "run", "0")
	// Somebody else sets it meanwhile: the trial is worth nothing, and theirs stays.
	var taken *Taken
	_, err = Trial{
		Every: 10 * time.Millisecond,
		For:   50 * time.Millisecond,
	}.Try(
		t.Context(),
		k,
		dir,
		s,
		func(Series) { set(t, k, "sleep_millisecs", "7") },
	)
	if !errors.As(err, &taken) {
		t.Errorf("%v", err)
	}
	wants(t, k, "sleep_millisecs", "7")
	wants(t, k, "pages_to_scan", "333")
	// Unmerging needs room.
	must(t, os.WriteFile(k.proc("meminfo"), []byte("MemTotal: 24000000 kB\nMemAvailable: 200000 kB\n"), 0o644))
	if _, err = (Trial{Every: time.Millisecond, For: time.Millisecond, Unmerge: true}).Try(t.Context(), k, dir, s,
		func(Series) {}); err == nil ||
		!strings.Contains(err.Error(), "nothing was unmerged") {
		t.Errorf("%v", err)
	}
	wants(t, k, "run", "0")
}

func TestSeries(t *testing.T) {
	begin := time.Unix(1e9, 0)
	s := Series{Page: 4096}
	for i := range 181 { // 30 s idle, 30 s at a whole CPU, 2 min idle
		s.States = append(
			s.States,
			State{At: begin.Add(time.Duration(i) * time.Second), Sharing: uint64(i), CPU: time.Duration(min(max(i-30, 0), 30)) * time.Second},
		)
	}
	if s.WorstMinute() != 30*time.Second || s.CPU() != 30*time.Second || s.Took() != 3*time.Minute || s.Saved() != 180*4096 {
		t.Errorf("%s, %s, %s, %d", s.WorstMinute(), s.CPU(), s.Took(), s.Saved())
	}
	if got := s.At(10 * time.Second).Sharing; got != 10 {
		t.Errorf("at 10 s: %d", got)
	}
	if at, ok := s.Reaches(20 * 4096); !ok || at != 20*time.Second {
		t.Errorf("reached after %s, %v", at, ok)
	}
	if _, ok := s.Reaches(1 << 30); ok {
		t.Error("reached what was never saved")
	}
}

func TestProcesses(t *testing.T) {
	k := fake(t)
	if _, _, err := k.Processes(); !errors.Is(err, ErrPerProcess) {
		t.Errorf("%v", err)
	}
	put := func(pid, name, text string) {
		must(t, os.MkdirAll(k.proc(pid), 0o755))
		must(t, os.WriteFile(k.proc(pid+"/"+name), []byte(text), 0o644))
	}
	put("self", "ksm_merging_pages", "0\n")
	for pid, merging := range map[string]string{"100": "12800\n", "101": "25600\n", "102": "0\n"} {
		put(pid, "ksm_merging_pages", merging)
		put(pid, "comm", "qemu-system-x86\n")
	}
	put("100", "ksm_stat", "ksm_rmap_items 25600\nksm_zero_pages 0\nksm_merging_pages 12800\nksm_process_profit -50790400\n")
	got, closed, err := k.Processes()
	if err != nil || closed != 0 || len(got) != 2 || got[0].PID != 101 || got[1].Known != 25600 || got[1].Profit != -50790400 ||
		got[0].HasProfit {
		t.Errorf("%+v, %d, %v", got, closed, err)
	}
	put("100", "statm", "900000 30000 4400 1 0 40000 0\n")
	put("101", "statm", "900000 25600 25600 1 0 40000 0\n")
	p := k.Programs()
	look := func(guests, tuned int) {
		t.Helper()
		s, err := p.Look()
		if err != nil || len(s.Guests) != guests || s.Memory != 25600*4096 || s.Tuned != tuned {
			t.Errorf("%+v, %v; expected %d guests, ksmtuned %d", s, err, guests, tuned)
		}
	}
	for range 10 {
		look(3, 0)
	}
	const stat = " 1 0 0 0 -1 0 0 0 0 0 0 180 0 0 25 5 1 0 29 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 1 0 0"
	put("200", "comm", "ksmtuned\n")
	put("200", "stat", "200 (ksmtuned) Z"+stat)
	look(3, 0) // it ended
	put("200", "stat", "200 (ksmtuned) S"+stat)
	look(3, 200)
	// A process becomes a guest by execve(2), at once or after a while.
	put("300", "comm", "libvirtd\n")
	look(3, 200)
	put("300", "comm", "qemu-system-x86\n")
	look(4, 200)
	must(t, os.RemoveAll(k.proc("300")))
	must(t, os.RemoveAll(k.proc("200")))
	look(3, 0)
	put("37", "comm", "kvm\n")
	for range readAgain {
		p.Look()
	}
	look(4, 0)
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("37 (ksmd) S 2 0 0 0 -1 2097216 0 0 0 0 0 180 0 0 25 5 1 0 29 0 0 1 0 0 0 0 0 0 0 2 0 1 0 0 17 1 0 0"))
	f.Add([]byte("1 (a) b) Z"))
	f.Add([]byte(")("))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(dir+"/stat", b, 0o600); err != nil {
			t.Fatal(err)
		}
		readStat(dir)
	})
}
