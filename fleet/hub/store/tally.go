package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

func (k findingKey) compare(o findingKey) int {
	return cmp.Or(strings.Compare(k.trap, o.trap), strings.Compare(k.subject, o.subject))
}

// sums count the findings of a host, a group.
type sums struct {
	hosts, critical, warning, notice, unknown, accepted int
	clear, notApplicable                                int // of a host
}

// sumOf counts a host's findings.
func sumOf(rows map[findingKey]finding) sums {
	var s sums
	for _, f := range rows {
		*s.of(f)++
	}
	return s
}

// fleetSum counts those that count over the fleet: of the traps that this hub knows.
func fleetSum(rows map[findingKey]finding) sums {
	var s sums
	for _, f := range rows {
		if !f.foreign {
			*s.of(f)++
		}
	}
	return s
}

// of is where a finding is counted.
func (s *sums) of(f finding) *int {
	switch {
	case f.accepted && f.rank > 0:
		return &s.accepted
	case f.rank >= 3:
		return &s.critical
	case f.rank == 2:
		return &s.warning
	case f.rank == 1:
		return &s.notice
	}
	return &s.unknown
}

func (s *sums) add(o sums, sign int) {
	s.hosts += sign * o.hosts
	s.critical += sign * o.critical
	s.warning += sign * o.warning
	s.notice += sign * o.notice
	s.unknown += sign * o.unknown
	s.accepted += sign * o.accepted
}

// worst is the finding of each trap that this hub knows that counts in its cell: what is not
// accepted goes before what is, and a finding before what is unknown.
func worst(rows map[findingKey]finding) map[string]finding {
	weight := func(f finding) int {
		switch {
		case f.rank > 0 && !f.accepted:
			return 2 + f.rank
		case f.rank > 0:
			return 2
		}
		return 1
	}
	out := map[string]finding{}
	for k, f := range rows {
		if f.foreign {
			continue
		}
		if had, ok := out[k.trap]; !ok || weight(f) > weight(had) {
			out[k.trap] = f
		}
	}
	return out
}

// happened counts changes of a day.
type happened struct{ appeared, resolved, returned int }

func (h *happened) count(kind string) {
	switch kind {
	case New:
		h.appeared++
	case Resolved:
		h.resolved++
	case Returned:
		h.returned++
	}
}

type (
	cellKey struct{ trap, group string }
	dayKey  struct {
		day  int64
		name string // of a group or a trap
	}
)

// tally gathers what a transaction adds to the sums, so that each row is
// written once.
type tally struct {
	groups map[string]*sums
	cell   map[cellKey]*sums
	group  map[dayKey]*happened
	trap   map[dayKey]*happened
}

func newTally() tally {
	return tally{map[string]*sums{}, map[cellKey]*sums{}, map[dayKey]*happened{}, map[dayKey]*happened{}}
}

func at[K comparable, V any](m map[K]*V, k K) *V {
	if m[k] == nil {
		m[k] = new(V)
	}
	return m[k]
}

const dayMillis = int64(24 * time.Hour / time.Millisecond)

// host recounts a host's findings.
func (t *tally) host(group string, before, after sums) {
	g := at(t.groups, group)
	g.add(before, -1)
	g.add(after, 1)
}

// cells recounts a host in the cells of its group.
func (t *tally) cells(group string, before, after map[string]finding) {
	for trap, f := range before {
		*at(t.cell, cellKey{trap, group}).of(f)--
	}
	for trap, f := range after {
		*at(t.cell, cellKey{trap, group}).of(f)++
	}
}

func (t *tally) change(group, trap, kind string, ms int64) {
	day := ms / dayMillis
	at(t.group, dayKey{day, group}).count(kind)
	if trap != "" {
		at(t.trap, dayKey{day, trap}).count(kind)
	}
}

// flush writes the sums, in one order always: two hubs must not wait for each
// other.
func (t *tally) flush(ctx context.Context, x *tx) error {
	today := x.db.now().UnixMilli() / dayMillis
	traps := map[string]bool{}
	for _, k := range slices.SortedFunc(maps.Keys(t.cell), func(a, b cellKey) int {
		return cmp.Or(strings.Compare(a.trap, b.trap), strings.Compare(a.group, b.group))
	}) {
		c := t.cell[k]
		if *c == (sums{}) {
			continue
		}
		traps[k.trap] = true
		if _, err := x.exec(ctx, `INSERT INTO cells (trap, grp, critical, warning, notice, unknown, accepted) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (trap, grp) DO UPDATE SET critical = cells.critical + excluded.critical, warning = cells.warning + excluded.warning, notice = cells.notice + excluded.notice,
			unknown = cells.unknown + excluded.unknown, accepted = cells.accepted + excluded.accepted`, k.trap, k.group, c.critical,
			c.warning, c.notice, c.unknown, c.accepted); err != nil {
			return err
		}
	}
	groups := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(t.groups)) {
		if *t.groups[name] != (sums{}) {
			groups[name] = true
			if err := addTotals(ctx, x, name, *t.groups[name]); err != nil {
				return err
			}
		}
		if _, err := x.exec(ctx, "UPDATE totals SET pulse = pulse + 1 WHERE grp = ?", name); err != nil {
			return err
		}
	}
	for k := range t.group {
		groups[k.name] = groups[k.name] || k.day == today
	}
	for k := range t.trap {
		traps[k.name] = traps[k.name] || k.day == today
	}
	if err := t.flushDays(ctx, x, today, groups, traps); err != nil {
		return err
	}
	_, err := x.exec(ctx, "UPDATE pulse SET n = n + 1 WHERE one = 1")
	return err
}

func addTotals(ctx context.Context, x *tx, group string, s sums) error {
	_, err := x.exec(ctx, `INSERT INTO totals (grp, hosts, critical, warning, notice, unknown, accepted) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (grp) DO UPDATE SET hosts = totals.hosts + excluded.hosts, critical = totals.critical + excluded.critical, warning = totals.warning + excluded.warning,
		notice = totals.notice + excluded.notice, unknown = totals.unknown + excluded.unknown, accepted = totals.accepted + excluded.accepted`,
		group, s.hosts, s.critical, s.warning, s.notice, s.unknown, s.accepted)
	return err
}

// flushDays writes how the sums stand today, and what happened on which day.
func (t *tally) flushDays(ctx context.Context, x *tx, today int64, groups, traps map[string]bool) error {
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		if err := snapshotGroup(ctx, x, today, g); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(traps)) {
		if err := snapshotTrap(ctx, x, today, name); err != nil {
			return err
		}
	}
	order := func(a, b dayKey) int { return cmp.Or(cmp.Compare(a.day, b.day), strings.Compare(a.name, b.name)) }
	for _, k := range slices.SortedFunc(maps.Keys(t.group), order) {
		h := t.group[k]
		if _, err := x.exec(ctx, `INSERT INTO daily (day, grp, hosts, critical, warning, notice, unknown, accepted, appeared, resolved, returned) VALUES (?, ?, 0, 0, 0, 0, 0, 0, ?, ?, ?)
			ON CONFLICT (day, grp) DO UPDATE SET appeared = daily.appeared + excluded.appeared, resolved = daily.resolved + excluded.resolved, returned = daily.returned + excluded.returned`,
			k.day, k.name, h.appeared, h.resolved, h.returned); err != nil {
			return err
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(t.trap), order) {
		h := t.trap[k]
		if _, err := x.exec(ctx, `INSERT INTO trap_daily (day, trap, hosts, appeared, resolved, returned) VALUES (?, ?, 0, ?, ?, ?)
			ON CONFLICT (trap, day) DO UPDATE SET appeared = trap_daily.appeared + excluded.appeared, resolved = trap_daily.resolved + excluded.resolved, returned = trap_daily.returned + excluded.returned`,
			k.day, k.name, h.appeared, h.resolved, h.returned); err != nil {
			return err
		}
	}
	return nil
}

func snapshotGroup(ctx context.Context, x *tx, day int64, group string) error {
	_, err := x.exec(ctx, `INSERT INTO daily (day, grp, hosts, critical, warning, notice, unknown, accepted)
		SELECT CAST(? AS BIGINT), grp, hosts, critical, warning, notice, unknown, accepted FROM totals WHERE grp = ?
		ON CONFLICT (day, grp) DO UPDATE SET hosts = excluded.hosts, critical = excluded.critical, warning = excluded.warning, notice = excluded.notice, unknown = excluded.unknown, accepted = excluded.accepted`, day, group)
	return err
}

func snapshotTrap(ctx context.Context, x *tx, day int64, name string) error {
	_, err := x.exec(ctx, `INSERT INTO trap_daily (day, trap, hosts)
		SELECT CAST(? AS BIGINT), trap, SUM(critical + warning + notice) FROM cells WHERE trap = ? GROUP BY trap
		ON CONFLICT (trap, day) DO UPDATE SET hosts = excluded.hosts`, day, name)
	return err
}

// Snapshot writes how all sums stand today: on a day without changes, too, a
// curve has a point.
func (db *DB) Snapshot(ctx context.Context) error {
	today := db.now().UnixMilli() / dayMillis
	return db.within(ctx, func(t *tx) error {
		if _, err := t.exec(ctx, `INSERT INTO daily (day, grp, hosts, critical, warning, notice, unknown, accepted)
			SELECT CAST(? AS BIGINT), grp, hosts, critical, warning, notice, unknown, accepted FROM totals WHERE TRUE
			ON CONFLICT (day, grp) DO UPDATE SET hosts = excluded.hosts, critical = excluded.critical, warning = excluded.warning, notice = excluded.notice, unknown = excluded.unknown, accepted = excluded.accepted`, today); err != nil {
			return err
		}
		_, err := t.exec(ctx, `INSERT INTO trap_daily (day, trap, hosts)
			SELECT CAST(? AS BIGINT), trap, SUM(critical + warning + notice) FROM cells GROUP BY trap
			ON CONFLICT (trap, day) DO UPDATE SET hosts = excluded.hosts`, today)
		return err
	})
}
