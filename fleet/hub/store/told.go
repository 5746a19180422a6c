package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Two conditions of hosts that are sent as findings are.
const (
	HostSilent = "host-silent"
	HostCloned = "host-cloned"
)

// PackStopped is sent as a finding of the hub itself, in the group of the pack's canaries, with the pack as its subject.
const PackStopped = "pack-stopped"

const packStopped = 2 // its severity

// Tidings is a finding of a host, or a condition of it, as it is sent to a channel.
type Tidings struct {
	HostID        int64
	Agent         string
	Host, Group   string
	Trap, Subject string
	Rank          int
	Summary       string
	Since         time.Time
	Restarted     bool // the first report after a restart has it

	labels string // of the host, as its row has them
}

// Labelled tells whether the host has all of these labels now.
func (t *Tidings) Labelled(want []Label) (bool, error) {
	if len(want) == 0 {
		return true, nil
	}
	has, err := labelsIn(t.labels)
	return allOn(want, has), err
}

// Told is what a channel was sent, and what has become of it.
type Told struct {
	Tidings
	Now    int  // the severity now; 0: it is not there
	Hidden bool // accepted, or its host was retired
	Blind  bool // the check could not look, so that it may still be there
}

// Untold are the findings of at least that severity, accepted ones aside, and the
// conditions of hosts, that a channel has not been sent. Hosts silent since
// before silent are; zero: none.
func (db *DB) Untold(ctx context.Context, channel string, least int, silent time.Time) ([]Tidings, error) {
	rows, err := db.query(ctx, `SELECT h.id, h.agent, h.name, h.grp, f.trap, f.subject, f.rank, f.summary, f.since,
			CASE WHEN h.restarted > 0 AND f.since = h.restarted THEN 1 ELSE 0 END, h.labels
		FROM findings f JOIN hosts h ON h.id = f.host
		LEFT JOIN told t ON t.channel = ? AND t.host = f.host AND t.trap = f.trap AND t.subject = f.subject
		WHERE h.retired = 0 AND f.accepted = 0 AND f.known = 1 AND f.rank > 0 AND f.rank >= ? AND (t.host IS NULL OR t.rank <> f.rank)
		ORDER BY f.rank DESC, f.trap, h.name, h.id, f.subject`, channel, least)
	out, err := read(rows, err, scanTidings)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		rank                          int
		trap, summary, since, matches string
		args                          []any
	}{
		{3, HostCloned, "two machines use its key: a clone, or a thief", "h.twin", "h.twin > 0", nil},
		{2, HostSilent, "its agent has stopped reporting", "h.last_seen", "h.last_seen > 0 AND h.last_seen < ?", []any{millis(silent)}},
	} {
		if c.rank < least || c.trap == HostSilent && silent.IsZero() {
			continue
		}
		rows, err := db.query(ctx, "SELECT h.id, h.agent, h.name, h.grp, '"+c.trap+"', '', "+string('0'+rune(c.rank))+", '"+c.summary+"', "+
			c.since+", 0, h.labels FROM hosts h LEFT JOIN told t ON t.channel = ? AND t.host = h.id AND t.trap = '"+c.trap+
			"' WHERE h.retired = 0 AND t.host IS NULL AND "+c.matches+" ORDER BY h.name, h.id", append([]any{channel}, c.args...)...)
		list, err := read(rows, err, scanTidings)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	if least > packStopped {
		return out, nil
	}
	list, err := db.untoldPacks(ctx, channel)
	return append(out, list...), err
}

// untoldPacks are the packs that were stopped and that a channel has not been sent.
func (db *DB) untoldPacks(ctx context.Context, channel string) ([]Tidings, error) {
	rows, err := db.query(ctx, "SELECT p.name, p.version, p.canary, p.why, p.began FROM packs p "+
		"LEFT JOIN told t ON t.channel = ? AND t.host = 0 AND t.trap = ? AND t.subject = p.name "+
		"WHERE p.stage = ? AND t.host IS NULL ORDER BY p.name", channel, PackStopped, Stopped)
	return read(rows, err, func(row scanner) (t Tidings, err error) {
		var name, why string
		var version int
		var began int64
		err = row.Scan(&name, &version, &t.Group, &why, &began)
		t.Trap, t.Subject, t.Rank, t.Since = PackStopped, name, packStopped, moment(began)
		t.Summary = fmt.Sprintf("hosts get version %d no more: %s", version, why)
		return t, err
	})
}

func scanTidings(row scanner) (t Tidings, err error) {
	var since, restarted int64
	err = row.Scan(&t.HostID, &t.Agent, &t.Host, &t.Group, &t.Trap, &t.Subject, &t.Rank, &t.Summary, &since, &restarted, &t.labels)
	t.Since, t.Restarted = moment(since), restarted != 0
	return t, err
}

// Told lists what a channel was sent and whose end was not sent yet.
func (db *DB) Told(ctx context.Context, channel string, silent time.Time) ([]Told, error) {
	rows, err := db.query(ctx, `SELECT t.host, COALESCE(h.agent, ''), t.name, t.grp, t.trap, t.subject, t.rank, t.summary, t.since,
			COALESCE(f.rank, 0),
			CASE WHEN t.trap = '`+PackStopped+`' THEN 0 WHEN h.id IS NULL OR h.retired > 0 OR f.accepted > 0 THEN 1 ELSE 0 END,
			COALESCE(h.twin, 0), COALESCE(h.last_seen, 0),
			CASE WHEN EXISTS (SELECT 1 FROM findings u WHERE u.host = t.host AND u.trap = t.trap AND u.rank = 0
				AND (u.subject = '' OR u.subject = t.subject)) THEN 1 ELSE 0 END, COALESCE(h.labels, ''), COALESCE(p.stage, '')
		FROM told t LEFT JOIN hosts h ON h.id = t.host LEFT JOIN packs p ON t.trap = '`+PackStopped+`' AND p.name = t.subject
		LEFT JOIN findings f ON f.host = t.host AND f.trap = t.trap AND f.subject = t.subject
		WHERE t.channel = ? ORDER BY t.rank DESC, t.trap, t.name, t.host, t.subject`, channel)
	return read(rows, err, func(row scanner) (t Told, err error) {
		var since, hidden, twin, seen, blind int64
		var stage string
		err = row.Scan(&t.HostID, &t.Agent, &t.Host, &t.Group, &t.Trap, &t.Subject, &t.Rank, &t.Summary, &since, &t.Now,
			&hidden, &twin, &seen, &blind, &t.labels, &stage)
		t.Since, t.Hidden, t.Blind = moment(since), hidden != 0, blind != 0
		switch {
		case t.Trap == PackStopped && stage == Stopped, t.Trap == HostCloned && twin > 0,
			t.Trap == HostSilent && (silent.IsZero() || seen < millis(silent)):
			t.Now = t.Rank
		}
		return t, err
	})
}

// ChannelState is a channel's pace, and its message that is not delivered yet.
type ChannelState struct {
	Waiting time.Time // since when there is something to tell
	Sent    time.Time // when it was last sent something
	Digest  time.Time // up to when its last digest reached
	Windows time.Time // up to when it was told of restarts in maintenance windows
	Message []byte    // nil: none
	Tries   int
	Retry   time.Time // not to be tried before
	Failed  string    // why the last try did not deliver it
}

// ChannelState reads it; nothing where the channel is new.
func (db *DB) ChannelState(ctx context.Context, channel string) (s ChannelState, err error) {
	var waiting, sent, digest, windows, retry int64
	err = none(db.row(ctx, "SELECT waiting, sent, digest, windows, message, tries, retry, failed FROM channels WHERE channel = ?", channel).
		Scan(&waiting, &sent, &digest, &windows, &s.Message, &s.Tries, &retry, &s.Failed))
	if errors.Is(err, ErrNone) {
		return ChannelState{}, nil
	}
	s.Waiting, s.Sent, s.Digest, s.Windows, s.Retry = moment(waiting), moment(sent), moment(digest), moment(windows), moment(retry)
	return s, err
}

// Tell keeps a channel's state, with its message, and what that message says is
// new or over, in one transaction: after a crash the message is still to be
// delivered, or was never made.
func (db *DB) Tell(ctx context.Context, channel string, s ChannelState, opened []Tidings, ended []Told) error {
	return db.within(ctx, func(t *tx) error {
		for i := range ended {
			e := &ended[i]
			if _, err := t.exec(ctx, "DELETE FROM told WHERE channel = ? AND host = ? AND trap = ? AND subject = ?", channel, e.HostID, e.Trap,
				e.Subject); err != nil {
				return err
			}
		}
		for i := range opened {
			o := &opened[i]
			if _, err := t.exec(ctx, `INSERT INTO told (channel, host, trap, subject, rank, name, grp, summary, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (channel, host, trap, subject) DO UPDATE SET rank = excluded.rank, name = excluded.name, grp = excluded.grp,
				summary = excluded.summary, since = excluded.since`, channel, o.HostID, o.Trap, o.Subject, o.Rank, o.Host, o.Group, o.Summary,
				millis(o.Since)); err != nil {
				return err
			}
		}
		_, err := t.exec(ctx, `INSERT INTO channels (channel, waiting, sent, digest, windows, message, tries, retry, failed)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (channel) DO UPDATE SET waiting = excluded.waiting, sent = excluded.sent, digest = excluded.digest,
			windows = excluded.windows, message = excluded.message, tries = excluded.tries, retry = excluded.retry, failed = excluded.failed`, channel, millis(s.Waiting),
			millis(s.Sent), millis(s.Digest), millis(s.Windows), s.Message, s.Tries, millis(s.Retry), s.Failed)
		return err
	})
}

// KeepChannels forgets the channels that are not among these.
func (db *DB) KeepChannels(ctx context.Context, names []string) error {
	keep := map[string]bool{}
	for _, n := range names {
		keep[n] = true
	}
	rows, err := db.query(ctx, "SELECT channel FROM channels")
	list, err := read(rows, err, func(row scanner) (s string, err error) { return s, row.Scan(&s) })
	if err != nil {
		return err
	}
	return db.within(ctx, func(t *tx) error {
		for _, n := range list {
			if keep[n] {
				continue
			}
			for _, q := range []string{"DELETE FROM told WHERE channel = ?", "DELETE FROM channels WHERE channel = ?"} {
				if _, err := t.exec(ctx, q, n); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
