package check

import (
	"context"
	"fmt"
	"time"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/fleet/ssh"
	"fettle/internal/ui"
	"fettle/report/accept"
	"fettle/report/onhub"
)

// checkFleet is check on other hosts.
func checkFleet(ctx context.Context, a *app.App, o checkOptions, failOn trap.Severity, traps []*trap.Trap, ids []string) error {
	if o.Root != "" || o.From != "" {
		return app.Usagef("--host checks running hosts: it cannot be used with --root or --from")
	}
	hosts, err := o.fleet.List(ctx, a.Stdin)
	if err != nil {
		return err
	}
	args := append([]string(nil), ids...)
	if o.network {
		args = append(args, "--network")
	}
	if o.sample > 0 {
		args = append(args, "--sample="+o.sample.String())
	}
	if o.limit > 0 {
		args = append(args, "--limit="+o.limit.String())
	}
	least, _ := trap.ParseSeverity(o.out.severity)
	out := &output{app: a, opt: o.out, failOn: failOn, least: least, list: &accept.List{}, hub: &onhub.List{}}
	if o.out.accepted != "" {
		if out.list, err = a.Acceptances(o.out.accepted); err != nil {
			return err
		}
	}
	f, err := ssh.Open(o.fleet.Options)
	if err != nil {
		return app.Usagef("%w", err)
	}
	defer f.Close()
	w, err := out.open(a.Stdout)
	if err != nil {
		return err
	}
	defer out.abandon()
	state, err := newFleetHosts(a, o.out)
	if err != nil {
		return err
	}
	p := newFleetReport(w, o, failOn, traps, len(hosts))
	line, done := ui.NewProgress(a.Stderr), 0
	defer line.End()
	out.w = p
	started := time.Now()
	var werr error
	f.Check(ctx, hosts, args, func(e ssh.Event) {
		if e.Line.Result != nil {
			out.list.Mark(e.Line.Result, time.Now())
		}
		if err := state.event(&e); err != nil && werr == nil {
			werr = err
		}
		if e.Line.Result != nil {
			below(e.Line.Result.Outcomes, least)
			out.opt.tolerate(e.Line.Result)
			out.counts.Add(*e.Line.Result)
		}
		if e.Err != nil {
			out.counts.Unknown++
		}
		if e.Err != nil || e.Line.Type == "end" {
			done++
			line.Show(fmt.Sprintf("%d of %d hosts done", done, len(hosts)))
		}
		if werr == nil {
			werr = written(p.event(e))
		}
	})
	if werr != nil {
		return werr
	}
	line.End()
	p.counts = out.counts
	out.opt.record = false // of this host
	if err := out.End(time.Since(started)); err != nil {
		return err
	}
	if err := state.save(); err != nil {
		return err
	}
	return out.status()
}
