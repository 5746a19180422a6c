package fix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/engine/remedy/machine"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/build"
	"fettle/internal/ui"
)

// mending is what one run of fix is about to do: one change, for one finding or
// for several.
type mending struct {
	trap     *trap.Trap
	findings []trap.Finding // that are fixed
	parts    []remedy.Part  // of these
	plan     remedy.Plan
	refused  []refusal
}

// refusal is the remedy's no to one finding: no reason to leave the others.
type refusal struct {
	finding trap.Finding
	err     error
}

// mendAll shows the plan for all findings, or applies it.
func mendAll(ctx context.Context, a *app.App, t *trap.Trap, found []trap.Finding, o Options) error {
	m, err := planAll(ctx, a, t, found, o.With)
	if err != nil {
		return err
	}
	if err := o.doc.planned(m); err != nil {
		return err
	}
	switch {
	case len(m.findings) == 0:
		return refusals(m.refused)
	case o.Plan:
		if err := m.show(a, o); err != nil {
			return err
		}
		return refusals(m.refused)
	}
	store, err := openStore(a, o)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := m.apply(ctx, a, store, o); err != nil {
		return err
	}
	return refusals(m.stillFound(ctx, a, o))
}

// planAll asks the trap for a plan for each finding, each made from the host as
// the plans before leave it, and joins them.
func planAll(ctx context.Context, a *app.App, t *trap.Trap, found []trap.Finding, with []string) (*mending, error) {
	src, err := a.OpenLive()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	ahead := &planned{Source: src, files: map[string]file{}, values: map[string]string{}}
	m := &mending{trap: t}
	var plans []remedy.Plan
	for _, f := range found {
		f, err := t.Choose(f, with)
		if err != nil {
			return nil, app.Usagef("--with %w", err)
		}
		p, err := t.Plan(ctx, host.New(ahead), f)
		var no *remedy.Refusal
		switch {
		case errors.As(err, &no):
			m.refused = append(m.refused, refusal{f, err})
			continue
		case err != nil:
			return nil, fmt.Errorf("planning for %s: %w", ui.Visible(f.ID()), err)
		case len(p.Steps) == 0:
			return nil, fmt.Errorf("the remedy of %s planned no steps, which is a bug in fettle", ui.Visible(f.ID()))
		}
		ahead.add(p)
		plans = append(plans, p)
		m.findings = append(m.findings, f)
		m.parts = append(m.parts, remedy.Part{Subject: f.Subject, Summary: f.Summary, Vanishes: p.Vanishes})
	}
	switch len(plans) {
	case 0:
	case 1:
		m.plan = plans[0]
	default:
		m.plan = remedy.Join(fmt.Sprintf("fix %d findings of %s", len(plans), t.ID()), plans)
	}
	m.plan.Notes = append(ownedNotes(ctx, host.New(src), t.ID(), m.plan), m.plan.Notes...)
	return m, nil
}

// show writes the plan in a format.
func (m *mending) show(a *app.App, o Options) (err error) {
	if o.Format != "text" {
		if err := remedy.Exportable(machine.New(), m.plan); err != nil {
			return err
		}
	}
	var out string
	switch o.Format {
	case "sh":
		out, err = remedy.Script(m.plan)
	case "ansible":
		out, err = remedy.Playbook(m.plan)
	default:
		out = m.text(ui.Width(a.Stdout), o.Verbose)
	}
	if err == nil {
		_, err = fmt.Fprint(a.Stdout, out)
	}
	return err
}

// text is the findings, those that say the same together, and the plan.
func (m *mending) text(w int, verbose bool) string {
	var b strings.Builder
	var order []string
	subjects := map[string][]string{}
	for _, f := range m.findings {
		if subjects[f.Summary] == nil {
			order = append(order, f.Summary)
		}
		subjects[f.Summary] = append(subjects[f.Summary], f.Subject)
	}
	for _, summary := range order {
		about := trap.Outcome{Trap: m.trap.ID(), Subject: ui.Few(subjects[summary], 3)}
		b.WriteString(ui.Wrap(ui.Visible(about.ID()+": "+summary), w, "", "  "))
	}
	return b.String() + "\n" + remedy.Text(m.plan, remedy.TextOptions{Width: w, All: verbose, Now: nowAt})
}

// nowAt is how a file stands now; nil where nobody can look.
func nowAt(path string) *machine.Image {
	m := machine.New()
	real, err := m.Resolve(path)
	if err != nil {
		return nil
	}
	img, err := m.Look(real, false)
	if err != nil {
		return nil
	}
	return &img
}

// apply asks, and carries the plan out as one change.
func (m *mending) apply(ctx context.Context, a *app.App, store *remedy.Store, o Options) error {
	within := o.Confirm
	if m.plan.CutsConnection && within == 0 {
		within = confirmDefault
	}
	if within > 0 && within <= m.plan.Settle {
		return app.Usagef("this remedy needs up to %s to show its effect; give --confirm-within more than that", m.plan.Settle)
	}
	seen, err := remedy.Survey(machine.New(), m.plan)
	if err != nil {
		return err
	}
	if o.AsPlanned != "" {
		if is, err := m.digest(); err != nil || is != o.AsPlanned {
			return cmp.Or(err, remedy.Refuse("the plan is no longer the one that was shown: review it again"))
		}
	}
	fmt.Fprint(a.Stdout, m.text(ui.Width(a.Stdout), o.Verbose), "\n")
	if err := ask(ctx, a, m.plan, o); err != nil {
		return err
	}
	outliveTerminal()
	head := remedy.Head{Version: build.Version(), By: app.Whoami(), Trap: m.trap.ID(), ConfirmWithin: within, Plan: m.plan, Seen: seen}
	m.name(&head)
	c, err := engine(a, store, "fettle fix "+head.For(), o.Wait).Apply(ctx, head, verify(a, m.trap, looking{true, o.Limit}, m.parts, m.plan))
	if err != nil {
		return err
	}
	o.doc.applied(c)
	sayApplied(a, c, m.done(o.setUp))
	return nil
}

// name says in a change's head what it is for.
func (m *mending) name(h *remedy.Head) {
	if len(m.parts) == 1 {
		h.Subject, h.Summary = m.parts[0].Subject, m.parts[0].Summary
		return
	}
	var names []string
	for _, p := range m.parts {
		names = append(names, p.Subject)
	}
	h.Parts, h.Subject, h.Summary = m.parts, ui.Few(names, 3), fmt.Sprintf("%d findings", len(names))
}

// done is what can be said of the findings once they are fixed.
func (m *mending) done(setUp bool) string {
	switch {
	case setUp:
		return "Set up: the check finds nothing wrong with it."
	case len(m.findings) > 1:
		return "Fixed: the check no longer finds them."
	}
	return "Fixed: the check no longer finds it."
}

// stillFound are those of the refused findings that what was done for the others
// has not fixed too.
func (m *mending) stillFound(ctx context.Context, a *app.App, o Options) []refusal {
	if len(m.refused) == 0 {
		return nil
	}
	outcomes, err := look(ctx, a, m.trap, looking{true, o.Limit})
	if err != nil {
		return m.refused
	}
	var out []refusal
	for _, r := range m.refused {
		if mended(outcomes, remedy.Part{Subject: r.finding.Subject}) != nil {
			out = append(out, r)
		}
	}
	return out
}

func refusals(all []refusal) error {
	if len(all) == 0 {
		return nil
	}
	var errs []error
	for _, r := range all {
		errs = append(errs, fmt.Errorf("%s: %w", ui.Visible(r.finding.ID()), r.err))
	}
	return app.Exit(exitNotDone, errors.Join(errs...))
}
