package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/host"
	"fettle/report"
)

// reported is a host that joined and reported two findings of one trap.
func reported(t *testing.T, db *store.DB, name, group string) {
	t.Helper()
	now := time.Now()
	tok := store.Token{Hash: name, Created: now, Expires: now.Add(time.Hour), Uses: 1, Group: group}
	if err := db.AddToken(t.Context(), tok); err != nil {
		t.Fatal(err)
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.JoinByToken(t.Context(), name, store.Joining{Agent: "id" + name, Host: name, Key: key, How: "token"}); err != nil {
		t.Fatal(err)
	}
	results := []trap.Result{{Trap: "bridge-mtu", Outcomes: []trap.Outcome{
		{Trap: "bridge-mtu", Subject: "br0", Status: trap.Found, Severity: trap.Critical, Summary: "drops packets"},
		{Trap: "bridge-mtu", Subject: "br1", Status: trap.Found, Severity: trap.Warning, Summary: "drops packets"},
	}}}
	meta := report.Meta{Host: name, Kind: host.KindLive, Version: "1", Started: now}
	s := message.StateOf(report.NewDocument(meta, nil, results, time.Second))
	m := message.New(message.Whole)
	m.Agent, m.Instance, m.Seq, m.Sent = "id"+name, "one", 1, now
	m.Digest, m.Run = s.Digest(), &message.Run{Meta: &s.Meta, Traps: s.Traps, Results: s.Results}
	res, err := db.Ingest(t.Context(), []store.Item{{Message: m, Key: key, At: now}})
	if err != nil || res[0].Verdict != store.Taken {
		t.Fatal(res, err)
	}
}

// TestAccept accepts on a host, on a group and on all, counts, lists, takes back, and
// leaves its lines in the audit log.
func TestAccept(t *testing.T) {
	dir, db := served(t)
	reported(t, db, "web1", "web")
	reported(t, db, "web2", "web")
	reported(t, db, "db1", "db")
	because := []string{"--reason", "the switch does 1400"}
	for _, c := range []struct {
		line   string
		reason []string
		code   int
		says   string
		counts string // critical and warning findings left on web1, web2 and db1
	}{
		{"bridge-mtu --host web1 --on br0 --until 90d", because, 0,
			"accepted bridge-mtu:br0 on web1 (critical, until it changes, until 2", "0,1 1,1 1,1"},
		{"bridge-mtu --host web1", because, 0, "accepted bridge-mtu:br1 on web1 (warning, until it changes)", "0,0 1,1 1,1"},
		{"bridge-mtu --group web --severity warning", because, 0, "accepted bridge-mtu on group web (up to warning)", "0,0 1,0 1,1"},
		{"bridge-mtu --all", because, 0, "accepted bridge-mtu on all hosts (up to critical)", "0,0 0,0 0,0"},
		{"list", nil, 0, "bridge-mtu  all hosts  any      critical         ", ""},
		{"list", nil, 0, "bridge-mtu  web1       br0      critical", ""},
		{"remove bridge-mtu --all", nil, 0, "", "0,0 1,0 1,1"},
		{"remove bridge-mtu --host web1 --on br0", nil, 0, "", "1,0 1,0 1,1"},
		{"remove bridge-mtu --group web", nil, 0, "", "1,0 1,1 1,1"},
		{"remove bridge-mtu --host web1", nil, 0, "", "1,1 1,1 1,1"},
		{"remove bridge-mtu --host web1", nil, 2, "not accepted for web1 alone", ""},
		{"remove bridge-mtu --label env=prod", nil, 2, "not accepted on just these hosts", ""},
		{"bridge-mtu --host web1", nil, 2, "--reason", ""},
		{"bridge-mtu", because, 2, "where?", ""},
		{"bridge-mtu --all --group web", because, 2, "where?", ""},
		{"bridge-mtu --all --on br0", because, 2, "--on needs --host", ""},
		{"bridge-mtu --host web1 --on br7", because, 2, "not found on br7, but on", ""},
		{"no-swap --host web1", because, 2, "no-swap is not found on web1", ""},
		{"no-swap --group web", because, 2, "no-swap is not found there now", ""},
		{"bridge-mtu --host web1 --until 2020-01-01", because, 2, "that day has passed", ""},
		{"bridge-mtu --label =x", because, 2, "expected NAME=VALUE", ""},
	} {
		args := append([]string{"--state", dir, "accept"}, strings.Fields(c.line)...)
		code, out, errs := run(t, t.Context(), "", append(args, c.reason...)...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("%s: %d %s%s, want %q", c.line, code, out, errs, c.says)
		}
		if c.counts == "" {
			continue
		}
		var counts []string
		for _, name := range []string{"web1", "web2", "db1"} {
			h, err := db.HostByAgent(t.Context(), "id"+name)
			if err != nil {
				t.Fatal(err)
			}
			counts = append(counts, fmt.Sprintf("%d,%d", h.Counts.Critical, h.Counts.Warning))
		}
		if got := strings.Join(counts, " "); got != c.counts {
			t.Errorf("%s: %s are left, want %s", c.line, got, c.counts)
		}
	}
	acts, err := db.Audits(t.Context(), 0, 0, 20)
	if err != nil || len(acts) != 12 || acts[8].From != "fettle-hub accept" || acts[8].On != "bridge-mtu:br0 on idweb1" ||
		acts[8].Details != because[1] || acts[0].What != "take acceptance back" {
		t.Errorf("%+v %v", acts, err)
	}
}
