package store

import (
	"context"
	"time"
)

// Sums are kept by group. What is asked for hosts by label, or of a trap by group and day,
// is counted from the findings.

const (
	isCritical = "f.accepted = 0 AND f.rank >= 3"
	isWarning  = "f.accepted = 0 AND f.rank = 2"
	isNotice   = "f.accepted = 0 AND f.rank = 1"
)

func countIf(condition string) string {
	return "COALESCE(SUM(CASE WHEN " + condition + " THEN 1 ELSE 0 END), 0)"
}

// countGroups is Groups for hosts that no sums are kept of.
func (db *DB) countGroups(ctx context.Context, scope Scope) ([]Group, error) {
	w := &where{}
	w.and("h.retired = 0")
	scope.hosts(w, "h.")
	rows, err := db.query(ctx, "SELECT h.grp, COUNT(DISTINCT h.id), "+countIf(isCritical)+" AS cr, "+countIf(isWarning)+" AS wa, "+
		countIf(isNotice)+" AS no, "+countIf("f.rank = 0")+", "+countIf("f.accepted <> 0 AND f.rank > 0")+
		" FROM hosts h LEFT JOIN findings f ON f.host = h.id AND f.known = 1"+w.String()+
		" GROUP BY h.grp ORDER BY cr DESC, wa DESC, no DESC, h.grp", w.args...)
	return read(rows, err, scanGroup)
}

// cells is a query for what the table cells would have of these hosts; of one trap where
// one is named. Its arguments are w's.
func (s *Scope) cells(w *where, trap string) string {
	var inner where
	inner.and("f.known = 1")
	if trap != "" {
		inner.and("f.trap = ?", trap)
	}
	s.hosts(&inner, "h.")
	w.args = append(w.args, inner.args...)
	weighs := func(condition string) string { return "SUM(CASE WHEN " + condition + " THEN 1 ELSE 0 END)" }
	// Of each host the worst of a trap, as worst() weighs it.
	return "SELECT v.trap, v.grp, " + weighs("v.weight >= 5") + " AS critical, " + weighs("v.weight = 4") + " AS warning, " +
		weighs("v.weight = 3") + " AS notice, " + weighs("v.weight = 1") + " AS unknown, " + weighs("v.weight = 2") + ` AS accepted
		FROM (SELECT f.host, f.trap, h.grp, MAX(CASE WHEN f.rank > 0 AND f.accepted = 0 THEN 2 +
			f.rank WHEN f.rank > 0 THEN 2 ELSE 1 END) AS weight
			FROM findings f JOIN hosts h ON h.id = f.host` + inner.String() + ` GROUP BY f.host, f.trap, h.grp) v GROUP BY v.trap, v.grp`
}

// span is how long a finding was there: from a day to the day before another one.
type span struct {
	host           int64
	rank, accepted int
	first, last    int64 // days
}

// spans are the findings of hosts, those of now and of the past, that were there at the
// end of a day from one on. Of a finding that came back, the past has the last time.
func (db *DB) spans(ctx context.Context, scope Scope, trap string, from, today int64) ([]span, error) {
	var now, past where
	now.and("f.known = 1")
	past.and("p.ended >= ?", from*dayMillis)
	past.and("(p.trap IN (SELECT trap FROM catalogue) OR NOT EXISTS (SELECT 1 FROM catalogue))")
	past.and("NOT EXISTS (SELECT 1 FROM findings g WHERE g.host = p.host AND g.trap = p.trap AND g.subject = p.subject " +
		"AND g.since <= p.since)")
	if trap != "" {
		now.and("f.trap = ?", trap)
		past.and("p.trap = ?", trap)
	}
	scope.hosts(&now, "h.")
	scope.hosts(&past, "h.")
	rows, err := db.query(ctx, "SELECT f.host, f.rank, f.accepted, f.since, 0 FROM findings f JOIN hosts h ON h.id = f.host"+now.String()+
		" UNION ALL SELECT p.host, p.rank, 0, p.since, p.ended FROM past p JOIN hosts h ON h.id = p.host"+past.String()+" ORDER BY 1",
		append(now.args, past.args...)...)
	return read(rows, err, func(row scanner) (s span, err error) {
		var since, ended int64
		err = row.Scan(&s.host, &s.rank, &s.accepted, &since, &ended)
		s.first, s.last = max(since/dayMillis, from), today
		if ended > 0 {
			s.last = min(ended/dayMillis-1, today)
		}
		return s, err
	})
}

// happenedDays counts what changed on hosts, by day.
func (db *DB) happenedDays(ctx context.Context, scope Scope, trap string, from int64) (map[int64]*Happened, error) {
	q := ChangeQuery{Scope: scope, Trap: trap, Since: time.UnixMilli(from * dayMillis), Kinds: []string{New, Resolved, Returned}}
	w := q.where()
	rows, err := db.query(ctx, "SELECT c.at / 86400000 AS d, c.kind, COUNT(*) FROM changes c JOIN hosts h ON h.id = c.host"+w.String()+
		" GROUP BY 1, 2", w.args...)
	out := map[int64]*Happened{}
	_, err = read(rows, err, func(row scanner) (struct{}, error) {
		var day int64
		var kind string
		var n int
		if err := row.Scan(&day, &kind, &n); err != nil {
			return struct{}{}, err
		}
		h := at(out, day)
		switch kind {
		case New:
			h.New += n
		case Resolved:
			h.Resolved += n
		case Returned:
			h.Returned += n
		}
		return struct{}{}, nil
	})
	return out, err
}

// countDays is Days for hosts that no sums are kept of.
func (db *DB) countDays(ctx context.Context, scope Scope, from time.Time) ([]Day, error) {
	first, today := dayOf(from), dayOf(db.now())
	spans, err := db.spans(ctx, scope, "", first, today)
	if err != nil {
		return nil, err
	}
	happened, err := db.happenedDays(ctx, scope, "", first)
	if err != nil {
		return nil, err
	}
	w := &where{}
	w.and("retired = 0")
	scope.hosts(w, "hosts.")
	rows, err := db.query(ctx, "SELECT joined / 86400000, COUNT(*) FROM hosts"+w.String()+" GROUP BY 1", w.args...)
	type joined struct {
		day int64
		n   int
	}
	list, err := read(rows, err, func(row scanner) (j joined, err error) { return j, row.Scan(&j.day, &j.n) })
	if err != nil || today < first {
		return nil, err
	}
	out := make([]Day, today-first+1)
	for i := range out {
		out[i].Day = dayName(first + int64(i))
		for _, j := range list {
			if j.day <= first+int64(i) {
				out[i].Hosts += j.n
			}
		}
		if h := happened[first+int64(i)]; h != nil {
			out[i].Happened = *h
		}
	}
	for _, s := range spans {
		for d := s.first; d <= s.last; d++ {
			day := &out[d-first]
			switch {
			case s.rank > 0 && s.accepted != 0:
				day.Accepted++
			case s.rank >= 3:
				day.Critical++
			case s.rank == 2:
				day.Warning++
			case s.rank == 1:
				day.Notice++
			default:
				day.Unknown++
			}
		}
	}
	return out, nil
}

// countTrapDays is TrapDays for some hosts.
func (db *DB) countTrapDays(ctx context.Context, scope Scope, trap string, from time.Time) ([]TrapDay, error) {
	if !db.knows(trap) {
		return nil, nil
	}
	first, today := dayOf(from), dayOf(db.now())
	spans, err := db.spans(ctx, scope, trap, first, today)
	if err != nil || today < first {
		return nil, err
	}
	happened, err := db.happenedDays(ctx, scope, trap, first)
	if err != nil || len(spans)+len(happened) == 0 {
		return nil, err
	}
	out := make([]TrapDay, today-first+1)
	counted := make([]int64, len(out)) // the last host that a day counts
	for _, s := range spans {
		for d := s.first; d <= s.last; d++ {
			if i := d - first; s.rank > 0 && s.accepted == 0 && counted[i] != s.host {
				counted[i] = s.host
				out[i].Hosts++
			}
		}
	}
	for i := range out {
		out[i].Day = dayName(first + int64(i))
		if h := happened[first+int64(i)]; h != nil {
			out[i].Happened = *h
		}
	}
	return out, nil
}

// FirstDay is the first day that the hub remembers on which some host had a trap,
// YYYY-MM-DD; empty if there is none.
func (db *DB) FirstDay(ctx context.Context, scope Scope, trapID string) (string, error) {
	var day *int64
	q, args := "SELECT MIN(day) FROM trap_daily WHERE trap = ? AND hosts > 0", []any{trapID}
	if !db.knows(trapID) {
		return "", nil
	}
	if !scope.All || !scope.summed() {
		var now, past where
		now.and("f.trap = ?", trapID)
		now.and("f.rank > 0")
		past.and("p.trap = ?", trapID)
		scope.hosts(&now, "h.")
		scope.hosts(&past, "h.")
		q = "SELECT MIN(since) / 86400000 FROM (SELECT f.since FROM findings f JOIN hosts h ON h.id = f.host" + now.String() +
			" UNION ALL SELECT p.since FROM past p JOIN hosts h ON h.id = p.host" + past.String() + ") s"
		args = append(now.args, past.args...)
	}
	if err := db.row(ctx, q, args...).Scan(&day); err != nil || day == nil {
		return "", err
	}
	return dayName(*day), nil
}
