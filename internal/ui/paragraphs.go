package ui

import (
	"io"
	"strings"
)

// Paragraphs fits a message to the terminal w; what is indented by four is to
// be copied and stays as it is, and so does all on a pipe. Names in it may be
// anybody's: nothing in it reaches a terminal raw.
func Paragraphs(msg string, w io.Writer) string {
	lines := strings.Split(msg, "\n")
	for i, l := range lines {
		lines[i] = Visible(strings.ReplaceAll(l, "\t", "    "))
	}
	msg = strings.Join(lines, "\n")
	if !IsTerminal(w) {
		return msg + "\n"
	}
	var b strings.Builder
	for line := range strings.Lines(msg) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "    ") {
			b.WriteString(line + "\n")
			continue
		}
		text := strings.TrimLeft(line, " ")
		lead := line[:len(line)-len(text)]
		b.WriteString(Wrap(text, Width(w), lead, lead))
	}
	return b.String()
}
