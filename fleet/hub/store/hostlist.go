package store

import (
	"context"
	"time"

	"fettle/engine/trap"
)

// HostRef is a host as lists name it.
type HostRef struct {
	Agent string `json:"id"`
	Name  string `json:"name"`
	Group string `json:"group"`
}

// rankName is a severity as pages and the API name it.
func rankName(rank int) string {
	if rank == 0 {
		return "unknown"
	}
	return trap.Severity(rank).String()
}

// HostQuery asks for hosts.
type HostQuery struct {
	Contains     string    // in the name
	Group        *string   // nil: all
	SilentBefore time.Time // only those that said nothing since; zero: all
	Rank         int       // only those with findings of at least this severity
	Twins        bool      // only those whose key two machines use
	Order        string    // "worst", "name", "seen"
	Offset       int
	Limit        int
}

func (q *HostQuery) where() *where {
	w := &where{}
	w.and("retired = 0")
	if q.Contains != "" {
		w.and(`LOWER(name) LIKE ? ESCAPE '\'`, contains(q.Contains))
	}
	if q.Group != nil {
		w.and("grp = ?", *q.Group)
	}
	if !q.SilentBefore.IsZero() {
		w.and("last_seen < ?", millis(q.SilentBefore))
	}
	if q.Twins {
		w.and("twin > 0")
	}
	switch q.Rank {
	case 1:
		w.and("critical + warning + notice > 0")
	case 2:
		w.and("critical + warning > 0")
	case 3:
		w.and("critical > 0")
	}
	return w
}

// Hosts lists hosts.
func (db *DB) Hosts(ctx context.Context, q HostQuery) ([]*Host, error) {
	order := map[string]string{"name": "name, id", "seen": "last_seen, id"}[q.Order]
	if order == "" {
		order = "critical DESC, warning DESC, notice DESC, id"
	}
	w := q.where()
	return db.hosts(
		ctx,
		"SELECT "+hostColumns+" FROM hosts"+w.String()+" ORDER BY "+order+" LIMIT ? OFFSET ?",
		append(w.args, q.Limit, q.Offset)...)
}

// CountHosts counts what Hosts would list without its limit.
func (db *DB) CountHosts(ctx context.Context, q HostQuery) (n int, err error) {
	w := q.where()
	err = db.row(ctx, "SELECT COUNT(*) FROM hosts"+w.String(), w.args...).Scan(&n)
	return n, err
}

// FailedHosts lists hosts whose last check gave no report.
func (db *DB) FailedHosts(ctx context.Context, limit int) ([]*Host, error) {
	return db.hosts(ctx, "SELECT "+hostColumns+" FROM hosts WHERE failed <> '' AND retired = 0 ORDER BY name, id LIMIT ?", limit)
}
