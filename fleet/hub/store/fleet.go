package store

import (
	"context"
	"strings"
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

// Group is a group of hosts and how it stands.
type Group struct {
	Name string `json:"name"`
	Sums
}

// Groups lists the groups, the worst first.
func (db *DB) Groups(ctx context.Context) ([]Group, error) {
	rows, err := db.query(ctx, `SELECT grp, hosts, critical, warning, notice, unknown, accepted FROM totals WHERE hosts > 0
		ORDER BY critical DESC, warning DESC, notice DESC, grp`)
	return read(rows, err, func(row scanner) (g Group, err error) {
		err = row.Scan(&g.Name, &g.Hosts, &g.Critical, &g.Warning, &g.Notice, &g.Unknown, &g.Accepted)
		return g, err
	})
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

// TrapSums lists the traps that some host found, accepted or could not look
// for, the worst first; of one group if one is named.
func (db *DB) TrapSums(ctx context.Context, group *string) ([]TrapSums, error) {
	var w where
	if group != nil {
		w.and("c.grp = ?", *group)
	}
	rows, err := db.query(
		ctx,
		`SELECT c.trap, SUM(c.critical) AS cr, SUM(c.warning) AS wa, SUM(c.notice) AS no, SUM(c.unknown), SUM(c.accepted)
		FROM cells c`+w.String()+` GROUP BY c.trap
		HAVING SUM(c.critical + c.warning + c.notice + c.unknown + c.accepted) > 0 ORDER BY cr DESC, wa DESC, no DESC, c.trap`,
		w.args...)
	return read(rows, err, func(row scanner) (t TrapSums, err error) {
		err = row.Scan(&t.Trap, &t.Critical, &t.Warning, &t.Notice, &t.Unknown, &t.Accepted)
		return t, err
	})
}

// Place is a trap in a group.
type Place struct{ Trap, Group string }

// Cells are the traps by the named groups.
func (db *DB) Cells(ctx context.Context, groups []string) (map[Place]Cell, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	args := make([]any, len(groups))
	for i, g := range groups {
		args[i] = g
	}
	type row struct {
		Place
		Cell
	}
	rows, err := db.query(
		ctx,
		"SELECT trap, grp, critical, warning, notice, unknown, accepted FROM cells WHERE grp IN (?"+strings.Repeat(", ?", len(groups)-1)+")",
		args...)
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
func (db *DB) TrapCells(ctx context.Context, trap string) ([]TrapGroup, error) {
	rows, err := db.query(ctx, `SELECT grp, critical, warning, notice, unknown, accepted FROM cells
		WHERE trap = ? AND critical + warning + notice + unknown + accepted > 0 ORDER BY critical DESC, warning DESC, notice DESC, grp`, trap)
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

// Days are the days from one on, of one group or of all.
func (db *DB) Days(ctx context.Context, group *string, from time.Time) ([]Day, error) {
	var w where
	w.and("day >= ?", dayOf(from))
	if group != nil {
		w.and("grp = ?", *group)
	}
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

// TrapDays are a trap's days from one on.
func (db *DB) TrapDays(ctx context.Context, trap string, from time.Time) ([]TrapDay, error) {
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
