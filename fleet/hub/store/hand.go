package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle/fleet/hub/message"
	"fettle/internal/units"
)

// Stages of a pack that is handed on.
const (
	Canary  = "canary"  // the hosts of one group have it, or get it
	All     = "all"     // all hosts get it, twice as many at each step
	Stopped = "stopped" // nobody gets it any more
)

// Pack is a version of a signed pack that the hub hands on.
type Pack struct {
	Name    string
	Version int
	Signer  string
	Canary  string // the group that gets it first
	Stage   string
	Why     string // it was stopped
	Who     string // handed it to the hub
	Began   time.Time
	Wait    time.Duration // from Began until the rest gets it, at least
	StopAt  int           // per cent of the hosts that have it; at more than that it is stopped
	Traps   []string
	File    []byte // as it travels

	Sent, Taken, Refused int // hosts
	Found, Unknown       int // hosts that find more since, or cannot look
}

// Offer hands a pack on, first to its canaries. An older version than is handed on is
// refused: no host would install it.
func (db *DB) Offer(ctx context.Context, p Pack) error {
	return db.within(ctx, func(t *tx) error {
		var had int
		if err := t.scan(ctx, "SELECT version FROM packs WHERE name = ?", []any{p.Name}, &had); err != nil && !errors.Is(err, ErrNone) {
			return err
		}
		if p.Version <= had {
			return fmt.Errorf("version %d of %s was offered already: raise its version", had, p.Name)
		}
		for _, q := range []string{"DELETE FROM packs WHERE name = ?", "DELETE FROM pack_traps WHERE pack = ?",
			"DELETE FROM pack_hosts WHERE pack = ?"} {
			if _, err := t.exec(ctx, q, p.Name); err != nil {
				return err
			}
		}
		for _, id := range p.Traps {
			if _, err := t.exec(ctx, "INSERT INTO pack_traps (pack, trap) VALUES (?, ?)", p.Name, id); err != nil {
				return err
			}
		}
		_, err := t.exec(ctx, "INSERT INTO packs (name, version, signer, canary, stage, who, began, wait, stop_at, file) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", p.Name, p.Version, p.Signer, p.Canary, Canary, p.Who, millis(db.now()),
			p.Wait.Milliseconds(), p.StopAt, p.File)
		return err
	})
}

// handWait is after which time a pack that was handed on and not heard of is handed on again,
// and lostAfter after which nobody waits for that host.
const (
	handWait  = 5 * time.Minute
	lostAfter = 2 * time.Hour
)

// Judge stops packs of which too many hosts report more than before, and lets the others
// reach more hosts. It says what it did.
func (db *DB) Judge(ctx context.Context) (said []string, err error) {
	list, err := db.Packs(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if p.Stage == Stopped {
			continue
		}
		have := p.Taken + p.Refused
		switch bad := max(p.Found, p.Unknown+p.Refused); {
		case bad*100 > p.StopAt*have:
			why := fmt.Sprintf("of %s, %d with more findings, %d could not check, %d refused it",
				units.Count(have, "host", "hosts"), p.Found, p.Unknown, p.Refused)
			said = append(said, fmt.Sprintf("pack %s %d is stopped: %s", p.Name, p.Version, why))
			err = db.stage(ctx, &p, Stopped, why, 0)
		case p.Stage == Canary && have > 0 && 2*have >= p.Sent && !db.now().Before(p.Began.Add(p.Wait)):
			said = append(said, fmt.Sprintf("pack %s %d: %s went well, and the others get it",
				p.Name, p.Version, units.Count(p.Taken, "canary", "canaries")))
			err = db.stage(ctx, &p, All, "", max(1, p.Taken))
		case p.Stage == All:
			var pending int
			err = db.row(ctx, "SELECT COUNT(*) FROM pack_hosts WHERE pack = ? AND taken = 0 AND refused = '' AND sent > ?",
				p.Name, millis(db.now().Add(-lostAfter))).Scan(&pending)
			if err == nil {
				err = db.stage(ctx, &p, All, "", max(0, max(1, p.Taken)-pending))
			}
		}
		if err != nil {
			return said, err
		}
	}
	return said, nil
}

// stage moves a pack on, unless somebody did meanwhile. So many more hosts get it until the next step.
func (db *DB) stage(ctx context.Context, p *Pack, to, why string, may int) error {
	_, err := db.exec(ctx, "UPDATE packs SET stage = ?, why = ?, may = ? WHERE name = ? AND version = ? AND stage = ?",
		to, why, may, p.Name, p.Version, p.Stage)
	return err
}

// StopPack stops a pack: hosts that have it keep it.
func (db *DB) StopPack(ctx context.Context, name, why string) error {
	return db.setStage(ctx, "UPDATE packs SET stage = ?, why = ? WHERE name = ?", name, Stopped, why, name)
}

// ResumePack lets all hosts get a pack, as long as at most stopAt per cent report more.
func (db *DB) ResumePack(ctx context.Context, name string, stopAt int) error {
	return db.setStage(ctx, "UPDATE packs SET stage = ?, why = '', may = 1, stop_at = ? WHERE name = ?", name, All, stopAt, name)
}

func (db *DB) setStage(ctx context.Context, q, name string, args ...any) error {
	n, err := db.exec(ctx, q, args...)
	if err == nil && n == 0 {
		err = fmt.Errorf("no pack %s is handed on", name)
	}
	return err
}

// handing is a pack as ingestion needs it.
type handing struct {
	name, canary, stage string
	version, may        int
	file                []byte
}

// hand notes what a host has of the packs that are handed on, and returns those that it
// gets now.
func (b *batch) hand(ctx context.Context, h *hostRow, has []message.HasPack) (out [][]byte, err error) {
	if !b.laden {
		rows, err := b.query(ctx, "SELECT name, version, canary, stage, may FROM packs ORDER BY name")
		if b.packs, err = read(rows, err, func(row scanner) (*handing, error) {
			p := &handing{}
			return p, row.Scan(&p.name, &p.version, &p.canary, &p.stage, &p.may)
		}); err != nil {
			return nil, err
		}
		b.laden = true
	}
	for _, p := range b.packs {
		due, err := b.handed(ctx, h, p, has)
		if err != nil {
			return nil, err
		}
		if due {
			out = append(out, p.file)
		}
	}
	return out, nil
}

// handed notes what a host has of one pack, and tells whether it gets it now.
func (b *batch) handed(ctx context.Context, h *hostRow, p *handing, has []message.HasPack) (due bool, err error) {
	var sent, taken int64
	var refused string
	err = b.scan(ctx, "SELECT sent, taken, refused FROM pack_hosts WHERE pack = ? AND host = ?", []any{p.name, h.id}, &sent, &taken, &refused)
	if err != nil && !errors.Is(err, ErrNone) {
		return false, err
	}
	now := millis(b.db.now())
	i := slices.IndexFunc(has, func(x message.HasPack) bool { return x.Name == p.name && x.Version >= p.version })
	if i >= 0 {
		why := has[i].Refused
		if sent != 0 && refused == why && (why != "") == (taken == 0) {
			return false, nil // as it is known
		}
		if taken = now; why != "" {
			taken = 0
		}
		_, err = b.exec(ctx, "INSERT INTO pack_hosts (pack, host, sent, taken, refused) VALUES (?, ?, ?, ?, ?) "+
			"ON CONFLICT (pack, host) DO UPDATE SET taken = excluded.taken, refused = excluded.refused", p.name, h.id, now, taken, why)
		return false, err
	}
	canary := p.stage == Canary && h.group == p.canary
	if !canary && (p.stage != All || p.may < 1) || now-sent < handWait.Milliseconds() {
		return false, nil
	}
	if !canary {
		p.may--
		if _, err := b.exec(ctx, "UPDATE packs SET may = may - 1 WHERE name = ?", p.name); err != nil {
			return false, err
		}
	}
	if p.file == nil {
		if err := b.scan(ctx, "SELECT file FROM packs WHERE name = ?", []any{p.name}, &p.file); err != nil {
			return false, err
		}
	}
	_, err = b.exec(ctx, "INSERT INTO pack_hosts (pack, host, sent) VALUES (?, ?, ?) "+
		"ON CONFLICT (pack, host) DO UPDATE SET sent = excluded.sent, taken = 0, refused = ''", p.name, h.id, now)
	return true, err
}
