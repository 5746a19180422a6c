package menu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

// Console is a serial console.
type Console struct {
	Port  int // of ttyS: 0 is COM1
	Speed int // bits per second
}

// Speeds are what UARTs and BMCs agree on.
var Speeds = []int{9600, 19200, 38400, 57600, 115200}

// Parse reads a port as "ttyS1" and a speed.
func Parse(port string, speed int) (Console, error) {
	n, ok := strings.CutPrefix(strings.TrimPrefix(port, "/dev/"), "ttyS")
	unit, err := strconv.Atoi(n)
	switch {
	case !ok || err != nil || unit < 0 || unit > 3 || n != strconv.Itoa(unit):
		return Console{}, fmt.Errorf("%q: expected ttyS0, ttyS1, ttyS2 or ttyS3, the ports that boot loaders can use", port)
	}
	return Console{unit, speed}, CheckSpeed(speed)
}

// CheckSpeed refuses speeds that are not in Speeds.
func CheckSpeed(speed int) error {
	if slices.Contains(Speeds, speed) {
		return nil
	}
	return fmt.Errorf("speed %d: expected %s bits per second", speed, strings.Trim(strings.ReplaceAll(fmt.Sprint(Speeds), " ", ", "), "[]"))
}

// Device is the port as Linux calls it.
func (c Console) Device() string { return fmt.Sprintf("ttyS%d", c.Port) }

func (c Console) String() string { return fmt.Sprintf("%s at %d", c.Device(), c.Speed) }

// parameter is the console as Linux is told of it (Documentation/admin-guide/
// serial-console.rst): no parity, eight bits.
func (c Console) parameter() string { return fmt.Sprintf("console=%s,%dn8", c.Device(), c.Speed) }

var serialParameter = lazy.Regexp(`^console=ttyS(\d+)(?:,(\d+))?`)

// OfParameter reads "console=ttyS1,115200n8". Without a speed it is 9600
// (drivers/tty/serial/8250/8250_core.c, univ8250_console_setup).
func OfParameter(word string) (Console, bool) {
	m := serialParameter().FindStringSubmatch(word)
	if m == nil {
		return Console{}, false
	}
	c := Console{Speed: 9600}
	c.Port, _ = strconv.Atoi(m[1])
	if m[2] != "" {
		c.Speed, _ = strconv.Atoi(m[2])
	}
	return c, true
}

// separators part the installer's parameters from those that it hands on to
// the installed system ("--" before Debian 8).
func isSeparator(word string) bool { return word == "---" || word == "--" }

// words splits a command line at blanks, keeping quoted ones together.
func words(s string) []string {
	var out []string
	quote, begun := rune(0), -1
	for i, c := range s {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
			if begun < 0 {
				begun = i
			}
		case c == ' ' || c == '\t':
			if begun >= 0 {
				out = append(out, s[begun:i])
			}
			begun = -1
		case begun < 0:
			begun = i
		}
	}
	if quote != 0 { // it has no end: a character like any other
		return strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == '\t' })
	}
	if begun >= 0 {
		out = append(out, s[begun:])
	}
	return out
}

// rewrite changes the parameters of a kernel: no vga=, the serial console
// last on both sides of the separator, other serial consoles out. What is
// right already stays as it is, byte for byte.
func (c Console) rewrite(line string) string {
	if c.settled(words(line)) {
		return line
	}
	var out []string
	for _, w := range words(line) {
		_, serial := OfParameter(w)
		switch {
		case strings.HasPrefix(w, "vga="), serial:
		case isSeparator(w):
			out = append(out, c.parameter(), w)
		default:
			out = append(out, w)
		}
	}
	return strings.Join(append(out, c.parameter()), " ")
}

// settled tells whether nothing is to be changed: the last console of each
// side is this one, no other serial console and no video mode is named.
func (c Console) settled(ws []string) bool {
	last := ""
	for _, w := range append(slices.Clone(ws), "---") {
		switch {
		case strings.HasPrefix(w, "vga="):
			return false
		case isSeparator(w):
			if last != c.parameter() {
				return false
			}
			last = ""
			continue
		case strings.HasPrefix(w, "console="):
			if _, serial := OfParameter(w); serial && w != c.parameter() {
				return false
			}
			last = w
		}
	}
	return true
}
