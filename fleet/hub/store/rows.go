package store

import (
	"database/sql"
	"strings"
)

// read is all rows of a query that may have failed.
func read[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return all(rows, scan)
}

// where gathers the conditions of a query.
type where struct {
	conditions []string
	args       []any
}

func (w *where) and(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}

// tail is String, or nothing where the arguments belong to another part of the query.
func (w *where) tail(own bool) string {
	if !own {
		return ""
	}
	return w.String()
}

// contains is a pattern of LIKE … ESCAPE '\' for what has s in it.
func contains(s string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(strings.ToLower(s)) + "%"
}
