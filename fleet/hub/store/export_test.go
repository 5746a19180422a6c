package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Agree compares the sums with what they are the sums of.
func (db *DB) Agree(ctx context.Context) error {
	cells, totals, hosts := map[cellKey]*sums{}, map[string]*sums{}, map[int64]*sums{}
	groups := map[int64]string{}
	rows, err := db.query(ctx, "SELECT id, grp, retired FROM hosts")
	if err != nil {
		return err
	}
	for rows.Next() {
		var id, retired int64
		var g string
		if err := rows.Scan(&id, &g, &retired); err != nil {
			return err
		}
		groups[id] = g
		if retired == 0 {
			at(totals, g).hosts++
		}
	}
	b := &batch{}
	return db.within(ctx, func(t *tx) error {
		b.tx = t
		for id, g := range groups {
			fs, err := b.findings(ctx, id)
			if err != nil {
				return err
			}
			s := sumOf(fs)
			hosts[id] = &s
			at(totals, g).add(fleetSum(fs), 1)
			for name, f := range worst(fs) {
				*at(cells, cellKey{name, g}).of(f)++
			}
			var h sums
			if err := t.scan(ctx, "SELECT critical, warning, notice, "+
				"unknown, accepted FROM hosts WHERE id = ?", []any{id}, &h.critical, &h.warning, &h.notice, &h.unknown, &h.accepted); err != nil {
				return err
			}
			if h != s {
				return fmt.Errorf("host %d: %+v, its findings %+v", id, h, s)
			}
		}
		if err := same(ctx, t, "SELECT grp, '', hosts, critical, "+
			"warning, notice, unknown, accepted FROM totals", func(a, _ string) *sums { return at(totals, a) }, len(totals)); err != nil {
			return err
		}
		return same(
			ctx,
			t,
			"SELECT trap, grp, 0, critical, warning, notice, unknown, accepted FROM cells",
			func(a, b string) *sums { return at(cells, cellKey{a, b}) },
			len(cells),
		)
	})
}

func same(ctx context.Context, t *tx, q string, want func(a, b string) *sums, least int) error {
	rows, err := t.QueryContext(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var a, b string
		var s sums
		if err := rows.Scan(&a, &b, &s.hosts, &s.critical, &s.warning, &s.notice, &s.unknown, &s.accepted); err != nil {
			return err
		}
		n++
		if w := want(a, b); s != *w {
			return fmt.Errorf("%s %s: sums %+v, findings %+v", a, b, s, *w)
		}
	}
	if n < least {
		return fmt.Errorf("%d rows of sums, want %d", n, least)
	}
	return rows.Err()
}

// MigrateTo brings a database to an older version, for tests of the way from it.
func (db *DB) MigrateTo(ctx context.Context, from fs.FS, last int) error {
	return db.migrateTo(ctx, from, last)
}

// SetNow gives the database another clock.
func (db *DB) SetNow(now func() time.Time) { db.now = now }

// OpenAt opens a database with the tables of an older version.
func OpenAt(ctx context.Context, where string, version int) (*DB, error) {
	db, err := connect(where)
	if err != nil {
		return nil, err
	}
	return db, db.migrateTo(ctx, migrations, version)
}

// Exec runs a statement, and Number one that answers a number.
func (db *DB) Exec(ctx context.Context, q string, args ...any) error {
	_, err := db.exec(ctx, q, args...)
	return err
}

func (db *DB) Number(ctx context.Context, q string, args ...any) (n int64, err error) {
	return n, db.row(ctx, q, args...).Scan(&n)
}

// Versions is how many migrations there are.
func Versions() int {
	files, _ := fs.Glob(migrations, "migrations/*.sql")
	return len(files)
}

// Busy holds the database's write lock until the function that it returns is called.
func (db *DB) Busy(t interface{ Fatal(...any) }) func() {
	tx, err := db.write.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE pulse SET n = n"); err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}

// SetBounds bounds what a host may cost, as a test can reach it.
func (db *DB) SetBounds(b Bounds) { db.bounds = b }

// Quick tells of which agents messages go the quick way; what it did is taken back.
func (db *DB) Quick(ctx context.Context, items ...Item) (out map[string]Result, err error) {
	taken := errors.New("taken back")
	err = db.within(ctx, func(t *tx) error {
		together := db.run(items)
		if len(together) == 0 {
			return taken
		}
		if out, err = (&batch{tx: t, tally: newTally()}).quick(ctx, together); err == nil {
			err = taken
		}
		return err
	})
	if errors.Is(err, taken) {
		err = nil
	}
	return out, err
}

// QuickPlan is how PostgreSQL would take messages the quick way.
func (db *DB) QuickPlan(ctx context.Context, items ...Item) (lines []string, err error) {
	err = db.within(ctx, func(t *tx) error {
		b := &batch{tx: t}
		if err := t.byKeys(ctx); err != nil {
			return err
		}
		from, args := b.values(items)
		rows, err := t.query(ctx, "EXPLAIN "+quickUpdate(from), args...)
		lines, err = read(rows, err, func(row scanner) (line string, err error) { return line, row.Scan(&line) })
		return err
	})
	return lines, err
}

// TakeIn takes in an agent of which the hub did not know when it looked; nothing of that stays.
func (db *DB) TakeIn(ctx context.Context, it *Item) (taken bool, err error) {
	back := errors.New("taken back")
	err = db.within(ctx, func(t *tx) (err error) {
		b := &batch{tx: t, tally: newTally()}
		if _, err := t.exec(ctx, "DELETE FROM agents WHERE nkey = ?", it.Key); err != nil {
			return err
		}
		if taken, err = b.adopt(ctx, &hostRow{}, it); err != nil {
			return err
		}
		return back
	})
	if errors.Is(err, back) {
		err = nil
	}
	return taken, err
}
