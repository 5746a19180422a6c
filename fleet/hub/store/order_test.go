package store_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// labelled is the scope of hosts with a label.
func labelled(t *testing.T, s string) store.Scope {
	t.Helper()
	labels, err := store.ParseLabels(s)
	if err != nil {
		t.Fatal(err)
	}
	return store.AllGroups.Scope(nil, labels)
}

// both is one trap's result of two.
func both(a, b trap.Result) trap.Result {
	a.Outcomes = append(a.Outcomes, b.Outcomes...)
	return a
}

var nobody = store.Audit{Who: "ann", What: "set host"}

// TestPlace: a host goes to another group with all that is counted of it, keeps the name
// that an operator gave it, and has the labels that it was given.
func TestPlace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a, b := join(t, db, "h1", "web"), join(t, db, "h2", "db")
		report := state(found("a", "x", trap.Critical), blind("b"), found("c", "y", trap.Notice))
		ingest(t, db, store.Taken, began, a.whole(report), b.whole(report))
		place := func(p store.Placing, agents ...string) {
			t.Helper()
			if err := db.Place(t.Context(), agents, p, nobody); err != nil {
				t.Fatal(err)
			}
			agree(t, db)
		}
		untold, err := db.Untold(t.Context(), "pager", 1, time.Time{})
		if err == nil {
			err = db.Tell(t.Context(), "pager", store.ChannelState{}, untold, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		mail := "mail"
		place(store.Placing{Group: &mail, Name: "front", Labels: map[string]string{"env": "prod", "rack": "7"}}, "h1")
		place(store.Placing{Labels: map[string]string{"env": "test"}, Remove: []string{"rack"}}, "h1", "h2")
		h, err := db.HostByAgent(t.Context(), "h1")
		if err != nil || h.Group != "mail" || h.Name != "front" || h.OwnName != "web1" || !h.Pinned ||
			!maps.Equal(h.Labels, map[string]string{"env": "test"}) || h.Counts.Critical != 1 {
			t.Errorf("%+v, %v", h, err)
		}
		told, err := db.Told(t.Context(), "pager", time.Time{})
		for _, o := range told { // its end is sent under the name that people know now
			if o.Agent == "h1" && (o.Host != "front" || o.Group != "mail") {
				t.Errorf("what was told of h1 is of %s in %s", o.Host, o.Group)
			}
		}
		if err != nil || len(told) != 4 {
			t.Errorf("%+v, %v", told, err)
		}
		ingest(t, db, store.Taken, began.Add(time.Hour), a.whole(state(found("a", "x", trap.Warning))))
		agree(t, db)
		if h, err = db.HostByAgent(t.Context(), "h1"); err != nil || h.Name != "front" || h.Group != "mail" {
			t.Errorf("after a report: %+v, %v", h, err)
		}
		place(store.Placing{OwnName: true}, "h1")
		if h, err = db.HostByAgent(t.Context(), "h1"); err != nil || h.Name != "web1" || h.Pinned {
			t.Errorf("its own name: %+v, %v", h, err)
		}
		var got []string
		groups, err := db.Groups(t.Context(), store.Everything)
		for _, g := range groups {
			got = append(got, fmt.Sprint(g.Name, g.Hosts, g.Critical, g.Warning))
		}
		if want := []string{"db1 1 0", "mail1 0 1"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("groups %q, %v", got, err)
		}
		if err := db.Place(t.Context(), []string{"h2", "h9"}, store.Placing{Name: "x"}, nobody); err == nil {
			t.Error("a host that is not there was put in order")
		}
		if h, err = db.HostByAgent(t.Context(), "h2"); err != nil || h.Pinned {
			t.Errorf("half of an act was done: %+v, %v", h, err)
		}
	})
}

// TestScope: of hosts by label the database counts what the sums by group say, and of
// nobody's hosts nothing.
func TestScope(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		day := began
		db.SetNow(func() time.Time { return day })
		agents := map[string]*agent{}
		for i, group := range []string{"web", "web", "db", ""} {
			name := fmt.Sprint("h", i)
			agents[name] = join(t, db, name, group)
			if err := db.Place(t.Context(), []string{name}, store.Placing{Labels: map[string]string{"all": "1", "n": fmt.Sprint(i)}},
				nobody); err != nil {
				t.Fatal(err)
			}
		}
		first := state(both(found("a", "x", trap.Critical), found("a", "z", trap.Notice)), blind("b"), found("c", "y", trap.Warning))
		for _, a := range agents {
			ingest(t, db, store.Taken, day, a.whole(first))
		}
		day = day.Add(24 * time.Hour)
		ingest(t, db, store.Taken, day, agents["h0"].whole(state(found("c", "y", trap.Warning), clear("a"), blind("b"))))
		if err := db.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		from := began.AddDate(0, 0, -1)
		type sums struct {
			Groups  []store.Group
			Traps   []store.TrapSums
			Cells   map[store.Place]store.Cell
			Of      []store.TrapGroup
			Reasons []store.Reason
			Mended  int
			First   string
			Days    []store.Day
			Trap    []store.TrapDay
		}
		ask := func(in store.Scope) (s sums) {
			t.Helper()
			ctx := t.Context()
			var errs [9]error
			var mended []store.Mended
			s.Groups, errs[0] = db.Groups(ctx, in)
			s.Traps, errs[1] = db.TrapSums(ctx, in)
			s.Cells, errs[2] = db.Cells(ctx, in)
			s.Of, errs[3] = db.TrapCells(ctx, in, "a")
			s.Reasons, _, errs[4] = db.Reasons(ctx, in, 0, 10)
			mended, errs[5] = db.Mended(ctx, in, "", 0, 10)
			s.First, errs[6] = db.FirstDay(ctx, in, "a")
			s.Days, errs[7] = db.Days(ctx, in, from)
			s.Trap, errs[8] = db.TrapDays(ctx, in, "a", from)
			s.Mended = len(mended)
			for i, err := range errs {
				if err != nil {
					t.Fatal(i, err)
				}
			}
			maps.DeleteFunc(s.Cells, func(_ store.Place, c store.Cell) bool { return c == store.Cell{} })
			// Sums begin with the first report, counts with the day that was asked for.
			s.Days = slices.DeleteFunc(s.Days, func(d store.Day) bool { return d.Hosts == 0 || d.Day < began.Format(time.DateOnly) })
			s.Trap = slices.DeleteFunc(s.Trap, func(d store.TrapDay) bool { return d.Hosts == 0 && d.New == 0 })
			return s
		}
		for what, pair := range map[string][2]store.Scope{
			"all":      {store.Everything, labelled(t, "all=1")},
			"a group":  {store.OnlyGroups("web").Scope(nil, nil), labelled(t, "all")},
			"no group": {store.OnlyGroups("").Scope(nil, nil), labelled(t, "n=3")},
			"nobody":   {store.Scope{}, labelled(t, "n=9")},
		} {
			if what == "a group" {
				pair[1].All, pair[1].Groups = false, []string{"web"}
			}
			one, other := ask(pair[0]), ask(pair[1])
			if !reflect.DeepEqual(one, other) && fmt.Sprint(one) != fmt.Sprint(other) {
				t.Errorf("%s:\nsummed  %+v\ncounted %+v", what, one, other)
			}
			if empty := len(one.Groups) == 0; empty != (what == "nobody") {
				t.Errorf("%s: %+v", what, one)
			}
		}
		if l, err := db.Labels(t.Context(), store.OnlyGroups("db").Scope(nil, nil), 10); err != nil || fmt.Sprint(l) != "[{all=1 1} {n=2 1}]" {
			t.Errorf("%v, %v", l, err)
		}
		before, err := db.Pulse(t.Context(), store.OnlyGroups("web").Scope(nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		ingest(t, db, store.Taken, day, agents["h2"].whole(state(clear("a"))))
		after, err := db.Pulse(t.Context(), store.OnlyGroups("web").Scope(nil, nil))
		if err != nil || before != after {
			t.Errorf("who sees web hears of db: %d, %d, %v", before, after, err)
		}
		ingest(t, db, store.Taken, day, agents["h1"].whole(state(clear("a"))))
		if n, err := db.Pulse(t.Context(), store.OnlyGroups("web").Scope(nil, nil)); err != nil || n == after {
			t.Errorf("who sees web does not hear of it: %d, %v", n, err)
		}
	})
}

// TestRules: a trap is accepted on many hosts, up to a severity, to a day, until it is
// taken back, also on hosts that report it later or come to the group.
func TestRules(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := began
		db.SetNow(func() time.Time { return now })
		a, b := join(t, db, "h1", "web"), join(t, db, "h2", "db")
		report := state(found("a", "x", trap.Warning), found("b", "", trap.Notice))
		ingest(t, db, store.Taken, began, a.whole(report), b.whole(report))
		counts := func(what, want string) {
			t.Helper()
			agree(t, db)
			var got []string
			for _, agent := range []string{"h1", "h2"} {
				h, err := db.HostByAgent(t.Context(), agent)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%d%d%d+%d", h.Counts.Critical, h.Counts.Warning, h.Counts.Notice, h.Counts.Accepted))
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%s: %s, want %s", what, s, want)
			}
		}
		count := func() {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), means.Patience)
			defer cancel()
			if _, err := db.CountRules(ctx); err != nil {
				t.Fatal(err)
			}
		}
		put := func(r store.Rule, rank int) {
			t.Helper()
			r.Reason, r.Who, r.At = "known", "ann", now
			if err := db.PutRule(t.Context(), r, rank, nobody); err != nil {
				t.Fatal(err)
			}
			count()
		}
		web := "web"
		counts("before", "011+0 011+0")
		put(store.Rule{Trap: "a", Group: &web, Until: began.AddDate(0, 0, 2).Format(time.DateOnly)}, int(trap.Warning))
		counts("on a group", "001+1 011+0")
		ingest(t, db, store.Taken, now, a.whole(state(both(found("a", "x", trap.Critical), found("a", "z", trap.Warning)),
			found("b", "", trap.Notice))))
		counts("a graver one, and a new one", "101+1 011+0")
		put(store.Rule{Trap: "b", Label: "env=prod"}, int(trap.Notice))
		counts("a label that no host has", "101+1 011+0")
		if err := db.Place(t.Context(), []string{"h2"}, store.Placing{Group: &web, Labels: map[string]string{"env": "prod"}},
			nobody); err != nil {
			t.Fatal(err)
		}
		counts("come to both", "101+1 000+2")
		if n, err := db.Lapse(t.Context()); err != nil || n != 0 {
			t.Errorf("%d, %v", n, err)
		}
		now = now.AddDate(0, 0, 3)
		if n, err := db.Lapse(t.Context()); err != nil || n != 2 {
			t.Errorf("its end: %d, %v", n, err)
		}
		if n, err := db.Lapse(t.Context()); err != nil || n != 0 {
			t.Errorf("its end is counted again: %d, %v", n, err)
		}
		counts("the last day is over", "111+0 010+1")
		rules, err := db.Rules(t.Context(), store.OnlyGroups("db").Scope(nil, nil))
		if err != nil || len(rules) != 1 || rules[0].Trap != "b" || rules[0].On() != "all hosts with label env=prod" {
			t.Fatalf("those of any group: %+v, %v", rules, err)
		}
		if err := db.RemoveRule(t.Context(), rules[0].ID, nobody); err != nil {
			t.Fatal(err)
		}
		count()
		counts("taken back", "111+0 011+0")
		if err := db.RemoveRule(t.Context(), rules[0].ID, nobody); err == nil {
			t.Error("taken back twice")
		}
	})
}

// TestMigrateLabels: hosts of the version before have their labels, names and rights.
func TestMigrateLabels(t *testing.T) {
	upgraded(t, 7, []string{
		`INSERT INTO hosts (agent, name, grp, labels, joined) VALUES ('h1', 'web1', 'web', '{"env":"prod","x":"a=b"}', 1)`,
		`INSERT INTO hosts (agent, name, grp, labels, joined) VALUES ('h2', 'web2', 'web', '{}', 1)`,
		`INSERT INTO users (name, role, password, created) VALUES ('ann', 'operator', 'p', 1)`,
	}, func(t *testing.T, db *store.DB) {
		l, err := db.Labels(t.Context(), store.Everything, 10)
		if err != nil || fmt.Sprint(l) != "[{env=prod 1} {x=a=b 1}]" {
			t.Errorf("%v, %v", l, err)
		}
		if h, err := db.HostByAgent(t.Context(), "h1"); err != nil || h.OwnName != "web1" || h.Pinned {
			t.Errorf("%+v, %v", h, err)
		}
		if u, err := db.User(t.Context(), "ann"); err != nil || !u.Sees.All() {
			t.Errorf("%+v, %v", u, err)
		}
	})
}

func TestRightsAndLabels(t *testing.T) {
	for _, c := range []struct {
		r    store.Rights
		over string
		text string
	}{
		{store.AllGroups, "web,db,", "all groups"},
		{store.OnlyGroups("web", "web"), "web", "web"},
		{store.OnlyGroups(""), "", "no group"},
		{store.OnlyGroups("*"), "*", "*"}, // a group of this name, and no more
		{"", "-", ""},
		{"[", "-", ""},
	} {
		for _, g := range []string{"web", "db", "", "*"} {
			want := c.r == store.AllGroups || c.over != "-" && slices.Contains(strings.Split(c.over, ","), g)
			if c.r.Over(g) != want {
				t.Errorf("%q over %q: %t", c.r, g, !want)
			}
		}
		if c.r.String() != c.text {
			t.Errorf("%q: %q", c.r, c.r.String())
		}
	}
	for s, ok := range map[string]bool{"env=prod": true, "env": true, "a=b, c=": true, "=x": false, "": true, "a=b,=": false} {
		if _, err := store.ParseLabels(s); (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, l := range [][2]string{{"", "x"}, {"-a", "x"}, {"a b", "x"}, {"a", "x,y"}, {"a", "x\ny"}, {"a", strings.Repeat("x", 201)}} {
		if store.CheckLabel(l[0], l[1]) == nil {
			t.Errorf("%q is a label", l)
		}
	}
}
