package proving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"fettle/cli/app"
	"fettle/internal/chart/draw"
	"fettle/internal/ui"
	"fettle/lab"
	"fettle/traps/proofs"
)

// playLab plays, prints as scenarios end, and sums up.
func (a program) playLab(ctx context.Context, jobs []lab.Job, f labFlags) error {
	p := a.newLabProgress(jobs, f)
	record, err := f.recorder()
	if err != nil {
		return err
	}
	var all []lab.Outcome
	lab.PlayAll(ctx, p.watch(jobs), f.jobs, func(o lab.Outcome) {
		all = append(all, o)
		p.clear()
		if f.format == "text" && !f.shell && (o.Err == nil || len(jobs) > 1) {
			a.labText(o, f.verbose || len(jobs) == 1, f.verbose)
		}
		a.labPlots(o, f)
		p.ended(o)
		if ctx.Err() == nil {
			err = errors.Join(err, record(o))
		}
	})
	p.clear()
	if err != nil {
		return app.Failf("keeping the record: %w", err)
	}
	if ctx.Err() != nil {
		n := 0
		for _, o := range all {
			if o.Err == nil {
				n++
			}
		}
		return app.Failf("interrupted: %d of %d were played", n, len(jobs))
	}
	if err := a.labFormat(all, f.format); err != nil {
		return app.Failf("writing the result: %w", err)
	}
	bad, broken := 0, 0
	var lacking []string
	var lack error
	for _, o := range all {
		var missing *lab.MissingError
		switch {
		case errors.As(o.Err, &missing) && len(jobs) > 1:
			lacking, lack = append(lacking, o.Job.Name()), missing
		case o.Err != nil && len(jobs) == 1:
			return &app.Status{Code: app.ExitFailed, Err: o.Err}
		case o.Err != nil:
			broken++
		case !o.Verdict.OK:
			bad++
		}
	}
	switch {
	case broken > 0:
		return app.Failf("%d of %d machines could not be built", broken, len(all))
	case len(lacking) > 0:
		return app.Failf("%d of %d were not played, and nothing is proved of them (%s): %w", len(lacking), len(all),
			strings.Join(lacking, ", "), lack)
	case f.shell:
		return nil
	case bad > 0:
		return &app.Status{Code: app.ExitFound, Err: fmt.Errorf("%d of %d failed", bad, len(all))}
	}
	return nil
}

// recorder takes down how each job ended, at once: the run may be interrupted.
func (f labFlags) recorder() (note func(lab.Outcome) error, err error) {
	if f.record == "" {
		return func(lab.Outcome) error { return nil }, nil
	}
	r, err := lab.ReadRecord(f.record)
	if err != nil {
		return nil, app.Unread(err, "the record of what was played (--record)")
	}
	// Only what is chosen from all is a run: who plays some by name does not make the others older.
	run, jobs := r.Last(), proofs.Jobs()
	if f.all || run == 0 {
		run++
	}
	return func(o lab.Outcome) error {
		r, err := lab.ReadRecord(f.record) // another run may have written meanwhile
		if err != nil {
			return app.Unread(err, "the record of what was played (--record)")
		}
		r.Note(o, run)
		return r.Write(f.record, jobs)
	}, nil
}

func (a program) labFormat(all []lab.Outcome, format string) error {
	switch format {
	case "json":
		enc := json.NewEncoder(a.Stdout)
		enc.SetIndent("", "  ")
		vs := make([]lab.Verdict, len(all))
		for i, o := range all {
			vs[i] = o.Verdict
			if o.Err != nil {
				vs[i].Why = o.Err.Error()
			}
		}
		return enc.Encode(vs)
	case "junit":
		return labJUnit(a.Stdout, all)
	case "markdown":
		return labMarkdown(a.Stdout, all)
	}
	return nil
}

// labPlots draws what an experiment measured, or says how to get it drawn.
func (a program) labPlots(o lab.Outcome, f labFlags) {
	if o.Verdict.Table == nil || len(o.Verdict.Table.Plots) == 0 {
		return
	}
	if f.plots == "" {
		if f.format == "text" {
			fmt.Fprintln(a.Stdout, "  drawn as SVG and PNG with --plots FOLDER")
		}
		return
	}
	for _, p := range o.Verdict.Table.Plots {
		names, err := draw.Files(f.plots, strings.ReplaceAll(o.Job.Name(), "/", "-"), p)
		if err != nil {
			fmt.Fprintln(a.Stderr, a.Program+":", err)
			continue
		}
		if f.format == "text" {
			fmt.Fprintf(a.Stdout, "  %s: %s\n", p.Title, strings.Join(names, ", "))
		}
	}
}

// labProgress tells on standard error how far it is: one line that is written
// over on a terminal; elsewhere a line for each that ended, unless that is
// what standard output shows anyway.
type labProgress struct {
	a     program
	start time.Time
	line  *ui.Progress
	live  bool // a terminal, and nothing else writes to it
	plain bool
	total int

	mu   sync.Mutex
	done int
	now  map[string]string // what runs, and what it did last
}

func (a program) newLabProgress(jobs []lab.Job, f labFlags) *labProgress {
	p := &labProgress{a: a, line: ui.NewProgress(a.Stderr), start: time.Now(), total: len(jobs), now: map[string]string{}}
	shell := f.shell || f.keep
	p.live = ui.IsTerminal(a.Stderr) && !f.verbose && !shell
	p.plain = !p.live && !shell && f.format != "text"
	return p
}

// watch hears of each stage of the jobs.
func (p *labProgress) watch(jobs []lab.Job) []lab.Job {
	for i := range jobs {
		name := jobs[i].Name()
		jobs[i].Options.OnStart = func() { p.set(name, "boot") }
		jobs[i].Options.OnStage = func(s lab.Stage) { p.set(name, s.Name) }
	}
	return jobs
}

func (p *labProgress) set(name, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now[name] = what
	p.draw()
}

// draw writes the line over itself; p.mu is held.
func (p *labProgress) draw() {
	if !p.live {
		return
	}
	left := ""
	if p.done > 0 && p.done < p.total {
		d := time.Since(p.start) * time.Duration(p.total-p.done) / time.Duration(p.done)
		left = fmt.Sprintf(", about %s left", d.Round(time.Second))
	}
	var running []string
	for _, name := range sortedKeys(p.now) {
		running = append(running, name+" ("+p.now[name]+")")
	}
	line := fmt.Sprintf("%d of %d%s: %s", p.done, p.total, left, strings.Join(running, ", "))
	p.line.Show(line)
}

// clear takes the line away, for what is printed next.
func (p *labProgress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.line.End()
	}
}

func (p *labProgress) ended(o lab.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	delete(p.now, o.Job.Name())
	if p.plain && p.total > 1 {
		fmt.Fprintf(p.a.Stderr, "%d of %d: %s: %s\n", p.done, p.total, o.Job.Name(), labWord(o))
	}
	if p.done < p.total {
		p.draw()
	}
}
