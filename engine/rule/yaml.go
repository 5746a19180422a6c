package rule

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"fettle/internal/lazy"
)

// reader reads one rule's file and collects its mistakes.
type reader struct {
	path     string
	lines    []string
	shipped  bool
	mistakes Mistakes
}

// place is a position in the file, both from 1.
type place struct{ line, col int }

func (r *reader) errorAt(p place, format string, args ...any) {
	r.mistakes = append(r.mistakes, &Mistake{Path: r.path, Line: p.line, Column: p.col, Msg: fmt.Sprintf(format, args...)})
}

func (r *reader) warnAt(p place, format string, args ...any) {
	r.errorAt(p, format, args...)
	r.mistakes[len(r.mistakes)-1].Warning = true
}

func (r *reader) errorf(n ast.Node, format string, args ...any) { r.errorAt(at(n), format, args...) }

// at is where a node begins.
func at(n ast.Node) place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return at(n.Values[0])
		}
	case *ast.MappingValueNode:
		return at(n.Key)
	case *ast.LiteralNode:
		return tokenPlace(n.Start)
	}
	return tokenPlace(n.GetToken())
}

func tokenPlace(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{1, 1}
	}
	return place{max(1, t.Position.Line), max(1, t.Position.Column)}
}

// parse reads the file as YAML: one document, a map, without anchors,
// aliases, merge keys and tags, of bounded depth. Nil: the mistakes say why.
func (r *reader) parse(b []byte) *ast.MappingNode {
	start := place{1, 1}
	switch {
	case len(b) > FileLimit:
		r.errorAt(start, "%v", errTooLarge)
		return nil
	case !utf8.Valid(b):
		r.errorAt(start, "is not UTF-8 text")
		return nil
	}
	text := strings.ReplaceAll(string(b), "\r\n", "\n")
	r.lines = strings.Split(text, "\n")
	if p, deep := tooDeep(r.lines); deep {
		r.errorAt(p, "nested more than %d deep", depthLimit)
		return nil
	}
	f, err := parseYAML([]byte(text))
	if err != nil {
		var se *yaml.SyntaxError
		if errors.As(err, &se) {
			at, hint := tokenPlace(se.Token), ""
			switch line := r.lines[min(at.line, len(r.lines))-1]; {
			case bareBraces().MatchString(line):
				hint = "; put quotes around text that begins with {{"
			case bareNot().MatchString(line):
				hint = "; put quotes around an expression that begins with !"
			}
			r.errorAt(at, "not YAML: %s%s", se.Message, hint)
		} else {
			first, _, _ := strings.Cut(err.Error(), "\n")
			r.errorAt(start, "not YAML: %s", first)
		}
		return nil
	}
	var docs []ast.Node
	for _, d := range f.Docs {
		if d.Body != nil {
			docs = append(docs, d.Body)
		}
	}
	if len(docs) == 0 {
		r.errorAt(start, "the file is empty; fettle lore new ID writes a start")
		return nil
	}
	if len(docs) > 1 {
		r.errorf(docs[1], "a second document: a file holds one rule")
		return nil
	}
	if !r.plain(docs[0], 0) {
		return nil
	}
	m, ok := docs[0].(*ast.MappingNode)
	if mv, single := docs[0].(*ast.MappingValueNode); single {
		m, ok = mapping(mv), true
	}
	if !ok {
		r.errorf(docs[0], "a rule is a map, beginning with id:")
		return nil
	}
	return m
}

var (
	bareBraces = lazy.Regexp(`[:-]\s+\{\{`)
	bareNot    = lazy.Regexp(`[:-]\s+!`)
)

// parseYAML is the parser, whose panics on odd input are mistakes like others.
func parseYAML(b []byte) (f *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	return parser.ParseBytes(b, 0)
}

// tooDeep looks for nesting that the parser would follow at great cost: many
// opening brackets, or many dashes on one line.
func tooDeep(lines []string) (place, bool) {
	open := 0
	for i, l := range lines {
		for l := strings.TrimLeft(l, " "); strings.HasPrefix(l, "- "); l = strings.TrimLeft(l[2:], " ") {
			if open++; open > depthLimit {
				return place{i + 1, 1}, true
			}
		}
		open = 0
		for j, c := range l {
			switch c {
			case '[', '{':
				if open++; open > 4*depthLimit {
					return place{i + 1, j + 1}, true
				}
			case ']', '}':
				open = max(0, open-1)
			}
		}
		open = 0
		if len(l)-len(strings.TrimLeft(l, " ")) > 1000 {
			return place{i + 1, 1}, true
		}
	}
	return place{}, false
}

// plain refuses what a rule has no use for and a bomb is made of.
func (r *reader) plain(n ast.Node, depth int) bool {
	if depth > depthLimit {
		r.errorf(n, "nested more than %d deep", depthLimit)
		return false
	}
	ok := true
	switch n := n.(type) {
	case *ast.AnchorNode:
		r.errorf(n, "an anchor (&): rules have none")
		return false
	case *ast.AliasNode:
		r.errorf(n, "an alias (*): rules have none")
		return false
	case *ast.MergeKeyNode:
		r.errorf(n, "a merge key (<<): rules have none")
		return false
	case *ast.TagNode:
		r.errorf(n, "a tag (!): rules have none")
		return false
	case *ast.MappingNode:
		for _, v := range n.Values {
			ok = r.plain(v, depth) && ok
		}
	case *ast.MappingValueNode:
		ok = r.plain(n.Key, depth) && r.plain(n.Value, depth+1)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			ok = r.plain(v, depth+1) && ok
		}
	}
	return ok
}

// mapping makes the two forms of a map into one.
func mapping(n ast.Node) *ast.MappingNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n
	case *ast.MappingValueNode:
		return &ast.MappingNode{BaseNode: n.BaseNode, Start: n.Start, Values: []*ast.MappingValueNode{n}}
	}
	return nil
}

// nothing tells whether a key has no value.
func nothing(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return n == nil || null
}

// entries calls each for the keys of a map; what says what it is, for mistakes.
func (r *reader) entries(n ast.Node, what string, each func(key string, k, v ast.Node)) bool {
	m := mapping(n)
	if m == nil {
		r.errorf(n, "%s must be a map of names and values, not %s", what, form(n))
		return false
	}
	seen := map[string]bool{}
	for _, e := range m.Values {
		key, ok := scalar(e.Key)
		if !ok {
			r.errorf(e.Key, "%s: a name must be plain text", what)
			continue
		}
		if seen[key] {
			r.errorf(e.Key, "%s: %s is there twice", what, key)
			continue
		}
		seen[key] = true
		each(key, e.Key, e.Value)
	}
	return true
}

// items are the elements of a list; one value alone stands for a list of it.
func items(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	if nothing(n) {
		return nil
	}
	return []ast.Node{n}
}
