package remedy

import (
	"encoding/json"
	"slices"

	"fettle/engine/remedy/step"
)

// Part is what one of several findings has in a change that fixes them all.
type Part struct {
	Subject string `json:"subject"`
	Summary string `json:"summary,omitempty"`
	// Vanishes is that of the finding's own plan.
	Vanishes string `json:"vanishes,omitempty"`
}

// Join makes one plan of several, in their order; each was made from a host on
// which the ones before were carried out. What a plan repeats at its end (a
// service reads its files again) is done once, at the last time.
func Join(title string, plans []Plan) Plan {
	out := Plan{Title: title}
	var later []string // what the plans after this one repeat
	for i := len(plans) - 1; i >= 0; i-- {
		p := plans[i]
		steps := slices.Clone(p.Steps)
		end := len(steps)
		for end > 0 && repeats(steps[end-1]) {
			end--
		}
		tail := slices.DeleteFunc(steps[end:], func(s step.Step) bool { return slices.Contains(later, identity(s)) })
		for _, s := range tail {
			later = append(later, identity(s))
		}
		out.Steps = append(append(steps[:end:end], tail...), out.Steps...)
		out.CutsConnection = out.CutsConnection || p.CutsConnection
		out.Settle = max(out.Settle, p.Settle)
	}
	for _, p := range plans {
		for _, n := range p.Notes {
			if !slices.Contains(out.Notes, n) {
				out.Notes = append(out.Notes, n)
			}
		}
	}
	return out
}

func repeats(s step.Step) bool {
	r, ok := s.(step.Repeated)
	return ok && r.Repeats()
}

// identity is equal for steps that do the same.
func identity(s step.Step) string {
	b, _ := json.Marshal(s)
	return s.Kind() + string(b)
}
