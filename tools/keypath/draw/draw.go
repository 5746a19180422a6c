// Package draw draws signature paths, as SVG and as DOT for Graphviz.
package draw

import (
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"strings"
)

// Picture is paths between keys: a row each, from left to right.
type Picture struct {
	Title string
	Rows  []Row
}

// Row is a path: one key more than hops.
type Row struct {
	Keys []Node
	Hops []string // what is written at a hop
}

// Node is a key.
type Node struct{ ID, Name string }

const (
	boxWidth, boxHeight = 190, 46
	gap, rowHeight      = 190, 72
	bend                = 64 // of the way between an end and its row
	margin, top         = 24, 64
)

// SVG writes the picture as SVG.
func SVG(out io.Writer, p Picture) error {
	longest := 1
	for _, r := range p.Rows {
		longest = max(longest, len(r.Keys)-1)
	}
	width := 2*margin + boxWidth + longest*(boxWidth+gap)
	height := top + max(len(p.Rows), 1)*rowHeight + margin
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
			`viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="sans-serif">`+"\n",
		width,
		height,
		width,
		height,
		escape(p.Title),
	)
	b.WriteString(
		`<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" ` +
			`fill="#57606a"/></marker></defs>` + "\n",
	)
	b.WriteString(`<rect width="100%" height="100%" fill="#ffffff"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="34" font-size="17" fill="#1f2328">%s</text>`+"\n", margin, escape(cut(p.Title, (width-2*margin)/9)))
	middle := top + (len(p.Rows)*rowHeight-rowHeight)/2
	var boxes strings.Builder
	for i, r := range p.Rows {
		drawRow(&b, &boxes, r, top+i*rowHeight, middle, width, i == 0)
	}
	b.WriteString(boxes.String())
	b.WriteString("</svg>\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// drawRow draws a path's hops, and its keys into boxes, which lie above. The
// ends are shared by all rows and drawn with the first.
func drawRow(b, boxes *strings.Builder, r Row, y, middle, width int, first bool) {
	n := len(r.Keys) - 1
	at := func(i int) (int, int) {
		span := width - 2*margin - boxWidth
		x := margin
		if n > 0 {
			x += span * i / n
		}
		if i == 0 || i == n {
			return x, middle
		}
		return x, y
	}
	for i, text := range r.Hops {
		x1, y1 := at(i)
		x2, y2 := at(i + 1)
		hop(b, point{x1 + boxWidth, y1 + boxHeight/2}, point{x2, y2 + boxHeight/2}, y+boxHeight/2, text)
	}
	for i, k := range r.Keys {
		end := i == 0 || i == n
		if end && !first {
			continue
		}
		x, y := at(i)
		box(boxes, x, y, k, end)
	}
}

type point struct{ x, y int }

// hop draws an arrow: from an end it bends to its row, goes along it with its
// text above, and bends to the other end.
func hop(b *strings.Builder, from, to point, row int, text string) {
	left, right := from.x, to.x
	fmt.Fprintf(b, `<path d="M%d %d`, from.x, from.y)
	if from.y != row {
		left += bend
		fmt.Fprintf(b, "C%d %d %d %d %d %d", from.x+bend/2, from.y, from.x+bend/2, row, left, row)
	}
	if to.y != row {
		right -= bend
		fmt.Fprintf(b, "H%dC%d %d %d %d %d %d", right, to.x-bend/2, row, to.x-bend/2, to.y, to.x, to.y)
	} else {
		fmt.Fprintf(b, "H%d", right)
	}
	b.WriteString(`" fill="none" stroke="#57606a" stroke-width="1.5" marker-end="url(#a)"/>` + "\n")
	fmt.Fprintf(
		b,
		`<text x="%d" y="%d" font-size="11" fill="#57606a" text-anchor="middle">%s</text>`+"\n",
		(left+right)/2,
		row-6,
		escape(text),
	)
}

func box(b *strings.Builder, x, y int, k Node, end bool) {
	fill, line := "#f6f8fa", "#8c959f"
	if end {
		fill, line = "#ddf4ff", "#0969da"
	}
	fmt.Fprintf(
		b,
		`<g><title>%s %s</title><rect x="%d" y="%d" width="%d" height="%d" rx="7" fill="%s" stroke="%s"/>`,
		escape(k.ID),
		escape(k.Name),
		x,
		y,
		boxWidth,
		boxHeight,
		fill,
		line,
	)
	fmt.Fprintf(
		b,
		`<text x="%d" y="%d" font-size="13" fill="#1f2328" text-anchor="middle">%s</text>`,
		x+boxWidth/2,
		y+19,
		escape(cut(person(k.Name), 24)),
	)
	fmt.Fprintf(
		b,
		`<text x="%d" y="%d" font-size="11" font-family="monospace" fill="#57606a" text-anchor="middle">%s</text></g>`+"\n",
		x+boxWidth/2,
		y+36,
		escape(k.ID),
	)
}

// person is a user id without its address.
func person(name string) string {
	if at := strings.IndexByte(name, '<'); at > 0 {
		return strings.TrimSpace(name[:at])
	}
	return name
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// escape makes text safe in XML; what XML cannot hold becomes U+FFFD.
func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) //nolint:errcheck // a Builder takes everything
	return b.String()
}

// DOT writes the picture for Graphviz.
func DOT(out io.Writer, p Picture) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"digraph keypath {\n  rankdir=LR; label=%s; labelloc=t;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"]; edge "+
			"[fontname=\"sans-serif\", fontsize=10];\n",
		quote(p.Title),
	)
	seen := map[string]bool{}
	for _, r := range p.Rows {
		for _, k := range r.Keys {
			if !seen[k.ID] {
				seen[k.ID] = true
				fmt.Fprintf(&b, "  %s [label=<%s<br/>%s>];\n", quote(k.ID), html.EscapeString(k.Name), html.EscapeString(k.ID))
			}
		}
	}
	drawn := map[string]bool{}
	for _, r := range p.Rows {
		for i, text := range r.Hops {
			line := fmt.Sprintf("  %s -> %s [label=%s];\n", quote(r.Keys[i].ID), quote(r.Keys[i+1].ID), quote(text))
			if !drawn[line] {
				drawn[line] = true
				b.WriteString(line)
			}
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// quote makes a DOT string: only the quote and the backslash mean anything in it.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}
