package remedy

import (
	"context"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
)

// standing is how the items of one step stand when the later steps are undone.
type standing struct {
	step    int
	now     []step.Item
	foreign []step.Item // that somebody else changed since
}

// standings looks, last step first, how all stands that an undo would put
// back. A step under a later one is compared with what the later one found.
func (e *Engine) standings(ctx context.Context, c *Change, boot string) ([]standing, error) {
	var out []standing
	found := map[string]step.Item{} // by key: as it will stand when the later steps are undone
	for i := len(c.steps) - 1; i >= 0; i-- {
		st := c.steps[i]
		a := c.Plan.Steps[i]
		if !st.intended || st.undone || a.Running() && st.boot != boot || len(st.before) == 0 {
			continue
		}
		if err := c.load(st.before); err != nil {
			return nil, err
		}
		now, err := step.ReadItems(ctx, e.Machine, st.before)
		if err != nil {
			return nil, err
		}
		for k := range now {
			now[k] = overlay(found, now[k])
		}
		state, foreign, err := probe(ctx, e.Machine, a, st.before, st.after, now, !st.done || st.undoBegun)
		if err != nil {
			return nil, err
		}
		if state != Foreign {
			foreign = nil
		}
		out = append(out, standing{i, now, foreign})
		for k, it := range st.before {
			if it.Kind == step.MetaItem {
				img := *now[k].Image
				if f, ok := found[step.FileItem+":"+it.Path]; ok {
					img = *f.Image
				}
				img.Mode, img.UID, img.GID, img.Xattrs = it.Image.Mode, it.Image.UID, it.Image.GID, it.Image.Xattrs
				it.Image = &img
			}
			found[it.Key()] = it
		}
	}
	return out, nil
}

// conflicts are what stands neither as fettle left it nor as it was before.
func (e *Engine) conflicts(c *Change, all []standing) []Conflict {
	var out []Conflict
	for _, s := range all {
		for _, f := range s.foreign {
			out = append(out, e.conflict(c, c.Plan.Steps[s.step], c.steps[s.step], f))
		}
	}
	return out
}

// overlay replaces what was read by what will are there when the later
// steps are undone.
func overlay(found map[string]step.Item, now step.Item) step.Item {
	if f, ok := found[now.Key()]; ok {
		now.Image, now.Value, now.Index = f.Image, f.Value, f.Index
		return now
	}
	switch now.Kind {
	case step.FileItem: // under a later step on its attributes
		if f, ok := found[step.MetaItem+":"+now.Path]; ok && now.Image.Type == machine.Regular {
			img := *now.Image
			img.Mode, img.UID, img.GID, img.Xattrs = f.Image.Mode, f.Image.UID, f.Image.GID, f.Image.Xattrs
			now.Image = &img
		}
	case step.MetaItem:
		if f, ok := found[step.FileItem+":"+now.Path]; ok {
			now.Image = f.Image
		}
	}
	return now
}

func (e *Engine) conflict(c *Change, a step.Step, st stepState, now step.Item) Conflict {
	cf := Conflict{Now: now, Wrote: now}
	for k, it := range st.before {
		if it.Key() == now.Key() {
			cf.Was = it
			if st.after != nil {
				cf.Wrote = st.after[k]
			}
		}
	}
	if w, ok := a.(step.Writer); ok && now.Kind == step.FileItem {
		if content, there := w.Writes(); there {
			img := machine.Image{Type: machine.Regular, Content: content, Sum: machine.Sum(content)}
			if cf.Wrote.Image != nil && st.after != nil {
				img = *cf.Wrote.Image
				img.Content = content
			}
			cf.Wrote.Image = &img
		}
	}
	all, _ := e.Store.Changes()
	for _, o := range all {
		if number(o.ID) <= number(c.ID) || o.phase == TakenBack {
			continue
		}
		for _, ost := range o.steps {
			for _, it := range ost.before {
				if it.Path == now.Path && !ost.undone {
					cf.Later = o.ID
				}
			}
		}
	}
	return cf
}
