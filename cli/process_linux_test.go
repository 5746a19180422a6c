package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fettle/host"
	"fettle/trap"
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
