package store

import (
	"context"

	"fettle/report/history"
)

// Bounds are what one host may cost. What a host sends beyond them is counted, its page
// says so, and other hosts do not wait for it.
type Bounds struct {
	ChangesADay  int   // rows of its history on a day
	BytesADay    int64 // and their texts
	ChangesInAll int
	Past         int // findings that it had once
	// WorkADay is how many rows its reports may write on a day. Further ones are held:
	// the next day the agent is asked for a whole one.
	WorkADay int
}

// usual is far above what a host's checks say: most hosts change less than once a day.
var usual = Bounds{ChangesADay: 2000, BytesADay: 1 << 20, ChangesInAll: 10_000, Past: 2000, WorkADay: 50_000}

// cost is what a host cost on a day.
type cost struct {
	day, work, rows, bytes int64
	folded                 int64 // of this message
	ended                  int   // findings that went to the past with it
}

// spent begins a new day where one has begun, and reports whether the host's work for it is done.
func (b *batch) spent(h *hostRow) bool {
	if today := b.db.now().UnixMilli() / dayMillis; h.cost.day != today {
		h.cost = cost{day: today}
	}
	return h.cost.work >= int64(b.db.bounds.WorkADay)
}

// room reports whether a change is kept as a row of its own.
func (b *batch) room(h *hostRow, c *history.Change, summary string) bool {
	size := int64(len(c.Trap) + len(c.Subject) + len(summary))
	if h.cost.rows >= int64(b.db.bounds.ChangesADay) || b.db.bounds.BytesADay > 0 && h.cost.bytes+size > b.db.bounds.BytesADay {
		h.cost.folded++
		return false
	}
	h.cost.rows++
	h.cost.bytes += size
	return true
}

// charge notes what a host's message cost, and keeps its past within bounds.
func (b *batch) charge(ctx context.Context, h *hostRow) error {
	c := &h.cost
	if _, err := b.exec(ctx, "UPDATE hosts SET cost_day = ?, cost_work = ?, cost_rows = ?, cost_bytes = ?, folded = folded + ? WHERE id = ?",
		c.day, c.work, c.rows, c.bytes, c.folded, h.id); err != nil || c.ended == 0 {
		return err
	}
	var n int
	if err := b.scan(ctx, "SELECT COUNT(*) FROM past WHERE host = ?", []any{h.id}, &n); err != nil || n <= b.db.bounds.Past {
		return err
	}
	_, err := b.exec(ctx, "DELETE FROM past WHERE host = ? AND (trap, subject) IN (SELECT trap, subject FROM past WHERE host = ? "+
		"ORDER BY ended, trap, subject LIMIT ?)", h.id, h.id, n-b.db.bounds.Past)
	return err
}

// hold notes that a report was not stored, as too much came from this host today. What
// the agent says next builds on a state that the hub does not have.
func (b *batch) hold(ctx context.Context, h *hostRow) error {
	_, err := b.exec(ctx, "UPDATE hosts SET held = ?, digest = '' WHERE id = ?", b.db.now().UnixMilli(), h.id)
	return err
}

// foldAtOnce is how many rows a transaction deletes: nobody waits long for it.
const foldAtOnce = 2000

// Fold deletes the oldest changes of hosts that have too many in all, a bounded number,
// and reports whether there may be more.
func (db *DB) Fold(ctx context.Context) (more bool, err error) {
	rows, err := db.query(ctx, "SELECT host, COUNT(*) FROM changes GROUP BY host HAVING COUNT(*) > ?", db.bounds.ChangesInAll)
	type over struct {
		host int64
		n    int
	}
	list, err := read(rows, err, func(row scanner) (o over, err error) {
		err = row.Scan(&o.host, &o.n)
		return o, err
	})
	for _, o := range list {
		n := min(o.n-db.bounds.ChangesInAll, foldAtOnce)
		more = more || n == foldAtOnce
		if err == nil {
			err = db.within(ctx, func(t *tx) error {
				if _, err := t.exec(ctx, "DELETE FROM changes WHERE id IN (SELECT id FROM changes WHERE host = ? ORDER BY id LIMIT ?)", o.host,
					n); err != nil {
					return err
				}
				_, err := t.exec(ctx, "UPDATE hosts SET folded = folded + ? WHERE id = ?", n, o.host)
				return err
			})
		}
	}
	return more, err
}
