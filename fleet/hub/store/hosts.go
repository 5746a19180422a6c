package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"fettle/fleet/hub/message"
	"fettle/report"
)

// Host is what is known of a host, without its findings.
type Host struct {
	ID           int64             `json:"id"`
	Agent        string            `json:"agent"`
	Name         string            `json:"name"`
	OwnName      string            `json:"own_name"`         // what it calls itself
	Pinned       bool              `json:"pinned,omitempty"` // an operator gave it its name
	Group        string            `json:"group"`
	Labels       map[string]string `json:"labels,omitempty"`
	OS           string            `json:"os,omitempty"`
	Kernel       string            `json:"kernel,omitempty"`
	Arch         string            `json:"arch,omitempty"`
	Kind         string            `json:"kind,omitempty"`
	BootID       string            `json:"boot_id,omitempty"`
	Fettle       string            `json:"fettle,omitempty"`
	AgentVersion string            `json:"agent_version,omitempty"`
	Joined       time.Time         `json:"joined"`
	Seen         time.Time         `json:"seen,omitzero"`    // the agent spoke
	Checked      time.Time         `json:"checked,omitzero"` // fettle check ended
	Every        time.Duration     `json:"every_ns,omitempty"`
	Skew         time.Duration     `json:"skew_ns,omitempty"`
	Waiting      int               `json:"waiting,omitempty"`
	Dropped      int64             `json:"dropped,omitempty"`
	Refused      int64             `json:"refused,omitempty"`
	Bad          int64             `json:"bad,omitempty"` // messages that no agent would send
	BadLast      string            `json:"bad_last,omitempty"`
	Failed       string            `json:"failed,omitempty"`   // why the last check gave no report
	Folded       int               `json:"folded,omitempty"`   // changes that have no row of their own: too many came
	Held         time.Time         `json:"held,omitzero"`      // a report was not stored: too much came that day
	Twin         time.Time         `json:"twin,omitzero"`      // two hosts used these credentials
	Retired      time.Time         `json:"retired,omitzero"`   // taken out
	LastAsk      string            `json:"last_ask,omitempty"` // the question it answered last
	Counts       Counts            `json:"counts"`
}

// Counts are a host's outcomes.
type Counts struct {
	Critical      int `json:"critical"`
	Warning       int `json:"warning"`
	Notice        int `json:"notice"`
	Unknown       int `json:"unknown"`
	Accepted      int `json:"accepted"`
	Clear         int `json:"clear"`
	NotApplicable int `json:"not_applicable"`
}

const hostColumns = `id, agent, name, own_name, pinned, grp, labels, os, kernel, arch, kind, boot, fettle, agent_version, joined, last_seen, last_check, every_ms, skew_ms,
	waiting, dropped, refused, bad, bad_last, failed, folded, held, twin, retired, last_ask, critical, warning, notice, unknown, accepted, clear, not_applicable`

// scanner is a row.
type scanner interface{ Scan(...any) error }

func scanHost(r scanner) (*Host, error) {
	h := &Host{}
	var labels string
	var joined, seen, checked, every, skew, held, twin, retired, pinned int64
	c := &h.Counts
	if err := r.Scan(&h.ID, &h.Agent, &h.Name, &h.OwnName, &pinned, &h.Group, &labels, &h.OS, &h.Kernel, &h.Arch, &h.Kind, &h.BootID,
		&h.Fettle,
		&h.AgentVersion, &joined, &seen, &checked, &every, &skew,
		&h.Waiting, &h.Dropped, &h.Refused, &h.Bad, &h.BadLast, &h.Failed, &h.Folded, &held, &twin, &retired, &h.LastAsk,
		&c.Critical, &c.Warning, &c.Notice,
		&c.Unknown, &c.Accepted, &c.Clear, &c.NotApplicable); err != nil {
		return nil, none(err)
	}
	h.Joined, h.Seen, h.Checked, h.Twin, h.Retired = moment(joined), moment(seen), moment(checked), moment(twin), moment(retired)
	h.Held, h.Pinned = moment(held), pinned != 0
	h.Every, h.Skew = time.Duration(every)*time.Millisecond, time.Duration(skew)*time.Millisecond
	return h, json.Unmarshal([]byte(labels), &h.Labels)
}

// Host is one host by its number.
func (db *DB) Host(ctx context.Context, id int64) (*Host, error) {
	return scanHost(db.row(ctx, "SELECT "+hostColumns+" FROM hosts WHERE id = ?", id))
}

// HostByAgent is one host by its agent's name.
func (db *DB) HostByAgent(ctx context.Context, agent string) (*Host, error) {
	return scanHost(db.row(ctx, "SELECT "+hostColumns+" FROM hosts WHERE agent = ?", agent))
}

// HostsNamed are the hosts, not retired, that call themselves so.
func (db *DB) HostsNamed(ctx context.Context, name string) ([]*Host, error) {
	return db.hosts(ctx, "SELECT "+hostColumns+" FROM hosts WHERE name = ? AND retired = 0 ORDER BY id LIMIT 100", name)
}

func (db *DB) hosts(ctx context.Context, q string, args ...any) ([]*Host, error) {
	rows, err := db.query(ctx, q, args...)
	if err != nil {
		return nil, err
	}
	return all(rows, scanHost)
}

// all reads rows to their end.
func all[T any](rows *sql.Rows, scan func(scanner) (T, error)) ([]T, error) {
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// Document is a host's current state as a report: traps that tell nothing have
// no outcomes.
func (db *DB) Document(ctx context.Context, host int64) (*report.Document, error) {
	var packed []byte
	if err := db.row(ctx, "SELECT state FROM states WHERE host = ?", host).Scan(&packed); err != nil {
		return nil, none(err)
	}
	s, err := message.UnpackState(packed)
	if err != nil {
		return nil, err
	}
	return s.Document(nil), nil
}

// Event is a change on a host.
type Event struct {
	ID       int64     `json:"id"`
	At       time.Time `json:"at"`
	Host     int64     `json:"host"`
	Trap     string    `json:"trap"`
	Subject  string    `json:"subject,omitempty"`
	Kind     string    `json:"kind"`
	Severity int       `json:"rank"` // 0: unknown
	Summary  string    `json:"summary"`
}

func scanEvent(r scanner) (Event, error) {
	var e Event
	var at int64
	err := r.Scan(&e.ID, &at, &e.Host, &e.Trap, &e.Subject, &e.Kind, &e.Severity, &e.Summary)
	e.At = moment(at)
	return e, err
}

// HostEvents are a host's changes, the newest first, before an id if it is
// above zero.
func (db *DB) HostEvents(ctx context.Context, host, before int64, limit int) ([]Event, error) {
	if before <= 0 {
		before = 1 << 62
	}
	rows, err := db.query(
		ctx,
		"SELECT id, at, host, trap, subject, kind, rank, summary FROM changes WHERE host = ? AND id < ? ORDER BY id DESC LIMIT ?",
		host,
		before,
		limit,
	)
	if err != nil {
		return nil, err
	}
	return all(rows, scanEvent)
}

// Pulse is a number that is another one whenever agents' messages of these hosts' groups
// were taken.
func (db *DB) Pulse(ctx context.Context, scope Scope) (n int64, err error) {
	if scope.All {
		return n, db.row(ctx, "SELECT n FROM pulse WHERE one = 1").Scan(&n)
	}
	w := &where{}
	scope.groups(w, "grp")
	return n, db.row(ctx, "SELECT COALESCE(SUM(pulse), 0) FROM totals"+w.String(), w.args...).Scan(&n)
}

// Bad counts messages that no agent of fettle's would send.
func (db *DB) Bad(ctx context.Context, agent string, n int, why string) error {
	_, err := db.exec(ctx, "UPDATE hosts SET bad = bad + ?, bad_last = ? WHERE agent = ?", n, why, agent)
	return err
}

// HostsFrom are the hosts, not retired, whose names begin so, by name, from one on.
func (db *DB) HostsFrom(ctx context.Context, scope Scope, name, from string, limit int) ([]*Host, error) {
	w := &where{}
	w.and("name >= ?", max(name, from))
	w.and("name < ?", name+"\U0010ffff")
	w.and("retired = 0")
	scope.hosts(w, "hosts.")
	return db.hosts(ctx, "SELECT "+hostColumns+" FROM hosts"+w.String()+" ORDER BY name, id LIMIT ?", append(w.args, limit)...)
}
