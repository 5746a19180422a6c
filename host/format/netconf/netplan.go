package netconf

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"fettle/host"
)

// netplanDirs, the strongest first: of files with the same name only one is
// read; then all are merged in the order of their names, whatever their
// folder (netplan-generate(8)).
var netplanDirs = []string{"/run/netplan", "/etc/netplan", "/usr/lib/netplan", "/lib/netplan"}

// netplan reads netplan's files. It reports whether all of them were read, so
// that what netplan generates from them need not be read as well.
func (r *reader) netplan() (complete bool) {
	before := len(r.c.Problems)
	np := &netplan{reader: r, defs: map[string]*definition{}}
	for _, f := range r.overlay(Netplan, netplanDirs, ".yaml") {
		if b := r.file(Netplan, f); b != nil {
			np.read(f, b)
		}
	}
	np.profiles()
	return len(r.c.Problems) == before
}

// netplan is the merged document.
type netplan struct {
	*reader
	defs      map[string]*definition // by id
	order     []string
	renderers map[string]Statement // by section; "" for the whole
}

// definition is one device: "bridges: br0:".
type definition struct {
	section, id string
	src         Source
	match       match
	st          []Statement
}

// netplanSections are the kinds of devices. Those without a kind are there already.
var netplanSections = map[string]string{"ethernets": "", "wifis": "", "modems": "", "bridges": "bridge", "bonds": "bond",
	"vlans": "vlan", "vrfs": "vrf", "tunnels": "tunnel", "dummy-devices": "dummy", "virtual-ethernets": "veth", "nm-devices": ""}

func (np *netplan) read(file string, b []byte) {
	docs, err := parseYAML(file, b)
	if err != nil {
		np.problem(Netplan, err)
		return
	}
	for _, doc := range docs {
		for _, top := range pairs(doc) {
			if top.key != "network" {
				continue
			}
			for _, sec := range pairs(top.value) {
				if sec.key == "renderer" {
					np.renderer("", file, sec)
					continue
				}
				if _, ok := netplanSections[sec.key]; !ok {
					continue
				}
				for _, def := range pairs(sec.value) {
					if def.key == "renderer" {
						np.renderer(sec.key, file, def)
						continue
					}
					np.define(file, sec.key, def)
				}
			}
		}
	}
}

func (np *netplan) renderer(section, file string, p pair) {
	if np.renderers == nil {
		np.renderers = map[string]Statement{}
	}
	np.renderers[section] = Statement{
		Source:  Source{file, p.line},
		Manager: Netplan,
		Key:     KeyRenderer,
		Value:   scalar(p.value),
		Text:    "renderer: " + scalar(p.value),
	}
}

// define merges one device's definition into what earlier files said of it:
// later scalars speak later, and so win; lists add up.
func (np *netplan) define(file, section string, def pair) {
	d := np.defs[def.key]
	if d == nil {
		d = &definition{section: section, id: def.key, src: Source{file, def.line}}
		np.defs[def.key] = d
		np.order = append(np.order, def.key)
	}
	say := func(p pair, key Key, value string) {
		d.st = append(d.st, Statement{Source: Source{file, p.line}, Manager: Netplan, Key: key, Value: value, Text: p.key + ": " + value})
	}
	for _, p := range pairs(def.value) {
		v := scalar(p.value)
		switch p.key {
		case "mtu":
			if n, err := strconv.ParseUint(v, 10, 31); err != nil {
				np.problem(Netplan, &host.SyntaxError{Path: file, Line: p.line, Msg: "mtu: not a number of bytes"})
			} else {
				say(p, KeyMTU, strconv.FormatUint(n, 10))
			}
		case "accept-ra":
			say(p, KeyAcceptRA, yesNo(v))
		case "dhcp6":
			say(p, KeyDHCP6, yesNo(v))
		case "renderer":
			say(p, KeyRenderer, v)
		case "link":
			say(p, KeyParent, v)
		case "set-name":
			d.match.alias = v
		case "interfaces":
			if section != "bridges" {
				continue
			}
			for _, item := range items(p.value) {
				say(pair{key: p.key, line: lineOf(item)}, KeyPort, scalar(item))
			}
		case "match":
			for _, m := range pairs(p.value) {
				switch m.key {
				case "name":
					d.match.names = []string{scalar(m.value)}
				case "macaddress":
					d.match.macs = []string{strings.ToLower(scalar(m.value))}
				default:
					d.match.other = m.key
				}
			}
		}
	}
}

// profiles makes the merged definitions known. Definitions refer to each other
// by id, which is an interface's name only where nothing is matched.
func (np *netplan) profiles() {
	for _, id := range np.order {
		d := np.defs[id]
		p := np.add(&profile{manager: Netplan, kind: netplanSections[d.section], name: np.deviceName(id), match: d.match, src: d.src})
		if m := d.match; len(m.names) == 0 && len(m.macs) == 0 && m.other == "" {
			p.match = named(id)
			p.match.alias = m.alias
		}
		for _, sec := range []string{"", d.section} {
			if s, ok := np.renderers[sec]; ok {
				p.st = append(p.st, s)
			}
		}
		for _, s := range d.st {
			if s.Key == KeyPort || s.Key == KeyParent {
				if s.Value = np.deviceName(s.Value); s.Value == "" {
					continue
				}
			}
			p.st = append(p.st, s)
		}
	}
}

// deviceName is the interface that a definition is about, where exactly one is known.
func (np *netplan) deviceName(id string) string {
	d := np.defs[id]
	switch {
	case d == nil:
		return id
	case d.match.alias != "":
		return d.match.alias
	case len(d.match.names) == 0 && len(d.match.macs) == 0 && d.match.other == "":
		return id
	case len(d.match.names) == 1 && !strings.ContainsAny(d.match.names[0], `*?[\`):
		return d.match.names[0]
	}
	var hits []string
	for _, l := range np.c.links {
		if ok, _ := d.match.try(np.c.ident(l.Name)); ok && l.Info.Kind == "" {
			hits = append(hits, l.Name)
		}
	}
	if len(hits) == 1 {
		return hits[0]
	}
	return ""
}

// pair is one key of a YAML mapping.
type pair struct {
	key   string
	line  int
	value ast.Node
}

// parseYAML parses a file into the bodies of its documents. The parser is a
// stranger's and is fed strange files: if it breaks, that is an error of the file.
func parseYAML(file string, b []byte) (docs []ast.Node, err error) {
	defer func() {
		if recover() != nil {
			docs, err = nil, &host.SyntaxError{Path: file, Msg: "the YAML parser cannot read this"}
		}
	}()
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, yamlError(file, err)
	}
	for _, d := range f.Docs {
		if d.Body != nil {
			docs = append(docs, d.Body)
		}
	}
	return docs, nil
}

func yamlError(file string, err error) error {
	se := &host.SyntaxError{Path: file, Msg: "not YAML"} // the parser's own words quote the file
	var ye yaml.Error
	if errors.As(err, &ye) {
		if t := ye.GetToken(); t != nil && t.Position != nil {
			se.Line = t.Position.Line
		}
	}
	return se
}

// pairs lists the keys of a mapping; of anything else, none. Anchors are
// looked through, aliases and merge keys are not followed.
func pairs(n ast.Node) []pair {
	if a, ok := n.(*ast.AnchorNode); ok {
		n = a.Value
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		return nil
	}
	var out []pair
	for it := m.MapRange(); it.Next(); {
		k := it.Key()
		if k == nil || k.GetToken() == nil {
			continue
		}
		out = append(out, pair{strings.Trim(k.String(), `"'`), lineOf(k), it.Value()})
	}
	return out
}

// items lists a sequence's values; a lone value counts as a list of one.
func items(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return slices.Clone(s.Values)
	}
	return nil
}

func scalar(n ast.Node) string {
	if a, ok := n.(*ast.AnchorNode); ok {
		n = a.Value
	}
	s, ok := n.(ast.ScalarNode)
	if !ok || s.GetToken() == nil {
		return ""
	}
	if s.Type() == ast.NullType {
		return ""
	}
	return s.GetToken().Value
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}
