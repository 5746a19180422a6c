package store

import (
	"context"
	"time"
)

// User is a user of the hub's own.
func (db *DB) User(ctx context.Context, name string) (User, error) {
	u := User{Name: name}
	var created int64
	err := none(db.row(ctx, "SELECT role, sees, password, created FROM users WHERE name = ?", name).
		Scan(&u.Role, &u.Sees, &u.Password, &created))
	u.Created = moment(created)
	return u, err
}

// Users lists them by name.
func (db *DB) Users(ctx context.Context) ([]User, error) {
	rows, err := db.query(ctx, "SELECT name, role, sees, password, created FROM users ORDER BY name")
	return read(rows, err, func(row scanner) (u User, err error) {
		var created int64
		err = row.Scan(&u.Name, &u.Role, &u.Sees, &u.Password, &created)
		u.Created = moment(created)
		return u, err
	})
}

// PutUser adds a user or changes one, whose sessions and tokens then end.
func (db *DB) PutUser(ctx context.Context, u User) error {
	return db.within(ctx, func(t *tx) error {
		if _, err := t.exec(ctx, `INSERT INTO users (name, role, sees, password, created) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET role = excluded.role, sees = excluded.sees, password = excluded.password`, u.Name, string(u.Role),
			string(u.Sees), u.Password,
			millis(u.Created)); err != nil {
			return err
		}
		_, err := t.exec(ctx, "DELETE FROM sessions WHERE name = ?", u.Name)
		return err
	})
}

// DropUser removes a user; all sessions and tokens of that name end, whoever vouched for it.
func (db *DB) DropUser(ctx context.Context, name string) error {
	return db.within(ctx, func(t *tx) error {
		gone := int64(0)
		for _, q := range []string{"DELETE FROM users WHERE name = ?", "DELETE FROM sessions WHERE name = ?",
			"DELETE FROM devices WHERE name = ?"} {
			n, err := t.exec(ctx, q, name)
			if err != nil {
				return err
			}
			gone += n
		}
		if gone == 0 {
			return ErrNone
		}
		return nil
	})
}

// EndSessions ends what a name is logged in with, by password and by OpenID Connect, and
// says how many that were; tokens with it, if so asked.
func (db *DB) EndSessions(ctx context.Context, name string, tokens bool) (int64, error) {
	if tokens {
		return db.exec(ctx, "DELETE FROM sessions WHERE name = ?", name)
	}
	return db.exec(ctx, "DELETE FROM sessions WHERE name = ? AND how <> 'token'", name)
}

// ConfirmSession notes a role that was looked up again.
func (db *DB) ConfirmSession(ctx context.Context, hash string, role Role, sees Rights, at time.Time) error {
	_, err := db.exec(ctx, "UPDATE sessions SET role = ?, sees = ?, confirmed = ?, seen = ? WHERE hash = ?", string(role), string(sees),
		millis(at), millis(at), hash)
	return err
}

// Session is a session or a token by the hash of its secret.
func (db *DB) Session(ctx context.Context, hash string) (Session, error) {
	row := db.row(ctx, "SELECT "+sessionColumns+" FROM sessions WHERE hash = ?", hash)
	s, err := sessionFrom(row)
	return s, none(err)
}

const sessionColumns = "hash, name, role, sees, how, created, seen, expires, note, confirmed"

func sessionFrom(row scanner) (s Session, err error) {
	var created, seen, expires, confirmed int64
	err = row.Scan(&s.Hash, &s.User, &s.Role, &s.Sees, &s.How, &created, &seen, &expires, &s.Note, &confirmed)
	s.Created, s.Seen, s.Expires, s.Confirmed = moment(created), moment(seen), moment(expires), moment(confirmed)
	return s, err
}

// sessionsKept is how many sessions one user has: those used last.
const sessionsKept = 50

// PutSession keeps a new session or token, and drops those that have ended.
func (db *DB) PutSession(ctx context.Context, s Session) error {
	return db.within(ctx, func(t *tx) error {
		if s.Password != "" { // the row stays locked: whoever changes the password meanwhile ends this session
			n, err := t.exec(ctx, "UPDATE users SET role = role WHERE name = ? AND password = ?", s.User, s.Password)
			if err != nil {
				return err
			}
			if n == 0 {
				return ErrNone
			}
		}
		if _, err := t.exec(ctx, "DELETE FROM sessions WHERE expires < ?", millis(db.now())); err != nil {
			return err
		}
		if _, err := t.exec(ctx, "INSERT INTO sessions ("+sessionColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			s.Hash, s.User, string(s.Role), string(s.Sees), s.How, millis(s.Created), millis(s.Seen), millis(s.Expires), s.Note,
			millis(s.Confirmed)); err != nil {
			return err
		}
		if s.How == "token" {
			return nil
		}
		_, err := t.exec(ctx, "DELETE FROM sessions WHERE name = ? AND how = ? AND hash NOT IN (SELECT hash FROM sessions WHERE name = ? AND "+
			"how = ? ORDER BY seen DESC, hash LIMIT ?)", s.User, s.How, s.User, s.How, sessionsKept)
		return err
	})
}

// TouchSession notes that a session was used.
func (db *DB) TouchSession(ctx context.Context, hash string, seen time.Time) error {
	_, err := db.exec(ctx, "UPDATE sessions SET seen = ? WHERE hash = ?", millis(seen), hash)
	return err
}

// DropSession ends a session or a token.
func (db *DB) DropSession(ctx context.Context, hash string) error {
	_, err := db.exec(ctx, "DELETE FROM sessions WHERE hash = ?", hash)
	return err
}

// Tokens lists the tokens of the API.
func (db *DB) Tokens(ctx context.Context) ([]Session, error) {
	rows, err := db.query(ctx, "SELECT "+sessionColumns+" FROM sessions WHERE how = 'token' ORDER BY name, created")
	return read(rows, err, sessionFrom)
}
