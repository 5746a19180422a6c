package api

import (
	"context"
	"fmt"

	"fettle/fleet/hub/store"
)

// Rules are traps that operators accepted on many hosts.
type Rules struct {
	Rules []store.Rule `json:"rules"`
}

// CSV is a line for each.
func (l Rules) CSV() (header []string, lines [][]string) {
	for _, r := range l.Rules {
		lines = append(lines, texts(r.Trap, r.On(), r.Severity, r.Reason, r.Until, r.Who, stamp(r.At), r.ID))
	}
	return []string{"trap", "on", "severity", "reason", "until", "by", "accepted", "id"}, lines
}

// Rules answers which rules are about hosts that whoever asks sees.
func (a *API) Rules(ctx context.Context, _ Nothing) (l Rules, err error) {
	l.Rules, err = a.DB.Rules(ctx, sight(ctx))
	return l, err
}

// RuleQuery accepts a trap on many hosts.
type RuleQuery struct {
	Trap     string `json:"trap" need:"yes" about:"the trap"`
	Group    string `json:"group" about:"on this group only; - is the one without a name"`
	Label    string `json:"label" about:"on hosts with this label only: NAME=VALUE, or NAME"`
	Severity string `json:"severity" one:"notice warning critical" about:"the highest that is accepted; unless given, the highest found there now"`
	Reason   string `json:"reason" need:"yes" about:"why it stays"`
	Until    string `json:"until" about:"the last day, YYYY-MM-DD; empty: no end"`
}

// AcceptRule accepts a trap on all hosts, on a group, on a label.
func (a *API) AcceptRule(ctx context.Context, q RuleQuery) (Done, error) {
	if err := a.lastDay(q.Until); err != nil {
		return Done{}, err
	}
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return Done{}, err
	}
	by := who(ctx)
	g := group(q.Group)
	switch {
	case g == nil && !by.Sees.All():
		return Done{}, &Forbidden{"name a group: you have no rights over all"}
	case g != nil && !by.Sees.Over(*g):
		return Done{}, &Forbidden{fmt.Sprintf("you have no rights over the group %q", clip(*g))}
	}
	most := rank(q.Severity)
	if most == 0 {
		if most, err = a.DB.WorstFound(ctx, in, q.Trap); err != nil {
			return Done{}, err
		}
		if most == 0 {
			return Done{}, bad("%s is not found there now: say by severity what is accepted", clip(q.Trap))
		}
	}
	r := store.Rule{Trap: q.Trap, Group: g, Label: q.Label, Reason: q.Reason, Until: q.Until, Who: by.Name, At: a.Now()}
	if err := a.DB.PutRule(ctx, r, most, store.Audit{At: a.Now(), Who: by.Name, From: by.From, What: "accept", On: q.Trap + " on " + r.On(),
		Details: q.Reason}); err != nil {
		return Done{}, err
	}
	_, err = a.DB.CountRules(ctx)
	return Done{err == nil}, err
}

// RemoveRuleQuery names a rule.
type RemoveRuleQuery struct {
	ID int64 `json:"id" need:"yes" about:"the rule's number"`
}

// RemoveRule takes one back.
func (a *API) RemoveRule(ctx context.Context, q RemoveRuleQuery) (Done, error) {
	r, err := a.DB.Rule(ctx, q.ID)
	if err != nil {
		return Done{}, err
	}
	by := who(ctx)
	switch {
	case r.Group == nil && !by.Sees.All():
		return Done{}, errWhole
	case r.Group != nil && !by.Sees.Over(*r.Group):
		return Done{}, store.ErrNone
	}
	if err := a.DB.RemoveRule(ctx, q.ID, store.Audit{At: a.Now(), Who: by.Name, From: by.From, What: "take acceptance back",
		On: r.Trap + " on " + r.On()}); err != nil {
		return Done{}, err
	}
	_, err = a.DB.CountRules(ctx)
	return Done{err == nil}, err
}
