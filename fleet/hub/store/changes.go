package store

import (
	"context"
	"slices"
	"strings"
	"time"
)

// FleetChange is a change with its host.
type FleetChange struct {
	ID       int64     `json:"id"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"` // new, resolved, returned, changed, seen, unseen
	Trap     string    `json:"trap"`
	Subject  string    `json:"subject"`
	Severity string    `json:"severity"` // critical, warning, notice; unknown
	Summary  string    `json:"summary"`
	Host     HostRef   `json:"host"`
}

// ChangeQuery asks for changes, the newest first.
type ChangeQuery struct {
	Since  time.Time
	Before *FleetChange // those older than this one: its At and ID; nil: from the newest
	After  *FleetChange // those newer than this one, the nearest of them
	Kinds  []string     // nil: all
	Trap   string
	Host   int64
	Scope  Scope
	Rank   int // of at least this severity
	Limit  int
}

// CountedChanges is how far changes are counted: the whole history of a fleet is not
// read for a number.
const CountedChanges = 10_000

// CountChanges counts changes, whatever comes before or after, up to CountedChanges.
func (db *DB) CountChanges(ctx context.Context, q ChangeQuery) (n int, err error) {
	w := q.where()
	err = db.row(ctx, "SELECT COUNT(*) FROM (SELECT c.id FROM changes c JOIN hosts h ON h.id = c.host"+w.String()+" LIMIT ?) f",
		append(w.args, CountedChanges)...).Scan(&n)
	return n, err
}

// Changes lists changes, the newest first.
func (db *DB) Changes(ctx context.Context, q ChangeQuery) ([]FleetChange, error) {
	w := q.where()
	from, order, than := q.Before, " DESC", "<"
	if q.After != nil {
		from, order, than = q.After, "", ">"
	}
	by := "c.id" + order
	// One host's changes, and one trap's, are in the order of their numbers.
	if q.Trap != "" || q.Host != 0 {
		if from != nil {
			w.and("c.id "+than+" ?", from.ID)
		}
	} else {
		if from != nil {
			w.and("(c.at, c.id) "+than+" (?, ?)", millis(from.At), from.ID)
		}
		by = "c.at" + order + ", " + by
	}
	rows, err := db.query(ctx, `SELECT c.id, c.at, c.kind, c.trap, c.subject, c.rank, c.summary, h.agent, h.name, h.grp
		FROM changes c JOIN hosts h ON h.id = c.host`+w.String()+" ORDER BY "+by+" LIMIT ?", append(w.args, q.Limit)...)
	list, err := read(rows, err, func(row scanner) (c FleetChange, err error) {
		var at int64
		var rank int
		err = row.Scan(&c.ID, &at, &c.Kind, &c.Trap, &c.Subject, &rank, &c.Summary, &c.Host.Agent, &c.Host.Name, &c.Host.Group)
		c.At, c.Severity = moment(at), rankName(rank)
		return c, err
	})
	if q.After != nil {
		slices.Reverse(list)
	}
	return list, err
}

func (q *ChangeQuery) where() *where {
	w := &where{}
	switch {
	case q.Trap != "":
		w.and("c.trap = ?", q.Trap)
	case q.Host == 0: // what a host invents is on its own page
		w.and("(c.trap IN (SELECT trap FROM catalogue) OR NOT EXISTS (SELECT 1 FROM catalogue))")
	}
	if q.Host != 0 {
		w.and("c.host = ?", q.Host)
	}
	if !q.Since.IsZero() {
		w.and("c.at >= ?", millis(q.Since))
	}
	if len(q.Kinds) > 0 {
		args := make([]any, len(q.Kinds))
		for i, k := range q.Kinds {
			args[i] = k
		}
		w.and("c.kind IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
	}
	q.Scope.hosts(w, "h.")
	if q.Rank > 0 {
		w.and("c.rank >= ?", q.Rank)
	}
	return w
}
