package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"fettle/engine/trap"
	"fettle/fleet/hub/api"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/fleet/hub/synthetic"
	"fettle/fleet/hub/web/login"
	"fettle/internal/means"
	"fettle/report"
	"fettle/traps"
)

func TestMain(m *testing.M) { os.Exit(storetest.Run(m)) }

const password = "correct horse battery"

// world is a hub's page over a made-up fleet, and a browser.
type world struct {
	t      testing.TB
	db     *store.DB
	server *httptest.Server
	client *http.Client
	now    time.Time
	asked  *asked
}

// asked notes who was asked.
type asked struct {
	mu    sync.Mutex
	hosts []string
}

func (a *asked) Ask(_ context.Context, agents []string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hosts = append(a.hosts, strings.Join(agents, ","))
	return nil
}

// ofHosts is a world of a fleet with some history.
func ofHosts(t testing.TB, hosts int) *world {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hub.db")
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	storetest.Large{Fleet: synthetic.Fleet{Seed: 5, Hosts: hosts, PerHost: 8, Start: now}, Days: 60, Changes: 20, Now: now}.Fill(t, file)
	w := over(t, storetest.Open(t, file), now)
	w.restarts(min(hosts, 6))
	return w
}

// restarts lets the first hosts restart: one is as before, one was not compared, one is away, the
// others lack something.
func (w *world) restarts(n int) {
	w.t.Helper()
	f := synthetic.Fleet{Seed: 5, Hosts: n, PerHost: 8, Start: w.now}
	at := w.now.Add(-time.Hour)
	for i := range n {
		s := f.State(i, 0)
		s.Meta.Identity.BootID = "after"
		m := message.New(message.Whole)
		m.Agent, m.Instance, m.Seq, m.Sent, m.Self = f.Agent(i), "again", 1, at, &message.Self{Compared: "after"}
		switch i {
		case 0:
		case 1:
			m.Self.Compared = ""
		default:
			id := report.NotAsBefore.ID()
			lost := message.StateOf(&report.Document{Results: []trap.Result{{Trap: id, Outcomes: []trap.Outcome{{Trap: id,
				Subject: "nginx.service", Status: trap.Found, Severity: trap.Warning, Summary: "failed at this start"}}}}})
			s = *s.And(&lost)
		}
		m.Digest, m.Run = s.Digest(), &message.Run{Meta: &s.Meta, Traps: s.Traps, Results: s.Results}
		items := []store.Item{{Message: m, At: at}}
		if i == 2 {
			last := message.New(message.Beat)
			last.Agent, last.Instance, last.Seq, last.Sent, last.Why = m.Agent, m.Instance, 2, at, message.Stopping
			items = append(items, store.Item{Message: last, At: at.Add(time.Minute), Prev: 1})
		}
		if r, err := w.db.Ingest(w.t.Context(), items); err != nil || r[0].Verdict != store.Taken {
			w.t.Fatalf("%+v, %v", r, err)
		}
	}
}

func over(t testing.TB, db *store.DB, now time.Time) *world {
	t.Helper()
	hash, err := login.Hash(password, login.Effort{Memory: 8, Time: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, role := range map[string]store.Role{"ann": store.Operator, "bob": store.Reader} {
		if err := db.PutUser(t.Context(), store.User{Name: name, Role: role, Sees: store.AllGroups, Password: hash, Created: now}); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, db: db, now: now, asked: &asked{}}
	handler, err := New(
		t.Context(),
		Config{DB: db, Traps: traps.All(), Asker: w.asked, URL: "https://hub.example", SilentAfter: 3 * time.Hour,
			Login: login.Config{Effort: login.Effort{Memory: 8, Time: 1}}, Now: func() time.Time { return w.now }},
	)
	if err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(handler)
	t.Cleanup(w.server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return w
}

func (w *world) get(path string) (int, string, http.Header) {
	w.t.Helper()
	res, err := w.client.Get(w.server.URL + path)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.read(res)
}

func (w *world) read(res *http.Response) (int, string, http.Header) {
	w.t.Helper()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, strings.ReplaceAll(string(b), "<wbr>", ""), res.Header // where a line may break is no text
}

var formField = regexp.MustCompile(`name="form" value="([^"]+)"`)

// send fills a form of a page in and sends it.
func (w *world) send(page, action string, fields url.Values) (int, string, http.Header) {
	w.t.Helper()
	_, body, _ := w.get(page)
	m := formField.FindStringSubmatch(body)
	if m == nil {
		w.t.Fatalf("%s has no form", page)
	}
	fields.Set("form", m[1])
	res, err := w.client.PostForm(w.server.URL+action, fields)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.read(res)
}

func (w *world) login(name string) {
	w.t.Helper()
	if code, body, _ := w.send("/login", "/login", url.Values{"name": {name}, "password": {password}}); code != http.StatusSeeOther {
		w.t.Fatalf("log-in: %d %s", code, body)
	}
}

// aHost is one with findings.
func (w *world) aHost() *store.Host {
	w.t.Helper()
	hosts, err := w.db.Hosts(w.t.Context(), store.HostQuery{Scope: store.Everything, Limit: 1})
	if err != nil || len(hosts) != 1 {
		w.t.Fatal(hosts, err)
	}
	return hosts[0]
}

// aFinding is one of a host's.
func (w *world) aFinding(h *store.Host) store.Finding {
	w.t.Helper()
	list, err := w.db.Findings(w.t.Context(), h.ID, 0, 100)
	if err != nil || len(list) == 0 {
		w.t.Fatal(list, err)
	}
	return list[0]
}

// pages are all pages of a world.
func (w *world) pages() []string {
	if l, err := w.db.Packs(w.t.Context()); err != nil || len(l) == 0 {
		w.withPacks()
	}
	h := w.aHost()
	others, err := w.db.Hosts(w.t.Context(), store.HostQuery{Scope: store.Everything, Limit: 1, Offset: 1})
	if err != nil || len(others) != 1 {
		w.t.Fatal(err)
	}
	return []string{
		"/", "/?group=ams-web&severity=warning", "/changes", "/changes?since=365d&kind=resolve" +
			"d&severity=warning&group=ams-web", "/traps", "/traps?unknown=true",
		"/trap/" + w.aFinding(
			h,
		).Trap, "/trap/" + w.aFinding(h).Trap + "?severity=unknown", "/hosts", "/hosts?silent=true&order=seen", "/hosts?q=web&offset=2",
		"/host/" + h.Agent, "/coverage", "/restarts",
		"/compare", "/compare?a=" + h.Agent + "&b=" + others[0].Name, "/search", "/search?q=web", "/search?q=mtu", "/paste", "/accepted",
		"/audit", "/attempts", "/api/", "/packs", "/pack/acme-mail",
	}
}

func TestPages(t *testing.T) {
	w := ofHosts(t, 60)
	for _, p := range w.pages() {
		if code, _, h := w.get(p); code != http.StatusSeeOther || !strings.HasPrefix(h.Get("Location"), "/login?next=") {
			t.Errorf("a stranger at %s: %d", p, code)
		}
	}
	w.login("ann")
	for _, p := range w.pages() {
		code, body, h := w.get(p)
		if code != http.StatusOK || !strings.HasSuffix(body, "</html>\n") || !strings.Contains(body, "<h1>") {
			t.Errorf("%s: %d\n%.600s", p, code, body)
		}
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %s", p, csp)
		}
		if m := regexp.MustCompile(`(?i)<script(?:[^>]*src="/assets/[^"]+")? ` +
			`?[^>]*>[^<]|<style|\sstyle=|\son[a-z]+=|javascript:|ZgotmplZ|%!|<no value>|&lt;nil`).FindString(body); m != "" {
			t.Errorf("%s has %q", p, m)
		}
	}
	for path, want := range map[string]int{
		"/nothing": 404, "/trap/no-such-trap": 404, "/host/h9999999": 404, "/hosts?order=sideways": 400, "/hosts?limit=x": 400,
		"/hosts?limit=100000":  400,
		"/changes?since=never": 400, "/changes?before=x": 400, "/changes?bogus=1": 400, "/hosts?q=a&q=b": 400, "/hosts?q=%ff": 400,
		"/hosts?%zz": 400, "/trap/%2e%2e": 404, "/assets/nothing.js": 404,
		"/compare?a=h9999999&b=x": 200,
	} {
		if code, body, _ := w.get(path); code != want {
			t.Errorf("%s: %d, want %d\n%.300s", path, code, want, body)
		}
	}
}

func TestWhatPagesSay(t *testing.T) {
	w := ofHosts(t, 60)
	w.login("bob")
	h := w.aHost()
	f := w.aFinding(h)
	for path, want := range map[string][]string{
		"/": {"of 60 hosts", `href="/trap/` + f.Trap, "new / resolved since yesterday",
			`data-curve="/api/v1/curves?days=90`},
		"/host/" + h.Agent:        {h.Name, f.Trap, h.Kernel, "Evidence", `name="b"`},
		"/trap/" + f.Trap:         {"Where it is found", h.Name, "Symptoms", "Hosts that resolved it"},
		"/search?q=" + h.Name[:8]: {h.Name},
		"/hosts?q=" + h.Name:      {`data-count="1 host"`},
		"/api/":                   {"GET /api/v1/fleet", "openapi.json"},
	} {
		code, body, _ := w.get(path)
		for _, s := range want {
			if code != http.StatusOK || !strings.Contains(body, s) {
				t.Errorf("%s: %d without %q", path, code, s)
			}
		}
	}
	if _, body, _ := w.get("/"); strings.Contains(body, "/audit") || strings.Contains(body, "Ask all hosts") {
		t.Error("a reader is offered what only operators may do")
	}
	code, body, _ := w.send(
		"/paste",
		"/paste",
		url.Values{"text": {"files in /tmp vanish <script>alert(1)</script>; br0: the bridge's mtu changes by itself when a VM starts"}},
	)
	if code != http.StatusOK || !strings.Contains(body, "/trap/bridge-mtu") || strings.Contains(body, "<script>alert") {
		t.Errorf("paste: %d\n%.1500s", code, body)
	}
}

func TestRoles(t *testing.T) {
	w := ofHosts(t, 20)
	h := w.aHost()
	f := w.aFinding(h)
	accept := url.Values{
		"host":    {h.Agent},
		"trap":    {f.Trap},
		"subject": {url.QueryEscape(f.Subject)},
		"reason":  {"known"},
		"until":   {"2026-12-24"},
	}
	w.login("bob")
	for action, fields := range map[string]url.Values{"/accept": accept, "/unaccept": accept, "/ask": {"host": {h.Agent}}} {
		if code, _, _ := w.send("/paste", action, fields); code != http.StatusForbidden {
			t.Errorf("a reader's %s: %d", action, code)
		}
	}
	for _, path := range []string{"/audit", "/api/v1/audit"} {
		if code, _, _ := w.get(path); code != http.StatusForbidden {
			t.Errorf("a reader at %s: %d", path, code)
		}
	}
	w.send("/paste", "/logout", url.Values{})
	w.login("ann")
	if code, body, hd := w.send("/host/"+h.Agent, "/accept", accept); code != http.StatusSeeOther || hd.Get("Location") != "/host/"+h.Agent {
		t.Fatalf("accept: %d %s", code, body)
	}
	if _, body, _ := w.get("/host/" + h.Agent); !strings.Contains(body, "accepted here by ann until 2026-12-24: known") ||
		!strings.Contains(body, "Accepted: "+f.Trap) {
		t.Error("the host's page does not say that the finding is accepted")
	}
	if _, body, _ := w.get("/accepted"); !strings.Contains(body, h.Name) {
		t.Error("the list of accepted findings lacks it")
	}
	for what, wrong := range map[string]url.Values{
		"a day that is past": {"host": {h.Agent}, "trap": {f.Trap}, "subject": {url.QueryEscape(f.Subject)}, "reason": {"x"},
			"until": {"2020-01-01"}},
		"no reason": {"host": {h.Agent}, "trap": {f.Trap}, "subject": {url.QueryEscape(f.Subject)}},
	} {
		if code, _, _ := w.send("/host/"+h.Agent, "/accept", wrong); code != http.StatusBadRequest {
			t.Errorf("%s: %d", what, code)
		}
	}
	if code, _, _ := w.send("/accepted", "/unaccept", accept); code != http.StatusSeeOther {
		t.Errorf("taking it back: %d", code)
	}
	w.send("/host/"+h.Agent, "/ask", url.Values{"host": {h.Agent}})
	w.send("/", "/ask", url.Values{})
	if code, _, _ := w.send("/", "/ask", url.Values{"host": {"h9999999"}}); code != http.StatusNotFound {
		t.Errorf("asking a host that is not there: %d", code)
	}
	if fmt.Sprint(w.asked.hosts) != fmt.Sprintf("[%s ]", h.Agent) {
		t.Errorf("asked %q", w.asked.hosts)
	}
	_, body, _ := w.get("/audit")
	for _, want := range []string{"log in", "accept", "take acceptance back", "ask for a run", "all hosts", f.Trap} {
		if !strings.Contains(body, want) {
			t.Errorf("the audit log lacks %q", want)
		}
	}
	if res, err := w.client.PostForm(w.server.URL+"/ask", url.Values{}); err != nil || res.StatusCode != http.StatusForbidden {
		t.Error("a form without its token was taken")
	}
}

func TestThemes(t *testing.T) {
	w := ofHosts(t, 5)
	w.login("bob")
	if _, body, _ := w.get("/"); strings.Contains(body, "data-theme") {
		t.Error("a theme that nobody chose")
	}
	for _, theme := range []string{"dark", "light"} {
		if code, _, h := w.send("/hosts", "/theme", url.Values{"theme": {theme}, "next": {"/hosts"}}); code != http.StatusSeeOther ||
			h.Get("Location") != "/hosts" {
			t.Error(theme, code)
		}
		if _, body, _ := w.get("/hosts"); !strings.Contains(body, `data-theme="`+theme+`"`) {
			t.Error(theme, "is not kept")
		}
	}
	if _, body, _ := w.send("/hosts", "/theme", url.Values{"theme": {`"><script>`}}); strings.Contains(body, "<script>") {
		t.Error(body)
	}
}

func TestAssets(t *testing.T) {
	w := ofHosts(t, 5)
	_, body, _ := w.get("/login")
	refs := regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`).FindAllStringSubmatch(body, -1)
	if len(refs) < 3 {
		t.Fatal(body)
	}
	for _, m := range refs {
		code, _, h := w.get(m[1])
		if code != http.StatusOK || !strings.Contains(h.Get("Cache-Control"), "immutable") ||
			strings.HasPrefix(h.Get("Content-Type"), "text/plain") {
			t.Error(m[1], code, h)
		}
	}
	if code, body, _ := w.get("/healthz"); code != http.StatusOK || body != "ok\n" {
		t.Error(code, body)
	}
}

// TestHealth: a hub that cannot store is not well, though it answers.
func TestHealth(t *testing.T) {
	means.Ends(t)
	db := storetest.SQLite(t)
	stuck := errors.New("the disk is full")
	for _, c := range []struct {
		storing error
		closed  bool
		says    string
	}{{nil, false, ""}, {stuck, false, "agents' messages cannot be stored"}, {nil, true, "the database does not answer"}} {
		if c.closed {
			db.Close()
		}
		var h health
		if got := h.of(t.Context(), &Config{DB: db, Storing: func() error { return c.storing }}); got != c.says {
			t.Errorf("%q, want %q", got, c.says)
		}
	}
}

// TestHealthOfWhoHangsUp: a client that goes away does not make the answer that a load
// balancer gets.
func TestHealthOfWhoHangsUp(t *testing.T) {
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	cfg := &Config{DB: storetest.SQLite(t)}
	var h health
	h.of(gone, cfg)
	if got := h.of(t.Context(), cfg); got != "" {
		t.Errorf("after a client that hung up: %q", got)
	}
}

// TestSilenceComesFirst: findings of silent hosts are called old, and are not in the headline.
func TestSilenceComesFirst(t *testing.T) {
	w := ofHosts(t, 5)
	w.now = w.now.Add(72 * time.Hour)
	w.login("ann")
	_, body, _ := w.get("/")
	for _, s := range []string{"All 5 hosts are silent</a></h1>", "from silent hosts and may be out of date", "<b>0</b> critical, "} {
		if !strings.Contains(body, s) {
			t.Errorf("no %q in %s", s, body)
		}
	}
}

// TestMetrics: Prometheus reads them, with a session or token.
func TestMetrics(t *testing.T) {
	w := ofHosts(t, 5)
	if code, _, _ := w.get("/metrics"); code == http.StatusOK {
		t.Error("everybody may read the metrics")
	}
	w.now = w.now.Add(72 * time.Hour)
	w.login("bob")
	_, body, _ := w.get("/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	got, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err, body)
	}
	for _, name := range []string{"fettle_hub_hosts", "fettle_hub_findings", "fettle_hub_database_bytes", "fettle_hub_storing"} {
		if got[name] == nil {
			t.Errorf("no %s in %s", name, body)
		}
	}
	if !strings.Contains(body, `fettle_hub_hosts{state="silent"} 5`) {
		t.Error(body)
	}
}

// TestPagesWithoutDatabase: a page that could not ask is an error, never half a page.
func TestPagesWithoutDatabase(t *testing.T) {
	w := ofHosts(t, 3)
	a, err := api.New(api.Config{DB: w.db, Traps: traps.All(), SilentAfter: time.Hour, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{cfg: Config{DB: w.db, Now: time.Now}, api: a}
	w.db.Close()
	for name, page := range map[string]func(*http.Request) (*page, error){
		"fleet": s.fleet, "traps": s.traps, "changes": s.changes, "trap": s.trap, "hosts": s.hosts, "host": s.host, "coverage": s.coverage,
		"restarts": s.restarts, "accepted": s.accepted, "audit": s.audit,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if name == "trap" || name == "host" {
			r.SetPathValue("id", "bridge-mtu")
		}
		if _, err := page(r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFirstErrorStays(t *testing.T) {
	a := asking{ctx: t.Context()}
	answer(&a, func(context.Context, int) (int, error) { return 0, store.ErrNone }, 0)
	got := answer(&a, func(context.Context, int) (int, error) { return 7, nil }, 0)
	if got != 0 || a.err != store.ErrNone {
		t.Errorf("%d, %v after an error", got, a.err)
	}
}

// TestSoft: names break where a reader would break them, are escaped, and lose nothing.
func TestSoft(t *testing.T) {
	for in, want := range map[string]string{
		"web1.example.org": "web1.<wbr>example.<wbr>org",
		"br0.1":            "br0.1", // too little to break
		"a<b>":             "a&lt;b&gt;",
		"/srv/tftp/debian-installer/amd64/boot-screens": "/srv/<wbr>tftp/<wbr>debian-<wbr>installer/<wbr>amd64/<wbr>boot-<wbr>screens",
		strings.Repeat("x", 45):                         strings.Repeat("x", 20) + "<wbr>" + strings.Repeat("x", 20) + "<wbr>xxxxx",
		"the kernel of this host is too old <for> that": "the kernel of this host is too old &lt;for&gt; that",
	} {
		if got := soft(in); string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
