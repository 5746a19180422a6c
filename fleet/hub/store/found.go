package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fettle/engine/trap"
)

// Finding is what one host's check says of one subject: found, or unknown.
type Finding struct {
	Trap     string       `json:"trap"`
	Subject  string       `json:"subject"`
	Severity string       `json:"severity"`
	Accepted bool         `json:"accepted"`
	Summary  string       `json:"summary"`
	Since    time.Time    `json:"since"`
	Title    string       `json:"title"`   // the host's words, of a trap that this hub does not know
	Outcome  trap.Outcome `json:"outcome"` // with detail, evidence, and on the host's side accepted
}

// Findings are those of a host, the worst first.
func (db *DB) Findings(ctx context.Context, host int64, offset, limit int) ([]Finding, error) {
	rows, err := db.query(ctx, "SELECT trap, subject, rank, accepted, summary, since, outcome, title FROM findings WHERE host = ? "+
		"ORDER BY accepted, rank DESC, trap, subject LIMIT ? OFFSET ?", host, limit, offset)
	return read(rows, err, func(row scanner) (f Finding, err error) {
		var rank, accepted int
		var since int64
		var doc []byte
		if err = row.Scan(&f.Trap, &f.Subject, &rank, &accepted, &f.Summary, &since, &doc, &f.Title); err != nil {
			return f, err
		}
		f.Severity, f.Accepted, f.Since = rankName(rank), accepted != 0, moment(since)
		if err = json.Unmarshal(doc, &f.Outcome); err != nil {
			err = fmt.Errorf("the outcome of %s: %w", f.Trap, err)
		}
		return f, err
	})
}

// FoundOn is a trap on a host.
type FoundOn struct {
	Host     HostRef   `json:"host"`
	Subject  string    `json:"subject"`
	Severity string    `json:"severity"`
	Accepted bool      `json:"accepted"`
	Summary  string    `json:"summary"`
	Since    time.Time `json:"since"`
}

// FoundQuery asks where a trap is.
type FoundQuery struct {
	Trap   string
	Scope  Scope
	Rank   *int // of this severity alone; 0: unknown
	Offset int
	Limit  int
}

// CountFound counts what FoundOn would list without its limit.
func (db *DB) CountFound(ctx context.Context, q FoundQuery) (n int, err error) {
	w := q.where()
	err = db.row(ctx, "SELECT COUNT(*) FROM findings f JOIN hosts h ON h.id = f.host"+w.String(), w.args...).Scan(&n)
	return n, err
}

func (q *FoundQuery) where() *where {
	w := &where{}
	w.and("f.trap = ?", q.Trap)
	if q.Rank != nil {
		w.and("f.rank = ?", *q.Rank)
	}
	q.Scope.hosts(w, "h.")
	return w
}

// FoundOn lists where a trap is found or unknown, the worst first.
func (db *DB) FoundOn(ctx context.Context, q FoundQuery) ([]FoundOn, error) {
	w := q.where()
	rows, err := db.query(ctx, `SELECT h.agent, h.name, h.grp, f.subject, f.rank, f.accepted, f.summary, f.since
		FROM findings f JOIN hosts h ON h.id = f.host`+w.String()+" ORDER BY f.rank DESC, f.host LIMIT ? OFFSET ?",
		append(w.args, q.Limit, q.Offset)...)
	return read(rows, err, func(row scanner) (f FoundOn, err error) {
		var rank, accepted int
		var since int64
		err = row.Scan(&f.Host.Agent, &f.Host.Name, &f.Host.Group, &f.Subject, &rank, &accepted, &f.Summary, &since)
		f.Severity, f.Accepted, f.Since = rankName(rank), accepted != 0, moment(since)
		return f, err
	})
}

// Mended is a finding that a host had once.
type Mended struct {
	Host     HostRef   `json:"host"`
	Trap     string    `json:"trap"`
	Subject  string    `json:"subject"`
	Severity string    `json:"severity"`
	Summary  string    `json:"summary"`
	Since    time.Time `json:"since"`
	Ended    time.Time `json:"ended"`
	Returns  int       `json:"returns"` // how often it came back
	Back     bool      `json:"back"`    // it is there again
}

// Mended lists what was resolved, of a trap or of a host, the latest first.
func (db *DB) Mended(ctx context.Context, scope Scope, trapID string, host int64, limit int) ([]Mended, error) {
	var w where
	scope.hosts(&w, "h.")
	w.and("p.resolved = 1")
	if trapID != "" {
		w.and("p.trap = ?", trapID)
	}
	if host != 0 {
		w.and("p.host = ?", host)
	}
	rows, err := db.query(ctx, `SELECT h.agent, h.name, h.grp, p.trap, p.subject, p.rank, p.summary, p.since, p.ended, p.returns,
		(SELECT COUNT(*) FROM findings f WHERE f.host = p.host AND f.trap = p.trap AND f.subject = p.subject AND f.rank > 0)
		FROM past p JOIN hosts h ON h.id = p.host`+w.String()+" ORDER BY p.ended DESC LIMIT ?", append(w.args, limit)...)
	return read(rows, err, func(row scanner) (m Mended, err error) {
		var rank, back int
		var since, ended int64
		err = row.Scan(&m.Host.Agent, &m.Host.Name, &m.Host.Group, &m.Trap, &m.Subject, &rank, &m.Summary, &since, &ended, &m.Returns, &back)
		m.Severity, m.Since, m.Ended, m.Back = rankName(rank), moment(since), moment(ended), back > 0
		return m, err
	})
}

// Reason is why checks of a trap could not look.
type Reason struct {
	Trap   string `json:"trap"`
	Reason string `json:"reason"`
	Count  int    `json:"count"` // hosts
}

// Reasons lists why checks of the traps that this hub knows could not look, those of the
// most hosts first, and says how many there are. Hosts count, not subjects: of these one
// host may name many.
func (db *DB) Reasons(ctx context.Context, scope Scope, offset, limit int) (list []Reason, all int, err error) {
	w := &where{}
	w.and("rank = 0")
	w.and("known = 1")
	if !scope.All || !scope.summed() {
		var hosts where
		scope.hosts(&hosts, "hosts.")
		w.and("host IN (SELECT id FROM hosts"+hosts.String()+")", hosts.args...)
	}
	if err := db.row(ctx, "SELECT COUNT(*) FROM (SELECT trap, summary FROM findings"+w.String()+" GROUP BY trap, summary) r", w.args...).
		Scan(&all); err != nil {
		return nil, 0, err
	}
	rows, err := db.query(ctx, "SELECT trap, summary, COUNT(DISTINCT host) AS n FROM findings"+w.String()+
		" GROUP BY trap, summary ORDER BY n DESC, trap, summary LIMIT ? OFFSET ?", append(w.args, limit, offset)...)
	list, err = read(rows, err, func(row scanner) (r Reason, err error) {
		err = row.Scan(&r.Trap, &r.Reason, &r.Count)
		return r, err
	})
	return list, all, err
}
