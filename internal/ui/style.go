package ui

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Style is an SGR parameter list (ECMA-48, section 8.3.117). fettle needs six
// of them, so it brings no library: the ones that detect colour profiles ask
// the terminal and cost start-up time.
type Style string

const (
	Bold    Style = "1"
	Faint   Style = "2"
	Red     Style = "1;31"
	Green   Style = "32"
	Yellow  Style = "33"
	Magenta Style = "35"
	Cyan    Style = "36"
)

// Painter colours text, or leaves it as it is.
type Painter bool

// Paint puts s, which must be Visible already, into a style.
func (p Painter) Paint(st Style, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[m"
}

// Colour tells whether w wants colour: a terminal, TERM not dumb or unset, and
// no NO_COLOR (https://no-color.org: set and not empty).
func Colour(w io.Writer) bool {
	if t := os.Getenv("TERM"); t == "" || t == "dumb" || os.Getenv("NO_COLOR") != "" {
		return false
	}
	return IsTerminal(w)
}

// IsTerminal tells whether w is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width is how wide text on w should be: the terminal's width, between 40 and
// 100 characters so that lines stay readable; 80 on a pipe, or what COLUMNS says.
func Width(w io.Writer) int {
	n := 80
	if f, ok := w.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 { // a serial console says 0
			n = cols
		}
	} else if cols, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && cols > 0 {
		n = cols
	}
	return min(max(n, 40), 100)
}
