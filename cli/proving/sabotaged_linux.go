package proving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"fettle/cli"
	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/lab"
	"fettle/lab/sabotage"
	"fettle/traps"
	"fettle/traps/proofs"
)

// sabotaged is the hidden verb lab.SabotagedVerb TRAP SABOTAGE VERB…, in guests
// alone: fettle's own command line, with a plan that was spoilt on purpose.
func sabotaged(args []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if _, err := os.Stat(lab.OrdersFile); err != nil {
		return 0, errors.New("this verb is for the guests of fettle lab alone")
	}
	if len(args) < 3 {
		return 0, app.Usagef("expected TRAP SABOTAGE VERB...")
	}
	id, name, verb := args[0], args[1], args[2:]
	var spoil spoiling
	slips, told := map[string]bool{}, stdout
	slip, made := strings.CutPrefix(name, lab.SlipPrefix)
	switch {
	case name == lab.ListSlips:
		spoil, verb, stdout = listed(slips), append(verb, "--plan"), io.Discard
	case made:
		spoil = slipped(slip)
	default:
		s, ok := proofs.FindSabotage(id, name)
		if !ok {
			return 0, fmt.Errorf("%s has no sabotage %q", id, name)
		}
		spoil = s.Spoil
	}
	all := traps.All()
	for i, t := range all {
		if t.ID() == id {
			all[i] = spoilt(t, spoil)
		}
	}
	code := cli.MainOn(all, func(e *remedy.Engine) { e.Guard.Program = lab.GuestFettle }, verb, stdin, stdout, stderr)
	for _, slip := range slices.Sorted(maps.Keys(slips)) {
		fmt.Fprintln(told, lab.SlipPrefix+slip)
	}
	return code, nil
}

type spoiling func([]step.Step) ([]step.Step, error)

// listed notes the slips that plans allow, and makes none.
func listed(names map[string]bool) spoiling {
	return func(steps []step.Step) ([]step.Step, error) {
		for _, s := range sabotage.Slips(steps) {
			names[s.Name] = true
		}
		return steps, nil
	}
}

// slipped makes the slip in the plans that allow it.
func slipped(name string) spoiling {
	return func(steps []step.Step) ([]step.Step, error) {
		if out, err := sabotage.Made(name)(steps); err == nil {
			return out, nil
		}
		return steps, nil // of another finding
	}
}

// spoilt is the trap with its plans spoilt.
func spoilt(t *trap.Trap, spoil spoiling) *trap.Trap {
	bad := *t
	bad.Plan = func(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
		p, err := t.Plan(ctx, h, f)
		if err == nil {
			p.Steps, err = spoil(p.Steps)
		}
		return p, err
	}
	return &bad
}
