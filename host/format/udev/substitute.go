package udev

import "strings"

// unknown replaces what only a program says (%c, $result).
const unknown = "\x00"

// long and short are the names of substitutions (udev(7)).
var long = map[string]byte{"kernel": 'k', "number": 'n', "id": 'b', "devpath": 'p', "driver": 'd', "attr": 's', "sysfs": 's', "env": 'E',
	"major": 'M', "minor": 'm', "result": 'c', "parent": 'P', "name": 'D', "links": 'L', "root": 'r', "sys": 'S', "devnode": 'N',
	"tempnode": 'N'}

// substitute replaces $kernel, %k and their like. Of a result that is longer
// than a rule may be, udev drops the end.
func (x *run) substitute(s string) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < maxRule; {
		c := s[i]
		if c != '$' && c != '%' || i+1 >= len(s) {
			b.WriteByte(c)
			i++
			continue
		}
		if s[i+1] == c {
			b.WriteByte(c)
			i += 2
			continue
		}
		what, n := substitution(s[i:])
		if n == 0 {
			b.WriteByte(c)
			i++
			continue
		}
		i += n
		attr := ""
		if i < len(s) && s[i] == '{' {
			if end := strings.IndexByte(s[i:], '}'); end > 0 {
				attr, i = s[i+1:i+end], i+end+1
			}
		}
		b.WriteString(x.value(what, attr))
	}
	return b.String()[:min(b.Len(), maxRule)]
}

// substitution reads which one is meant, and how long its name is.
func substitution(s string) (byte, int) {
	if s[0] == '%' {
		if strings.IndexByte("knbpdsEMmcPDLrSN", s[1]) >= 0 {
			return s[1], 2
		}
		return 0, 0
	}
	best := ""
	for name := range long {
		if strings.HasPrefix(s[1:], name) && len(name) > len(best) {
			best = name
		}
	}
	if best == "" {
		return 0, 0
	}
	return long[best], 1 + len(best)
}

func (x *run) value(what byte, attr string) string {
	self := x.d.Chain[0]
	switch what {
	case 'k', 'D':
		return self.Kernel
	case 'n':
		return self.Kernel[len(strings.TrimRight(self.Kernel, "0123456789")):]
	case 'p':
		return x.d.DevPath
	case 'd':
		return self.Driver
	case 'N':
		return x.d.DevNode
	case 'r':
		return "/dev"
	case 'S':
		return "/sys"
	case 'E':
		if x.out.Maybe[attr] {
			return unknown
		}
		return x.out.Env[attr]
	case 'M':
		return x.out.Env["MAJOR"]
	case 'm':
		return x.out.Env["MINOR"]
	case 's':
		// The device's own, or that of the parent that the rule matched: the nearest.
		for _, n := range x.d.Chain {
			if v, ok := n.Attr(attr); ok {
				return strings.TrimRight(v, " \t\n")
			}
		}
		return ""
	}
	return unknown
}
