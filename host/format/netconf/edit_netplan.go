package netconf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"fettle/internal/lazy"
)

var mtuKey = lazy.Regexp(`(\bmtu["']?[ \t]*:[ \t]*)(\d+)`)

// setNetplan changes the number behind the key mtu, or adds the key to the
// interface's definition. The text is edited, not written again: comments and
// order stay.
func (c *Config) setNetplan(i Iface, mtu int) (Edit, error) {
	if i.MTU != nil && i.MTU.Manager == Netplan {
		return c.replaceOne(i, i.MTU.Source, mtuKey(), mtu)
	}
	var at Source
	for _, p := range c.profiles {
		if p.manager == Netplan {
			if ok, _ := p.match.try(c.ident(i.Name)); ok {
				at = p.src
			}
		}
	}
	b, err := c.raw(at.Path)
	if err != nil {
		return Edit{}, err
	}
	l, ok := addNetplanKey(at, b, fmt.Sprintf("mtu: %d", mtu))
	if !ok || shipped(at.Path) {
		return Edit{}, fmt.Errorf("%s: add mtu: %d to the definition of %s by hand", at, mtu, i.Name)
	}
	return Edit{Path: at.Path, Was: b, Content: l.bytes()}, nil
}

// replaceOne replaces one number on one line of a file that may be edited.
func (c *Config) replaceOne(i Iface, at Source, pattern *regexp.Regexp, mtu int) (Edit, error) {
	if shipped(at.Path) {
		return Edit{}, fmt.Errorf("%s belongs to a package or is created again at boot: set the MTU of %s to %d below /etc", at, i.Name, mtu)
	}
	b, err := c.raw(at.Path)
	if err != nil {
		return Edit{}, err
	}
	l, ok := cut(b).replaceNumber(at.Line, pattern, mtu)
	if !ok {
		return Edit{}, fmt.Errorf("%s: %w: set the MTU of %s to %d there", at, errContinued, i.Name, mtu)
	}
	return Edit{Path: at.Path, Was: b, Content: l.bytes()}, nil
}

// addNetplanKey adds "key: value" as the first of the mapping under the key
// that is on the line.
func addNetplanKey(at Source, b []byte, text string) (lines, bool) {
	docs, err := parseYAML(at.Path, b)
	if err != nil {
		return nil, false
	}
	l := cut(b)
	for _, doc := range docs {
		v, ok := valueAt(doc, at.Line, 0)
		if !ok || at.Line > len(l) {
			continue
		}
		line := &l[at.Line-1]
		if m, ok := v.(*ast.MappingNode); ok && m.IsFlowStyle {
			p := m.Start.Position
			if p.Line != at.Line {
				return nil, false
			}
			r := []rune(*line)
			if p.Column < 1 || p.Column > len(r) || r[p.Column-1] != '{' {
				return nil, false
			}
			if len(m.Values) > 0 {
				text += ", "
			}
			*line = string(r[:p.Column]) + text + string(r[p.Column:])
			return l, true
		}
		if kids := pairs(v); len(kids) > 0 && kids[0].line > at.Line && kids[0].line <= len(l) {
			return l.insert(kids[0].line, indent(l[kids[0].line-1])+text), true
		}
		if s := strings.TrimRight(*line, " \t\n"); v == nil || v.Type() == ast.NullType && strings.HasSuffix(s, ":") {
			*line = s + " {" + text + "}\n"
			return l, true
		}
	}
	return nil, false
}

// valueAt finds the value of the definition whose key is on the line:
// three levels down, network, section, id.
func valueAt(n ast.Node, line, depth int) (ast.Node, bool) {
	for _, p := range pairs(n) {
		if depth == 2 {
			if p.line == line {
				return p.value, true
			}
			continue
		}
		if depth == 1 && !slices.Contains(sectionNames(), p.key) {
			continue
		}
		if v, ok := valueAt(p.value, line, depth+1); ok {
			return v, true
		}
	}
	return nil, false
}

func sectionNames() []string {
	var out []string
	for n := range netplanSections {
		out = append(out, n)
	}
	return out
}
