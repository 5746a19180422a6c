package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// TestWorstOfATrap: a host counts once in a trap's sums: by the gravest that is not accepted, else by what is accepted,
// else by what is unknown.
func TestWorstOfATrap(t *testing.T) {
	known := func(o trap.Result) trap.Result {
		o.Outcomes[0].Accepted = &trap.Acceptance{Reason: "it is so"}
		return o
	}
	db := storetest.SQLite(t)
	for i, c := range []struct {
		is   trap.Result
		want store.Cell
	}{
		{both(known(found("a", "x", trap.Critical)), found("a", "y", trap.Notice)), store.Cell{Notice: 1}},
		{both(found("a", "y", trap.Notice), known(found("a", "z", trap.Critical))), store.Cell{Notice: 1}},
		{both(known(found("a", "x", trap.Critical)), blind("a")), store.Cell{Accepted: 1}},
		{both(blind("a"), known(found("a", "x", trap.Notice))), store.Cell{Accepted: 1}},
		{both(blind("a"), found("a", "x", trap.Notice)), store.Cell{Notice: 1}},
		{both(found("a", "x", trap.Notice), found("a", "y", trap.Warning)), store.Cell{Warning: 1}},
		{blind("a"), store.Cell{Unknown: 1}},
	} {
		group := fmt.Sprint("g", i)
		h := join(t, db, fmt.Sprint("h", i), group)
		ingest(t, db, store.Taken, began, h.whole(state(c.is)))
		cells, err := db.Cells(t.Context(), store.OnlyGroups(group).Scope(nil, nil))
		if got := cells[store.Place{Trap: "a", Group: group}]; err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v, want %+v", c.is.Outcomes, got, err, c.want)
		}
	}
}

// TestRuleToTheLastDay: an agent is told of a rule on its last day, and no longer.
func TestRuleToTheLastDay(t *testing.T) {
	db, now := storetest.SQLite(t), began
	db.SetNow(func() time.Time { return now })
	a := join(t, db, "h1", "web")
	s := state(found("a", "x", trap.Warning))
	ingest(t, db, store.Taken, now, a.whole(s))
	last := began.AddDate(0, 0, 2).Format(time.DateOnly)
	if err := db.PutRule(t.Context(), store.Rule{Trap: "a", Until: last, Reason: "known", Who: "ann", At: now}, int(trap.Warning),
		nobody); err != nil {
		t.Fatal(err)
	}
	for day, want := range []string{last, last, last, ""} {
		now = began.AddDate(0, 0, day)
		m := a.change(s)
		m.Self = &message.Self{Accepts: "another list"}
		r, err := db.Ingest(t.Context(), []store.Item{{Message: m, Key: "Uh1", At: now, Prev: m.Seq - 1}})
		if err != nil || r[0].Verdict != store.Taken || r[0].Accepts == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		got := ""
		for _, e := range r[0].Accepts.Entries {
			got += e.Until
		}
		if got != want {
			t.Errorf("on day %d: %q, want %q", day, got, want)
		}
	}
}

// TestRuleOnManyHosts: a rule is counted on all hosts that it is about, however many, and each once.
func TestRuleOnManyHosts(t *testing.T) {
	db := storetest.SQLite(t)
	const hosts = 201
	s := state(found("a", "x", trap.Warning))
	var first []*message.Message
	for i := range hosts {
		first = append(first, join(t, db, fmt.Sprint("h", i), "web").whole(s))
	}
	ingest(t, db, store.Taken, began, first...)
	ctx, cancel := context.WithTimeout(t.Context(), means.Patience)
	defer cancel()
	if err := db.PutRule(ctx, store.Rule{Trap: "a", Reason: "known", Who: "ann", At: began}, int(trap.Warning), nobody); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{hosts, 0} {
		if n, err := db.CountRules(ctx); err != nil || n != want {
			t.Errorf("counted on %d hosts, %v, want %d", n, err, want)
		}
	}
	groups, err := db.Groups(ctx, store.Everything)
	if err != nil || len(groups) != 1 || groups[0].Accepted != hosts || groups[0].Warning != 0 {
		t.Errorf("%+v, %v", groups, err)
	}
	agree(t, db)
}

// TestTakenInBetween: a host that another hub took in just now is taken from this one with the same key alone, and not where
// it is retired already.
func TestTakenInBetween(t *testing.T) {
	db := storetest.SQLite(t)
	join(t, db, "h1", "web")
	join(t, db, "h2", "web")
	h2, err := db.HostByAgent(t.Context(), "h2")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Retire(t.Context(), h2.ID); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		agent, key string
		taken      bool
	}{{"h1", "Uh1", true}, {"h1", "Uanother", false}, {"h2", "Uh2", false}, {"h2", "", false}, {"h3", "Uh3", true}} {
		m := message.New(message.Beat)
		m.Agent = c.agent
		if taken, err := db.TakeIn(t.Context(), &store.Item{Message: m, Key: c.key}); err != nil || taken != c.taken {
			t.Errorf("%s with the key %q: %t, %v", c.agent, c.key, taken, err)
		}
	}
}
