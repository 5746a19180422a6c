package check

import (
	"context"
	"slices"
	"time"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/report"
	"fettle/report/accept"
	"fettle/report/history"
	"fettle/report/notify"
)

// recorder keeps a run as it is, without the marks of --new and --severity.
type recorder struct {
	meta    report.Meta
	traps   []*trap.Trap
	results []trap.Result
}

func (r *recorder) begin(m report.Meta, traps []*trap.Trap) { r.meta, r.traps = m, traps }

func (r *recorder) result(res trap.Result) {
	res.Outcomes = slices.Clone(res.Outcomes)
	r.results = append(r.results, res)
}

// record adds the run to the history of this host.
func (r *recorder) record(took time.Duration, keep int) error {
	dir, err := accept.StateDir()
	if err != nil {
		return app.Failf("%w", err)
	}
	return r.add(history.In(dir), took, keep)
}

// add puts the run into a history; keep 0 is the default.
func (r *recorder) add(to history.Store, took time.Duration, keep int) error {
	if keep == 0 {
		keep = history.DefaultKeep
	}
	if err := to.Add(report.NewDocument(r.meta, r.traps, r.results, took), keep); err != nil {
		return app.Failf("%w", err)
	}
	return nil
}

// notify tells the channels what changed.
func (r *recorder) notify(channels []config.Channel, took time.Duration) error {
	dir, err := accept.StateDir()
	if err != nil {
		return app.Failf("%w", err)
	}
	// Also after Ctrl-C: the run is complete.
	err = notify.System().Tell(context.Background(), dir, channels, notify.Run{Meta: r.meta, Traps: r.traps, Results: r.results, Took: took})
	if err != nil {
		return app.Failf("%w", err)
	}
	return nil
}
