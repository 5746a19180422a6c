package proving

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"fettle/lab"
)

// tableWidth is what a serial console shows in a line.
const tableWidth = 80

// writeTable writes an experiment's table in aligned columns. Where it is
// wider than a console the widest columns are wrapped.
func writeTable(w io.Writer, t *lab.Table) {
	widths := make([]int, len(t.Columns))
	rows := append([][]string{t.Columns}, t.Rows...)
	for _, r := range rows {
		for i := range min(len(r), len(widths)) {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	narrow(widths, tableWidth-2-2*(len(widths)-1))
	for n, r := range rows {
		cells := make([][]string, len(widths))
		height := 1
		for i := range widths {
			if i < len(r) {
				cells[i] = wrapCell(r[i], widths[i])
			}
			height = max(height, len(cells[i]))
		}
		for line := range height {
			var b strings.Builder
			b.WriteByte(' ')
			for i, c := range cells {
				text := ""
				if line < len(c) {
					text = c[line]
				}
				fmt.Fprintf(&b, " %-*s ", widths[i], text)
			}
			fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
		}
		if n == 0 {
			var rules []string
			for _, n := range widths {
				rules = append(rules, strings.Repeat("-", n))
			}
			fmt.Fprintln(w, "  "+strings.Join(rules, "  "))
		}
	}
	for _, n := range t.Notes {
		for i, line := range wrapCell(n, tableWidth-4) {
			fmt.Fprintln(w, map[bool]string{true: "  ", false: "    "}[i == 0]+line)
		}
	}
}

// narrow takes from the widest columns until all fit into room, leaving each
// at least eight.
func narrow(widths []int, room int) {
	for {
		sum, widest := 0, 0
		for i, n := range widths {
			sum += n
			if n > widths[widest] {
				widest = i
			}
		}
		if sum <= room || widths[widest] <= 8 {
			return
		}
		widths[widest]--
	}
}

// wrapCell breaks text between words, and a word that is longer than a line
// anywhere.
func wrapCell(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		for utf8.RuneCountInString(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			r := []rune(word)
			lines, word = append(lines, string(r[:width])), string(r[width:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// labMarkdown writes outcomes for a wiki or an issue: one table of all
// scenarios, then each experiment's own.
func labMarkdown(w io.Writer, all []lab.Outcome) error {
	var b strings.Builder
	head := false
	for _, o := range all {
		if o.Job.Experiment != nil {
			continue
		}
		if !head {
			head = true
			markdownRow(&b, []string{"Scenario", "Result", "Kernel", "Seconds"})
			markdownRow(&b, []string{"---", "---", "---", "---:"})
		}
		markdownRow(
			&b,
			[]string{o.Job.Name(), labWord(o), o.Verdict.Engine + " " + o.Verdict.Kernel, fmt.Sprintf("%.1f", o.Verdict.Took.Seconds())},
		)
	}
	for _, o := range all {
		if o.Job.Experiment == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "**%s**: %s (%s, kernel %s)\n\n", o.Job.Name(), o.Job.About(), o.Verdict.Engine, o.Verdict.Kernel)
		if t := o.Verdict.Table; t != nil && len(t.Columns) > 0 {
			markdownRow(&b, t.Columns)
			rules := make([]string, len(t.Columns))
			for i := range rules {
				rules[i] = "---"
			}
			markdownRow(&b, rules)
			for _, r := range t.Rows {
				markdownRow(&b, r)
			}
			for _, n := range t.Notes {
				fmt.Fprintf(&b, "\n%s\n", n)
			}
		}
		if why := labWhy(o); why != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", labWord(o), why)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownRow(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		b.WriteString(" " + strings.NewReplacer("|", `\|`, "\n", " ").Replace(c) + " |")
	}
	b.WriteByte('\n')
}
