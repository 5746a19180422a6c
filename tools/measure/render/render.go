// Package render writes what the instruments measured: as text for people and
// as JSON, one file per instrument. It measures nothing: an instrument gives it
// a result, and a verb says where it is read.
package render

import (
	"fmt"
	"io"
	"math"
	"strings"

	"fettle/internal/jsondoc"
	"fettle/internal/ui"
)

// Result is what an instrument measured, in the forms in which it is written.
type Result interface {
	// Text is for people. What hosts and files say in it is Visible.
	Text(Terminal) string
	// Document is written as JSON, with an envelope; docs/schema describes it.
	Document() any
}

// Terminal is what text depends on besides the result.
type Terminal struct {
	Width  int // in characters
	Colour bool
	UTF8   bool // the locale's characters
}

// TerminalOf is what text on w depends on.
func TerminalOf(w io.Writer) Terminal {
	return Terminal{Width: ui.Width(w), Colour: ui.Colour(w), UTF8: ui.UTF8()}
}

// Formats are those of Write, the default first.
func Formats() []string { return []string{"text", "json"} }

// Write writes a result in one of Formats.
func Write(w io.Writer, format string, r Result, t Terminal) error {
	switch format {
	case "text":
		_, err := io.WriteString(w, r.Text(t))
		return err
	case "json":
		return jsondoc.Encode(w, r.Document(), "  ")
	}
	return fmt.Errorf("unknown format %q: it is one of %s", format, strings.Join(Formats(), ", "))
}

// block is what bars are made of.
func (t Terminal) block() string {
	if t.UTF8 {
		return "█"
	}
	return "#"
}

// Shares and ratios in JSON are rounded to what was measured of them.
func round2(v float64) float64 { return math.Round(v*100) / 100 }
func round4(v float64) float64 { return math.Round(v*1e4) / 1e4 }
