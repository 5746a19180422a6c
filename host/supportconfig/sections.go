package supportconfig

import "strings"

// section is one part of a text file.
type section struct {
	kind  string // "Command", "Configuration File", "Log File", "Summary", …
	label string // "/bin/uname -a", "/etc/fstab", "/var/log/messages - Last 500 Lines"
	body  string
}

// sections splits a text file. A section begins with "#==[ KIND ]====#"; the line
// after it is "# " and what it is of. A line of a file that looks so cannot be told
// from the collector's own, which is why labels are not trusted to name any place
// (layout.go).
func sections(text string) []section {
	var out []section
	for begin := heading(text, 0); begin >= 0; {
		end := heading(text, begin+1)
		part := text[begin:]
		if end >= 0 {
			part = text[begin:end]
		}
		head, rest, _ := strings.Cut(part, "\n")
		kind, _, _ := strings.Cut(strings.TrimPrefix(head, headingMark), "]")
		label, body, _ := strings.Cut(rest, "\n")
		if of, ok := strings.CutPrefix(label, "#"); ok {
			out = append(out, section{strings.TrimSpace(kind), strings.TrimSpace(of), body})
		}
		begin = end
	}
	return out
}

const headingMark = "#==["

// heading is where the next heading begins at or after a place; -1 for none.
func heading(text string, from int) int {
	for at := from; at <= len(text); {
		i := strings.Index(text[at:], headingMark)
		if i < 0 {
			return -1
		}
		at += i
		if at == 0 || text[at-1] == '\n' {
			return at
		}
		at++
	}
	return -1
}
