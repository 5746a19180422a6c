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
	Contains     string // in the name
	Scope        Scope
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
	q.Scope.hosts(w, "hosts.")
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

// OldSums counts the findings of hosts that said nothing since a time: they are what
// was so then.
func (db *DB) OldSums(ctx context.Context, scope Scope, silentBefore time.Time) (s Sums, err error) {
	q := HostQuery{Scope: scope, SilentBefore: silentBefore}
	w := q.where()
	err = db.row(ctx, "SELECT COUNT(*), COALESCE(SUM(critical), 0), COALESCE(SUM(warning), 0), COALESCE(SUM(notice), 0), "+
		"COALESCE(SUM(unknown), 0), COALESCE(SUM(accepted), 0) FROM hosts"+w.String(), w.args...).
		Scan(&s.Hosts, &s.Critical, &s.Warning, &s.Notice, &s.Unknown, &s.Accepted)
	return s, err
}

// FailedHosts lists hosts whose last check gave no report.
func (db *DB) FailedHosts(ctx context.Context, scope Scope, limit int) ([]*Host, error) {
	w := &where{}
	w.and("failed <> ''")
	w.and("retired = 0")
	scope.hosts(w, "hosts.")
	return db.hosts(ctx, "SELECT "+hostColumns+" FROM hosts"+w.String()+" ORDER BY name, id LIMIT ?", append(w.args, limit)...)
}

// Agents are the agents of hosts that are not retired, by number.
func (db *DB) Agents(ctx context.Context, scope Scope, limit int) ([]string, error) {
	q := HostQuery{Scope: scope}
	w := q.where()
	rows, err := db.query(ctx, "SELECT agent FROM hosts"+w.String()+" ORDER BY id LIMIT ?", append(w.args, limit)...)
	return read(rows, err, func(row scanner) (s string, err error) { return s, row.Scan(&s) })
}

// LabelCount is a label, and how many hosts have it.
type LabelCount struct {
	Label string `json:"label"` // NAME=VALUE
	Hosts int    `json:"hosts"`
}

// Labels lists labels of hosts by name, and says on how many hosts they are.
func (db *DB) Labels(ctx context.Context, scope Scope, limit int) ([]LabelCount, error) {
	w := &where{}
	w.and("h.retired = 0")
	scope.hosts(w, "h.")
	rows, err := db.query(ctx, "SELECT l.name, l.value, COUNT(*) FROM labels l JOIN hosts h ON h.id = l.host"+w.String()+
		" GROUP BY l.name, l.value ORDER BY l.name, l.value LIMIT ?", append(w.args, limit)...)
	return read(rows, err, func(row scanner) (l LabelCount, err error) {
		var value string
		err = row.Scan(&l.Label, &value, &l.Hosts)
		l.Label += "=" + value
		return l, err
	})
}
