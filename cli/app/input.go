package app

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"fettle/internal/ui"
)

// Line reads one line without echo from a terminal, or as it comes. The
// prompt goes to standard error, so that standard output can be kept.
func (a *App) Line(prompt string, hidden bool) (string, error) {
	if ui.IsTerminal(a.Stdin) {
		fmt.Fprint(a.Stderr, prompt)
		if hidden {
			s, err := ui.Hidden(a.Stdin)
			fmt.Fprintln(a.Stderr)
			return strings.TrimSpace(s), err
		}
	}
	// Byte by byte: what follows the line is for whoever reads next.
	var b bytes.Buffer
	one := make([]byte, 1)
	for b.Len() < 4096 {
		n, err := a.Stdin.Read(one)
		if n == 1 && one[0] == '\n' {
			break
		}
		b.Write(one[:n])
		if err != nil {
			break
		}
	}
	s := strings.TrimSpace(b.String())
	if s == "" {
		return "", errors.New("nothing was read from standard input")
	}
	return s, nil
}
