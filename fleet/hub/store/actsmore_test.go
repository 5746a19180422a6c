package store_test

import (
	"context"
	"path/filepath"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/report"
)

func (a *actor) judging() {
	web, none := "web", ""
	acc := store.Accepted{Host: store.HostRef{Agent: "web1"}, Trap: "bridge-mtu", Subject: "br0", Reason: "r", Who: "ann", At: a.now,
		Until: a.now.Format(time.DateOnly)}
	a.act("accept", func(ctx context.Context) error { return a.db.Accept(ctx, acc, a.audit("accept", "web1")) })
	nothing := acc
	nothing.Subject = "none"
	a.act("accept nothing", func(ctx context.Context) error { return a.db.Accept(ctx, nothing, a.audit("accept", "web1")) })
	a.act("take nothing back", func(ctx context.Context) error { return a.db.Unaccept(ctx, nothing, a.audit("unaccept", "web1")) })
	other := store.Accepted{Host: store.HostRef{Agent: "db1"}, Trap: "disk-full", Subject: "/srv", Reason: "r", Who: "ann", At: a.now}
	a.act("accept on db1", func(ctx context.Context) error { return a.db.Accept(ctx, other, a.audit("accept", "db1")) })
	a.act("take it back", func(ctx context.Context) error { return a.db.Unaccept(ctx, other, a.audit("unaccept", "db1")) })
	for i, r := range []store.Rule{{Trap: "disk-full", Group: &web, Reason: "all of web", Who: "ann", At: a.now},
		{Trap: "disk-full", Label: "os=debian", Reason: "r", Who: "bob", At: a.now.Add(time.Second), Until: a.now.Format(time.DateOnly)},
		{Trap: "bridge-mtu", Group: &none, Reason: "r", Who: "bob", At: a.now}} {
		a.act("rule", func(ctx context.Context) error { return a.db.PutRule(ctx, r, 3-i, a.audit("rule", r.Trap)) })
	}
	a.does("count rules", func(ctx context.Context) (any, error) { _, err := a.db.CountRules(ctx); return "counted", err })
	a.does("rule 2", func(ctx context.Context) (any, error) { return a.db.Rule(ctx, 2) })
	a.does("no rule", func(ctx context.Context) (any, error) { return a.db.Rule(ctx, 9) })
	a.does("rules for db1", func(ctx context.Context) (any, error) {
		h, err := a.db.HostByAgent(ctx, "db1")
		if err != nil {
			return nil, err
		}
		return a.db.RulesFor(ctx, h)
	})
	a.reading("with rules")
	a.act("remove a rule", func(ctx context.Context) error { return a.db.RemoveRule(ctx, 1, a.audit("unrule", "disk-full")) })
	a.act("remove it again", func(ctx context.Context) error { return a.db.RemoveRule(ctx, 1, a.audit("unrule", "disk-full")) })
	a.does("count rules", func(ctx context.Context) (any, error) { _, err := a.db.CountRules(ctx); return "counted", err })
	prod := "prod"
	place := func(what string, p store.Placing, agents ...string) {
		a.act(what, func(ctx context.Context) error { return a.db.Place(ctx, agents, p, a.audit("place", "")) })
	}
	place("regroup", store.Placing{Group: &prod, Labels: map[string]string{"os": "debian", "x": "1"}, Name: "db-one"}, "db1", "old1")
	place("nobody", store.Placing{Group: &prod}, "db1", "nobody")
	place("back", store.Placing{OwnName: true, Remove: []string{"x"}}, "old1")
	c := store.Capture{At: a.now, Who: "ann", Taken: began, Fettle: "1", Size: 3, SHA256: "x"}
	a.act("attach", func(ctx context.Context) error {
		return a.db.Attach(ctx, "web1", c, []byte("abc"), a.audit("attach", "web1"))
	})
	a.act("attach", func(ctx context.Context) error {
		return a.db.Attach(ctx, "web1", c, []byte("def"), a.audit("attach", "web1"))
	})
	for _, id := range []int64{2, 9} {
		a.does("capture's host", func(ctx context.Context) (any, error) { return a.db.CaptureHost(ctx, id) })
		a.does("capture", func(ctx context.Context) (any, error) {
			c, b, agent, err := a.db.CaptureContent(ctx, id, a.audit("capture", ""))
			return []any{c, string(b), agent}, err
		})
		a.act("detach", func(ctx context.Context) error { return a.db.Detach(ctx, id, a.audit("detach", "")) })
	}
}

func (a *actor) packs() {
	file, err := message.NewPack("acme", 2, []byte("the file")).Pack()
	if err != nil {
		a.Fatal(err)
	}
	p := store.Pack{Name: "acme", Version: 2, Signer: "s", Canary: "web", Who: "ann", Wait: time.Hour, StopAt: 20,
		Traps: []string{"acme-full"}, File: file}
	a.act("offer", func(ctx context.Context) error { return a.db.Offer(ctx, p) })
	a.act("offer it again", func(ctx context.Context) error { return a.db.Offer(ctx, p) })
	web1, db1 := a.agent("web1"), a.agent("db1")
	beat := func(x *agent, has ...message.HasPack) *message.Message {
		m := packed(x.message(message.Beat), has...)
		m.Digest = x.last.Digest()
		return m
	}
	has := message.HasPack{Name: "acme", Version: 2}
	look := func(when string) {
		a.does(when, func(ctx context.Context) (any, error) { return a.db.Packs(ctx) })
		a.does("its hosts", func(ctx context.Context) (any, error) {
			l, n, err := a.db.PackHosts(ctx, "acme", 0, 9)
			return lists(l, n, err)
		})
	}
	a.takes("canary", beat(web1))
	a.takes("not yet", beat(db1))
	look("handed on")
	a.now = a.now.Add(time.Minute)
	a.takes("has it", beat(web1, has))
	a.takes("has it still", beat(web1, has))
	for range 3 {
		a.now = a.now.Add(time.Hour)
		a.does("judge", func(ctx context.Context) (any, error) { return a.db.Judge(ctx) })
	}
	a.takes("its turn", db1.whole(*db1.last), beat(db1))
	look("handed to all")
	a.takes("refused", beat(db1, message.HasPack{Name: "acme", Version: 2, Refused: "no key"}))
	want := func(name string) {
		m := web1.message(message.Want)
		web1.seq--
		m.Seq, m.Want, m.Instance = 1, name, "byhand"
		a.takes("wants "+name, m)
	}
	want("acme")
	want("none")
	a.does("judge", func(ctx context.Context) (any, error) { return a.db.Judge(ctx) })
	look("judged")
	want("acme")
	a.act("resume", func(ctx context.Context) error { return a.db.ResumePack(ctx, "acme", 60) })
	a.act("stop", func(ctx context.Context) error { return a.db.StopPack(ctx, "acme", "because") })
	a.act("stop none", func(ctx context.Context) error { return a.db.StopPack(ctx, "none", "because") })
	a.act("resume none", func(ctx context.Context) error { return a.db.ResumePack(ctx, "none", 1) })
	look("stopped")
}

func (a *actor) users() {
	u := store.User{Name: "ann", Role: store.Operator, Sees: store.AllGroups, Password: "p", Created: a.now}
	a.act("user", func(ctx context.Context) error { return a.db.PutUser(ctx, u) })
	a.act("user", func(ctx context.Context) error { return a.db.PutUser(ctx, store.User{Name: "bob", Role: store.Reader}) })
	a.does("ann", func(ctx context.Context) (any, error) { return a.db.User(ctx, "ann") })
	a.does("none", func(ctx context.Context) (any, error) { return a.db.User(ctx, "none") })
	a.does("users", func(ctx context.Context) (any, error) { return a.db.Users(ctx) })
	s := store.Session{Hash: "s1", User: "ann", Role: store.Operator, Sees: store.AllGroups, How: "password", Created: a.now, Seen: a.now,
		Expires: a.now.Add(time.Hour), Password: "p"}
	put := func(what string, s store.Session) {
		a.act(what, func(ctx context.Context) error { return a.db.PutSession(ctx, s) })
	}
	put("log in", s)
	s.Hash, s.Password = "s2", "of before"
	put("with the password of before", s)
	s.Hash, s.Password, s.How, s.Note = "s3", "", "token", "for a program"
	put("a token", s)
	s.Hash, s.How = "s4", "oidc"
	put("by OpenID Connect", s)
	a.act("confirm", func(ctx context.Context) error {
		return a.db.ConfirmSession(ctx, "s4", store.Reader, store.OnlyGroups("web"), a.now.Add(time.Minute))
	})
	a.act("touch", func(ctx context.Context) error { return a.db.TouchSession(ctx, "s1", a.now.Add(time.Minute)) })
	for _, hash := range []string{"s1", "s2", "s3", "s4"} {
		a.does("session "+hash, func(ctx context.Context) (any, error) { return a.db.Session(ctx, hash) })
	}
	a.does("tokens", func(ctx context.Context) (any, error) { return a.db.Tokens(ctx) })
	a.does("end sessions", func(ctx context.Context) (any, error) { return a.db.EndSessions(ctx, "ann", false) })
	a.does("and tokens", func(ctx context.Context) (any, error) { return a.db.EndSessions(ctx, "ann", true) })
	put("log in", s)
	a.act("log out", func(ctx context.Context) error { return a.db.DropSession(ctx, "s4") })
	a.act("device", func(ctx context.Context) error {
		return a.db.PutDevice(ctx, store.Device{Hash: "d", User: "ann", From: "192.0.2.1", At: a.now})
	})
	a.does("logged in before", func(ctx context.Context) (any, error) {
		b, f, err := a.db.LoggedInBefore(ctx, "ann", "d", "192.0.2.2")
		return []bool{b, f}, err
	})
	a.act("drop a user", func(ctx context.Context) error { return a.db.DropUser(ctx, "ann") })
	a.act("drop nobody", func(ctx context.Context) error { return a.db.DropUser(ctx, "none") })
	at := store.Attempt{From: "192.0.2.9", Why: "password", Name: "root", Count: 0, First: a.now, Last: a.now}
	a.act("attempts", func(ctx context.Context) error { return a.db.AddAttempts(ctx, []store.Attempt{at, at}) })
	a.does("attempts", func(ctx context.Context) (any, error) { l, n, err := a.db.Attempts(ctx, 0, 9); return lists(l, n, err) })
	a.act("audit", func(ctx context.Context) error { return a.db.AddAudit(ctx, a.audit("log in", "")) })
	a.act("ping", a.db.Ping)
	a.act("writable", a.db.Writable)
	for _, who := range []string{"one", "two", "one"} {
		a.does("lease for "+who, func(ctx context.Context) (any, error) { return a.db.Lease(ctx, "l", who, time.Minute) })
	}
	a.act("release", func(ctx context.Context) error { return a.db.Release(ctx, "l", "one") })
	a.act("abandon", a.db.Abandon)
}

func (a *actor) channels() {
	for _, least := range []int{1, 2, 3} {
		a.does("untold", func(ctx context.Context) (any, error) { return a.db.Untold(ctx, "mail", least, a.now.Add(-time.Hour)) })
	}
	a.does("untold, none silent", func(ctx context.Context) (any, error) { return a.db.Untold(ctx, "mail", 1, time.Time{}) })
	news, err := a.db.Untold(a.Context(), "mail", 1, a.now.Add(-time.Hour))
	if err != nil || len(news) < 3 {
		a.Fatalf("%+v, %v", news, err)
	}
	a.does("a new channel", func(ctx context.Context) (any, error) { return a.db.ChannelState(ctx, "mail") })
	s := store.ChannelState{Waiting: a.now, Sent: a.now.Add(1e9), Digest: a.now.Add(2e9), Windows: a.now.Add(3e9),
		Message: []byte("m"), Tries: 2, Retry: a.now.Add(4e9), Failed: "why"}
	a.act("tell", func(ctx context.Context) error { return a.db.Tell(ctx, "mail", s, news, nil) })
	a.does("the channel", func(ctx context.Context) (any, error) { return a.db.ChannelState(ctx, "mail") })
	a.does("told", func(ctx context.Context) (any, error) { return a.db.Told(ctx, "mail", a.now.Add(-time.Hour)) })
	a.does("told, none silent", func(ctx context.Context) (any, error) { return a.db.Told(ctx, "mail", time.Time{}) })
	a.does("untold now", func(ctx context.Context) (any, error) { return a.db.Untold(ctx, "mail", 1, a.now.Add(-time.Hour)) })
	told, err := a.db.Told(a.Context(), "mail", time.Time{})
	if err != nil {
		a.Fatal(err)
	}
	a.act("tell of ends", func(ctx context.Context) error { return a.db.Tell(ctx, "mail", store.ChannelState{}, nil, told[:1]) })
	a.does("told", func(ctx context.Context) (any, error) {
		l, err := a.db.Told(ctx, "mail", time.Time{})
		return len(l), err
	})
	a.act("tell another", func(ctx context.Context) error { return a.db.Tell(ctx, "hook", s, news[:1], nil) })
	a.act("keep channels", func(ctx context.Context) error { return a.db.KeepChannels(ctx, []string{"mail"}) })
	a.does("of another", func(ctx context.Context) (any, error) {
		l, err := a.db.Told(ctx, "hook", time.Time{})
		return len(l), err
	})
	a.does("lapse", func(ctx context.Context) (any, error) { return a.db.Lapse(ctx) })
}

func (a *actor) twins() {
	a.does("lapse on the next day", func(ctx context.Context) (any, error) { _, err := a.db.Lapse(ctx); return "done", err })
	old1 := a.agent("old1")
	other := &agent{name: "old1", instance: "clone"}
	m := other.whole(named(state(found("disk-full", "/clone", trap.Critical)), "clone", "b9"))
	m.Self = &message.Self{Machine: "m2"}
	a.takes("a clone", m)
	m = old1.whole(named(state(found("disk-full", "/", trap.Warning)), "old1", "b2"))
	m.Self = &message.Self{Machine: "m1"}
	a.takes("the host itself", m)
	beat := other.message(message.Beat)
	beat.Self = &message.Self{Machine: "m2"}
	a.takes("a beat", beat)
	change := other.change(named(state(), "clone", "b9"))
	change.Self = &message.Self{Machine: "m2"}
	a.takes("a change", change)
	own := found("disk-full", "/own", trap.Warning)
	own.Outcomes = append(own.Outcomes, found("disk-full", "/lapsed", trap.Warning).Outcomes...)
	own.Outcomes[0].Accepted = &trap.Acceptance{Reason: "r"}
	own.Outcomes[1].Accepted = &trap.Acceptance{Reason: "r", Lapsed: "it was until yesterday"}
	lost := a.agent("db1").whole(named(state(found(report.NotAsBefore.ID(), "nginx.service", trap.Warning), own), "db1", "b2"))
	lost.Self = &message.Self{Compared: "b2"}
	a.takes("restarted", lost)
	restored := &agent{name: "back1", instance: "one"}
	a.takes("restored", restored.message(message.Beat))
	a.act("bounds", func(context.Context) error {
		a.db.SetBounds(store.Bounds{ChangesADay: 1, BytesADay: 1 << 20, ChangesInAll: 3, Past: 1, WorkADay: 5})
		return nil
	})
	web1 := a.agent("web1")
	for _, subject := range []string{"/a", "/b", "/c"} {
		both := state(found("disk-full", subject, trap.Warning), found("bridge-mtu", subject, trap.Warning))
		a.takes("many", web1.whole(named(both, "web1", "b1")))
	}
	a.does("fold", func(ctx context.Context) (any, error) { return a.db.Fold(ctx) })
}

func (a *actor) ending() {
	a.act("rekey", func(ctx context.Context) error { return a.db.Rekey(ctx, 4) })
	a.act("rekey nobody", func(ctx context.Context) error { return a.db.Rekey(ctx, 99) })
	a.act("revoke", func(ctx context.Context) error {
		return a.db.Revoke(ctx, []store.RevokedKey{{Key: "Uold", Agent: "other", At: began},
			{Key: "Udb1", Agent: "db1", Retired: true, At: began}, {Key: "Ussh2", Agent: "ssh1", At: began}})
	})
	a.act("retire", func(ctx context.Context) error { return a.db.Retire(ctx, 1) })
	a.act("retire again", func(ctx context.Context) error { return a.db.Retire(ctx, 1) })
	tok := store.Token{Hash: "again2", Expires: a.now.Add(time.Hour), Uses: 1, Agent: "db1"}
	a.act("token", func(ctx context.Context) error { return a.db.AddToken(ctx, tok) })
	j := store.Joining{Agent: "new", Host: "db1", Key: "Udb1c", How: "token"}
	a.does("join after it was retired", func(ctx context.Context) (any, error) { return a.db.JoinByToken(ctx, "again2", j) })
	a.act("forget", func(ctx context.Context) error { return a.db.Forget(ctx, 4) })
	a.act("forget again", func(ctx context.Context) error { return a.db.Forget(ctx, 4) })
	a.act("know others", func(ctx context.Context) error { return a.db.Know(ctx, []string{"bridge-mtu"}) })
	a.now = a.now.AddDate(0, 0, 200)
	a.does("prune", func(ctx context.Context) (any, error) { return a.db.Prune(ctx, a.now.AddDate(0, 0, -1)) })
	file := filepath.Join(storetest.Dir(a.T), "copy.db")
	a.act("copy", func(ctx context.Context) error { return a.db.CopyTo(ctx, file) })
}
