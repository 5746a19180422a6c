package store

import (
	"context"
	"time"
)

// Capture is a capture of a host that an operator attached.
type Capture struct {
	ID     int64     `json:"id"`
	At     time.Time `json:"at"`
	Who    string    `json:"who"`
	Taken  time.Time `json:"taken,omitzero"` // by the host's clock
	Fettle string    `json:"fettle"`         // the version that took it
	Size   int64     `json:"size"`           // bytes
	SHA256 string    `json:"sha256"`
}

// CapturesKept is how many captures of a host are kept: the newest.
const CapturesKept = 10

const captureColumns = "id, at, who, taken, fettle, size, sha256"

func (c *Capture) scan(row scanner, more ...any) error {
	var at, taken int64
	err := row.Scan(append([]any{&c.ID, &at, &c.Who, &taken, &c.Fettle, &c.Size, &c.SHA256}, more...)...)
	c.At, c.Taken = moment(at), moment(taken)
	return err
}

// Attach keeps a capture of a host, and the audit's line on it. The oldest ones beyond
// CapturesKept go.
func (db *DB) Attach(ctx context.Context, agent string, c Capture, content []byte, log Audit) error {
	return db.within(ctx, func(t *tx) error {
		var host int64
		if err := t.scan(ctx, "SELECT id FROM hosts WHERE agent = ? AND retired = 0", []any{agent}, &host); err != nil {
			return err
		}
		if _, err := t.exec(ctx, "INSERT INTO captures (host, at, who, taken, fettle, size, sha256, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			host, millis(c.At), c.Who, millis(c.Taken), c.Fettle, c.Size, c.SHA256, content); err != nil {
			return err
		}
		if _, err := t.exec(ctx, "DELETE FROM captures WHERE host = ? AND id NOT IN (SELECT id FROM captures WHERE host = ? ORDER BY at "+
			"DESC, id DESC LIMIT ?)", host, host, CapturesKept); err != nil {
			return err
		}
		_, err := t.exec(ctx, auditInsert, auditRow(log)...)
		return err
	})
}

// Detach drops a capture; the audit's line names its host.
func (db *DB) Detach(ctx context.Context, id int64, log Audit) error {
	return db.within(ctx, func(t *tx) error {
		if err := t.scan(ctx, "SELECT h.agent FROM captures c JOIN hosts h ON h.id = c.host WHERE c.id = ?", []any{id}, &log.On); err != nil {
			return err
		}
		if _, err := t.exec(ctx, "DELETE FROM captures WHERE id = ?", id); err != nil {
			return err
		}
		_, err := t.exec(ctx, auditInsert, auditRow(log)...)
		return err
	})
}

// CaptureHost is the agent of a capture's host.
func (db *DB) CaptureHost(ctx context.Context, id int64) (agent string, err error) {
	return agent, none(db.row(ctx, "SELECT h.agent FROM captures c JOIN hosts h ON h.id = c.host WHERE c.id = ?", id).Scan(&agent))
}

// Captures lists a host's, the newest first.
func (db *DB) Captures(ctx context.Context, host int64) ([]Capture, error) {
	rows, err := db.query(ctx, "SELECT "+captureColumns+" FROM captures WHERE host = ? ORDER BY at DESC, id DESC", host)
	return read(rows, err, func(row scanner) (c Capture, err error) { return c, c.scan(row) })
}

// CaptureContent hands a capture out, with its host's id, and puts that into the audit's line.
func (db *DB) CaptureContent(ctx context.Context, id int64, log Audit) (c Capture, content []byte, agent string, err error) {
	err = db.within(ctx, func(t *tx) error {
		row := t.QueryRowContext(ctx, db.bind("SELECT c.id, c.at, c.who, c.taken, c.fettle, c.size, c.sha256, c.content, h.agent "+
			"FROM captures c JOIN hosts h ON h.id = c.host WHERE c.id = ?"), id)
		if err := none(c.scan(row, &content, &agent)); err != nil {
			return err
		}
		log.On = agent
		_, err := t.exec(ctx, auditInsert, auditRow(log)...)
		return err
	})
	return c, content, agent, err
}
