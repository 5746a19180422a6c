package check

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/config"
	"fettle/internal/files"
	"fettle/internal/ui"
	"fettle/report"
	"fettle/report/accept"
	"fettle/report/onhub"
)

// outputOptions are the flags of every verb that writes a report.
type outputOptions struct {
	format   string
	file     string
	verbose  bool
	quiet    bool
	timing   bool
	severity string // the least that is reported
	fresh    bool   // --new
	accepted string // --accepted
	record   bool   // --record
	notify   bool   // --notify
	conf     *config.Config
	detail   bool // traps were named: show the evidence

	unknownOK []string // traps whose unknown outcomes do not affect the exit status
}

func (o *outputOptions) flags(c *cobra.Command) {
	app.FormatFlag(c, &o.format, report.Formats()...)
	f := c.Flags()
	f.StringVarP(&o.file, "output", "o", "", "write to `FILE`, which is replaced when the run is complete")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show every subject with its evidence, including clear and accepted ones")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only findings and what changed, and nothing if there are none")
	f.BoolVar(&o.timing, "timing", false, "show how long each trap's check took")
	app.WordFlag(
		c,
		&o.severity,
		"severity",
		"report only findings from this `SEVERITY` on: notice, warning or critical",
		"notice",
		"warning",
		"critical",
	)
	f.BoolVar(&o.fresh, "new", false, "report only findings that the last run with --new did not, and what was resolved")
	f.BoolVar(&o.record, "record", false, "record the run, for fettle history and fettle diff")
	f.BoolVar(&o.notify, "notify", false, "send what changed since the last notification to the configured channels")
	f.StringVar(&o.accepted, "accepted", "", "take accepted findings from this `FILE` (default for this host: "+accept.System+")")
}

// report is the options of the report's writer.
func (o *outputOptions) report(w io.Writer, failOn trap.Severity) report.Options {
	return report.Options{
		Colour:  ui.Colour(w),
		Width:   ui.Width(w),
		Verbose: o.verbose,
		Detail:  o.detail,
		Quiet:   o.quiet,
		New:     o.fresh,
		Timing:  o.timing,
		FailOn:  failOn,
	}
}

// output is a report being written: what is accepted or known is marked, what
// counts is counted. It is a report.Writer for one host.
type output struct {
	app    *app.App
	opt    outputOptions
	failOn trap.Severity
	least  trap.Severity // that is reported
	w      report.Writer
	list   *accept.List
	hub    *onhub.List // what operators accept on the hub
	seen   *accept.Seen
	counts report.Counts
	run    recorder
	file   *files.Pending // nil when the output is not replaced atomically
	close  io.Closer
}

// newOutput checks everything that can be wrong with the flags before any
// check is run.
func newOutput(a *app.App, opt outputOptions, failOn trap.Severity) (*output, error) {
	least, _ := trap.ParseSeverity(opt.severity)
	out := &output{app: a, opt: opt, failOn: failOn, least: least, list: &accept.List{}, hub: &onhub.List{}}
	if opt.accepted != "" {
		l, err := a.Acceptances(opt.accepted)
		if err != nil {
			return nil, err
		}
		out.list = l
	}
	w, err := out.open(a.Stdout)
	if err != nil {
		return nil, err
	}
	out.w, err = report.New(opt.format, w, opt.report(w, failOn))
	if err != nil {
		out.abandon()
		return nil, app.Usagef("--format: %w", err)
	}
	return out, nil
}

// open opens what is written to. A regular file is replaced at the end, whole;
// a pipe or device is written as it goes.
func (out *output) open(stdout io.Writer) (io.Writer, error) {
	name := out.opt.file
	if name == "" || name == "-" {
		return stdout, nil
	}
	device, err := files.Device(name)
	if err != nil {
		return nil, app.Usagef("-o: %w", err)
	}
	if device != nil {
		out.close = device
		return device, nil
	}
	f, err := files.Create(name, 0o644)
	if err != nil {
		return nil, app.Usagef("-o %s: making a file there: %w", name, files.WithoutPath(err))
	}
	out.file = f
	return f.File, nil
}

func (out *output) Begin(m report.Meta, traps []*trap.Trap) error {
	// What is accepted of this host says nothing of another one.
	if out.opt.accepted == "" && m.Kind == host.KindLive {
		l, err := out.app.Acceptances("")
		if err != nil {
			return err
		}
		out.list = l
	}
	if m.Kind == host.KindLive && out.opt.conf != nil {
		out.hub = out.app.HubAcceptances(out.opt.conf.Hub.State)
	}
	out.run.begin(m, traps)
	if out.opt.fresh {
		dir, err := accept.StateDir()
		if err != nil {
			return app.Failf("%w", err)
		}
		if out.seen, err = accept.OpenSeen(filepath.Join(dir, "new"), string(m.Kind), m.Host, m.Started); err != nil {
			return app.Usagef("%w", err)
		}
	}
	return written(out.w.Begin(m, traps))
}

func (out *output) Result(r trap.Result) error {
	out.list.Mark(&r, time.Now())
	out.hub.Mark(&r, out.opt.conf != nil && out.opt.conf.Hub.Accept, time.Now())
	if out.opt.conf != nil {
		if s, ok := trap.ParseSeverity(out.opt.conf.Severities[r.Trap]); ok { // the admin's own
			r.Regrade(s)
		}
	}
	out.run.result(r)
	if out.seen != nil {
		out.seen.Mark(&r)
	}
	below(r.Outcomes, out.least)
	out.opt.tolerate(&r)
	out.counts.Add(r)
	return written(out.w.Result(r))
}

// below marks the findings below the least severity that is reported.
func below(outcomes []trap.Outcome, least trap.Severity) {
	for i := range outcomes {
		o := &outcomes[i]
		o.Below = o.Status == trap.Found && o.Severity < least
	}
}

// tolerate marks a result whose unknown outcomes do not affect the exit status.
func (o *outputOptions) tolerate(r *trap.Result) {
	r.UnknownOK = slices.Contains(o.unknownOK, r.Trap) || slices.Contains(o.unknownOK, config.AllTraps)
}

func written(err error) error {
	if err != nil {
		return app.Failf("writing the report: %w", err)
	}
	return nil
}

// End completes the report. Only what was written counts as shown.
func (out *output) End(took time.Duration) error {
	err := out.w.End(took)
	if err == nil && out.close != nil {
		err = out.close.Close()
		out.close = nil
	}
	if err == nil && out.file != nil {
		err = out.file.Commit()
	}
	if err := written(err); err != nil {
		return err
	}
	if out.seen != nil {
		if err := out.seen.Save(); err != nil {
			return app.Failf("%w", err)
		}
	}
	if out.opt.record {
		if err := out.run.record(took, out.opt.conf.History.Keep); err != nil {
			return err
		}
	}
	if out.opt.notify {
		return out.run.notify(out.opt.conf.Notify, took)
	}
	return nil
}

// abandon leaves no half-written file behind; after End it does nothing.
func (out *output) abandon() {
	if out.file != nil {
		out.file.Cleanup()
	}
	if out.close != nil {
		out.close.Close()
	}
}

// status is the exit status that what was found asks for.
func (out *output) status() error {
	code := out.counts.Exit(out.failOn)
	if out.opt.format == "nagios" {
		code = out.counts.ExitNagios(out.failOn)
	}
	if code == app.ExitOK {
		return nil
	}
	return app.Exit(code, nil)
}

// pluginError turns any error into what a monitoring system understands: one
// line on standard output and status 3, UNKNOWN. Elsewhere it changes nothing.
func pluginError(a *app.App, format string, err error) error {
	var s *app.Status
	if format != "nagios" || err == nil || errors.As(err, &s) && s.Err == nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "FETTLE UNKNOWN - %s\n", report.NagiosText(err.Error()))
	return app.Exit(3, nil)
}
