package tune

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/internal/means"
	"fettle/tools/measure/ksm"
	"fettle/tools/tune"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "tune" { // the keeper of settings
		code, out, errs := apptest.Run(context.Background(), app.App{Stdin: os.Stdin}, Cmd, os.Args[1:]...)
		_, _ = os.Stdout.WriteString(out)
		_, _ = os.Stderr.WriteString(errs)
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// settings are what a kernel has whose KSM nobody set.
var settings = map[string]string{"run": "0", "pages_to_scan": "100", "sleep_millisecs": "20", "smart_scan": "0",
	"advisor_mode": "[none] scan-time"}

// kernel makes KSM's files, in a mount namespace.
func kernel(t *testing.T) *ksm.Kernel {
	t.Helper()
	if err := os.MkdirAll(ksm.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, value := range settings {
		put(t, name, value)
	}
	for _, name := range []string{"pages_shared", "pages_sharing", "pages_unshared", "pages_volatile", "full_scans", "pages_scanned",
		"general_profit"} {
		put(t, name, "0")
	}
	k, err := ksm.Open("")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func put(t *testing.T, name, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(ksm.Dir, name), []byte(value+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unchanged wants the settings to be as they were found, and nobody to have the lease.
func unchanged(t *testing.T, when string) {
	t.Helper()
	for name, want := range settings {
		if b, err := os.ReadFile(filepath.Join(ksm.Dir, name)); err != nil || strings.TrimSpace(string(b)) != want {
			t.Errorf("%s: %s is %q, %v", when, name, b, err)
		}
	}
	k, err := ksm.Open("")
	if err != nil {
		t.Fatal(err)
	}
	l, gave, err := ksm.Take(k, ksm.LeaseDir)
	if err != nil || len(gave) > 0 {
		t.Fatalf("%s: %q, %v", when, gave, err)
	}
	if _, err := l.Release(); err != nil {
		t.Error(err)
	}
}

// killed leaves what a fettle leaves that is killed: two settings of its own, and what they were on file.
func killed(t *testing.T, k *ksm.Kernel) {
	t.Helper()
	l, _, err := ksm.Take(k, ksm.LeaseDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Set("pages_to_scan", "5000"), l.Set("run", "1")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(ksm.LeaseDir, "ksm.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Release(); err != nil {
		t.Fatal(err)
	}
	put(t, "pages_to_scan", "5000")
	put(t, "run", "1")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTuneKSM sets a KSM of files.
func TestTuneKSM(t *testing.T) {
	if !means.Inside(t, syscall.CLONE_NEWNS, means.Patience) {
		return
	}
	for _, dir := range []string{"/sys/kernel", "/run"} {
		if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"ksm"}, {"ksm", "--give-back"}} {
		if code, out, errs := tuned(t, args...); code != 2 || out != "" || !strings.HasPrefix(errs, "fettle: this kernel has no KSM") {
			t.Errorf("%q without KSM: %d, %q, %q", args, code, out, errs)
		}
	}
	k := kernel(t)
	dir := t.TempDir()

	t.Run("nothing to give back", func(t *testing.T) {
		if code, out, errs := tuned(t, "ksm", "--give-back"); code != 0 || out != "There was nothing to restore.\n" || errs != "" {
			t.Errorf("%d, %q, %q", code, out, errs)
		}
		if code, out, errs := tuned(t, "ksm", "--give-back", "--after-stdin"); code != 0 || out != "" || errs != "" {
			t.Errorf("for who waits: %d, %q, %q", code, out, errs)
		}
	})
	t.Run("gives back", func(t *testing.T) {
		killed(t, k)
		code, out, errs := tuned(t, "ksm", "--give-back")
		if code != 0 || errs != "" || strings.Count(out, "\n") != 2 || !strings.Contains(out, "pages_to_scan") || !strings.Contains(out, "run") {
			t.Errorf("%d, %q, %q", code, out, errs)
		}
		unchanged(t, "after")
	})
	t.Run("gives back at the end of its input", func(t *testing.T) {
		killed(t, k)
		in, w := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			ctx, end := context.WithTimeout(t.Context(), means.Patience)
			defer end()
			code, _, _ := apptest.Run(ctx, app.App{Stdin: in}, Cmd, "tune", "ksm", "--give-back", "--after-stdin")
			ended <- code
		}()
		if _, err := w.Write([]byte("not yet")); err != nil {
			t.Fatal(err)
		}
		if v, err := k.Value("run"); v != "1" {
			t.Errorf("it did not wait: run is %s, %v", v, err)
		}
		w.Close()
		select {
		case code := <-ended:
			if code != 0 {
				t.Errorf("status %d", code)
			}
		case <-time.After(means.Patience):
			t.Fatal("it waits for ever")
		}
		unchanged(t, "after")
	})
	t.Run("another has the lease", func(t *testing.T) {
		killed(t, k)
		l, _, err := ksm.Take(k, ksm.LeaseDir)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Set("run", "1"); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"ksm"}, {"ksm", "--give-back"}} {
			if code, out, errs := tuned(t, args...); code != 2 || out != "" || !strings.HasPrefix(errs, "fettle: another fettle (process ") {
				t.Errorf("%q: %d, %q, %q", args, code, out, errs)
			}
		}
		if _, err := l.Release(); err != nil {
			t.Fatal(err)
		}
		unchanged(t, "after")
	})
	t.Run("the advisor is on", func(t *testing.T) {
		put(t, "advisor_mode", "none [scan-time]")
		if code, out, errs := tuned(t, "ksm"); code != 2 || out != "" || !strings.Contains(errs, "the kernel's advisor is on") {
			t.Errorf("%d, %q, %q", code, out, errs)
		}
		put(t, "advisor_mode", settings["advisor_mode"])
		unchanged(t, "after")
	})
	t.Run("runs", func(t *testing.T) { runs(t, k, filepath.Join(dir, "ksm.prom")) })
	t.Run("cannot write its metrics", func(t *testing.T) {
		folder := filepath.Join(dir, "folder.prom")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := tuned(t, "ksm", "--textfile", folder); code != 3 || !strings.Contains(errs, "fettle: writing the metrics: ") ||
			!strings.Contains(out, " restored: ") {
			t.Errorf("%d, %q, %q", code, out, errs)
		}
		unchanged(t, "after")
	})
	t.Run("refuses flags", func(t *testing.T) {
		for args, want := range map[string]string{"--cpu 20": "--cpu 20: expected 0.1% to 100%", "--textfile " + dir +
			"/none/ksm.prom": "no such file",
			"--textfile ksm.txt": "end in .prom"} {
			code, out, errs := tuned(t, append([]string{"ksm"}, strings.Fields(args)...)...)
			if said := strings.Join(strings.Fields(errs), " "); code != 2 || out != "" || !strings.Contains(said, want) {
				t.Errorf("%s: %d, %q, %q", args, code, out, errs)
			}
		}
		unchanged(t, "after")
	})
	t.Run("cannot listen", func(t *testing.T) {
		if code, out, errs := tuned(t, "ksm", "--listen", "192.0.2.1:1"); code != 2 || out != "" ||
			!strings.Contains(errs, "address of the loopback") {
			t.Errorf("%d, %q, %q", code, out, errs)
		}
		unchanged(t, "after")
	})
	t.Run("the folder is somebody's", func(t *testing.T) {
		if err := os.Chmod(ksm.LeaseDir, 0o777); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := tuned(t, "ksm"); code != 2 || out != "" || !strings.Contains(errs,
			"must be a folder that only this user can write to") {
			t.Errorf("%d, %q, %q", code, out, errs)
		}
		put(t, "../../../../run/fettle/ksm.json", "[]")
		if code, out, errs := tuned(t, "ksm", "--give-back"); code != 3 || out != "" ||
			!strings.Contains(errs, "must be a folder that only this user") {
			t.Errorf("to give back: %d, %q, %q", code, out, errs)
		}
	})
	t.Run("read-only", func(t *testing.T) {
		if err := unix.Mount("", "/sys/kernel", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"ksm"}, {"ksm", "--give-back"}} {
			if code, out, errs := tuned(t, args...); code != 2 || out != "" || !strings.Contains(errs, "is read-only here") {
				t.Errorf("%q: %d, %q, %q", args, code, out, errs)
			}
		}
	})
}

// runs tunes, after a fettle that was killed, until interrupted.
func runs(t *testing.T, k *ksm.Kernel, textfile string) {
	killed(t, k)
	written, served, interrupt := apptest.Meter(t, Cmd, textfile, "tune", "ksm")
	if v, err := k.Value("run"); v != "1" || err != nil {
		t.Errorf("while it runs, run is %s, %v", v, err)
	}
	if b, err := os.ReadFile("/proc/self/comm"); strings.TrimSpace(string(b)) != tune.Comm {
		t.Errorf("it is called %q, %v", b, err)
	}
	if served != written || !strings.Contains(served, "\nfettle_ksm_") {
		t.Errorf("served\n%s\nwritten\n%s", served, written)
	}
	e := interrupt()
	lines := strings.Split(strings.TrimSuffix(e.Out, "\n"), "\n")
	stamp := regexp.MustCompile(`^20[0-9-]{8}T[0-9:]{8}Z `)
	for i, line := range lines {
		if !stamp.MatchString(line) {
			t.Errorf("no time in %q", line)
		}
		lines[i] = stamp.ReplaceAllString(line, "")
	}
	begins := func(with string) int {
		return len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, with) }))
	}
	if e.Code != 0 || e.Errs != "" || begins("restored what a killed fettle left: ") != 2 || begins("restored: ") < 2 {
		t.Errorf("%+v", e)
	}
	unchanged(t, "after")
}
