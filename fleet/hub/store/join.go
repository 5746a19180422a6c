package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Token admits hosts: to a group, once or some times, until it expires. The
// secret itself is nowhere in the database.
type Token struct {
	Hash    string // SHA-256 of the secret, in hexadecimal
	Created time.Time
	Expires time.Time
	Uses    int
	Group   string
	Labels  map[string]string
	Agent   string // the host whose place is taken, after it was reinstalled; empty: a new one
	Note    string
}

// AddToken keeps a token.
func (db *DB) AddToken(ctx context.Context, t Token) error {
	labels, err := labelText(t.Labels)
	if err != nil {
		return err
	}
	_, err = db.exec(ctx, "INSERT INTO tokens (hash, created, expires, uses, grp, labels, host, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		t.Hash, millis(t.Created), millis(t.Expires), t.Uses, t.Group, labels, t.Agent, t.Note)
	return err
}

func labelText(m map[string]string) (string, error) {
	if m == nil {
		return "{}", nil
	}
	b, err := json.Marshal(m)
	return string(b), err
}

// Joining is an agent that joins.
type Joining struct {
	Agent   string // its name, drawn by the hub, if it is none that is known
	Host    string // what the host calls itself
	Key     string // the public NKey with which it will log in
	How     string // "token", "ssh"
	HostKey string // the fingerprint of its ssh host key, if it joins by that
	Group   string // by an ssh host key
}

// ErrToken: a token does not admit.
var ErrToken = errors.New("the token is not valid: it was used up, it expired, or there never was such")

// JoinByToken admits an agent whose token has this hash, and returns its name.
func (db *DB) JoinByToken(ctx context.Context, hash string, j Joining) (string, error) {
	agent, now := j.Agent, db.now().UnixMilli()
	// Whoever has no token of this hub does not get as far as the lock of those who write.
	var uses int
	if err := none(db.row(ctx, "SELECT uses FROM tokens WHERE hash = ? AND uses > 0 AND expires > ?", hash, now).Scan(&uses)); err != nil {
		if errors.Is(err, ErrNone) {
			err = ErrToken
		}
		return "", err
	}
	err := db.within(ctx, func(t *tx) error {
		var taken, labels string
		if err := t.scan(ctx, "UPDATE tokens SET uses = uses - 1 WHERE hash = ? AND "+
			"uses > 0 AND expires > ? RETURNING grp, labels, host", []any{hash, now}, &j.Group, &labels, &taken); errors.Is(
			err,
			ErrNone,
		) {
			return ErrToken
		} else if err != nil {
			return err
		}
		if taken != "" {
			agent = taken
			return t.replaceKey(ctx, taken, j, now)
		}
		return t.addHost(ctx, j, labels, now)
	})
	return agent, err
}

// AdmittedAs is the agent that a key was admitted as since a time.
func (db *DB) AdmittedAs(ctx context.Context, key string, since time.Time) (agent string, err error) {
	return agent, none(
		db.row(ctx, "SELECT agent FROM agents WHERE nkey = ? AND joined >= ? AND revoked = 0", key, millis(since)).
			Scan(&agent),
	)
}

// JoinByHostKey admits an agent that has proven to hold an ssh host key, and
// returns its name: that of before, where the key joined before.
func (db *DB) JoinByHostKey(ctx context.Context, j Joining) (string, error) {
	agent := j.Agent
	err := db.within(ctx, func(t *tx) error {
		now := db.now().UnixMilli()
		var had string
		err := t.scan(ctx, "SELECT agent FROM hostkeys WHERE fingerprint = ?", []any{j.HostKey}, &had)
		switch {
		case err == nil:
			agent = had
			return t.replaceKey(ctx, had, j, now)
		case !errors.Is(err, ErrNone):
			return err
		}
		if _, err := t.exec(ctx, "INSERT INTO hostkeys (fingerprint, agent) VALUES (?, ?)", j.HostKey, j.Agent); err != nil {
			return err
		}
		return t.addHost(ctx, j, "{}", now)
	})
	return agent, err
}

// addHost is ErrNone where the agent has a host already.
func (t *tx) addHost(ctx context.Context, j Joining, labels string, now int64) error {
	var host int64
	if err := t.scan(ctx, "INSERT INTO hosts (agent, nkey, name, own_name, grp, labels, joined, last_seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "+
		"ON CONFLICT (agent) DO NOTHING RETURNING id", []any{j.Agent, j.Key, j.Host, j.Host, j.Group, labels, now, now}, &host); err != nil {
		return err
	}
	had := map[string]string{}
	if err := json.Unmarshal([]byte(labels), &had); err != nil {
		return err
	}
	if err := t.putLabels(ctx, host, had); err != nil {
		return err
	}
	if err := addTotals(ctx, t, j.Group, sums{hosts: 1}); err != nil {
		return err
	}
	return t.addKey(ctx, j.Agent, j, now)
}

func (t *tx) addKey(ctx context.Context, agent string, j Joining, now int64) error {
	if _, err := t.exec(ctx, "INSERT INTO agents (nkey, agent, how, joined) VALUES (?, ?, ?, ?)", j.Key, agent, j.How, now); err != nil {
		return err
	}
	_, err := t.exec(ctx, auditInsert, auditRow(Audit{At: moment(now), Who: j.Host, From: "fettle-agent join", What: "join", On: agent,
		Details: "by " + j.How})...)
	return err
}

// replaceKey gives a host's place to one that was reinstalled: what the old
// installation logged in with is revoked.
func (t *tx) replaceKey(ctx context.Context, agent string, j Joining, now int64) error {
	var group string
	var retired int64
	if err := t.scan(ctx, "SELECT grp, retired FROM hosts WHERE agent = ?", []any{agent}, &group, &retired); err != nil {
		return fmt.Errorf("host %s: %w", agent, err)
	}
	if retired != 0 {
		if err := addTotals(ctx, t, group, sums{hosts: 1}); err != nil {
			return err
		}
	}
	if _, err := t.exec(ctx, "UPDATE hosts SET name = CASE WHEN pinned > 0 THEN name ELSE ? END, own_name = ?, nkey = ?, retired = 0, "+
		"twin = 0, machine = '', digest = '' WHERE agent = ?", j.Host, j.Host, j.Key, agent); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "DELETE FROM speakers WHERE host = (SELECT id FROM hosts WHERE agent = ?)", agent); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "DELETE FROM instances WHERE agent = ?", agent); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "UPDATE agents SET revoked = ? WHERE agent = ? AND revoked = 0", now, agent); err != nil {
		return err
	}
	return t.addKey(ctx, agent, j, now)
}

// Revoked lists the keys that were revoked.
func (db *DB) Revoked(ctx context.Context) ([]string, error) {
	rows, err := db.query(ctx, "SELECT nkey FROM agents WHERE revoked > 0")
	if err != nil {
		return nil, err
	}
	return all(rows, func(r scanner) (k string, err error) { return k, r.Scan(&k) })
}

// Forget removes a host with all that is known of it. Its keys stay revoked.
func (db *DB) Forget(ctx context.Context, host int64) error {
	if err := db.Retire(ctx, host); err != nil && !errors.Is(err, ErrNone) {
		return err
	}
	for n := int64(1); n > 0; { // a few at a time: others write meanwhile
		var err error
		const some = "DELETE FROM changes WHERE id IN (SELECT id FROM changes WHERE host = ? LIMIT ?)"
		if n, err = db.exec(ctx, some, host, foldAtOnce); err != nil {
			return err
		}
	}
	return db.within(ctx, func(t *tx) error {
		var agent string
		if err := t.scan(ctx, "SELECT agent FROM hosts WHERE id = ?", []any{host}, &agent); err != nil {
			return err
		}
		for _, table := range []string{"past", "acceptances", "changes", "labels", "fixes"} {
			if _, err := t.exec(ctx, "DELETE FROM "+table+" WHERE host = ?", host); err != nil {
				return err
			}
		}
		// What channels were sent of it is still to end, under a number that no other host gets.
		if _, err := t.exec(ctx, "DELETE FROM told WHERE host = ?", -host); err != nil {
			return err
		}
		if _, err := t.exec(ctx, "UPDATE told SET host = -host WHERE host = ?", host); err != nil {
			return err
		}
		for _, table := range []string{"instances", "hostkeys", "hosts"} {
			if _, err := t.exec(ctx, "DELETE FROM "+table+" WHERE agent = ?", agent); err != nil {
				return err
			}
		}
		return nil
	})
}

// Retire takes a host out: its key is revoked, its findings and captures go, its
// history stays.
func (db *DB) Retire(ctx context.Context, host int64) error {
	return db.within(ctx, func(t *tx) error {
		b := &batch{tx: t, tally: newTally()}
		now := db.now().UnixMilli()
		var agent string
		h := hostRow{id: host}
		if err := t.scan(ctx, "UPDATE hosts SET retired = ?, digest = '', critical = 0, warning = 0, notice = 0, unknown = 0, accepted = 0 "+
			"WHERE id = ? AND retired = 0 RETURNING agent, grp", []any{now, host}, &agent, &h.group); err != nil {
			return err
		}
		rows, err := b.findings(ctx, host)
		if err != nil {
			return err
		}
		before := fleetSum(rows)
		before.hosts = 1
		b.tally.host(h.group, before, sums{})
		b.tally.cells(h.group, worst(rows), nil)
		for _, q := range []string{"DELETE FROM findings WHERE host = ?", "DELETE FROM states WHERE host = ?",
			"DELETE FROM speakers WHERE host = ?", "DELETE FROM pack_hosts WHERE host = ?",
			"DELETE FROM captures WHERE host = ?"} {
			if _, err := t.exec(ctx, q, host); err != nil {
				return err
			}
		}
		if _, err := t.exec(ctx, "UPDATE agents SET revoked = ? WHERE agent = ? AND revoked = 0", now, agent); err != nil {
			return err
		}
		return b.tally.flush(ctx, t)
	})
}
