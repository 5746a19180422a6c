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
	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/internal/ui"
)

// confirmDefault is how long a change that can cut the connection waits for
// fettle confirm.
const confirmDefault = 5 * time.Minute

// Options are the flags of fettle fix.
type Options struct {
	On           []string
	With         []string
	Plan         bool
	Network      bool          // with Plan: let the check talk to other hosts
	Limit        time.Duration // of the check; 0: its own
	Format       string        // of the plan
	Yes          bool
	Irreversible bool
	Confirm      time.Duration // 0: where the connection can be cut
	Wait         bool
	Verbose      bool
	// AsPlanned is the digest of the plan that alone may be applied; empty: any.
	AsPlanned string
	Batch     int // hosts concurrently, with --host
	fleet     app.HostFlags
	doc       *document // that is filled; nil but with --format json
	// Subject is what SetUp sets up, of a trap that has many.
	Subject string
	setUp   bool // nothing was wrong
}

// Cmd is fettle fix.
func Cmd(a *app.App) *cobra.Command {
	var o Options
	c := &cobra.Command{
		Use:   "fix TRAP",
		Short: "Fix a finding: show the plan, ask, apply, verify; can be undone",
		Long: `Runs the check on this host and makes a plan for each finding. The plan is shown
as diffs and commands, with how each step is undone. If you confirm it, it is
applied step by step; the original state is saved under ` + remedy.DefaultDir + `.
Then the trap's check runs again: if it still finds the trap, everything is
rolled back.

A change that could cut your connection is undone automatically unless you run
fettle confirm in time, even if fettle, the connection or the host dies.

With --host, --hosts-file or --inventory, it fixes other hosts over SSH: it
shows the plan of each, asks once, and applies them in batches. It stops after
the batch with the first failure, and confirms over a new connection.` + StatusHelp,
		Example: `  fettle fix bridge-mtu --plan
  fettle fix bridge-mtu --on br0
  fettle fix bridge-mtu --on br0 --plan --format sh > fix.sh
  fettle fix bridge-mtu --hosts-file hosts.txt --sudo --batch 10`,
		Args:              app.OneTrap,
		ValidArgsFunction: a.CompleteTraps,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.fleet.Asked():
				return Status(fixFleet(cmd.Context(), a, args[0], o, cmd.Flags().Changed("host-limit")))
			case o.Batch != defaultBatch:
				return app.Usagef("--batch is about many hosts: it goes with --host")
			case o.Format == "json":
				return fixDocument(cmd.Context(), a, args[0], o)
			}
			return Status(fix(cmd.Context(), a, args[0], o))
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.On, "on", nil, "fix only the finding on this `SUBJECT`; may be repeated")
	c.RegisterFlagCompletionFunc("on", a.CompleteFound)
	f.StringArrayVar(&o.With, "with", nil, "set remedy option `NAME=VALUE` (fettle explain --all TRAP lists them); may be repeated")
	f.BoolVar(&o.Plan, "plan", false, "show the plan and change nothing")
	o.Format = "text"
	app.WordFlag(c, &o.Format, "format", "`FORMAT`: text or json; of the plan also sh or ansible", "text", "json", "sh", "ansible")
	f.BoolVar(&o.Network, "network", false, "with --plan: let the check talk to other hosts (applying does)")
	f.DurationVar(&o.Limit, "limit", 0, "stop the check after this `TIME` (default: the trap's own)")
	f.BoolVar(&o.Yes, "yes", false, "do not ask (steps that cannot be undone need --yes-irreversible too)")
	f.BoolVar(&o.Irreversible, "yes-irreversible", false, "with --yes: also apply steps that cannot be undone")
	f.DurationVar(&o.Confirm, "confirm-within", 0, "undo unless fettle confirm comes within this `TIME` (5m where the connection can be cut)")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "show each step of the plan, even if many files have the same change")
	f.BoolVar(&o.Wait, "wait", false, "wait for another running fettle")
	f.StringVar(&o.AsPlanned, "as-planned", "", "apply only the plan of this `DIGEST`, from --plan --format json")
	f.IntVar(&o.Batch, "batch", defaultBatch, "change `NUMBER` hosts at a time")
	o.fleet.Flags(c)
	return c
}

// SetUp plans what a trap's remedy sets up where nothing is wrong, and applies
// it as a fix.
func SetUp(ctx context.Context, a *app.App, t *trap.Trap, o Options) error {
	o.Format, o.setUp = "text", true
	f := t.Setup.Finding
	f.Trap, f.Severity, f.Status = t.ID(), trap.Notice, trap.Found
	if o.Subject != "" {
		f.Subject = o.Subject
	}
	if err := o.valid(t); err != nil {
		return err
	}
	return mendAll(ctx, a, t, []trap.Finding{f}, o)
}

// asks tells whether the check may talk to other hosts: a plan is only shown, so that this
// has to be said.
func (o *Options) asks() bool { return !o.Plan || o.Network }

// valid refuses flags that cannot be meant.
func (o *Options) valid(t *trap.Trap) error {
	switch {
	case o.Format != "text" && !o.Plan:
		return app.Usagef("--format is about the plan; use it with --plan")
	case o.Limit < 0:
		return app.Usagef("--limit %s: must not be negative", o.Limit)
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
		return nil, app.Usagef("there is no terminal to ask on: see the plan (--plan), then give --yes")
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
	found, err := findings(ctx, a, t, o.On, looking{o.asks(), o.Limit})
	if err != nil {
		return err
	}
	o.doc.found(found)
	if len(found) == 0 {
		if wanted := o.wanted(t); len(wanted) > 0 {
			o.setUp = true
			return mendAll(ctx, a, t, wanted, o)
		}
		nothingToMend(a, t, o)
		return nil
	}
	if pack := a.RemedyOff(id); pack != "" {
		return app.Exit(exitNotDone, fmt.Errorf("fettle finds %s, but the remedies of pack %s are off; root turns them on in %s: "+
			"packs: {remedies: [%s]}", id, pack, config.File, pack))
	}
	if t.Plan == nil {
		return app.Exit(exitNotDone, fmt.Errorf("fettle finds %s but has no remedy to apply; what to do by hand: fettle explain %s", id, id))
	}
	return mendAll(ctx, a, t, found, o)
}

// wanted is what to set up where nothing is wrong, if the choice that asks for it
// was made, for the subjects that were named.
func (o *Options) wanted(t *trap.Trap) []trap.Finding {
	if t.Setup == nil || t.Setup.Choice == "" {
		return nil
	}
	if !slices.ContainsFunc(o.With, func(w string) bool { return strings.HasPrefix(w, t.Setup.Choice+"=") }) {
		return nil
	}
	var out []trap.Finding
	for _, subject := range app.Subjects(o.On) {
		f := t.Setup.Finding
		f.Trap, f.Severity, f.Status, f.Subject = t.ID(), trap.Notice, trap.Found, subject
		out = append(out, f)
	}
	return out
}

// nothingToMend says so: as a script or playbook that does nothing, where one
// was asked for.
func nothingToMend(a *app.App, t *trap.Trap, o Options) {
	where := "on this host"
	if len(o.On) > 0 {
		where = "on " + strings.Join(o.On, ", ")
	}
	if t.Talks && !o.asks() {
		where += " without asking other hosts (--network asks them)"
	}
	lead, rest := "", ""
	switch o.Format {
	case "sh":
		lead = "#!/bin/sh\n# "
	case "ansible":
		lead, rest = "---\n# ", "[]\n"
	}
	fmt.Fprintf(a.Stdout, "%s%s is not found %s: there is nothing to fix.\n%s", lead, t.ID(), ui.Visible(where), rest)
	if s := t.Setup; s != nil && s.Choice != "" && o.Format == "text" {
		fmt.Fprintf(a.Stdout, "To set it up anyway: fettle fix %s --on SUBJECT --with %s=VALUE\n", t.ID(), s.Choice)
	}
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

func sayApplied(a *app.App, c *remedy.Change, done string) {
	fmt.Fprintf(a.Stdout, "\n%s\nThis is change %s; to undo it: fettle undo %s\n", done, c.ID, c.ID)
	if deadline, due := c.Unconfirmed(); due {
		fmt.Fprintf(a.Stdout, "Now open a new login, to see that you still can, and run: fettle confirm %s\n"+
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
		answer := lineOf(ctx, in)
		if ctx.Err() != nil || !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
			return app.Exit(exitNotDone, errors.New(no))
		}
	}
	return nil
}

// lineOf is the next line, or nothing once ctx has ended: whoever was asked may be gone.
func lineOf(ctx context.Context, in *bufio.Reader) string {
	line := make(chan string, 1)
	go func() {
		s, _ := in.ReadString('\n')
		line <- s
	}()
	select {
	case s := <-line:
		return s
	case <-ctx.Done():
		return ""
	}
}

// engine is the engine of this host, telling what it does on standard output.
func engine(a *app.App, store *remedy.Store, who string, wait bool) *remedy.Engine {
	a.Act()
	e := &remedy.Engine{Store: store, Machine: machine.New(), Who: who, Wait: wait, Lasting: remedy.Lasting,
		Log: func(line string) { fmt.Fprintln(a.Stdout, "  "+ui.Visible(line)) }}
	if a.Change != nil {
		a.Change(e)
	}
	return e
}
