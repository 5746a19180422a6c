// Package rule makes traps of rules: YAML files in which admins, and fettle
// itself, write down what to read on a host, when a trap is met, and what to
// say. docs/rules.md is the format.
//
// A rule is read once into a Rule, whose expressions are checked by then, with
// the place of every mistake. The rules that fettle ships were checked when it
// was built (see package traps/rules).
package rule

import (
	"encoding/json"
	"fmt"
	"strings"

	"fettle/engine/message"
	"fettle/engine/trap"
)

// Rule is one rule, checked and ready to run.
type Rule struct {
	ID         string            `json:"id"`
	Title      string            `json:"title"`
	Severity   trap.Severity     `json:"-"` // of findings that do not say their own
	Symptoms   []string          `json:"-"` // these eight are the lore, which goes its own way
	Horizon    []string          `json:"-"`
	Covers     []string          `json:"-"`
	Messages   []message.Message `json:"-"`
	Tags       []string          `json:"-"`
	Since      string            `json:"-"`
	References []string          `json:"-"`
	About      string            `json:"-"`
	Tables     []Table           `json:"-"` // the expressions have them as lets

	Facts    []Fact      `json:"facts,omitempty"`
	Lets     []Let       `json:"let,omitempty"`
	Applies  []Condition `json:"applies,omitempty"`
	Each     *Expr       `json:"each,omitempty"`
	As       string      `json:"as,omitempty"`
	Subject  *Text       `json:"subject,omitempty"`
	None     *Text       `json:"none,omitempty"`
	Findings []Finding   `json:"findings"`
	Clear    *Text       `json:"clear,omitempty"`
	Remedy   *Remedy     `json:"remedy,omitempty"`

	// Path is the file that it came from.
	Path string `json:"path"`
	// Shipped: it is fettle's own, and may start the read-only commands.
	Shipped bool `json:"-"`
	// From is the pack that it came in, and who signed that.
	From string `json:"-"`

	facts map[string]*Fact
	lets  map[string]*Let
}

// Fact is something to read, by name.
type Fact struct {
	Name  string              `json:"name"`
	Kind  string              `json:"kind"`
	Args  []string            `json:"args,omitempty"`
	Opts  map[string][]string `json:"opts,omitempty"`
	Fixed []FixedIn           `json:"fixed,omitempty"`
}

func (f *Fact) arg() string {
	if len(f.Args) == 0 {
		return ""
	}
	return f.Args[0]
}

// opt is an option that holds one value; otherwise when it is not given.
func (f *Fact) opt(name, otherwise string) string {
	if v := f.Opts[name]; len(v) > 0 {
		return v[0]
	}
	return otherwise
}

func (f *Fact) on(name string, otherwise bool) bool {
	if v := f.Opts[name]; len(v) > 0 {
		return v[0] == "true"
	}
	return otherwise
}

// Let is a named expression.
type Let struct {
	Name string `json:"name"`
	Expr *Expr  `json:"expr"`
}

// Condition is one entry of applies.
type Condition struct {
	When      *Expr `json:"when"`
	Otherwise *Text `json:"otherwise"`
}

// Finding is one entry of findings.
type Finding struct {
	When     *Expr         `json:"when"`
	Severity trap.Severity `json:"severity,omitzero"`
	Subject  *Text         `json:"subject,omitempty"`
	Summary  *Text         `json:"summary"`
	Detail   *Text         `json:"detail,omitempty"`
	ByHand   *Text         `json:"by_hand,omitempty"`
	Start    trap.Start    `json:"start,omitempty"`
	Lost     *Text         `json:"lost,omitempty"`
	Evidence []Evidence    `json:"evidence,omitempty"`
}

// Evidence is a fact's own, or what an author writes.
type Evidence struct {
	Fact   string `json:"fact,omitempty"`
	Source *Text  `json:"source,omitempty"`
	Value  *Text  `json:"value,omitempty"`
}

// Lore is what recognise and explain read.
func (r *Rule) Lore() trap.Lore {
	var b strings.Builder
	list := func(name string, values []string) {
		if len(values) == 0 {
			return
		}
		b.WriteString(name + ":\n")
		for _, v := range values {
			b.WriteString("  - " + quote(v) + "\n")
		}
	}
	fmt.Fprintf(&b, "---\nid: %s\ntitle: %s\n", r.ID, quote(r.Title))
	row := func(name string, values []string) {
		if len(values) > 0 {
			fmt.Fprintf(&b, "%s: [%s]\n", name, strings.Join(values, ", "))
		}
	}
	row("horizon", r.Horizon)
	row("covers", r.Covers)
	list("symptoms", r.Symptoms)
	writeMessages(&b, r.Messages)
	list("tags", r.Tags)
	fmt.Fprintf(&b, "since: %s\n", quote(r.Since))
	list("refs", r.References)
	b.WriteString("---\n" + r.About)
	return trap.Lore(b.String())
}

func writeMessages(b *strings.Builder, messages []message.Message) {
	if len(messages) > 0 {
		b.WriteString("messages:\n")
	}
	for _, m := range messages {
		fmt.Fprintf(b, "  - text: %s\n    says: %s\n    since: %s\n", quote(m.Text), quote(m.Says), quote(m.Since))
		if m.About != "" {
			fmt.Fprintf(b, "    about: %s\n", quote(m.About))
		}
		if m.Perhaps {
			b.WriteString("    perhaps: true\n")
		}
		if m.Harmless {
			b.WriteString("    harmless: true\n")
		}
	}
}

// quote writes text as YAML. Plain where it can be: trap.Lore scans for its
// title without undoing escapes.
func quote(s string) string {
	if !strings.ContainsAny(s, "\"\\\n\t") && strings.IndexFunc(s, func(r rune) bool { return r < ' ' }) < 0 {
		return `"` + s + `"`
	}
	if !strings.ContainsAny(s, "'\\\n\t") && strings.IndexFunc(s, func(r rune) bool { return r < ' ' }) < 0 {
		return "'" + s + "'"
	}
	var b strings.Builder // JSON is YAML
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

// Ready makes a rule ready to run: one that was checked before.
func (r *Rule) Ready() *Rule {
	r.facts, r.lets = map[string]*Fact{}, map[string]*Let{}
	for i := range r.Facts {
		r.facts[r.Facts[i].Name] = &r.Facts[i]
	}
	for i := range r.Lets {
		r.lets[r.Lets[i].Name] = &r.Lets[i]
	}
	return r
}
