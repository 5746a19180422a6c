package store

import (
	"context"
	"fmt"
	"time"

	"fettle/engine/trap"
	"fettle/internal/units"
)

// Of a host p of a pack: it reports more since it was sent, or it cannot look. What is accepted does not count.
const (
	ofPack = "EXISTS (SELECT 1 FROM findings f WHERE f.host = p.host AND f.accepted = 0 AND f.since >= p.sent AND f.rank %s " +
		"AND (f.trap = ? OR f.trap IN (SELECT trap FROM pack_traps t WHERE t.pack = p.pack)))"
)

var (
	findsMore  = fmt.Sprintf(ofPack, "> 0")
	cannotLook = "(h.failed <> '' OR " + fmt.Sprintf(ofPack, "= 0") + ")"
)

// Packs lists what is handed on, and how far it got.
func (db *DB) Packs(ctx context.Context) ([]Pack, error) {
	rows, err := db.query(ctx, "SELECT name, version, signer, canary, stage, why, who, began, wait, stop_at FROM packs ORDER BY name")
	list, err := read(rows, err, func(row scanner) (p Pack, err error) {
		var began, wait int64
		err = row.Scan(&p.Name, &p.Version, &p.Signer, &p.Canary, &p.Stage, &p.Why, &p.Who, &began, &wait, &p.StopAt)
		p.Began, p.Wait = moment(began), time.Duration(wait)*time.Millisecond
		return p, err
	})
	for i := range list {
		if err == nil {
			err = db.tell(ctx, &list[i])
		}
	}
	return list, err
}

// tell counts the hosts of a pack. What was there before it was handed on does not count,
// nor what is accepted.
func (db *DB) tell(ctx context.Context, p *Pack) error {
	err := db.row(ctx, "SELECT COUNT(*), COUNT(CASE WHEN taken > 0 THEN 1 END), COUNT(CASE WHEN refused <> '' THEN 1 END) "+
		"FROM pack_hosts WHERE pack = ?", p.Name).Scan(&p.Sent, &p.Taken, &p.Refused)
	for _, c := range []struct {
		into *int
		more string
	}{{&p.Found, findsMore}, {&p.Unknown, cannotLook}} {
		if err == nil {
			err = db.row(ctx, "SELECT COUNT(*) FROM pack_hosts p JOIN hosts h ON h.id = p.host WHERE p.pack = ? AND p.taken > 0 AND "+c.more,
				p.Name, trap.NotLoaded).Scan(c.into)
		}
	}
	return err
}

// Others is when the others get it, at the earliest.
func (p *Pack) Others() time.Time { return p.Began.Add(p.Wait) }

// Stalled tells whether it goes on only when somebody does something: it was stopped, or the time for its canaries is
// over and too few of them have it.
func (p *Pack) Stalled(now time.Time) bool {
	return p.Stage == Stopped || p.Stage == Canary && !now.Before(p.Others()) && (p.Taken+p.Refused == 0 || 2*(p.Taken+p.Refused) < p.Sent)
}

// ResumeAt is the share of its hosts, in per cent, that lets it go on: at most as many report more now.
func (p *Pack) ResumeAt() int {
	have := max(1, p.Taken+p.Refused)
	return max(p.StopAt, min(100, (max(p.Found, p.Unknown+p.Refused)*100+have-1)/have))
}

// Standing says in words how far it is: why it was stopped, what it waits for.
func (p *Pack) Standing(now time.Time) string {
	switch {
	case p.Stage == Stopped:
		return p.Why
	case p.Stage == All:
		return "all hosts get it, step by step"
	case p.Sent == 0:
		return fmt.Sprintf("no host of the group %s that takes packs has reported since", p.Canary)
	case p.Stalled(now):
		return fmt.Sprintf("too few of its canaries have it: %d of %d", p.Taken, p.Sent)
	case now.Before(p.Others()):
		return fmt.Sprintf("only canaries get it, for %s more", units.Duration(max(time.Minute, p.Others().Sub(now).Round(time.Minute))))
	}
	return "the others get it next"
}

// PackHost is a host that a pack was handed to, and what became of it there.
type PackHost struct {
	Host    HostRef   `json:"host"`
	Sent    time.Time `json:"sent"`
	Taken   time.Time `json:"taken,omitzero"`
	Refused string    `json:"refused"` // why
	Found   bool      `json:"found"`   // it reports more since
	Unknown bool      `json:"unknown"` // it cannot look
}

// PackHosts lists the hosts of a pack: those that refused it first, then those that report more.
func (db *DB) PackHosts(ctx context.Context, pack string, offset, limit int) (list []PackHost, count int, err error) {
	if err := db.row(ctx, "SELECT COUNT(*) FROM pack_hosts p JOIN hosts h ON h.id = p.host WHERE p.pack = ?", pack).Scan(&count); err != nil {
		return nil, 0, err
	}
	is := func(cond string) string { return "CASE WHEN p.taken > 0 AND " + cond + " THEN 1 ELSE 0 END" }
	rows, err := db.query(ctx, "SELECT h.agent, h.name, h.grp, p.sent, p.taken, p.refused, "+is(findsMore)+" AS more, "+is(cannotLook)+
		" AS blind FROM pack_hosts p JOIN hosts h ON h.id = p.host WHERE p.pack = ? "+
		"ORDER BY CASE WHEN p.refused <> '' THEN 0 ELSE 1 END, more DESC, blind DESC, h.name, h.id LIMIT ? OFFSET ?",
		trap.NotLoaded, trap.NotLoaded, pack, limit, offset)
	list, err = read(rows, err, func(row scanner) (h PackHost, err error) {
		var sent, taken int64
		var more, blind int
		err = row.Scan(&h.Host.Agent, &h.Host.Name, &h.Host.Group, &sent, &taken, &h.Refused, &more, &blind)
		h.Sent, h.Taken, h.Found, h.Unknown = moment(sent), moment(taken), more != 0, blind != 0
		return h, err
	})
	return list, count, err
}
