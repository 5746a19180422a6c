package trap

import "strings"

// Prose is text of several lines whose line ends are fettle's own. A literal
// is prose as it is; whatever holds a name, a path or a message from a host has
// to come through Lines, and the compiler sees to it: whoever may name a
// process or a file must not be able to write a line of the report.
type Prose string

// Lines makes prose of lines. A line end within one of them came from outside,
// and is shown as \n. Empty lines are left out.
func Lines(lines ...string) Prose {
	var out []string
	for _, l := range lines {
		if l != "" {
			out = append(out, oneLine.Replace(l))
		}
	}
	return Prose(strings.Join(out, "\n"))
}

var oneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// Also adds lines to prose that may be empty.
func (p Prose) Also(lines ...string) Prose {
	more := Lines(lines...)
	switch {
	case p == "":
		return more
	case more == "":
		return p
	}
	return p + "\n" + more
}
