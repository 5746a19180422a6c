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

func take(t *testing.T, k *Kernel, dir string) *Lease {
	t.Helper()
	means.Ends(t)
	l, _, err := Take(k, dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLeaseGivesBack(t *testing.T) {
	k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
	l := take(t, k, dir)
	for _, s := range [][2]string{{"pages_to_scan", "5000"}, {"sleep_millisecs", "500"}, {"run", "1"}, {"pages_to_scan", "0"},
		{"smart_scan", "1"}} {
		must(t, l.Set(s[0], s[1]))
		wants(t, k, s[0], s[1])
	}
	gave, err := l.Release()
	must(t, err)
	wants(t, k, "pages_to_scan", "100")
	wants(t, k, "sleep_millisecs", "20")
	wants(t, k, "run", "0")
	if len(gave) != 3 {
		t.Errorf("gave back %q", gave)
	}
	if _, err := os.Stat(filepath.Join(dir, leaseFile)); err == nil {
		t.Error("the file is still there")
	}
}

// killed ends a lease as SIGKILL does: the lock goes, the file stays.
func killed(l *Lease) { l.lock.Close() }

func TestLeaseAfterKill(t *testing.T) {
	k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
	l := take(t, k, dir)
	must(t, l.Set("pages_to_scan", "5000"))
	must(t, l.Set("pages_to_scan", "6000"))
	must(t, l.Set("run", "1"))
	killed(l)
	// Killed between the file and the write: the kernel still has the value before.
	set(t, k, "pages_to_scan", "5000")
	again, gave, err := Take(k, dir)
	must(t, err)
	wants(t, k, "pages_to_scan", "100")
	wants(t, k, "run", "0")
	if len(gave) != 2 {
		t.Errorf("gave back %q", gave)
	}
	killed(again)
	if gave, err := GiveBack(k, dir, false); err != nil || len(gave) > 0 {
		t.Errorf("once more: %q, %v", gave, err)
	}
}

func TestLeaseLeavesWhatOthersSet(t *testing.T) {
	k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
	l := take(t, k, dir)
	must(t, l.Set("pages_to_scan", "5000"))
	must(t, l.Set("sleep_millisecs", "500"))
	set(t, k, "pages_to_scan", "1250")
	var taken *Taken
	if err := l.Check(); !errors.As(err, &taken) || taken.Have != "1250" {
		t.Errorf("Check: %v", err)
	}
	if err := l.Set("pages_to_scan", "6000"); !errors.As(err, &taken) {
		t.Errorf("Set: %v", err)
	}
	gave, err := l.Release()
	must(t, err)
	wants(t, k, "pages_to_scan", "1250")
	wants(t, k, "sleep_millisecs", "20")
	if len(gave) != 2 || !strings.Contains(gave[0], "left") {
		t.Errorf("said %q", gave)
	}
}

// The kernel sets pages_to_scan when the advisor goes on and off, and refuses
// it while the advisor is on.
func TestLeaseOfAdvisor(t *testing.T) {
	for _, found := range []string{"none", "scan-time"} {
		k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
		set(t, k, "pages_to_scan", "700")
		set(t, k, "advisor_mode", found)
		l := take(t, k, dir)
		other := map[string]string{"none": "scan-time", "scan-time": "none"}[found]
		must(t, l.Set("advisor_mode", other))
		set(t, k, "pages_to_scan", "500") // as the kernel does
		must(t, l.Check())
		gave, err := l.Release()
		must(t, err)
		wants(t, k, "advisor_mode", found)
		if found == "none" {
			wants(t, k, "pages_to_scan", "700")
		} else {
			wants(t, k, "pages_to_scan", "500") // the advisor's own
		}
		if len(gave) == 0 {
			t.Error("nothing was given back")
		}
	}
}

func TestLeaseOfOne(t *testing.T) {
	k, dir := fake(t), filepath.Join(t.TempDir(), "lease")
	l := take(t, k, dir)
	must(t, l.Set("run", "1"))
	var busy *Busy
	if _, _, err := Take(k, dir); !errors.As(err, &busy) || busy.Holder == "" {
		t.Errorf("a second lease: %v", err)
	}
	if _, err := GiveBack(k, dir, false); !errors.As(err, &busy) {
		t.Errorf("giving back a living program's: %v", err)
	}
	done := make(chan error, 1)
	go func() { _, err := GiveBack(k, dir, true); done <- err }()
	time.Sleep(20 * time.Millisecond)
	wants(t, k, "run", "1")
	killed(l)
	must(t, <-done)
	wants(t, k, "run", "0")
}

func TestLeaseRefuses(t *testing.T) {
	k := fake(t)
	open := filepath.Join(t.TempDir(), "open")
	must(t, os.Mkdir(open, 0o777))
	must(t, os.Chmod(open, 0o777))
	if _, _, err := Take(k, open); err == nil {
		t.Error("a folder that others may write to was taken")
	}
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(t.TempDir(), link))
	if _, _, err := Take(k, link); err == nil {
		t.Error("a link was followed")
	}
	dir := filepath.Join(t.TempDir(), "lease")
	l := take(t, k, dir)
	if err := l.Set("use_zero_pages", "1"); err == nil {
		t.Error("a setting that is not given back was set")
	}
	l.Release()
	for _, text := range []string{"", "{", `[{"name":"../../x","found":"1","set":"0"}]`} {
		must(t, os.WriteFile(filepath.Join(dir, leaseFile), []byte(text), 0o600))
		if _, _, err := Take(k, dir); err == nil {
			t.Errorf("%q was taken for settings", text)
		}
	}
}
