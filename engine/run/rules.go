package run

import (
	"fmt"
	"slices"

	"fettle/engine/rule"
	"fettle/engine/trap"
)

// encoded are those of the admin's rules that traps need, for the confined
// child: checked already, so that it parses nothing. Of their lore the child needs
// what names them.
func (e Engine) encoded(traps []*trap.Trap) []byte {
	if len(e.Rules) == 0 {
		return nil
	}
	wanted := map[string]bool{}
	for _, t := range traps {
		wanted[t.ID()] = true
	}
	var out []*rule.Frozen
	for _, r := range e.Rules {
		if wanted[r.ID] {
			short := *r
			short.Lore = trap.Lore("---\nid: " + r.ID + "\n---\n")
			out = append(out, &short)
		}
	}
	return rule.Book(out)
}

// decoded are the traps of the rules that the parent sent.
func decoded(book []byte) ([]*trap.Trap, error) {
	if len(book) == 0 {
		return nil, nil
	}
	rules, err := rule.OpenBook(string(book), false)
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", err)
	}
	out := make([]*trap.Trap, 0, len(rules))
	for _, r := range rules {
		out = append(out, r.Trap())
	}
	return slices.Clip(out), nil
}
