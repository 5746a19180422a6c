package history

import (
	"cmp"
	"maps"
	"slices"

	"fettle/engine/trap"
	"fettle/internal/sorted"
	"fettle/report"
)

// Kind is how two reports differ in one subject of a trap.
type Kind string

const (
	New      Kind = "new"      // found in the second only
	Resolved Kind = "resolved" // found in the first; the second looked, and it is not there
	Changed  Kind = "changed"  // found in both, with another severity or summary
	Unseen   Kind = "unseen"   // the first could say; the second could not look, or did not
	Seen     Kind = "seen"     // the first could not look, or did not; not found in the second
)

// Change is one difference between two reports.
type Change struct {
	Kind    Kind   `json:"kind"`
	Trap    string `json:"trap"`
	Subject string `json:"subject,omitempty"`
	// Before and After are what the reports say: of a subject that one does not
	// name, what it says of the whole trap; nil where it did not check the trap,
	// or says nothing that fits.
	Before *trap.Outcome `json:"before,omitempty"`
	After  *trap.Outcome `json:"after,omitempty"`
}

// ID is the finding's.
func (c *Change) ID() string { return (&trap.Outcome{Trap: c.Trap, Subject: c.Subject}).ID() }

// Severity is the more severe of the two sides'; zero where nothing was found.
func (c *Change) Severity() trap.Severity {
	var s trap.Severity
	for _, o := range []*trap.Outcome{c.Before, c.After} {
		if o != nil && o.Status == trap.Found {
			s = max(s, o.Severity)
		}
	}
	return s
}

// Compare tells how report b differs from a, the most severe first. What is
// accepted, known or below a severity counts like any finding.
func Compare(a, b *report.Document) []Change {
	was, is := sideOf(a), sideOf(b)
	ids := map[string]Change{}
	for _, s := range []side{was, is} {
		for id, o := range s.telling {
			ids[id] = Change{Trap: o.Trap, Subject: o.Subject}
		}
	}
	var out []Change
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		c := ids[id]
		c.Before, c.After = was.says(id, c.Trap), is.says(id, c.Trap)
		if c.Kind = kindOf(c.Before, c.After); c.Kind != "" {
			out = append(out, c)
		}
	}
	sorted.By(out, func(x, y Change) int {
		return cmp.Or(cmp.Compare(order[x.Kind], order[y.Kind]), cmp.Compare(y.Severity(), x.Severity()))
	})
	return out
}

var order = map[Kind]int{New: 0, Changed: 1, Resolved: 2, Unseen: 3, Seen: 4}

// side is one report, by finding.
type side struct {
	checked map[string]bool          // traps
	telling map[string]*trap.Outcome // found and unknown
	other   map[string]*trap.Outcome // clear and not applicable
}

func sideOf(d *report.Document) side {
	s := side{map[string]bool{}, map[string]*trap.Outcome{}, map[string]*trap.Outcome{}}
	for _, r := range d.Results {
		s.checked[r.Trap] = true
		for i := range r.Outcomes {
			o := &r.Outcomes[i]
			switch o.Status {
			case trap.Clear, trap.NotApplicable:
				s.other[o.ID()] = o
			default:
				s.telling[o.ID()] = o
			}
		}
	}
	return s
}

// says is what a side says of a finding. A trap that could not look at the
// whole host may not have seen the subject. Nil: the trap was not checked.
func (s *side) says(id, name string) *trap.Outcome {
	if o := s.telling[id]; o != nil {
		return o
	}
	if o := s.other[id]; o != nil {
		return o
	}
	if !s.checked[name] {
		return nil
	}
	if whole := s.telling[name]; whole != nil && whole.Status != trap.Found {
		return whole
	}
	if whole := s.other[name]; whole != nil {
		return whole
	}
	return &trap.Outcome{Trap: name, Status: trap.NotApplicable, Reason: "the check names no such subject"}
}

func kindOf(was, is *trap.Outcome) Kind {
	found := func(o *trap.Outcome) bool { return o != nil && o.Status == trap.Found }
	blind := func(o *trap.Outcome) bool {
		return o == nil || o.Status != trap.Found && o.Status != trap.Clear && o.Status != trap.NotApplicable
	}
	switch {
	case found(was) && found(is):
		if was.Severity != is.Severity || was.Summary != is.Summary {
			return Changed
		}
		return ""
	case found(is):
		return New
	case blind(was) && blind(is):
		return ""
	case blind(is):
		return Unseen
	case found(was):
		return Resolved
	case blind(was):
		return Seen
	}
	return ""
}
