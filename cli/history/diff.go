package history

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/host/capture"
	"fettle/internal/files"
	"fettle/internal/jsondoc"
	"fettle/internal/sorted"
	"fettle/report"
	"fettle/report/history"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	format  string
	only    []string
	facts   bool
	verbose bool
	fleet   app.HostFlags
}

// DiffCmd is fettle diff.
func DiffCmd(a *app.App) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff [A [B]]",
		Short: "Show how two runs, captures or hosts differ, and why",
		Long: `Show what is found in B and not in A, what was resolved, and what cannot be
compared.
Of captures, sosreports and hosts it also shows the facts that differ among
those that the traps in question read: why does web2 differ from web1?

A and B are each one of
  last, 2, 20261122T0600  a recorded run (fettle history)
  now                     this host, as it is now
  FILE                    a capture, a sosreport, or a report of check
                          --format json
and --host names hosts in their place. Without A, the last two recorded runs
are compared; without B, A is compared with this host as it is now.

Exit status:
  0  no difference
  1  a difference
  2  usage error, or input that cannot be read
  3  looking at a host failed`,
		Example: `  fettle diff                              # what changed since the last run
  fettle diff web1.tar.zst web2.tar.zst
  fettle diff --host web1,web2 --sudo
  fettle diff last now`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeRunsAndFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return diff(cmd.Context(), a, o, args)
		},
	}
	app.FormatFlag(c, &o.format, "text", "json")
	f := c.Flags()
	f.StringSliceVar(&o.only, "trap", nil, "compare only these `TRAPS` (comma-separated; may be repeated)")
	c.RegisterFlagCompletionFunc("trap", a.CompleteTraps)
	f.BoolVar(&o.facts, "facts", false, "show the facts of all traps, even where both have the same findings")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show facts in full")
	o.fleet.Flags(c)
	return c
}

func completeRunsAndFiles(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	names, _ := completeRuns(c, args, begun)
	return append(names, "now"), cobra.ShellCompDirectiveDefault
}

// differences is fettle diff --format json.
type differences struct {
	jsondoc.Envelope
	A       report.Meta      `json:"a"`
	B       report.Meta      `json:"b"`
	Changes []history.Change `json:"changes"` // the most severe first
	// Facts are of the traps in Changes, or of all with --facts; empty where a
	// recorded run is compared, which holds findings and no facts.
	Facts []fact `json:"facts"`
}

// fact is something that a trap's check read and that differs.
type fact struct {
	Traps []string `json:"traps"` // that read it; empty where too many do to ask each
	capture.Difference
}

func diff(ctx context.Context, a *app.App, o diffOptions, args []string) error {
	traps, err := compared(a, o.only)
	if err != nil {
		return err
	}
	sides, err := named(ctx, a, o, args)
	if err != nil {
		return err
	}
	dir, err := files.Private("fettle-diff-")
	if err != nil {
		return app.Failf("making a folder for captures: %w", err)
	}
	defer os.RemoveAll(dir)
	var docs [2]*report.Document
	for i, s := range sides {
		if docs[i], err = s.look(ctx, a, o, dir, traps); err != nil {
			return err
		}
	}
	d := differences{Envelope: jsondoc.New("diff"), A: docs[0].Meta, B: docs[1].Meta, Changes: []history.Change{}, Facts: []fact{}}
	for _, c := range history.Compare(docs[0], docs[1]) {
		if len(o.only) == 0 || slices.Contains(o.only, c.Trap) {
			d.Changes = append(d.Changes, c)
		}
	}
	if err := d.explain(ctx, a, o, dir, sides, traps); err != nil {
		return err
	}
	if o.format == "json" {
		err = a.JSON(d)
	} else {
		err = d.text(a, o)
	}
	if err == nil && len(d.Changes)+len(d.Facts) > 0 {
		return app.Exit(app.ExitFound, nil)
	}
	return err
}

// compared are the traps that hosts and captures are checked for.
func compared(a *app.App, ids []string) ([]*trap.Trap, error) {
	named, err := a.Find(ids)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		named = a.Traps
	}
	out := slices.DeleteFunc(slices.Clone(named), func(t *trap.Trap) bool { return t.Cost != trap.Instant })
	if len(out) == 0 {
		return nil, app.Usagef("--trap: only instant checks are compared, and these are not")
	}
	return out, nil
}

// explain finds the facts that differ among those that traps read on both sides.
func (d *differences) explain(ctx context.Context, a *app.App, o diffOptions, dir string, sides [2]*side, traps []*trap.Trap) error {
	if sides[0].target == nil || sides[1].target == nil {
		return nil
	}
	var of []*trap.Trap
	for _, t := range traps {
		if o.facts || slices.ContainsFunc(d.Changes, func(c history.Change) bool { return c.Trap == t.ID() }) {
			of = append(of, t)
		}
	}
	all, err := differing(ctx, a, dir, sides, of)
	if err != nil || len(all) == 0 {
		return err
	}
	sorted.By(all, func(x, y capture.Difference) int { return cmp.Compare(moves(x), moves(y)) })
	for _, x := range all {
		d.Facts = append(d.Facts, fact{Traps: []string{}, Difference: x})
	}
	if len(of) > maxAttributed {
		return nil
	}
	for _, t := range of {
		its, err := differing(ctx, a, dir, sides, []*trap.Trap{t})
		if err != nil {
			return err
		}
		for _, x := range its {
			if i := slices.Index(all, x); i >= 0 {
				d.Facts[i].Traps = append(d.Facts[i].Traps, t.ID())
			}
		}
	}
	return nil
}

// moves ranks facts by how much they move by themselves: settings first, then
// what running kernels and programs say.
func moves(x capture.Difference) int {
	switch {
	case x.Op == capture.OpTable:
		return 3
	case strings.HasPrefix(x.What, "/proc/") && !strings.HasPrefix(x.What, "/proc/sys/"), x.Op == capture.OpCommand:
		return 2
	case strings.HasPrefix(x.What, "/etc/"):
		return 0
	}
	return 1
}

// maxAttributed is of how many traps it is told which read a fact: each is
// checked once more on both sides, alone.
const maxAttributed = 20

// differing are the facts that checks read on both sides and that differ.
func differing(ctx context.Context, a *app.App, dir string, sides [2]*side, traps []*trap.Trap) ([]capture.Difference, error) {
	if len(traps) == 0 {
		return nil, nil
	}
	var read [2]*capture.Source
	for i, s := range sides {
		var err error
		if read[i], err = s.facts(ctx, a, dir, traps); err != nil {
			return nil, err
		}
		defer read[i].Close()
	}
	return capture.Differ(read[0], read[1]), nil
}
