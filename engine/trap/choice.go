package trap

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is something that the admin decides about a remedy: fettle fix TRAP
// --with NAME=VALUE. A remedy must be sound without any: each has a default.
type Choice struct {
	Name    string   // "group": lower case, no spaces
	About   string   // one line: what it decides
	Values  []string // what may be given; nil: any text, which Plan judges
	Default string   // taken when nothing is given; empty: Plan decides
}

// Chosen is what the admin decided about the remedy of this finding, or the
// trap's default.
func (o *Outcome) Chosen(name string) string { return o.chosen[name] }

// Choose returns f with what the admin decided: lines of NAME=VALUE. It
// refuses names and values that the trap does not know.
func (t *Trap) Choose(f Finding, given []string) (Finding, error) {
	f.chosen = map[string]string{}
	for _, c := range t.Choices {
		f.chosen[c.Name] = c.Default
	}
	for _, g := range given {
		name, value, ok := strings.Cut(g, "=")
		if !ok {
			return f, fmt.Errorf("%q: expected NAME=VALUE", g)
		}
		i := slices.IndexFunc(t.Choices, func(c Choice) bool { return c.Name == name })
		switch {
		case i < 0 && len(t.Choices) == 0:
			return f, fmt.Errorf("%q: the remedy of %s leaves nothing to choose", g, t.ID())
		case i < 0:
			return f, fmt.Errorf("%q: the remedy of %s knows %s", g, t.ID(), strings.Join(t.choiceNames(), ", "))
		case t.Choices[i].Values != nil && !slices.Contains(t.Choices[i].Values, value):
			return f, fmt.Errorf("%q: %s is one of %s", g, name, strings.Join(t.Choices[i].Values, ", "))
		}
		f.chosen[name] = value
	}
	return f, nil
}

func (t *Trap) choiceNames() []string {
	var out []string
	for _, c := range t.Choices {
		out = append(out, c.Name)
	}
	return out
}
