package fix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/internal/ui"
)

// looking says how a check is run for a fix.
type looking struct {
	network bool          // a check that talks to other hosts may
	limit   time.Duration // 0: the check's own
}

// look runs one check on the live host and returns its outcomes.
func look(ctx context.Context, a *app.App, t *trap.Trap, l looking) ([]trap.Outcome, error) {
	var out []trap.Outcome
	opt := trap.Options{Network: t.Talks && l.network, Limit: l.limit}
	if t.Cost == trap.Sampled || t.Samples {
		opt.Interval = 10 * time.Second
	}
	err := a.CheckLive(ctx, []*trap.Trap{t}, opt, func(r trap.Result) { out = r.Outcomes })
	return out, err
}

// findings returns what is to be fixed; none when there is nothing. What could not be looked at is an error of status 4.
func findings(ctx context.Context, a *app.App, t *trap.Trap, on []string, l looking) ([]trap.Finding, error) {
	outcomes, err := look(ctx, a, t, l)
	if err != nil {
		return nil, err
	}
	return chosen(a, t, outcomes, app.Subjects(on))
}

// chosen are the findings about the subjects that were named; none named is all.
func chosen(a *app.App, t *trap.Trap, outcomes []trap.Outcome, on []string) ([]trap.Finding, error) {
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
			unknown = append(unknown, ui.Visible(o.ID()+": "+o.Reason+longer(o)))
		}
	}
	if len(found) == 0 && len(unknown) > 0 {
		return nil, app.Exit(
			app.ExitUnknown,
			fmt.Errorf("could not inspect the host, so nothing was changed:\n  %s", strings.Join(unknown, "\n  ")),
		)
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

// longer names the option that gives a check more time, where that is what it lacked.
func longer(o trap.Outcome) string {
	limit, ok := trap.TookTooLong(o.Reason)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; fettle fix --limit %s %s gives it longer", limit, ui.Quote(o.Trap))
}

// verify is the trap's own check: it must no longer find what the plan fixes, nor
// anything else in the files that the plan writes.
func verify(a *app.App, t *trap.Trap, l looking, parts []remedy.Part, plan remedy.Plan) remedy.Verify {
	return func(ctx context.Context) error {
		outcomes, err := look(ctx, a, t, l)
		if err != nil {
			return err
		}
		if err := allMended(outcomes, parts); err != nil {
			return err
		}
		return brought(outcomes, plan)
	}
}

// brought finds what the plan itself set: a finding whose evidence is in what the plan
// wrote. Findings elsewhere are as they were, or came by themselves meanwhile.
func brought(outcomes []trap.Outcome, plan remedy.Plan) error {
	for _, o := range outcomes {
		if o.Status != trap.Found || o.Severity < trap.Warning { // what is worth a notice the plan says itself
			continue
		}
		for _, e := range o.Evidence {
			for _, s := range plan.Steps {
				if line, ok := written(s, e.Source); ok {
					return &remedy.StillFound{Summary: fmt.Sprintf("%s: %s (%s, which this change wrote)", o.Subject, o.Summary, line)}
				}
			}
		}
	}
	return nil
}

// written tells whether a source of evidence, "FILE:LINE", is a line that a step put into
// its file and that was not there before.
func written(s step.Step, source string) (string, bool) {
	f, ok := s.(step.File)
	if !ok {
		return "", false
	}
	rest, ok := strings.CutPrefix(source, f.Path+":")
	n, err := strconv.Atoi(rest)
	now := strings.Split(string(f.Content), "\n")
	if !ok || err != nil || n < 1 || n > len(now) || slices.Contains(strings.Split(string(f.Was), "\n"), now[n-1]) {
		return "", false
	}
	return source, true
}

// allMended wants every subject mended; the error names the first that is not,
// and how many others.
func allMended(outcomes []trap.Outcome, parts []remedy.Part) error {
	var first error
	more := 0
	for _, p := range parts {
		err := mended(outcomes, p)
		var still *remedy.StillFound
		switch {
		case err == nil:
		case first != nil:
			more++
		case len(parts) == 1:
			first = err
		case errors.As(err, &still):
			first = &remedy.StillFound{Summary: p.Subject + ": " + still.Summary}
		default:
			first = fmt.Errorf("%s: %w", ui.Visible(p.Subject), err)
		}
	}
	if more > 0 {
		return fmt.Errorf("%w (the same applies to %d more of the %d findings; --on fixes them one by one)", first, more, len(parts))
	}
	return first
}

// mended wants the very subject clear. That a check says nothing of it any
// more, or that it does not apply, fixes nothing, unless the plan says why the
// subject vanishes.
func mended(outcomes []trap.Outcome, part remedy.Part) error {
	subject := part.Subject
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
	case of != nil && of.Status == trap.Clear, of == nil && part.Vanishes != "":
		return nil
	case of != nil:
		return fmt.Errorf("the check calls it neither found nor clear, but %s: %s", of.Status, of.Reason)
	}
	return errors.New("the check does not speak of it any more")
}
