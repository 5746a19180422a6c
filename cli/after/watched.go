package after

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fettle/before/snapshot"
	"fettle/before/watch"
	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/build"
	"fettle/internal/config"
	"fettle/report"
	"fettle/report/accept"
	"fettle/report/notify"
)

// watched is what the unit of before reboot --watch runs: once, and it tells notify's channels.
func watched(ctx context.Context, a *app.App, o options) error {
	if err := watch.Disarm(watch.Units); err != nil {
		a.Warn(fmt.Sprintf("removing %s: %v", watch.Unit, err))
	}
	o.wait, _ = time.ParseDuration(watch.Limit)
	d, err := look(ctx, a, o)
	if err != nil {
		return err
	}
	if err := write(a, o, d); err != nil {
		return err
	}
	return tell(a, d)
}

// tell tells notify's channels what is missing.
func tell(a *app.App, d *document) error {
	conf, err := a.Config("")
	if err != nil {
		return err
	}
	// A textfile holds the findings of the whole host, of which this run knows nothing.
	channels := slices.DeleteFunc(slices.Clone(conf.Notify), func(c config.Channel) bool { return c.Kind() == "textfile" })
	dir, err := accept.StateDir()
	if err != nil {
		return app.Failf("%w", err)
	}
	res := trap.Result{Trap: report.NotAsBefore.ID()}
	for _, l := range d.Lost {
		res.Outcomes = append(res.Outcomes, outcome(&l))
	}
	run := notify.Run{
		Meta:    report.Meta{Host: d.Host, Kind: host.KindLive, Version: build.Version(), Started: d.Now},
		Traps:   []*trap.Trap{report.NotAsBefore},
		Results: []trap.Result{res},
	}
	if err := notify.System().Tell(context.Background(), dir, channels, run); err != nil {
		return app.Failf("%w", err)
	}
	return nil
}

func outcome(l *snapshot.Difference) trap.Outcome {
	return trap.Outcome{Trap: report.NotAsBefore.ID(), Subject: l.Subject, Status: trap.Found, Severity: l.Severity, Summary: l.Summary,
		ByHand: l.How}
}
