package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/build"
	"fettle/report"
	"fettle/run"
	"fettle/trap"
)

// checkOptions are check's flags.
type checkOptions struct {
	root, from string
	sample     time.Duration
	network    bool
	limit      time.Duration
	failOn     string
	out        outputOptions
	fleet      app.HostFlags
}

// Cmd is fettle check.
func Cmd(a *app.App) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check [TRAP...]",
		Short: "Look for traps on this host, a root folder, or a capture",
		Long: `Look for traps on this host, a root folder, or a capture: for all of them, or
for those named. Nothing is changed: checks run confined, without the power to
write.

Exit status:
  0  nothing found
  1  something found, at or above --fail-on
  2  wrong use, or input that cannot be read
  3  checking itself failed
  4  nothing found, but something could not be looked at

With --format nagios it is that of a monitoring plugin: 0 OK, 1 WARNING,
2 CRITICAL, 3 UNKNOWN.`,
		ValidArgsFunction: a.CompleteTraps,
		RunE: func(cmd *cobra.Command, args []string) error {
			return pluginError(a, o.out.format, check(cmd.Context(), a, o, args))
		},
	}
	f := c.Flags()
	f.StringVar(&o.root, "root", "", "look at the root folder `DIR`, which is not running here")
	f.StringVar(&o.from, "from", "", "look at a capture or sosreport: `FILE` or folder")
	f.DurationVar(&o.sample, "sample", 0, "run sampling checks too, over this `TIME` (10s)")
	f.BoolVar(&o.network, "network", false, "run checks that talk to other hosts too")
	f.DurationVar(&o.limit, "limit", 0, "cut every check off after this `TIME` (default: each trap's own)")
	f.StringVar(&o.failOn, "fail-on", trap.Notice.String(), "exit 1 from this `SEVERITY` on: notice, warning or critical")
	c.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"notice", "warning", "critical"}, cobra.ShellCompDirectiveNoFileComp))
	o.out.flags(c)
	o.fleet.Flags(c)
	c.MarkFlagsMutuallyExclusive("root", "from")
	c.MarkFlagDirname("root")
	return c
}

func check(ctx context.Context, a *app.App, o checkOptions, ids []string) error {
	failOn, ok := trap.ParseSeverity(o.failOn)
	if !ok {
		return app.Usagef("--fail-on %s: a severity is notice, warning or critical", o.failOn)
	}
	for name, d := range map[string]time.Duration{"sample": o.sample, "limit": o.limit} {
		if d < 0 {
			return app.Usagef("--%s %s: a time is at least 0", name, d)
		}
	}
	traps, err := selected(a, o, ids)
	if err != nil {
		return err
	}
	if o.fleet.Asked() {
		if traps, err = a.ForFleet(traps, ids); err != nil {
			return err
		}
		return checkFleet(ctx, a, o, failOn, traps, ids)
	}
	tg, err := o.target()
	if err != nil {
		return err
	}
	out, err := newOutput(a, o.out, failOn)
	if err != nil {
		return err
	}
	defer out.abandon()
	started := time.Now()
	opt := trap.Options{Limit: o.limit, Interval: o.sample, Network: o.network}
	listed := traps
	notLoaded, unloaded := a.NotLoaded()
	if len(ids) > 0 {
		notLoaded = nil
	}
	if notLoaded != nil {
		listed = append(slices.Clip(traps), notLoaded)
	}
	var werr error
	err = a.Check(ctx, tg, traps, opt, func(ab run.About) error {
		if ab.Warning != "" {
			fmt.Fprintf(a.Stderr, "fettle: %s\n", ab.Warning)
		}
		m := report.Meta{Host: ab.Name, Kind: ab.Kind, Identity: ab.Identity, Version: build.Version(), Started: started}
		return out.Begin(m, listed)
	}, func(r trap.Result) {
		if werr == nil {
			werr = out.Result(r)
		}
	})
	if err == nil {
		err = werr
	}
	if err == nil && notLoaded != nil {
		err = out.Result(unloaded)
	}
	if err == nil {
		err = out.End(time.Since(started))
	}
	if err != nil {
		return err
	}
	return out.status()
}

// target makes the flags' paths absolute and real: the child works elsewhere,
// and may read no more than what they name.
func (o *checkOptions) target() (run.Target, error) {
	tg := run.Target{Root: o.root, From: o.from, Network: o.network}
	for flag, p := range map[string]*string{"root": &tg.Root, "from": &tg.From} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err == nil {
			*p, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			return tg, app.Usagef("--%s: %w", flag, err)
		}
	}
	if tg.Root != "" {
		if st, err := os.Stat(tg.Root); err != nil {
			return tg, app.Usagef("--root: %w", err)
		} else if !st.IsDir() {
			return tg, app.Usagef("--root %s: not a folder", o.root)
		}
	}
	return tg, nil
}

// selected are the traps named, or all whose cost the flags allow.
func selected(a *app.App, o checkOptions, ids []string) ([]*trap.Trap, error) {
	named, err := a.Find(ids)
	if err != nil {
		return nil, err
	}
	allowed := func(t *trap.Trap) bool {
		return t.Cost == trap.Instant || t.Cost == trap.Sampled && o.sample > 0 || t.Cost == trap.Network && o.network
	}
	for _, t := range named {
		if !allowed(t) {
			flag := map[trap.Cost]string{trap.Sampled: "--sample 10s", trap.Network: "--network"}[t.Cost]
			return nil, app.Usagef("%s is a check that is only made with %s", t.ID(), flag)
		}
	}
	if len(ids) > 0 {
		return named, nil
	}
	var out []*trap.Trap
	for _, t := range a.Traps {
		if allowed(t) {
			out = append(out, t)
		}
	}
	return out, nil
}
