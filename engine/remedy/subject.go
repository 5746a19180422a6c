package remedy

import (
	"context"
	"slices"

	"fettle/engine/remedy/step"
)

// subjectNow is h with the name that its subject has now. A resume comes
// after a boot more often than not, and disks are named in the order in which
// they answer: looking for the old name would verify another disk.
func (e *Engine) subjectNow(ctx context.Context, h Head) Head {
	parts := slices.Clone(h.Parts)
	for _, s := range h.Plan.Steps {
		r, ok := s.(step.Renamer)
		if !ok {
			continue
		}
		// Where it is not found, the step itself says so.
		was, is, err := r.Renamed(ctx, e.Machine)
		if err != nil || is == was {
			continue
		}
		for k := range parts {
			if parts[k].Subject == was {
				parts[k].Subject = is
			}
		}
		if h.Subject == was {
			h.Subject = is
		}
		e.log("%s is called %s now", was, is)
	}
	h.Parts = parts
	return h
}
