package ui

import (
	"fmt"
	"io"
)

// Progress shows on a terminal what is being done: one line, written over.
// Elsewhere it shows nothing. An empty text removes the line.
type Progress struct{ w io.Writer }

// NewProgress makes a progress line on w.
func NewProgress(w io.Writer) *Progress {
	if !IsTerminal(w) {
		w = nil
	}
	return &Progress{w: w}
}

// Show writes the line.
func (p *Progress) Show(text string) {
	switch {
	case p.w == nil:
	case text == "":
		fmt.Fprint(p.w, "\r\x1b[K")
	default:
		fmt.Fprintf(p.w, "\r%s\x1b[K", Cut(Visible(text), Width(p.w)-1))
	}
}

// End removes the line.
func (p *Progress) End() { p.Show("") }
