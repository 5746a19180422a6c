package check

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fettle/accept"
	"fettle/cli/app"
	"fettle/fleet"
	"fettle/internal/ui"
	"fettle/trap"
)

// fleetFormats are the formats that hold several hosts.
var fleetFormats = []string{"text", "json", "jsonl"}

// checkFleet is check on other hosts.
func checkFleet(ctx context.Context, a *app.App, o checkOptions, failOn trap.Severity, traps []*trap.Trap, ids []string) error {
	switch {
	case o.root != "" || o.from != "":
		return app.Usagef("--host looks at running hosts: it goes neither with --root nor with --from")
	case !slices.Contains(fleetFormats, o.out.format):
		return app.Usagef("--format %s holds one host; of --host there are text, json and jsonl", o.out.format)
	case o.out.record:
		return app.Usagef("--record does not go with --host: each host has its own history; keep this run with --format json -o FILE")
	case o.out.fresh:
		return app.Usagef("--new does not go with --host yet: run it on the hosts themselves")
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
	out := &output{app: a, opt: o.out, failOn: failOn, least: least, list: &accept.List{}}
	if o.out.accepted != "" {
		if out.list, err = a.Acceptances(o.out.accepted); err != nil {
			return err
		}
	}
	f, err := fleet.Open(o.fleet.Options)
	if err != nil {
		return app.Usagef("%w", err)
	}
	defer f.Close()
	w, err := out.open(a.Stdout)
	if err != nil {
		return err
	}
	defer out.abandon()
	p := fleetWriter(w, o, failOn, traps)
	if o.out.format == "text" && len(hosts) > fewHosts && !o.out.verbose {
		p.matrix = newMatrix()
	}
	line, done := ui.NewProgress(a.Stderr), 0
	defer line.End()
	out.w = p
	started := time.Now()
	var werr error
	f.Check(ctx, hosts, args, func(e fleet.Event) {
		if e.Line.Result != nil {
			out.list.Mark(e.Line.Result, time.Now())
			below(e.Line.Result.Outcomes, least)
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
			werr = p.event(e)
		}
	})
	if werr != nil {
		return written(werr)
	}
	line.End()
	p.counts = out.counts
	if err := out.End(time.Since(started)); err != nil {
		return err
	}
	return out.status()
}
