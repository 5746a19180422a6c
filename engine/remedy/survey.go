package remedy

import (
	"errors"
	"fmt"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// Survey looks at the files and folders that a plan changes and that others
// than root can replace, when the plan is made and before anybody is asked
// about it. Apply, given this as Head.Seen, refuses what is another one by
// then. It follows no link that somebody else can have made.
func Survey(m machine.Machine, p Plan) ([]step.Item, error) {
	seen := []step.Item{}
	for i, s := range p.Steps {
		target := step.Target(s)
		if target == "" {
			continue
		}
		real, err := m.Resolve(target)
		if err != nil {
			return nil, fmt.Errorf("step %d (%s): %w; nothing was changed", i+1, s.Describe(), err)
		}
		img, err := m.Look(real, false)
		if err != nil {
			return nil, fmt.Errorf("step %d (%s): %w; nothing was changed", i+1, s.Describe(), err)
		}
		if img.Foreign {
			seen = append(seen, step.Item{Kind: step.MetaItem, Path: real, Image: &img})
		}
	}
	return seen, nil
}

// Shared is the refusal to write a script for what others than root can
// replace: it would act there as root.
type Shared struct{ Path string }

func (e *Shared) Error() string {
	return fmt.Sprintf("others than root may write to the folders above %s, where a script would act as root; "+
		"let fettle apply the plan, which acts there with their rights", e.Path)
}

// Exportable tells whether scripts may be written for a plan. Where it cannot
// look, they still stop by themselves.
func Exportable(m machine.Machine, p Plan) error {
	seen, err := Survey(m, p)
	var untrusted *machine.Untrusted
	switch {
	case errors.As(err, &untrusted):
		return &Shared{untrusted.Path}
	case len(seen) > 0:
		return &Shared{seen[0].Path}
	}
	return nil
}

// recognise refuses items that are no longer the files that the plan was made
// from, or that its earlier steps left. Where only root can rename, content
// and attributes tell that; elsewhere another file may look the same.
func recognise(items []step.Item, records []Record, seen []step.Item) error {
	for _, it := range items {
		if it.Image == nil || !it.Image.Foreign {
			continue
		}
		if was, known := lastSeen(it.Path, records, seen); known && !sameFile(was, *it.Image) {
			return &machine.Changed{Path: it.Path, Why: "was replaced or changed since the plan was made"}
		}
	}
	return nil
}

// lastSeen is how a file stood when fettle itself saw it last.
func lastSeen(path string, records []Record, seen []step.Item) (machine.Image, bool) {
	for i := len(records) - 1; i >= 0; i-- {
		if records[i].Event != evDone && records[i].Event != evUndone {
			continue
		}
		for _, it := range records[i].Items {
			if it.Path == path && it.Image != nil {
				return *it.Image, true
			}
		}
	}
	for _, it := range seen {
		if it.Path == path {
			return *it.Image, true
		}
	}
	return machine.Image{}, false
}

func sameFile(a, b machine.Image) bool {
	return a.Type == b.Type && a.ID == b.ID && a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID
}
