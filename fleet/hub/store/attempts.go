package store

import (
	"context"
	"errors"
	"time"
)

// Attempt counts logins that were refused: of one address, for one reason, on one day.
type Attempt struct {
	Day   string    `json:"day"` // YYYY-MM-DD, UTC
	From  string    `json:"from"`
	Why   string    `json:"why"`
	Name  string    `json:"name"` // the one that was tried last
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

const (
	// attemptsADay bounds the rows of a day: further addresses are counted together.
	attemptsADay = 200
	otherFrom    = "other addresses"

	attemptsKept = 90 * 24 * time.Hour
)

// AddAttempts adds to the counts; of a, Day is not read.
func (db *DB) AddAttempts(ctx context.Context, list []Attempt) error {
	return db.within(ctx, func(t *tx) error {
		for _, a := range list {
			if err := t.addAttempt(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) addAttempt(ctx context.Context, a Attempt) error {
	day := millis(a.Last) / dayMillis
	var rows, mine int
	if err := t.scan(ctx, "SELECT COUNT(*), COALESCE(SUM(CASE WHEN addr = ? AND why = ? THEN 1 ELSE 0 END), 0) FROM attempts WHERE day = ?",
		[]any{a.From, a.Why, day}, &rows, &mine); err != nil {
		return err
	}
	if mine == 0 && rows >= attemptsADay {
		a.From = otherFrom
	}
	_, err := t.exec(ctx, `INSERT INTO attempts (day, addr, why, name, n, began, ended) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (day, addr, why) DO UPDATE SET name = excluded.name, n = attempts.n + excluded.n, ended = excluded.ended`,
		day, a.From, a.Why, a.Name, a.Count, millis(a.First), millis(a.Last))
	return err
}

// Attempts lists them, the latest first, and says how many rows there are.
func (db *DB) Attempts(ctx context.Context, offset, limit int) (list []Attempt, all int, err error) {
	if err := db.row(ctx, "SELECT COUNT(*) FROM attempts").Scan(&all); err != nil {
		return nil, 0, err
	}
	rows, err := db.query(ctx, "SELECT day, addr, why, name, n, began, ended FROM attempts ORDER BY ended DESC, addr, why LIMIT ? OFFSET ?",
		limit, offset)
	list, err = read(rows, err, func(row scanner) (a Attempt, err error) {
		var day, began, ended int64
		err = row.Scan(&day, &a.From, &a.Why, &a.Name, &a.Count, &began, &ended)
		a.Day, a.First, a.Last = dayName(day), moment(began), moment(ended)
		return a, err
	})
	return list, all, err
}

// Device is a browser in which a user logged in by password.
type Device struct {
	Hash string // of its cookie
	User string
	From string // the address, as logins are counted
	At   time.Time
}

const (
	devicesKept = 20 // of a user: the latest
	deviceLasts = 180 * 24 * time.Hour
)

// PutDevice notes that a user logged in.
func (db *DB) PutDevice(ctx context.Context, d Device) error {
	return db.within(ctx, func(t *tx) error {
		if _, err := t.exec(ctx, `INSERT INTO devices (hash, name, addr, at) VALUES (?, ?, ?, ?)
			ON CONFLICT (hash, name) DO UPDATE SET addr = excluded.addr, at = excluded.at`, d.Hash, d.User, d.From, millis(d.At)); err != nil {
			return err
		}
		var oldest int64
		err := t.scan(ctx, "SELECT at FROM devices WHERE name = ? ORDER BY at DESC LIMIT 1 OFFSET ?", []any{d.User, devicesKept - 1}, &oldest)
		if errors.Is(err, ErrNone) {
			return nil
		}
		if err == nil {
			_, err = t.exec(ctx, "DELETE FROM devices WHERE name = ? AND at < ?", d.User, oldest)
		}
		return err
	})
}

// LoggedInBefore reports whether a user logged in in a browser, and at an address.
func (db *DB) LoggedInBefore(ctx context.Context, user, hash, from string) (browser, address bool, err error) {
	var b, a int
	err = db.row(ctx, `SELECT COALESCE(MAX(CASE WHEN hash = ? THEN 1 ELSE 0 END), 0), COALESCE(MAX(CASE WHEN addr = ? THEN 1 ELSE 0 END), 0)
		FROM devices WHERE name = ? AND at > ?`, hash, from, user, millis(db.now().Add(-deviceLasts))).Scan(&b, &a)
	return b > 0, a > 0, err
}
