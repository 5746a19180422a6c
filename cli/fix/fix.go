package fix

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/host"
	"fettle/internal/build"
	"fettle/internal/ui"
	"fettle/remedy"
	"fettle/remedy/machine"
	"fettle/remedy/step"
	"fettle/trap"
)

// confirmDefault is how long a change that can cut the connection waits for
// fettle confirm.
const confirmDefault = 5 * time.Minute

// Options are the flags of fettle fix.
type Options struct {
	On           []string
	With         []string
	Plan         bool
	Format       string // of the plan
	Yes          bool
	Irreversible bool
	Confirm      time.Duration // 0: where the connection can be cut
	Wait         bool
	// Subject is what SetUp sets up, of a trap that has many.
	Subject string
}

// Cmd is fettle fix.
func Cmd(a *app.App) *cobra.Command {
	var o Options
	c := &cobra.Command{
		Use:   "fix TRAP",
		Short: "Mend a finding: show the plan, ask, apply, verify; undoable",
		Long: `Looks for the trap on this host and makes a plan for each finding. The plan is
shown as diffs and commands, with how each step is undone. After a yes it is
applied step by step; what was there before is kept under ` + remedy.DefaultDir + `.
Then the trap's own check looks again: if it still finds the trap, everything
is put back.

What can cut your own connection is armed first: unless fettle confirm comes in
time, it is undone, also when fettle, the connection or the host died meanwhile.
` + StatusHelp,
		Example: `  fettle fix bridge-mtu --plan
  fettle fix bridge-mtu --on br0
  fettle fix bridge-mtu --on br0 --plan --format sh > mend.sh`,
		Args:              app.OneTrap,
		ValidArgsFunction: a.CompleteTraps,
		RunE: func(cmd *cobra.Command, args []string) error {
			return Status(fix(cmd.Context(), a, args[0], o))
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.On, "on", nil, "mend only the finding on this `SUBJECT`; may be repeated")
	c.RegisterFlagCompletionFunc("on", a.CompleteFound)
	f.StringArrayVar(&o.With, "with", nil, "set remedy option `NAME=VALUE` (fettle explain --all TRAP lists them); may be repeated")
	f.BoolVar(&o.Plan, "plan", false, "show the plan and change nothing")
	o.Format = "text"
	app.WordFlag(c, &o.Format, "format", "`FORMAT` of the plan: text, sh or ansible", "text", "sh", "ansible")
	f.BoolVar(&o.Yes, "yes", false, "do not ask (steps that cannot be undone need --yes-irreversible too)")
	f.BoolVar(&o.Irreversible, "yes-irreversible", false, "with --yes: also take steps that cannot be undone")
	f.DurationVar(&o.Confirm, "confirm-within", 0, "undo unless fettle confirm comes within this `TIME` (5m where the connection can be cut)")
	f.BoolVar(&o.Wait, "wait", false, "wait for another fettle that is at work")
	return c
}

// SetUp plans what a trap's remedy sets up where nothing is wrong, and applies
// it as a fix.
func SetUp(ctx context.Context, a *app.App, t *trap.Trap, o Options) error {
	o.Format = "text"
	f := t.Setup.Finding
	f.Trap, f.Severity, f.Status = t.ID(), trap.Notice, trap.Found
	if o.Subject != "" {
		f.Subject = o.Subject
	}
	if err := o.valid(t); err != nil {
		return err
	}
	if o.Plan {
		return showPlans(ctx, a, t, []trap.Finding{f}, o)
	}
	store, err := openStore(a, o)
	if err != nil {
		return err
	}
	err = fixOne(ctx, a, store, t, f, o)
	var refused refusals
	if refused.add(f, err) {
		return refused.err()
	}
	return err
}

// valid refuses flags that cannot be meant.
func (o *Options) valid(t *trap.Trap) error {
	switch {
	case o.Format != "text" && !o.Plan:
		return app.Usagef("--format is about the plan; use it with --plan")
	case o.Confirm < 0 || o.Confirm > 0 && o.Confirm < time.Second:
		return app.Usagef("--confirm-within %s is too short", o.Confirm)
	}
	if _, err := t.Choose(trap.Finding{}, o.With); err != nil {
		return app.Usagef("--with %w", err)
	}
	return nil
}

// openStore opens the journal of changes, when there is somebody to ask or no
// need to.
func openStore(a *app.App, o Options) (*remedy.Store, error) {
	if !o.Yes && !ui.IsTerminal(a.Stdin) {
		return nil, app.Usagef("there is no terminal to ask on: look at the plan (--plan), then give --yes")
	}
	store, err := remedy.OpenStore()
	if err != nil {
		return nil, fmt.Errorf("opening the journal of changes: %w", err)
	}
	return store, nil
}

func fix(ctx context.Context, a *app.App, id string, o Options) error {
	ts, err := a.Find([]string{id})
	if err != nil {
		return err
	}
	t := ts[0]
	if err := o.valid(t); err != nil {
		return err
	}
	found, err := findings(ctx, a, t, o.On)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		nothingToMend(a, t, o)
		return nil
	}
	if t.Plan == nil {
		return app.Exit(exitNotDone, fmt.Errorf("fettle finds %s but has no remedy to apply; what to do by hand: fettle explain %s", id, id))
	}
	if o.Plan {
		return showPlans(ctx, a, t, found, o)
	}
	store, err := openStore(a, o)
	if err != nil {
		return err
	}
	mended := 0
	var refused refusals
	for _, f := range found {
		if mended > 0 { // the one before may have mended this one too
			switch still, err := findings(ctx, a, t, []string{f.Subject}); {
			case err != nil:
				return err
			case len(still) == 0:
				continue
			default:
				f = still[0]
			}
		}
		switch err := fixOne(ctx, a, store, t, f, o); {
		case err == nil:
			mended++
		case !refused.add(f, err):
			return err
		}
	}
	return refused.err()
}

// nothingToMend says so: as a script or playbook that does nothing, where one
// was asked for.
func nothingToMend(a *app.App, t *trap.Trap, o Options) {
	where := "on this host"
	if len(o.On) > 0 {
		where = "on " + strings.Join(o.On, ", ")
	}
	lead, rest := "", ""
	switch o.Format {
	case "sh":
		lead = "#!/bin/sh\n# "
	case "ansible":
		lead, rest = "---\n# ", "[]\n"
	}
	fmt.Fprintf(a.Stdout, "%s%s is not found %s: there is nothing to mend.\n%s", lead, t.ID(), ui.Visible(where), rest)
	if o.Plan {
		return
	}
	if _, err := os.Stat(remedy.Dir()); err != nil {
		return // fettle never changed anything here
	}
	if store, err := remedy.OpenStore(); err == nil {
		store.NothingToMend(t.ID())
		store.Close()
	}
}

// planFor asks the trap for its plan, reading the host afresh.
func planFor(ctx context.Context, a *app.App, t *trap.Trap, f trap.Finding, with []string) (remedy.Plan, error) {
	f, err := t.Choose(f, with)
	if err != nil {
		return remedy.Plan{}, app.Usagef("--with %w", err)
	}
	src, err := a.OpenLive()
	if err != nil {
		return remedy.Plan{}, err
	}
	defer src.Close()
	p, err := t.Plan(ctx, host.New(src), f)
	var refusal *remedy.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return p, fmt.Errorf("planning for %s: %w", ui.Visible(f.ID()), err)
	}
	if err == nil && len(p.Steps) == 0 {
		return p, fmt.Errorf("the remedy of %s planned no steps, which is a bug in fettle", ui.Visible(f.ID()))
	}
	return p, err
}

func showPlans(ctx context.Context, a *app.App, t *trap.Trap, found []trap.Finding, o Options) error {
	if o.Format != "text" && len(found) > 1 {
		var subjects []string
		for _, f := range found {
			subjects = append(subjects, ui.Quote(f.Subject))
		}
		return app.Usagef("there are %d findings; choose one with --on: %s", len(found), strings.Join(subjects, ", "))
	}
	var refused refusals
	shown := 0
	for _, f := range found {
		p, err := planFor(ctx, a, t, f, o.With)
		if err != nil {
			if refused.add(f, err) {
				continue
			}
			return err
		}
		if o.Format != "text" {
			if err := remedy.Exportable(machine.New(), p); err != nil {
				return err
			}
		}
		var out string
		switch o.Format {
		case "sh":
			out, err = remedy.Script(p)
		case "ansible":
			out, err = remedy.Playbook(p)
		default:
			if shown > 0 {
				out = "\n"
			}
			out += planText(a, f, p)
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(a.Stdout, out); err != nil {
			return err
		}
		shown++
	}
	return refused.err()
}

func planText(a *app.App, f trap.Finding, p remedy.Plan) string {
	w := ui.Width(a.Stdout)
	return ui.Wrap(ui.Visible(f.ID()+": "+f.Summary), w, "", "  ") + "\n" + remedy.Text(p, w)
}

// fixOne mends one finding.
func fixOne(ctx context.Context, a *app.App, store *remedy.Store, t *trap.Trap, f trap.Finding, o Options) error {
	p, err := planFor(ctx, a, t, f, o.With)
	if err != nil {
		return err
	}
	within := o.Confirm
	if p.CutsConnection && within == 0 {
		within = confirmDefault
	}
	if within > 0 && within <= p.Settle {
		return app.Usagef("this remedy needs up to %s to show its effect; give --confirm-within more than that", p.Settle)
	}
	seen, err := remedy.Survey(machine.New(), p)
	if err != nil {
		return err
	}
	fmt.Fprint(a.Stdout, planText(a, f, p), "\n")
	if err := ask(ctx, a, p, o); err != nil {
		return err
	}
	outliveTerminal()
	e := engine(a, store, "fettle fix "+f.ID(), o.Wait)
	head := remedy.Head{Version: build.Version(), Trap: t.ID(), Subject: f.Subject, Summary: f.Summary, ConfirmWithin: within, Plan: p, Seen: seen}
	c, err := e.Apply(ctx, head, verify(a, t, f.Subject, p))
	if err != nil {
		return err
	}
	sayApplied(a, c)
	return nil
}

func sayApplied(a *app.App, c *remedy.Change) {
	fmt.Fprintf(a.Stdout, "\nMended: the check no longer finds it.\nThis is change %s; to undo it: fettle undo %s\n", c.ID, c.ID)
	if deadline, due := c.Unconfirmed(); due {
		fmt.Fprintf(a.Stdout, "Now log in anew, to see that you still can, and run: fettle confirm %s\n"+
			"Without that it is undone at %s\n  (%s).\n", c.ID, deadline.Local().Format(time.TimeOnly), strings.Join(c.Guards(), "; "))
	}
}

// ask asks for the plan, and once more for what cannot be undone.
func ask(ctx context.Context, a *app.App, p remedy.Plan, o Options) error {
	irreversible := 0
	for _, s := range p.Steps {
		if s.Reversal().Class == step.Irreversible {
			irreversible++
		}
	}
	if o.Yes {
		if irreversible > 0 && !o.Irreversible {
			return app.Exit(exitNotDone, errors.New("a step of this plan cannot be undone; --yes does not cover that, --yes-irreversible does"))
		}
		return nil
	}
	questions := []string{"Apply this? [y/N] "}
	if irreversible > 0 {
		questions = append(questions, fmt.Sprintf("%d of the steps cannot be undone. Still apply? [y/N] ", irreversible))
	}
	return answered(ctx, a, "not applied; nothing was changed", questions...)
}

// answered asks questions that want a yes each; no is said otherwise.
func answered(ctx context.Context, a *app.App, no string, questions ...string) error {
	in := bufio.NewReader(a.Stdin)
	for _, q := range questions {
		fmt.Fprint(a.Stdout, q)
		answer, _ := in.ReadString('\n')
		if ctx.Err() != nil || !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
			return app.Exit(exitNotDone, errors.New(no))
		}
	}
	return nil
}

// engine is the engine of this host, telling what it does on standard output.
func engine(a *app.App, store *remedy.Store, who string, wait bool) *remedy.Engine {
	a.Acted = true
	e := &remedy.Engine{Store: store, Machine: machine.New(), Who: who, Wait: wait,
		Log: func(line string) { fmt.Fprintln(a.Stdout, "  "+ui.Visible(line)) }}
	if a.Change != nil {
		a.Change(e)
	}
	return e
}
