package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// actor does all that a hub asks of its database, one after the other, and notes the answers.
type actor struct {
	*testing.T
	db     *store.DB
	f      *store.Faults
	sound  bool // nothing fails
	now    time.Time
	agents map[string]*agent
	out    strings.Builder
}

// does does one thing as often as it has calls to the database, each of which fails once: that must be the
// error. In the end none does, and the answer is noted.
func (a *actor) does(what string, do func(ctx context.Context) (any, error)) {
	a.Helper()
	for n := 0; n < 1000; n++ {
		if a.f.Arm(n); a.sound {
			a.f.Arm(-1)
		}
		ctx, cancel := context.WithTimeout(a.Context(), means.Patience)
		got, err := do(ctx)
		cancel()
		hit, row := a.f.Hit, a.f.Row
		a.f.Arm(-1)
		if hit == "" {
			if err != nil {
				got = "error: " + err.Error()
			}
			b, err := json.Marshal(got)
			if err != nil {
				a.Fatal(err)
			}
			fmt.Fprintf(&a.out, "%s: %s\n", what, b)
			return
		}
		if err == nil || !row && !errors.Is(err, store.ErrFault) || errors.Is(err, store.ErrNone) || errors.Is(err, store.ErrToken) {
			a.Errorf("%s: %s fails, and the answer is %v, %v", what, hit, got, err)
		}
	}
	a.Fatalf("%s never ends", what)
}

// act is does for what answers an error alone.
func (a *actor) act(what string, do func(ctx context.Context) error) {
	a.Helper()
	a.does(what, func(ctx context.Context) (any, error) { return "done", do(ctx) })
}

// lists is what of a list and its length.
func lists[T any](list []T, n int, err error) (any, error) {
	return map[string]any{"list": list, "all": n}, err
}

// takes has the database take messages as they come from the stream.
func (a *actor) takes(what string, ms ...*message.Message) {
	a.Helper()
	for _, m := range ms {
		m.Sent = a.now
		b, err := m.Pack()
		if err != nil {
			a.Fatal(err)
		}
		if m, err = message.Unpack(b); err != nil {
			a.Fatal(err)
		}
		item := store.Item{Message: m, Key: "U" + m.Agent, At: a.now, Skew: time.Second}
		a.does(what, func(ctx context.Context) (any, error) {
			got, err := a.db.Ingest(ctx, []store.Item{item})
			if err != nil {
				return nil, err
			}
			text := fmt.Sprintf("%s %d", verdicts[got[0].Verdict], got[0].Seq)
			if l := got[0].Accepts; l != nil {
				text += fmt.Sprintf(", %d accepted", len(l.Entries))
			}
			for _, p := range got[0].Packs {
				text += ", a pack"
				if p, err := message.UnpackPack(p); err == nil && p.Asked != "" {
					text += ": " + p.Why + string(p.File)
				}
			}
			return text, nil
		})
	}
}

var verdicts = map[store.Verdict]string{
	store.Taken: "taken", store.Again: "again", store.NeedWhole: "need whole", store.Stranger: "stranger", store.Gap: "gap",
	store.Refused: "refused",
}

func named(s message.State, name, boot string) message.State {
	s.Meta.Host, s.Meta.Identity.BootID, s.Meta.Identity.Release, s.Meta.Machine.Distribution = name, boot, "6.12", "Debian 13"
	return s
}

func (a *actor) agent(name string) *agent {
	if a.agents[name] == nil {
		a.agents[name] = &agent{name: name, instance: "one"}
	}
	return a.agents[name]
}

func (a *actor) audit(what, on string) store.Audit {
	return store.Audit{At: a.now, Who: "ann", From: "192.0.2.1", What: what, On: on, Details: "d"}
}

// TestActs does all that a hub asks of its database with a small fleet. Whatever call of the database's driver
// fails, it is the error of what was asked; and the answers are those of testdata/acts.txt.
func TestActs(t *testing.T) {
	db := storetest.SQLite(t)
	a := &actor{T: t, db: db, f: db.Faulty(t), now: began, agents: map[string]*agent{}}
	db.SetNow(func() time.Time { return a.now })
	a.joining()
	a.reporting()
	a.judging()
	a.packs()
	a.users()
	a.channels()
	a.now = a.now.Add(26 * time.Hour)
	a.twins()
	a.reading("on the next day")
	a.ending()
	a.reading("in the end")
	means.Written(t, "testdata/acts.txt", a.out.String())
}

func (a *actor) joining() {
	for i, name := range []string{"web1", "web2", "db1", "old1"} {
		tok := store.Token{Hash: "t" + name, Created: a.now, Expires: a.now.Add(time.Hour), Uses: 1, Group: "web", Note: "n"}
		if i >= 2 {
			tok.Group, tok.Labels = "db", map[string]string{"os": "debian", "tier": fmt.Sprint(i)}
		}
		j := store.Joining{Agent: name, Host: name, Key: "U" + name, How: "token"}
		a.act("token", func(ctx context.Context) error { return a.db.AddToken(ctx, tok) })
		a.does("join "+name, func(ctx context.Context) (any, error) { return a.db.JoinByToken(ctx, "t"+name, j) })
		a.does("join again", func(ctx context.Context) (any, error) { return a.db.JoinByToken(ctx, "t"+name, j) })
	}
	j := store.Joining{Agent: "ssh1", Host: "ssh1", Key: "Ussh1", How: "ssh", HostKey: "SHA256:x", Group: ""}
	a.does("join by ssh", func(ctx context.Context) (any, error) { return a.db.JoinByHostKey(ctx, j) })
	j.Agent, j.Key = "ssh2", "Ussh2"
	a.does("join by ssh again", func(ctx context.Context) (any, error) { return a.db.JoinByHostKey(ctx, j) })
	tok := store.Token{Hash: "again", Expires: a.now.Add(time.Hour), Uses: 1, Agent: "web2"}
	a.act("token for a place", func(ctx context.Context) error { return a.db.AddToken(ctx, tok) })
	r := store.Joining{Agent: "new", Host: "web2", Key: "Uweb2b", How: "token"}
	a.does("join in a place", func(ctx context.Context) (any, error) { return a.db.JoinByToken(ctx, "again", r) })
	for _, key := range []string{"Uweb1", "Uweb2", "Uweb2b", "Unone"} {
		a.does("admitted as "+key, func(ctx context.Context) (any, error) { return a.db.AdmittedAs(ctx, key, a.now.Add(-time.Minute)) })
	}
	a.does("admitted later", func(ctx context.Context) (any, error) { return a.db.AdmittedAs(ctx, "Uweb1", a.now.Add(time.Minute)) })
	a.does("revoked", func(ctx context.Context) (any, error) { return a.db.Revoked(ctx) })
	// the agents of the tests speak with the first key
	tok.Hash, r.Key = "back", "Uweb2"
	a.does("join with a revoked key", func(ctx context.Context) (any, error) {
		if err := a.db.AddToken(ctx, tok); err != nil && !strings.Contains(err.Error(), "UNIQUE") {
			return nil, err
		}
		return a.db.JoinByToken(ctx, "back", r)
	})
}

func (a *actor) reporting() {
	a.act("know", func(ctx context.Context) error {
		return a.db.Know(ctx, []string{"bridge-mtu", "disk-full", "acme-full"})
	})
	web1, db1, old1 := a.agent("web1"), a.agent("db1"), a.agent("old1")
	a.takes("whole", web1.whole(named(state(found("bridge-mtu", "br0", trap.Warning), found("disk-full", "/", trap.Critical),
		found("invented", "x", trap.Notice), clear("sshd")), "web1", "b1")))
	a.takes("two", db1.whole(named(state(found("disk-full", "/srv", trap.Notice), blind("bridge-mtu")), "db1", "b1")),
		old1.whole(named(state(found("disk-full", "/", trap.Warning)), "old1", "b1")))
	a.takes("again", func() *message.Message { web1.seq--; return web1.message(message.Beat) }())
	a.now = a.now.Add(time.Hour)
	fixes := web1.change(named(state(found("bridge-mtu", "br0", trap.Critical), found("disk-full", "/var", trap.Warning),
		found("invented", "x", trap.Notice)), "web1", "b1"))
	fixes.Fixes = []message.Fix{{ID: "1", At: a.now, By: "ann", Trap: "disk-full", Subject: "/", Summary: "s", Phase: "applied",
		Verified: true, Standing: "applied", Undo: "fettle undo 1"},
		{ID: "2", At: a.now.Add(-time.Hour), Trap: "bridge-mtu", Phase: "rolled back"}}
	a.takes("change", fixes)
	beat := func(x *agent) *message.Message {
		m := x.message(message.Beat)
		if x.last != nil {
			m.Digest = x.last.Digest()
		}
		return m
	}
	a.takes("beats", beat(web1), beat(db1), beat(old1))
	wrong := beat(db1)
	wrong.Digest = strings.Repeat("0", 64)
	a.takes("a beat of another state", wrong)
	same := db1.change(*db1.last)
	a.takes("unchanged", same)
	failed := db1.message(message.Change)
	failed.Base, failed.Digest, failed.Run = db1.last.Digest(), db1.last.Digest(), &message.Run{Failed: "fettle check: exit status 3"}
	a.takes("failed", failed)
	late := db1.message(message.Change)
	late.Base, late.Digest, late.Run = strings.Repeat("1", 64), strings.Repeat("2", 64), &message.Run{}
	a.takes("a change of another state", late)
	a.takes("of nobody", (&agent{name: "nobody", instance: "one"}).message(message.Beat))
	a.takes("of a revoked key", a.agent("web2").message(message.Beat))
	asks := beat(old1)
	asks.Self = &message.Self{Machine: "m1", Every: time.Hour, Accepts: "x"}
	a.takes("what is accepted", asks)
	a.now = a.now.Add(time.Hour)
	old1.instance, old1.seq = "two", 0
	a.takes("another instance", old1.whole(named(state(found("disk-full", "/", trap.Warning)), "old1", "b2")))
	a.takes("returned", web1.change(named(state(found("bridge-mtu", "br0", trap.Critical), found("disk-full", "/", trap.Critical),
		found("invented", "x", trap.Notice)), "web1", "b1")))
	stops := beat(old1)
	stops.Why = message.Stopping
	a.takes("stops", stops)
	a.act("bad", func(ctx context.Context) error { return a.db.Bad(ctx, "db1", 0, "nonsense") })
	a.act("snapshot", a.db.Snapshot)
}
