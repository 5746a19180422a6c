package cli

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/means"
)

// A program that is started under the name of syntheticName-N knows N
// synthetic traps and nothing else; TestMain sees to it. Each reads two files
// of its own, as a small trap does.
const syntheticName = "fettle-synthetic-"

// Synthetic is the exit status of such a program; false: this is not one.
func Synthetic(args []string) (int, bool) {
	count, ok := strings.CutPrefix(args[0], syntheticName)
	n, err := strconv.Atoi(count)
	if !ok || err != nil {
		return 0, false
	}
	var traps []*trap.Trap
	for i := range n {
		traps = append(traps, evil(fmt.Sprintf("synthetic-%03d", i), func(ctx context.Context, h *host.Host, r *trap.Report) error {
			b, err := h.ReadString(ctx, "/proc/sys/kernel/ostype")
			if err != nil {
				return err
			}
			if _, err := h.Stat(ctx, fmt.Sprintf("/etc/synthetic-%d", i)); err != nil && !host.IsAbsent(err) {
				return err
			}
			if _, err := h.ReadFile(ctx, fmt.Sprintf("/etc/synthetic-%d.conf", i)); err != nil && !host.IsAbsent(err) {
				return err
			}
			r.Clear("", "fine", trap.Ev("/proc/sys/kernel/ostype", "%s", b))
			return nil
		}))
	}
	return MainWith(traps, args[1:], os.Stdin, os.Stdout, os.Stderr), true
}

func synthetic(n int, args ...string) *exec.Cmd {
	exe, _ := os.Executable()
	return &exec.Cmd{Path: exe, Args: append([]string{fmt.Sprint(syntheticName, n)}, args...)}
}

// TestKilledWhileUnpacking: whatever ends fettle, nothing of somebody's report
// stays behind where archives are unpacked.
func TestKilledWhileUnpacking(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "sosreport.tar")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	body := make([]byte, 8<<20)
	for i := range 60 {
		w.WriteHeader(&tar.Header{Name: fmt.Sprint("report/", i), Mode: 0o600, Size: int64(len(body)), Typeflag: tar.TypeReg})
		w.Write(body)
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	cmd := synthetic(1, "check", "--from", file)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	unpacking := func() bool { // a file without a name in temp, as the kernel tells it
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", cmd.Process.Pid))
		for _, l := range links {
			if to, _ := os.Readlink(l); strings.HasPrefix(to, temp) {
				if st, err := os.Stat(l); err == nil && st.Size() > 0 {
					return true
				}
			}
		}
		return false
	}
	means.Until(t, "something to be unpacked into TMPDIR", unpacking)
	cmd.Process.Kill()
	cmd.Wait()
	if es, _ := os.ReadDir(temp); len(es) > 0 {
		t.Errorf("left behind: %v", es)
	}
}

func TestSyntheticProcess(t *testing.T) {
	for _, n := range []int{0, 1, 200} {
		out, err := synthetic(n, "check").CombinedOutput()
		var ee *exec.ExitError
		if errors.As(err, &ee) || !strings.Contains(string(out), fmt.Sprint(" ", n, " clear")) {
			t.Errorf("%d traps: %v\n%s", n, err, out)
		}
	}
}

// BenchmarkProcess is what a run costs as its user sees it: from starting
// fettle to its end, the confined child included.
func BenchmarkProcess(b *testing.B) {
	measure := func(name string, n int, args ...string) {
		b.Run(name, func(b *testing.B) {
			var peak int64
			for b.Loop() {
				cmd := synthetic(n, args...)
				cmd.Stdout = io.Discard
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
			}
			b.ReportMetric(float64(peak)/1024, "MiB-peak")
		})
	}
	measure("version", 0, "--version")
	for _, n := range []int{0, 1, 50, 200} {
		measure(fmt.Sprintf("check/traps=%d", n), n, "check")
	}
}
