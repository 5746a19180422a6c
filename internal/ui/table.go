package ui

import (
	"strings"
	"unicode/utf8"
)

// Table is rows of cells in columns. What does not fit wraps inside its column.
type Table struct {
	Header []string   // "" for none
	Rows   [][]string // Visible text
	Right  []bool     // columns of numbers
}

const columnGap = "  "

// minColumn is how narrow a column may become.
const minColumn = 8

// Text writes the table within width, each line led by indent; the header is bold.
func (t *Table) Text(width int, indent string, paint Painter) string {
	rows := t.Rows
	if len(t.Header) > 0 {
		rows = append([][]string{t.Header}, rows...)
	}
	widths := t.widths(rows, width-utf8.RuneCountInString(indent))
	var b strings.Builder
	for i, row := range rows {
		st := Style("")
		if i == 0 && len(t.Header) > 0 {
			st = Bold
		}
		t.row(&b, row, widths, indent, paint, st)
	}
	return b.String()
}

// widths are those of the columns: what their cells need, and where that is
// too much, the widest give way.
func (t *Table) widths(rows [][]string, room int) []int {
	var widths []int
	for _, row := range rows {
		for k, c := range row {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], columns(c))
		}
	}
	room -= len(columnGap) * max(0, len(widths)-1)
	for total(widths) > room {
		widest := 0
		for k := range widths {
			if widths[k] >= widths[widest] { // the last of those, which most often is text
				widest = k
			}
		}
		if widths[widest] <= minColumn {
			break
		}
		widths[widest]--
	}
	return widths
}

func total(widths []int) int {
	n := 0
	for _, w := range widths {
		n += w
	}
	return n
}

func (t *Table) row(b *strings.Builder, row []string, widths []int, indent string, paint Painter, st Style) {
	cells := make([][]string, len(row))
	height := 1
	for k, c := range row {
		cells[k] = strings.Split(strings.TrimSuffix(Wrap(c, widths[k], "", ""), "\n"), "\n")
		height = max(height, len(cells[k]))
	}
	for i := range height {
		line := indent
		for k := range cells {
			text := ""
			if i < len(cells[k]) {
				text = cells[k][i]
			}
			pad := strings.Repeat(" ", max(0, widths[k]-columns(text)))
			if st != "" {
				text = paint.Paint(st, text)
			}
			if k < len(t.Right) && t.Right[k] {
				text = pad + text
			} else {
				text += pad
			}
			if k > 0 {
				line += columnGap
			}
			line += text
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
