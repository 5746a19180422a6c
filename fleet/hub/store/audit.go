package store

import "context"

// AddAudit records an act.
func (db *DB) AddAudit(ctx context.Context, a Audit) error {
	_, err := db.exec(ctx, auditInsert, auditRow(a)...)
	return err
}

const auditInsert = "INSERT INTO audit (at, who, addr, what, subject, details) VALUES (?, ?, ?, ?, ?, ?)"

func auditRow(a Audit) []any {
	return []any{millis(a.At), a.Who, a.From, a.What, a.On, a.Details}
}

// CountAudits counts acts.
func (db *DB) CountAudits(ctx context.Context) (n int, err error) {
	return n, db.row(ctx, "SELECT COUNT(*) FROM audit").Scan(&n)
}

// Audits lists acts, the newest first, before one by its number; 0 begins at the newest.
func (db *DB) Audits(ctx context.Context, before int64, offset, limit int) ([]Audit, error) {
	if before == 0 {
		before = 1 << 62
	}
	rows, err := db.query(
		ctx,
		"SELECT id, at, who, addr, what, subject, details FROM audit WHERE id < ? ORDER BY id DESC LIMIT ? OFFSET ?",
		before,
		limit,
		offset,
	)
	return read(rows, err, func(row scanner) (a Audit, err error) {
		var at int64
		err = row.Scan(&a.ID, &at, &a.Who, &a.From, &a.What, &a.On, &a.Details)
		a.At = moment(at)
		return a, err
	})
}
