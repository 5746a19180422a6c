// Package history is fettle history and fettle diff: the runs that were
// recorded, and how two runs, captures or hosts differ.
package history

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/report"
	"fettle/report/accept"
	"fettle/report/history"
)

// Cmd is fettle history.
func Cmd(a *app.App) *cobra.Command {
	var format, host string
	var verbose bool
	c := &cobra.Command{
		Use:   "history [RUN]",
		Short: "List the recorded runs of check, or show one again",
		Long: `List the runs of fettle check --record, the newest first, with what was new and
resolved in each; or show one again. With --host, the runs of another host that
check --host --record recorded here.

RUN is a number of that list, "last", or a name such as 20261122T0600.`,
		Example: `  sudo fettle check --record
  fettle history
  fettle history 2 -v
  fettle history --host root@web1`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := storeOf(host)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return list(a, s, format, toRecord(host))
			}
			return show(a, s, args[0], format, verbose, toRecord(host))
		},
	}
	app.FormatFlag(c, &format, report.Formats()...)
	c.Flags().StringVar(&host, "host", "", "show the runs recorded here of `HOST`, by the name it was checked by")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every subject of RUN with its evidence")
	return c
}

// store has the runs of this host.
func store() (history.Store, error) { return storeOf("") }

// storeOf has the runs of another host that were recorded here.
func storeOf(host string) (history.Store, error) {
	dir, err := accept.StateDir()
	if err != nil {
		return history.Store{}, app.Failf("%w", err)
	}
	if host != "" {
		dir = app.HostState(dir, host)
	}
	return history.In(dir), nil
}

// toRecord is the command that records a run of this host, or of another one.
func toRecord(host string) string {
	if host != "" {
		return "fettle check --host " + ui.Quote(host) + " --record"
	}
	return "fettle check --record"
}

func completeRuns(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	host, _ := c.Flags().GetString("host") // of diff it is a list, and the runs are this host's
	s, err := storeOf(host)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := s.Names()
	return append([]string{"last"}, names...), cobra.ShellCompDirectiveNoFileComp
}

// document is fettle history --format json.
type document struct {
	jsondoc.Envelope
	Runs []entry `json:"runs"` // the newest first
}

type entry struct {
	Name    string        `json:"name"`
	Host    string        `json:"host,omitempty"`
	Started time.Time     `json:"started,omitzero"`
	Fettle  string        `json:"by,omitempty"` // the version that checked
	Counts  report.Counts `json:"counts"`
	// New and Resolved compare with the run before; the oldest has neither.
	New      []history.Change `json:"new"`
	Resolved []history.Change `json:"resolved"`
	Damaged  string           `json:"damaged,omitempty"` // why the run cannot be read
}

func list(a *app.App, s history.Store, format, toRecord string) error {
	if format != "text" && format != "json" {
		return app.Usagef("--format %s is for one run; the list is text or json", format)
	}
	names, err := s.Names()
	if err != nil {
		return app.Failf("%w", err)
	}
	d := document{Envelope: jsondoc.New("history"), Runs: entries(s, names)}
	if format == "json" {
		return a.JSON(d)
	}
	if len(names) == 0 {
		fmt.Fprintln(a.Stdout, "No run is recorded. To record one: "+toRecord)
		return nil
	}
	t := ui.Table{
		Header: []string{"", "began", "found", "new", "resolved", "unknown", "name"},
		Right:  []bool{true, false, true, true, true, true, false},
	}
	for i, e := range d.Runs {
		row := []string{
			fmt.Sprint(i + 1),
			e.Started.Local().Format("2006-01-02 15:04"),
			fmt.Sprint(e.Counts.Found),
			fmt.Sprint(len(e.New)),
			fmt.Sprint(len(e.Resolved)),
			fmt.Sprint(e.Counts.Unknown),
			e.Name,
		}
		if e.Damaged != "" {
			row = []string{fmt.Sprint(i + 1), "damaged", "", "", "", "", e.Name}
			a.Warn(e.Damaged)
		}
		t.Rows = append(t.Rows, row)
	}
	a.Table(&t)
	return nil
}

// entries reads the runs, each compared with the one before it.
func entries(s history.Store, names []string) []entry {
	out := make([]entry, len(names))
	var older *report.Document
	for i := len(names) - 1; i >= 0; i-- {
		e := entry{Name: names[i], New: []history.Change{}, Resolved: []history.Change{}}
		d, err := s.Read(names[i])
		if err != nil {
			e.Damaged = err.Error()
			out[i] = e
			continue
		}
		e.Host, e.Started, e.Fettle, e.Counts = d.Meta.Host, d.Meta.Started, d.Meta.Version, d.Counts
		if older != nil {
			for _, c := range history.Compare(older, d) {
				switch c.Kind {
				case history.New:
					e.New = append(e.New, c)
				case history.Resolved:
					e.Resolved = append(e.Resolved, c)
				}
			}
		}
		out[i], older = e, d
	}
	return out
}

// show writes a recorded run in any format of check.
func show(a *app.App, s history.Store, run, format string, verbose bool, toRecord string) error {
	name, err := s.Name(run)
	if names, nerr := s.Names(); err != nil && nerr == nil && len(names) == 0 {
		return app.Usagef("%s: no run is recorded yet; %s records one", run, toRecord)
	}
	if err != nil {
		return app.Usagef("%w", err)
	}
	d, err := s.Read(name)
	if err != nil {
		return app.Usagef("%w", err)
	}
	w, err := report.New(format, a.Stdout, report.Options{Colour: ui.Colour(a.Stdout), Width: ui.Width(a.Stdout), Verbose: verbose})
	if err != nil {
		return app.Usagef("--format: %w", err)
	}
	if err := w.Begin(d.Meta, known(a, d)); err != nil {
		return app.Failf("writing the report: %w", err)
	}
	for _, r := range d.Results {
		if err := w.Result(r); err != nil {
			return app.Failf("writing the report: %w", err)
		}
	}
	if err := w.End(d.Took); err != nil {
		return app.Failf("writing the report: %w", err)
	}
	return nil
}

// known are the traps that the run checked and that this fettle has.
func known(a *app.App, d *report.Document) []*trap.Trap {
	var out []*trap.Trap
	for _, i := range d.Traps {
		if t := a.Trap(i.ID); t != nil {
			out = append(out, t)
		}
	}
	return out
}
