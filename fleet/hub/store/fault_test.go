package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestPassing: real errors of SQLite, and PostgreSQL's by their codes.
func TestPassing(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run := func(q string) error {
		_, err := db.exec(t.Context(), q)
		if err == nil {
			t.Errorf("%s: taken", q)
		}
		return fmt.Errorf("a message: %w", err)
	}
	lasting := map[string]error{
		"constraint":    run("INSERT INTO pulse (one, n) VALUES (1, 1)"),
		"no such table": run("UPDATE nothing SET n = 1"),
	}
	if _, err := db.exec(t.Context(), "PRAGMA query_only(1)"); err != nil {
		t.Fatal(err)
	}
	passing := map[string]error{"read only": run("UPDATE pulse SET n = 2")}
	if _, err := db.exec(t.Context(), "PRAGMA query_only(0)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.exec(t.Context(), "PRAGMA max_page_count(1)"); err != nil { // as many as there are
		t.Fatal(err)
	}
	passing["full"] = run("UPDATE pulse SET n = zeroblob(10000000)")
	for code, passes := range map[string]bool{
		"53100": true, "53300": true, "57P01": true, "58030": true, "40001": true, "40P01": true, "25006": true, "55P03": true, "08006": true,
		"XX001": true, "": true, "22001": false, "22P05": false, "23505": false, "54000": false, "42P01": false,
	} {
		if passes {
			passing["PostgreSQL's "+code] = &pgconn.PgError{Code: code}
		} else {
			lasting["PostgreSQL's "+code] = &pgconn.PgError{Code: code}
		}
	}
	passing["connection"], passing["ended"], passing["time"] = driver.ErrBadConn, context.Canceled, context.DeadlineExceeded
	passing["network"] = &net.OpError{Op: "dial", Err: net.ErrClosed}
	lasting["one's own"] = fmt.Errorf("a report that cannot be packed")
	for name, err := range passing {
		if !Passing(fmt.Errorf("outside: %w", err)) {
			t.Errorf("%s: lasting: %v", name, err)
		}
	}
	for name, err := range lasting {
		if Passing(err) {
			t.Errorf("%s: passing: %v", name, err)
		}
	}
}
