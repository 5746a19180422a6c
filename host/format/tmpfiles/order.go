package tmpfiles

import (
	"path"
	"slices"
	"strings"
)

// array is all lines of one path, as systemd keeps them.
type array struct {
	path   string
	lines  []Line
	parent *array
	done   bool
}

// For lists the lines that act on a path that exists, in the order in which
// systemd-tmpfiles lets them act (src/tmpfiles/tmpfiles.c): literal paths
// before those that are patterns, each in the order of their first lines,
// but a path always after its parent; of one path as array.add sorts them.
func (c *Config) For(name string) []Line {
	name = path.Clean(name)
	var out []Line
	var visit func(*array)
	visit = func(a *array) {
		if a == nil || a.done {
			return
		}
		a.done = true
		visit(a.parent)
		for _, l := range a.lines {
			if l.Acts(name) {
				out = append(out, l)
			}
		}
	}
	for _, a := range c.arrays() {
		visit(a)
	}
	return out
}

// arrays groups the lines by path and links each group to its parent.
func (c *Config) arrays() []*array {
	var order [2][]*array // literal, patterns
	var byPath [2]map[string]*array
	for i := range byPath {
		byPath[i] = map[string]*array{}
	}
	for _, l := range c.Lines {
		kind := 0
		if globs(l.Type) {
			kind = 1
		}
		a := byPath[kind][l.Path]
		if a == nil {
			a = &array{path: l.Path}
			byPath[kind][l.Path] = a
			order[kind] = append(order[kind], a)
		}
		a.add(l)
	}
	all := slices.Concat(order[0], order[1])
	for _, a := range all {
		for p := a.path; p != "/" && a.parent == nil; {
			p = path.Dir(p)
			if a.parent = byPath[0][p]; a.parent == nil {
				a.parent = byPath[1][p]
			}
		}
	}
	return all
}

// add puts a line in its place: lines that own their path come first, then
// they go by letter. A second line that owns the path is a duplicate, and
// dropped, unless it has the modifier "+".
func (a *array) add(l Line) {
	if owns(l.Type) && !l.Append && slices.ContainsFunc(a.lines, func(o Line) bool { return owns(o.Type) }) {
		return
	}
	i := len(a.lines)
	for i > 0 && before(l.Type, a.lines[i-1].Type) {
		i--
	}
	a.lines = slices.Insert(a.lines, i, l)
}

func before(a, b byte) bool {
	if owns(a) != owns(b) {
		return owns(a)
	}
	return a < b
}

// owns reports whether only one line of these types can hold a path
// (takes_ownership); globs, whether its path is a pattern (needs_glob).
func owns(t byte) bool  { return strings.IndexByte("fFdeDvqQpLcbCwxXrR", t) >= 0 }
func globs(t byte) bool { return strings.IndexByte("wexXrRmzZtTaAhH", t) >= 0 }

// Acts reports whether the line acts on a path that exists: its own path,
// one that its pattern matches, or one below it for the recursive types.
func (l Line) Acts(name string) bool {
	if !globs(l.Type) {
		return l.Path == name
	}
	for {
		if l.Path == name {
			return true
		}
		if ok, err := path.Match(l.Path, name); ok && err == nil {
			return true
		}
		if strings.IndexByte("ZATHR", l.Type) < 0 || name == "/" {
			return false
		}
		name = path.Dir(name)
	}
}
