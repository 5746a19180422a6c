package store

import (
	"context"
	"fmt"
	"strings"

	"fettle/fleet/hub/message"
)

// unchanged tells whether a message says that a check found what the one before it did.
func unchanged(m *message.Message) bool {
	return m.Kind == message.Change && m.Base == m.Digest && m.Run.Failed == "" &&
		len(m.Run.Results)+len(m.Run.Gone) == 0 && m.Run.Meta == nil
}

// mayBeQuick tells whether a message may be taken together with others.
func mayBeQuick(m *message.Message) bool {
	return m.Self != nil && m.Digest != "" && len(m.Fixes) == 0 && m.Self.Compared == "" && unchanged(m)
}

// quickSizes are how many messages one statement of SQLite takes: of few lengths, it is prepared seldom.
var quickSizes = []int{64, 16, 4, 1}

// quickMost is how many one statement of PostgreSQL takes, which gets a column as one argument.
const quickMost = 512

// run is the first of some items, as many as may be taken together: each of another agent.
func (db *DB) run(items []Item) []Item {
	agents := map[string]bool{}
	n, most := 0, quickSizes[0]
	if db.pg {
		most = quickMost
	}
	for n < len(items) && n < most && mayBeQuick(items[n].Message) && !agents[items[n].Message.Agent] {
		agents[items[n].Message.Agent] = true
		n++
	}
	if db.pg {
		return items[:n]
	}
	for _, size := range quickSizes {
		if n >= size {
			return items[:size]
		}
	}
	return nil
}

// quickRow is a row of quickArgs in SQLite; quickColumns are all of them in PostgreSQL, which wants to know their types.
var (
	quickRow     = "(?" + strings.Repeat(", ?", 15) + ")"
	quickColumns = func() string {
		var columns, names []string
		for i, arg := range quickArgs(&Item{Message: &message.Message{Self: &message.Self{}}}, 0) {
			kind := "BIGINT[]"
			if _, text := arg.(string); text {
				kind = "TEXT[]"
			}
			columns, names = append(columns, "CAST(? AS "+kind+")"), append(names, fmt.Sprintf("column%d", i+1))
		}
		return "FROM unnest(" + strings.Join(columns, ", ") + ") v(" + strings.Join(names, ", ") + ")"
	}()
)

// quickArgs are what a row has of a message: a string or an int64 each.
func quickArgs(it *Item, now int64) []any {
	m, s := it.Message, it.Message.Self
	return []any{m.Agent, it.Key, m.Instance, m.Seq, it.Prev, m.Digest, s.Machine, millis(it.At), min(millis(m.Sent), now),
		it.Skew.Milliseconds(), m.Fettle, s.Every.Milliseconds(), int64(s.Waiting), s.Dropped, s.Refused, m.Ask}
}

// values are the rows of some items as a table v, and the arguments for it.
func (b *batch) values(items []Item) (from string, args []any) {
	now := b.db.now().UnixMilli()
	if !b.db.pg {
		for i := range items {
			args = append(args, quickArgs(&items[i], now)...)
		}
		return "FROM (VALUES " + strings.Repeat(quickRow+", ", len(items)-1) + quickRow + ") v", args
	}
	for i := range items {
		for j, arg := range quickArgs(&items[i], now) {
			switch arg := arg.(type) {
			case string:
				if i == 0 {
					args = append(args, make([]string, len(items)))
				}
				args[j].([]string)[i] = arg
			case int64:
				if i == 0 {
					args = append(args, make([]int64, len(items)))
				}
				args[j].([]int64)[i] = arg
			}
		}
	}
	return quickColumns, args
}

// quickUpdate writes what messages say whose hosts are as these take for granted.
func quickUpdate(from string) string {
	return `UPDATE hosts SET seq = v.column4, last_seen = v.column8, last_sent = v.column9, skew_ms = v.column10,
		agent_version = v.column11, every_ms = v.column12, waiting = v.column13, dropped = v.column14, refused = v.column15,
		machine = CASE WHEN machine = '' THEN v.column7 ELSE machine END,
		last_check = CASE WHEN last_check > v.column8 THEN last_check ELSE v.column8 END, failed = '', last_ask = v.column16, down = 0
		` + from + `
		WHERE agent = v.column1 AND nkey = v.column2 AND retired = 0 AND twin = 0 AND instance = v.column3 AND seq < v.column4
		AND seq >= v.column5 AND digest = v.column6 AND (machine = '' OR machine = v.column7 OR v.column7 = '')
		RETURNING id, agent, grp, labels, (SELECT COUNT(*) FROM acceptances a WHERE a.host = hosts.id)`
}

// quick takes what almost all of a fleet answers: that nothing changed. One statement does it for many hosts that are as
// the messages take for granted. Of the others, which the map does not have, nothing is done: they go the long way.
func (b *batch) quick(ctx context.Context, items []Item) (map[string]Result, error) {
	from, args := b.values(items)
	has := map[string]*message.Message{}
	for i := range items {
		has[items[i].Message.Agent] = items[i].Message
	}
	rows, err := b.query(ctx, quickUpdate(from), args...)
	taken, err := read(rows, err, func(row scanner) (t quickHost, err error) {
		var single int
		err = row.Scan(&t.id, &t.agent, &t.group, &t.labels, &single)
		t.plain = single == 0
		return t, err
	})
	out := map[string]Result{}
	for i := 0; i < len(taken) && err == nil; i++ {
		out[taken[i].agent], err = b.result(ctx, &taken[i].hostRow, has[taken[i].agent], Taken)
	}
	return out, err
}

// quickHost is a host whose message was taken so.
type quickHost struct {
	hostRow
	agent string
}
