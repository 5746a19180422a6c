package paste

import (
	"context"

	"fettle/engine/trap"
	"fettle/host"
)

// Checked runs the checks of traps on the host of a paste, and is what they find. What
// they would find on a host of which nothing is known is left out, and so is all that they
// do not find: most of the host was not pasted.
func Checked(ctx context.Context, h *host.Host, traps []*trap.Trap) []trap.Result {
	type id struct{ trap, subject string }
	known := map[id]bool{}
	each := func(h *host.Host, do func(trap.Result)) {
		var instant []*trap.Trap
		for _, t := range traps {
			if t.Cost == trap.Instant {
				instant = append(instant, t)
			}
		}
		trap.Run(ctx, h, instant, trap.Options{}, do)
	}
	each(Empty(), func(r trap.Result) {
		for _, o := range r.Outcomes {
			if o.Status == trap.Found {
				known[id{r.Trap, o.Subject}] = true
			}
		}
	})
	var out []trap.Result
	each(h, func(r trap.Result) {
		var found []trap.Outcome
		for _, o := range r.Outcomes {
			if o.Status == trap.Found && !known[id{r.Trap, o.Subject}] {
				found = append(found, o)
			}
		}
		if len(found) > 0 {
			r.Outcomes = found
			out = append(out, r)
		}
	})
	return out
}
