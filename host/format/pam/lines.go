package pam

import "strings"

// lineLimit is what libpam before 1.6 reads of one line, in bytes.
const lineLimit = 1023

// line is one line of a file, joined from continued ones, without comment.
type line struct {
	num  int
	text string
	long bool // one of its parts is longer than lineLimit
}

// split cuts a file into lines (_pam_assemble_line): a backslash at the end
// continues a line, "#" begins a comment wherever it stands, and empty lines
// and comments within a continued line do not end it. cut, if not 0, is the
// continued line that the file ends in, which libpam takes for an error of the
// file.
func split(text string) (lines []line, cut int) {
	var cur line
	open := false
	n := 0
	for raw := range strings.Lines(text) {
		n++
		part := strings.TrimLeft(raw, " \t\n")
		if part == "" || part[0] == '#' {
			if len(raw) > lineLimit && part != "" {
				lines = append(lines, line{num: n, long: true})
			}
			continue
		}
		if !open {
			cur = line{num: n}
		}
		cur.long = cur.long || len(raw) > lineLimit
		body, _, comment := strings.Cut(raw, "#")
		if !comment {
			if t := strings.TrimRight(body, " \t\n"); strings.HasSuffix(t, `\`) {
				cur.text += t[:len(t)-1] + " "
				open = true
				continue
			}
		}
		cur.text += body
		lines = append(lines, cur)
		open = false
	}
	if open {
		cut = cur.num
	}
	return lines, cut
}
