package remedy

import (
	"context"
	"fmt"
	"strings"

	"fettle/engine/remedy/step"
	"fettle/internal/ui"
)

// Preview is what an undo would do. Nothing is changed for it.
type Preview struct {
	Change *Change
	// Steps are in the order in which they would be undone.
	Steps []UndoneStep
}

// UndoneStep is one step as an undo would take it back.
type UndoneStep struct {
	Number int // in the plan, from 1
	What   string
	// How says by what act it is undone, and what differs after; empty where
	// Items says all.
	How string
	// Items are the files, attributes and values that would be put back: "PATH:
	// NOW → BEFORE", or a unified diff.
	Items []string
	// Stays is why it would be left as it is; empty: it is undone.
	Stays string

	target, effect string // of a step that may stand many times: what becomes of which
}

// PreviewUndo looks what Undo would do with the same arguments. An empty id
// takes the last change that stands; where there is none the Preview is nil.
func (e *Engine) PreviewUndo(ctx context.Context, id string, opt UndoOptions) (*Preview, error) {
	c, err := e.toUndo(id)
	switch {
	case err != nil && c != nil:
		return &Preview{Change: c}, err
	case err != nil || c == nil:
		return nil, err
	}
	boot, err := e.Machine.BootID()
	if err != nil {
		return nil, fmt.Errorf("reading the boot's id: %w", err)
	}
	stand, err := e.standings(ctx, c, boot)
	if err != nil {
		return nil, err
	}
	if conflicts := e.conflicts(c, stand); len(conflicts) > 0 && !opt.Force {
		return nil, &Conflicts{c.ID, conflicts}
	}
	p := &Preview{Change: c}
	var again []UndoneStep
	for i := len(c.steps) - 1; i >= 0; i-- {
		st, a := c.steps[i], c.Plan.Steps[i]
		if !st.intended || st.undone {
			continue
		}
		if _, asks := a.(step.Asker); asks {
			continue
		}
		u := UndoneStep{Number: i + 1, What: a.Describe(), How: a.Reversal().Note}
		if r, ok := a.(step.Repeated); ok && r.Repeats() {
			if u.Stays = e.pointless(ctx, c, i, boot); u.Stays == "" {
				u.How = "once more, after all else is put back"
			}
			again = append([]UndoneStep{u}, again...)
			continue
		}
		switch r := a.Reversal(); {
		case a.Running() && st.boot != boot:
			u.Stays = "it was running state of an earlier boot"
		case r.Class == step.Irreversible:
			u.Stays = "it cannot be undone: " + r.Note
		case r.Class == step.Stays:
			u.Stays = r.Note
		}
		for _, s := range stand {
			if s.step == i {
				for k, was := range st.before {
					if line := s.now[k].Becomes(was); line != "" {
						u.Items = append(u.Items, line)
					}
				}
			}
		}
		if len(st.before) > 0 && len(u.Items) == 0 && u.Stays == "" {
			u.How = "it already has its original state"
		}
		if t, ok := a.(step.Alike); ok && len(u.Items) == 1 {
			u.target = t.Target()
			_, u.effect, _ = strings.Cut(u.Items[0], ": ")
		}
		p.Steps = append(p.Steps, u)
	}
	p.Steps = append(p.Steps, again...)
	return p, nil
}

// Text writes the preview for people; all: each step, also where many put the
// same back of a file each.
func (p *Preview) Text(width int, all bool) string {
	var b strings.Builder
	c := p.Change
	fmt.Fprint(&b, ui.Wrap(ui.Visible(fmt.Sprintf("Change %s, made for %s: %s", c.ID, c.For(), c.Plan.Title)), width, "", "  "))
	if len(p.Steps) == 0 {
		b.WriteString("None of its steps was applied: there is nothing to put back.\n")
		return b.String()
	}
	b.WriteString("Undoing it puts back, last step first:\n")
	for i := 0; i < len(p.Steps); i++ {
		s := p.Steps[i]
		if targets := p.alike(i); len(targets) >= fewAlike && !all {
			text := fmt.Sprintf(
				"%d files and folders below %s: %s (steps %d to %d)",
				len(targets),
				above(targets),
				strings.TrimSpace(s.effect),
				s.Number,
				p.Steps[i+len(targets)-1].Number,
			)
			b.WriteString("\n" + ui.Wrap(ui.Visible(text), width, "  -  ", "     "))
			i += len(targets) - 1
			continue
		}
		b.WriteString("\n" + ui.Wrap(ui.Visible(s.What), width, fmt.Sprintf("%3d. ", s.Number), "     "))
		if s.Stays != "" {
			b.WriteString(ui.Wrap(ui.Visible("stays: "+s.Stays), width, "     ", "       "))
			continue
		}
		if s.How != "" {
			b.WriteString(ui.Wrap(ui.Visible("undo: "+s.How), width, "     ", "       "))
		}
		for _, it := range s.Items {
			b.WriteString(shown(it))
		}
	}
	return b.String()
}

// alike are the targets of the steps, from the ith on, that put the same back.
func (p *Preview) alike(i int) (targets []string) {
	first := p.Steps[i]
	for _, s := range p.Steps[i:] {
		if s.target == "" || s.effect != first.effect || s.Stays != first.Stays || s.How != first.How {
			break
		}
		targets = append(targets, s.target)
	}
	return targets
}
