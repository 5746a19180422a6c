package api

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/host"
	"fettle/report"
)

// hub is the API over a small fleet, and who asks it.
type hub struct {
	*testing.T
	*API
	file    string
	now     time.Time
	handler http.Handler
	asked   [][]string
	seq     int64
}

func (h *hub) Ask(_ context.Context, agents []string) error {
	h.asked = append(h.asked, agents)
	return nil
}

var (
	ann    = Who{"ann", "192.0.2.1", store.AllGroups}
	wes    = Who{"wes", "192.0.2.2", store.OnlyGroups("web")}
	nobody = Who{"", "", ""}
)

const lore = "---\nid: %s\ntitle: %s\nsymptoms:\n  - \"%s\"\nmessages:\n  - text: \"%s\"\n---\n# What happens\n\nSee.\n"

// traps of the hub: one with a remedy, one by hand.
func someTraps() []*trap.Trap {
	return []*trap.Trap{
		{Lore: trap.Lore(fmt.Sprintf(lore, "disk-full", "The disk is full", "nothing can be saved", "no space left on device")),
			Plan: func(context.Context, *host.Host, trap.Finding) (remedy.Plan, error) { return remedy.Plan{}, nil }},
		{Lore: trap.Lore(fmt.Sprintf(lore, "late-clock", "The clock is late", "certificates are not valid yet", "clock is {number} s late"))},
	}
}

// newHub makes a hub without hosts.
func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{T: t, file: filepath.Join(storetest.Dir(t), "hub.db"), now: time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)}
	a, err := New(Config{DB: storetest.Open(t, h.file), Traps: someTraps(), Asker: h, SilentAfter: 3 * time.Hour,
		Now: func() time.Time { return h.now }})
	h.must(err)
	h.API, h.handler = a, a.Handler(func(ctx context.Context) bool { return who(ctx).Name != "" })
	h.must(a.DB.Know(t.Context(), []string{"disk-full", "late-clock", report.NotAsBefore.ID()}))
	return h
}

func (h *hub) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// join adds a host; its agent's id is not its name.
func (h *hub) join(id, group string, labels map[string]string) {
	h.Helper()
	h.must(h.DB.AddToken(h.Context(), store.Token{Hash: id, Created: time.Now(), Expires: time.Now().Add(time.Hour), Uses: 1,
		Group: group, Labels: labels}))
	_, err := h.DB.JoinByToken(h.Context(), id, store.Joining{Agent: id, Host: id, Key: "U" + id, How: "token"})
	h.must(err)
}

func (h *hub) take(id string, at time.Time, m *message.Message) {
	h.Helper()
	h.seq++
	m.Agent, m.Instance, m.Seq, m.Sent = id, fmt.Sprint("start", h.seq), 1, at
	r, err := h.DB.Ingest(h.Context(), []store.Item{{Message: m, Key: "U" + id, At: at}})
	if err != nil || r[0].Verdict != store.Taken {
		h.Fatalf("%s: %+v, %v", id, r, err)
	}
}

// reports lets a host report a run some time ago.
func (h *hub) reports(id, name string, ago time.Duration, change func(*message.Message), outcomes ...trap.Outcome) {
	h.Helper()
	byTrap := map[string][]trap.Outcome{}
	var ids []string
	for _, o := range outcomes {
		if byTrap[o.Trap] == nil {
			ids = append(ids, o.Trap)
		}
		byTrap[o.Trap] = append(byTrap[o.Trap], o)
	}
	var results []trap.Result
	for _, id := range ids {
		results = append(results, trap.Result{Trap: id, Outcomes: byTrap[id]})
	}
	meta := report.Meta{Host: name, Kind: host.KindLive, Version: "1", Started: h.now.Add(-ago)}
	meta.Identity.BootID, meta.Identity.Release = "boot", "6."+id
	s := message.StateOf(report.NewDocument(meta, nil, results, time.Second))
	m := message.New(message.Whole)
	m.Digest, m.Run, m.Self = s.Digest(), &message.Run{Meta: &s.Meta, Traps: s.Traps, Results: s.Results}, &message.Self{}
	if change != nil {
		change(m)
	}
	h.take(id, h.now.Add(-ago), m)
}

func found(id, subject string, sev trap.Severity) trap.Outcome {
	return trap.Outcome{Trap: id, Subject: subject, Status: trap.Found, Severity: sev, Summary: id + " " + subject,
		Fixable: id == "disk-full"}
}

func unknown(id string) trap.Outcome {
	return trap.Outcome{Trap: id, Status: trap.Unknown, Reason: "denied"}
}

// smallFleet has six hosts: web1, web2 and one of the two that call themselves same in the group
// web, db1 and the other same in db, and lone in none, which is silent.
func smallFleet(t *testing.T) *hub {
	t.Helper()
	h := newHub(t)
	h.join("w1", "web", map[string]string{"env": "prod"})
	h.join("w2", "web", map[string]string{"env": "test"})
	h.join("d1", "db", map[string]string{"env": "prod", "rack": "7"})
	h.join("o1", "", nil)
	h.join("t1", "web", nil)
	h.join("t2", "db", nil)
	own := found("late-clock", "own", trap.Notice)
	own.Accepted = &trap.Acceptance{Reason: "it is so"}
	fixed := func(n int) func(*message.Message) {
		return func(m *message.Message) {
			for i := range n {
				m.Fixes = append(m.Fixes, message.Fix{ID: fmt.Sprint("fix", i), At: h.now.Add(-time.Hour * time.Duration(n-i)), By: "root",
					Trap: []string{"disk-full", "late-clock"}[i%2], Phase: "applied", Standing: "applied", Verified: i == 0})
			}
		}
	}
	crit, warn, note := trap.Critical, trap.Warning, trap.Notice
	h.reports("w1", "web1", 100*time.Hour, nil, found("disk-full", "/old", crit), found("disk-full", "/a", crit))
	h.reports("w2", "web2", 100*time.Hour, nil)
	h.reports("d1", "db1", 100*time.Hour, nil, found("late-clock", "", note))
	h.reports("w1", "web1", 2*time.Hour, fixed(3), found("disk-full", "/a", crit), found("late-clock", "", warn), own)
	h.reports("w2", "web2", 2*time.Hour, nil, found("disk-full", "/b", warn), found("disk-full", "/c", warn), found("web-own", "", crit))
	h.reports("d1", "db1", time.Hour, fixed(1), found("late-clock", "", note), unknown("disk-full"), found("db-own", "", warn))
	h.reports("o1", "lone", 5*time.Hour, nil, found("late-clock", "", warn))
	h.reports("t1", "same", time.Hour, nil)
	h.reports("t2", "same", time.Hour, nil, unknown("disk-full"), unknown("late-clock"))
	return h
}

// takesPacks lets hosts say that they take packs.
func (h *hub) takesPacks(ids ...string) {
	h.Helper()
	for _, id := range ids {
		m := message.New(message.Beat)
		m.Self = &message.Self{TakesPacks: true}
		h.take(id, h.now.Add(-time.Minute), m)
	}
}

// ask asks an operation as somebody, by HTTP: a path for GET, a path and a body for POST.
func (h *hub) ask(as Who, path, body string) *httptest.ResponseRecorder {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r.WithContext(As(r.Context(), as)))
	return w
}

// columns are some of an answer's as CSV: a row's with colons between, the rows with blanks; day-0 is
// today. Of what was refused it is the status.
func (h *hub) columns(as Who, path string, names ...string) string {
	h.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	w := h.ask(as, path+sep+"format=csv", "")
	if w.Code != http.StatusOK {
		return fmt.Sprint(w.Code)
	}
	lines, err := csv.NewReader(w.Body).ReadAll()
	if err != nil {
		h.Fatalf("%s: %v", path, err)
	}
	var out, days []string
	for n := range 8 {
		days = append(days, h.now.AddDate(0, 0, -n).Format(time.DateOnly), fmt.Sprint("day-", n))
	}
	for _, line := range lines[1:] {
		var row []string
		for _, name := range names {
			i := slices.Index(lines[0], name)
			if i < 0 {
				h.Fatalf("%s: no column %q in %q", path, name, lines[0])
			}
			row = append(row, line[i])
		}
		out = append(out, strings.Join(row, ":"))
	}
	return strings.NewReplacer(days...).Replace(strings.Join(out, " "))
}

// object is an answer's JSON.
func (h *hub) object(as Who, path string) map[string]any {
	h.Helper()
	var out map[string]any
	w := h.ask(as, path, "")
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		h.Fatalf("%s: %d %s %v", path, w.Code, w.Body, err)
	}
	return out
}

// audit are the latest acts, the newest first.
func (h *hub) audit(n int) string {
	h.Helper()
	list, err := h.DB.Audits(h.Context(), 0, 0, n)
	h.must(err)
	var out []string
	for _, a := range list {
		if !a.At.Equal(h.now) {
			h.Errorf("%+v is of another time", a)
		}
		out = append(out, fmt.Sprintf("%s@%s %s: %s: %s", a.Who, a.From, a.What, a.On, a.Details))
	}
	return strings.Join(out, "; ")
}
