package fix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle/cli/app"
	"fettle/internal/ui"
	"fettle/remedy"
	"fettle/trap"
)

// look runs one check on the live host and returns its outcomes.
func look(ctx context.Context, a *app.App, t *trap.Trap) ([]trap.Outcome, error) {
	var out []trap.Outcome
	opt := trap.Options{Network: t.Talks}
	if t.Cost == trap.Sampled || t.Samples {
		opt.Interval = 10 * time.Second
	}
	err := a.CheckLive(ctx, []*trap.Trap{t}, opt, func(r trap.Result) { out = r.Outcomes })
	return out, err
}

// findings returns what is to be mended; none when there is nothing. What could not be looked at is an error of status 4.
func findings(ctx context.Context, a *app.App, t *trap.Trap, on []string) ([]trap.Finding, error) {
	on = app.Subjects(on)
	outcomes, err := look(ctx, a, t)
	if err != nil {
		return nil, err
	}
	var found []trap.Finding
	var unknown []string
	seen := map[string]bool{}
	for _, o := range outcomes {
		seen[o.Subject] = true
		if len(on) > 0 && !slices.Contains(on, o.Subject) && !(o.Subject == "" && o.Status == trap.Unknown) {
			continue
		}
		switch o.Status {
		case trap.Found:
			found = append(found, o)
		case trap.Unknown:
			unknown = append(unknown, ui.Visible(o.ID()+": "+o.Reason))
		}
	}
	if len(found) == 0 && len(unknown) > 0 {
		return nil, app.Exit(app.ExitUnknown, fmt.Errorf("could not inspect the host, so nothing was changed:\n  %s", strings.Join(unknown, "\n  ")))
	}
	for _, u := range unknown {
		fmt.Fprint(a.Stderr, ui.Paragraphs("fettle: could not inspect "+u, a.Stderr))
	}
	for _, s := range on {
		if !seen[s] {
			return nil, app.Usagef("the check of %s found no subject %q here; fettle check -v %s shows them", t.ID(), s, t.ID())
		}
	}
	return found, nil
}

// verify is the trap's own check, asked about the subject that a plan mends.
func verify(a *app.App, t *trap.Trap, subject string, p remedy.Plan) remedy.Verify {
	return func(ctx context.Context) error {
		outcomes, err := look(ctx, a, t)
		if err != nil {
			return err
		}
		return mended(outcomes, subject, p.Vanishes)
	}
}

// mended wants the very subject clear. That a check says nothing of it any
// more, or that it does not apply, mends nothing, unless the plan says why the
// subject vanishes.
func mended(outcomes []trap.Outcome, subject, vanishes string) error {
	var of *trap.Outcome
	for i, o := range outcomes {
		switch {
		case o.Status == trap.Found && o.Subject == subject:
			return &remedy.StillFound{Summary: o.Summary}
		case o.Status == trap.Unknown && (o.Subject == subject || o.Subject == ""):
			return errors.New(o.Reason)
		case o.Subject == subject:
			of = &outcomes[i]
		}
	}
	switch {
	case of != nil && of.Status == trap.Clear, of == nil && vanishes != "":
		return nil
	case of != nil:
		return fmt.Errorf("the check calls it neither found nor clear, but %s: %s", of.Status, of.Reason)
	}
	return errors.New("the check does not speak of it any more")
}

// refusals are those of the remedy itself: that it cannot mend one finding is
// no reason to leave the others.
type refusals []error

// add keeps err when it is one.
func (r *refusals) add(f trap.Finding, err error) bool {
	var refusal *remedy.Refusal
	if !errors.As(err, &refusal) {
		return false
	}
	*r = append(*r, fmt.Errorf("%s: %w", ui.Visible(f.ID()), err))
	return true
}

func (r refusals) err() error {
	if len(r) == 0 {
		return nil
	}
	return app.Exit(exitNotDone, errors.Join(r...))
}
