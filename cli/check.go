package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/report"
	"fettle/trap"
)

// checkOptions are check's flags.
type checkOptions struct {
	root, from string
	sample     time.Duration
	network    bool
	limit      time.Duration
	failOn     string
}

func (a *app) checkCmd() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check [TRAP…]",
		Short: "Look for traps on this host, a root folder, or a capture",
		Long: `Look for traps on this host, a root folder, or a capture: for all of them, or
for those named. Nothing is changed: checks run confined, without the power to
write.

Exit status:
  0  nothing found
  1  something found, at or above --fail-on
  2  wrong use, or input that cannot be read
  3  checking itself failed
  4  nothing found, but something could not be looked at`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.check(cmd.Context(), o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.root, "root", "", "look at the root folder `DIR`, which is not running here")
	f.StringVar(&o.from, "from", "", "look at a capture or sosreport: `FILE` or folder")
	f.DurationVar(&o.sample, "sample", 0, "run sampling checks too, over this `TIME` (10s)")
	f.BoolVar(&o.network, "network", false, "run checks that talk to other hosts too")
	f.DurationVar(&o.limit, "limit", 0, "cut every check off after this `TIME` (default: each trap's own)")
	f.StringVar(&o.failOn, "fail-on", trap.Notice.String(), "exit 1 from this `SEVERITY` on: notice, warning or critical")
	c.MarkFlagsMutuallyExclusive("root", "from")
	c.MarkFlagDirname("root")
	return c
}

func (a *app) check(ctx context.Context, o checkOptions, ids []string) error {
	failOn, ok := trap.ParseSeverity(o.failOn)
	if !ok {
		return usagef("--fail-on %s: a severity is notice, warning or critical", o.failOn)
	}
	for name, d := range map[string]time.Duration{"sample": o.sample, "limit": o.limit} {
		if d < 0 {
			return usagef("--%s %s: a time is at least 0", name, d)
		}
	}
	traps, err := a.selected(o, ids)
	if err != nil {
		return err
	}
	tg, err := o.target()
	if err != nil {
		return err
	}
	var w report.Writer = &lines{a.stdout}
	var tally tally
	started := time.Now()
	opt := trap.Options{Limit: o.limit, Interval: o.sample}
	var werr error
	err = a.checkTarget(ctx, tg, traps, opt, func(ab about) error {
		if ab.Warning != "" {
			fmt.Fprintf(a.stderr, "fettle: %s\n", ab.Warning)
		}
		m := report.Meta{Host: ab.Name, Kind: ab.Kind, Identity: ab.Identity, Version: Version(), Started: started}
		return w.Begin(m, traps)
	}, func(r trap.Result) {
		tally.add(r, failOn)
		if werr == nil {
			werr = w.Result(r)
		}
	})
	if err == nil {
		err = werr
	}
	if err == nil {
		err = w.End(time.Since(started))
	}
	if err != nil {
		return err
	}
	return tally.status()
}

// target makes the flags' paths absolute: the child works elsewhere.
func (o *checkOptions) target() (target, error) {
	tg := target{Root: o.root, From: o.from, Network: o.network}
	for _, p := range []*string{&tg.Root, &tg.From} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return tg, usagef("%s: %w", *p, err)
		}
		*p = abs
	}
	return tg, nil
}

// selected are the traps named, or all whose cost the flags allow.
func (a *app) selected(o checkOptions, ids []string) ([]*trap.Trap, error) {
	named, err := a.find(ids)
	if err != nil {
		return nil, err
	}
	allowed := func(t *trap.Trap) bool {
		return t.Cost == trap.Instant || t.Cost == trap.Sampled && o.sample > 0 || t.Cost == trap.Network && o.network
	}
	for _, t := range named {
		if !allowed(t) {
			flag := map[trap.Cost]string{trap.Sampled: "--sample 10s", trap.Network: "--network"}[t.Cost]
			return nil, usagef("%s is a check that is only made with %s", t.ID(), flag)
		}
	}
	if len(ids) > 0 {
		return named, nil
	}
	var out []*trap.Trap
	for _, t := range a.traps {
		if allowed(t) {
			out = append(out, t)
		}
	}
	return out, nil
}

// tally is what the exit status is made of.
type tally struct{ found, unknown bool }

func (t *tally) add(r trap.Result, failOn trap.Severity) {
	for _, o := range r.Outcomes {
		t.found = t.found || o.Status == trap.Found && o.Severity >= failOn
		t.unknown = t.unknown || o.Status == trap.Unknown
	}
}

func (t *tally) status() error {
	switch {
	case t.found:
		return &status{code: exitFound}
	case t.unknown:
		return &status{code: exitUnknown}
	}
	return nil
}

// lines is the plainest report: a line an outcome.
type lines struct{ w io.Writer }

func (l *lines) Begin(report.Meta, []*trap.Trap) error { return nil }
func (l *lines) End(time.Duration) error               { return nil }

func (l *lines) Result(r trap.Result) error {
	for _, o := range r.Outcomes {
		words := []string{string(o.Status)}
		if o.Status == trap.Found {
			words = append(words, o.Severity.String())
		}
		if _, err := fmt.Fprintf(l.w, "%s %s: %s%s\n", strings.Join(words, " "), o.ID(), o.Summary, o.Reason); err != nil {
			return err
		}
	}
	return nil
}
