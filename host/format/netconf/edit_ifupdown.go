package netconf

import (
	"fmt"
	"strconv"
	"strings"

	"fettle/internal/lazy"
)

var mtuOption = lazy.Regexp(`(\bmtu[ \t]+)(\d+)`)

// setIfupdown changes the mtu lines of the interface's own stanzas and the
// commands that set its MTU; where there are none, it adds a line to its own
// stanza, and for a port without one a pre-up line to its bridge's.
func (c *Config) setIfupdown(i Iface, mtu int) (Edit, error) {
	var own []*stanza
	for _, s := range c.interfaces.stanzas {
		if s.name == i.Name {
			own = append(own, s)
		}
	}
	at, mine := map[Source]bool{}, map[Source]bool{}
	for _, s := range own {
		for _, o := range s.options {
			if o.name != "mtu" {
				continue
			}
			mine[o.Source] = true
			// A larger one in an inet6 stanza would raise the link again.
			if n, err := strconv.Atoi(o.value); err == nil && n > mtu && s.family == "inet6" && s.knowsMTU() {
				at[o.Source] = true
			}
		}
	}
	for _, s := range i.All {
		switch {
		case s.Manager != Ifupdown || s.Key != KeyMTU || s.lent:
		case s.Phase != "" || mine[s.Source]:
			at[s.Source] = true
		default:
			return Edit{}, fmt.Errorf(
				"%s inherits its MTU from the stanza at %s, which others may inherit too: set the MTU to %d by hand",
				i.Name,
				s.Source,
				mtu,
			)
		}
	}
	if len(at) > 0 {
		return c.changeOptions(i, at, mtu)
	}
	var s *stanza
	line := fmt.Sprintf("pre-up ip link set dev %s mtu %d", i.Name, mtu)
	switch {
	case len(own) > 0:
		s = own[0]
		for _, o := range own {
			if o.family != "inet6" {
				s = o
				break
			}
		}
		switch {
		case s.knowsMTU() && s.family != "inet6":
			line = fmt.Sprintf("mtu %d", mtu)
		case i.Kind == "bridge": // not there yet when pre-up runs
			line = fmt.Sprintf("post-up ip link set dev %s mtu %d", i.Name, mtu)
		}
	case i.Bridge != nil:
		s = c.stanzaAround(i.Bridge.Source)
	}
	if s == nil {
		return Edit{}, fmt.Errorf("%s has no stanza in %s: add one with mtu %d", i.Name, interfacesFile, mtu)
	}
	b, err := c.raw(s.Path)
	if err != nil {
		return Edit{}, err
	}
	l := cut(b)
	after := s.Line
	for after <= len(l) && strings.HasSuffix(strings.TrimRight(l[after-1], "\n"), `\`) {
		after++
	}
	in := "    "
	if len(s.options) > 0 && s.options[0].Path == s.Path {
		in = indent(l[s.options[0].Line-1])
	}
	return Edit{Path: s.Path, Was: b, Content: l.insert(after+1, in+line).bytes()}, nil
}

// changeOptions writes mtu into all the lines given, which must be in one file.
func (c *Config) changeOptions(i Iface, at map[Source]bool, mtu int) (Edit, error) {
	if i.MTU == nil { // there are lines, but no number in them
		return Edit{}, fmt.Errorf("the MTU of %s is set in a way that is not understood: set it to %d", i.Name, mtu)
	}
	file := i.MTU.Path
	b, err := c.raw(file)
	if err != nil {
		return Edit{}, err
	}
	l, ok := cut(b), true
	for src := range at {
		if src.Path != file {
			return Edit{}, fmt.Errorf("the MTU of %s is set in %s and in %s: set it to %d in one place", i.Name, file, src.Path, mtu)
		}
		if l, ok = l.replaceNumber(src.Line, mtuOption(), mtu); !ok {
			return Edit{}, fmt.Errorf("%s: %w: set the MTU of %s to %d there", src, errContinued, i.Name, mtu)
		}
	}
	return Edit{Path: file, Was: b, Content: l.bytes()}, nil
}

// stanzaAround is the stanza that holds the line.
func (c *Config) stanzaAround(src Source) *stanza {
	var found *stanza
	for _, s := range c.interfaces.stanzas {
		if s.Path == src.Path && s.Line <= src.Line && (found == nil || s.Line > found.Line) {
			found = s
		}
	}
	return found
}
