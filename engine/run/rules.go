package run

import (
	"encoding/json"
	"fmt"
	"slices"

	"fettle/engine/rule"
	"fettle/engine/trap"
)

// encoded are those of the admin's rules that traps need, for the confined
// child: checked already, so that it parses nothing.
func (e Engine) encoded(traps []*trap.Trap) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, r := range e.Rules {
		if !slices.ContainsFunc(traps, func(t *trap.Trap) bool { return t.ID() == r.ID }) {
			continue
		}
		b, err := r.Encode()
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// decoded are the traps of the rules that the parent sent.
func decoded(encoded []json.RawMessage) ([]*trap.Trap, error) {
	var out []*trap.Trap
	for _, b := range encoded {
		r, err := rule.Decode(b)
		if err != nil {
			return nil, fmt.Errorf("reading a rule: %w", err)
		}
		out = append(out, r.Trap())
	}
	return out, nil
}
