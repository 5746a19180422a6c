package proving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"fettle/cli"
	"fettle/cli/app"
	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/lab"
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
	s, ok := proofs.FindSabotage(args[0], args[1])
	if !ok {
		return 0, fmt.Errorf("%s has no sabotage %q", args[0], args[1])
	}
	all := traps.All()
	for i, t := range all {
		if t.ID() == args[0] {
			all[i] = spoilt(t, s)
		}
	}
	return cli.MainOn(all, func(e *remedy.Engine) { e.Guard.Program = lab.GuestFettle }, args[2:], stdin, stdout, stderr), nil
}

// spoilt is the trap with its plans spoilt.
func spoilt(t *trap.Trap, s proofs.Sabotage) *trap.Trap {
	bad := *t
	bad.Plan = func(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
		p, err := t.Plan(ctx, h, f)
		if err == nil {
			p.Steps, err = s.Spoil(p.Steps)
		}
		return p, err
	}
	return &bad
}
