package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/host"
	"fettle/internal/ui"
	"fettle/remedy"
	"fettle/trap"
)

// confirmDefault is how long a change that can cut the connection waits for
// fettle confirm.
const confirmDefault = 5 * time.Minute

type fixOptions struct {
	on           []string
	with         []string
	plan         bool
	format       string
	yes          bool
	irreversible bool
	confirm      time.Duration
	wait         bool
}

func (a *app) fixCmd() *cobra.Command {
	var o fixOptions
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
` + statusHelp,
		Example: `  fettle fix bridge-mtu --plan
  fettle fix bridge-mtu --on br0
  fettle fix bridge-mtu --on br0 --plan --format sh > mend.sh`,
		Args:              oneTrap,
		ValidArgsFunction: a.completeTraps,
		RunE: func(cmd *cobra.Command, args []string) error {
			return fixError(a.fix(cmd.Context(), args[0], o))
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.on, "on", nil, "mend only the finding on this `SUBJECT`; may be repeated")
	f.StringArrayVar(&o.with, "with", nil, "decide `NAME=VALUE` about the remedy, as fettle explain TRAP lists it; may be repeated")
	f.BoolVar(&o.plan, "plan", false, "show the plan and change nothing")
	f.StringVar(&o.format, "format", "text", "`FORMAT` of the plan: text, sh, or ansible")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "sh", "ansible"}, cobra.ShellCompDirectiveNoFileComp))
	f.BoolVar(&o.yes, "yes", false, "do not ask (steps that cannot be undone need --yes-irreversible too)")
	f.BoolVar(&o.irreversible, "yes-irreversible", false, "with --yes: also take steps that cannot be undone")
	f.DurationVar(&o.confirm, "confirm-within", 0, "undo unless fettle confirm comes within this `TIME` (5m where the connection can be cut)")
	f.BoolVar(&o.wait, "wait", false, "wait for another fettle that is at work")
	return c
}

func (a *app) fix(ctx context.Context, id string, o fixOptions) error {
	ts, err := a.find([]string{id})
	if err != nil {
		return err
	}
	t := ts[0]
	switch {
	case !slices.Contains([]string{"text", "sh", "ansible"}, o.format):
		return usagef("no plan format is called %q; there are text, sh, and ansible", o.format)
	case o.format != "text" && !o.plan:
		return usagef("--format is about the plan; use it with --plan")
	case o.confirm < 0 || o.confirm > 0 && o.confirm < time.Second:
		return usagef("--confirm-within %s is too short", o.confirm)
	}
	if _, err := t.Choose(trap.Finding{}, o.with); err != nil {
		return usagef("--with %w", err)
	}
	found, err := a.findings(ctx, t, o.on)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		a.nothingToMend(t, o)
		return nil
	}
	if t.Plan == nil {
		return &status{exitNotDone, fmt.Errorf("fettle finds %s but has no remedy to apply; what to do by hand: fettle explain %s", id, id)}
	}
	if o.plan {
		return a.showPlans(ctx, t, found, o)
	}
	if !o.yes && !ui.IsTerminal(a.stdin) {
		return usagef("there is no terminal to ask on: look at the plan (--plan), then give --yes")
	}
	store, err := remedy.OpenStore()
	if err != nil {
		return fmt.Errorf("fixing %s: %w", id, err)
	}
	mended := 0
	var refused refusals
	for _, f := range found {
		if mended > 0 { // the one before may have mended this one too
			switch still, err := a.findings(ctx, t, []string{f.Subject}); {
			case err != nil:
				return err
			case len(still) == 0:
				continue
			default:
				f = still[0]
			}
		}
		switch err := a.fixOne(ctx, store, t, f, o); {
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
func (a *app) nothingToMend(t *trap.Trap, o fixOptions) {
	where := "on this host"
	if len(o.on) > 0 {
		where = "on " + strings.Join(o.on, ", ")
	}
	lead, rest := "", ""
	switch o.format {
	case "sh":
		lead = "#!/bin/sh\n# "
	case "ansible":
		lead, rest = "---\n# ", "[]\n"
	}
	fmt.Fprintf(a.stdout, "%s%s is not found %s: there is nothing to mend.\n%s", lead, t.ID(), ui.Visible(where), rest)
}

// planFor asks the trap for its plan, reading the host afresh.
func (a *app) planFor(ctx context.Context, t *trap.Trap, f trap.Finding, with []string) (remedy.Plan, error) {
	f, err := t.Choose(f, with)
	if err != nil {
		return remedy.Plan{}, usagef("--with %w", err)
	}
	src, err := a.openLive()
	if err != nil {
		return remedy.Plan{}, err
	}
	defer src.Close()
	p, err := t.Plan(ctx, host.New(src), f)
	var refusal *remedy.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return p, fmt.Errorf("planning for %s: %w", f.ID(), err)
	}
	if err == nil && len(p.Steps) == 0 {
		return p, fmt.Errorf("the remedy of %s planned no steps, which is a bug in fettle", f.ID())
	}
	return p, err
}

func (a *app) showPlans(ctx context.Context, t *trap.Trap, found []trap.Finding, o fixOptions) error {
	if o.format != "text" && len(found) > 1 {
		var subjects []string
		for _, f := range found {
			subjects = append(subjects, ui.Quote(f.Subject))
		}
		return usagef("there are %d findings; choose one with --on: %s", len(found), strings.Join(subjects, ", "))
	}
	var refused refusals
	shown := 0
	for _, f := range found {
		p, err := a.planFor(ctx, t, f, o.with)
		if err != nil {
			if refused.add(f, err) {
				continue
			}
			return err
		}
		var out string
		switch o.format {
		case "sh":
			out, err = remedy.Script(p)
		case "ansible":
			out, err = remedy.Playbook(p)
		default:
			if shown > 0 {
				out = "\n"
			}
			out += a.planText(f, p)
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(a.stdout, out); err != nil {
			return err
		}
		shown++
	}
	return refused.err()
}

func (a *app) planText(f trap.Finding, p remedy.Plan) string {
	w := ui.Width(a.stdout)
	return ui.Wrap(ui.Visible(f.ID()+": "+f.Summary), w, "", "  ") + "\n" + remedy.Text(p, w)
}

// fixOne mends one finding.
func (a *app) fixOne(ctx context.Context, store *remedy.Store, t *trap.Trap, f trap.Finding, o fixOptions) error {
	p, err := a.planFor(ctx, t, f, o.with)
	if err != nil {
		return err
	}
	within := o.confirm
	if p.CutsConnection && within == 0 {
		within = confirmDefault
	}
	if within > 0 && within <= p.Settle {
		return usagef("this remedy needs up to %s to show its effect; give --confirm-within more than that", p.Settle)
	}
	fmt.Fprint(a.stdout, a.planText(f, p), "\n")
	if err := a.ask(ctx, p, o); err != nil {
		return err
	}
	holdOut()
	e := a.engine(store, "fettle fix "+f.ID(), o.wait)
	head := remedy.Head{Version: Version(), Trap: t.ID(), Subject: f.Subject, Summary: f.Summary, ConfirmWithin: within, Plan: p}
	c, err := e.Apply(ctx, head, a.verify(t, f.Subject))
	if err != nil {
		return err
	}
	a.sayApplied(c)
	return nil
}

func (a *app) sayApplied(c *remedy.Change) {
	fmt.Fprintf(a.stdout, "\nMended: the check no longer finds it.\nThis is change %s; to undo it: fettle undo %s\n", c.ID, c.ID)
	if deadline, due := c.Unconfirmed(); due {
		fmt.Fprintf(a.stdout, "Now log in anew, to see that you still can, and run: fettle confirm %s\n"+
			"Without that it is undone at %s\n  (%s).\n", c.ID, deadline.Local().Format(time.TimeOnly), strings.Join(c.Guards(), "; "))
	}
}

// ask asks for the plan, and once more for what cannot be undone.
func (a *app) ask(ctx context.Context, p remedy.Plan, o fixOptions) error {
	irreversible := 0
	for _, s := range p.Steps {
		if s.Reversal().Class == remedy.Irreversible {
			irreversible++
		}
	}
	if o.yes {
		if irreversible > 0 && !o.irreversible {
			return &status{exitNotDone, errors.New("a step of this plan cannot be undone; --yes does not cover that, --yes-irreversible does")}
		}
		return nil
	}
	in := bufio.NewReader(a.stdin)
	questions := []string{"Apply this? [y/N] "}
	if irreversible > 0 {
		questions = append(questions, fmt.Sprintf("%d of the steps cannot be undone. Still apply? [y/N] ", irreversible))
	}
	for _, q := range questions {
		fmt.Fprint(a.stdout, q)
		answer, _ := in.ReadString('\n')
		if ctx.Err() != nil || !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
			return &status{exitNotDone, errors.New("not applied; nothing was changed")}
		}
	}
	return nil
}

// engine is the engine of this host, telling what it does on standard output.
func (a *app) engine(store *remedy.Store, who string, wait bool) *remedy.Engine {
	a.acted = true
	return &remedy.Engine{Store: store, Machine: remedy.NewMachine(), Who: who, Wait: wait,
		Log: func(line string) { fmt.Fprintln(a.stdout, "  "+ui.Visible(line)) }}
}
