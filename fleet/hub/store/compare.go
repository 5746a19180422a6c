package store

import (
	"context"
	"errors"
	"maps"
	"slices"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/report/history"
)

// Kinds of changes: those of package history, and one that needs a memory.
const (
	New      = string(history.New)
	Resolved = string(history.Resolved)
	Changed  = string(history.Changed)
	Unseen   = string(history.Unseen)
	Seen     = string(history.Seen)
	Returned = "returned" // found again after it was resolved
)

// finding is a row of findings.
type finding struct {
	rank     int
	accepted bool // on the host, or on the hub
	own      bool // on the host
	foreign  bool // of a trap that this hub does not know
	since    int64
}

type findingKey struct{ trap, subject string }

// compare brings findings, past, changes and sums from one state to the next.
func (b *batch) compare(ctx context.Context, h *hostRow, was, is *message.State, m *message.Message, at int64) (sums, error) {
	rows, err := b.findings(ctx, h.id)
	if err != nil {
		return sums{}, err
	}
	before := fleetSum(rows)
	touched := touchedBy(m, was, is)
	worstBefore := worst(rows)
	changes := history.Compare(was.Document(touched), is.Document(touched))
	since, err := b.record(ctx, h, changes, rows, at)
	if err != nil {
		return sums{}, err
	}
	if err := b.sync(ctx, h, is, touched, rows, since, at); err != nil {
		return sums{}, err
	}
	b.tally.host(h.group, before, fleetSum(rows))
	b.tally.cells(h.group, worstBefore, worst(rows))
	return sumOf(rows), nil
}

// touchedBy are the traps of which a message speaks.
func touchedBy(m *message.Message, was, is *message.State) map[string]bool {
	out := map[string]bool{}
	add := func(rs []message.Result) {
		for i := range rs {
			out[rs[i].Trap] = true
		}
	}
	if m.Kind == message.Whole {
		add(was.Results)
		add(is.Results)
		return out
	}
	add(m.Run.Results)
	for _, g := range m.Run.Gone {
		out[g] = true
	}
	return out
}

func (b *batch) findings(ctx context.Context, host int64) (map[findingKey]finding, error) {
	rows, err := b.query(ctx, "SELECT trap, subject, rank, accepted, known, since FROM findings WHERE host = ?", host)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[findingKey]finding{}
	for rows.Next() {
		var k findingKey
		var f finding
		var accepted, known int
		if err := rows.Scan(&k.trap, &k.subject, &f.rank, &accepted, &known, &f.since); err != nil {
			return nil, err
		}
		f.accepted, f.foreign = accepted != 0, known == 0
		out[k] = f
	}
	return out, rows.Err()
}

// record writes what changed, and returns since when findings that come back
// into sight have been there.
func (b *batch) record(
	ctx context.Context,
	h *hostRow,
	changes []history.Change,
	rows map[findingKey]finding,
	at int64,
) (map[findingKey]int64, error) {
	since := map[findingKey]int64{}
	for i := range changes {
		c := &changes[i]
		k := findingKey{c.Trap, c.Subject}
		kind := string(c.Kind)
		switch c.Kind {
		case history.New:
			began, returned, err := b.again(ctx, h, k)
			if err != nil {
				return nil, err
			}
			if returned {
				kind = Returned
			} else if began != 0 { // it was only out of sight
				since[k], kind = began, Seen
			}
		case history.Resolved, history.Unseen:
			if err := b.bury(ctx, h, c, rows[k], at); err != nil {
				return nil, err
			}
		}
		o := telling(c)
		if !b.room(h, c, said(o)) {
			b.tally.change(h.group, b.counted(c.Trap), kind, at)
			continue
		}
		h.cost.work++
		if _, err := b.exec(ctx, "INSERT INTO changes (at, host, trap, subject, kind, rank, summary) VALUES (?, ?, ?, ?, ?, ?, ?)",
			at, h.id, c.Trap, c.Subject, kind, rankOf(o), said(o)); err != nil {
			return nil, err
		}
		b.tally.change(h.group, b.counted(c.Trap), kind, at)
	}
	return since, nil
}

// counted is a trap as a day's sums name it; the empty string, which has none, for one
// that this hub does not know.
func (b *batch) counted(trap string) string {
	if b.db.knows(trap) {
		return trap
	}
	return ""
}

// telling is the side of a change that has something to say.
func telling(c *history.Change) *trap.Outcome {
	switch {
	case c.After != nil && c.After.Status == trap.Found, c.Before == nil:
		return c.After
	case c.Before.Status == trap.Found, c.After == nil:
		return c.Before
	}
	return c.After
}

func rankOf(o *trap.Outcome) int {
	if o == nil || o.Status != trap.Found {
		return 0
	}
	return int(o.Severity)
}

func said(o *trap.Outcome) string {
	switch {
	case o == nil:
		return ""
	case o.Summary != "":
		return o.Summary
	}
	return o.Reason
}

// again looks a new finding up among the past ones of its host: since when it
// was there if it was not resolved meanwhile, and whether it was.
func (b *batch) again(ctx context.Context, h *hostRow, k findingKey) (began int64, returned bool, err error) {
	var since, resolved int64
	err = b.scan(
		ctx,
		"SELECT since, resolved FROM past WHERE host = ? AND trap = ? AND subject = ?",
		[]any{h.id, k.trap, k.subject},
		&since,
		&resolved,
	)
	switch {
	case errors.Is(err, ErrNone):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case resolved == 0:
		return since, false, nil
	}
	_, err = b.exec(ctx, "UPDATE past SET returns = returns + 1 WHERE host = ? AND trap = ? AND subject = ?", h.id, k.trap, k.subject)
	return 0, true, err
}

// bury keeps a finding that is there no more, or out of sight.
func (b *batch) bury(ctx context.Context, h *hostRow, c *history.Change, was finding, at int64) error {
	if c.Kind == history.Unseen && (c.Before == nil || c.Before.Status != trap.Found) {
		return nil
	}
	h.cost.work++
	h.cost.ended++
	resolved := 0
	if c.Kind == history.Resolved {
		resolved = 1
	}
	_, err := b.exec(ctx, `INSERT INTO past (host, trap, subject, rank, summary, since, ended, resolved) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (host, trap, subject) DO UPDATE SET rank = excluded.rank, summary = excluded.summary, since = excluded.since, ended = excluded.ended, resolved = excluded.resolved`,
		h.id, c.Trap, c.Subject, rankOf(c.Before), said(c.Before), was.since, at, resolved)
	return err
}

// sync makes the rows of the touched traps those of the new state.
func (b *batch) sync(
	ctx context.Context,
	h *hostRow,
	is *message.State,
	touched map[string]bool,
	rows map[findingKey]finding,
	since map[findingKey]int64,
	at int64,
) error {
	gone := map[findingKey]bool{}
	for k := range rows {
		gone[k] = touched[k.trap]
	}
	accepts, err := b.accepting(ctx, h)
	if err != nil {
		return err
	}
	titles := map[string]string{}
	for _, t := range is.Traps {
		titles[t.ID] = t.Title
	}
	for i := range is.Results {
		r := &is.Results[i]
		if !touched[r.Trap] {
			continue
		}
		for j := range r.Outcomes {
			o := &r.Outcomes[j]
			k := findingKey{o.Trap, o.Subject}
			delete(gone, k)
			f := finding{rank: rankOf(o), own: o.Accepted != nil && o.Accepted.Lapsed == "", since: at, foreign: !b.db.knows(o.Trap)}
			f.accepted = f.own || accepts.holds(k, f.rank, said(o))
			if was, ok := rows[k]; ok && (was.rank > 0) == (f.rank > 0) {
				f.since = was.since
			} else if began := since[k]; began != 0 {
				f.since = began
			}
			h.cost.work++
			if err := b.put(ctx, h.id, o, f, titles[o.Trap]); err != nil {
				return err
			}
			rows[k] = f
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(gone), findingKey.compare) {
		if !gone[k] {
			continue
		}
		h.cost.work++
		if _, err := b.exec(ctx, "DELETE FROM findings WHERE host = ? AND trap = ? AND subject = ?", h.id, k.trap, k.subject); err != nil {
			return err
		}
		delete(rows, k)
	}
	return nil
}

func (b *batch) put(ctx context.Context, host int64, o *trap.Outcome, f finding, title string) error {
	if !f.foreign {
		title = "" // the hub's own
	}
	doc, err := encoded(o)
	if err != nil {
		return err
	}
	_, err = b.exec(
		ctx,
		`INSERT INTO findings (host, trap, subject, rank, accepted, own, summary, since, outcome, known, title) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (host, trap, subject) DO UPDATE SET rank = excluded.rank, accepted = excluded.accepted, own = excluded.own, summary = excluded.summary, since = excluded.since, outcome = excluded.outcome,
		known = excluded.known, title = excluded.title`,
		host,
		o.Trap,
		o.Subject,
		f.rank,
		number(f.accepted),
		number(f.own),
		said(o),
		f.since,
		doc,
		number(!f.foreign),
		title,
	)
	return err
}
