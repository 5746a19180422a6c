package store

import (
	"context"
	"time"

	"fettle/fleet/hub/message"
)

// Fix is a change that fettle fix made on a host.
type Fix struct {
	Host     HostRef   `json:"host"`
	ID       string    `json:"id"` // on that host
	At       time.Time `json:"at"` // by the host's clock
	Who      string    `json:"who"`
	Trap     string    `json:"trap"`
	Subject  string    `json:"subject"`
	Summary  string    `json:"summary"` // of the finding
	Phase    string    `json:"phase"`   // applying, applied, undoing, rolled back
	Verified bool      `json:"verified"`
	Standing string    `json:"standing"` // the phase in words
	Undo     string    `json:"undo"`     // the command that undoes it there; empty: nothing is left to undo
}

// fixed keeps what an agent says was changed on its host.
func (b *batch) fixed(ctx context.Context, h *hostRow, list []message.Fix) error {
	if len(list) == 0 {
		return nil
	}
	if _, err := b.exec(ctx, "DELETE FROM fixes WHERE host = ?", h.id); err != nil {
		return err
	}
	for _, f := range list {
		if _, err := b.exec(ctx, "INSERT INTO fixes (host, id, at, who, trap, subject, summary, phase, verified, standing, undo) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", h.id, f.ID, millis(f.At), f.By, f.Trap, f.Subject, f.Summary, f.Phase,
			number(f.Verified), f.Standing, f.Undo); err != nil {
			return err
		}
	}
	h.cost.work += int64(len(list))
	b.tally.host(h.group, sums{}, sums{}) // pages of its group show it
	return nil
}

// FixQuery asks for changes that fettle fix made.
type FixQuery struct {
	Scope  Scope
	Trap   string
	Host   int64
	Offset int
	Limit  int
}

// Fixes lists them, the newest first, and says how many there are.
func (db *DB) Fixes(ctx context.Context, q FixQuery) (list []Fix, all int, err error) {
	w := &where{}
	q.Scope.hosts(w, "h.")
	if q.Trap != "" {
		w.and("x.trap = ?", q.Trap)
	}
	if q.Host != 0 {
		w.and("x.host = ?", q.Host)
	}
	const from = " FROM fixes x JOIN hosts h ON h.id = x.host"
	if err := db.row(ctx, "SELECT COUNT(*)"+from+w.String(), w.args...).Scan(&all); err != nil {
		return nil, 0, err
	}
	rows, err := db.query(ctx, "SELECT h.agent, h.name, h.grp, x.id, x.at, x.who, x.trap, x.subject, x.summary, x.phase, x.verified, "+
		"x.standing, x.undo"+from+w.String()+" ORDER BY x.at DESC, x.host, x.id DESC LIMIT ? OFFSET ?", append(w.args, q.Limit, q.Offset)...)
	list, err = read(rows, err, func(row scanner) (f Fix, err error) {
		var at, verified int64
		err = row.Scan(&f.Host.Agent, &f.Host.Name, &f.Host.Group, &f.ID, &at, &f.Who, &f.Trap, &f.Subject, &f.Summary, &f.Phase, &verified,
			&f.Standing, &f.Undo)
		f.At, f.Verified = moment(at), verified != 0
		return f, err
	})
	return list, all, err
}

// FixTargets are the hosts, by what they call themselves, on which a trap is found and
// counts, the most severe first.
func (db *DB) FixTargets(ctx context.Context, scope Scope, trap string, rank *int, limit int) (names []string, err error) {
	w := &where{}
	w.and("f.trap = ?", trap)
	w.and("f.rank > 0")
	w.and("f.accepted = 0")
	w.and("h.retired = 0")
	if rank != nil {
		w.and("f.rank = ?", *rank)
	}
	scope.hosts(w, "h.")
	rows, err := db.query(ctx,
		"SELECT h.own_name FROM findings f JOIN hosts h ON h.id = f.host"+w.String()+
			" GROUP BY h.own_name ORDER BY MAX(f.rank) DESC, h.own_name LIMIT ?",
		append(w.args, limit)...)
	return read(rows, err, func(row scanner) (s string, err error) { return s, row.Scan(&s) })
}
