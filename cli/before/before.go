// Package before is fettle before: what will happen to the host, told while it can still be helped.
package before

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	judge "fettle/before"
	"fettle/before/snapshot"
	"fettle/before/watch"
	"fettle/cli/app"
	"fettle/engine/remedy/machine"
	"fettle/engine/run"
	"fettle/engine/trap"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/report"
	"fettle/report/accept"
)

// Cmd is fettle before.
func Cmd(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "before",
		Short: "Tell what a restart, an update or an upgrade will break, in time",
	}
	c.AddCommand(rebootCmd(a), upgradeCmd(a), updateCmd(a))
	return c
}

// options are the flags of fettle before reboot.
type options struct {
	target  app.TargetFlags
	format  string
	verbose bool
	limit   time.Duration
	// unsaved: no snapshot is saved.
	unsaved bool
	// watch has systemd run fettle after once the next start has settled.
	watch bool
	fleet app.HostFlags
}

// Exit statuses of fettle before reboot, besides those of every verb.
const exitDoesNotCome = 5

func rebootCmd(a *app.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "reboot",
		Short: "Tell whether this host comes back from a restart as it is",
		Long: `Looks at the host as the boot loader, the initramfs, systemd and the network
will find it at the next start, without the state that only the running system
has, and gives a verdict: it comes back, comes back without something, does not
come back, or fettle cannot say. Then the reasons, worst first. Nothing is
changed; root's run also saves a snapshot, with which fettle after compares the
host once it has restarted.

It says that the host comes back only where it ran as root and could read the
boot chain, the initramfs, fstab and all enabled units. fettle list names the
traps of the next start, which are all that it looks at.

Exit status:
  0  it comes back, and nothing is lost that fettle looks at
  1  it comes back without something
  2  usage error, or input that cannot be read
  3  checking itself failed; or it comes back, and --watch could not be set up
  4  nothing found that stops it, but not everything could be inspected
  5  it does not come back`,
		Example: `  sudo fettle before reboot
  sudo fettle before reboot && sudo systemctl reboot
  sudo fettle before reboot --watch
  fettle before reboot --host web1,web2 --sudo
  fettle before reboot --from capture-web1.tar.zst`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.limit < 0 {
				return app.Usagef("--limit %s: must not be negative", o.limit)
			}
			if o.fleet.Asked() {
				return rebootFleet(cmd.Context(), a, o)
			}
			return reboot(cmd.Context(), a, o)
		},
	}
	app.FormatFlag(c, &o.format, "text", "json")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show every subject with its evidence, including clear ones")
	c.Flags().DurationVar(&o.limit, "limit", 0, "stop every check after this `TIME` (default: each trap's own)")
	c.Flags().BoolVar(&o.unsaved, "no-snapshot", false, "save no snapshot for fettle after")
	c.Flags().BoolVar(&o.watch, "watch", false, "have fettle after run once when the next start has settled, and tell notify's channels")
	c.MarkFlagsMutuallyExclusive("watch", "no-snapshot")
	o.target.Flags(c)
	o.fleet.Flags(c)
	return c
}

// looked is what the checks said.
type looked struct {
	meta    report.Meta
	traps   []*trap.Trap
	results []trap.Result
	took    time.Duration
}

func reboot(ctx context.Context, a *app.App, o options) error {
	tg, err := o.target.Target()
	if err != nil {
		return err
	}
	bin := ""
	if o.watch {
		if bin, err = watchable(tg); err != nil {
			return err
		}
	}
	st := &snapshot.State{}
	var also *run.Also
	if tg.Root == "" && tg.From == "" && os.Geteuid() == 0 && !o.unsaved {
		also = &run.Also{Name: snapshot.Question, Answer: st}
	}
	l, err := look(ctx, a, tg, o.limit, nextStart(a), also, "looking at the next start …")
	if err != nil {
		return err
	}
	r := judge.Judge(&l.meta, l.traps, l.results)
	saved := ""
	if also != nil {
		if err = also.Err; err == nil {
			saved, err = app.SaveSnapshot(st)
		}
		if err != nil { // the verdict holds without it
			a.Warn(err.Error())
		}
	}
	var unwatched error // the verdict holds without it, too
	switch {
	case o.watch && saved == "":
		unwatched = app.Failf("--watch: %s is not set up, for it would have nothing to compare with", watch.Unit)
	case o.watch:
		if err := watch.Arm(watch.Units, bin); err != nil {
			unwatched = app.Failf("--watch: %w", err)
		}
	}
	o.watch = o.watch && unwatched == nil
	if o.format == "json" {
		err = a.JSON(document{jsondoc.New("before-reboot"), r, saved, report.NewDocument(l.meta, l.traps, l.results, l.took)})
	} else {
		err = write(a, o, l, &r, saved)
	}
	if err != nil {
		return err
	}
	verdict := status(r.Verdict)
	switch {
	case unwatched == nil:
	case verdict == nil:
		return unwatched
	default:
		a.Warn(unwatched.Error())
	}
	return verdict
}

// watchable tells which program fettle-after.service will run, or why it cannot be set up.
func watchable(tg run.Target) (string, error) {
	if tg.Root != "" || tg.From != "" {
		return "", app.Usagef("--watch is for this host: what is read elsewhere is not restarted")
	}
	if os.Geteuid() != 0 {
		return "", app.Usagef("--watch writes a unit of systemd: run it with sudo")
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil { // sd_booted(3)
		return "", app.Usagef("--watch: this host does not run systemd; run fettle after by hand after the restart")
	}
	bin, err := os.Executable()
	if err == nil {
		bin, err = filepath.EvalSymlinks(bin)
	}
	if err != nil {
		return "", app.Failf("finding fettle's own path: %w", err)
	}
	if err := machine.RootsAlone(machine.New(), bin); err != nil {
		return "", app.Usagef("--watch: root would run %s at the next start: %w", bin, err)
	}
	return bin, nil
}

// nextStart are the traps that bite then.
func nextStart(a *app.App) []*trap.Trap { return instant(a, trap.NextStart) }

func instant(a *app.App, h trap.Horizon) []*trap.Trap {
	return slices.DeleteFunc(trap.At(a.Traps, h), func(t *trap.Trap) bool { return t.Cost != trap.Instant })
}

// look runs checks, and asks for what else is wanted.
func look(
	ctx context.Context,
	a *app.App,
	tg run.Target,
	limit time.Duration,
	traps []*trap.Trap,
	also *run.Also,
	says string,
) (*looked, error) {
	l := &looked{traps: traps}
	list := &accept.List{}
	if tg.Root == "" && tg.From == "" {
		var err error
		if list, err = a.Acceptances(""); err != nil {
			return nil, err
		}
	}
	started := time.Now()
	progress := ui.NewProgress(a.Stderr)
	progress.Show(says)
	err := a.CheckAlso(ctx, tg, l.traps, trap.Options{Limit: limit}, also, func(ab run.About) error {
		l.meta = app.Meta(ab, started)
		return nil
	}, func(r trap.Result) {
		list.Mark(&r, time.Now())
		l.results = append(l.results, r)
	})
	progress.End()
	l.took = time.Since(started)
	return l, err
}

// document is the verdict as JSON, with all that was found.
type document struct {
	jsondoc.Envelope
	judge.Restart
	Snapshot string           `json:"snapshot,omitempty"` // the name of the one that was saved
	Report   *report.Document `json:"report"`
}

func write(a *app.App, o options, l *looked, r *judge.Restart, saved string) error {
	w, err := report.New("text", a.Stdout, report.Options{
		Colour:  ui.Colour(a.Stdout),
		Width:   ui.Width(a.Stdout),
		Verbose: o.verbose,
		Lead:    r.Says(filepath.Base(l.meta.Host)),
		Last:    last(r),
	})
	if err != nil {
		return err
	}
	if err := w.Begin(l.meta, l.traps); err != nil {
		return err
	}
	for _, res := range l.results {
		if err := w.Result(res); err != nil {
			return err
		}
	}
	if err := w.End(l.took); err != nil || saved == "" {
		return err
	}
	said := "A snapshot is saved: after the restart, fettle after tells what did not come back."
	if o.watch {
		said = "A snapshot is saved: after the restart " + watch.Unit + " tells what did not come back,\n" +
			"in the journal, on the console and on notify's channels."
	}
	_, err = fmt.Fprintln(a.Stdout, said)
	return err
}

// last says what nobody can know.
func last(r *judge.Restart) string {
	if len(r.NotValidated) == 0 {
		return ""
	}
	return "not validated, because no program can check their configuration without starting them: " + ui.Few(r.NotValidated, 6)
}

func status(v judge.Verdict) error {
	switch v {
	case judge.Without:
		return app.Exit(app.ExitFound, nil)
	case judge.CannotSay:
		return app.Exit(app.ExitUnknown, nil)
	case judge.DoesNotCome:
		return app.Exit(exitDoesNotCome, nil)
	}
	return nil
}
