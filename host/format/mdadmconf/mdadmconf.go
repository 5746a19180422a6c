// Package mdadmconf reads mdadm.conf(5) as mdadm does.
package mdadmconf

import (
	"context"
	"strings"

	"fettle/host"
)

// Files lists what mdadm reads, in its order (mdadm 4.2, config.c
// load_conffile): one file, and the *.conf of the folder beside it. Debian
// builds it with /etc/mdadm/mdadm.conf, and /etc/mdadm.conf only where that is
// absent; upstream and the RHEL family the other way round.
func Files(ctx context.Context, h *host.Host) (main string, all []string, err error) {
	candidates := []string{"/etc/mdadm.conf", "/etc/mdadm/mdadm.conf"}
	if debian, err := h.Exists(ctx, "/etc/mdadm"); err != nil {
		return "", nil, err
	} else if debian {
		candidates[0], candidates[1] = candidates[1], candidates[0]
	}
	main = candidates[0]
	for _, c := range candidates {
		there, err := h.Exists(ctx, c)
		if err != nil {
			return "", nil, err
		}
		if there {
			main = c
			break
		}
	}
	more, err := h.Glob(ctx, main+".d", "[^.]*.conf")
	return main, append([]string{main}, more...), err
}

// Word is one of mdadm.conf's, with its quotes taken off; From and To are
// where it is in the file, quotes and all.
type Word struct {
	Text           string
	Line, From, To int
}

// Lines reads mdadm.conf(5) as config.c conf_line does: a line goes on
// while the next one begins with a blank; "#" begins a comment only where a
// word could; quotes end with the line at the latest.
func Lines(text string) [][]Word {
	var lines [][]Word
	number := 0
	at := 0
	for raw := range strings.SplitAfterSeq(text, "\n") {
		number++
		start := at
		at += len(raw)
		raw = strings.TrimSuffix(raw, "\n")
		first := true
		for i := 0; i < len(raw); {
			if raw[i] == ' ' || raw[i] == '\t' {
				i++
				continue
			}
			if raw[i] == '#' {
				break
			}
			w, end := word(raw[i:])
			word := Word{w, number, start + i, start + i + end}
			if first && i == 0 || len(lines) == 0 {
				lines = append(lines, nil)
			}
			first = false
			lines[len(lines)-1] = append(lines[len(lines)-1], word)
			i += end
		}
	}
	return lines
}

// word reads the word that s begins with, and how long it is with quotes.
func word(s string) (text string, end int) {
	var b strings.Builder
	quote := byte(0)
	for {
		switch c := s[end]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		default:
			b.WriteByte(c)
		}
		end++
		if end == len(s) || quote == 0 && (s[end] == ' ' || s[end] == '\t') {
			return b.String(), end
		}
	}
}

// IsKeyword: keywords count in any case, and from three letters on
// (config.c match_keyword).
func IsKeyword(word, keyword string) bool {
	return len(word) >= 3 && len(word) <= len(keyword) && strings.EqualFold(word, keyword[:len(word)])
}

// Array is an ARRAY line: the device as it is written there, and the UUID in lower case without
// separators; either may be empty.
type Array struct {
	Device string `json:"device,omitempty"`
	UUID   string `json:"uuid,omitempty"`
}

// Arrays are those that a file's text names; home is its HOMEHOST, where it has one.
func Arrays(text string) (all []Array, home string) {
	for _, line := range Lines(text) {
		switch {
		case IsKeyword(line[0].Text, "homehost") && len(line) > 1:
			home = line[1].Text
		case IsKeyword(line[0].Text, "array"):
			var a Array
			for i, w := range line[1:] {
				k, v, ok := strings.Cut(w.Text, "=")
				switch {
				case ok && strings.EqualFold(k, "uuid"):
					a.UUID = UUID(v)
				case i == 0 && !ok:
					a.Device = w.Text
				}
			}
			all = append(all, a)
		}
	}
	return all, home
}

// UUID is one in lower case without separators.
func UUID(s string) string {
	return strings.ToLower(strings.NewReplacer(":", "", "-", "", ".", "", " ", "").Replace(s))
}

// Number is the kernel's name of the array that a device's path means, or that of its partition:
// md0 of /dev/md0, /dev/md/0, /dev/md0p1 and /dev/md/0p1; empty for others, such as /dev/md/home.
func Number(device string) string {
	rest, ok := strings.CutPrefix(device, "/dev/md")
	if !ok {
		return ""
	}
	digits, part, parted := strings.Cut(strings.TrimPrefix(rest, "/"), "p")
	if digits == "" || strings.Trim(digits+part, "0123456789") != "" || parted && part == "" {
		return ""
	}
	return "md" + digits
}
