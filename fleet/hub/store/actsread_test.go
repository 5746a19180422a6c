package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"fettle/fleet/hub/store"
)

// scopes are all kinds of hosts that can be asked for.
func scopes() map[string]store.Scope {
	return map[string]store.Scope{
		"all": store.Everything, "web": {Groups: []string{"web"}}, "none": {}, "two groups": {Groups: []string{"db", ""}},
		"debian":      {All: true, Labels: []store.Label{{Name: "os", Value: "debian"}}},
		"tiers of db": {Groups: []string{"db"}, Labels: []store.Label{{Name: "tier", Any: true}}},
	}
}

// reading asks all that can be asked of some hosts. What failed once need not fail again.
func (a *actor) reading(when string) {
	fmt.Fprintf(&a.out, "\n%s\n", when)
	db, from := a.db, began.AddDate(0, 0, -1)
	all := scopes()
	if when != "with rules" {
		delete(all, "web")
		delete(all, "none")
		delete(all, "debian")
	}
	two := 2
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		a.sound = when != "with rules" || name != "all" && name != "tiers of db"
		fmt.Fprintf(&a.out, "hosts: %s\n", name)
		ask := func(what string, do func(ctx context.Context) (any, error)) { a.Helper(); a.does(what, do) }
		ask("groups", func(ctx context.Context) (any, error) { return db.Groups(ctx, s) })
		ask("traps", func(ctx context.Context) (any, error) { return db.TrapSums(ctx, s) })
		ask("cells", func(ctx context.Context) (any, error) {
			cells, err := db.Cells(ctx, s)
			var out []string
			for p, c := range cells {
				out = append(out, fmt.Sprint(p, c))
			}
			return slices.Sorted(slices.Values(out)), err
		})
		ask("a trap's groups", func(ctx context.Context) (any, error) { return db.TrapCells(ctx, s, "disk-full") })
		ask("days", func(ctx context.Context) (any, error) { return db.Days(ctx, s, from) })
		ask("a trap's days", func(ctx context.Context) (any, error) { return db.TrapDays(ctx, s, "disk-full", from) })
		ask("first day", func(ctx context.Context) (any, error) { return db.FirstDay(ctx, s, "") })
		ask("a trap's first day", func(ctx context.Context) (any, error) { return db.FirstDay(ctx, s, "disk-full") })
		ask("reasons", func(ctx context.Context) (any, error) { l, n, err := db.Reasons(ctx, s, 0, 9); return lists(l, n, err) })
		ask("foreign", func(ctx context.Context) (any, error) {
			l, n, err := db.Foreigns(ctx, s, 0, 9)
			return lists(l, n, err)
		})
		ask("mended", func(ctx context.Context) (any, error) { return db.Mended(ctx, s, "", 0, 9) })
		ask("mended of a trap", func(ctx context.Context) (any, error) { return db.Mended(ctx, s, "disk-full", 1, 9) })
		ask("found", func(ctx context.Context) (any, error) {
			return db.FoundOn(ctx, store.FoundQuery{Trap: "disk-full", Scope: s, Limit: 9})
		})
		ask("warnings found", func(ctx context.Context) (any, error) {
			return db.CountFound(ctx, store.FoundQuery{Trap: "disk-full", Scope: s, Rank: &two})
		})
		ask("changes", func(ctx context.Context) (any, error) { return db.Changes(ctx, store.ChangeQuery{Scope: s, Limit: 9}) })
		ask("number of changes", func(ctx context.Context) (any, error) {
			return db.CountChanges(ctx, store.ChangeQuery{Scope: s, Kinds: []string{"new", "resolved"}, Rank: 2, Since: began.Add(time.Minute)})
		})
		ask("fixes", func(ctx context.Context) (any, error) {
			l, n, err := db.Fixes(ctx, store.FixQuery{Scope: s, Limit: 9})
			return lists(l, n, err)
		})
		ask("to fix", func(ctx context.Context) (any, error) { return db.FixTargets(ctx, s, "disk-full", nil, 9) })
		ask("hosts", func(ctx context.Context) (any, error) { return db.Hosts(ctx, store.HostQuery{Scope: s, Limit: 9}) })
		ask("number of hosts", func(ctx context.Context) (any, error) {
			return db.CountHosts(ctx, store.HostQuery{Scope: s, Rank: 2, SilentBefore: a.now, Contains: "1"})
		})
		ask("old", func(ctx context.Context) (any, error) { return db.OldSums(ctx, s, began.Add(90*time.Minute)) })
		ask("failed", func(ctx context.Context) (any, error) {
			l, err := db.FailedHosts(ctx, s, 9)
			return len(l), err
		})
		ask("agents", func(ctx context.Context) (any, error) { return db.Agents(ctx, s, 9) })
		ask("labels", func(ctx context.Context) (any, error) { return db.Labels(ctx, s, 9) })
		ask("hosts from", func(ctx context.Context) (any, error) {
			l, err := db.HostsFrom(ctx, s, "web", "web1", 9)
			return len(l), err
		})
		ask("pulse", func(ctx context.Context) (any, error) { n, err := db.Pulse(ctx, s); return n > 0, err })
		ask("measured", func(ctx context.Context) (any, error) {
			m, err := db.Measure(ctx, s)
			if m.Bytes > 0 {
				m.Bytes = 1
			}
			return m, err
		})
		ask("acceptances", func(ctx context.Context) (any, error) { return db.Acceptances(ctx, s, 0, 0, 9) })
		ask("number of acceptances", func(ctx context.Context) (any, error) { return db.CountAcceptances(ctx, s) })
		ask("accepted there", func(ctx context.Context) (any, error) {
			l, n, err := db.OwnAccepted(ctx, s, 0, 9)
			return lists(l, n, err)
		})
		ask("rules", func(ctx context.Context) (any, error) { return db.Rules(ctx, s) })
		ask("worst", func(ctx context.Context) (any, error) { return db.WorstFound(ctx, s, "disk-full") })
		ask("restarts", func(ctx context.Context) (any, error) {
			return db.Restarts(ctx, s, from, a.now.Add(time.Hour), a.now.Add(-time.Hour))
		})
	}
	a.sound = when != "with rules"
	defer func() { a.sound = false }()
	for id := int64(1); id <= 5; id++ {
		a.does("host", func(ctx context.Context) (any, error) { return db.Host(ctx, id) })
		a.does("findings", func(ctx context.Context) (any, error) { return db.Findings(ctx, id, 0, 9) })
		a.does("events", func(ctx context.Context) (any, error) { return db.HostEvents(ctx, id, 0, 9) })
		a.does("document", func(ctx context.Context) (any, error) {
			d, err := db.Document(ctx, id)
			if d != nil {
				return len(d.Results), err
			}
			return nil, err
		})
		a.does("speakers", func(ctx context.Context) (any, error) { return db.Speakers(ctx, id) })
		a.does("captures", func(ctx context.Context) (any, error) { return db.Captures(ctx, id) })
	}
	a.asking()
	a.does("by agent", func(ctx context.Context) (any, error) {
		h, err := db.HostByAgent(ctx, "db1")
		if h != nil {
			return h.ID, err
		}
		return nil, err
	})
	a.does("by name", func(ctx context.Context) (any, error) { l, err := db.HostsNamed(ctx, "web1"); return len(l), err })
	a.does("audits", func(ctx context.Context) (any, error) { return db.CountAudits(ctx) })
	a.does("last audits", func(ctx context.Context) (any, error) { return db.Audits(ctx, 0, 0, 3) })
	a.does("audits before", func(ctx context.Context) (any, error) { return db.Audits(ctx, 3, 1, 3) })
	a.does("revoked keys", func(ctx context.Context) (any, error) { return db.RevokedKeys(ctx) })
	if err := a.db.Agree(a.Context()); err != nil {
		a.Errorf("%s: %v", when, err)
	}
}

// asking asks what pages ask besides: from one on, a part of a list, in another order.
func (a *actor) asking() {
	db, all, one, three := a.db, store.Everything, 1, 3
	a.sound = true
	ask := func(what string, do func(ctx context.Context) (any, error)) { a.Helper(); a.does(what, do) }
	changes := map[string]store.ChangeQuery{
		"new":         {Kinds: []string{"new"}},
		"of a trap":   {Trap: "invented"},
		"of a host":   {Host: 1, Before: &store.FleetChange{ID: 6}},
		"on it after": {Host: 1, After: &store.FleetChange{ID: 3}},
		"before":      {Before: &store.FleetChange{ID: 5, At: began}},
		"after":       {After: &store.FleetChange{ID: 2, At: began}},
		"severe":      {Rank: 3},
		"of late":     {Since: began.Add(time.Hour)},
	}
	for _, what := range slices.Sorted(maps.Keys(changes)) {
		q := changes[what]
		q.Scope, q.Limit = all, 3
		ask("changes "+what, func(ctx context.Context) (any, error) {
			l, err := db.Changes(ctx, q)
			var ids []int64
			for _, c := range l {
				ids = append(ids, c.ID)
			}
			return ids, err
		})
	}
	hosts := map[string]store.HostQuery{
		"by name": {Order: "name"}, "by time": {Order: "seen"}, "the worst": {Order: "worst"}, "found something": {Rank: 1},
		"critical": {Rank: 3},
		"named":    {Contains: "EB"}, "per cent": {Contains: "%"}, "silent": {SilentBefore: began.Add(time.Minute)}, "cloned": {Twins: true},
		"the second": {Order: "name", Offset: 1, Limit: 1},
	}
	for _, what := range slices.Sorted(maps.Keys(hosts)) {
		q := hosts[what]
		if q.Scope = all; q.Limit == 0 {
			q.Limit = 9
		}
		ask("hosts "+what, func(ctx context.Context) (any, error) {
			l, err := db.Hosts(ctx, q)
			var names []string
			for _, h := range l {
				names = append(names, h.Agent)
			}
			return names, err
		})
	}
	ask("the second finding", func(ctx context.Context) (any, error) { return db.Findings(ctx, 1, 1, 1) })
	ask("the second where it is found", func(ctx context.Context) (any, error) {
		return db.FoundOn(ctx, store.FoundQuery{Trap: "disk-full", Scope: all, Rank: &one, Offset: 0, Limit: 1})
	})
	ask("the second event", func(ctx context.Context) (any, error) { return db.HostEvents(ctx, 1, 5, 1) })
	ask("the second acceptance", func(ctx context.Context) (any, error) { return db.Acceptances(ctx, all, 1, 1, 2) })
	ask("acceptances on a host", func(ctx context.Context) (any, error) { return db.Acceptances(ctx, all, 1, 0, 2) })
	ask("the second reason", func(ctx context.Context) (any, error) {
		l, n, err := db.Reasons(ctx, all, 1, 2)
		return lists(l, n, err)
	})
	ask("the second foreign", func(ctx context.Context) (any, error) {
		l, n, err := db.Foreigns(ctx, all, 1, 2)
		return lists(l, n, err)
	})
	ask("the second fix", func(ctx context.Context) (any, error) {
		l, n, err := db.Fixes(ctx, store.FixQuery{Scope: all, Host: 1, Trap: "disk-full", Limit: 2})
		return lists(l, n, err)
	})
	ask("no fix", func(ctx context.Context) (any, error) {
		l, n, err := db.Fixes(ctx, store.FixQuery{Scope: all, Host: 2, Limit: 2})
		return lists(l, n, err)
	})
	ask("to fix, critical", func(ctx context.Context) (any, error) { return db.FixTargets(ctx, all, "disk-full", &three, 1) })
	ask("the second pack host", func(ctx context.Context) (any, error) {
		l, n, err := db.PackHosts(ctx, "acme", 1, 2)
		return lists(l, n, err)
	})
	ask("the second attempt", func(ctx context.Context) (any, error) { l, n, err := db.Attempts(ctx, 1, 2); return lists(l, n, err) })
	ask("accepted there, none", func(ctx context.Context) (any, error) {
		l, n, err := db.OwnAccepted(ctx, all, 0, 0)
		return lists(l, n, err)
	})
}
