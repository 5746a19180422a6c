package store

import (
	"context"
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
	Kinds  []string     // nil: all
	Trap   string
	Host   int64
	Group  *string
	Rank   int // of at least this severity
	Limit  int
}

// Changes lists changes.
func (db *DB) Changes(ctx context.Context, q ChangeQuery) ([]FleetChange, error) {
	var w where
	order := "c.at DESC, c.id DESC"
	switch {
	case q.Trap != "":
		w.and("c.trap = ?", q.Trap)
		order = "c.id DESC"
	case q.Host != 0:
		w.and("c.host = ?", q.Host)
		order = "c.id DESC"
	}
	if !q.Since.IsZero() {
		w.and("c.at >= ?", millis(q.Since))
	}
	if b := q.Before; b != nil {
		if order == "c.id DESC" {
			w.and("c.id < ?", b.ID)
		} else {
			w.and("(c.at, c.id) < (?, ?)", millis(b.At), b.ID)
		}
	}
	if len(q.Kinds) > 0 {
		args := make([]any, len(q.Kinds))
		for i, k := range q.Kinds {
			args[i] = k
		}
		w.and("c.kind IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
	}
	if q.Group != nil {
		w.and("h.grp = ?", *q.Group)
	}
	if q.Rank > 0 {
		w.and("c.rank >= ?", q.Rank)
	}
	rows, err := db.query(ctx, `SELECT c.id, c.at, c.kind, c.trap, c.subject, c.rank, c.summary, h.agent, h.name, h.grp
		FROM changes c JOIN hosts h ON h.id = c.host`+w.String()+" ORDER BY "+order+" LIMIT ?", append(w.args, q.Limit)...)
	return read(rows, err, func(row scanner) (c FleetChange, err error) {
		var at int64
		var rank int
		err = row.Scan(&c.ID, &at, &c.Kind, &c.Trap, &c.Subject, &rank, &c.Summary, &c.Host.Agent, &c.Host.Name, &c.Host.Group)
		c.At, c.Severity = moment(at), rankName(rank)
		return c, err
	})
}
