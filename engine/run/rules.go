package run

import (
	"fmt"
	"slices"
	"unsafe"

	"fettle/engine/rule"
	"fettle/engine/trap"
)

// needed are those of the admin's rules that traps need, for the confined child: checked
// already, so that it parses nothing. Of their lore the child needs what names them.
func (e Engine) needed(traps []*trap.Trap) (out []*rule.Frozen) {
	wanted := map[string]bool{}
	for _, t := range traps {
		wanted[t.ID()] = true
	}
	for _, r := range e.Rules {
		if wanted[r.ID] {
			short := *r
			short.Lore = trap.Lore("---\nid: " + r.ID + "\n---\n")
			out = append(out, &short)
		}
	}
	return out
}

// decoded are the traps of the rules that the parent sent, in a text that nobody writes to any more.
func decoded(book []byte) ([]*trap.Trap, error) {
	if len(book) == 0 {
		return nil, nil
	}
	rules, err := rule.OpenBook(unsafe.String(&book[0], len(book)), false)
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", err)
	}
	out := make([]*trap.Trap, 0, len(rules))
	for _, r := range rules {
		out = append(out, r.Trap())
	}
	return slices.Clip(out), nil
}
