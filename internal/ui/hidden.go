package ui

import "golang.org/x/term"

// Hidden reads a line from a terminal that does not show it.
func Hidden(r any) (string, error) {
	f := r.(interface{ Fd() uintptr })
	b, err := term.ReadPassword(int(f.Fd()))
	return string(b), err
}
