package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// job is a reading on its way.
type job struct {
	at   place
	run  Run
	hash string
	err  error
}

// send reads a commit and sends what came of it.
func (l *line) send(ctx context.Context, at int, where place, results chan<- job) {
	c := l.history.Commits[at]
	j := job{at: where, hash: c.Hash, run: Run{At: at, Start: time.Now(), Built: l.Command.Build != "", Host: where.host()}}
	j.run.Figure, j.run.Log, j.err = l.readAt(ctx, c, where)
	var why *skip
	if errors.As(j.err, &why) {
		j.run.Skipped, j.err = why.why, nil
	}
	j.run.Took = time.Since(j.run.Start)
	results <- j
}

// readAt runs a commit, with a log.
func (l *line) readAt(ctx context.Context, c Commit, where place) (figure float64, log string, err error) {
	f, err := os.CreateTemp(l.Logs(), c.Short()+"-*.log")
	if err != nil {
		return 0, "", fmt.Errorf("making a log: %w", err)
	}
	defer f.Close()
	figure, err = where.read(ctx, c, f)
	if err == nil {
		os.Remove(f.Name()) // logs are kept of what went wrong
		return figure, "", nil
	}
	return 0, f.Name(), err
}

// take writes a reading down, then counts it.
func (l *line) take(j job) error {
	var lost *lostHost
	if errors.As(j.err, &lost) {
		return l.lose(j.at, lost.err)
	}
	if j.err != nil {
		return j.err
	}
	e := entry{Commit: j.hash, Figure: j.run.Figure, Skipped: j.run.Skipped, Log: j.run.Log, Built: j.run.Built, Host: j.run.Host,
		Start: float64(j.run.Start.UnixMicro()) / 1e6, Seconds: j.run.Took.Seconds()}
	if err := l.journal.add(e); err != nil {
		return err
	}
	l.remember(j.run)
	if err := l.ends(); err != nil {
		return err
	}
	if l.Tell != nil {
		l.Tell(l.progress(j.run))
	}
	return nil
}
