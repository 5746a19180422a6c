package store

import (
	"context"
	"time"
)

// Sums count the findings of some hosts.
type Sums struct {
	Hosts    int `json:"hosts"`
	Critical int `json:"critical"`
	Warning  int `json:"warning"`
	Notice   int `json:"notice"`
	Unknown  int `json:"unknown"`
	Accepted int `json:"accepted"`
}

// Found is how many findings count.
func (s Sums) Found() int { return s.Critical + s.Warning + s.Notice }

// Add adds o.
func (s *Sums) Add(o Sums) {
	s.Hosts += o.Hosts
	s.Critical += o.Critical
	s.Warning += o.Warning
	s.Notice += o.Notice
	s.Unknown += o.Unknown
	s.Accepted += o.Accepted
}

// Happened counts what changed in some time.
type Happened struct {
	New      int `json:"new"`
	Resolved int `json:"resolved"`
	Returned int `json:"returned"`
}

// Add adds o.
func (h *Happened) Add(o Happened) {
	h.New += o.New
	h.Resolved += o.Resolved
	h.Returned += o.Returned
}

// Group is a group of hosts and its state.
type Group struct {
	Name string `json:"name"`
	Sums
}

// Groups lists the groups that have such hosts, the worst first.
func (db *DB) Groups(ctx context.Context, scope Scope) ([]Group, error) {
	if !scope.summed() {
		return db.countGroups(ctx, scope)
	}
	w := &where{}
	w.and("hosts > 0")
	scope.groups(w, "grp")
	rows, err := db.query(ctx, "SELECT grp, hosts, critical, warning, notice, unknown, accepted FROM totals"+w.String()+
		" ORDER BY critical DESC, warning DESC, notice DESC, grp", w.args...)
	return read(rows, err, scanGroup)
}

func scanGroup(row scanner) (g Group, err error) {
	err = row.Scan(&g.Name, &g.Hosts, &g.Critical, &g.Warning, &g.Notice, &g.Unknown, &g.Accepted)
	return g, err
}

// Cell counts hosts by the worst that one trap's check says of them.
type Cell struct {
	Critical int `json:"critical"`
	Warning  int `json:"warning"`
	Notice   int `json:"notice"`
	Unknown  int `json:"unknown"`
	Accepted int `json:"accepted"`
}

// Found is on how many hosts the trap was found, accepted findings aside.
func (c Cell) Found() int { return c.Critical + c.Warning + c.Notice }

// Add adds o.
func (c *Cell) Add(o Cell) {
	c.Critical += o.Critical
	c.Warning += o.Warning
	c.Notice += o.Notice
	c.Unknown += o.Unknown
	c.Accepted += o.Accepted
}

// TrapSums is a trap, as the fleet meets it.
type TrapSums struct {
	Trap string `json:"trap"`
	Cell
}

// TrapSums lists the traps that some of the hosts found, accepted or could not look
// for, the worst first.
func (db *DB) TrapSums(ctx context.Context, scope Scope) ([]TrapSums, error) {
	var w where
	from := "cells c"
	if scope.summed() {
		scope.groups(&w, "c.grp")
	} else {
		from = "(" + scope.cells(&w, "") + ") c"
	}
	rows, err := db.query(
		ctx,
		`SELECT c.trap, SUM(c.critical) AS cr, SUM(c.warning) AS wa, SUM(c.notice) AS no, SUM(c.unknown), SUM(c.accepted)
		FROM `+from+w.tail(scope.summed())+` GROUP BY c.trap
		HAVING SUM(c.critical + c.warning + c.notice + c.unknown + c.accepted) > 0 ORDER BY cr DESC, wa DESC, no DESC, c.trap`,
		w.args...)
	return read(rows, err, func(row scanner) (t TrapSums, err error) {
		err = row.Scan(&t.Trap, &t.Critical, &t.Warning, &t.Notice, &t.Unknown, &t.Accepted)
		return t, err
	})
}

// Place is a trap in a group.
type Place struct{ Trap, Group string }

// Cells are the traps by the groups of some hosts.
func (db *DB) Cells(ctx context.Context, scope Scope) (map[Place]Cell, error) {
	var w where
	q := "SELECT c.trap, c.grp, c.critical, c.warning, c.notice, c.unknown, c.accepted FROM "
	if scope.summed() {
		scope.groups(&w, "c.grp")
		q += "cells c" + w.String()
	} else {
		q += "(" + scope.cells(&w, "") + ") c"
	}
	type row struct {
		Place
		Cell
	}
	rows, err := db.query(ctx, q, w.args...)
	list, err := read(rows, err, func(row scanner) (r row, err error) {
		err = row.Scan(&r.Trap, &r.Group, &r.Critical, &r.Warning, &r.Notice, &r.Unknown, &r.Accepted)
		return r, err
	})
	out := make(map[Place]Cell, len(list))
	for _, r := range list {
		out[r.Place] = r.Cell
	}
	return out, err
}

// TrapCells are the groups in which a trap is found or unknown, the worst first.
func (db *DB) TrapCells(ctx context.Context, scope Scope, trap string) ([]TrapGroup, error) {
	var w where
	from := "cells c"
	if scope.summed() {
		w.and("c.trap = ?", trap)
		scope.groups(&w, "c.grp")
	} else {
		from = "(" + scope.cells(&w, trap) + ") c"
	}
	q := "SELECT c.grp, c.critical, c.warning, c.notice, c.unknown, c.accepted FROM " + from + w.tail(scope.summed())
	if scope.summed() {
		q += " AND c.critical + c.warning + c.notice + c.unknown + c.accepted > 0"
	}
	rows, err := db.query(ctx, q+" ORDER BY c.critical DESC, c.warning DESC, c.notice DESC, c.grp", w.args...)
	return read(rows, err, func(row scanner) (g TrapGroup, err error) {
		err = row.Scan(&g.Group, &g.Critical, &g.Warning, &g.Notice, &g.Unknown, &g.Accepted)
		return g, err
	})
}

// TrapGroup is a group of hosts, as one trap meets it.
type TrapGroup struct {
	Group string `json:"group"`
	Cell
}

// Day is how things stood at the end of a day, UTC, and what happened on it.
type Day struct {
	Day string `json:"day"` // YYYY-MM-DD
	Sums
	Happened
}

func dayOf(t time.Time) int64 { return millis(t) / dayMillis }

func dayName(n int64) string { return time.UnixMilli(n * dayMillis).UTC().Format(time.DateOnly) }

// Days are the days from one on, of some hosts.
func (db *DB) Days(ctx context.Context, scope Scope, from time.Time) ([]Day, error) {
	if !scope.summed() {
		return db.countDays(ctx, scope, from)
	}
	var w where
	w.and("day >= ?", dayOf(from))
	scope.groups(&w, "grp")
	rows, err := db.query(
		ctx,
		`SELECT day, SUM(hosts), SUM(critical), SUM(warning), SUM(notice), SUM(unknown), SUM(accepted), SUM(appeared), SUM(resolved), SUM(returned)
		FROM daily`+w.String()+" GROUP BY day ORDER BY day",
		w.args...)
	return read(rows, err, func(row scanner) (d Day, err error) {
		var n int64
		err = row.Scan(&n, &d.Hosts, &d.Critical, &d.Warning, &d.Notice, &d.Unknown, &d.Accepted, &d.New, &d.Resolved, &d.Returned)
		d.Day = dayName(n)
		return d, err
	})
}

// TrapDay is a trap's day.
type TrapDay struct {
	Day   string `json:"day"`
	Hosts int    `json:"hosts"` // on which it was found at the day's end
	Happened
}

// TrapDays are a trap's days from one on. Their sums are of all hosts: for others they are
// counted from findings, those that are there and those of the past.
func (db *DB) TrapDays(ctx context.Context, scope Scope, trap string, from time.Time) ([]TrapDay, error) {
	if !scope.All || !scope.summed() {
		return db.countTrapDays(ctx, scope, trap, from)
	}
	rows, err := db.query(
		ctx,
		"SELECT day, hosts, appeared, resolved, returned FROM trap_daily WHERE trap = ? AND day >= ? ORDER BY day",
		trap,
		dayOf(from),
	)
	return read(rows, err, func(row scanner) (d TrapDay, err error) {
		var n int64
		err = row.Scan(&n, &d.Hosts, &d.New, &d.Resolved, &d.Returned)
		d.Day = dayName(n)
		return d, err
	})
}
