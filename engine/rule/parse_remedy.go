package rule

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// stepForm says what a kind of step takes.
type stepForm struct {
	must, may []string
	maps      map[string][]string // arguments that are maps themselves
	words     []string            // lists of texts
	shipped   bool                // only in fettle's own rules
}

var stepForms = map[string]stepForm{
	"file": {must: []string{"path", "content"}, may: []string{"mode"}},
	"edit": {
		must: []string{"path"},
		may:  []string{"append", "drop"},
		maps: map[string][]string{"set": {"key", "value", "section", "separator"}, "replace": {"match", "with"}},
	},
	"remove":  {must: []string{"path"}},
	"rename":  {must: []string{"path", "to"}},
	"perm":    {must: []string{"path"}, may: []string{"mode", "uid", "gid"}},
	"sysctl":  {must: []string{"key", "value"}, may: []string{"persist"}},
	"sysfs":   {must: []string{"path", "value"}},
	"unit":    {must: []string{"act"}, may: []string{"name"}},
	"command": {words: []string{"do", "undo", "probe", "require", "undo_require"}, may: []string{"differs", "again"}, shipped: true},
	"check":   {words: []string{"run"}, shipped: true},
}

var unitActs = []string{"reload", "restart", "reload-or-restart", "start", "stop", "enable", "disable", "daemon-reload"}

func (p *parsing) remedy(n ast.Node) {
	m := &Remedy{}
	p.r.Remedy = m
	if !p.entries(n, "remedy", func(key string, k, v ast.Node) {
		switch key {
		case "title":
			m.Title = p.text(v, key, freeText)
		case "notes":
			for _, i := range items(v) {
				m.Notes = append(m.Notes, p.text(i, "a note", freeText))
			}
		case "refuse":
			for _, i := range items(v) {
				m.Refuse = append(m.Refuse, p.refusal(i))
			}
		case "settle":
			s := p.str(v, key)
			d, err := time.ParseDuration(s)
			if err != nil || d < 0 || d > 10*time.Minute {
				p.errorf(v, "settle: a time like 5s, at most 10m")
			}
			m.Settle = d
		case "vanishes":
			m.Vanishes = p.str(v, key)
		case "cuts_connection":
			m.CutsConnection = p.boolean(v, key)
		case "steps":
			for _, i := range items(v) {
				p.step(i)
			}
		default:
			p.errorf(
				k,
				"remedy: no key is called %q%s",
				key,
				suggest(key, []string{"title", "notes", "refuse", "settle", "vanishes", "cuts_connection", "steps"}),
			)
		}
	}) {
		return
	}
	p.need(n, "remedy", map[string]bool{"title": m.Title != nil, "steps": len(m.Steps) > 0}, "title", "steps")
}

func (p *parsing) refusal(n ast.Node) Refusal {
	var r Refusal
	if p.entries(n, "refuse", func(key string, k, v ast.Node) {
		switch key {
		case "when":
			r.When = p.condition(v)
		case "why":
			r.Why = p.text(v, key, freeText)
		default:
			p.errorf(k, "refuse: no key is called %q; there are when and why", key)
		}
	}) {
		p.need(n, "refuse", map[string]bool{"when": r.When != nil, "why": r.Why != nil}, "when", "why")
	}
	return r
}

// step reads one step: a map of its kind, and perhaps when.
func (p *parsing) step(n ast.Node) {
	st := Step{Line: at(n).line, Args: map[string]*Text{}, Words: map[string][]*Text{}}
	var body ast.Node
	ok := p.entries(n, "a step", func(key string, k, v ast.Node) {
		if key == "when" {
			st.When = p.condition(v)
			return
		}
		form, known := stepForms[key]
		switch {
		case !known:
			var all []string
			for s := range stepForms {
				all = append(all, s)
			}
			slices.Sort(all)
			p.errorf(k, "no kind of step is called %q%s", key, suggest(key, all))
		case st.Kind != "":
			p.errorf(k, "a step has one kind; this is %s already", st.Kind)
		case form.shipped && !p.shipped:
			p.errorf(k, "a rule of yours may not run commands")
		}
		if known {
			st.Kind, body = key, v
		}
	})
	if !ok || body == nil {
		if ok {
			p.errorf(n, "a step needs a kind: file, edit, sysctl, unit, ...")
		}
		return
	}
	p.stepArgs(&st, body)
	p.r.Remedy.Steps = append(p.r.Remedy.Steps, st)
}

func (p *parsing) stepArgs(st *Step, n ast.Node) {
	form := stepForms[st.Kind]
	var have []string
	if !p.entries(n, "step "+st.Kind, func(key string, k, v ast.Node) {
		have = append(have, key)
		switch {
		case slices.Contains(form.must, key) || slices.Contains(form.may, key):
			p.stepArg(st, key, v)
		case form.maps[key] != nil:
			p.entries(v, key, func(sub string, sk, sv ast.Node) {
				if !slices.Contains(form.maps[key], sub) {
					p.errorf(sk, "%s: no key is called %q; there are %s", key, sub, strings.Join(form.maps[key], ", "))
					return
				}
				p.stepArg(st, key+"."+sub, sv)
			})
		case slices.Contains(form.words, key):
			for _, i := range items(v) {
				if t := p.text(i, key, freeText); t != nil {
					st.Words[key] = append(st.Words[key], t)
				}
			}
			if w := st.Words[key]; len(w) > 0 && (w[0].Parts[0].Expr != nil || !strings.HasPrefix(w[0].Parts[0].Text, "/")) {
				p.errorf(v, "%s: the first word must be the absolute path of a program", key)
			}
		default:
			known := append(append(append([]string{}, form.must...), form.may...), form.words...)
			for m := range form.maps {
				known = append(known, m)
			}
			p.errorf(k, "step %s: no key is called %q%s", st.Kind, key, suggest(key, known))
		}
	}) {
		return
	}
	for _, must := range form.must {
		if !slices.Contains(have, must) {
			p.errorf(n, "step %s: %s is missing", st.Kind, must)
		}
	}
	switch st.Kind {
	case "edit":
		n2 := 0
		for _, way := range []string{"set", "replace", "append", "drop"} {
			if slices.Contains(have, way) {
				n2++
			}
		}
		if n2 != 1 {
			p.errorf(n, "step edit: takes one of set, replace, append and drop")
		}
		for way, must := range map[string][]string{"set": {"key", "value"}, "replace": {"match", "with"}} {
			for _, m := range must {
				if slices.Contains(have, way) && st.Args[way+"."+m] == nil {
					p.errorf(n, "step edit: %s needs %s", way, m)
				}
			}
		}
	case "command":
		if len(st.Words["do"]) == 0 {
			p.errorf(n, "step command: do is missing")
		}
		for _, key := range []string{"do", "undo"} {
			if w := st.Words[key]; len(w) == 1 && strings.HasSuffix(w[0].literal(), "/true") {
				p.errorf(n, "step command: %s runs %s, which does nothing: a step that only checks is a check, "+
					"and undo may be again", key, w[0].literal())
			}
		}
	case "check":
		if len(st.Words["run"]) == 0 {
			p.errorf(n, "step check: run is missing")
		}
	case "unit":
		act := st.Args["act"].literal()
		if act != "" && !slices.Contains(unitActs, act) {
			p.errorf(n, "step unit: act is one of %s", strings.Join(unitActs, ", "))
		}
		if act != "daemon-reload" && !slices.Contains(have, "name") {
			p.errorf(n, "step unit: name is missing")
		}
	case "perm":
		if len(have) < 2 {
			p.errorf(n, "step perm: one of mode, uid and gid is needed")
		}
	}
}

func (p *parsing) stepArg(st *Step, key string, v ast.Node) {
	what := key[strings.LastIndexByte(key, '.')+1:]
	t := p.text(v, what, freeText)
	st.Args[key] = t
	lit := t.literal()
	switch {
	case t == nil:
	case key == "path" && lit != "":
		if !strings.HasPrefix(lit, "/") {
			p.errorf(v, "path: %q is not an absolute path", lit)
		} else if !p.shipped && secretPath(lit) {
			p.errorf(v, "path: %s may hold secrets, which rules cannot change", lit)
		}
		if st.Kind == "sysfs" && !strings.HasPrefix(lit, "/sys/") {
			p.errorf(v, "path: %q is not below /sys", lit)
		}
	case (key == "replace.match" || key == "drop") && lit != "":
		if _, err := regexp.Compile(lit); err != nil {
			p.errorf(v, "%s: %v", what, err)
		}
	case key == "mode" && lit != "":
		if !regexp.MustCompile(`^[0-7]{3,4}$`).MatchString(lit) {
			p.errorf(v, "mode: %q is not like 0644", lit)
		}
	case key == "persist":
		p.boolean(v, key)
	}
}

// literal is a text without expressions; empty otherwise.
func (t *Text) literal() string {
	if t == nil || len(t.Parts) != 1 || t.Parts[0].Expr != nil {
		return ""
	}
	return t.Parts[0].Text
}
