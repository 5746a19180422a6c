// Package tune is the verb that runs a controller.
package tune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/tools/measure/ksm"
	"fettle/tools/tune"
)

// Cmd is the family of controllers.
func Cmd(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:         "tune",
		Short:       "Adjust a kernel setting while the load changes",
		Annotations: app.NoRules,
	}
	c.AddCommand(KSMCmd(a))
	return c
}

type ksmFlags struct {
	cpu, peak, free, pressure string
	target                    string
	every                     time.Duration
	listen, textfile          string
	once, unit                bool
	giveBack, afterStdin      bool
}

// KSMCmd is fettle tune ksm.
func KSMCmd(a *app.App) *cobra.Command {
	var f ksmFlags
	c := &cobra.Command{
		Use:   "ksm",
		Short: "Spend ksmd's CPU time where merging equal pages pays",
		Long: `Tunes ksmd, the kernel thread that merges equal pages of guests. Pages are
merged by the second pass, so when guests start or memory use grows, ksmd makes
two passes, as fast as the budget allows. It rests when a pass merges little,
while memory is free anyway, and while the host or a guest waits for CPU or
memory. fettle runs until interrupted, or with --once until there is nothing
left to merge.

It sets pages_to_scan, sleep_millisecs, smart_scan and run in
/sys/kernel/mm/ksm, and restores the original settings when it ends, even if it
is killed (--give-back does it by hand). It does not start while ksmtuned or the
kernel's advisor runs, and exits if something else changes KSM's settings.

--unit prints a systemd service with the given flags.

Exit status:
  0  interrupted or done
  2  usage error, no KSM, not root, or something else tunes KSM
  3  KSM could not be set or read`,
		Example: `  fettle tune ksm --cpu 20%
  fettle tune ksm --cpu 50% --target-saved 40GiB --once
  fettle tune ksm --cpu 20% --unit > /etc/systemd/system/fettle-ksm.service`,
		Args:        cobra.NoArgs,
		Annotations: app.NoRules,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.giveBack:
				return giveBack(a, f.afterStdin)
			case f.unit:
				return printUnit(a, f)
			}
			return tuneKSM(cmd.Context(), a, f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.cpu, "cpu", "20%", "ksmd's budget: this `SHARE` of one CPU over any minute")
	fl.StringVar(&f.peak, "peak", "100%", "ksmd's limit at any moment: this `SHARE` of one CPU")
	fl.StringVar(&f.free, "free", "50%", "slow down while this `SHARE` of memory is available; 100%: never")
	fl.StringVar(&f.pressure, "pressure", "20%", "slow down when tasks wait for CPU or memory this `SHARE` of the time; 100%: never")
	fl.StringVar(&f.target, "target-saved", "", "rest while this `SIZE` is saved, as 40GiB")
	fl.DurationVar(&f.every, "every", time.Hour, "`TIME` between two log lines, at least 1s")
	fl.StringVar(&f.listen, "listen", "", "serve /metrics at this `ADDRESS` of the loopback (127.0.0.1:PORT or [::1]:PORT)")
	fl.StringVar(&f.textfile, "textfile", "", "write metrics for node_exporter to this `FILE` (.prom)")
	fl.BoolVar(&f.once, "once", false, "exit when there is nothing left to merge for now")
	fl.BoolVar(&f.unit, "unit", false, "print a systemd service with these flags")
	fl.BoolVar(&f.giveBack, "give-back", false, "restore KSM's settings after a killed fettle")
	fl.BoolVar(&f.afterStdin, "after-stdin", false, "with --give-back: at the end of standard input")
	_ = fl.MarkHidden("after-stdin")
	c.MarkFlagsMutuallyExclusive("once", "unit", "give-back")
	return c
}

// policy reads the flags.
func (f ksmFlags) policy() (p tune.Policy, err error) {
	for _, s := range []struct {
		flag, text string
		into       *float64
		least      float64
	}{{"cpu", f.cpu, &p.Budget, 0.001}, {"peak", f.peak, &p.Peak, 0.01}, {"free", f.free, &p.Free, 0},
		{"pressure", f.pressure, &p.Pressure, 0.001}} {
		if *s.into, err = share(s.text, s.least); err != nil {
			return p, app.Usagef("--%s %s: %w", s.flag, s.text, err)
		}
	}
	if f.target != "" {
		if p.Target, err = size(f.target); err != nil {
			return p, app.Usagef("--target-saved %s: %w", f.target, err)
		}
	}
	if f.every < time.Second {
		return p, app.Usagef("--every %s: expected at least 1s", f.every)
	}
	return p, app.TextfileName(f.textfile)
}

// share reads "20%".
func share(text string, least float64) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(n >= 100*least && n <= 100) {
		return 0, fmt.Errorf("expected %g%% to 100%%", 100*least)
	}
	return n / 100, nil
}

// size reads a number of bytes with a binary unit.
func size(text string) (uint64, error) {
	for shift, unit := range map[int]string{20: "MiB", 30: "GiB", 40: "TiB"} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err == nil && n > 0 && n < 1<<20 {
				return uint64(n * float64(uint64(1)<<shift)), nil
			}
		}
	}
	return 0, errors.New("expected a size with MiB, GiB or TiB, as 40GiB")
}

func tuneKSM(ctx context.Context, a *app.App, f ksmFlags) error {
	p, err := f.policy()
	if err != nil {
		return err
	}
	if err := app.Textfile(f.textfile); err != nil {
		return err
	}
	k, err := ksm.Open("")
	if err != nil {
		return app.Usagef("%w", err)
	}
	if err := k.Writable(); err != nil {
		return app.Usagef("%w", err)
	}
	tell := func(line string) {
		fmt.Fprintf(a.Stdout, "%s %s\n", time.Now().UTC().Format(time.RFC3339), ui.Visible(line))
	}
	var metrics atomic.Value
	if f.listen != "" {
		stop, err := app.ServeMetrics(f.listen, &metrics)
		if err != nil {
			return err
		}
		defer stop()
	}
	l, gave, err := ksm.Take(k, ksm.LeaseDir)
	if err != nil {
		return app.Usagef("%w", err)
	}
	for _, s := range gave {
		tell("restored what a killed fettle left: " + s)
	}
	if err := tune.Alone(k); err != nil {
		l.Release()
		return app.Usagef("%w", err)
	}
	_ = os.WriteFile("/proc/self/comm", []byte(tune.Comm), 0) // for ps, and for fettle check
	keeper, err := app.KeepKSM()
	if err != nil {
		l.Release()
		return app.Failf("%w", err)
	}
	defer func() {
		back, rerr := l.Release()
		for _, s := range back {
			tell("restored: " + s)
		}
		if rerr != nil {
			a.Warn(rerr.Error())
		}
		keeper.Close() // after Release: it waits for the lease
	}()
	t := tune.Tuner{Kernel: k, Lease: l, Policy: p, Tell: tell, Every: f.every, Once: f.once,
		Publish: func(b []byte) error {
			metrics.Store(b)
			if f.textfile == "" {
				return nil
			}
			if err := files.WriteFile(f.textfile, b, 0o644); err != nil {
				return fmt.Errorf("writing the metrics: %w", err)
			}
			return nil
		}}
	if err := t.Run(ctx); err != nil {
		return app.Failf("%w", err)
	}
	return nil
}

// giveBack puts back what a killed program left.
func giveBack(a *app.App, afterStdin bool) error {
	if afterStdin {
		_, _ = io.Copy(io.Discard, a.Stdin)
	}
	k, err := ksm.Open("")
	if err != nil {
		return app.Usagef("%w", err)
	}
	gave, err := ksm.GiveBack(k, ksm.LeaseDir, afterStdin)
	for _, s := range gave {
		fmt.Fprintln(a.Stdout, s)
	}
	var busy *ksm.Busy
	switch {
	case errors.As(err, &busy), errors.Is(err, ksm.ErrNotRoot), errors.Is(err, ksm.ErrReadOnly):
		return app.Usagef("%w", err)
	case err != nil:
		return app.Failf("%w", err)
	case len(gave) == 0 && !afterStdin:
		fmt.Fprintln(a.Stdout, "There was nothing to restore.")
	}
	return nil
}
