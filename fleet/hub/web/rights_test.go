package web

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/api"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/fleet/hub/web/login"
	"fettle/host"
	"fettle/internal/means"
	"fettle/report"
)

// A user who sees the group web alone: what each route answers him is compared with what
// it answers, of a hub that has no other hosts, somebody who sees all. What belongs to
// other groups is called secret wherever it has a name.

// shared are hosts of two hubs, one with hosts of the group web alone.
type shared struct {
	*world
	seq int64
}

func (s *shared) host(agent, name, group string, labels map[string]string, subject string) {
	s.t.Helper()
	ctx := s.t.Context()
	if err := s.db.AddToken(ctx, store.Token{Hash: agent, Created: s.now, Expires: time.Now().Add(time.Hour), Uses: 1, Group: group,
		Labels: labels}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.db.JoinByToken(ctx, agent, store.Joining{Agent: agent, Host: name, Key: "U" + agent, How: "token"}); err != nil {
		s.t.Fatal(err)
	}
	s.report(agent, name, subject, trap.Critical, 3*time.Hour)
	s.report(agent, name, subject, trap.Warning, 2*time.Hour)
}

// report is one of a host's: something found, something unknown, something that no hub knows.
func (s *shared) report(agent, name, subject string, sev trap.Severity, ago time.Duration) {
	s.t.Helper()
	s.seq++
	at := s.now.Add(-ago)
	meta := report.Meta{Host: name, Kind: host.KindLive, Version: "1", Started: at, Identity: host.Identity{Hostname: name, Release: "6.1 " +
		subject, BootID: sev.String()}}
	results := []trap.Result{
		{Trap: "bridge-mtu", Outcomes: []trap.Outcome{
			{Trap: "bridge-mtu", Subject: subject, Status: trap.Found, Severity: sev, Summary: "of " + subject, Fixable: true,
				Accepted: &trap.Acceptance{Reason: "own " + subject, By: subject, Lapsed: map[bool]string{true: "",
					false: "it said"}[sev == trap.Warning]}},
			{Trap: "bridge-mtu", Subject: "2" + subject, Status: trap.Found, Severity: sev, Summary: "of " + subject},
		}},
		{Trap: "swap-nearly-full", Outcomes: []trap.Outcome{{Trap: "swap-nearly-full", Status: trap.Unknown, Reason: "reason " + subject}}},
		{Trap: "own-" + subject, Outcomes: []trap.Outcome{{Trap: "own-" + subject, Subject: subject, Status: trap.Found, Severity: sev,
			Summary: "s"}}},
	}
	if sev == trap.Warning { // it restarted
		results = append(results, trap.Result{Trap: "not-as-before", Outcomes: []trap.Outcome{{Trap: "not-as-before", Subject: subject,
			Status: trap.Found, Severity: sev, Summary: "lost " + subject}}})
	}
	if sev == trap.Critical { // the second report resolves it
		results = append(results, trap.Result{Trap: "tmp-sticky", Outcomes: []trap.Outcome{{Trap: "tmp-sticky", Subject: "of-" + subject,
			Status: trap.Found, Severity: sev, Summary: "s"}}})
	} else {
		results = append(results, trap.Result{Trap: "tmp-sticky", Outcomes: []trap.Outcome{{Trap: "tmp-sticky", Status: trap.Clear}}})
	}
	st := message.StateOf(report.NewDocument(meta, nil, results, time.Second))
	st.Traps = append(st.Traps, report.TrapInfo{ID: "own-" + subject, Title: "title of " + subject})
	m := message.New(message.Whole)
	m.Agent, m.Instance, m.Seq, m.Sent = agent, "i", s.seq, at
	m.Digest, m.Run = st.Digest(), &message.Run{Meta: &st.Meta, Traps: st.Traps, Results: st.Results}
	m.Fixes = []message.Fix{{ID: "0001", At: at, By: "by-" + subject, Trap: "bridge-mtu", Subject: subject, Phase: "applied",
		Standing: "applied",
		Verified: true, Undo: "fettle undo 0001"}}
	if v, err := s.db.Ingest(s.t.Context(), []store.Item{{Message: m, Key: "U" + agent, At: at}}); err != nil || v[0].Verdict != store.Taken {
		s.t.Fatal(v, err)
	}
}

// failed says that a host's check gave no report.
func (s *shared) failed(agent, why string) {
	s.t.Helper()
	s.seq++
	m := message.New(message.Change)
	m.Agent, m.Instance, m.Seq, m.Sent, m.Run = agent, "i", s.seq, s.now, &message.Run{Failed: why}
	if _, err := s.db.Ingest(s.t.Context(), []store.Item{{Message: m, Key: "U" + agent, At: s.now.Add(-100 * time.Minute)}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shared) accept(agent, subject, group string) {
	s.t.Helper()
	ctx := s.t.Context()
	if err := s.db.Accept(ctx, store.Accepted{Host: store.HostRef{Agent: agent}, Trap: "bridge-mtu", Subject: "2" + subject,
		Reason: "for " + subject, Who: "who-" + subject, At: s.now}, store.Audit{At: s.now, Who: subject, What: "accept",
		On: agent}); err != nil {
		s.t.Fatal(err)
	}
	if err := s.db.PutRule(ctx, store.Rule{Trap: "own-" + subject, Group: &group, Label: "part=" + subject, Reason: "rule " + subject,
		Who: "w",
		At:  s.now}, 3, store.Audit{At: s.now, Who: subject}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.db.CountRules(ctx); err != nil {
		s.t.Fatal(err)
	}
	if err := s.db.Attach(ctx, agent, store.Capture{At: s.now, Who: subject, Taken: s.now, Fettle: "1", Size: 7, SHA256: subject},
		[]byte(subject),
		store.Audit{At: s.now, Who: subject, What: "attach", On: agent}); err != nil {
		s.t.Fatal(err)
	}
}

// hubs are one with all hosts, seen by who sees web, and one with those of web, seen by
// who sees all.
func hubs(t *testing.T) (all, alone *shared) {
	t.Helper()
	now := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)
	make := func(sees store.Rights) *shared {
		db := storetest.SQLite(t)
		if err := db.Know(t.Context(), []string{"bridge-mtu", "swap-nearly-full", "tmp-sticky"}); err != nil {
			t.Fatal(err)
		}
		s := &shared{world: over(t, db, now)}
		for name, role := range map[string]store.Role{"olga": store.Operator, "rita": store.Reader} {
			hash, err := login.Hash(password, login.Effort{Memory: 8, Time: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.PutUser(t.Context(), store.User{Name: name, Role: role, Sees: sees, Password: hash, Created: now}); err != nil {
				t.Fatal(err)
			}
		}
		s.host("h1", "web1", "web", map[string]string{"part": "visible"}, "visible")
		s.host("h2", "web2", "web", nil, "seen")
		s.accept("h1", "visible", "web")
		s.failed("h2", "seen failed")
		return s
	}
	all, alone = make(store.OnlyGroups("web")), make(store.AllGroups)
	all.host("h8", "web1", "secretgroup", map[string]string{"part": "secret"}, "secret") // the name of another's host, too
	all.host("h9", "secretname", "", map[string]string{"secretlabel": "x"}, "secret")
	all.accept("h8", "secret", "secretgroup")
	all.failed("h9", "secret failed")
	return all, alone
}

// browse is one user's browser.
func (s *shared) browse(name string) {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.client.Jar = jar
	s.login(name)
}

var (
	secret  = regexp.MustCompile(`(?i)secret|h8\b|h9\b`)
	token   = regexp.MustCompile(`name="form"\s+value="[^"]+"|"csrf":"[^"]*"`) // by chance it ends in one of these
	ownings = regexp.MustCompile(`"(joined|pulse|csrf)":("[^"]*"|\d+)|name="form"\s+value="[^"]+"|"first":"[^"]*",|First found on [0-9-]+\.|title="[^"]*"|datetime="[^"]*">[^<]*|` +
		`\d+ (minutes?|hours?|days?) ago|just now|\w+, (operator|reader)[^<]*|<p><a href="/(audit|packs)">(Audit log|Packs)</a></p>`)
)

// pathsOf are what is asked of each route, by its pattern; "-" with the reason is for those that
// show nothing of hosts.
var pathsOf = map[string][]string{
	"GET /{$}":     {"/", "/?group=web", "/?label=part", "/?severity=critical&groups=500"},
	"GET /changes": {"/changes", "/changes?kind=all&since=365d", "/changes?label=part", "/changes?host=h1&kind=all"},
	"GET /traps":   {"/traps?unknown=true", "/traps?label=part"},
	"GET /foreign": {"/foreign"},
	"GET /trap/{id}": {"/trap/bridge-mtu", "/trap/tmp-sticky?label=part", "/trap/own-visible",
		"/trap/swap-nearly-full?severity=unknown"},
	"GET /hosts": {"/hosts", "/hosts?order=name&limit=1000", "/hosts?silent=true", "/hosts?label=part", "/hosts?q=e",
		"/hosts?twins=true"},
	"GET /host/{id}":         {"/host/h1", "/host/h2", "/host/web1"},
	"GET /restarts":          {"/restarts", "/restarts?label=part&since=365d"},
	"GET /coverage":          {"/coverage", "/coverage?label=part"},
	"GET /compare":           {"/compare?a=web1&b=web2", "/compare"},
	"GET /search":            {"/search?q=web", "/search?q=mtu", "/search?q=name", "/search"},
	"GET /paste":             {"/paste"},
	"GET /accepted":          {"/accepted", "/accepted?label=part"},
	"GET /api/{$}":           {"/api/"},
	"GET /feed/changes.atom": {"/feed/changes.atom", "/feed/changes.atom?kind=all&since=30d"},
	"GET /audit":             {"-", "refused: acts name hosts of all groups"},
	"GET /attempts":          {"-", "refused"},
	"GET /packs":             {"-", "refused: packs go over all groups"},
	"GET /pack/{id}":         {"-", "refused"},
	"GET /metrics":           {"-", "below: it has fewer lines"},
	"GET /live":              {"-", "below: a stream"},
	"GET /healthz":           {"-", "the hub's own"},
	"GET /favicon.ico":       {"-", "a file"},
	"GET /assets/{name}":     {"-", "a file"},
	"/":                      {"-", "not found"},
	"/api/":                  {"-", "below: each operation"},

	"GET /api/v1/fleet":  {"/api/v1/fleet", "/api/v1/fleet?group=web", "/api/v1/fleet?label=part=visible"},
	"GET /api/v1/curves": {"/api/v1/curves", "/api/v1/curves?label=part&days=7"},
	"GET /api/v1/matrix": {"/api/v1/matrix?unknown=true", "/api/v1/matrix?label=part", "/api/v1/matrix?groups=500&format=csv"},
	"GET /api/v1/changes": {"/api/v1/changes?kind=all&since=365d", "/api/v1/changes?trap=bridge-mtu",
		"/api/v1/changes?format=csv"},
	"GET /api/v1/hosts":                {"/api/v1/hosts", "/api/v1/hosts?silent=true", "/api/v1/hosts?format=csv", "/api/v1/hosts?label=part"},
	"GET /api/v1/hosts/{id}":           {"/api/v1/hosts/h1", "/api/v1/hosts/web1", "/api/v1/hosts/h2?format=csv"},
	"GET /api/v1/traps/{id}":           {"/api/v1/traps/bridge-mtu", "/api/v1/traps/tmp-sticky", "/api/v1/traps/own-visible"},
	"GET /api/v1/foreign":              {"/api/v1/foreign", "/api/v1/foreign?format=csv"},
	"GET /api/v1/traps/{id}/hosts":     {"/api/v1/traps/bridge-mtu/hosts", "/api/v1/traps/tmp-sticky/hosts?format=csv"},
	"GET /api/v1/traps/{id}/curve":     {"/api/v1/traps/bridge-mtu/curve?label=part&days=7"},
	"GET /api/v1/traps/{id}/fix":       {"/api/v1/traps/bridge-mtu/fix", "/api/v1/traps/bridge-mtu/fix?label=part"},
	"GET /api/v1/traps/{id}/inventory": {"/api/v1/traps/bridge-mtu/inventory"},
	"GET /api/v1/traps/{id}/playbook":  {"/api/v1/traps/bridge-mtu/playbook"},
	"GET /api/v1/fixes":                {"/api/v1/fixes", "/api/v1/fixes?trap=bridge-mtu", "/api/v1/fixes?format=csv"},
	"GET /api/v1/restarts":             {"/api/v1/restarts?since=365d", "/api/v1/restarts?format=csv"},
	"GET /api/v1/coverage":             {"/api/v1/coverage", "/api/v1/coverage?label=part"},
	"GET /api/v1/compare":              {"/api/v1/compare?a=web1&b=h2"},
	"GET /api/v1/search":               {"/api/v1/search?q=web", "/api/v1/search?q=mtu"},
	"GET /api/v1/labels":               {"/api/v1/labels"},
	"GET /api/v1/accepted":             {"/api/v1/accepted", "/api/v1/accepted?format=csv"},
	"GET /api/v1/accepted/hosts":       {"/api/v1/accepted/hosts", "/api/v1/accepted/hosts?format=csv"},
	"GET /api/v1/accepted/rules":       {"/api/v1/accepted/rules", "/api/v1/accepted/rules?format=csv"},
	"GET /api/v1/captures/{id}":        {"/api/v1/captures/1"},
	"GET /api/v1/audit":                {"-", "refused"},
	"GET /api/v1/attempts":             {"-", "refused"},
	"GET /api/v1/packs":                {"-", "refused"},
	"GET /api/v1/packs/{id}/hosts":     {"-", "refused"},
	"POST /api/v1/why":                 {"-", "below: it is read by POST"},
}

// actsOf are acts on what the user does not see, by route: none may be done.
var actsOf = map[string]url.Values{
	"POST /accept":   {"host": {"h8"}, "trap": {"bridge-mtu"}, "subject": {"secret"}, "reason": {"r"}},
	"POST /unaccept": {"host": {"h8"}, "trap": {"bridge-mtu"}, "subject": {"2secret"}},
	"POST /rule":     {"trap": {"bridge-mtu"}, "group": {"secretgroup"}, "reason": {"r"}, "severity": {"critical"}},
	"POST /unrule":   {"id": {"2"}},
	"POST /set":      {"host": {"h1", "h8"}, "group": {"web"}},
	"POST /ask":      {"host": {"h8"}},
	"POST /attach":   {"host": {"h8"}},
	"POST /detach":   {"host": {"h8"}, "capture": {"2"}},
	"POST /paste":    nil, // it changes nothing: below
	"POST /theme":    nil, // of the browser

	"POST /api/v1/hosts/{id}/captures":        nil, // below: it takes a file
	"POST /api/v1/captures/{id}/remove":       {},
	"POST /api/v1/accept":                     {"host": {"h9"}, "trap": {"bridge-mtu"}, "subject": {"secret"}, "reason": {"r"}},
	"POST /api/v1/unaccept":                   {"host": {"h8"}, "trap": {"bridge-mtu"}, "subject": {"2secret"}},
	"POST /api/v1/accepted/rules":             {"trap": {"bridge-mtu"}, "reason": {"r"}, "severity": {"critical"}},
	"POST /api/v1/accepted/rules/{id}/remove": {},
	"POST /api/v1/hosts/set":                  {"hosts": {"h1"}, "group": {"secretgroup"}},
	"POST /api/v1/ask":                        {"group": {"secretgroup"}},
}

func TestRightsByGroup(t *testing.T) {
	all, alone := hubs(t)
	routes := slices.Collect(func(yield func(string) bool) {
		for p := range (&site{}).handlers() {
			yield(p)
		}
		for _, o := range api.Operations() {
			yield(o.Method + " " + o.Path)
		}
	})
	slices.Sort(routes)
	for _, user := range []string{"rita", "olga"} {
		all.browse(user)
		alone.browse(user)
		for _, route := range routes {
			if strings.HasPrefix(route, "POST ") && route != "POST /api/v1/why" {
				continue
			}
			paths, ok := pathsOf[route]
			if !ok || len(paths) == 0 {
				t.Errorf("no test asks %s what it shows of other groups", route)
				continue
			}
			if paths[0] == "-" {
				continue
			}
			for _, p := range paths {
				code, got, _ := all.get(p)
				wantCode, want, _ := alone.get(p)
				if user == "rita" && strings.Contains(p, "/captures/") {
					want, wantCode = got, http.StatusForbidden
				}
				said := token.ReplaceAllString(got, "")
				if at := secret.FindStringIndex(said); at != nil {
					t.Errorf("%s: %s shows %q: …%s…", user, p, said[at[0]:at[1]], said[max(0, at[0]-80):min(len(said), at[0]+80)])
				}
				if a, b := ownings.ReplaceAllString(got, ""), ownings.ReplaceAllString(want, ""); code != wantCode || a != b {
					t.Errorf("%s: %s: %d, on a hub of its own %d; %s", user, p, code, wantCode, differ(a, b))
				}
			}
		}
	}
}

// differ shows where two texts begin to differ.
func differ(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-100)
	return fmt.Sprintf("at %d:\n…%s…\n…%s…", i, a[from:min(len(a), i+100)], b[from:min(len(b), i+100)])
}

// TestNothingOfOthers: what is asked by name is not there, and acts are not done.
func TestNothingOfOthers(t *testing.T) {
	all, _ := hubs(t)
	all.browse("olga")
	for _, p := range []string{"/host/h8", "/host/h9", "/host/secretname", "/api/v1/hosts/h8", "/api/v1/hosts/secretname", "/trap/own-secret",
		"/api/v1/traps/own-secret", "/api/v1/captures/2", "/api/v1/compare?a=h1&b=h8", "/api/v1/changes?host=h9", "/feed/changes.atom?host=h8"} {
		code, body, _ := all.get(p)
		said := strings.NewReplacer(p, "", html.EscapeString(p), "").Replace(token.ReplaceAllString(body, ""))
		if code != http.StatusNotFound || secret.MatchString(said) {
			t.Errorf("%s: %d %s", p, code, said)
		}
	}
	for _, p := range []string{"/audit", "/attempts", "/api/v1/audit", "/api/v1/attempts", "/packs", "/pack/acme", "/api/v1/packs",
		"/api/v1/packs/acme/hosts"} {
		if code, body, _ := all.get(p); code != http.StatusForbidden || secret.MatchString(body) {
			t.Errorf("%s: %d %s", p, code, body)
		}
	}
	for _, q := range []string{"fleet", "curves?days=7&", "matrix", "changes", "hosts", "coverage", "accepted", "accepted/hosts",
		"traps/bridge-mtu/hosts", "traps/bridge-mtu/curve"} {
		for _, f := range []string{"group=secretgroup", "group=-", "label=part=secret", "label=secretlabel"} {
			sep := "?"
			if strings.Contains(q, "?") {
				sep = ""
			}
			_, body, _ := all.get("/api/v1/" + q + sep + f)
			if m := regexp.MustCompile(`"(count|hosts|critical|warning|unknown|new|resolved)":[1-9]`).FindString(body); m != "" ||
				secret.MatchString(body) {
				t.Errorf("%s with %s: %s in %s", q, f, m, body)
			}
		}
	}
	before, _ := all.db.Audits(t.Context(), 0, 0, 100)
	for _, route := range append(slices.Collect(func(yield func(string) bool) {
		for p := range (&site{}).handlers() {
			yield(p)
		}
	}), operationsOf()...) {
		path, post := strings.CutPrefix(route, "POST ")
		if !post || route == "POST /api/v1/why" {
			continue
		}
		fields, ok := actsOf[route]
		if !ok {
			t.Errorf("no test tries %s on hosts of other groups", route)
		}
		if fields == nil {
			continue
		}
		var code int
		var body string
		if strings.HasPrefix(path, "/api/") {
			code, body, _ = all.ask(http.MethodPost, strings.Replace(path, "{id}", "2", 1), fields)
		} else {
			code, body, _ = all.send("/paste", path, maps2(fields))
		}
		if code != http.StatusNotFound && code != http.StatusForbidden && !(route == "POST /attach" && code == http.StatusBadRequest) ||
			secret.MatchString(strings.ReplaceAll(body, `"secretgroup"`, "")) && !strings.Contains(body, "no rights over the group") {
			t.Errorf("%s: %d %s", route, code, body)
		}
	}
	if code, body, _ := all.upload("/paste", "h8", []byte("x")); code != http.StatusNotFound {
		t.Errorf("attaching a file to h8: %d %s", code, body)
	}
	after, _ := all.db.Audits(t.Context(), 0, 0, 100)
	// the log-in of olga is before; nothing may have come since
	if len(after) != len(before) || len(all.asked.hosts) != 0 {
		t.Errorf("acts were done: %+v; asked %q", after[:len(after)-len(before)], all.asked.hosts)
	}
	// All hosts are those that she sees.
	if code, body, _ := all.send("/paste", "/ask", url.Values{}); code != http.StatusSeeOther || fmt.Sprint(all.asked.hosts) != "[h1,h2]" {
		t.Errorf("ask all: %d %s, asked %q", code, body, all.asked.hosts)
	}
	if code, body, _ := all.send("/paste", "/set", url.Values{"host": {"h1", "h2"}, "label": {"env=prod"}}); code != http.StatusSeeOther {
		t.Errorf("setting her own: %d %s", code, body)
	}
	if h, err := all.db.HostByAgent(t.Context(), "h2"); err != nil || h.Labels["env"] != "prod" {
		t.Errorf("%+v, %v", h, err)
	}
	for _, q := range []url.Values{{"text": {"bridge mtu jumbo frames are dropped"}}} {
		_, body, _ := all.ask(http.MethodPost, "/api/v1/why", q)
		if !strings.Contains(body, "bridge-mtu") || !strings.Contains(body, `"warning":2`) && !strings.Contains(body, `"warning":1`) {
			t.Errorf("why: %s", body)
		}
	}
}

func operationsOf() (out []string) {
	for _, o := range api.Operations() {
		out = append(out, o.Method+" "+o.Path)
	}
	return out
}

func maps2(v url.Values) url.Values {
	out := url.Values{}
	for k, l := range v {
		out[k] = slices.Clone(l)
	}
	return out
}

// TestMetricsOfAGroup: hosts and findings of web, and nothing that is summed over all.
func TestMetricsOfAGroup(t *testing.T) {
	all, alone := hubs(t)
	all.browse("rita")
	alone.browse("rita")
	_, got, _ := all.get("/metrics")
	_, want, _ := alone.get("/metrics")
	own := regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?fettle_hub_(storing|database_bytes|channels_failing|queue_messages)\b.*\n`)
	if want = own.ReplaceAllString(want, ""); got != want || !strings.Contains(got, `fettle_hub_hosts{state="reporting"} 2`) {
		t.Errorf("of the group:\n%s\nof a hub of its own:\n%s", got, want)
	}
}

// TestLiveOfAGroup: the stream says nothing when another group's hosts report.
func TestLiveOfAGroup(t *testing.T) {
	all, _ := hubs(t)
	all.browse("rita")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, all.server.URL+"/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := all.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			lines <- in.Text()
		}
	}()
	if l := <-lines; l != "retry: 5000" {
		t.Fatal(l)
	}
	time.Sleep(2 * pollEvery) // what was there before is known
	all.report("h8", "web1", "secret", trap.Critical, time.Hour)
	time.Sleep(2 * pollEvery)
	select {
	case l := <-lines:
		if l != "" {
			t.Errorf("another group's report is told: %q", l)
		}
	default:
	}
	all.report("h1", "web1", "visible", trap.Critical, time.Hour)
	defer time.AfterFunc(means.Patience, stop).Stop()
	for l := range lines {
		if l == "event: changed" {
			return
		}
	}
	t.Error("the group's own report is not told")
}
