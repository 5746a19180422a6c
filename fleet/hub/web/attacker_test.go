package web

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/host"
	"fettle/report"
)

// TestOutsiderInTheAuditLog: an outsider's attempts are one row, and what users did stays
// where it was.
func TestOutsiderInTheAuditLog(t *testing.T) { storetest.Each(t, outsiderInTheAuditLog) }

func outsiderInTheAuditLog(t *testing.T, db *store.DB) {
	w := over(t, db, time.Now())
	w.login("ann")
	eve := stranger(w)
	for i := range 120 {
		name := fmt.Sprintf("root\naccept %d", i)
		if code, _, _ := eve.send("/login", "/login", url.Values{"name": {name}, "password": {"x"}}); code != http.StatusUnauthorized &&
			code != http.StatusTooManyRequests {
			t.Fatal(code)
		}
	}
	time.Sleep(2500 * time.Millisecond)
	if acts, err := db.Audits(t.Context(), 0, 0, 1000); err != nil || len(acts) != 1 {
		t.Errorf("%d acts, %v", len(acts), err)
	}
	list, _, err := db.Attempts(t.Context(), 0, 10)
	if err != nil || len(list) != 2 || list[0].Count+list[1].Count != 120 {
		t.Errorf("%+v, %v", list, err)
	}
	if code, body, _ := w.get("/attempts"); code != http.StatusOK || !strings.Contains(body, `root\naccept `) {
		t.Errorf("%d %s", code, body)
	}
	if code, _, _ := eve.get("/attempts"); code != http.StatusSeeOther {
		t.Error(code)
	}
}

// liar is a fleet of one honest host and one that invents traps, of which it knows more
// than the hub.
func liar(t *testing.T, db *store.DB, now time.Time, invented int) {
	t.Helper()
	if err := db.Know(t.Context(), []string{"bridge-mtu", "swap-nearly-full"}); err != nil {
		t.Fatal(err)
	}
	send := func(agent string, d *report.Document) {
		t.Helper()
		if err := db.AddToken(t.Context(), store.Token{Hash: agent, Created: now, Expires: time.Now().Add(time.Hour), Uses: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.JoinByToken(t.Context(), agent, store.Joining{Agent: agent, Host: agent, Key: "U" + agent}); err != nil {
			t.Fatal(err)
		}
		s := message.StateOf(d)
		m := message.New(message.Whole)
		m.Agent, m.Instance, m.Seq, m.Digest = agent, "i", 1, s.Digest()
		m.Run = &message.Run{Meta: &s.Meta, Traps: s.Traps, Results: s.Results}
		got, err := db.Ingest(t.Context(), []store.Item{{Message: m, Key: "U" + agent, At: now}})
		if err != nil || got[0].Verdict != store.Taken {
			t.Fatal(got, err)
		}
	}
	one := func(name, subject string, status trap.Status, sev trap.Severity, said string) trap.Outcome {
		return trap.Outcome{Trap: name, Subject: subject, Status: status, Severity: sev, Summary: said, Reason: said}
	}
	var results []trap.Result
	var infos []report.TrapInfo
	for i := range invented {
		name := fmt.Sprintf("a-trap-%d", i)
		results = append(results, trap.Result{Trap: name, Outcomes: []trap.Outcome{one(name, "", trap.Found, trap.Critical, "x")}})
		infos = append(infos, report.TrapInfo{ID: name, Title: "the liar's words"})
	}
	blind := trap.Result{Trap: "bridge-mtu"}
	for i := range 400 {
		blind.Outcomes = append(blind.Outcomes, one("bridge-mtu", fmt.Sprint(i), trap.Unknown, 0, fmt.Sprintf("reason %d", i)))
		blind.Outcomes = append(blind.Outcomes, one("bridge-mtu", fmt.Sprint("again", i), trap.Unknown, 0, fmt.Sprintf("reason %d", i)))
	}
	meta := report.Meta{Host: "liar", Kind: host.KindLive, Started: now}
	d := report.NewDocument(meta, nil, append(results, blind), 0)
	d.Traps = infos
	send("liar", d)
	meta.Host = "honest"
	for _, name := range []string{"honest", "honest2"} {
		d = report.NewDocument(meta, nil, []trap.Result{
			{Trap: "bridge-mtu", Outcomes: []trap.Outcome{one("bridge-mtu", "br0", trap.Found, trap.Warning, "drops packets"),
				one("bridge-mtu", "br1", trap.Unknown, 0, "needs root")}},
			{Trap: "a-trap-1", Outcomes: []trap.Outcome{one("a-trap-1", "", trap.Found, trap.Notice, "y")}},
		}, 0)
		d.Traps = []report.TrapInfo{{ID: "a-trap-1", Title: "what it really is"}}
		send(name, d)
	}
}

// TestLiarsTraps: what a host invents is shown as its own words, by host, and pushes
// nothing off a page.
func TestLiarsTraps(t *testing.T) { storetest.Each(t, liarsTraps) }

func liarsTraps(t *testing.T, db *store.DB) {
	w := over(t, db, time.Now())
	liar(t, db, w.now, 1500)
	w.login("bob")
	_, body, _ := w.get("/traps")
	if !strings.Contains(body, `href="/trap/bridge-mtu"`) || strings.Contains(body, "a-trap-") ||
		!strings.Contains(body, "1,502 entries") || !strings.Contains(body, `data-count="1 trap"`) {
		t.Errorf("/traps: %.3000s", body)
	}
	if _, body, _ := w.get("/"); !strings.Contains(body, `href="/trap/bridge-mtu"`) || strings.Contains(body, "a-trap-") {
		t.Errorf("/: %.3000s", body)
	}
	_, body, _ = w.get("/coverage")
	if i := strings.Index(body, "needs root"); i < 0 || i > strings.Index(body, "reason 1") {
		t.Error("/coverage: a reason of two hosts comes after those that one host repeats")
	}
	if !strings.Contains(body, "1 to 150 of 401") {
		t.Error("/coverage does not say how many reasons there are")
	}
	// All of the list, page by page, and back.
	seen, path, n := map[string]bool{}, "/foreign", 0
	next := regexp.MustCompile(`href="([^"]+)" rel="next"`)
	for ; path != "" && n < 100; n++ {
		_, body, _ := w.get(path)
		for _, m := range regexp.MustCompile(`href="/host/(\w+)"\s*>[^<]*</a></td>\s*<td><a\s+href="/trap/([^"]+)`).FindAllStringSubmatch(body, -1) {
			seen[m[1]+" "+m[2]] = true
		}
		path = ""
		if m := next.FindStringSubmatch(body); m != nil {
			path = html.UnescapeString(m[1])
		}
	}
	if len(seen) != 1502 || n != 31 {
		t.Errorf("%d entries on %d pages", len(seen), n)
	}
	if _, body, _ := w.get("/foreign?offset=1450"); !strings.Contains(body, "1,451 to 1,500 of 1,502") ||
		!strings.Contains(body, `href="/foreign?offset=1400" rel="prev"`) || !strings.Contains(body, "the liar&#39;s words") {
		t.Errorf("%.3000s", body)
	}
	for agent, want := range map[string]string{"liar": "the liar&#39;s words", "honest": "what it really is"} {
		if _, body, _ := w.get("/host/" + agent); !strings.Contains(body, "the host calls it: "+want) {
			t.Errorf("/host/%s: %.3000s", agent, body)
		}
	}
	// The trap's page has no title of anybody's, and is there for as long as somebody reports it.
	if code, body, _ := w.get("/trap/a-trap-1"); code != http.StatusOK || strings.Contains(body, "words") ||
		strings.Contains(body, "really is") || !strings.Contains(body, "This hub does not know this trap") {
		t.Errorf("%d %.2000s", code, body)
	}
	h, err := db.HostByAgent(t.Context(), "liar")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Retire(t.Context(), h.ID); err != nil {
		t.Fatal(err)
	}
	if _, body, _ := w.get("/foreign"); strings.Contains(body, "liar") || !strings.Contains(body, "what it really is") {
		t.Errorf("%.2000s", body)
	}
}
