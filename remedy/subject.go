package remedy

import (
	"context"

	"fettle/remedy/step"
)

// subjectNow is h with the name that its subject has now. A resume comes
// after a boot more often than not, and disks are named in the order in which
// they answer: looking for the old name would verify another disk.
func (e *Engine) subjectNow(ctx context.Context, h Head) Head {
	for _, s := range h.Plan.Steps {
		r, ok := s.(step.Renamer)
		if !ok {
			continue
		}
		// Where it is not found, the step itself says so.
		if was, is, err := r.Renamed(ctx, e.Machine); err == nil && was == h.Subject && is != was {
			e.log("%s is called %s now", was, is)
			h.Subject = is
		}
	}
	return h
}
