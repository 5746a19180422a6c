package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"regexp"
	"testing"
)

// ErrFault is what a database answers where a test lets it fail.
var ErrFault = errors.New("a fault of the database")

// Faults let one of the calls of a database's driver fail, of those that can: statements, rows, transactions.
type Faults struct {
	left int    // calls until one fails; below zero: none does
	Hit  string // what failed
	Row  bool   // it was a row, which has no value that can be read
}

// Arm lets the nth call from now on fail, from 0 on.
func (f *Faults) Arm(n int) { *f = Faults{left: n} }

func (f *Faults) fails(what string) error {
	if f.left--; f.left == -1 {
		f.Hit = what
		return ErrFault
	}
	return nil
}

// Faulty gives SQLite's database a driver that fails as a test says; one connection reads and writes.
func (db *DB) Faulty(t testing.TB) *Faults {
	f := &Faults{left: -1}
	c := &faultyDriver{db.write.Driver(), "file:" + db.file + "?_pragma=busy_timeout(30000)&_txlock=immediate", f}
	for _, one := range []**sql.DB{&db.write, &db.read} {
		if err := (*one).Close(); err != nil {
			t.Fatal(err)
		}
		*one = sql.OpenDB(c)
		(*one).SetMaxOpenConns(1)
	}
	return f
}

type faultyDriver struct {
	real driver.Driver
	dsn  string
	f    *Faults
}

func (d *faultyDriver) Driver() driver.Driver { return d.real }

func (d *faultyDriver) Connect(context.Context) (driver.Conn, error) {
	c, err := d.real.Open(d.dsn)
	return &faultyConn{c, d.f}, err
}

type faultyConn struct {
	driver.Conn
	f *Faults
}

func (c *faultyConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if err := c.f.fails("BEGIN"); err != nil {
		return nil, err
	}
	t, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return &faultyTx{t, c.f}, err
}

func (c *faultyConn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	if err := c.f.fails("preparing " + q); err != nil {
		return nil, err
	}
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, q)
	return &faultyStmt{s, q, c.f}, err
}

func (c *faultyConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.f.fails(q); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
}

func (c *faultyConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.f.fails(q); err != nil {
		return nil, err
	}
	r, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
	return &faultyRows{Rows: r, q: q, f: c.f}, err
}

type faultyTx struct {
	driver.Tx
	f *Faults
}

func (t *faultyTx) Commit() error {
	if err := t.f.fails("COMMIT"); err != nil {
		return errors.Join(err, t.Rollback())
	}
	return t.Tx.Commit()
}

type faultyStmt struct {
	driver.Stmt
	q string
	f *Faults
}

func (s *faultyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.f.fails(s.q); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

func (s *faultyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.f.fails(s.q); err != nil {
		return nil, err
	}
	r, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	return &faultyRows{Rows: r, q: s.q, f: s.f}, err
}

// mayBeNull are questions to which nothing is an answer.
var mayBeNull = regexp.MustCompile("^SELECT (state FROM|file FROM|MIN\\()")

// faultyRows fail twice: the first row cannot be had, or has nothing that can be read.
type faultyRows struct {
	driver.Rows
	q string
	n int
	f *Faults
}

func (r *faultyRows) Next(to []driver.Value) error {
	err := r.Rows.Next(to)
	if r.n++; r.n > 1 || errors.Is(err, io.EOF) {
		return err
	}
	if fault := r.f.fails("the first row of " + r.q); fault != nil {
		return fault
	}
	if !mayBeNull.MatchString(r.q) && r.f.fails("reading the first row of "+r.q) != nil {
		r.f.Row = true
		clear(to)
	}
	return err
}

// TestFaulty: faults are what the other tests take them for.
func TestFaulty(t *testing.T) {
	db, err := Open(t.Context(), t.TempDir()+"/hub.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f := db.Faulty(t)
	var got []string
	for n := 0; ; n++ {
		f.Arm(n)
		var pulse int
		err := db.within(t.Context(), func(x *tx) error {
			if _, err := x.exec(t.Context(), "UPDATE pulse SET n = n + 1"); err != nil {
				return err
			}
			return x.scan(t.Context(), "SELECT n FROM pulse", nil, &pulse)
		})
		if f.Hit == "" {
			if err != nil || pulse != 1 {
				t.Errorf("without a fault: %d, %v", pulse, err)
			}
			break
		}
		got = append(got, f.Hit)
		if err == nil || errors.Is(err, ErrFault) == f.Row {
			t.Errorf("%s: %v", f.Hit, err)
		}
	}
	if want := "[BEGIN preparing UPDATE pulse SET n = n + 1 UPDATE pulse SET n = n + 1 preparing SELECT n FROM pulse SELECT n FROM pulse " +
		"the first row of SELECT n FROM pulse reading the first row of SELECT n FROM pulse COMMIT]"; fmt.Sprint(got) != want {
		t.Errorf("%s", got)
	}
}
