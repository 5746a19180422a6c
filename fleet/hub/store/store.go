// Package store is the hub's database: SQLite in a file, or PostgreSQL. It
// keeps what agents reported, and beside it the sums that pages ask for, in the
// same transaction.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// DB is the database.
type DB struct {
	write *sql.DB // of SQLite: one connection
	read  *sql.DB
	pg    bool
	file  string // of SQLite
	now   func() time.Time

	bounds    Bounds
	catalogue map[string]bool // the traps that count; empty: all
}

// Open opens a database, postgres://… or the name of SQLite's file, and brings
// its tables to the version of this program.
func Open(ctx context.Context, where string) (*DB, error) {
	db, err := connect(where)
	if err != nil {
		return nil, err
	}
	if err := db.migrate(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the database: %w", err), db.Close())
	}
	return db, nil
}

func connect(where string) (*DB, error) {
	db := &DB{now: time.Now, bounds: usual}
	var err error
	if strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://") {
		db.pg = true
		if db.write, err = sql.Open("pgx", where); err != nil {
			return nil, fmt.Errorf("the database: %w", err)
		}
		db.write.SetMaxOpenConns(16)
		db.write.SetConnMaxIdleTime(time.Minute)
		db.read = db.write
	} else if err := db.openFile(where); err != nil {
		return nil, err
	}
	return db, nil
}

func (db *DB) openFile(name string) error {
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	db.file = abs
	// synchronous=FULL: what was committed, and acknowledged to the agent, must
	// outlive a loss of power.
	pragmas := url.Values{
		"_pragma": {
			"journal_mode(WAL)",
			"synchronous(FULL)",
			"busy_timeout(30000)",
			"cache_size(-32768)",
			"temp_store(MEMORY)",
			"journal_size_limit(67108864)",
		},
		"_txlock": {"immediate"},
	}
	if db.write, err = sql.Open("sqlite", (&url.URL{Scheme: "file", Path: abs, RawQuery: pragmas.Encode()}).String()); err != nil {
		return fmt.Errorf("%s: %w", abs, err)
	}
	db.write.SetMaxOpenConns(1)
	reading := url.Values{"_pragma": {"busy_timeout(10000)", "cache_size(-16384)", "temp_store(MEMORY)", "query_only(1)"}}
	if db.read, err = sql.Open("sqlite", (&url.URL{Scheme: "file", Path: abs, RawQuery: reading.Encode()}).String()); err != nil {
		return fmt.Errorf("%s: %w", abs, err)
	}
	db.read.SetMaxOpenConns(4)
	return nil
}

// Close closes the database.
func (db *DB) Close() error {
	if db.read == db.write {
		return db.write.Close()
	}
	return errors.Join(db.read.Close(), db.write.Close())
}

// Ping reports whether the database answers.
func (db *DB) Ping(ctx context.Context) error { return db.read.PingContext(ctx) }

// Writable reports whether the database takes what is written: a full disk lets reads through.
func (db *DB) Writable(ctx context.Context) error {
	_, err := db.exec(ctx, "UPDATE pulse SET n = n WHERE one = 1")
	return err
}

// bind writes the marks of a statement as the database wants them.
func (db *DB) bind(q string) string {
	if !db.pg {
		return q
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, ok := strings.Cut(q, "?")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		q = after
	}
}

// query and row read.
func (db *DB) query(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	return db.read.QueryContext(ctx, db.bind(q), args...)
}

func (db *DB) row(ctx context.Context, q string, args ...any) *sql.Row {
	return db.read.QueryRowContext(ctx, db.bind(q), args...)
}

// exec writes a single statement.
func (db *DB) exec(ctx context.Context, q string, args ...any) (int64, error) {
	res, err := db.write.ExecContext(ctx, db.bind(q), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// tx is a transaction that writes.
type tx struct {
	*sql.Tx
	db    *DB
	ready map[string]*sql.Stmt
}

func (db *DB) within(ctx context.Context, do func(*tx) error) error {
	t, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	x := &tx{t, db, map[string]*sql.Stmt{}}
	if err := do(x); err != nil {
		return errors.Join(err, t.Rollback())
	}
	return t.Commit()
}

// stmt prepares a statement of SQLite once in a transaction. PostgreSQL's driver keeps what it prepared by itself,
// beyond the transaction.
func (t *tx) stmt(ctx context.Context, q string) (*sql.Stmt, error) {
	if s := t.ready[q]; s != nil {
		return s, nil
	}
	s, err := t.PrepareContext(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("%.100s: %w", q, err)
	}
	t.ready[q] = s
	return s, nil
}

// byKeys makes PostgreSQL find rows by their keys in this transaction. Of a table that it has not counted yet it takes
// for granted that a condition leaves one row, and it would read the table once for each host of a statement.
func (t *tx) byKeys(ctx context.Context) error {
	if !t.db.pg {
		return nil
	}
	_, err := t.ExecContext(ctx, "SET LOCAL enable_seqscan = off")
	return err
}

func (t *tx) query(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	if t.db.pg {
		return t.QueryContext(ctx, t.db.bind(q), args...)
	}
	s, err := t.stmt(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

func (t *tx) exec(ctx context.Context, q string, args ...any) (int64, error) {
	var res sql.Result
	var err error
	if t.db.pg {
		res, err = t.ExecContext(ctx, t.db.bind(q), args...)
	} else if s, failed := t.stmt(ctx, q); failed != nil {
		err = failed
	} else {
		res, err = s.ExecContext(ctx, args...)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// scan reads one row; ErrNone where there is none.
func (t *tx) scan(ctx context.Context, q string, args []any, into ...any) error {
	if t.db.pg {
		return none(t.QueryRowContext(ctx, t.db.bind(q), args...).Scan(into...))
	}
	s, err := t.stmt(ctx, q)
	if err != nil {
		return err
	}
	return none(s.QueryRowContext(ctx, args...).Scan(into...))
}

func none(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNone
	}
	return err
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// CopyTo writes SQLite's database, as it is at this moment, to a new file.
func (db *DB) CopyTo(ctx context.Context, file string) error {
	_, err := db.write.ExecContext(ctx, "VACUUM INTO ?", file)
	return err
}
