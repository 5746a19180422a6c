package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fettle/fleet/hub/store"
)

// ChangesQuery asks what changed.
type ChangesQuery struct {
	Since    string `json:"since" about:"24h, 7d, or a day as 2026-01-31; 7d unless given"`
	Kind     string `json:"kind" one:"new resolved returned changed seen unseen all" about:"one kind; unless given, new, resolved and returned"`
	Severity string `json:"severity" one:"notice warning critical" about:"at least this severity"`
	Trap     string `json:"trap" about:"one trap"`
	Group    string `json:"group" about:"one group; - is the one without a name"`
	Label    string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
	Host     string `json:"host" about:"one host, by its id"`
	Before   string `json:"before" about:"next, as an earlier answer gave it"`
	After    string `json:"after" about:"prev, as an earlier answer gave it: newer ones"`
	Limit    int    `json:"limit" most:"1000" about:"maximum number; default 50"`
}

// Change is a change with the title of its trap.
type Change struct {
	store.FleetChange
	Title string `json:"title"`
}

// Changes are changes, the newest first.
type Changes struct {
	Changes []Change `json:"changes"`
	Count   int      `json:"count"` // of all, counted up to 10,000
	Next    string   `json:"next"`  // as before, for older ones; empty: there are none
	Prev    string   `json:"prev"`  // as after, for newer ones; empty: there are none
}

// CSV is a line for each change.
func (c Changes) CSV() (header []string, lines [][]string) {
	for _, x := range c.Changes {
		lines = append(lines, texts(stamp(x.At), x.Kind, x.Severity, x.Host.Name, x.Host.Group, x.Trap, x.Subject, x.Summary, x.Host.Agent))
	}
	return []string{"time", "kind", "severity", "host", "group", "trap", "subject", "summary", "host id"}, lines
}

// Changes answers what changed.
func (a *API) Changes(ctx context.Context, q ChangesQuery) (c Changes, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return c, err
	}
	ask := store.ChangeQuery{
		Trap:  q.Trap,
		Scope: in,
		Rank:  rank(q.Severity),
		Limit: limit(q.Limit) + 1,
		Kinds: []string{store.New, store.Resolved, store.Returned},
	}
	switch q.Kind {
	case "":
	case "all":
		ask.Kinds = nil
	default:
		ask.Kinds = []string{q.Kind}
	}
	since := q.Since
	if since == "" {
		since = "7d"
	}
	if ask.Since, err = a.moment("since", since); err != nil {
		return c, err
	}
	if ask.Before, err = before(q.Before); err != nil {
		return c, err
	}
	if ask.After, err = before(q.After); err != nil {
		return c, err
	}
	if ask.Before != nil && ask.After != nil {
		return c, bad("give before or after, not both")
	}
	if q.Host != "" {
		h, err := a.host(ctx, q.Host)
		if err != nil {
			return c, err
		}
		ask.Host = h.ID
	}
	list, err := a.DB.Changes(ctx, ask)
	if err != nil {
		return c, err
	}
	a.page(&c, ask, list, limit(q.Limit))
	c.Count, err = a.DB.CountChanges(ctx, ask)
	return c, err
}

// page takes a page of changes, of which one more was asked for, and leads to those
// before and after.
func (a *API) page(c *Changes, ask store.ChangeQuery, list []store.FleetChange, n int) {
	more := len(list) > n
	if more && ask.After != nil {
		list = list[1:]
	}
	list, _ = cut(list, n)
	c.Changes = a.titled(list)
	if len(list) == 0 {
		return
	}
	edge := func(x store.FleetChange) string { return fmt.Sprintf("%d.%d", x.At.UnixMilli(), x.ID) }
	if more || ask.After != nil {
		c.Next = edge(list[len(list)-1])
	}
	if ask.Before != nil || more && ask.After != nil {
		c.Prev = edge(list[0])
	}
}

func (a *API) titled(list []store.FleetChange) []Change {
	out := make([]Change, len(list))
	for i, c := range list {
		out[i] = Change{c, a.Title(c.Trap)}
	}
	return out
}

// before reads what Next gave.
func before(s string) (*store.FleetChange, error) {
	if s == "" {
		return nil, nil
	}
	at, id, ok := strings.Cut(s, ".")
	ms, n := number(at, -1), number(id, -1)
	if !ok || ms < 0 || n < 0 {
		return nil, bad("before or after %q: expected the next or prev of an earlier answer", clip(s))
	}
	return &store.FleetChange{At: time.UnixMilli(int64(ms)), ID: int64(n)}, nil
}
