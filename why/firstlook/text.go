package firstlook

import (
	"fmt"
	"strings"

	"fettle/internal/ui"
	"fettle/internal/units"
)

// Rows is how many lines the text has at most: a screen, with the prompt.
const Rows = 23

// Text is the report for a screen of the given width.
func (r *Report) Text(width int) string {
	s := screen{width: width, room: Rows}
	s.head(r)
	here, before := r.hereLines(width), r.beforeLines(width)
	reserve := len(here) + len(before)
	effects := 0
	for i := range r.Groups {
		if r.Groups[i].Effect {
			if effects++; effects > 1 {
				continue // one tells as much as the others
			}
		}
		lines := r.group(i, width)
		if left := s.room - reserve; len(lines) > left {
			if i >= 3 || left < 2 {
				break
			}
			lines = lines[:left]
		}
		s.add(lines)
	}
	s.add(before)
	s.add(here)
	return s.b.String()
}

type screen struct {
	b     strings.Builder
	width int
	room  int
}

func (s *screen) add(lines []string) {
	for _, l := range lines[:min(len(lines), s.room)] {
		s.b.WriteString(l + "\n")
		s.room--
	}
}

func (s *screen) head(r *Report) {
	s.add([]string{"No known trap matches this."})
	said := "What stands out in "
	switch {
	case r.single():
		s.add([]string{"What its words say:"})
		return
	case len(r.Groups) == 0:
		s.add([]string{"It has no messages."})
		return
	case !r.Failing:
		said = "No line says that something failed. The rarest in "
	}
	said += units.Count(int(r.Messages), "line", "lines")
	if r.First != "" && r.Last != "" && r.First != r.Last {
		said += ", " + r.First + " to " + r.Last
	}
	s.add(wrapped(ui.Visible(said)+":", s.width, "", "  ", 2))
}

// single: one line was pasted, without who wrote it and when.
func (r *Report) single() bool {
	return r.Messages == 1 && len(r.Groups) == 1 && r.Groups[0].By == "" && r.Groups[0].First == ""
}

// wrapped wraps s into at most n lines.
func wrapped(s string, width int, lead, rest string, n int) []string {
	lines := strings.Split(strings.TrimRight(ui.Wrap(s, width, lead, rest), "\n"), "\n")
	if len(lines) > n {
		lines = lines[:n]
		lines[n-1] = ui.Cut(lines[n-1], width-4) + " ..."
	}
	for i := range lines {
		lines[i] = ui.Cut(lines[i], width)
	}
	return lines
}

// group is one of the groups: who and how often, what, and what that means.
func (r *Report) group(i, width int) []string {
	g := &r.Groups[i]
	who := g.By
	if who == "" {
		who = "line " + fmt.Sprint(g.FirstLine)
	}
	if len(r.Hosts) > 1 && g.Host != "" {
		who += " on " + g.Host
	}
	head := fmt.Sprintf("%d. %s, %s", i+1, ui.Visible(who), units.Count(int(g.Count), "time", "times"))
	switch {
	case g.First == "":
	case g.Count > 1 && g.First != g.Last:
		head += ", " + ui.Visible(g.First) + " to " + ui.Visible(g.Last)
	default:
		head += ", " + ui.Visible(g.First)
	}
	if g.Known != nil && !*g.Known {
		head += fmt.Sprintf(" (new: not in the %d days before)", r.Here.Compared)
	}
	out := []string{ui.Cut(head, width)}
	if r.single() {
		out = nil // there is nothing to count, and no other line to tell it from
	}
	out = append(out, wrapped(ui.Visible(g.Text), width, "   | ", "   |   ", 2)...)
	for _, m := range g.Meanings[:min(len(g.Meanings), 2)] {
		out = append(out, wrapped(ui.Visible(m.Term)+" = "+ui.Visible(m.Says), width, "   ", "     ", 2)...)
	}
	return out
}

func (r *Report) beforeLines(width int) []string {
	if len(r.Before) == 0 {
		return nil
	}
	out := []string{"Began shortly before the first failure:"}
	for _, g := range r.Before {
		said := g.Text
		if g.By != "" {
			said = g.By + ": " + said
		}
		if g.First != "" {
			said = g.First + " " + said
		}
		out = append(out, ui.Cut("   | "+ui.Visible(said), width))
	}
	return out
}

func (r *Report) hereLines(width int) []string {
	if r.Here == nil || !r.Here.Own || len(r.Here.Facts) == 0 {
		return nil
	}
	out := []string{"This host now:"}
	for _, f := range r.Here.Facts[:min(len(r.Here.Facts), 3)] {
		out = append(out, ui.Cut("   "+ui.Visible(f.Name)+": "+ui.Visible(f.Says), width))
		if f.Trap != "" {
			out = append(out, ui.Cut("     fettle check "+f.Trap+": "+ui.Visible(f.Finding), width))
		}
	}
	return append(out, ui.Cut("   more: "+r.Here.Facts[0].Command, width))
}
