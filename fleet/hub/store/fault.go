package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ofRow are the primary result codes of SQLite (sqlite.org/rescode.html) that come of what
// is written; all others come of the file, its disk, or of others that use it.
var ofRow = []int{sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE}

// classesOfRow are the classes of SQLSTATE of the same kind (PostgreSQL 17, appendix A):
// data exception, integrity constraint, syntax and names, WITH CHECK OPTION, exceeded
// limits, PL/pgSQL.
var classesOfRow = []string{"22", "23", "42", "44", "54", "P0"}

// Passing reports whether an error came of the state that the database is in, not of what
// was to be written: the same may be taken later. A full disk takes the small, and
// refuses the large: that others are taken proves nothing.
func Passing(err error) bool {
	if lite := (*sqlite.Error)(nil); errors.As(err, &lite) {
		return !slices.Contains(ofRow, lite.Code()&0xff)
	}
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) {
		return len(pg.Code) < 2 || !slices.Contains(classesOfRow, pg.Code[:2])
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, new(net.Error)) || errors.As(err, new(*pgconn.ConnectError)) || pgconn.SafeToRetry(err)
}
