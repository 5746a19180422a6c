package remedy

import (
	"fmt"
	"path"
	"strings"

	"fettle/engine/remedy/machine"
	"fettle/engine/remedy/step"
	"fettle/internal/ui"
)

// TextOptions say how a plan is written for people.
type TextOptions struct {
	Width int // of lines; what is there to be copied is not broken
	// All writes each step, also where many do the same to a file each.
	All bool
	// Now is how a file is before its step; may be nil.
	Now func(path string) *machine.Image
}

// fewAlike is from how many on steps that do the same are one line.
const fewAlike = 4

// Text writes a plan for people: each step with its diff or its commands and
// how it is undone, then the notes. Nothing in it moves a terminal's cursor.
func Text(p Plan, o TextOptions) string {
	p = p.normal()
	width := o.Width
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", ui.Visible(p.Title))
	for i := 0; i < len(p.Steps); i++ {
		s := p.Steps[i]
		effect, n := o.alike(p.Steps[i:])
		if n >= fewAlike && !o.All {
			lead := fmt.Sprintf("%3d. ", i+1)
			b.WriteString(
				"\n" + ui.Wrap(
					ui.Visible(fmt.Sprintf("%d %s below %s: %s", n, o.what(p.Steps[i:i+n]), common(p.Steps[i:i+n]), effect)),
					width,
					lead,
					"     ",
				),
			)
			b.WriteString(ui.Wrap(ui.Visible(s.Reversal().String()), width, "     ", "       "))
			i += n - 1
			continue
		}
		lead := fmt.Sprintf("%3d. ", i+1)
		b.WriteString("\n" + ui.Wrap(ui.Visible(s.Describe()), width, lead, "     "))
		if _, asks := s.(step.Asker); !asks {
			b.WriteString(ui.Wrap(ui.Visible(s.Reversal().String()), width, "     ", "       "))
		}
		if d, ok := s.(step.Differ); ok {
			b.WriteString(shown(d.Diff()))
			continue
		}
		for _, c := range step.Commands(s) {
			if !strings.Contains(s.Describe(), c) {
				b.WriteString("       # " + ui.Visible(c) + "\n") // never broken in two: it is there to be copied
			}
		}
	}
	notes := p.Notes
	if p.CutsConnection {
		notes = append(
			notes[:len(notes):len(notes)],
			"This can cut your connection to the host. It is undone automatically unless you confirm it in time.",
		)
	}
	for i, n := range notes {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(ui.Wrap(ui.Visible(n), width, "Note: ", "      "))
	}
	return b.String()
}

// alike is how many steps, from the first on, have one effect, and which.
func (o TextOptions) alike(steps []step.Step) (effect string, n int) {
	for i, s := range steps {
		a, ok := s.(step.Alike)
		if !ok || s.Kind() != steps[0].Kind() || s.Reversal() != steps[0].Reversal() {
			break
		}
		var now *machine.Image
		if o.Now != nil {
			now = o.Now(a.Target())
		}
		e := a.Effect(now)
		if i == 0 {
			effect = e
		}
		if e != effect {
			break
		}
		n++
	}
	return effect, n
}

// likeIt tells whether the ith step is the first of many that do the same, and
// how many more there are, in words: what is logged is one line then.
func likeIt(steps []step.Step, i int) (more string, first bool) {
	for begin := 0; begin <= i; {
		_, n := TextOptions{}.alike(steps[begin:])
		n = max(n, 1)
		if i < begin+n {
			switch {
			case n < fewAlike:
				return "", true
			case i == begin:
				return fmt.Sprintf(", and %d more like it", n-1), true
			}
			return "", false
		}
		begin += n
	}
	return "", true
}

// what are the targets: files, folders, or both.
func (o TextOptions) what(steps []step.Step) string {
	types := map[string]bool{}
	for _, s := range steps {
		kind := machine.Other // not known
		if o.Now != nil {
			if now := o.Now(step.Target(s)); now != nil {
				kind = now.Type
			}
		}
		types[kind] = true
	}
	switch {
	case len(types) == 1 && types[machine.Regular]:
		return "files"
	case len(types) == 1 && types[machine.Folder]:
		return "folders"
	}
	return "files and folders"
}

// common is the deepest folder above all targets.
func common(steps []step.Step) string {
	var targets []string
	for _, s := range steps {
		targets = append(targets, step.Target(s))
	}
	return above(targets)
}

func above(paths []string) string {
	dir := path.Dir(paths[0])
	for _, p := range paths {
		for dir != "/" && !strings.HasPrefix(p, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	return dir
}

// shown indents a diff and makes its control characters visible, but tabs.
func shown(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i := range parts {
			parts[i] = ui.Visible(parts[i])
		}
		b.WriteString("       " + strings.Join(parts, "\t") + "\n")
	}
	return b.String()
}

// ShowDiff is a diff made safe for a terminal.
func ShowDiff(diff string) string { return shown(diff) }
