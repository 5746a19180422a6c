package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"fettle/internal/means"
	"fettle/tools/measure/ksm"
)

// put writes a file below a root.
func put(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const statRest = " 2 0 0 0 -1 2097216 0 0 0 0 0 180 0 0 25 5 1 0 29 0 0 1 0 0 0 0 0 0 0 2 0 1 0 0 17 1 0 0\n"

// fakeHost is a host whose KSM is not scanned by anybody.
func fakeHost(t *testing.T) *ksm.Kernel {
	t.Helper()
	root := t.TempDir()
	for name, value := range map[string]string{"run": "0", "pages_to_scan": "100", "sleep_millisecs": "20", "smart_scan": "0",
		"advisor_mode": "[none] scan-time",
		"pages_shared": "0", "pages_sharing": "0", "pages_unshared": "0", "pages_volatile": "0", "full_scans": "0", "pages_scanned": "0",
		"general_profit": "-64"} {
		put(t, root, ksm.Dir+"/"+name, value+"\n")
	}
	put(t, root, "proc/37/stat", "37 (ksmd) S"+statRest)
	put(t, root, "proc/vmstat", "cow_ksm 0\n")
	put(t, root, "proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 100000 kB\nAnonPages: 400000 kB\n")
	k, err := ksm.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// ksmtuned lets it run.
func ksmtuned(t *testing.T, k *ksm.Kernel) {
	put(t, k.Root, "proc/900/stat", "900 (ksmtuned) S"+statRest)
	put(t, k.Root, "proc/900/comm", "ksmtuned\n")
}

func value(t *testing.T, k *ksm.Kernel, name string) string {
	t.Helper()
	v, err := k.Value(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// during runs a tuner, calls f once it works, and ends it.
func during(t *testing.T, k *ksm.Kernel, tuner *Tuner, f func()) error {
	t.Helper()
	l, _, err := ksm.Take(k, filepath.Join(t.TempDir(), "lease"))
	if err != nil {
		t.Fatal(err)
	}
	own := *k
	tuner.Kernel, tuner.Lease = &own, l
	ctx, stop := context.WithTimeout(t.Context(), means.Patience)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- tuner.Run(ctx) }()
	for value(t, k, "run") != "1" && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	f()
	select {
	case err = <-ended:
	case <-time.After(5 * time.Second): // it works on
		stop()
		err = <-ended
	}
	if _, rerr := l.Release(); rerr != nil {
		t.Error(rerr)
	}
	return err
}

func TestRun(t *testing.T) {
	means.Ends(t)
	k := fakeHost(t)
	var told []string
	var metrics []byte
	ctx, stop := context.WithCancel(t.Context())
	l, _, err := ksm.Take(k, filepath.Join(t.TempDir(), "lease"))
	if err != nil {
		t.Fatal(err)
	}
	tuner := &Tuner{Kernel: k, Lease: l, Policy: Default, Tell: func(s string) { told = append(told, s) },
		Publish: func(b []byte) error { metrics = b; stop(); return nil }}
	if err := tuner.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if got := value(t, k, "run") + " " + value(t, k, "smart_scan"); got != "1 1" || value(t, k, "pages_to_scan") == "100" {
		t.Errorf("run and smart_scan are %s, pages_to_scan %s", got, value(t, k, "pages_to_scan"))
	}
	if _, err := l.Release(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"run": "0", "smart_scan": "0", "pages_to_scan": "100", "sleep_millisecs": "20"} {
		if got := value(t, k, name); got != want {
			t.Errorf("%s is %s, not given back", name, got)
		}
	}
	if len(told) != 1 || strings.Contains(told[0], "\n") || !strings.Contains(told[0], "first two passes") {
		t.Errorf("told %q", told)
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(string(metrics)))
	if err != nil || len(families) < 10 {
		t.Errorf("%d metrics: %v\n%s", len(families), err, metrics)
	}
	if f := families["fettle_ksm_profit_bytes"]; f == nil || f.Metric[0].GetGauge().GetValue() != -64 {
		t.Errorf("profit: %v", f)
	}
}

// Whoever begins to set KSM while fettle does has it from then on.
func TestRunGivesWayToOthers(t *testing.T) {
	means.Ends(t)
	for name, begin := range map[string]func(k *ksm.Kernel){
		"an admin": func(k *ksm.Kernel) { put(t, k.Root, ksm.Dir+"/run", "2\n") },
		"ksmtuned": func(k *ksm.Kernel) { ksmtuned(t, k) },
		"advisor":  func(k *ksm.Kernel) { put(t, k.Root, ksm.Dir+"/advisor_mode", "none [scan-time]\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := fakeHost(t)
			err := during(t, k, &Tuner{Policy: Default}, func() { begin(k) })
			var taken *ksm.Taken
			if !errors.As(err, &taken) && !errors.Is(err, ErrTwo) {
				t.Errorf("ended with %v", err)
			}
			if name == "an admin" && value(t, k, "run") != "2" {
				t.Errorf("run is %s: the admin's 2 is gone", value(t, k, "run"))
			}
			if value(t, k, "sleep_millisecs") != "20" {
				t.Error("sleep_millisecs was not given back")
			}
		})
	}
}

func TestAlone(t *testing.T) {
	k := fakeHost(t)
	if err := Alone(k); err != nil {
		t.Error(err)
	}
	put(t, k.Root, ksm.Dir+"/advisor_mode", "none [scan-time]\n")
	if err := Alone(k); !errors.Is(err, ErrTwo) || !strings.Contains(err.Error(), "advisor") {
		t.Errorf("%v", err)
	}
	put(t, k.Root, ksm.Dir+"/advisor_mode", "[none] scan-time\n")
	ksmtuned(t, k)
	if err := Alone(k); !errors.Is(err, ErrTwo) || !strings.Contains(err.Error(), "ksmtuned runs (process 900)") {
		t.Errorf("%v", err)
	}
}

// TestGuestStartsOnce: a guest is looked at when it starts, and told of once, however long it runs.
func TestGuestStartsOnce(t *testing.T) {
	k := fakeHost(t)
	put(t, k.Root, "proc/500/comm", "qemu-system-x86\n")
	l, _, err := ksm.Take(k, filepath.Join(t.TempDir(), "lease"))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 21*time.Second)
		defer stop()
		time.AfterFunc(5*time.Second, func() { put(t, k.Root, "proc/501/comm", "kvm\n") })
		tuner := &Tuner{Kernel: k, Lease: l, Policy: Default, Every: 10 * time.Second, Tell: func(s string) { told = append(told, s) }}
		if err := tuner.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	if len(told) != 3 || !strings.Contains(told[0], "; 1 guest started;") || strings.Contains(told[1], "started;") {
		t.Errorf("one guest started in the first ten seconds; told %q", told)
	}
	if _, err := l.Release(); err != nil {
		t.Error(err)
	}
}

func TestEyes(t *testing.T) {
	k := fakeHost(t)
	e := &eyes{kernel: k, programs: k.Programs(), limit: 0.2}
	see := func(started, guests int, suffers string) {
		t.Helper()
		e.look()
		if e.started != started || len(e.seen.Guests) != guests || !strings.Contains(e.suffers, suffers) ||
			(suffers == "") != (e.suffers == "") {
			t.Errorf("%d started of %d, %q; expected %d of %d, %q", e.started, len(e.seen.Guests), e.suffers, started, guests, suffers)
		}
	}
	put(t, k.Root, "proc/500/comm", "qemu-system-x86\n")
	see(0, 1, "") // those that were there have not started
	put(t, k.Root, "proc/501/comm", "kvm\n")
	put(t, k.Root, "proc/502/comm", "kvm-nx-lpage-re\n")
	see(1, 2, "")
	see(0, 2, "")
	const calm = "some avg10=1.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
	put(t, k.Root, "proc/pressure/cpu", calm)
	put(t, k.Root, "proc/pressure/memory", strings.Replace(calm, "some avg10=1.00", "some avg10=90.00", 1))
	see(0, 2, "")
	vm := "sys/fs/cgroup/machine.slice/machine-qemu-7.scope"
	put(t, k.Root, vm+"/memory.pressure", calm)
	put(t, k.Root, vm+"/cpu.pressure", strings.Replace(calm, "1.00", "41.00", 1))
	see(0, 2, "machine-qemu-7.scope waits for CPU 41 %")
	put(t, k.Root, "proc/pressure/memory", strings.Replace(calm, "full avg10=0.00", "full avg10=25.00", 1))
	see(0, 2, "the host waits for memory 25 %")
	e.limit = 1
	see(0, 2, "")
}

// ksmd ran on CPU 1, of node 1.
func TestNodeWithoutIdleCPU(t *testing.T) {
	k := fakeHost(t)
	e := &eyes{kernel: k, programs: k.Programs(), limit: 0.2}
	for i, cpus := range []string{"0,2-3", "1"} {
		put(t, k.Root, "sys/devices/system/node/node"+string(rune('0'+i))+"/cpulist", cpus+"\n")
	}
	if _, err := k.Read(); err != nil { // finds ksmd
		t.Fatal(err)
	}
	put(t, k.Root, "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 100 0 0 500 0 0 0 0 0 0\n")
	e.look()
	put(t, k.Root, "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 100 0 0 0 0 0 0\ncpu1 199 0 0 501 0 0 0 0 99 0\n")
	e.look()
	if !strings.Contains(e.suffers, "NUMA node 1 has no idle CPU") {
		t.Errorf("%q", e.suffers)
	}
	put(t, k.Root, "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 99 0 0 100 0 0 0 0 0 0\ncpu1 250 0 0 560 0 0 0 0 99 0\n")
	if e.look(); e.suffers != "" {
		t.Errorf("%q", e.suffers)
	}
}

func TestCPUList(t *testing.T) {
	for text, want := range map[string]int{"0-3,8\n": 5, "": 0, "1": 1, "3-1": 0, "x,2": 1, "0-99999999": 4096} {
		if got := cpuList(text); len(got) != want {
			t.Errorf("%q: %d CPUs", text, len(got))
		}
	}
}

func TestSetting(t *testing.T) {
	for _, text := range []string{"tune", "tune:5%", "advisor"} {
		if s, err := Setting(text); err != nil || s.Name != text {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"tune:", "tune:20", "tune:0%", "tune:101%", "tune:NaN%", "tuned"} {
		if _, err := Setting(text); err == nil {
			t.Errorf("%q is a setting", text)
		}
	}
}
