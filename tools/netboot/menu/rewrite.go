package menu

import (
	"fmt"
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

// Edit is a file that changes.
type Edit struct {
	Path     string
	Old, New string
}

// Rewrite makes every menu and every kernel talk to a serial console. Menus
// that do so already are left out. Timeouts and defaults stay as they are.
func (m *Menus) Rewrite(c Console) []Edit {
	var out []Edit
	for i := range m.Files {
		f := m.Files[i]
		text := f.each(func(k kernelLine) string { return c.rewrite(k.args) })
		f.Text = text
		if f.Dialect == GRUB {
			text = f.grub(c)
		} else {
			text = f.syslinux(c)
		}
		if text != m.Files[i].Text {
			out = append(out, Edit{f.Path, m.Files[i].Text, text})
		}
	}
	return out
}

var (
	synSerial    = lazy.Regexp(`(?i)^[ \t]*serial[ \t]+(0x[0-9a-f]+|\d+)(?:[ \t]+(\d+))?`)
	synGraphical = lazy.Regexp(`(?i)^[ \t]*ui[ \t]+gfxboot\b`)
	synVesa      = lazy.Regexp(`(?i)\bvesamenu\.c32\b`)
	grubSerial   = lazy.Regexp(`^[ \t]*serial(?:[ \t]|$)`)
	grubUnit     = lazy.Regexp(`--unit[= ](\d+)|--port[= ](?:com)?(\d+)`)
	grubSpeed    = lazy.Regexp(`--speed[= ](\d+)`)
	grubTerminal = lazy.Regexp(`^[ \t]*terminal(?:_input|_output)?\s`)
	grubGraphics = lazy.Regexp(`\bgfxterm\b`)
)

// serialLine is the console that a line sets the loader's own port to.
func (f *File) serialLine(line string) (Console, bool) {
	c := Console{Speed: 9600}
	if f.Dialect == Syslinux {
		m := synSerial().FindStringSubmatch(line)
		if m == nil {
			return c, false
		}
		n, err := strconv.ParseInt(m[1], 0, 32)
		if i, ok := portOfAddress[uint64(n)]; ok {
			n = int64(i)
		}
		if m[2] != "" {
			c.Speed, _ = strconv.Atoi(m[2])
		}
		c.Port = int(n)
		return c, err == nil
	}
	if !grubSerial().MatchString(line) {
		return c, false
	}
	if m := grubUnit().FindStringSubmatch(line); m != nil {
		c.Port, _ = strconv.Atoi(m[1] + m[2])
	}
	if m := grubSpeed().FindStringSubmatch(line); m != nil {
		c.Speed, _ = strconv.Atoi(m[1])
	}
	return c, true
}

// portOfAddress are the I/O ports of COM1 to COM4 (arch/x86/include/asm/serial.h).
var portOfAddress = map[uint64]int{0x3f8: 0, 0x2f8: 1, 0x3e8: 2, 0x2e8: 3}

// syslinux puts SERIAL where it must be, at the very beginning of the file
// that pxelinux begins with (syslinux's doc/syslinux.txt: "it should be the
// first directive"), and takes graphical menus out. vesamenu.c32 writes the
// menu to the serial port in text too: where menu.c32 is missing it stays.
func (f *File) syslinux(c Console) string {
	want := fmt.Sprintf("serial %d %d", c.Port, c.Speed)
	var out strings.Builder
	if f.Entry {
		first, _, _ := strings.Cut(f.Text, "\n")
		if got, ok := f.serialLine(first); ok && got == c {
			want = strings.TrimRight(first, "\r")
		}
		out.WriteString(want + f.newline())
	}
	for line := range strings.Lines(f.Text) {
		if _, ok := f.serialLine(line); ok || synGraphical().MatchString(line) {
			continue
		}
		if f.plainMenu {
			line = synVesa().ReplaceAllString(line, "menu.c32")
		}
		out.WriteString(line)
	}
	return out.String()
}

// grub sets the port up in the file that GRUB begins with, and sends its
// terminal there as well as to the screen. Commands that ask for graphics are
// replaced, not removed: an empty "then" or function is an error.
func (f *File) grub(c Console) string {
	nl := f.newline()
	head := fmt.Sprintf("serial --unit=%d --speed=%d --word=8 --parity=no --stop=1", c.Port, c.Speed) + nl +
		"terminal_input serial console" + nl + "terminal_output serial console" + nl
	text := strings.TrimPrefix(f.Text, head)
	var out strings.Builder
	if f.Entry && (strings.Contains(text, "menuentry") || strings.Contains(text, "linux")) {
		out.WriteString(head)
	} else {
		text = f.Text
	}
	for line := range strings.Lines(text) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		switch {
		case grubSerial().MatchString(line):
			line = indent + strings.SplitN(head, nl, 2)[0] + line[len(strings.TrimRight(line, "\r\n")):]
		case grubTerminal().MatchString(line) && grubGraphics().MatchString(line):
			line = grubGraphics().ReplaceAllString(line, "serial console")
		}
		out.WriteString(line)
	}
	return out.String()
}

// newline is how the file ends its lines.
func (f *File) newline() string {
	if strings.Contains(f.Text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}
