package store_test

import (
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// packed is a message whose host takes packs and has had these.
func packed(m *message.Message, has ...message.HasPack) *message.Message {
	m.Self = &message.Self{TakesPacks: true, Packs: has}
	return m
}

// TestHandedOn: the canaries get a pack first, the others when that went well, step by
// step; it stops where many find more, cannot look or refuse it.
func TestHandedOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := began
		db.SetNow(func() time.Time { return now })
		one, two := message.HasPack{Name: "acme", Version: 1}, message.HasPack{Name: "acme", Version: 2}
		agents := map[string]*agent{}
		for name, group := range map[string]string{"c1": "test", "c2": "test", "w1": "web", "w2": "web", "w3": "web", "w4": "web"} {
			agents[name] = join(t, db, name, group)
		}
		old := found("acme-full", "old", trap.Warning)
		report := func(name string, s message.State, has ...message.HasPack) bool {
			t.Helper()
			now = now.Add(time.Second)
			m := packed(agents[name].whole(s), has...)
			r, err := db.Ingest(t.Context(), []store.Item{{Message: m, Key: "U" + name, At: now}})
			if err != nil || r[0].Verdict != store.Taken {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
			return len(r[0].Packs) > 0 && string(r[0].Packs[0]) == "the pack"
		}
		gets := func(want string, has ...message.HasPack) {
			t.Helper()
			var got []string
			for _, name := range []string{"c1", "c2", "w1", "w2", "w3", "w4"} {
				if report(name, state(old), has...) {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%q get it, not %q", got, want)
			}
		}
		judged := func(after time.Duration, want string) store.Pack {
			t.Helper()
			now = now.Add(after)
			if _, err := db.Judge(t.Context()); err != nil {
				t.Fatal(err)
			}
			l, err := db.Packs(t.Context())
			if err != nil || len(l) != 1 || l[0].Stage != want {
				t.Fatalf("%+v, %v; want stage %s", l, err, want)
			}
			return l[0]
		}
		offer := store.Pack{Name: "acme", Version: 2, Canary: "test", Wait: 24 * time.Hour, StopAt: 20, Traps: []string{"acme-full"},
			File: []byte("the pack")}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(db.Offer(t.Context(), offer))
		if err := db.Offer(t.Context(), offer); err == nil || !strings.Contains(err.Error(), "offered already") {
			t.Errorf("offered twice: %v", err)
		}
		gets("c1 c2", one)
		gets("") // it is on its way
		now = now.Add(10 * time.Minute)
		gets("c1 c2", one) // it got lost
		report("c1", state(old), two)
		judged(time.Hour, store.Canary)
		report("c2", state(old), two)
		p := judged(24*time.Hour, store.All)
		if p.Sent != 2 || p.Taken != 2 || p.Found != 0 {
			t.Errorf("what was found before counts: %+v", p)
		}
		for _, c := range []struct{ name, gets string }{{"w1", "it"}, {"w2", "it"}, {"w3", ""}, {"w4", ""}} { // as many as have it
			if report(c.name, state(old), one) != (c.gets == "it") {
				t.Errorf("%s gets %q", c.name, c.gets)
			}
		}
		judged(time.Minute, store.All)
		if report("w3", state(old), one) {
			t.Error("more hosts got it than reported it")
		}
		report("w1", state(old), two)
		report("w2", state(both(old, found("acme-full", "new", trap.Warning))), two)
		if p = judged(0, store.Stopped); !strings.Contains(p.Why, "of 4 hosts, 1 with more findings") {
			t.Errorf("%+v", p)
		}
		now = now.Add(time.Hour)
		gets("", one)
		must(db.ResumePack(t.Context(), "acme", 60))
		if got := report("w3", state(old), one); !got {
			t.Error("not resumed")
		}
		must(db.StopPack(t.Context(), "acme", "by ann"))
		if db.StopPack(t.Context(), "none", "") == nil {
			t.Error("what is not there was stopped")
		}
		gets("", one)

		for what, spoilt := range map[string]func(){
			"1 could not check": func() {
				report("c1", state(old, blind("acme-other"), blind(trap.NotLoaded)), message.HasPack{Name: "acme", Version: 9})
			},
			"refused it": func() { report("c1", state(old), message.HasPack{Name: "acme", Version: 9, Refused: "not pinned"}) },
			"1 with more findings": func() {
				report("c1", state(found("acme-full", "yet another", trap.Notice)), message.HasPack{Name: "acme", Version: 9})
			},
			"0 refused it": func() {},
		} {
			must(db.Exec(t.Context(), "DELETE FROM packs"))
			report("c1", state(old), one)
			offer.Version = 9
			must(db.Offer(t.Context(), offer))
			gets("c1 c2", one)
			spoilt()
			want := store.Stopped
			if what == "0 refused it" {
				want = store.Canary
			}
			if p := judged(25*time.Hour, want); want == store.Stopped && !strings.Contains(p.Why, strings.TrimLeft(what, "0 ")) {
				t.Errorf("%s: %+v", what, p)
			}
		}
		agree(t, db)
	})
}

// TestTakesNone: who does not let the hub hand packs on gets none.
func TestTakesNone(t *testing.T) {
	db := storetest.SQLite(t)
	a := join(t, db, "c1", "test")
	if err := db.Offer(t.Context(), store.Pack{Name: "acme", Version: 1, Canary: "test", File: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	m := a.whole(state())
	m.Self = &message.Self{}
	if r, err := db.Ingest(t.Context(), []store.Item{{Message: m, Key: "Uc1", At: began}}); err != nil || len(r[0].Packs) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRefusals: a host that refuses a pack holds up no other, and one that is handed it again has refused nothing yet.
func TestRefusals(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := began
		db.SetNow(func() time.Time { return now })
		agents := map[string]*agent{}
		for _, name := range []string{"c1", "w1", "w2", "w3", "w4"} {
			agents[name] = join(t, db, name, map[bool]string{true: "test", false: "web"}[name == "c1"])
		}
		// after tells what a host reports after some time, and whether it gets the pack.
		after := func(wait time.Duration, name string, has ...message.HasPack) bool {
			t.Helper()
			now = now.Add(wait)
			r, err := db.Ingest(t.Context(), []store.Item{{Message: packed(agents[name].whole(state()), has...), Key: "U" + name, At: now}})
			if err != nil || r[0].Verdict != store.Taken {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
			return len(r[0].Packs) > 0
		}
		is := func(taken, refused int) {
			t.Helper()
			_, err := db.Judge(t.Context())
			l, lerr := db.Packs(t.Context())
			if err != nil || lerr != nil || len(l) != 1 || l[0].Stage == store.Stopped || l[0].Taken != taken || l[0].Refused != refused {
				t.Errorf("%+v, %v, %v; want %d taken, %d refused", l, err, lerr, taken, refused)
			}
		}
		if err := db.Offer(t.Context(), store.Pack{Name: "acme", Version: 2, Canary: "test", Wait: time.Hour, StopAt: 60,
			File: []byte("the pack")}); err != nil {
			t.Fatal(err)
		}
		has := message.HasPack{Name: "acme", Version: 2}
		no := message.HasPack{Name: "acme", Version: 2, Refused: "not pinned"}
		after(0, "c1")
		after(time.Second, "c1", has)
		now = now.Add(2 * time.Hour)
		is(1, 0)
		if !after(0, "w1") {
			t.Fatal("the others do not get it")
		}
		after(time.Second, "w1", no)
		is(1, 1)
		if !after(time.Second, "w2") {
			t.Error("who refused it is waited for")
		}
		after(time.Second, "w2", has)
		is(2, 1)
		if !after(time.Hour, "w1") { // its agent reports a refusal for a while
			t.Error("who refused it does not get it again")
		}
		is(2, 0)
		after(time.Second, "w1", has)
		is(3, 0)
		if !after(0, "w3") || !after(0, "w4") {
			t.Error("who took it late is waited for")
		}
	})
}
