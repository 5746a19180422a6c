package store

import (
	"context"
	"errors"
	"time"

	"fettle/fleet/hub/message"
)

// Two machines that use one key: a clone, or a thief. None of the two can prove that it
// is the host, so the hub believes neither: what one found the other does not resolve,
// until an operator gives the host another key.

const (
	instancesKept = 1000 // of an agent: a thief who keeps restarting does not make the hub forget the host's own
	speakersKept  = 5
	clockSlack    = int64(time.Minute / time.Millisecond)
)

// other reports whether a message proves that another machine than the last one speaks;
// last is the last message of its instance that was taken.
func (b *batch) other(ctx context.Context, h *hostRow, it *Item, last int64) (bool, error) {
	m := it.Message
	if s := m.Self; s != nil && s.Machine != "" && h.machine != "" && s.Machine != h.machine {
		return true, nil
	}
	if m.Instance == h.instance {
		// An agent that sends again sends what it made before: a number that was passed
		// long ago, made after the one that passed it, is another's.
		return m.Seq < last && millis(it.At) > h.seen+clockSlack && millis(m.Sent) > h.sent+clockSlack, nil
	}
	if last > 0 {
		return m.Seq > last, nil // it spoke before the last one did, and now again
	}
	var n int
	err := b.scan(ctx, "SELECT COUNT(*) FROM instances WHERE agent = ?", []any{m.Agent}, &n)
	return n >= instancesKept, err
}

// dispute notes that two machines use a host's key. What the machine of before said is
// put back beside what is known.
func (b *batch) dispute(ctx context.Context, h *hostRow, it *Item) error {
	h.twin = millis(it.At)
	if _, err := b.exec(ctx, "UPDATE hosts SET twin = ?, digest = '' WHERE id = ?", h.twin, h.id); err != nil {
		return err
	}
	if _, err := b.exec(ctx, `INSERT INTO speakers (host, instance, machine, boot, kernel, seen, critical, warning, notice, unknown)
		SELECT id, instance, machine, boot, kernel, last_seen, critical, warning, notice, unknown FROM hosts WHERE id = ?
		ON CONFLICT (host, instance) DO NOTHING`, h.id); err != nil {
		return err
	}
	var packed []byte
	err := b.scan(ctx, "SELECT state FROM instances WHERE agent = ? AND state IS NOT NULL ORDER BY ended DESC LIMIT 1",
		[]any{it.Message.Agent}, &packed)
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	before, err := message.UnpackState(packed)
	if err != nil {
		return err
	}
	_, err = b.addTo(ctx, h, before, it)
	return err
}

// disputed takes what one of two machines says: it adds to what is known, and resolves nothing.
func (b *batch) disputed(ctx context.Context, h *hostRow, it *Item) (Verdict, error) {
	m := it.Message
	if m.Run == nil || m.Run.Failed != "" {
		return Taken, nil
	}
	if m.Kind != message.Whole {
		return NeedWhole, nil
	}
	if b.spent(h) {
		return Taken, b.hold(ctx, h)
	}
	said, err := (&message.State{}).With(message.Whole, m.Run)
	if err != nil {
		return Refused, nil
	}
	if err := b.speaks(ctx, h, it, said); err != nil {
		return 0, err
	}
	return b.addTo(ctx, h, said, it)
}

func (b *batch) addTo(ctx context.Context, h *hostRow, said *message.State, it *Item) (Verdict, error) {
	was, err := b.state(ctx, h.id)
	if err != nil {
		return 0, err
	}
	is := was.And(said)
	packed, err := is.Pack()
	if errors.Is(err, message.ErrTooLarge) {
		return Taken, nil // what is known already is as much as is kept of a host
	}
	if err != nil {
		return 0, err
	}
	m := *it.Message
	m.Kind, m.Digest = message.Whole, ""
	if err := b.store(ctx, h, &m, was, is, packed, max(millis(it.At), h.lastCheck)); err != nil {
		return 0, err
	}
	return Taken, b.charge(ctx, h)
}

// speaks notes who it was, for the host's page.
func (b *batch) speaks(ctx context.Context, h *hostRow, it *Item, said *message.State) error {
	m, machine, n := it.Message, "", sums{}
	if m.Self != nil {
		machine = m.Self.Machine
	}
	for _, r := range said.Results {
		for i := range r.Outcomes {
			*n.of(finding{rank: rankOf(&r.Outcomes[i])})++
		}
	}
	id := said.Meta.Identity
	if _, err := b.exec(ctx, `INSERT INTO speakers (host, instance, machine, boot, kernel, seen, critical, warning, notice, unknown)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (host, instance) DO UPDATE SET machine = excluded.machine, boot = excluded.boot,
		kernel = excluded.kernel, seen = excluded.seen, critical = excluded.critical, warning = excluded.warning, notice = excluded.notice,
		unknown = excluded.unknown`, h.id, m.Instance, machine, id.BootID, id.Release, millis(it.At), n.critical, n.warning, n.notice,
		n.unknown); err != nil {
		return err
	}
	_, err := b.exec(ctx, "DELETE FROM speakers WHERE host = ? AND instance NOT IN (SELECT instance FROM speakers WHERE host = ? "+
		"ORDER BY seen DESC, instance LIMIT ?)", h.id, h.id, speakersKept)
	return err
}

// Speaker is one of the machines that use one key.
type Speaker struct {
	Instance string    `json:"instance"`
	Machine  string    `json:"machine"` // a hash
	BootID   string    `json:"boot_id"`
	Kernel   string    `json:"kernel"`
	Seen     time.Time `json:"seen"`
	Critical int       `json:"critical"` // what it says itself
	Warning  int       `json:"warning"`
	Notice   int       `json:"notice"`
	Unknown  int       `json:"unknown"`
}

// Speakers lists the machines that use a host's key, where it is more than one.
func (db *DB) Speakers(ctx context.Context, host int64) ([]Speaker, error) {
	rows, err := db.query(ctx, "SELECT instance, machine, boot, kernel, seen, critical, warning, notice, unknown FROM speakers "+
		"WHERE host = ? ORDER BY seen DESC, instance", host)
	return read(rows, err, func(row scanner) (s Speaker, err error) {
		var seen int64
		err = row.Scan(&s.Instance, &s.Machine, &s.BootID, &s.Kernel, &seen, &s.Critical, &s.Warning, &s.Notice, &s.Unknown)
		s.Seen = moment(seen)
		return s, err
	})
}

// Rekey revokes a host's key at once; with a token for its place it comes in again.
func (db *DB) Rekey(ctx context.Context, host int64) error {
	return db.within(ctx, func(t *tx) error {
		var agent string
		if err := t.scan(ctx, "UPDATE hosts SET nkey = '' WHERE id = ? AND retired = 0 RETURNING agent", []any{host}, &agent); err != nil {
			return err
		}
		_, err := t.exec(ctx, "UPDATE agents SET revoked = ? WHERE agent = ? AND revoked = 0", db.now().UnixMilli(), agent)
		return err
	})
}
