package store

import (
	"context"
	"time"
)

// Accepted is a finding that an operator accepted on the hub.
type Accepted struct {
	ID       int64     `json:"id"`
	Host     HostRef   `json:"host"`
	Trap     string    `json:"trap"`
	Subject  string    `json:"subject"`
	Severity string    `json:"severity"`
	Summary  string    `json:"summary"`
	Reason   string    `json:"reason"`
	Until    string    `json:"until"` // YYYY-MM-DD, the last day; empty: no end
	Who      string    `json:"who"`
	At       time.Time `json:"at"`
}

// acceptance is what holds for one finding.
type acceptance struct {
	rank    int
	summary string
	until   string
}

// holds as accept.Entry.Lapsed tells it: to the last day, and as long as the
// finding says the same and is no graver.
func (a acceptance) holds(rank int, summary string, today string) bool {
	return rank > 0 && rank <= a.rank && summary == a.summary && (a.until == "" || today <= a.until)
}

// acceptances are the hub's of one host.
func (t *tx) acceptances(ctx context.Context, host int64) (map[findingKey]acceptance, error) {
	s, err := t.stmt(ctx, "SELECT trap, subject, rank, summary, until FROM acceptances WHERE host = ?")
	if err != nil {
		return nil, err
	}
	type row struct {
		findingKey
		acceptance
	}
	rows, err := s.QueryContext(ctx, host)
	list, err := read(rows, err, func(in scanner) (r row, err error) {
		err = in.Scan(&r.trap, &r.subject, &r.rank, &r.summary, &r.until)
		return r, err
	})
	out := make(map[findingKey]acceptance, len(list))
	for _, r := range list {
		out[r.findingKey] = r.acceptance
	}
	return out, err
}

// Accept keeps an operator's word on a finding that is there, and the audit's
// line on it, and counts anew. a.Host.Agent, Trap and Subject say which.
func (db *DB) Accept(ctx context.Context, a Accepted, log Audit) error {
	return db.judge(ctx, a, log, func(t *tx, host int64) error {
		var rank int
		var summary string
		if err := t.scan(ctx, "SELECT rank, summary FROM findings WHERE host "+
			"= ? AND trap = ? AND subject = ? AND rank > 0", []any{host, a.Trap, a.Subject}, &rank, &summary); err != nil {
			return err
		}
		_, err := t.exec(
			ctx,
			`INSERT INTO acceptances (host, trap, subject, rank, summary, reason, until, who, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (host, trap, subject) DO UPDATE SET rank = excluded.rank, summary = excluded.summary, reason = excluded.reason, until = excluded.until, who = excluded.who, at = excluded.at`,
			host,
			a.Trap,
			a.Subject,
			rank,
			summary,
			a.Reason,
			a.Until,
			a.Who,
			millis(a.At),
		)
		return err
	})
}

// Unaccept takes it back.
func (db *DB) Unaccept(ctx context.Context, a Accepted, log Audit) error {
	return db.judge(ctx, a, log, func(t *tx, host int64) error {
		n, err := t.exec(ctx, "DELETE FROM acceptances WHERE host = ? AND trap = ? AND subject = ?", host, a.Trap, a.Subject)
		if err == nil && n == 0 {
			return ErrNone
		}
		return err
	})
}

// judge changes the acceptance of one finding, and the sums with it.
func (db *DB) judge(ctx context.Context, a Accepted, log Audit, change func(t *tx, host int64) error) error {
	return db.within(ctx, func(t *tx) error {
		var host int64
		var group string
		if err := t.scan(ctx, "SELECT id, grp FROM hosts WHERE agent = ? AND retired = 0", []any{a.Host.Agent}, &host, &group); err != nil {
			return err
		}
		if err := change(t, host); err != nil {
			return err
		}
		if _, err := t.exec(ctx, auditInsert, auditRow(log)...); err != nil {
			return err
		}
		b := &batch{tx: t, tally: newTally()}
		if err := b.recount(ctx, host, group); err != nil {
			return err
		}
		return b.tally.flush(ctx, t)
	})
}

// recount brings a host's findings and the sums to what is accepted today.
func (b *batch) recount(ctx context.Context, host int64, group string) error {
	rows, err := b.findings(ctx, host)
	if err != nil {
		return err
	}
	accepts, err := b.acceptances(ctx, host)
	if err != nil {
		return err
	}
	before, cells := fleetSum(rows), worst(rows)
	today := b.db.now().UTC().Format(time.DateOnly)
	for k, f := range rows {
		var summary string
		var own int
		if err := b.scan(ctx, "SELECT summary, own FROM findings "+
			"WHERE host = ? AND trap = ? AND subject = ?", []any{host, k.trap, k.subject}, &summary, &own); err != nil {
			return err
		}
		is := own != 0 || accepts[k].holds(f.rank, summary, today)
		if is == f.accepted {
			continue
		}
		f.accepted = is
		rows[k] = f
		if _, err := b.exec(ctx, "UPDATE findings SET accepted = ? WHERE "+
			"host = ? AND trap = ? AND subject = ?", number(is), host, k.trap, k.subject); err != nil {
			return err
		}
	}
	after := sumOf(rows)
	b.tally.host(group, before, fleetSum(rows))
	b.tally.cells(group, cells, worst(rows))
	_, err = b.exec(ctx, "UPDATE hosts SET critical = ?, warning = ?, notice = ?, unknown = ?, accepted = ? WHERE id = ?",
		after.critical, after.warning, after.notice, after.unknown, after.accepted, host)
	return err
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Lapse ends the acceptances whose last day is over, and says how many hosts
// were counted anew.
func (db *DB) Lapse(ctx context.Context) (int, error) {
	today := db.now().UTC().Format(time.DateOnly)
	n := 0
	err := db.within(ctx, func(t *tx) error {
		s, err := t.stmt(ctx, `SELECT DISTINCT h.id, h.grp FROM acceptances a JOIN hosts h ON h.id = a.host
			JOIN findings f ON f.host = a.host AND f.trap = a.trap AND f.subject = a.subject
			WHERE a.until <> '' AND a.until < ? AND f.accepted = 1 AND f.own = 0 ORDER BY h.id`)
		if err != nil {
			return err
		}
		type host struct {
			id    int64
			group string
		}
		rows, err := s.QueryContext(ctx, today)
		hosts, err := read(rows, err, func(row scanner) (h host, err error) {
			err = row.Scan(&h.id, &h.group)
			return h, err
		})
		if err != nil || len(hosts) == 0 {
			return err
		}
		b := &batch{tx: t, tally: newTally()}
		for _, h := range hosts {
			if err := b.recount(ctx, h.id, h.group); err != nil {
				return err
			}
		}
		n = len(hosts)
		return b.tally.flush(ctx, t)
	})
	return n, err
}

// CountAcceptances counts them all.
func (db *DB) CountAcceptances(ctx context.Context) (n int, err error) {
	return n, db.row(ctx, "SELECT COUNT(*) FROM acceptances a JOIN hosts h ON h.id = a.host").Scan(&n)
}

// Acceptances lists what operators accepted, the newest first.
func (db *DB) Acceptances(ctx context.Context, host int64, offset, limit int) ([]Accepted, error) {
	var w where
	if host != 0 {
		w.and("a.host = ?", host)
	}
	rows, err := db.query(ctx, `SELECT a.id, h.agent, h.name, h.grp, a.trap, a.subject, a.rank, a.summary, a.reason, a.until, a.who, a.at
		FROM acceptances a JOIN hosts h ON h.id = a.host`+w.String()+" ORDER BY a.at DESC, a.id DESC LIMIT ? OFFSET ?", append(w.args, limit, offset)...)
	return read(rows, err, func(row scanner) (a Accepted, err error) {
		var rank int
		var at int64
		err = row.Scan(
			&a.ID,
			&a.Host.Agent,
			&a.Host.Name,
			&a.Host.Group,
			&a.Trap,
			&a.Subject,
			&rank,
			&a.Summary,
			&a.Reason,
			&a.Until,
			&a.Who,
			&at,
		)
		a.Severity, a.At = rankName(rank), moment(at)
		return a, err
	})
}
