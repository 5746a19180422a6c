package menu

import (
	"slices"
	"strings"

	"fettle/internal/lazy"
)

// Line is a line that starts a kernel with parameters.
type Line struct {
	File   string
	Number int // from 1
	Label  string
	Words  []string // the parameters, without the kernel's own name
}

// Sides are the last console of the parameters before and behind the separator.
// two: there is a separator.
func (l Line) Sides() (installer, installed *Console, two bool) {
	side := &installer
	for _, w := range l.Words {
		if isSeparator(w) {
			two, side = true, &installed
			continue
		}
		if strings.HasPrefix(w, "console=") {
			*side = nil
			if c, ok := OfParameter(w); ok {
				*side = &c
			}
		}
	}
	return installer, installed, two
}

// Loader is a boot loader's own serial port.
type Loader struct {
	File    string
	Number  int
	Console Console
}

// Lines are the lines of all menus that start a kernel.
func (m *Menus) Lines() []Line {
	var out []Line
	for _, f := range m.Files {
		f.each(func(k kernelLine) string {
			out = append(out, Line{File: f.Path, Number: k.number, Label: k.label, Words: words(k.args)})
			return k.args
		})
	}
	return out
}

// Loaders are the serial ports that boot loaders set.
func (m *Menus) Loaders() []Loader {
	var out []Loader
	for _, f := range m.Files {
		n := 0
		for line := range strings.Lines(f.Text) {
			n++
			if c, ok := f.serialLine(line); ok {
				out = append(out, Loader{f.Path, n, c})
			}
		}
	}
	return out
}

// OnSerial tells whether a menu of GRUB's is shown on its serial terminal.
func (m *Menus) OnSerial() bool {
	for _, f := range m.Files {
		for line := range strings.Lines(f.Text) {
			if f.Dialect == GRUB && grubTerminal().MatchString(line) && slices.Contains(strings.Fields(line), "serial") {
				return true
			}
		}
	}
	return false
}

// kernelLine is where parameters of a kernel stand.
type kernelLine struct {
	number int
	label  string
	args   string
}

// each hands every kernel's parameters to edit and returns the text with what
// edit made of them.
func (f *File) each(edit func(kernelLine) string) string {
	if f.Dialect == GRUB {
		return f.eachGRUB(edit)
	}
	return f.eachSyslinux(edit)
}

var (
	synLabel  = lazy.Regexp(`(?i)^[ \t]*label[ \t]+(\S+)`)
	synKernel = lazy.Regexp(`(?i)^[ \t]*(?:kernel|linux)[ \t]+(\S+)(.*)$`)
	synAppend = lazy.Regexp(`(?i)^([ \t]*append)(?:[ \t]+(.*?))?([ \t]*)$`)
	synDirect = lazy.Regexp(`(?i)^([ \t]*(?:default|ontimeout|onerror)[ \t]+(\S+)[ \t]+)(\S.*?)([ \t]*)$`)
	synOther  = lazy.Regexp(
		`(?i)^[ \t]*(?:com32|boot|bss|pxe|fdimage|comboot|config|localboot)(?:[ \t]|$)|\.(?:c32|com|cbt|0|bin|bs|bss|img)$`,
	)
)

// eachSyslinux goes through the lines by label. What a module (menu.c32) or
// another boot sector is given is no parameter of a kernel.
func (f *File) eachSyslinux(edit func(kernelLine) string) string {
	lines := strings.SplitAfter(f.Text, "\n")
	var out strings.Builder
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && !synLabel().MatchString(lines[end]) {
			end++
		}
		label, kernel := "", false
		if m := synLabel().FindStringSubmatch(lines[i]); m != nil {
			label = m[1]
			kernel = startsKernel(lines[i:end])
		} else {
			kernel = true // APPEND above all labels is for those without one of their own
		}
		out.WriteString(editBlock(lines[i:end], i, label, kernel, edit))
		i = end
	}
	return out.String()
}

// startsKernel: the label's KERNEL or LINUX names no module; without either it
// is the label itself that is the kernel.
func startsKernel(block []string) bool {
	for _, l := range block {
		l = strings.TrimRight(l, "\r\n")
		if m := synKernel().FindStringSubmatch(l); m != nil {
			return !synOther().MatchString(m[1])
		}
		if synOther().MatchString(l) && !synAppend().MatchString(l) {
			return false
		}
	}
	return false
}

// editBlock edits the APPEND of one label, or gives it one behind its KERNEL.
func editBlock(block []string, at int, label string, kernel bool, edit func(kernelLine) string) string {
	var out strings.Builder
	has := !kernel || label == ""
	for _, l := range block {
		has = has || synAppend().MatchString(strings.TrimRight(l, "\r\n"))
	}
	for i, l := range block {
		body := strings.TrimRight(l, "\r\n")
		ending := l[len(body):]
		switch m := synAppend().FindStringSubmatch(body); {
		case kernel && m != nil && m[2] != "-": // "append -" is an empty one
			args := edit(kernelLine{at + i + 1, label, m[2]})
			if args == m[2] {
				out.WriteString(l)
				continue
			}
			out.WriteString(m[1] + " " + args + ending)
		case synDirect().MatchString(body):
			out.WriteString(editDirect(synDirect().FindStringSubmatch(body), at+i+1, edit) + ending)
		case !has && synKernel().MatchString(body):
			has = true
			out.WriteString(l)
			if args := edit(kernelLine{at + i + 1, label, ""}); args != "" {
				if !strings.HasSuffix(ending, "\n") {
					ending = "\n"
					out.WriteString(ending)
				}
				out.WriteString(body[:len(body)-len(strings.TrimLeft(body, " \t"))] + "append " + args + ending)
			}
		default:
			out.WriteString(l)
		}
	}
	return out.String()
}

// editDirect edits what DEFAULT, ONTIMEOUT and ONERROR give to a kernel that they
// name themselves. With one word it is a label.
func editDirect(m []string, number int, edit func(kernelLine) string) string {
	if synOther().MatchString(m[2]) {
		return m[0]
	}
	if args := edit(kernelLine{number, m[2], m[3]}); args != m[3] {
		return m[1] + args
	}
	return m[0]
}

var (
	grubEntry  = lazy.Regexp(`\bmenuentry[ \t]+(?:'([^']*)'|"([^"]*)"|(\S+))`)
	grubKernel = lazy.Regexp(`(?:^|[;{])[ \t]*(?:linux|linuxefi|linux16)[ \t]+(?:'[^']*'|"[^"]*"|[^\s;]+)`)
)

// eachGRUB edits what follows the kernel's name, up to the command's end.
func (f *File) eachGRUB(edit func(kernelLine) string) string {
	var out strings.Builder
	label := ""
	for i, l := range strings.SplitAfter(f.Text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "#") {
			out.WriteString(l)
			continue
		}
		if m := grubEntry().FindStringSubmatch(l); m != nil {
			label = m[1] + m[2] + m[3]
		}
		for {
			m := grubKernel().FindStringIndex(l)
			if m == nil {
				break
			}
			end := m[1] + commandEnd(l[m[1]:])
			args := l[m[1]:end]
			trimmed := strings.Trim(args, " \t")
			if openQuote(trimmed) { // a string over several lines, which nobody writes: it stays
				out.WriteString(l[:end])
				l = l[end:]
				continue
			}
			new := edit(kernelLine{i + 1, label, trimmed})
			switch {
			case new == trimmed:
				out.WriteString(l[:end])
			case strings.HasPrefix(l[end:], ";"), strings.HasPrefix(l[end:], "}"), strings.HasPrefix(l[end:], "#"):
				out.WriteString(l[:m[1]] + " " + new + " ")
			default:
				out.WriteString(l[:m[1]] + " " + new)
			}
			l = l[end:]
		}
		out.WriteString(l)
	}
	return out.String()
}

// openQuote tells of a quote without an end.
func openQuote(s string) bool {
	quote := rune(0)
	for _, c := range s {
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote != 0
}

// commandEnd is where a command of GRUB ends: at ";", "}" or a comment as a
// word of its own, or the line's end, outside of quotes.
func commandEnd(s string) int {
	quote := byte(0)
	for i := range len(s) {
		c := s[i]
		blank := i == 0 || s[i-1] == ' ' || s[i-1] == '\t'
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ';', c == '\n', c == '\r', blank && (c == '}' || c == '#'):
			return i
		case c == '\\' && strings.TrimRight(s[i+1:], "\r\n") == "":
			return i
		}
	}
	return len(strings.TrimRight(s, "\r\n"))
}

// Most is the console that most kernels talk to.
func (m *Menus) Most() (Console, bool) {
	count := map[Console]int{}
	for _, l := range m.Lines() {
		if installer, _, _ := l.Sides(); installer != nil {
			count[*installer]++
		}
	}
	best, n := Console{}, 0
	for c, k := range count {
		if k > n || k == n && (c.Port < best.Port || c.Port == best.Port && c.Speed > best.Speed) {
			best, n = c, k
		}
	}
	return best, n > 0
}
