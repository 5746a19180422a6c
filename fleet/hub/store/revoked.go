package store

import (
	"context"
	"errors"
	"time"
)

// RevokedKey is a key of an agent that was revoked.
type RevokedKey struct {
	Key, Agent string
	Retired    bool // with its host; else another key took its place
	At         time.Time
}

// RevokedKeys lists them.
func (db *DB) RevokedKeys(ctx context.Context) ([]RevokedKey, error) {
	rows, err := db.query(
		ctx,
		"SELECT a.nkey, a.agent, a.revoked, COALESCE(h.retired, 1) FROM agents a LEFT JOIN hosts h ON h.agent = a.agent "+
			"WHERE a.revoked > 0 ORDER BY a.revoked, a.nkey",
	)
	return read(rows, err, func(row scanner) (k RevokedKey, err error) {
		var at, retired int64
		err = row.Scan(&k.Key, &k.Agent, &at, &retired)
		k.At, k.Retired = moment(at), retired > 0
		return k, err
	})
}

// Revoke revokes keys of which this database, restored from a backup, knows otherwise or
// nothing. A host that was retired with its key is retired again.
func (db *DB) Revoke(ctx context.Context, list []RevokedKey) error {
	for _, k := range list {
		var host int64
		err := none(db.row(ctx, "SELECT id FROM hosts WHERE nkey = ? AND retired = 0", k.Key).Scan(&host))
		if err == nil && k.Retired {
			err = db.Retire(ctx, host)
		}
		if err != nil && !errors.Is(err, ErrNone) {
			return err
		}
		if err := db.within(ctx, func(t *tx) error {
			if _, err := t.exec(ctx, "UPDATE hosts SET nkey = '' WHERE nkey = ?", k.Key); err != nil {
				return err
			}
			_, err := t.exec(ctx, `INSERT INTO agents (nkey, agent, how, joined, revoked) VALUES (?, ?, 'listed', ?, ?)
				ON CONFLICT (nkey) DO UPDATE SET revoked = excluded.revoked WHERE agents.revoked = 0`, k.Key, k.Agent, millis(k.At), millis(k.At))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
