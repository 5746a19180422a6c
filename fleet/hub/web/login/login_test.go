package login

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/internal/means"
)

// cheap makes hashes that take no time.
var cheap = Effort{Memory: 8, Time: 1}

const secret = "correct horse battery"

// memory is a Store of maps.
type memory struct {
	mu       sync.Mutex
	users    map[string]store.User
	sessions map[string]store.Session
	audit    []store.Audit
	attempts []store.Attempt
	devices  []store.Device
	broken   error
	failing  map[string]error // of single methods
	short    []string         // methods that were given less than ten seconds
}

// fault is what a method is to return instead; a method that works beside requests has ten seconds at least.
func (m *memory) fault(ctx context.Context, method string) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < 10*time.Second {
		m.short = append(m.short, method)
	}
	return m.failing[method]
}

func (m *memory) User(ctx context.Context, name string) (store.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "User"); err != nil {
		return store.User{}, err
	}
	u, ok := m.users[name]
	if m.broken != nil {
		return u, m.broken
	}
	if !ok {
		return u, store.ErrNone
	}
	return u, nil
}

func (m *memory) Session(ctx context.Context, hash string) (store.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "Session"); err != nil {
		return store.Session{}, err
	}
	s, ok := m.sessions[hash]
	if m.broken != nil {
		return s, m.broken
	}
	if !ok {
		return s, store.ErrNone
	}
	return s, nil
}

func (m *memory) PutSession(ctx context.Context, s store.Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "PutSession"); err != nil {
		return err
	}
	m.sessions[s.Hash] = s
	return nil
}

func (m *memory) TouchSession(ctx context.Context, hash string, seen time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "TouchSession"); err != nil {
		return err
	}
	s := m.sessions[hash]
	s.Seen = seen
	m.sessions[hash] = s
	return nil
}

func (m *memory) DropSession(ctx context.Context, hash string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "DropSession"); err != nil {
		return err
	}
	delete(m.sessions, hash)
	return nil
}

func (m *memory) AddAudit(ctx context.Context, a store.Audit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "AddAudit"); err != nil {
		return err
	}
	m.audit = append(m.audit, a)
	return nil
}

func (m *memory) ConfirmSession(ctx context.Context, hash string, role store.Role, sees store.Rights, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "ConfirmSession"); err != nil {
		return err
	}
	s := m.sessions[hash]
	s.Role, s.Sees, s.Confirmed = role, sees, at
	m.sessions[hash] = s
	return nil
}

func (m *memory) AddAttempts(ctx context.Context, list []store.Attempt) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "AddAttempts"); err != nil {
		return err
	}
	m.attempts = append(m.attempts, list...)
	return nil
}

func (m *memory) LoggedInBefore(ctx context.Context, user, hash, from string) (browser, address bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "LoggedInBefore"); err != nil {
		return false, false, err
	}
	for _, d := range m.devices {
		browser, address = browser || d.User == user && d.Hash == hash, address || d.User == user && d.From == from
	}
	return browser, address, m.broken
}

func (m *memory) PutDevice(ctx context.Context, d store.Device) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault(ctx, "PutDevice"); err != nil {
		return err
	}
	m.devices = append(m.devices, d)
	return nil
}

// tried waits until refused logins are counted, and lists them.
func (m *memory) tried(t *testing.T, want string) {
	t.Helper()
	said := ""
	for range 300 {
		m.mu.Lock()
		counts := map[string]int{}
		for _, a := range m.attempts {
			counts[a.From+" "+a.Why] += a.Count
		}
		m.mu.Unlock()
		if said = fmt.Sprint(counts); said == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("refused logins: %s, want %s", said, want)
}

func (m *memory) audited() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, a := range m.audit {
		fmt.Fprintf(&b, "%s: %s (%s)\n", a.Who, a.What, a.Details)
	}
	return b.String()
}

// world is a gate with a page behind it and a browser before it.
type world struct {
	*memory
	t      *testing.T
	server *httptest.Server
	client *http.Client
	now    time.Time
	log    *means.Said
}

// listen keeps what is logged until the test ends. Nothing that went well is logged as a fault.
func listen(t *testing.T) *means.Said {
	t.Helper()
	s, was := &means.Said{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(s, nil)))
	t.Cleanup(func() {
		slog.SetDefault(was)
		if strings.Contains(s.String(), "err=<nil>") {
			t.Errorf("it logs what did not fail: %s", s)
		}
	})
	return s
}

func newWorld(t *testing.T, change func(*Config)) *world {
	t.Helper()
	means.Ends(t)
	hash, err := Hash(secret, cheap)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, now: time.Now(), log: listen(t), memory: &memory{sessions: map[string]store.Session{}, users: map[string]store.User{
		"ann": {Name: "ann", Role: store.Operator, Sees: store.AllGroups, Password: hash},
		"bob": {Name: "bob", Role: store.Reader, Sees: store.AllGroups, Password: hash},
		"oid": {Name: "oid", Role: store.Reader, Sees: store.AllGroups},
	}}}
	cfg := Config{
		Store:  w.memory,
		Effort: cheap,
		Later:  func(f func()) { f() },
		Now:    func() time.Time { return w.now },
		Render: func(rw http.ResponseWriter, r *http.Request, p Page) {
			rw.WriteHeader(p.Status)
			fmt.Fprintf(rw, "log-in page form=%s error=%s next=%s passwords=%t provider=%s", Who(r.Context()).Form, p.Error, p.Next,
				p.Passwords, p.OIDC)
		},
	}
	if change != nil {
		change(&cfg)
	}
	g, err := New(cfg)
	if err != nil || cfg.Effort == cheap && !strings.HasPrefix(g.dummy, "$argon2id$v=19$m=8,t=1,p=1$") {
		t.Fatalf("%+v, %v", g, err)
	}
	w.server = httptest.NewServer(g.Wrap(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		v := Who(r.Context())
		fmt.Fprintf(rw, "%s %s is %s, %s, by %s from %s form=%s", r.Method, r.URL.Path, v.Name, v.Role, v.How, v.From, v.Form)
	})))
	t.Cleanup(w.server.Close)
	w.client = w.browser()
	return w
}

func (w *world) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// do makes a request and gives its status, body and Location.
func (w *world) do(req *http.Request) (int, string, http.Header) {
	w.t.Helper()
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := res.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	return res.StatusCode, b.String(), res.Header
}

func (w *world) get(path string, header ...string) (int, string, http.Header) {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return w.do(req)
}

func (w *world) post(path string, form url.Values, header ...string) (int, string, http.Header) {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodPost, w.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return w.do(req)
}

// form is the token of the page at a path.
func (w *world) form(path string) string {
	w.t.Helper()
	_, body, _ := w.get(path)
	_, rest, _ := strings.Cut(body, "form=")
	token, _, _ := strings.Cut(rest, " ")
	return token
}

func (w *world) login(name, password, next string) (int, string, http.Header) {
	w.t.Helper()
	return w.post("/login", url.Values{"name": {name}, "password": {password}, "next": {next}, "form": {w.form("/login")}})
}

func TestLogIn(t *testing.T) {
	w := newWorld(t, nil)
	if code, _, h := w.get("/hosts?q=a&b"); code != 303 || h.Get("Location") != "/login?next=%2Fhosts%3Fq%3Da%26b" {
		t.Errorf("a stranger: %d to %q", code, h.Get("Location"))
	}
	for _, path := range []string{"/api/v1/hosts", "/feed/changes.atom", "/live"} {
		if code, _, h := w.get(path); code != 401 || h.Get("WWW-Authenticate") == "" {
			t.Errorf("a strange program at %s: %d", path, code)
		}
	}
	for _, c := range []struct{ name, password string }{{"ann", "wrong"}, {"nobody", secret}, {"oid", ""}, {"oid", secret}, {"", ""},
		{"ann", strings.Repeat("x", 5000)}} {
		if code, body, _ := w.login(c.name, c.password, "/"); code != 401 || !strings.Contains(body, "error=Name or password is wrong.") {
			t.Errorf("%q with %.20q: %d %s", c.name, c.password, code, body)
		}
	}
	code, _, h := w.login("ann", secret, "/hosts?q=a")
	if code != 303 || h.Get("Location") != "/hosts?q=a" {
		t.Fatalf("ann: %d to %q", code, h.Get("Location"))
	}
	cookie := h.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the session's cookie %q lacks %s", cookie, want)
		}
	}
	value := strings.TrimPrefix(strings.Split(cookie, ";")[0], "fettle_session=")
	for hash := range w.sessions {
		if hash == value || strings.Contains(cookie, hash) {
			t.Error("the database holds the session's secret itself")
		}
	}
	if code, body, _ := w.get("/x"); code != 200 || !strings.Contains(body, "GET /x is ann, operator, by password") {
		t.Errorf("logged in: %d %s", code, body)
	}
	if got := w.audited(); got != "ann: log in (password, operator)\n" {
		t.Error(got)
	}
	w.tried(t, "map[127.0.0.1 name or password:6]")
	if code, _, _ := w.post("/logout", url.Values{"form": {w.form("/x")}}); code != 303 {
		t.Errorf("log-out: %d", code)
	}
	if code, _, _ := w.get("/x", "Cookie", "fettle_session="+value); code != 303 {
		t.Errorf("the session's cookie after the log-out: %d", code)
	}
}

func TestNextStaysHere(t *testing.T) {
	for in, want := range map[string]string{
		"/hosts?a=b": "/hosts?a=b", "": "/", "hosts": "/", "//evil.example/": "/", "https://evil.example/": "/", `/\evil.example`: "/",
		"/\t/evil.example": "/", "javascript:alert(1)": "/", "/login": "/", "/login/oidc": "/", "/%2f/evil": "/%2f/evil",
		"/%2fevil.example/%20 ": "/", "/%2f ": "/", "/a\r\nX: y": "/",
	} {
		if got := Local(in); got != want {
			t.Errorf("Local(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	w := newWorld(t, nil)
	start := w.now
	w.login("bob", secret, "/")
	for day := range 6 {
		w.now = start.Add(time.Duration(day) * 23 * time.Hour)
		if code, body, _ := w.get("/"); code != 200 || !strings.Contains(body, "bob, reader") {
			t.Fatalf("day %d: %d %s", day, code, body)
		}
	}
	idleAt := w.now
	w.now = idleAt.Add(idle + time.Minute)
	if code, _, _ := w.get("/"); code != 303 {
		t.Errorf("after a day without use: %d", code)
	}
	w.now = idleAt.Add(time.Hour)
	for w.now.Before(start.Add(lasts)) {
		w.get("/")
		w.now = w.now.Add(time.Hour)
	}
	if code, _, _ := w.get("/"); code != 303 {
		t.Errorf("after a week of use: %d", code)
	}
}

func TestFormsAreOurs(t *testing.T) {
	w := newWorld(t, nil)
	if code, _, _ := w.post("/login", url.Values{"name": {"ann"}, "password": {secret}}); code != 403 {
		t.Errorf("a log-in without the page's token: %d", code)
	}
	before := w.form("/login")
	w.login("ann", secret, "/")
	good := w.form("/x")
	for _, c := range []struct {
		what   string
		form   string
		header []string
		want   int
	}{
		{"the page's own", good, nil, 200},
		{"none", "", nil, 403},
		{"another", "x" + good, nil, 403},
		{"of before the log-in", before, nil, 403},
		{"from another site", good, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"from another origin", good, []string{"Origin", "https://evil.example"}, 403},
		{"without a token, but with somebody's header", "", []string{"Authorization", "Bearer nonsense"}, 401},
	} {
		if code, body, _ := w.post("/x", url.Values{"form": {c.form}}, c.header...); code != c.want {
			t.Errorf("%s: %d %s", c.what, code, body)
		}
	}
	if code, _, _ := w.post("/x", nil, "X-Fettle-Form", good); code != 200 {
		t.Error("a script's header is as good as a field")
	}
	other := w.form("/x")
	w.client = w.browser()
	w.login("ann", secret, "/")
	if code, _, _ := w.post("/x", url.Values{"form": {other}}); code != 403 {
		t.Errorf("the token of the same user's other browser: %d", code)
	}
	if code, _, _ := w.post("/x", url.Values{"form": {w.form("/x")}, "big": {strings.Repeat("x", MaxBody)}}); code != 400 {
		t.Errorf("a form that is too large: %d", code)
	}
}

func TestLogInsAreLimited(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 10 {
		if code, _, _ := w.login("ann", "wrong", "/"); code != 401 {
			t.Fatalf("attempt %d: %d", i, code)
		}
	}
	code, _, h := w.login("ann", secret, "/")
	if code != 429 || h.Get("Retry-After") != "31" {
		t.Fatalf("attempt 11, with the right password: %d", code)
	}
	w.now = w.now.Add(31 * time.Second)
	if code, _, _ := w.login("ann", secret, "/"); code != 303 {
		t.Errorf("half a minute later: %d", code)
	}
}

func TestLimitIsBounded(t *testing.T) {
	l, now := newLimit(3, time.Minute), time.Unix(1e9, 0)
	for range 3 {
		l.take("victim", now)
	}
	for i := range 3 * l.most {
		l.take(fmt.Sprint("flood", i), now)
		if len(l.buckets) > l.most {
			t.Fatalf("it remembers %d keys", len(l.buckets))
		}
	}
	if l.take("victim", now) == 0 {
		t.Error("a flood of other names frees the one that is attacked")
	}
}

func TestNeighbours(t *testing.T) {
	for in, want := range map[string]string{"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64"} {
		if got := neighbours(netip.MustParseAddr(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestProxyHeader(t *testing.T) {
	proxy := func(from string) func(*Config) {
		return func(c *Config) {
			c.Proxy = &Proxy{
				From:      []netip.Prefix{netip.MustParsePrefix(from)},
				Header:    "X-Remote-User",
				Groups:    "X-Groups",
				Operators: []string{"sre", "user:root"},
			}
		}
	}
	w := newWorld(t, proxy("127.0.0.0/8"))
	for _, c := range []struct {
		header []string
		want   string
		code   int
	}{
		{[]string{"X-Remote-User", "eve"}, "eve, reader, by proxy from 127.0.0.1", 200},
		{[]string{"X-Remote-User", "eve", "X-Groups", "staff,sre"}, "eve, operator, by proxy", 200},
		{[]string{"X-Remote-User", "root", "X-Forwarded-For", "10.0.0.1, 192.0.2.9"}, "root, operator, by proxy from 192.0.2.9", 200},
		{[]string{"x-remote-USER", "eve"}, "eve, reader, by proxy", 200},
		{[]string{"X-Remote-User", "eve", "X-Remote-User", "root"}, "", 400},
		{[]string{"X-Remote-User", "a b"}, "", 400},
		{[]string{"X-Remote-User", ""}, "", 303}, // a proxy that lets strangers through
		{nil, "", 303},
		// What a visitor adds to what the proxy says.
		{[]string{"X-Remote-User", "eve", "X-Groups", "staff", "X-Groups", "sre"}, "", 400},
		{[]string{"X-Remote-User", "eve", "X-Groups", "sre", "X-Groups", "staff"}, "", 400},
		{[]string{"X-Remote-User", "eve", "X-Groups", "staff", "X_Groups", "sre"}, "", 400},
		{[]string{"X-Remote-User", "eve", "X_Groups", "sre"}, "", 400},
		{[]string{"X-Remote-User", "eve", "X_REMOTE_USER", "root"}, "", 400},
		{[]string{"X_Remote-User", "root"}, "", 400},
		{[]string{"X.Remote.User", "root"}, "", 400},
		{[]string{"X-Remote-User", "eve", "Connection", "x-groups"}, "", 400},
	} {
		if code, body, _ := w.get("/x", c.header...); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%q: %d %s", c.header, code, body)
		}
	}
	w = newWorld(t, proxy("192.0.2.0/24"))
	if code, _, _ := w.get("/x", "X-Remote-User", "root", "X-Forwarded-For", "192.0.2.1"); code != 303 {
		t.Errorf("the header from elsewhere: %d", code)
	}
}

func TestTokens(t *testing.T) {
	w := newWorld(t, nil)
	token, hash := NewSecret()
	w.sessions[hash] = store.Session{Hash: hash, User: "ci", Role: store.Operator, How: "token", Expires: w.now.Add(time.Hour)}
	if code, body, _ := w.post("/api/x", nil, "Authorization", "Bearer "+token); code != 200 ||
		!strings.Contains(body, "ci, operator, by token") {
		t.Errorf("%d %s", code, body)
	}
	req, _ := http.NewRequest(http.MethodGet, w.server.URL+"/feed/x", nil)
	req.SetBasicAuth("anything", token)
	if code, body, _ := w.do(req); code != 200 {
		t.Errorf("as a feed reader sends it: %d %s", code, body)
	}
	if code, _, _ := w.get("/x", "Cookie", "fettle_session="+token); code != 303 {
		t.Errorf("a token as a cookie: %d", code)
	}
	w.now = w.now.Add(2 * time.Hour)
	if code, _, _ := w.get("/api/x", "Authorization", "Bearer "+token); code != 401 {
		t.Errorf("an old token: %d", code)
	}
}

func TestHeaders(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Secure = true })
	_, _, h := w.get("/login")
	csp := h.Get("Content-Security-Policy")
	if strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Error(csp)
	}
	if c := h.Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-fettle_form=") || !strings.Contains(c, "Secure") {
		t.Error(c)
	}
	for _, name := range []string{"X-Content-Type-Options", "Referrer-Policy", "Strict-Transport-Security", "X-Frame-Options"} {
		if h.Get(name) == "" {
			t.Error("no", name)
		}
	}
}

func TestDatabaseGone(t *testing.T) {
	w := newWorld(t, nil)
	w.login("ann", secret, "/")
	w.broken = fmt.Errorf("disk on fire")
	if code, body, _ := w.get("/x"); code != 503 || strings.Contains(body, "fire") {
		t.Errorf("%d %s", code, body)
	}
}

func TestPasswords(t *testing.T) {
	h, err := Hash(secret, cheap)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Hash(secret, cheap); again == h {
		t.Error("two hashes of one password are alike")
	}
	for in, want := range map[string]bool{secret: true, secret + " ": false, "": false, strings.Repeat("x", 5000): false} {
		if got, err := matches(in, h); err != nil || got != want {
			t.Errorf("%.30q: %v %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "plain", "$argon2id$v=19$m=8,t=1,p=1$$",
		"$argon2i$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$" + strings.Repeat("A", 43),
		"$argon2id$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHQ$" + strings.Repeat("A", 43),
		"$argon2id$v=19$m=8,t=0,p=1$c2FsdHNhbHQ$" + strings.Repeat("A", 43)} {
		if _, err := matches(secret, bad); err == nil {
			t.Errorf("%q was taken for a hash", bad)
		}
	}
	for _, bad := range []string{"", "short", strings.Repeat("x", 1025)} {
		if _, err := Hash(bad, cheap); err == nil {
			t.Errorf("a password of %d bytes was taken", len(bad))
		}
	}
}
