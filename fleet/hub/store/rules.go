package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"fettle/fleet/hub/message"
	"fettle/report/onhub"
)

// Rule accepts the findings of a trap on all hosts, on those of a group, or of a label.
type Rule struct {
	ID       int64     `json:"id"`
	Trap     string    `json:"trap"`
	Group    *string   `json:"group,omitempty"` // absent: any
	Label    string    `json:"label"`           // NAME=VALUE, or NAME; empty: any
	Severity string    `json:"severity"`        // the most severe that it accepts
	Reason   string    `json:"reason"`
	Until    string    `json:"until"` // YYYY-MM-DD, the last day; empty: no end
	Who      string    `json:"who"`
	At       time.Time `json:"at"`

	rank    int
	removed bool
	label   []Label
}

// On says in words which hosts a rule is about.
func (r *Rule) On() string {
	on := "all hosts"
	switch {
	case r.Group != nil && *r.Group == "":
		on = "hosts without a group"
	case r.Group != nil:
		on = "group " + *r.Group
	}
	if r.Label != "" {
		on += " with label " + r.Label
	}
	return on
}

// about reports whether a rule is about a host.
func (r *Rule) about(group string, labels map[string]string) bool {
	return (r.Group == nil || *r.Group == group) && allOn(r.label, labels)
}

func (r *Rule) holds(trap string, rank int, today string) bool {
	return !r.removed && r.Trap == trap && rank > 0 && rank <= r.rank && (r.Until == "" || today <= r.Until)
}

const ruleColumns = "r.id, r.trap, r.any_grp, r.grp, r.label, r.rank, r.reason, r.until, r.who, r.at, r.removed"

func scanRule(row scanner) (r Rule, err error) {
	var any, removed, at int64
	var group string
	if err := row.Scan(&r.ID, &r.Trap, &any, &group, &r.Label, &r.rank, &r.Reason, &r.Until, &r.Who, &at, &removed); err != nil {
		return r, err
	}
	if any == 0 {
		r.Group = &group
	}
	r.Severity, r.At, r.removed = rankName(r.rank), moment(at), removed != 0
	r.label, err = ParseLabels(r.Label)
	return r, err
}

// PutRule adds a rule, or changes the one of the same trap, group and label. Its hosts are
// counted again by CountRules.
func (db *DB) PutRule(ctx context.Context, r Rule, rank int, log Audit) error {
	any, group := 1, ""
	if r.Group != nil {
		any, group = 0, *r.Group
	}
	return db.within(ctx, func(t *tx) error {
		if _, err := t.exec(ctx, `INSERT INTO accept_rules (trap, any_grp, grp, label, rank, reason, until, who, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (trap, any_grp, grp, label) DO UPDATE SET rank = excluded.rank, reason = excluded.reason, until = excluded.until,
			who = excluded.who, at = excluded.at, counted = 0, removed = 0`, r.Trap, any, group, r.Label, rank, r.Reason, r.Until, r.Who,
			millis(r.At)); err != nil {
			return err
		}
		_, err := t.exec(ctx, auditInsert, auditRow(log)...)
		return err
	})
}

// Rule is one by its number.
func (db *DB) Rule(ctx context.Context, id int64) (Rule, error) {
	r, err := scanRule(db.row(ctx, "SELECT "+ruleColumns+" FROM accept_rules r WHERE r.id = ? AND r.removed = 0", id))
	return r, none(err)
}

// RemoveRule takes one back; CountRules counts its hosts again.
func (db *DB) RemoveRule(ctx context.Context, id int64, log Audit) error {
	return db.within(ctx, func(t *tx) error {
		n, err := t.exec(ctx, "UPDATE accept_rules SET removed = 1, counted = 0 WHERE id = ? AND removed = 0", id)
		if err == nil && n == 0 {
			return ErrNone
		}
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, auditInsert, auditRow(log)...)
		return err
	})
}

// Rules lists those that hold, and those that have ended, the newest first: all of them,
// or those of some groups and of any.
func (db *DB) Rules(ctx context.Context, scope Scope) ([]Rule, error) {
	w := &where{}
	w.and("r.removed = 0")
	if !scope.All {
		var groups where
		scope.groups(&groups, "r.grp")
		w.and("(r.any_grp = 1 OR "+groups.conditions[0]+")", groups.args...)
	}
	rows, err := db.query(ctx, "SELECT "+ruleColumns+" FROM accept_rules r"+w.String()+" ORDER BY r.at DESC, r.id DESC", w.args...)
	return read(rows, err, scanRule)
}

// CountRules counts the hosts again whose findings rules accept, or no longer do: since
// they came, were removed, or ended. It says how many hosts it were.
func (db *DB) CountRules(ctx context.Context) (n int, err error) {
	today := db.now().UTC().Format(time.DateOnly)
	// counted is 2 where the rule's end was counted, too.
	rows, err := db.query(ctx,
		"SELECT "+ruleColumns+" FROM accept_rules r WHERE r.counted = 0 OR r.counted = 1 AND r.until <> '' AND r.until < ? "+
			"ORDER BY r.id", today)
	list, err := read(rows, err, scanRule)
	if err != nil {
		return 0, err
	}
	for i := range list {
		r := &list[i]
		hosts, err := db.countRule(ctx, r.Trap)
		if n += hosts; err != nil {
			return n, err
		}
		counted := 1
		if r.Until != "" && r.Until < today {
			counted = 2
		}
		q, args := "UPDATE accept_rules SET counted = ? WHERE id = ? AND at = ? AND removed = 0", []any{counted, r.ID, millis(r.At)}
		if r.removed {
			q, args = "DELETE FROM accept_rules WHERE id = ? AND removed = 1", []any{r.ID}
		}
		if _, err := db.exec(ctx, q, args...); err != nil {
			return n, err
		}
	}
	return n, nil
}

// countRule counts the hosts with findings of a trap again, some at a time.
func (db *DB) countRule(ctx context.Context, trap string) (n int, err error) {
	for last := int64(0); ; {
		more := false
		err := db.within(ctx, func(t *tx) error {
			rows, err := t.query(ctx, "SELECT DISTINCT h.id, h.grp, h.labels FROM findings f JOIN hosts h ON h.id = f.host "+
				"WHERE f.trap = ? AND f.rank > 0 AND h.id > ? AND h.retired = 0 ORDER BY h.id LIMIT 200", trap, last)
			hosts, err := read(rows, err, func(row scanner) (h hostRow, err error) { return h, row.Scan(&h.id, &h.group, &h.labels) })
			if err != nil {
				return err
			}
			more = len(hosts) == 200
			b := &batch{tx: t, tally: newTally()}
			for i := range hosts {
				if err := b.recount(ctx, &hosts[i]); err != nil {
					return err
				}
				last = hosts[i].id
			}
			n += len(hosts)
			return b.tally.flush(ctx, t)
		})
		if err != nil || !more {
			return n, err
		}
	}
}

// accepting is what the hub accepts on one host.
type accepting struct {
	single map[findingKey]acceptance
	rules  []Rule
	today  string
}

func (a *accepting) holds(k findingKey, rank int, summary string) bool {
	return a.single[k].holds(rank, summary, a.today) ||
		slices.ContainsFunc(a.rules, func(r Rule) bool { return r.holds(k.trap, rank, a.today) })
}

// accepting reads what the hub accepts on a host.
func (b *batch) accepting(ctx context.Context, h *hostRow) (*accepting, error) {
	out := &accepting{today: b.db.now().UTC().Format(time.DateOnly)}
	var err error
	if !h.plain {
		if out.single, err = b.acceptances(ctx, h.id); err != nil {
			return nil, err
		}
	}
	out.rules, err = b.rulesFor(ctx, h)
	return out, err
}

// accepts is what a host's agent is to know of it; nil where it has that.
func (b *batch) accepts(ctx context.Context, h *hostRow, has string) (*onhub.List, error) {
	a, err := b.accepting(ctx, h)
	if err != nil {
		return nil, err
	}
	var entries []onhub.Entry
	for _, r := range a.rules {
		if r.Until == "" || a.today <= r.Until {
			entries = append(entries, onhub.Entry{Trap: r.Trap, Any: true, Severity: r.Severity, Reason: r.Reason, Until: r.Until, By: r.Who})
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(a.single), findingKey.compare) {
		s := a.single[k]
		if s.until == "" || a.today <= s.until {
			entries = append(entries, onhub.Entry{Trap: k.trap, Subject: k.subject, Severity: rankName(s.rank), Summary: s.summary,
				Reason: s.reason, Until: s.until, By: s.who})
		}
	}
	if l := message.Accepts(entries); l.Digest != has {
		return l, nil
	}
	return nil, nil
}

// rulesFor are the rules about a host; a transaction reads them once.
func (b *batch) rulesFor(ctx context.Context, h *hostRow) ([]Rule, error) {
	if !b.ruled {
		rows, err := b.query(ctx, "SELECT "+ruleColumns+" FROM accept_rules r WHERE r.removed = 0 ORDER BY r.id")
		if b.rules, err = read(rows, err, scanRule); err != nil {
			return nil, err
		}
		b.ruled = true
	}
	if len(b.rules) == 0 {
		return nil, nil
	}
	labels, err := labelsIn(h.labels)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(b.rules), func(r Rule) bool { return !r.about(h.group, labels) }), nil
}

// RulesFor are the rules that hold on a host today.
func (db *DB) RulesFor(ctx context.Context, h *Host) ([]Rule, error) {
	all, err := db.Rules(ctx, Scope{Groups: []string{h.Group}})
	today := db.now().UTC().Format(time.DateOnly)
	return slices.DeleteFunc(all, func(r Rule) bool { return !r.about(h.Group, h.Labels) || r.Until != "" && today > r.Until }), err
}

// Holds reports whether a rule that is about a host accepts a finding there.
func (r *Rule) Holds(f *Finding) bool {
	return r.Trap == f.Trap && f.Outcome.Severity > 0 && int(f.Outcome.Severity) <= r.rank
}

// WorstFound is the most severe severity with which a trap is found on some hosts; 0: it is not.
func (db *DB) WorstFound(ctx context.Context, scope Scope, trap string) (rank int, err error) {
	w := &where{}
	w.and("f.trap = ?", trap)
	scope.hosts(w, "h.")
	return rank, db.row(ctx, "SELECT COALESCE(MAX(f.rank), 0) FROM findings f JOIN hosts h ON h.id = f.host"+w.String(), w.args...).Scan(&rank)
}
