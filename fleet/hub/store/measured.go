package store

import (
	"context"
	"time"
)

// Measured is what the hub says of itself to programs that watch it.
type Measured struct {
	Cloned, Failed int       // hosts whose key two machines use, and whose last check gave no report
	Newest         time.Time // when the newest message that was stored was made
	Bytes          int64     // of the database
	Undelivered    int       // channels whose last message could not be delivered
}

// Measure answers it.
func (db *DB) Measure(ctx context.Context, scope Scope) (m Measured, err error) {
	var newest int64
	w := &where{}
	w.and("retired = 0")
	scope.hosts(w, "hosts.")
	if err = db.row(ctx, `SELECT COALESCE(SUM(CASE WHEN twin > 0 THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN failed <> '' THEN 1 ELSE 0 END), 0),
		COALESCE(MAX(last_seen), 0) FROM hosts`+w.String(), w.args...).Scan(&m.Cloned, &m.Failed, &newest); err != nil {
		return m, err
	}
	m.Newest = moment(newest)
	if err = db.row(ctx, "SELECT COUNT(*) FROM channels WHERE failed <> ''").Scan(&m.Undelivered); err != nil {
		return m, err
	}
	size := "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	if db.pg {
		size = "SELECT pg_database_size(current_database())"
	}
	return m, db.row(ctx, size).Scan(&m.Bytes)
}
