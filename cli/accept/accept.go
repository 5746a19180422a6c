package accept

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/engine/trap"
	"fettle/internal/jsondoc"
	"fettle/internal/ui"
	"fettle/report/accept"
)

type acceptOptions struct {
	on            []string
	reason, until string
	file          string
	list          bool
	remove        string
	format        string
}

// Cmd is fettle accept.
func Cmd(a *app.App) *cobra.Command {
	var o acceptOptions
	c := &cobra.Command{
		Use:   "accept TRAP --reason TEXT",
		Short: "Accept a finding of this host, so that check does not count it",
		Long: `Accept a finding of this host: check hides it unless -v, and does not count it,
until the acceptance ends or the finding changes. The trap's check runs first,
so only existing findings can be accepted. Without --on, every finding of the
trap is accepted separately.

Accepted findings are stored in ` + accept.System + `; those of a user
other than root in $XDG_CONFIG_HOME/fettle/accepted.yaml, in addition to the
system's file. You may edit the file: an entry without severity and summary
accepts any.

Exit status:
  0  done
  2  usage error, no such finding, or a file with a mistake
  3  the file could not be written`,
		Example: `  fettle accept bridge-mtu --on br-lab --until 2027-06-30 \
      --reason "the lab's switch does 1400"
  fettle accept --list
  fettle accept --remove bridge-mtu:br-lab`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteTraps,
		RunE:              func(cmd *cobra.Command, args []string) error { return add(cmd.Context(), a, o, args) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.on, "on", nil, "accept the finding on this `SUBJECT` only; may be repeated")
	c.RegisterFlagCompletionFunc("on", a.CompleteFound)
	f.StringVar(&o.reason, "reason", "", "`TEXT` that says why")
	f.StringVar(&o.until, "until", "", "the last `DATE` of the acceptance: 2027-01-31, or 90d from today")
	f.StringVar(&o.file, "accepted", "", "use this `FILE` instead of the default one")
	f.BoolVar(&o.list, "list", false, "list what is accepted")
	f.StringVar(&o.remove, "remove", "", "stop accepting the finding `ID` (TRAP:SUBJECT, as --list shows it)")
	app.FormatFlag(c, &o.format, "text", "json")
	c.MarkFlagsMutuallyExclusive("list", "remove")
	return c
}

func add(ctx context.Context, a *app.App, o acceptOptions, args []string) error {
	if (o.list || o.remove != "") && (len(args) > 0 || len(o.on) > 0 || o.reason != "" || o.until != "") {
		return app.Usagef("--list and --remove take no TRAP, --on, --reason or --until")
	}
	file := o.file
	if file == "" && !o.list {
		own, err := accept.Own()
		if err != nil {
			return app.Usagef("%w; name a file with --accepted", err)
		}
		file = own
	}
	switch {
	case o.list:
		return acceptList(a, o)
	case o.remove != "":
		return acceptError(accept.Remove(file, o.remove))
	case len(args) == 0:
		return app.Usagef("which trap? fettle accept TRAP --reason TEXT, or --list, or --remove ID")
	case strings.TrimSpace(o.reason) == "":
		return app.Usagef("accepting a finding needs --reason TEXT")
	}
	until, err := app.LastDay(o.until, time.Now())
	if err != nil {
		return err
	}
	traps, err := a.Find(args)
	if err != nil {
		return err
	}
	if _, err := accept.Load(file); err != nil {
		return app.Usagef("%w", err) // before the check is run
	}
	found, err := acceptable(ctx, a, traps[0], o.on)
	if err != nil {
		return err
	}
	for _, f := range found {
		e := accept.Entry{Trap: f.Trap, Subject: f.Subject, Severity: f.Severity.String(), Summary: f.Summary,
			Reason: o.reason, Until: until, By: app.Whoami(), On: time.Now().Format(time.DateOnly)}
		if err := acceptError(accept.Add(file, e)); err != nil {
			return err
		}
		end := "until it changes"
		if until != "" {
			end = "until " + until + ", or until it changes"
		}
		fmt.Fprint(
			a.Stdout,
			ui.Wrap(fmt.Sprintf("accepted %s: %s (%s)", ui.Visible(f.ID()), ui.Visible(f.Summary), end), ui.Width(a.Stdout), "", "  "),
		)
	}
	return nil
}

func acceptError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrInvalid):
		return app.Failf("%w", err)
	}
	return app.Usagef("%w", err)
}

// acceptable runs the trap's check on this host and returns what it found, on
// one subject or on all.
func acceptable(ctx context.Context, a *app.App, t *trap.Trap, on []string) ([]trap.Finding, error) {
	var found []trap.Finding
	on = app.Subjects(on)
	var others, unknown []string
	opt := trap.Options{Network: t.Talks} // what check --network found can be accepted
	if t.Cost == trap.Sampled || t.Samples {
		opt.Interval = 10 * time.Second
	}
	err := a.CheckLive(ctx, []*trap.Trap{t}, opt, func(r trap.Result) {
		for _, o := range r.Outcomes {
			switch {
			case o.Status == trap.Found && (len(on) == 0 || slices.Contains(on, o.Subject)):
				found = append(found, o)
			case o.Status == trap.Found:
				others = append(others, ui.Visible(o.Subject))
			case o.Status == trap.Unknown:
				unknown = append(unknown, ui.Visible(strings.TrimLeft(o.Subject+": "+o.Reason, ": ")))
			}
		}
	})
	if err != nil {
		return nil, app.Failf("checking %s: %w", t.ID(), err)
	}
	missing := slices.DeleteFunc(slices.Clone(on), func(s string) bool {
		return slices.ContainsFunc(found, func(f trap.Finding) bool { return f.Subject == s })
	})
	if len(found) > 0 && len(missing) == 0 {
		return found, nil
	}
	msg := t.ID() + " is not found here"
	if len(missing) > 0 {
		for i := range missing {
			missing[i] = ui.Quote(missing[i])
		}
		msg = fmt.Sprintf("%s is not found on %s", t.ID(), strings.Join(missing, ", "))
	}
	msg += ", so there is nothing to accept"
	if len(others) > 0 {
		msg += "; it is found on " + strings.Join(others, ", ")
	}
	if len(unknown) > 0 {
		msg += "; some could not be inspected: " + strings.Join(unknown, "; ")
	}
	return nil, app.Usagef("%s", msg)
}

func acceptList(a *app.App, o acceptOptions) error {
	l, err := a.Acceptances(o.file)
	if err != nil {
		return err
	}
	switch o.format {
	case "json":
		if l.Entries == nil {
			l.Entries = []accept.Entry{}
		}
		return a.JSON(document{jsondoc.New("accepted"), l.Entries})
	}
	if len(l.Entries) == 0 {
		fmt.Fprintln(a.Stdout, "nothing is accepted")
	}
	width, today := ui.Width(a.Stdout), time.Now().Format(time.DateOnly)
	for _, e := range l.Entries {
		end := "no end"
		switch {
		case e.Until != "" && e.Until < today:
			end = "ended on " + e.Until
		case e.Until != "":
			end = "until " + e.Until
		}
		if e.By != "" {
			end += ", by " + e.By
		}
		if e.On != "" {
			end += " on " + e.On
		}
		if len(a.Traps) > 0 && a.Title(e.Trap) == "" {
			end += "; this fettle knows no such trap"
		}
		fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible(e.ID()+" ("+end+")"), width, "", "  "))
		if e.Summary != "" {
			fmt.Fprint(a.Stdout, ui.Wrap(ui.Visible(e.Severity+": "+e.Summary), width, "  ", "  "))
		}
		fmt.Fprint(a.Stdout, ui.Wrap("because: "+ui.Visible(e.Reason), width, "  ", "  "))
	}
	return nil
}

// document is what is accepted, as JSON.
type document struct {
	jsondoc.Envelope
	Accepted []accept.Entry `json:"accepted"`
}
