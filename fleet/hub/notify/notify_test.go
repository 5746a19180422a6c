package notify_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/notify"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/host"
	"fettle/internal/config"
	"fettle/internal/means"
	"fettle/report"
	deliver "fettle/report/notify"
)

func TestMain(m *testing.M) { os.Exit(storetest.Run(m)) }

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.Local) // a Tuesday

// receiver notes what is delivered, and may be down.
type receiver struct {
	down     bool
	tries    int
	messages []*deliver.Message
	alerts   []string
}

func (r *receiver) Deliver(_ context.Context, _ *config.Channel, m *deliver.Message) error {
	r.tries++
	if r.down {
		return errors.New("down")
	}
	r.messages = append(r.messages, m)
	return nil
}

func (r *receiver) Alerts(_ context.Context, _ *config.Channel, list []deliver.Alert, _ time.Time) error {
	if r.down {
		return errors.New("down")
	}
	for _, a := range list {
		r.alerts = append(r.alerts, fmt.Sprintf("%s %s %s ended=%v", a.Host, a.Trap, a.Severity, a.Ended))
	}
	return nil
}

// fleet is a database with hosts that report, and a clock.
type fleet struct {
	t   *testing.T
	db  *store.DB
	now time.Time
	seq map[string]int64
	got receiver
	// compared is the boot that hosts say they compared.
	compared string
	n        *notify.Notifier
}

func newFleet(t *testing.T, db *store.DB, settings string) *fleet {
	f := &fleet{t: t, db: db, now: noon, seq: map[string]int64{}}
	f.n = f.hub(settings, "one")
	return f
}

func (f *fleet) hub(settings, holder string) *notify.Notifier {
	f.t.Helper()
	return &notify.Notifier{DB: f.db, Sender: &f.got, Settings: settingsOf(f.t, settings), Hub: "hub", Silent: 3 * time.Hour, Holder: holder,
		Log: func(s string) { f.t.Log(s) }, Now: func() time.Time { return f.now }, Started: noon.Add(-24 * time.Hour)}
}

func settingsOf(t *testing.T, text string) *notify.Settings {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notify.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := notify.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (f *fleet) reports(name, group, boot string, outcomes ...trap.Outcome) {
	f.t.Helper()
	if f.seq[name] == 0 {
		tok := store.Token{Hash: name, Created: time.Now(), Expires: time.Now().Add(time.Hour), Uses: 1, Group: group}
		if err := f.db.AddToken(f.t.Context(), tok); err != nil {
			f.t.Fatal(err)
		}
		if _, err := f.db.JoinByToken(f.t.Context(), name, store.Joining{Agent: name, Host: name, Key: "U" + name, How: "token"}); err != nil {
			f.t.Fatal(err)
		}
	}
	f.seq[name]++
	meta := report.Meta{Host: name, Kind: host.KindLive, Version: "1", Started: f.now}
	meta.Identity.BootID = boot
	var results []trap.Result
	for _, id := range []string{"a", "b", "not-as-before"} {
		r := trap.Result{Trap: id}
		for _, o := range outcomes {
			if o.Trap == id {
				r.Outcomes = append(r.Outcomes, o)
			}
		}
		if len(r.Outcomes) == 0 {
			r.Outcomes = []trap.Outcome{{Trap: id, Status: trap.Clear}}
		}
		results = append(results, r)
	}
	s := message.StateOf(report.NewDocument(meta, nil, results, time.Second))
	m := message.New(message.Whole)
	m.Agent, m.Instance, m.Seq, m.Sent = name, "one", f.seq[name], f.now
	m.Digest, m.Run = s.Digest(), &message.Run{Meta: &s.Meta, Traps: s.Traps, Results: s.Results}
	m.Self = &message.Self{Compared: f.compared}
	res, err := f.db.Ingest(f.t.Context(), []store.Item{{Message: m, Key: "U" + name, At: f.now}})
	if err != nil || res[0].Verdict != store.Taken {
		f.t.Fatal(res, err)
	}
}

func found(id string, sev trap.Severity) trap.Outcome {
	return trap.Outcome{Trap: id, Subject: "x", Status: trap.Found, Severity: sev, Summary: id + " is met"}
}

// after lets time pass, and then two rounds: one gathers, one tells.
func (f *fleet) after(d time.Duration) string {
	f.t.Helper()
	f.now = f.now.Add(d)
	f.round()
	f.now = f.now.Add(time.Minute)
	f.round()
	return f.taken()
}

func (f *fleet) round() {
	f.t.Helper()
	if err := f.n.Round(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) taken() string {
	var out []string
	for _, m := range f.got.messages {
		out = append(out, m.Text)
	}
	out = append(out, f.got.alerts...)
	f.got.messages, f.got.alerts = nil, nil
	return strings.Join(out, "\n")
}

func want(t *testing.T, when, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", when, got, want)
	}
}

const mail = "channels:\n- mail: ops@example.org\n"

// TestOneMessageForManyHosts, and nothing where nothing changed.
func TestOneMessageForManyHosts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := newFleet(t, db, mail)
		for i := range 60 {
			f.reports(fmt.Sprintf("web%02d", i), "web", "", found("a", trap.Critical))
		}
		f.round()
		want(t, "it gathers", f.taken(), "")
		f.now = f.now.Add(time.Minute)
		f.round()
		m := f.got.messages[0]
		if len(m.New) != 1 || m.New[0].OnHosts != 60 || len(m.New[0].Hosts) != 60 {
			t.Errorf("%+v", m.New)
		}
		want(t, "sixty hosts", f.taken(), "hub: 60 new (60 critical) on 60 hosts")
		want(t, "nothing changed", f.after(time.Minute), "")
		f.reports("web00", "web", "")
		want(t, "one is resolved", f.after(time.Minute), "hub: 1 resolved on 1 host")
		f.reports("web01", "web", "", trap.Outcome{Trap: "a", Status: trap.Unknown, Reason: "denied"})
		want(t, "the check cannot look", f.after(time.Minute), "")
		f.reports("web01", "web", "", found("a", trap.Critical))
		want(t, "and it is still there", f.after(time.Minute), "")
		f.reports("web02", "web", "", found("a", trap.Notice))
		want(t, "milder", f.after(time.Minute), "")
		f.reports("web02", "web", "", found("a", trap.Warning))
		want(t, "graver", f.after(time.Minute), "hub: 1 new (1 warning) on 1 host")
	})
}

// TestSilentHosts: silent hosts are reported, and that they speak again; not while a hub that has
// just started has not heard of them.
func TestSilentHosts(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), mail)
	f.reports("web1", "web", "")
	f.reports("web2", "web", "")
	want(t, "none", f.after(2*time.Hour), "")
	f.reports("web2", "web", "")
	f.n.Started = f.now.Add(65 * time.Minute)
	want(t, "the hub has just started", f.after(70*time.Minute), "")
	want(t, "silent", f.after(15*time.Minute), "hub: 1 new (1 warning) on 1 host")
	f.reports("web1", "web", "")
	f.reports("web2", "web", "")
	want(t, "it speaks again", f.after(time.Minute), "hub: 1 resolved on 1 host")
}

// TestStoppedPack: a pack that is stopped is one message to who is told of its canaries' group, and one when it goes on.
func TestStoppedPack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := newFleet(t, db, mail+"- {mail: web@example.org, groups: [web]}\n- {mail: grave@example.org, severity: critical}\n"+
			"- {mail: prod@example.org, labels: [env=prod]}\n- {mail: test@example.org, groups: [test], traps: [pack-stopped]}\n")
		offer := func(version int) {
			t.Helper()
			if err := db.Offer(t.Context(), store.Pack{Name: "acme", Version: version, Canary: "test", File: []byte("x")}); err != nil {
				t.Fatal(err)
			}
		}
		offer(1)
		want(t, "offered", f.after(0), "")
		if err := db.StopPack(t.Context(), "acme", "of 3 hosts, 2 find more"); err != nil {
			t.Fatal(err)
		}
		f.round()
		f.now = f.now.Add(time.Minute)
		f.round()
		if len(f.got.messages) == 0 || f.got.messages[0].New[0].Trap != store.PackStopped || f.got.messages[0].New[0].Subject != "acme" ||
			f.got.messages[0].New[0].Hosts[0] != "hub" ||
			f.got.messages[0].New[0].Summary != "hosts get version 1 no more: of 3 hosts, 2 find more" {
			t.Errorf("%+v", f.got.messages)
		}
		want(t, "stopped", f.taken(), "hub: 1 new (1 warning) on 1 host\nhub: 1 new (1 warning) on 1 host")
		want(t, "still so", f.after(time.Hour), "")
		offer(2)
		want(t, "a newer version", f.after(time.Minute), "hub: 1 resolved on 1 host\nhub: 1 resolved on 1 host")
		want(t, "and no more of it", f.after(time.Hour), "")
	})
}

// TestRestart says which findings a host came back with.
func TestRestart(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), mail)
	f.reports("web1", "web", "boot1", found("a", trap.Critical))
	f.after(0)
	f.now = f.now.Add(time.Hour)
	f.reports("web1", "web", "boot2", found("a", trap.Critical), found("b", trap.Warning))
	f.round()
	f.now = f.now.Add(time.Minute)
	f.round()
	if len(f.got.messages) != 1 || len(f.got.messages[0].New) != 1 || !f.got.messages[0].New[0].Restarted {
		t.Fatalf("%+v", f.got.messages)
	}
}

// TestDelivery: a restart, a receiver that is down and a second hub neither lose nor
// repeat a message.
func TestDelivery(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), mail)
	f.reports("web1", "web", "", found("a", trap.Critical))
	f.got.down = true
	want(t, "down", f.after(0), "")
	f.reports("web2", "web", "", found("a", trap.Critical))
	f.n = f.hub(mail, "one") // started again
	f.got.down = false
	want(t, "what was to be said, then what came meanwhile", f.after(time.Minute)+"\n"+f.after(time.Minute),
		"hub: 1 new (1 critical) on 1 host\nhub: 1 new (1 critical) on 1 host")
	other := f.hub(mail, "two")
	f.reports("web3", "web", "", found("a", trap.Critical))
	for range 8 {
		f.now = f.now.Add(30 * time.Second)
		for _, n := range []*notify.Notifier{other, f.n} {
			if err := n.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	want(t, "two hubs", f.taken(), "hub: 1 new (1 critical) on 1 host")
}

// TestReceiverIsDown: it is tried again after a quarter of a minute, half a one and so on, half an hour at last, and that it
// fails is said once until it has had a message.
func TestReceiverIsDown(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), "channels:\n- {mail: ops@example.org, gather: 0s}\n")
	var said []string
	f.n.Log = func(s string) { said = append(said, s) }
	f.reports("web1", "web", "", found("a", trap.Critical))
	f.got.down = true
	f.round()
	for i, wait := range append([]time.Duration{15, 30, 60, 120, 240, 480, 960}, slices.Repeat([]time.Duration{1800}, 60)...) { // over a night
		for _, c := range []struct {
			d     time.Duration
			tries int
		}{{wait*time.Second - 1, i + 1}, {1, i + 2}} {
			f.now = f.now.Add(c.d)
			if f.round(); f.got.tries != c.tries {
				t.Fatalf("%d tries after %d waits, want %d", f.got.tries, i, c.tries)
			}
		}
	}
	f.now = f.now.Add(30 * time.Minute)
	const down = "telling mail to ops@example.org: down"
	if f.round(); !slices.Equal(said, []string{down}) {
		t.Errorf("said %q", said)
	}
	f.got.down, f.now = false, f.now.Add(30*time.Minute)
	f.round()
	f.got.down, f.now = true, f.now.Add(time.Minute)
	f.reports("web2", "web", "", found("a", trap.Critical))
	if f.round(); !slices.Equal(said, []string{down, down}) {
		t.Errorf("down a second time: said %q", said)
	}
}

// TestBrokenDatabase: where a table is gone, a channel is told all of it or nothing, what failed is said, and what is due
// is told when the table is there again.
func TestBrokenDatabase(t *testing.T) {
	finds := func(f *fleet, day int) {
		f.reports("web1", "web", "", found([]string{"a", "b"}[day%2], trap.Critical))
	}
	for what, c := range map[string]struct {
		settings, tables, want string
		due                    func(f *fleet, day int) // something is to be told
	}{
		"changes": {"channels:\n- {mail: ops@example.org, gather: 0s}\n",
			"channels told packs totals INSERT_ON_told DELETE_ON_told UPDATE_ON_channels",
			"hub: 1 new (1 critical), 1 resolved on 1 host, 1 found", finds},
		"a digest": {"channels:\n- {mail: ops@example.org, digest: daily}\n", "totals cells changes", "2 new, 2 resolved, 1 found", finds},
		"alerts":   {"channels:\n- {alertmanager: \"http://127.0.0.1:9093\"}\n", "told", " critical ended=false", finds},
		"windows": {mail + "maintenance:\n- {from: \"02:00\", to: \"04:00\"}\n", "instances hosts",
			"): 1 host restarted, 1 not compared, 0 found", func(f *fleet, day int) {
				now := f.now
				f.now = now.Add(-9 * time.Hour) // three o'clock
				f.reports("web1", "web", fmt.Sprint(day))
				f.now = now
			}},
	} {
		file := filepath.Join(storetest.Dir(t), "hub.db")
		f := newFleet(t, storetest.Open(t, file), c.settings)
		f.n.Silent = 0
		said := 0
		f.n.Log = func(string) { said++ }
		raw, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=legacy_alter_table(ON)")
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		raw.SetMaxOpenConns(1)
		exec := func(q string) {
			t.Helper()
			if _, err := raw.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		told := func() (string, bool) {
			err := f.n.Round(t.Context())
			for _, m := range f.got.messages {
				m.Text += fmt.Sprintf(", %d found", m.Counts.Found)
			}
			got := f.taken()
			return got, err != nil
		}
		day := 0
		tomorrow := func() {
			day++
			f.now = noon.Add(time.Duration(day) * 24 * time.Hour)
			c.due(f, day)
		}
		for range 2 {
			tomorrow()
			told()
		}
		tomorrow()
		if got, failed := told(); !strings.HasSuffix(got, c.want) || failed || said > 0 {
			t.Fatalf("%s: %q, want %q", what, got, c.want)
		}
		for table := range strings.FieldsSeq(c.tables) {
			tomorrow()
			had := said
			breaks, mends := "ALTER TABLE "+table+" RENAME TO gone", "ALTER TABLE gone RENAME TO "+table
			if strings.Contains(table, "_ON_") {
				breaks = "CREATE TRIGGER full BEFORE " + strings.ReplaceAll(table, "_", " ") + " BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
				mends = "DROP TRIGGER full"
			}
			exec(breaks)
			got, failed := told()
			exec(mends)
			if got == "" {
				if !failed && said == had {
					t.Errorf("%s, without %s: nobody is told, and nothing is said", what, table)
				}
				got, _ = told()
			}
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("%s, without %s: %q, want %q", what, table, got, c.want)
			}
		}
	}
}

// TestUnreadableRows: nobody is told what a row does not say, and that it could not be read is said.
func TestUnreadableRows(t *testing.T) {
	const labelled = "channels:\n- {mail: ops@example.org, gather: 0s"
	const night = "maintenance:\n- {from: \"11:00\", to: \"13:00\", labels: env=prod}\n"
	for what, c := range map[string]struct{ settings, spoils string }{
		"a message":                  {labelled + "}\n", `UPDATE channels SET message = '{"text": 1}'`},
		"a host's labels":            {labelled + ", labels: env=prod}\n", "UPDATE hosts SET labels = '{'"},
		"those of what was told":     {labelled + ", labels: [env=prod]}\n", "UPDATE hosts SET labels = '{'"},
		"its labels, in maintenance": {labelled + "}\n" + night, "UPDATE hosts SET labels = '{'"},
	} {
		file := filepath.Join(storetest.Dir(t), "hub.db")
		f := newFleet(t, storetest.Open(t, file), c.settings)
		var said []string
		f.n.Log = func(s string) { said = append(said, s) }
		f.reports("web1", "web", "")
		f.round()
		f.reports("web1", "web", "", found("a", trap.Critical))
		switch what {
		case "a message": // it waits
			f.got.down = true
			f.round()
			f.got.down, said, f.now = false, nil, f.now.Add(time.Minute)
		case "those of what was told":
			f.label("web1", store.Placing{Labels: map[string]string{"env": "prod"}})
			f.round()
			want(t, what, f.taken(), "hub: 1 new (1 critical) on 1 host")
			f.reports("web1", "web", "")
		}
		raw, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := raw.Exec(c.spoils); err != nil {
			t.Fatal(err)
		}
		raw.Close()
		f.round()
		if got := f.taken(); got != "" || len(said) != 1 || !strings.HasPrefix(said[0], "telling ") {
			t.Errorf("%s: told %q, said %q", what, got, said)
		}
	}
}

// TestClockSetBack: what was gathered when the clock showed a later time is told.
func TestClockSetBack(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), "channels:\n- {mail: ops@example.org, gather: 1m}\n")
	f.reports("web1", "web", "")
	f.round()
	f.reports("web1", "web", "", found("a", trap.Critical))
	f.round()
	f.now = f.now.Add(59 * time.Second)
	f.round()
	want(t, "it gathers", f.taken(), "")
	f.now = f.now.Add(-2 * time.Hour)
	f.round()
	want(t, "set back", f.taken(), "hub: 1 new (1 critical) on 1 host")
}

// TestSeverities: a channel is told of findings from its severity on, and when they end, unless they had become milder; and what
// became milder is told when it is as grave as before.
func TestSeverities(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), "channels:\n- {mail: ops@example.org, gather: 0s, severity: warning}\n")
	at := func(sev trap.Severity) {
		f.now = f.now.Add(time.Minute)
		f.reports("web1", "web", "", found("a", sev))
		f.round()
	}
	at(trap.Critical)
	want(t, "critical", f.taken(), "hub: 1 new (1 critical) on 1 host")
	at(trap.Warning)
	want(t, "a warning", f.taken(), "")
	f.reports("web1", "web", "")
	f.round()
	want(t, "none", f.taken(), "hub: 1 resolved on 1 host")
	at(trap.Warning)
	want(t, "again", f.taken(), "hub: 1 new (1 warning) on 1 host")
	at(trap.Warning)
	at(trap.Warning)
	want(t, "still", f.taken(), "")
	at(trap.Notice)
	f.reports("web1", "web", "")
	f.round()
	want(t, "a notice, then none", f.taken(), "")

	f.reports("web1", "web", "", found("a", trap.Critical))
	f.reports("web2", "web", "", found("a", trap.Critical))
	f.round()
	want(t, "two", f.taken(), "hub: 2 new (2 critical) on 2 hosts")
	f.reports("web1", "web", "", found("a", trap.Warning))
	if err := f.db.Accept(t.Context(), store.Accepted{Host: store.HostRef{Agent: "web2"}, Trap: "a", Subject: "x", Reason: "r", Who: "me",
		At: f.now}, store.Audit{At: f.now, Who: "me", What: "accept"}); err != nil {
		t.Fatal(err)
	}
	f.round()
	want(t, "one is milder, one accepted", f.taken(), "")
	at(trap.Critical)
	want(t, "it is as it was", f.taken(), "hub: 1 new (1 critical) on 1 host")
}

// TestDigestOfGroups: of a trap it counts the hosts of all groups.
func TestDigestOfGroups(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), "channels:\n- {mail: boss@example.org, digest: daily}\n")
	for group, n := range map[string]int{"web": 1, "app": 2} {
		for rank, sev := range []trap.Severity{trap.Critical, trap.Warning, trap.Notice} {
			for i := range n + rank {
				f.reports(fmt.Sprint(group, rank, i), group, "", found("a", sev))
			}
		}
	}
	f.round()
	f.now, f.n.Silent = noon.Add(19*time.Hour), 0
	f.round()
	if text := f.got.messages[0].Plain; !strings.Contains(text, "\n  a: 3 critical, 5 warning, 7 notice, 15 hosts\n") {
		t.Error(text)
	}
}

// TestOneHubAtATime: while one hub tells, another on the same database does not.
func TestOneHubAtATime(t *testing.T) {
	const settings = "channels:\n- {mail: ops@example.org, gather: 0s}\n"
	f := newFleet(t, storetest.SQLite(t), settings)
	f.round()
	f.reports("web1", "web", "", found("a", trap.Critical))
	if err := f.hub(settings, "two").Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "the other", f.taken(), "")
	f.round()
	want(t, "the one", f.taken(), "hub: 1 new (1 critical) on 1 host")
}

// TestDigestOfSome: a digest is about its channel's groups and traps alone, wherever they stand among the others.
func TestDigestOfSome(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), "channels:\n- {mail: boss@example.org, digest: daily, groups: web, traps: b}\n")
	f.reports("app1", "app", "", found("a", trap.Critical), found("b", trap.Critical))
	f.reports("web1", "web", "", found("a", trap.Critical), found("b", trap.Warning))
	f.round()
	f.now = noon.Add(19 * time.Hour)
	f.n.Silent = 0
	f.round()
	if text := f.got.messages[0].Plain; !strings.HasPrefix(text, "hub: 1 host, 1 critical, 1 warning,") ||
		!strings.Contains(text, "\n  b: 0 critical, 1 warning, 0 notice, 1 host\n") || strings.Contains(text, "\n  a: ") {
		t.Error(text)
	}
}

// TestRoutes: groups, traps and severities choose a channel.
func TestRoutes(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), `channels:
- {mail: web@example.org, groups: [web], severity: critical}
- {mail: a@example.org, traps: "a*"}
`)
	f.reports("web1", "web", "", found("a", trap.Warning), found("b", trap.Critical))
	f.reports("db1", "db", "", found("a", trap.Critical))
	want(t, "both", f.after(0), "hub: 1 new (1 critical) on 1 host\nhub: 2 new (1 critical, 1 warning) on 2 hosts")
}

// TestLabels: labels of hosts choose a channel, a window and what a digest counts; a host
// that loses its label is no longer of the channel.
func TestLabels(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		f := newFleet(t, db, `channels:
- {mail: prod@example.org, labels: [env=prod, rack]}
- {mail: test@example.org, labels: env=test}
- {mail: boss@example.org, labels: env=prod, digest: daily, at: "07:00"}
maintenance:
- {labels: env=test, from: "11:00", to: "12:30"}
`)
		for name, labels := range map[string]map[string]string{"web1": {"env": "prod", "rack": "a"}, "web2": {"env": "prod"},
			"web3": {"env": "test", "rack": "b"}} {
			f.reports(name, "web", "")
			f.label(name, store.Placing{Labels: labels})
			f.reports(name, "web", "", found("a", trap.Critical))
		}
		want(t, "one host has both", f.after(0), "hub: 1 new (1 critical) on 1 host")
		want(t, "maintenance ends", f.after(35*time.Minute), "hub: 1 new (1 critical) on 1 host")
		f.label("web1", store.Placing{Remove: []string{"rack"}})
		f.reports("web1", "web", "")
		want(t, "it has lost its label", f.after(0), "")
		f.now = noon.Add(19 * time.Hour)
		f.n.Silent = 0
		f.round()
		want(t, "the digest", f.taken(), "hub: 2 hosts, 1 critical, 0 warning, 0 notice; 2 new, 1 resolved")
	})
}

func (f *fleet) label(name string, p store.Placing) {
	f.t.Helper()
	if err := f.db.Place(f.t.Context(), []string{name}, p, store.Audit{At: f.now, Who: "me", What: "set host"}); err != nil {
		f.t.Fatal(err)
	}
}

// TestQuiet: at night the gravest alone, in the morning what is still so.
func TestQuiet(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), mail+"  quiet: {from: \"22:00\", to: \"07:00\", except: critical}\n")
	f.now = noon.Add(11 * time.Hour)
	f.reports("web1", "web", "", found("a", trap.Critical), found("b", trap.Warning))
	want(t, "at night", f.after(0), "hub: 1 new (1 critical) on 1 host")
	f.reports("web1", "web", "", found("b", trap.Warning))
	want(t, "and not that it is over", f.after(time.Hour), "")
	f.now = noon.Add(20 * time.Hour)
	f.reports("web1", "web", "", found("b", trap.Warning))
	want(t, "in the morning", f.after(0), "hub: 1 new (1 warning), 1 resolved on 1 host")
}

// TestMaintenance: hosts in maintenance are reported when it ends.
func TestMaintenance(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), mail+`maintenance:
- {groups: web, from: "11:00", to: "13:00", days: [tue]}
- {hosts: "db*", from: "2026-11-24 10:00", to: "2026-11-24 12:30"}
`)
	f.reports("web1", "web", "", found("a", trap.Critical))
	f.reports("db1", "db", "", found("a", trap.Critical))
	f.reports("app1", "app", "", found("a", trap.Critical))
	want(t, "during both", f.after(0), "hub: 1 new (1 critical) on 1 host")
	want(t, "one ended", f.after(35*time.Minute), "hub: 1 new (1 critical) on 1 host")
	want(t, "both ended", f.after(30*time.Minute), "hub: 1 new (1 critical) on 1 host")
}

// TestAlerts end with their finding, however it ends.
func TestAlerts(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), "channels:\n- {alertmanager: \"http://127.0.0.1:9093\", valid: 4h}\n")
	f.reports("web1", "web", "", found("a", trap.Warning))
	want(t, "new", f.after(0), "web1 a warning ended=false")
	f.reports("web1", "web", "", found("a", trap.Critical))
	want(t, "regraded", f.after(0), "web1 a warning ended=true\nweb1 a critical ended=false")
	want(t, "nothing", f.after(10*time.Minute), "")
	want(t, "renewed", f.after(time.Hour), "web1 a critical ended=false")
	f.now = f.now.Add(time.Hour - time.Minute - 1)
	f.round()
	want(t, "not within a quarter of its time", f.taken(), "")
	f.now = f.now.Add(1)
	f.round()
	want(t, "after a quarter", f.taken(), "web1 a critical ended=false")
	var said []string
	f.n.Log = func(s string) { said = append(said, s) }
	f.reports("web1", "web", "", found("a", trap.Critical))
	f.got.down = true
	if want(t, "down", f.after(2*time.Hour), ""); !slices.Equal(said, []string{"telling alertmanager http://127.0.0.1:9093: down"}) {
		t.Errorf("said %q", said)
	}
	f.got.down = false
	want(t, "up", f.after(time.Minute), "web1 a critical ended=false")
	f.reports("web1", "web", "", found("b", trap.Warning))
	want(t, "one for another", f.after(0), "web1 a critical ended=true\nweb1 b warning ended=false")
	f.reports("web1", "web", "", found("a", trap.Critical))
	want(t, "and back", f.after(0), "web1 b warning ended=true\nweb1 a critical ended=false")
	if err := f.db.Accept(t.Context(), store.Accepted{Host: store.HostRef{Agent: "web1"}, Trap: "a", Subject: "x", Reason: "r", Who: "me",
		At: f.now}, store.Audit{At: f.now, Who: "me", What: "accept"}); err != nil {
		t.Fatal(err)
	}
	want(t, "accepted", f.after(0), "web1 a critical ended=true")
}

// TestDigestOfHubThatStarts: while agents have not come back yet, none is called silent.
func TestDigestOfHubThatStarts(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), "channels:\n- {mail: boss@example.org, digest: daily, at: \"07:00\"}\n")
	f.reports("web1", "web", "")
	f.after(0)
	f.now = noon.Add(43 * time.Hour)
	f.n.Started = f.now.Add(-time.Minute)
	want(t, "a hub that was down for a day", f.after(0), "hub: 1 host, 0 critical, 0 warning, 0 notice; 0 new, 0 resolved")
}

// TestDigest: one a day, at its time, with what it is about.
func TestDigest(t *testing.T) {
	f := newFleet(t, storetest.SQLite(t), "channels:\n- {mail: boss@example.org, digest: daily, at: \"07:00\"}\n")
	f.reports("web1", "web", "", found("a", trap.Critical))
	f.reports("<b>", "", "")
	want(t, "the first is tomorrow's", f.after(0), "")
	f.now = noon.Add(19*time.Hour - time.Second)
	f.round()
	want(t, "too early", f.taken(), "")
	f.now = f.now.Add(time.Second)
	f.reports("web1", "web", "", found("a", trap.Critical))
	f.round()
	m := f.got.messages[0]
	for _, s := range []string{"Silent hosts", "&lt;b&gt;", "silent for 19 h", "Traps, by affected hosts", "no group"} {
		if !strings.Contains(m.HTML, s) {
			t.Errorf("no %q in %s", s, m.HTML)
		}
	}
	if !strings.Contains(m.Plain, "  a: 1 critical, 0 warning, 0 notice, 1 host\n") {
		t.Error(m.Plain)
	}
	want(t, "at seven", f.taken(), "hub: 1 of 2 hosts silent, 1 critical, 0 warning, 0 notice; 1 new, 0 resolved")
	want(t, "and once", f.after(time.Hour), "")
}

func TestBadSettings(t *testing.T) {
	if _, err := notify.Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if s, err := notify.Read(t.TempDir()); err == nil {
		t.Errorf("a folder: %+v", s)
	}
	for _, c := range []struct{ text, says string }{
		{"channels:\n- {journal: true}", "a hub's channel is one of"},
		{"channels:\n- {mail: a@b, gather: soon}", "gather"},
		{"channels:\n- {mail: a@b, digest: hourly}", "daily or weekly"},
		{"channels:\n- {mail: a@b, digest: weekly, at: someday 07:00}", "expected a day"},
		{"channels:\n- {mail: a@b, quiet: {from: \"22\", to: \"07:00\"}}", "expected a time"},
		{"channels:\n- {mail: a@b}\n- {mail: a@b}", "channels: number 2: the same as one before"},
		{"channels:\n- {mail: a@b, colour: red}", "colour"},
		{"channels:\n- {mail: a@b, groups: \"[\"}", "not a pattern"},
		{"channels:\n- {mail: a@b, labels: [env prod]}", "label name"},
		{"channels:\n- {mail: a@b, labels: \"=prod\"}", "expected NAME=VALUE"},
		{"maintenance:\n- {from: \"2026-12-02 10:00\", to: \"2026-12-01 10:00\"}", "after from"},
		{"maintenance:\n- {from: \"2026-12-02 10:00\", to: \"2026-12-02 10:00\"}", "after from"},
		{"maintenance:\n- {from: \"2026-12-02 10:00\", to: \"2026-12-03 10:00\", days: mon}", "days go with hours alone"},
		{"maintenance:\n- {from: \"2026-12-02 10:00\", to: \"11:00\"}", "expected a time"},
		{"maintenance:\n- {from: \"10:00\", to: \"2026-12-02 11:00\"}", "expected a time"},
		{"maintenance:\n- {from: \"10:00\", to: \"10:00\"}", "from and to are the same"},
		{"maintenance:\n- {from: \"10:00\", to: \"24:00\"}", "expected a time"},
		{"maintenance:\n- {from: \"10:00\", to: \"11:00\", days: [mon, moon]}", `"moon": expected a day`},
		{"maintenance:\n- {from: \"10:00\", to: \"11:00\", hosts: \"[\"}", "maintenance: number 1: "},
		{"channels:\n- {mail: a@b, quiet: {from: \"22:00\", to: \"07:00\", except: grave}}", `quiet: except "grave": expected`},
		{"channels:\n- {mail: a@b, gather: -1s}", "gather"},
		{"channels:\n- {mail: a@b, at: \"07:00\"}", "daily or weekly"},
		{"channels:\n- {mail: a@b, digest: daily, at: mon 07:00}", `at "mon 07:00"`},
		{"channels:\n- {alertmanager: \"http://127.0.0.1:9093\", digest: daily}", "takes no digest"},
		{"channels:\n- {mail: a@b}\n---\nmaintenance: []", "notify.yaml:4: a second document"},
		{"# nothing yet\n---\n---\nchannels:\n- {mail: a@b}", "notify.yaml:3: the document before this line is empty"},
		{"channels:\n- {mail: a@b}\nchannels: []", "notify.yaml:3:1: "},
	} {
		file := filepath.Join(t.TempDir(), "notify.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := notify.Read(file); err == nil || !strings.HasPrefix(err.Error(), file+":") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
	}
	for _, nothing := range []string{"", "# later\n", "---\n"} {
		if s := settingsOf(t, nothing); len(s.Channels)+len(s.Maintenance) > 0 {
			t.Errorf("%q: %+v", nothing, s)
		}
	}
}

// TestRun: what fails is said, and not what fails because the hub ends.
func TestRun(t *testing.T) {
	db := storetest.SQLite(t)
	f := newFleet(t, db, mail)
	var said []string
	ctx, end := context.WithCancel(t.Context())
	f.n.Log = func(s string) { said = append(said, s); end() }
	end()
	if f.n.Run(ctx); len(said) > 0 {
		t.Errorf("a hub that ends says %q", said)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, end = context.WithTimeout(t.Context(), means.Patience) // it says so at once
	defer end()
	if f.n.Run(ctx); len(said) != 1 || !strings.HasPrefix(said[0], "notifying: ") {
		t.Errorf("without a database: %q", said)
	}
}
