package remedy

import (
	"fmt"
	"strings"

	"fettle/internal/ui"
	"fettle/remedy/step"
)

// Text writes a plan for people: each step with its diff or its commands and
// how it is undone, then the notes. Nothing in it moves a terminal's cursor.
func Text(p Plan, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", ui.Visible(p.Title))
	for i, s := range p.Steps {
		lead := fmt.Sprintf("%3d. ", i+1)
		b.WriteString("\n" + ui.Wrap(ui.Visible(s.Describe()), width, lead, "     "))
		r := s.Reversal()
		undo := string(r.Class)
		if r.Note != "" {
			undo += ": " + r.Note
		}
		b.WriteString(ui.Wrap(ui.Visible(undo), width, "     ", "       "))
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
		notes = append(notes[:len(notes):len(notes)], "This can cut your own connection to the host. It is undone by itself unless you confirm it in time.")
	}
	for i, n := range notes {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(ui.Wrap(ui.Visible(n), width, "Note: ", "      "))
	}
	return b.String()
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
