package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"fettle/engine/trap"
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
	reason  string
	who     string
}

// holds as accept.Entry.Lapsed tells it: to the last day, and as long as the
// finding says the same and is no graver.
func (a acceptance) holds(rank int, summary string, today string) bool {
	return rank > 0 && rank <= a.rank && summary == a.summary && (a.until == "" || today <= a.until)
}

// acceptances are the hub's of one host.
func (t *tx) acceptances(ctx context.Context, host int64) (map[findingKey]acceptance, error) {
	type row struct {
		findingKey
		acceptance
	}
	rows, err := t.query(ctx, "SELECT trap, subject, rank, summary, until, reason, who FROM acceptances WHERE host = ?", host)
	list, err := read(rows, err, func(in scanner) (r row, err error) {
		err = in.Scan(&r.trap, &r.subject, &r.rank, &r.summary, &r.until, &r.reason, &r.who)
		return r, err
	})
	out := make(map[findingKey]acceptance, len(list))
	for _, r := range list {
		out[r.findingKey] = r.acceptance
	}
	return out, err
}

// Accept keeps an operator's word on a finding that is there, and the audit's
// line on it, and counts again. a.Host.Agent, Trap and Subject say which.
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
		var h hostRow
		if err := t.scan(ctx, "SELECT id, grp, labels FROM hosts WHERE agent = ? AND retired = 0", []any{a.Host.Agent}, &h.id, &h.group,
			&h.labels); err != nil {
			return err
		}
		if err := change(t, h.id); err != nil {
			return err
		}
		if _, err := t.exec(ctx, auditInsert, auditRow(log)...); err != nil {
			return err
		}
		b := &batch{tx: t, tally: newTally()}
		if err := b.recount(ctx, &h); err != nil {
			return err
		}
		return b.tally.flush(ctx, t)
	})
}

// recount brings a host's findings and the sums to what is accepted today.
func (b *batch) recount(ctx context.Context, h *hostRow) error {
	rows, err := b.findings(ctx, h.id)
	if err != nil {
		return err
	}
	accepts, err := b.accepting(ctx, h)
	if err != nil {
		return err
	}
	said, err := b.sayings(ctx, h.id)
	if err != nil {
		return err
	}
	before, cells := fleetSum(rows), worst(rows)
	for _, k := range slices.SortedFunc(maps.Keys(rows), findingKey.compare) {
		f := rows[k]
		is := said[k].own || accepts.holds(k, f.rank, said[k].summary)
		if is == f.accepted {
			continue
		}
		f.accepted = is
		rows[k] = f
		if _, err := b.exec(ctx, "UPDATE findings SET accepted = ? WHERE "+
			"host = ? AND trap = ? AND subject = ?", number(is), h.id, k.trap, k.subject); err != nil {
			return err
		}
	}
	after := sumOf(rows)
	b.tally.host(h.group, before, fleetSum(rows))
	b.tally.cells(h.group, cells, worst(rows))
	_, err = b.exec(ctx, "UPDATE hosts SET critical = ?, warning = ?, notice = ?, unknown = ?, accepted = ? WHERE id = ?",
		after.critical, after.warning, after.notice, after.unknown, after.accepted, h.id)
	return err
}

// saying is what acceptances are compared with.
type saying struct {
	summary string
	own     bool // accepted on the host
}

func (b *batch) sayings(ctx context.Context, host int64) (map[findingKey]saying, error) {
	out := map[findingKey]saying{}
	rows, err := b.query(ctx, "SELECT trap, subject, summary, own FROM findings WHERE host = ?", host)
	_, err = read(rows, err, func(row scanner) (struct{}, error) {
		var k findingKey
		var own int
		var x saying
		err := row.Scan(&k.trap, &k.subject, &x.summary, &own)
		x.own = own != 0
		out[k] = x
		return struct{}{}, err
	})
	return out, err
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Lapse ends the acceptances whose last day is over, and says how many hosts
// were counted again.
func (db *DB) Lapse(ctx context.Context) (int, error) {
	today := db.now().UTC().Format(time.DateOnly)
	n := 0
	err := db.within(ctx, func(t *tx) error {
		rows, err := t.query(ctx, `SELECT DISTINCT h.id, h.grp, h.labels FROM acceptances a JOIN hosts h ON h.id = a.host
			JOIN findings f ON f.host = a.host AND f.trap = a.trap AND f.subject = a.subject
			WHERE a.until <> '' AND a.until < ? AND f.accepted = 1 AND f.own = 0 ORDER BY h.id`, today)
		hosts, err := read(rows, err, func(row scanner) (h hostRow, err error) {
			err = row.Scan(&h.id, &h.group, &h.labels)
			return h, err
		})
		if err != nil || len(hosts) == 0 {
			return err
		}
		b := &batch{tx: t, tally: newTally()}
		for i := range hosts {
			if err := b.recount(ctx, &hosts[i]); err != nil {
				return err
			}
		}
		n = len(hosts)
		return b.tally.flush(ctx, t)
	})
	if err != nil {
		return n, err
	}
	byRules, err := db.CountRules(ctx)
	return n + byRules, err
}

// CountAcceptances counts those on some hosts.
func (db *DB) CountAcceptances(ctx context.Context, scope Scope) (n int, err error) {
	w := &where{}
	scope.hosts(w, "h.")
	return n, db.row(ctx, "SELECT COUNT(*) FROM acceptances a JOIN hosts h ON h.id = a.host"+w.String(), w.args...).Scan(&n)
}

// Acceptances lists what operators accepted on some hosts, or on one, the newest first.
func (db *DB) Acceptances(ctx context.Context, scope Scope, host int64, offset, limit int) ([]Accepted, error) {
	var w where
	scope.hosts(&w, "h.")
	if host != 0 {
		w.and("a.host = ?", host)
	}
	rows, err := db.query(ctx, `SELECT a.id, h.agent, h.name, h.grp, a.trap, a.subject, a.rank, a.summary, a.reason, a.until, a.who, a.at
		FROM acceptances a JOIN hosts h ON h.id = a.host`+w.String()+" ORDER BY a.at DESC, a.id DESC LIMIT ? OFFSET ?", append(w.args, limit, offset)...)
	return read(rows, err, func(row scanner) (a Accepted, err error) {
		var rank int
		var at int64
		err = row.Scan(&a.ID, &a.Host.Agent, &a.Host.Name, &a.Host.Group, &a.Trap, &a.Subject, &rank, &a.Summary, &a.Reason, &a.Until, &a.Who,
			&at)
		a.Severity, a.At = rankName(rank), moment(at)
		return a, err
	})
}

// OwnAccepted are the findings that are accepted on the hosts themselves, by host, and how
// many there are.
func (db *DB) OwnAccepted(ctx context.Context, scope Scope, offset, limit int) (list []Accepted, all int, err error) {
	w := &where{}
	w.and("f.own = 1")
	w.and("f.rank > 0")
	scope.hosts(w, "h.")
	const from = " FROM findings f JOIN hosts h ON h.id = f.host"
	if err := db.row(ctx, "SELECT COUNT(*)"+from+w.String(), w.args...).Scan(&all); err != nil || limit == 0 {
		return nil, all, err
	}
	rows, err := db.query(ctx, "SELECT f.id, h.agent, h.name, h.grp, f.trap, f.subject, f.rank, f.summary, f.since, f.outcome"+from+w.String()+
		" ORDER BY h.name, h.id, f.trap, f.subject LIMIT ? OFFSET ?", append(w.args, limit, offset)...)
	list, err = read(rows, err, func(row scanner) (a Accepted, err error) {
		var rank int
		var since int64
		var doc []byte
		if err = row.Scan(&a.ID, &a.Host.Agent, &a.Host.Name, &a.Host.Group, &a.Trap, &a.Subject, &rank, &a.Summary, &since, &doc); err != nil {
			return a, err
		}
		var o trap.Outcome
		if err = json.Unmarshal(doc, &o); err == nil && o.Accepted != nil {
			a.Reason, a.Until, a.Who = o.Accepted.Reason, o.Accepted.Until, o.Accepted.By
		}
		a.Severity, a.At = rankName(rank), moment(since)
		return a, err
	})
	return list, all, err
}
