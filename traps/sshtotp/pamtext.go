package sshtotp

import (
	"fmt"
	"slices"
	"strings"

	"fettle/host/format/pam"
)

// design is what a second factor shall be.
type design struct {
	group   string // "" is everybody
	nullok  bool
	factors string // "password", "key"
}

// stanza begins what fettle writes into files of others.
const stanza = "# One-time codes, by fettle:"

// file is /etc/pam.d/sshd or where its content comes from.
type pamFile struct {
	path string // to be written
	text string
	cfg  *pam.Config
}

// lines of text as they are; a continued one is one element.
func logical(text string) []string {
	var out []string
	open := false
	for line := range strings.Lines(text) {
		if open {
			out[len(out)-1] += line
		} else {
			out = append(out, line)
		}
		t := strings.TrimSpace(line)
		comment := strings.HasPrefix(t, "#")
		open = !comment && strings.HasSuffix(t, `\`) || open && (t == "" || comment)
	}
	if n := len(out); n > 0 && !strings.HasSuffix(out[n-1], "\n") {
		out[n-1] += "\n"
	}
	return out
}

// first are the first two words of a line, in lower case, and the third as it
// stands.
func first(line string) (facility, control, rest string) {
	line = strings.ReplaceAll(line, "\\\n", " ")
	line, _, _ = strings.Cut(line, "#")
	f := strings.Fields(line)
	if len(f) == 0 {
		return "", "", ""
	}
	facility = strings.ToLower(strings.TrimPrefix(f[0], "-"))
	if len(f) > 1 {
		control = strings.ToLower(f[1])
	}
	if len(f) > 2 {
		rest = f[2]
	}
	if facility == "@include" {
		return facility, "", f[min(1, len(f)-1)]
	}
	return facility, control, rest
}

// brings tells whether an included file has lines of auth.
func (f *pamFile) brings(include string) bool {
	rules, _ := f.cfg.Stack(pam.Auth)
	return slices.ContainsFunc(rules, func(r pam.Rule) bool {
		return r.File == include || strings.HasSuffix(r.File, "/"+include)
	})
}

// asksAuth tells whether a line is of the auth stack.
func (f *pamFile) asksAuth(line string) bool {
	fac, _, rest := first(line)
	return fac == "auth" || fac == "@include" && f.brings(rest)
}

// without takes out the lines that ask for a code, and the condition before
// each that skips it.
func without(lines []string) []string {
	var out []string
	for _, l := range lines {
		fac, _, _ := first(l)
		switch {
		case strings.HasPrefix(l, stanza):
			continue
		case fac == "auth" && strings.Contains(l, module+".so"):
			if n := len(out); n > 0 && strings.Contains(out[n-1], "pam_succeed_if.so") && strings.Contains(out[n-1], "success=") {
				out = out[:n-1]
			}
			continue
		}
		out = append(out, l)
	}
	return out
}

// condition skips the next n lines for those outside the group.
func (d design) condition(n int) string {
	if d.group == "" {
		return ""
	}
	return fmt.Sprintf("auth [success=%d default=ignore] pam_succeed_if.so quiet user notingroup %s\n", n, d.group)
}

func (d design) asks(control string) string {
	s := "auth " + control + " " + module + ".so"
	if d.nullok {
		s += " nullok"
	}
	return s + "\n"
}

// variants are texts of the service's file that may do what d wants, the
// simplest first. Which one does, the simulator says.
func (f *pamFile) variants(d design) []string {
	lines := without(logical(f.text))
	at := -1
	for i, l := range lines {
		if f.asksAuth(l) {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	if d.factors == "key" {
		return []string{f.instead(lines, d)}
	}
	after := func(lines []string) string {
		head := stanza + " after the password, also a code\n"
		return strings.Join(slices.Concat(lines[:at+1], []string{head, d.condition(1), d.asks("required")}, lines[at+1:]), "")
	}
	return []string{after(lines), after(f.substacks(lines))}
}

// substacks makes every file that auth includes one line of the stack, whose
// success or jumps end at its own end.
func (f *pamFile) substacks(lines []string) []string {
	out := slices.Clone(lines)
	for i, l := range out {
		switch fac, control, rest := first(l); {
		case fac == "@include" && f.brings(rest):
			out[i] = "auth substack " + rest + "\n"
		case fac == "auth" && control == "include":
			out[i] = "auth substack " + rest + "\n"
		}
	}
	return out
}

// instead puts the code in the place of what the stack asks otherwise, for
// those who must give it: sshd has seen their key by then.
func (f *pamFile) instead(lines []string, d design) string {
	lines = f.substacks(lines)
	from, n := -1, 0
	for i, l := range lines {
		if fac, _, _ := first(l); fac == "auth" {
			if from < 0 {
				from = i
			}
			n++
		}
	}
	last := from
	for i, l := range lines {
		if fac, _, _ := first(l); fac == "auth" {
			last = i
		}
	}
	block := []string{stanza + " instead of a password (sshd demands a key)\n",
		d.condition(2), d.asks("requisite"), fmt.Sprintf("auth [success=%d default=bad] pam_permit.so\n", n)}
	tail := []string{}
	if d.nullok {
		tail = []string{stanza + " so that nullok lets in\n", "auth required pam_permit.so\n"}
	}
	return strings.Join(slices.Concat(lines[:from], block, lines[from:last+1], tail, lines[last+1:]), "")
}
