package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
	"fettle/internal/ui"
)

// target says where a trap is accepted: on one host, or on many.
type target struct {
	all   bool
	which filter
	host  string
	on    []string // subjects on that host
}

func (t *target) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&t.all, "all", false, "all hosts, also those that join later")
	t.which.flags(c)
	f.StringVar(&t.host, "host", "", "one `HOST`, by its name or ID")
	f.StringArrayVar(&t.on, "on", nil, "with --host, the finding on this `SUBJECT` only; may be repeated")
}

func (t *target) valid() error {
	switch {
	case count(t.all)+count(t.which.given())+count(t.host != "") != 1:
		return app.Usagef("where? give --host, or --group and --label, or --all")
	case len(t.on) > 0 && t.host == "":
		return app.Usagef("--on needs --host: on many hosts, a trap is accepted on all subjects")
	}
	_, err := t.which.scope()
	return err
}

func (p *program) acceptCmd() *cobra.Command {
	var where target
	var q api.RuleQuery
	c := &cobra.Command{
		Use: "accept TRAP --reason TEXT", Args: cobra.ExactArgs(1),
		Short: "Accept a trap on the hub, on one host or on many",
		Long: `Accepts a trap on one host, on a group, on a label or on all hosts: the hub does
not count it there. It counts again after --until, and when it gets more severe.

With --host, each finding of the trap on that host is accepted as it is now, and
counts again also when it changes. Otherwise new hosts and findings are accepted
too, up to --severity; unless given, that is the highest found there now.

fettle check on the hosts says what is accepted here, and counts it unless root
set hub: accept: true in the host's fettle.yaml.`,
		Example: `  fettle-hub accept bridge-mtu --host web1 --on br-lab --until 90d \
      --reason "the lab's switch does 1400"
  fettle-hub accept no-swap --group web --label env=test --reason "diskless"
  fettle-hub accept list`,
		RunE: p.withAPI("accept", func(ctx context.Context, args []string, a *api.API) error {
			if err := where.valid(); err != nil {
				return err
			}
			if strings.TrimSpace(q.Reason) == "" {
				return app.Usagef("accepting a trap needs --reason TEXT")
			}
			var err error
			if q.Until, err = app.LastDay(q.Until, time.Now().UTC()); err != nil {
				return err
			}
			q.Trap, q.Group, q.Label = args[0], where.which.group, where.which.label
			if where.host != "" {
				return p.acceptOnHost(ctx, a, &where, q)
			}
			if _, err := a.AcceptRule(ctx, q); err != nil {
				return err
			}
			r, err := ruleOf(ctx, a, q.Trap, &where)
			if err == nil {
				p.accepted(r.Trap, r.On(), "up to "+r.Severity, r.Until)
			}
			return err
		}),
	}
	where.flags(c)
	f := c.Flags()
	app.WordFlag(c, &q.Severity, "severity", "on many hosts, the highest `SEVERITY` that is accepted", "notice", "warning", "critical")
	f.StringVar(&q.Reason, "reason", "", "`TEXT` that says why")
	f.StringVar(&q.Until, "until", "", "the last `DATE` of the acceptance: 2027-01-31, or 90d from today")
	c.MarkFlagsMutuallyExclusive("host", "severity")
	c.AddCommand(p.acceptListCmd(), p.acceptRemoveCmd())
	return c
}

// withAPI runs a verb that acts as the page does, in the name of whoever runs it.
func (p *program) withAPI(verb string, run func(context.Context, []string, *api.API) error) func(*cobra.Command, []string) error {
	return p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
		a, err := api.New(api.Config{DB: db, Now: time.Now})
		if err != nil {
			return err
		}
		err = run(api.As(cmd.Context(), commandLine(verb)), args, a)
		var wrong *api.BadRequest
		if errors.As(err, &wrong) {
			return app.Usagef("%w", err)
		}
		return err
	})
}

func (p *program) accepted(what, on, as, until string) {
	if until != "" {
		as += ", until " + until
	}
	line := ui.Visible(fmt.Sprintf("accepted %s on %s (%s)", what, on, as))
	fmt.Fprint(p.Stdout, ui.Wrap(line, ui.Width(p.Stdout), "", "  "))
}

// acceptOnHost accepts the findings of a trap on one host, each by itself.
func (p *program) acceptOnHost(ctx context.Context, a *api.API, where *target, q api.RuleQuery) error {
	h, err := find(ctx, a.DB, where.host)
	if err != nil {
		return err
	}
	all, err := a.DB.Findings(ctx, h.ID, 0, agentsAtOnce)
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(all, func(f store.Finding) bool { return f.Trap != q.Trap || f.Outcome.Severity == 0 })
	if len(found) == 0 {
		return app.Usagef("%s is not found on %s, so there is nothing to accept", q.Trap, h.Name)
	}
	if found, err = only(found, app.Subjects(where.on)); err != nil {
		return app.Usagef("%s on %s: %w", q.Trap, h.Name, err)
	}
	for _, f := range found {
		one := api.AcceptQuery{Host: h.Agent, Trap: f.Trap, Subject: f.Subject, Reason: q.Reason, Until: q.Until}
		if _, err := a.Accept(ctx, one); err != nil {
			return err
		}
		p.accepted(f.Outcome.ID(), h.Name, f.Severity+", until it changes", q.Until)
	}
	return nil
}

// only picks the findings on some subjects; without any, all.
func only(found []store.Finding, subjects []string) ([]store.Finding, error) {
	var out []store.Finding
	var there []string
	for _, f := range found {
		there = append(there, ui.Quote(f.Subject))
		if len(subjects) == 0 || slices.Contains(subjects, f.Subject) {
			out = append(out, f)
		}
	}
	for _, s := range subjects {
		if !slices.ContainsFunc(out, func(f store.Finding) bool { return f.Subject == s }) {
			return nil, fmt.Errorf("not found on %s, but on %s", ui.Quote(s), strings.Join(there, ", "))
		}
	}
	return out, nil
}

// ruleOf is the rule that accepts a trap on just these hosts.
func ruleOf(ctx context.Context, a *api.API, trapID string, where *target) (r store.Rule, err error) {
	l, err := a.Rules(ctx, api.Nothing{})
	if err != nil {
		return r, err
	}
	g := groupOf(where.which.group)
	for _, r := range l.Rules {
		if r.Trap == trapID && r.Label == where.which.label && (r.Group == nil) == (g == nil) && (g == nil || *g == *r.Group) {
			return r, nil
		}
	}
	return r, app.Usagef("%s is not accepted on just these hosts: fettle-hub accept list shows what is", trapID)
}

func (p *program) acceptRemoveCmd() *cobra.Command {
	var where target
	c := &cobra.Command{
		Use: "remove TRAP", Args: cobra.ExactArgs(1),
		Short: "Take an acceptance back",
		Long: `Takes an acceptance back: name the trap and the hosts as they were accepted.
With --host, all acceptances of the trap on that host end, or those of --on.`,
		Example: `  fettle-hub accept remove no-swap --group web --label env=test
  fettle-hub accept remove bridge-mtu --host web1 --on br-lab`,
		RunE: p.withAPI("accept remove", func(ctx context.Context, args []string, a *api.API) error {
			if err := where.valid(); err != nil {
				return err
			}
			if where.host != "" {
				return removeOnHost(ctx, a, args[0], &where)
			}
			r, err := ruleOf(ctx, a, args[0], &where)
			if err == nil {
				_, err = a.RemoveRule(ctx, api.RemoveRuleQuery{ID: r.ID})
			}
			return err
		}),
	}
	where.flags(c)
	return c
}

func removeOnHost(ctx context.Context, a *api.API, trapID string, where *target) error {
	h, err := find(ctx, a.DB, where.host)
	if err != nil {
		return err
	}
	list, err := a.DB.Acceptances(ctx, store.Everything, h.ID, 0, agentsAtOnce)
	if err != nil {
		return err
	}
	subjects := app.Subjects(where.on)
	list = slices.DeleteFunc(list, func(x store.Accepted) bool {
		return x.Trap != trapID || len(subjects) > 0 && !slices.Contains(subjects, x.Subject)
	})
	if len(list) == 0 {
		return app.Usagef("%s is not accepted for %s alone: fettle-hub accept list shows what is", trapID, h.Name)
	}
	for _, x := range list {
		if _, err := a.Unaccept(ctx, api.UnacceptQuery{Host: h.Agent, Trap: x.Trap, Subject: x.Subject}); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) acceptListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: cobra.NoArgs,
		Short: "List what is accepted on the hub, the newest first",
		RunE: p.withAPI("accept list", func(ctx context.Context, _ []string, a *api.API) error {
			rules, err := a.Rules(ctx, api.Nothing{})
			if err != nil {
				return err
			}
			single, err := a.DB.Acceptances(ctx, store.Everything, 0, 0, agentsAtOnce)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, r := range rules.Rules {
				rows = append(rows, []string{r.Trap, r.On(), "any", r.Severity, r.Until, r.Who, r.Reason})
			}
			for _, x := range single {
				rows = append(rows, []string{x.Trap, x.Host.Name, x.Subject, x.Severity, x.Until, x.Who, x.Reason})
			}
			p.list("TRAP ON SUBJECT SEVERITY UNTIL BY REASON", rows)
			return nil
		}),
	}
}
