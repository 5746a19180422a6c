package rule

import (
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"fettle/host/fact/release"
	"fettle/host/format/blockconf"
)

func (p *parsing) facts(n ast.Node) {
	if n == nil {
		return
	}
	p.entries(n, "facts", func(name string, k, v ast.Node) {
		if !p.newName(name, k) {
			return
		}
		p.factAt[name] = at(k)
		if f := p.fact(name, v); f != nil {
			p.r.Facts = append(p.r.Facts, *f)
		}
	})
	if len(p.r.Facts) > factLimit {
		p.errorf(n, "more than %d facts", factLimit)
	}
}

// fact reads one fact: a map of its kind, with the argument, and options. Of
// kinds that take options alone, these are in the argument's place.
func (p *parsing) fact(name string, n ast.Node) *Fact {
	m := mapping(n)
	if m == nil {
		p.errorf(n, "the fact %s must be a map of its kind and options, not %s", name, form(n))
		return nil
	}
	if len(m.Values) == 0 {
		p.errorf(n, "the fact %s is empty: it needs a kind, as in {file: /etc/fstab}", name)
		return nil
	}
	f := &Fact{Name: name, Opts: map[string][]string{}}
	var k *kind
	var arg ast.Node
	for _, e := range m.Values {
		key, _ := scalar(e.Key)
		if kd := kinds()[key]; kd != nil && key != "os" {
			if k != nil {
				if _, opt := k.opts[key]; opt {
					continue
				}
				p.errorf(e.Key, "the fact %s has two kinds, %s and %s", name, f.Kind, key)
				return nil
			}
			f.Kind, k, arg = key, kd, e.Value
		}
	}
	if k == nil {
		key, _ := scalar(m.Values[0].Key)
		var all []string
		for kd := range kinds() {
			if kd != "os" { // every rule has it
				all = append(all, kd)
			}
		}
		slices.Sort(all)
		p.errorf(m.Values[0].Key, "the fact %s: no kind of fact is called %q%s", name, key, suggest(key, all))
		return nil
	}
	if am := mapping(arg); am != nil && (k.arg == allOf || k.arg == optsOnly) {
		p.options(f, k, arg)
	} else if k.arg == optsOnly {
		p.errorf(arg, "%s must be a map of options, not %s", f.Kind, form(arg))
	} else {
		p.argument(f, k, arg)
	}
	for _, e := range m.Values {
		if key, _ := scalar(e.Key); key != f.Kind {
			p.option(f, k, key, e.Key, e.Value)
		}
	}
	if f.Kind == "regex" && len(f.Opts["in"]) == 0 {
		p.errorf(arg, "regex: in is missing: the files to look into")
	}
	if form := f.opt("form", ""); f.Kind == "statements" && form != string(blockconf.Nginx) && form != string(blockconf.Named) {
		p.errorf(arg, "statements: form is nginx or named")
	}
	if f.Kind == "fixed-version" {
		p.checkFixed(f, arg)
	}
	if f.Kind == "command" {
		p.checkCommand(f, arg)
	}
	return f // with mistakes too: so that expressions are not blamed for them
}

func (p *parsing) argument(f *Fact, k *kind, n ast.Node) {
	f.Args = p.list(n, f.Kind)
	nodes := items(n)
	one := func(what string) {
		if len(f.Args) != 1 {
			p.errorf(n, "%s takes %s", f.Kind, what)
		}
	}
	if len(nodes) != len(f.Args) { // a mistake was told
		return
	}
	switch k.arg {
	case onePath:
		one("one path")
		p.paths(nodes, f.Args, f.Kind, false)
	case somePaths:
		p.paths(nodes, f.Args, f.Kind, false)
	case patterns:
		p.paths(nodes, f.Args, f.Kind, true)
	case oneName:
		one("one name")
	case aRegex:
		one("one regex")
		for _, i := range nodes {
			p.regex(i, f.Kind)
		}
	case allOf:
		if len(f.Args) != 1 || f.Args[0] != "all" {
			p.errorf(n, "%s takes all%s", f.Kind, map[bool]string{true: ", or a map of options"}[len(k.opts) > 0])
		}
	case running:
		if len(f.Args) != 1 || f.Args[0] != "running" {
			p.errorf(n, "%s takes running", f.Kind)
		}
	}
	if len(f.Args) == 0 {
		p.errorf(n, "%s needs an argument", f.Kind)
	}
	for i, a := range f.Args {
		if strings.TrimSpace(a) == "" {
			p.errorf(nodes[i], "%s: this one is empty", f.Kind)
		}
		if f.Kind == "upgrade" && !release.Knows(a) {
			p.errorf(nodes[i], "upgrade: fettle has no table of %s's versions", a)
		}
		if (f.Kind == "sysctl" || f.Kind == "sysctl-conf") && !sysctlForm().MatchString(a) {
			p.errorf(nodes[i], "%s: %q is not a key like net.ipv4.ip_forward", f.Kind, a)
		}
		if f.Kind == "module" && !moduleForm().MatchString(a) {
			p.errorf(nodes[i], "module: %q is not the name of a module", a)
		}
		if f.Kind == "unit" && strings.Contains(a, ".") && !unitForm().MatchString(a) {
			p.errorf(nodes[i], "unit: %q is not the name of a unit", a)
		}
		if f.Kind == "unit" && !strings.Contains(a, ".") {
			p.errorf(nodes[i], "unit: %q has no type, as in %s.service", a, a)
		}
	}
}

// paths checks that paths are absolute and clean, and may be read by this rule.
func (p *parsing) paths(nodes []ast.Node, ps []string, what string, globs bool) {
	for i, s := range ps {
		switch {
		case !strings.HasPrefix(s, "/"):
			p.errorf(nodes[i], "%s: %q is not an absolute path", what, s)
		case path.Clean(s) != s:
			p.errorf(nodes[i], "%s: %q is not a clean path; that is %s", what, s, path.Clean(s))
		case !globs && strings.ContainsAny(s, "*?["):
			p.errorf(nodes[i], "%s: %q has wildcards, which only glob, certificates and regex take", what, s)
		case globs && badPattern(s):
			p.errorf(nodes[i], "%s: %q is not a pattern of file names", what, s)
		case !p.shipped && secretPath(s):
			p.errorf(nodes[i], "%s: %s may hold secrets, which rules cannot read", what, s)
		}
	}
}

func badPattern(s string) bool {
	_, err := path.Match(s, "")
	return err != nil || strings.Contains(s, "**")
}

func (p *parsing) options(f *Fact, k *kind, n ast.Node) {
	p.entries(n, f.Kind, func(key string, kn, v ast.Node) { p.option(f, k, key, kn, v) })
}

func (p *parsing) option(f *Fact, k *kind, key string, kn, v ast.Node) {
	if f.Kind == "fixed-version" && key == "fixed" {
		p.fixed(f, v)
		return
	}
	form, ok := k.opts[key]
	if !ok {
		var known []string
		for o := range k.opts {
			known = append(known, o)
		}
		slices.Sort(known)
		p.errorf(kn, "%s has no option %q%s", f.Kind, key, suggest(key, known))
		return
	}
	if _, twice := f.Opts[key]; twice {
		p.errorf(kn, "%s: %s is there twice", f.Kind, key)
		return
	}
	switch form {
	case text1:
		f.Opts[key] = []string{p.str(v, key)}
	case flag:
		f.Opts[key] = []string{map[bool]string{true: "true", false: "false"}[p.boolean(v, key)]}
	case number:
		s := p.str(v, key)
		if _, err := positive(s); err != nil {
			p.errorf(v, "%s must be a number from 0 to 10000", key)
		}
		f.Opts[key] = []string{s}
	case regex1:
		f.Opts[key] = []string{p.regex(v, key)}
	case texts:
		f.Opts[key] = p.list(v, key)
	case paths:
		f.Opts[key] = p.list(v, key)
		if nodes := items(v); len(nodes) == len(f.Opts[key]) {
			p.paths(nodes, f.Opts[key], key, true)
		}
	}
	if key == "dropins" {
		for i, d := range f.Opts[key] {
			if below := "/" + strings.TrimPrefix(d, "/"); path.Clean(below) != below {
				p.errorf(items(v)[i], "dropins: %q is not a folder's clean path", d)
			}
		}
	}
	if key == "separator" && f.Kind == "keyvalue" && f.Opts[key][0] != "=" && f.Opts[key][0] != "space" && f.Opts[key][0] != ":" {
		p.errorf(v, "separator: it is =, : or space")
	}
	if slices.Contains([]string{"type", "mount", "device", "name"}, key) && f.Kind != "table" {
		for i, pat := range f.Opts[key] {
			if badPattern(pat) {
				p.errorf(items(v)[i], "%s: %q is not a pattern", key, pat)
			}
		}
	}
}
