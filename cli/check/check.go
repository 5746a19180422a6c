package check

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/internal/config"
)

// checkOptions are check's flags.
type checkOptions struct {
	app.TargetFlags
	config  string // --config
	conf    *config.Config
	sample  time.Duration
	network bool
	limit   time.Duration
	skip    []string
	failOn  string
	out     outputOptions
	fleet   app.HostFlags
}

// Cmd is fettle check.
func Cmd(a *app.App) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check [TRAP...]",
		Short: "Check this host, a root folder, or a capture for traps",
		Long: `Check this host, a root folder, or a capture for all traps, or for those named.
Nothing is changed: checks run confined, without permission to write.

Of all traps it prints one screen, worst first, one entry for each cause; of
named traps, or with -v, every subject with its evidence.

Exit status:
  0  nothing found
  1  something found, at or above --fail-on
  2  usage error, or input that cannot be read
  3  checking itself failed
  4  nothing found, but something could not be inspected

With --format nagios it is that of monitoring plugins: 0 OK, 1 WARNING, 2
CRITICAL, 3 UNKNOWN; a lone notice is OK. What can never be inspected on a host
does not keep it UNKNOWN for good: --unknown-ok TRAP, or check.unknown_ok in the
configuration.`,
		Example: `  fettle check
  fettle check bridge-mtu
  sudo fettle check --new -q        # from cron: prints what changed
  fettle check --from sosreport-web1.tar.xz --severity warning`,
		ValidArgsFunction: a.CompleteTraps,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := o.configure(a, cmd)
			if err == nil {
				err = check(cmd.Context(), a, o, args)
			}
			return pluginError(a, o.out.format, err)
		},
	}
	f := c.Flags()
	o.TargetFlags.Flags(c)
	f.StringVar(&o.config, "config", "", "take the configuration of this host from `FILE` (default: "+config.File+")")
	c.MarkFlagFilename("config", "yaml")
	f.DurationVar(&o.sample, "sample", 0, "run sampling checks too, over this `TIME` (10s)")
	f.BoolVar(&o.network, "network", false, "run checks that talk to other hosts too")
	f.StringSliceVar(&o.skip, "skip", nil, "leave out these `TRAPS` (comma-separated; may be repeated)")
	c.RegisterFlagCompletionFunc("skip", a.CompleteTraps)
	f.StringSliceVar(&o.out.unknownOK, "unknown-ok", nil, "exit 0 although these `TRAPS` (or all) could not be inspected")
	c.RegisterFlagCompletionFunc("unknown-ok", a.CompleteTraps)
	f.DurationVar(&o.limit, "limit", 0, "stop every check after this `TIME` (default: each trap's own)")
	app.WordFlag(
		c,
		&o.failOn,
		"fail-on",
		"exit 1 from this `SEVERITY` on: notice (default; nagios: warning), warning or critical",
		"notice",
		"warning",
		"critical",
	)
	o.out.flags(c)
	o.fleet.Flags(c)
	return c
}

func check(ctx context.Context, a *app.App, o checkOptions, ids []string) error {
	failOn := o.leastToFail()
	for name, d := range map[string]time.Duration{"sample": o.sample, "limit": o.limit} {
		if d < 0 {
			return app.Usagef("--%s %s: must not be negative", name, d)
		}
	}
	for _, id := range o.out.unknownOK {
		if _, err := a.Find([]string{id}); err != nil && id != config.AllTraps {
			return err
		}
	}
	if o.out.notify && (o.Root != "" || o.From != "" || o.fleet.Asked()) {
		return app.Usagef("--notify is for this host only: it cannot be used with --root, --from or --host")
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
	if o.out.record && (o.Root != "" || o.From != "") {
		return app.Usagef(
			"--record records runs on this host: it goes neither with --root nor with --from; keep these with --format json -o FILE",
		)
	}
	tg, err := o.Target()
	if err != nil {
		return err
	}
	tg.Network = o.network
	o.out.detail = len(ids) > 0
	out, err := newOutput(a, o.out, failOn)
	if err != nil {
		return err
	}
	defer out.abandon()
	started := time.Now()
	progress := newProgress(a, traps)
	defer progress.end()
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
		return out.Begin(app.Meta(ab, started), listed)
	}, func(r trap.Result) {
		progress.next()
		if werr == nil {
			werr = out.Result(r)
		}
	})
	progress.end()
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

// leastToFail is the severity from which on findings fail the run.
func (o *checkOptions) leastToFail() trap.Severity {
	if s, ok := trap.ParseSeverity(o.failOn); ok {
		return s
	}
	if o.out.format == "nagios" {
		return trap.Warning
	}
	return trap.Notice
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
			flag := "--network"
			if t.Cost == trap.Sampled {
				flag = "--sample 10s"
			}
			return nil, app.Usagef("%s is checked only with %s", t.ID(), flag)
		}
	}
	skipped, err := a.Find(o.skip)
	if err != nil {
		return nil, err
	}
	skip := func(t *trap.Trap) bool { return slices.Contains(skipped, t) }
	if len(ids) > 0 {
		return slices.DeleteFunc(named, skip), nil
	}
	var out []*trap.Trap
	for _, t := range trap.At(a.Traps, trap.Now) {
		if allowed(t) && !skip(t) {
			out = append(out, t)
		}
	}
	return o.configured(out), nil
}
