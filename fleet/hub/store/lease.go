package store

import (
	"context"
	"time"
)

// Lease takes or renews a lease for a holder: of many hubs, one takes messages
// in. It reports whether the holder has it. PostgreSQL's clock counts, which all hubs have in
// common; a lease that lasts hours longer than any is given is of a clock that was set back.
func (db *DB) Lease(ctx context.Context, name, holder string, span time.Duration) (bool, error) {
	const hour = int64(time.Hour / time.Millisecond)
	now, args := "?", []any{name, holder, db.now().UnixMilli()}
	if db.pg {
		now, args = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)", args[:2]
	}
	n, err := db.exec(ctx, "INSERT INTO leases (name, holder, until) VALUES (?, ?, "+now+` + CAST(? AS BIGINT))
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE leases.holder = excluded.holder
		OR leases.until < excluded.until - CAST(? AS BIGINT) OR leases.until > excluded.until + CAST(? AS BIGINT)`,
		append(args, span.Milliseconds(), span.Milliseconds(), hour)...)
	return n > 0, err
}

// Release gives a lease back.
func (db *DB) Release(ctx context.Context, name, holder string) error {
	_, err := db.exec(ctx, "DELETE FROM leases WHERE name = ? AND holder = ?", name, holder)
	return err
}

// Abandon ends all leases, whoever holds them: for a hub that alone has the
// database, after one that was killed.
func (db *DB) Abandon(ctx context.Context) error {
	_, err := db.exec(ctx, "DELETE FROM leases")
	return err
}

// instancesLast is how long an instance that ended is known: nothing is kept on its way longer.
const instancesLast = 30 * 24 * time.Hour

// Prune deletes changes, and what is only kept beside them, from before a time.
// It deletes a bounded number, and reports whether there may be more.
func (db *DB) Prune(ctx context.Context, before time.Time) (more bool, err error) {
	const atOnce = 5000
	ms := millis(before)
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{"DELETE FROM changes WHERE id IN (SELECT id FROM changes WHERE at < ? ORDER BY at LIMIT ?)", []any{ms, atOnce}},
		{"DELETE FROM past WHERE ended < ?", []any{ms}},
		{"DELETE FROM instances WHERE ended < ?", []any{max(ms, millis(db.now().Add(-instancesLast)))}},
		{"DELETE FROM tokens WHERE expires < ?", []any{ms}},
		{"DELETE FROM captures WHERE at < ?", []any{ms}},
		{"DELETE FROM attempts WHERE ended < ?", []any{max(ms, millis(db.now().Add(-attemptsKept)))}},
		{"DELETE FROM devices WHERE at < ?", []any{millis(db.now().Add(-deviceLasts))}},
		{"DELETE FROM daily WHERE day < ?", []any{ms / dayMillis}},
		{"DELETE FROM trap_daily WHERE day < ?", []any{ms / dayMillis}},
	} {
		n, err := db.exec(ctx, q.sql, q.args...)
		if err != nil {
			return false, err
		}
		more = more || n >= atOnce
	}
	return more, nil
}
