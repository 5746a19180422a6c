package rule

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"fettle/engine/rule/cel"
	"fettle/engine/trap"
	"fettle/internal/lazy"
)

var (
	idForm   = lazy.Regexp(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	nameForm = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Parse reads a rule's file and finds every mistake in it. path is what
// mistakes and findings call the file. The rule is nil when one of the mistakes
// is fatal. Shipped rules may start the read-only commands.
func Parse(path string, b []byte, shipped bool) (r *Rule, ms Mistakes) {
	rd := &reader{path: path, shipped: shipped}
	defer func() { // a fault of ours in reading one rule costs that rule alone
		if p := recover(); p != nil {
			rd.errorAt(place{1, 1}, "fettle failed to read this rule (%v); please report it, with the rule", p)
			r, ms = nil, rd.mistakes.sorted()
		}
	}()
	return rd.wholeRule(b)
}

func (rd *reader) wholeRule(b []byte) (*Rule, Mistakes) {
	top := rd.parse(b)
	if top == nil {
		return nil, rd.mistakes
	}
	r := &Rule{Path: rd.path, Shipped: rd.shipped, As: "it"}
	p := &parsing{reader: rd, r: r, top: map[string]ast.Node{}, factAt: map[string]place{}, used: map[string]bool{}}
	p.rule(top)
	ms := rd.mistakes.sorted()
	if len(ms.Fatal()) > 0 {
		return nil, ms
	}
	return r.Ready(), ms
}

// parsing is one rule on the way from YAML.
type parsing struct {
	*reader
	r      *Rule
	top    map[string]ast.Node // the values of the top-level keys
	factAt map[string]place
	used   map[string]bool // names that an expression needs
	env    *cel.Env        // what expressions may use so far
}

// keys are the top-level keys in the order of the documentation.
var keys = []string{"id", "title", "severity", "horizon", "covers", "symptoms", "messages", "tags", "since", "references", "about",
	"facts", "tables", "let", "applies", "each", "as", "subject", "none", "findings", "clear", "remedy"}

func (p *parsing) rule(top *ast.MappingNode) {
	p.entries(top, "the rule", func(key string, k, v ast.Node) {
		if !slices.Contains(keys, key) {
			p.errorf(k, "no key is called %q%s", key, suggest(key, keys))
			return
		}
		p.top[key] = v
	})
	p.words()
	p.facts(p.top["facts"])
	p.declareFacts()
	p.tables(p.top["tables"])
	p.lets(p.top["let"])
	p.applies(p.top["applies"])
	p.eachOf()
	p.findings(p.top["findings"])
	if n := p.top["clear"]; n != nil {
		p.r.Clear = p.text(n, "clear", summaryText)
	} else {
		p.errorAt(place{1, 1}, "clear is missing: the message if nothing is found")
	}
	if n := p.top["remedy"]; n != nil {
		p.remedy(n)
	}
	for name, at := range p.factAt {
		if !p.used[name] {
			p.warnAt(at, "no expression uses the fact %s", name)
		}
	}
}

// words are the parts that people read.
func (p *parsing) words() {
	r := p.r
	one := func(key string) string {
		n := p.top[key]
		if n == nil || nothing(n) {
			p.errorAt(place{1, 1}, "%s is missing", key)
			return ""
		}
		return strings.TrimSpace(p.str(n, key))
	}
	many := func(key string, least int, why string) []string {
		n := p.top[key]
		if n == nil {
			if least > 0 {
				p.errorAt(place{1, 1}, "%s is missing: %s", key, why)
			}
			return nil
		}
		out := p.list(n, key)
		if len(items(n)) < least {
			p.errorf(n, "%s: %s", key, why)
		}
		for i, s := range out {
			switch {
			case strings.TrimSpace(s) == "":
				p.errorf(items(n)[i], "%s: this one is empty", key)
			case slices.Contains(out[:i], s):
				p.errorf(items(n)[i], "%s: this one is there twice", key)
			}
		}
		return out
	}
	if r.ID = one("id"); r.ID != "" && !idForm().MatchString(r.ID) {
		p.errorf(p.top["id"], "id %q: it is lower-case words joined by dashes", r.ID)
	}
	if r.Title = one("title"); len(r.Title) > 100 || strings.ContainsAny(r.Title, "\n\"\\") {
		p.errorf(p.top["title"], "title: one line of at most 100 characters, without double quotes and backslashes")
	}
	r.Severity = p.severity(p.top["severity"])
	r.Horizon = p.among("horizon", trap.HorizonNames)
	r.Covers = p.among("covers", trap.AreaNames)
	r.Messages = p.messages(p.top["messages"])
	least := max(1, 3-len(r.Messages))
	r.Symptoms = many("symptoms", least, "at least one, and three with the messages, as people see and paste them")
	r.Tags = many("tags", 0, "")
	r.Since = one("since")
	r.References = many("references", 1, "at least one")
	r.About = one("about") + "\n"
	if n := p.top["about"]; n != nil && strings.Count("\n"+r.About, "\n# ") < 2 {
		p.errorf(n, "about: at least two sections, each headed by a line \"# ...\"")
	}
}

// among reads a list of names, of which each must be known.
func (p *parsing) among(key string, known []string) []string {
	n := p.top[key]
	if n == nil {
		return nil
	}
	out := p.list(n, key)
	for i, s := range out {
		if !slices.Contains(known, s) {
			p.errorf(items(n)[i], "%s %q: expected one of %s", key, s, strings.Join(known, ", "))
		}
	}
	return out
}

func (p *parsing) severity(n ast.Node) trap.Severity {
	if n == nil {
		return 0
	}
	s, ok := trap.ParseSeverity(p.str(n, "severity"))
	if !ok {
		p.errorf(n, "severity: it is notice, warning or critical")
	}
	return s
}

func (p *parsing) lets(n ast.Node) {
	if n == nil {
		return
	}
	p.entries(n, "let", func(name string, k, v ast.Node) {
		if !p.newName(name, k) {
			return
		}
		e, typ := p.expr(v, nil)
		if e == nil {
			typ = cel.Type{}
		} else {
			p.r.Lets = append(p.r.Lets, Let{name, e})
		}
		p.declare(name, typ)
		if len(p.r.Lets) > letLimit {
			p.errorf(k, "more than %d names", letLimit)
		}
	})
}

// newName refuses a name that is taken, or none at all.
func (p *parsing) newName(name string, k ast.Node) bool {
	_, fact := p.factAt[name]
	switch {
	case !nameForm().MatchString(name):
		p.errorf(k, "%q: a name is letters, digits and underscores", name)
	case builtins[name]:
		p.errorf(k, "%s: the name means something else in expressions", name)
	case fact || slices.ContainsFunc(p.r.Lets, func(l Let) bool { return l.Name == name }):
		p.errorf(k, "%s: the name is taken", name)
	default:
		return true
	}
	return false
}

func (p *parsing) applies(n ast.Node) {
	for _, i := range items(n) {
		var c Condition
		p.entries(i, "applies", func(key string, k, v ast.Node) {
			switch key {
			case "when":
				c.When = p.condition(v)
			case "otherwise":
				c.Otherwise = p.text(v, "otherwise", summaryText)
			default:
				p.errorf(k, "applies: no key is called %q; there are when and otherwise", key)
			}
		})
		if mapping(i) != nil {
			p.need(i, "applies", map[string]bool{"when": c.When != nil, "otherwise": c.Otherwise != nil}, "when", "otherwise")
		}
		p.r.Applies = append(p.r.Applies, c)
	}
}

// need says which keys of a map are missing: those that are not even there.
func (p *parsing) need(n ast.Node, what string, have map[string]bool, names ...string) {
	m := mapping(n)
	for _, name := range names {
		there := slices.ContainsFunc(m.Values, func(e *ast.MappingValueNode) bool { s, _ := scalar(e.Key); return s == name })
		if !have[name] && !there {
			p.errorf(n, "%s: %s is missing", what, name)
		}
	}
}

func (p *parsing) eachOf() {
	n := p.top["each"]
	if n == nil {
		for _, key := range []string{"as", "subject", "none"} {
			if v := p.top[key]; v != nil {
				p.errorf(v, "%s: goes with each, which is missing", key)
			}
		}
		return
	}
	e, typ := p.expr(n, nil)
	element := cel.Type{}
	if e != nil {
		p.r.Each = e
		var ok bool
		if element, ok = elementOf(typ); !ok {
			p.errorf(n, "each must be a list, not %s", typeName(typ))
		}
	}
	if v := p.top["as"]; v != nil {
		if name := p.str(v, "as"); p.newName(name, v) {
			p.r.As = name
		}
	}
	p.declare(p.r.As, element)
	if v := p.top["subject"]; v != nil {
		p.r.Subject = p.text(v, "subject", summaryText)
	} else {
		p.errorf(n, "each: subject is missing: the name of each element")
	}
	if v := p.top["none"]; v != nil {
		p.r.None = p.text(v, "none", summaryText)
	}
}

func (p *parsing) names() []string {
	var out []string
	for name := range p.factAt {
		out = append(out, name)
	}
	return out
}

// regex checks a pattern where it is.
func (p *parsing) regex(n ast.Node, what string) string {
	s := p.str(n, what)
	if len(s) > regexLimit {
		p.errorf(n, "%s: a regex of %d bytes, %d at most", what, len(s), regexLimit)
	} else if _, err := regexp.Compile(s); err != nil {
		p.errorf(n, "%s: %v", what, err)
	}
	return s
}
