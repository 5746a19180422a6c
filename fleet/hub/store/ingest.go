package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"fettle/fleet/hub/message"
	"fettle/report/onhub"
)

// Item is a message that came from the agent whose credentials were used to
// send it.
type Item struct {
	Message *message.Message
	Key     string        // with which the sender logged in
	Prev    int64         // the message before this one, of the same instance; 0: none that counts
	At      time.Time     // when it was made, by the hub's clock
	Skew    time.Duration // by how much the host's clock is ahead of the hub's
}

// Result is what became of a message.
type Result struct {
	Verdict Verdict
	Seq     int64 // the last message of this instance that was taken
	// Accepts is what is accepted on the host, where its agent has another list.
	Accepts *onhub.List
	// Packs are those that are handed on to the host now, as they travel.
	Packs [][]byte
}

// Verdict says whether a message was taken.
type Verdict int

const (
	Taken     Verdict = iota
	Again             // it was taken before
	NeedWhole         // a change of a state that the hub does not have
	Stranger          // of an agent or a key that the hub does not know
	Gap               // messages before it are missing
	Refused           // the database does not take it
)

// slice is how long one transaction takes messages: whoever else writes (a login, an
// acceptance) waits no longer than that and one message.
const slice = 100 * time.Millisecond

// Ingest takes messages, the first of them at least, and as many as there is time for, in
// one transaction: it says what became of those.
func (db *DB) Ingest(ctx context.Context, items []Item) ([]Result, error) {
	out, end := make([]Result, 0, len(items)), time.Now().Add(slice)
	err := db.within(ctx, func(t *tx) error {
		b := &batch{tx: t, tally: newTally()}
		if err := t.byKeys(ctx); err != nil {
			return err
		}
		for len(out) < len(items) && (len(out) == 0 || time.Now().Before(end)) {
			some, err := b.some(ctx, items[len(out):])
			if err != nil {
				return err
			}
			out = append(out, some...)
		}
		return b.tally.flush(ctx, t)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// some takes the first of some messages: those that one statement may take, or one.
func (b *batch) some(ctx context.Context, items []Item) ([]Result, error) {
	together := b.db.run(items)
	var taken map[string]Result
	if len(together) == 0 {
		together = items[:1]
	} else {
		var err error
		if taken, err = b.quick(ctx, together); err != nil {
			return nil, err
		}
	}
	var out []Result
	for i := range together {
		r, done := taken[together[i].Message.Agent]
		if !done {
			var err error
			if r, err = b.take(ctx, &together[i]); err != nil {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// batch is the messages of one transaction.
type batch struct {
	*tx
	tally tally
	rules []Rule // read once
	ruled bool
	packs []*handing // read once
	laden bool
}

// hostRow is what ingestion needs of a host.
type hostRow struct {
	id        int64
	key       string
	group     string
	labels    string // JSON
	instance  string
	seq       int64
	digest    string
	lastCheck int64
	retired   int64
	machine   string
	seen      int64 // when its last message was made, by the hub's clock
	sent      int64 // and by the host's
	twin      int64 // since when two machines use its key; 0: one does
	plain     bool  // none of its findings is accepted by itself
	cost      cost
}

// host reads what ingestion needs of a host.
func (b *batch) host(ctx context.Context, agent string, h *hostRow) error {
	return b.scan(ctx, "SELECT id, nkey, grp, labels, instance, seq, digest, last_check, retired, machine, last_seen, last_sent, "+
		"twin, cost_day, cost_work, cost_rows, cost_bytes FROM hosts WHERE agent = ?", []any{agent},
		&h.id, &h.key, &h.group, &h.labels, &h.instance, &h.seq, &h.digest,
		&h.lastCheck, &h.retired, &h.machine, &h.seen, &h.sent, &h.twin, &h.cost.day, &h.cost.work, &h.cost.rows, &h.cost.bytes)
}

func (b *batch) take(ctx context.Context, it *Item) (Result, error) {
	m := it.Message
	var h hostRow
	err := b.host(ctx, m.Agent, &h)
	switch {
	case m.Kind == message.Want:
		return b.want(ctx, &h, it, err)
	case errors.Is(err, ErrNone) || err == nil && h.key != it.Key:
		if adopted, err := b.adopt(ctx, &h, it); err != nil || !adopted {
			return Result{Verdict: Stranger}, err
		}
	case err == nil && h.retired != 0:
		return Result{Verdict: Stranger}, nil
	case err != nil:
		return Result{}, err
	}
	last, err := b.last(ctx, &h, m)
	if err == nil && h.twin == 0 {
		var other bool
		if other, err = b.other(ctx, &h, it, last); err == nil && other {
			err = b.dispute(ctx, &h, it)
		}
	}
	switch {
	case err != nil:
		return Result{}, err
	case m.Seq <= last && h.twin != 0 && m.Instance == h.instance: // the other one took its numbers
		_, err := b.disputed(ctx, &h, it)
		return Result{Verdict: Again, Seq: last}, err
	case m.Seq <= last:
		return Result{Verdict: Again, Seq: last}, nil
	case it.Prev > last:
		return Result{Verdict: Gap, Seq: last}, nil
	}
	if m.Instance != h.instance {
		if err := b.change(ctx, &h, it); err != nil {
			return Result{}, err
		}
	}
	if err := b.seen(ctx, &h, it); err != nil {
		return Result{}, err
	}
	if h.twin != 0 {
		v, err := b.disputed(ctx, &h, it)
		return Result{Verdict: v, Seq: m.Seq}, err
	}
	v, err := b.content(ctx, &h, it)
	if err != nil {
		return Result{}, err
	}
	return b.result(ctx, &h, m, v)
}

// result is the answer to a message, with what the host asked for: acceptances, and packs.
func (b *batch) result(ctx context.Context, h *hostRow, m *message.Message, v Verdict) (r Result, err error) {
	r = Result{Verdict: v, Seq: m.Seq}
	if m.Self != nil && m.Self.Accepts != "" {
		r.Accepts, err = b.accepts(ctx, h, m.Self.Accepts)
	}
	if err == nil && m.Self != nil && m.Self.TakesPacks {
		r.Packs, err = b.hand(ctx, h, m.Self.Packs)
	}
	return r, err
}

// content takes what a message says.
func (b *batch) content(ctx context.Context, h *hostRow, it *Item) (Verdict, error) {
	m := it.Message
	if err := b.fixed(ctx, h, m.Fixes); err != nil {
		return 0, err
	}
	switch {
	case m.Kind == message.Beat && m.Digest != "" && m.Digest != h.digest:
		return NeedWhole, nil
	case m.Kind == message.Beat:
		return Taken, nil
	case m.Run.Failed != "":
		_, err := b.exec(ctx, "UPDATE hosts SET failed = ?, last_ask = ? WHERE id = ?", m.Run.Failed, m.Ask, h.id)
		return Taken, err
	case m.Kind == message.Change && m.Base != h.digest:
		return NeedWhole, nil
	}
	// A host's history goes forward, whatever its clock and the network did.
	at := max(millis(it.At), h.lastCheck)
	if unchanged(m) {
		_, err := b.exec(ctx, "UPDATE hosts SET last_check = ?, failed = '', last_ask = ? WHERE id = ?", at, m.Ask, h.id)
		return Taken, err
	}
	if b.spent(h) {
		return Taken, b.hold(ctx, h)
	}
	return b.apply(ctx, h, m, at)
}

// adopt takes in an agent whose key the hub has signed, and the database does
// not know: it was restored from a backup of before the agent joined.
func (b *batch) adopt(ctx context.Context, h *hostRow, it *Item) (bool, error) {
	var joined int64
	err := b.scan(ctx, "SELECT joined FROM agents WHERE nkey = ?", []any{it.Key}, &joined)
	if !errors.Is(err, ErrNone) {
		return false, err // a key of before, which was revoked
	}
	m, now := it.Message, b.db.now().UnixMilli()
	j := Joining{Agent: m.Agent, Host: m.Agent, Key: it.Key, How: "restored"}
	if h.id != 0 {
		h.key = it.Key
		return true, b.replaceKey(ctx, m.Agent, j, now)
	}
	switch err := b.addHost(ctx, j, "{}", now); {
	case errors.Is(err, ErrNone): // another hub took it in just now, whose lease had passed to this one
		err := b.host(ctx, m.Agent, h)
		return err == nil && h.key == it.Key && h.retired == 0, err
	case err != nil:
		return false, err
	}
	*h = hostRow{key: it.Key, labels: "{}"}
	return true, b.scan(ctx, "SELECT id FROM hosts WHERE agent = ?", []any{m.Agent}, &h.id)
}

// last is the last message of the sender's instance that was taken; 0 if none.
func (b *batch) last(ctx context.Context, h *hostRow, m *message.Message) (int64, error) {
	if m.Instance == h.instance {
		return h.seq, nil
	}
	var ended int64
	err := b.scan(ctx, "SELECT seq FROM instances WHERE agent = ? AND instance = ?", []any{m.Agent, m.Instance}, &ended)
	if errors.Is(err, ErrNone) {
		return 0, nil
	}
	return ended, err
}

// change notes that another instance speaks. What the one before it said is kept until
// the next change: this one may be another machine's.
func (b *batch) change(ctx context.Context, h *hostRow, it *Item) error {
	if h.instance == "" {
		return nil
	}
	agent := it.Message.Agent
	if h.twin == 0 {
		if _, err := b.exec(ctx, "UPDATE instances SET state = NULL WHERE agent = ? AND state IS NOT NULL", agent); err != nil {
			return err
		}
	}
	if _, err := b.exec(ctx, `INSERT INTO instances (agent, instance, seq, ended, state) VALUES (?, ?, ?, ?, (SELECT state FROM states WHERE host = ?))
		ON CONFLICT (agent, instance) DO UPDATE SET seq = excluded.seq, ended = excluded.ended`, agent, h.instance, h.seq, millis(it.At),
		h.id); err != nil {
		return err
	}
	_, err := b.exec(ctx, "DELETE FROM instances WHERE agent = ? AND instance NOT IN (SELECT instance FROM instances WHERE agent = ? "+
		"ORDER BY ended DESC, instance LIMIT ?)", agent, agent, instancesKept)
	return err
}

// seen notes that the agent spoke, and what it says of itself.
func (b *batch) seen(ctx context.Context, h *hostRow, it *Item) error {
	m := it.Message
	const spoke = "UPDATE hosts SET instance = ?, seq = ?, last_seen = ?, last_sent = ?, skew_ms = ?, agent_version = ?, down = ?"
	sent := min(millis(m.Sent), b.db.now().UnixMilli()) // who claims to be of tomorrow would never be passed
	down := int64(0)
	if m.Why == message.Stopping {
		down = millis(it.At)
	}
	args := []any{m.Instance, m.Seq, millis(it.At), sent, it.Skew.Milliseconds(), m.Fettle, down}
	if s := m.Self; s != nil {
		machine := h.machine
		if machine == "" {
			machine = s.Machine
		}
		args = append(args, machine, s.Every.Milliseconds(), s.Waiting, s.Dropped, s.Refused, s.Compared, s.Compared, h.id)
		_, err := b.exec(ctx, spoke+`, machine = ?, every_ms = ?, waiting = ?, dropped = ?, refused = ?,
			compared = CASE WHEN ? = '' THEN compared ELSE ? END WHERE id = ?`, args...)
		return err
	}
	_, err := b.exec(ctx, spoke+" WHERE id = ?", append(args, h.id)...)
	return err
}

// apply brings a host to the state that a report or a change leads to.
func (b *batch) apply(ctx context.Context, h *hostRow, m *message.Message, at int64) (Verdict, error) {
	was, err := b.state(ctx, h.id)
	if err != nil {
		return 0, err
	}
	is, err := was.With(m.Kind, m.Run)
	if err != nil {
		return NeedWhole, nil // changes that add up to more than a report may hold
	}
	packed, err := is.Pack()
	if errors.Is(err, message.ErrTooLarge) {
		return NeedWhole, nil
	}
	if err == nil {
		err = b.store(ctx, h, m, was, is, packed, at)
	}
	if err == nil {
		err = b.charge(ctx, h)
	}
	return Taken, err
}

func (b *batch) store(ctx context.Context, h *hostRow, m *message.Message, was, is *message.State, packed []byte, at int64) error {
	if _, err := b.exec(ctx, "INSERT INTO states (host, state) VALUES (?, ?) ON "+
		"CONFLICT (host) DO UPDATE SET state = excluded.state", h.id, packed); err != nil {
		return err
	}
	sums, err := b.compare(ctx, h, was, is, m, at)
	if err != nil {
		return err
	}
	for _, r := range is.Results {
		sums.clear += r.Clear
		sums.notApplicable += r.NotApplicable
	}
	id := is.Meta.Identity
	_, err = b.exec(
		ctx,
		`UPDATE hosts SET restarted = CASE WHEN boot <> '' AND boot <> ? THEN ? ELSE restarted END, name = CASE WHEN pinned > 0 THEN name ELSE ? END, own_name = ?, os = ?, kernel = ?, arch = ?, kind = ?, boot = ?, fettle = ?, digest = ?, last_check = ?, failed = '', last_ask = ?,
		critical = ?, warning = ?, notice = ?, unknown = ?, accepted = ?, clear = ?, not_applicable = ? WHERE id = ?`,
		id.BootID,
		at,
		is.Meta.Host,
		is.Meta.Host,
		is.Meta.Machine.Distribution,
		id.Release,
		id.Machine,
		is.Meta.Machine.Kind,
		id.BootID,
		is.Meta.Version,
		m.Digest,
		at,
		m.Ask,
		sums.critical,
		sums.warning,
		sums.notice,
		sums.unknown,
		sums.accepted,
		sums.clear,
		sums.notApplicable,
		h.id,
	)
	return err
}

func (b *batch) state(ctx context.Context, host int64) (*message.State, error) {
	var packed []byte
	if err := b.scan(ctx, "SELECT state FROM states WHERE host = ?", []any{host}, &packed); err != nil && !errors.Is(err, ErrNone) {
		return nil, err
	}
	return message.UnpackState(packed)
}

func encoded(v any) ([]byte, error) { return json.Marshal(v) }
