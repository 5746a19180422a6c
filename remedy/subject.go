package remedy

import "context"

// renamer is an action on something that a boot may give another name, and
// whose name a trap uses for its subject.
type renamer interface {
	// renamed returns the name that the plan knows and the one of now.
	renamed(context.Context, Machine) (was, is string, err error)
}

// subjectNow is h with the name that its subject has now. A resume comes
// after a boot more often than not, and disks are named in the order in which
// they answer: looking for the old name would verify another disk.
func (e *Engine) subjectNow(ctx context.Context, h Head) Head {
	for _, s := range h.Plan.Steps {
		r, ok := s.(renamer)
		if !ok {
			continue
		}
		// Where it is not found, the step itself says so.
		if was, is, err := r.renamed(ctx, e.Machine); err == nil && was == h.Subject && is != was {
			e.log("%s is called %s now", was, is)
			h.Subject = is
		}
	}
	return h
}

func (s MDReadd) renamed(ctx context.Context, m Machine) (was, is string, err error) {
	now, err := s.locate(ctx, m)
	return s.Array + "/" + s.Member, now.Array + "/" + now.Member, err
}
