package remedy

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"fettle/engine/remedy/step"
	"fettle/internal/shell"
	"fettle/internal/ui"
)

// Script writes the plan as a POSIX shell script for people under change
// control: it stops where a file is not what the plan was made from, keeps
// what it changes below /var/backups (or $FETTLE_BACKUP), and leaves an
// undo.sh there. It does not verify.
func Script(p Plan) (string, error) {
	p = p.normal()
	var b strings.Builder
	b.WriteString(
		"#!/bin/sh\n# shellcheck disable=SC2016,SC2317  # dollar signs in quotes are data; not every plan uses every function\n" + comment(
			"# ",
			p.Title,
		) + "# Written by fettle. It does not check afterwards whether it helped.\n",
	)
	for _, n := range p.Notes {
		b.WriteString(comment("# Note: ", n))
	}
	if p.CutsConnection {
		b.WriteString("# This can cut your own connection to the host: have another way in.\n")
	}
	b.WriteString(step.ShellHead)
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "\n%s", comment(fmt.Sprintf("# %d. ", i+1), s.Describe()))
		if _, asks := s.(step.Asker); !asks {
			b.WriteString(comment("#    ", s.Reversal().String()))
		}
		if t := step.Target(s); t != "" {
			b.WriteString("rooted " + shell.Quote(t) + "\n")
		}
		text, err := s.Shell(fmt.Sprintf("step%d", i+1))
		if err != nil {
			return "", fmt.Errorf("step %d (%s): %w", i+1, s.Describe(), err)
		}
		b.WriteString(text)
	}
	if err := readable(b.String()); err != nil {
		return "", err
	}
	return b.String(), nil
}

// comment makes data into one comment line: a line end in it would begin a
// command.
func comment(lead, text string) string {
	return strings.TrimRight(lead+ui.Visible(strings.TrimSpace(text)), " ") + "\n"
}

// readable refuses an export that shows a reader something else than what it
// does: with characters that a terminal acts on or hides, which came from the
// name or the content of a file.
func readable(export string) error {
	n := 1
	for _, r := range export {
		switch {
		case r == '\n':
			n++
		case r == '\t' || unicode.IsPrint(r) && r != utf8.RuneError:
		default:
			return fmt.Errorf("line %d would hold the character %q, which a terminal acts on or hides; fettle fix applies the plan itself", n, r)
		}
	}
	return nil
}
