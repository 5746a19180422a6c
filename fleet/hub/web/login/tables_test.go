package login

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/crypto/argon2"

	"fettle/fleet/hub/store"
)

func within192() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }

// Letters that look like nothing, or like something else, make no name.
func TestLettersOfNames(t *testing.T) {
	for name, want := range map[string]bool{"": false, "a b": false, "a\ufffd": false, "a\u3164": false, "a\u00ad": false, "a\t": false,
		"Ø~": true, "a@b.example": true} {
		if got := Plausible(name); got != want {
			t.Errorf("%q is plausible: %t", name, got)
		}
	}
	if got := letters("azAZ09-_/:@[`{.é"); got != "azaz09" {
		t.Errorf("letters of a header's name: %s", got)
	}
	for n, want := range map[int]string{200: strings.Repeat("a", 200), 201: strings.Repeat("a", 200) + "…"} {
		if got := clip(strings.Repeat("a", n)); got != want {
			t.Errorf("a text of %d bytes: %s", n, got)
		}
	}
	if got := clip(strings.Repeat("a", 199) + "é\x00"); got != strings.Repeat("a", 199)+"…" {
		t.Errorf("a text that ends within a letter: %q", got)
	}
}

// What somebody sees is what each of his groups sees; a group called as a user is none.
func TestRights(t *testing.T) {
	sees := map[string][]string{"web": {"w1", "w2"}, "db": {"d", "-"}, "all": {"*"}, "user:ann": {"own"}}
	for _, c := range []struct {
		name   string
		groups []string
		sees   map[string][]string
		want   store.Rights
	}{
		{"bob", nil, nil, store.AllGroups},
		{"bob", nil, sees, store.OnlyGroups()},
		{"bob", []string{"web"}, sees, store.OnlyGroups("w1", "w2")},
		{"bob", []string{"web", "db"}, sees, store.OnlyGroups("w1", "w2", "d", "")},
		{"bob", []string{"web", "all"}, sees, store.AllGroups},
		{"bob", []string{"user:ann", "unknown"}, sees, store.OnlyGroups()},
		{"ann", []string{"web"}, sees, store.OnlyGroups("own", "w1", "w2")},
	} {
		if got := rightsOf(c.name, c.groups, c.sees); got != c.want {
			t.Errorf("%s of %v sees %s, want %s", c.name, c.groups, got, c.want)
		}
	}
	if !slices.Equal(sees["user:ann"], []string{"own"}) || !slices.Equal(sees["db"], []string{"d", "-"}) {
		t.Errorf("the settings have changed: %v", sees)
	}
}

// A proxy that says no groups is asked for none, and a header without a letter is none of its own.
func TestProxyWithoutGroups(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Proxy = &Proxy{From: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Header: "X-Remote-User", Operators: []string{"sre"}}
	})
	for _, header := range []string{"X-Groups", "_"} {
		if code, body, _ := w.get("/x", "X-Remote-User", "eve", header, "sre"); code != 200 || !strings.Contains(body, "eve, reader, by proxy") {
			t.Errorf("with %s: %d %s", header, code, body)
		}
	}
}

// phc is a hash of a password in the database's form.
func phc(password string, salt, key int, memory, passes uint32) string {
	s := make([]byte, salt)
	b64 := base64.RawStdEncoding.EncodeToString
	sum := argon2.IDKey([]byte(password), s, max(passes, 1), min(memory, 64), 1, uint32(key))
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=1$%s$%s", memory, passes, b64(s), b64(sum))
}

// A hash that is damaged, or costs what no hash of ours does, is none.
func TestFormOfHashes(t *testing.T) {
	for _, c := range []struct {
		salt, key      int
		memory, passes uint32
		good           bool
	}{
		{16, 32, 8, 1, true}, {8, 16, 8, 1, true}, {16, 64, 8, 64, true}, {7, 32, 8, 1, false}, {16, 15, 8, 1, false}, {16, 65, 8, 1, false},
		{16, 32, 8, 65, false}, {16, 32, 1<<21 + 1, 1, false}, {16, 32, 8, 0, false},
	} {
		ok, err := matches(secret, phc(secret, c.salt, c.key, c.memory, c.passes))
		if ok != c.good || (err == nil) != c.good {
			t.Errorf("%+v: %t, %v", c, ok, err)
		}
	}
	good := strings.Split(phc(secret, 16, 32, 8, 1), "$")
	for part, bad := range map[int]string{0: "x", 1: "argon2i", 2: "v=16", 3: "m=8,t=x,p=1", 4: "%", 5: "%"} {
		damaged := slices.Clone(good)
		damaged[part] = bad
		if _, err := matches(secret, strings.Join(damaged, "$")); err == nil {
			t.Errorf("%q was taken for a hash", strings.Join(damaged, "$"))
		}
	}
	for _, more := range []string{strings.Join(good[:5], "$"), strings.Join(good, "$") + "$"} {
		if _, err := matches(secret, more); err == nil {
			t.Errorf("%q was taken for a hash", more)
		}
	}
	for password, want := range map[string]bool{strings.Repeat("é", 14): false, strings.Repeat("é", 15): true,
		strings.Repeat("p", 1024): true, strings.Repeat("p", 1025): false} {
		if hash, err := Hash(password, cheap); (err == nil) != want || (hash != "") != want {
			t.Errorf("a password of %d bytes: %s, %v", len(password), hash, err)
		}
	}
}

// The provider's answer may lead to another of its addresses, and nowhere else.
func TestRedirects(t *testing.T) {
	at := func(method, address string) *http.Request {
		r, err := http.NewRequest(method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := at("GET", "https://p.example/a")
	for _, c := range []struct {
		to   *http.Request
		from int
		ok   bool
	}{
		{at("GET", "https://p.example/b"), 1, true}, {at("GET", "https://p.example/b"), 3, true}, {at("GET", "https://p.example/b"), 4, false},
		{at("POST", "https://p.example/b"), 1, false}, {at("GET", "http://p.example/b"), 1, false},
		{at("GET", "https://q.example/b"), 1, false}, {at("GET", "https://p.example:444/b"), 1, false},
	} {
		if err := stays(c.to, slices.Repeat([]*http.Request{first}, c.from)); (err == nil) != c.ok {
			t.Errorf("%s %s after %d: %v", c.to.Method, c.to.URL, c.from, err)
		}
	}
	if d := (&OIDC{}).client().Timeout; d != 10*time.Second {
		t.Errorf("it waits %s for an answer", d)
	}
}

// A provider has addresses to which secrets may be sent, by https where it is reached so itself.
func TestAddressesOfProviders(t *testing.T) {
	p := newProvider(t)
	real := p.Config.Handler
	for _, c := range []struct {
		issuer, auth, token, keys string
		ok                        bool
	}{
		{"http:", "http://p.example/a", "http://p.example/t", "http://p.example/k", true},
		{"http:", "https://p.example/a", "https://p.example/t", "https://p.example/k", true},
		{"https:", "https://p.example/a", "https://p.example/t", "https://p.example/k", true},
		{"https:", "http://p.example/a", "https://p.example/t", "https://p.example/k", false},
		{"https:", "https://p.example/a", "http://p.example/t", "https://p.example/k", false},
		{"https:", "https://p.example/a", "https://p.example/t", "http://p.example/k", false},
		{"http:", "javascript:alert(1)", "https://p.example/t", "https://p.example/k", false},
		{"http:", "https://p.example/a", "/t", "https://p.example/k", false},
		{"http:", "https://p.example/a", "https:///t", "https://p.example/k", false},
		{"http:", "https://p.example/a", "ftp://p.example/t", "https://p.example/k", false},
		{"http:", "https://p.example/a", "https://p.example/t", "https://p.example/%", false},
	} {
		p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			p.json(w, map[string]any{"issuer": p.URL, "authorization_endpoint": c.auth, "token_endpoint": c.token, "jwks_uri": c.keys})
		})
		said, err := oidc.NewProvider(t.Context(), p.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := (&OIDC{Issuer: c.issuer}).usable(said); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
	p.Config.Handler = real
	if err := (&OIDC{}).usable((&oidc.ProviderConfig{}).NewProvider(t.Context())); err == nil {
		t.Error("a provider that says nothing")
	}
}

// A provider that failed is not asked again for five seconds, and then is.
func TestProviderComesBack(t *testing.T) {
	p := newProvider(t)
	real, asked := p.Config.Handler, 0
	p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		http.Error(w, "no", http.StatusInternalServerError)
	})
	o := &OIDC{Name: "Example", Issuer: p.URL, ClientID: "hub"}
	w := newWorld(t, func(c *Config) { c.OIDC = o })
	for range 3 {
		if code, _, _ := w.get("/login/oidc"); code != 502 {
			t.Error(code)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times at once", asked)
	}
	p.Config.Handler = real
	for _, c := range []struct {
		ago  time.Duration
		code int
	}{{4 * time.Second, 502}, {5 * time.Second, 303}, {0, 303}} {
		o.mu.Lock()
		o.at = time.Now().Add(-c.ago)
		o.mu.Unlock()
		if code, _, _ := w.get("/login/oidc"); code != c.code {
			t.Errorf("%s after it failed: %d", c.ago, code)
		}
	}
}

// Whoever comes back from the provider: the same user goes on, another begins anew, and a session stays where
// nothing was found out. All of it with a provider that is slow, asked with the usual client.
func TestComingBack(t *testing.T) {
	for _, c := range []struct {
		what   string
		claims map[string]any
		spoil  func(w *world, back string) string
		code   int
		page   string
		audit  string
		kept   bool // the former session
	}{
		{"the same", nil, nil, 303, "ann, reader", "", true},
		{"with other groups of hosts", map[string]any{"groups": []any{"db"}}, nil, 303, "ann, reader", "ann: role changed (oidc, reader of db)\n",
			true},
		{"somebody else", map[string]any{"preferred_username": "eve"}, nil, 303, "eve, reader", "eve: log in (oidc, reader of web)\n", false},
		{"in no group any more", map[string]any{"groups": []any{"x"}}, nil, 403, "", "", false},
		{"with another's answer", nil, func(_ *world, back string) string { return back + "x" }, 401, "", "", true},
		{"with a refusal", nil, func(_ *world, back string) string { return back + "&error=login_required" }, 401, "", "", true},
		{"in another browser", nil, func(w *world, back string) string { w.client = w.browser(); return back }, 401, "", "", true},
		{"while the database fails", nil, func(w *world, back string) string {
			w.failing = map[string]error{"ConfirmSession": errFire}
			return back
		}, 503, "", "", true},
	} {
		p := newProvider(t)
		p.claims = map[string]any{"preferred_username": "ann", "groups": []any{"web"}}
		real := p.Config.Handler
		p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Millisecond)
			real.ServeHTTP(w, r)
		})
		w := newWorld(t, func(cfg *Config) {
			cfg.OIDC = &OIDC{Name: "Example", Issuer: p.URL, ClientID: "hub", Redirect: "http://hub.invalid/login/oidc/back",
				Sees: map[string][]string{"web": {"web"}, "db": {"db"}}}
		})
		_, _, h := w.get("/login/oidc?next=/x")
		if code, body, h := w.get(p.authorise(h.Get("Location"))); code != 303 || h.Get("Location") != "/x" {
			t.Fatalf("%s: at first %d %s", c.what, code, body)
		}
		first := ""
		for hash := range w.sessions {
			first = hash
		}
		w.now = w.now.Add(11 * time.Minute)
		before := w.audited()
		for k, v := range c.claims {
			p.claims[k] = v
		}
		_, _, h = w.get("/login/oidc?next=/y")
		back := p.authorise(h.Get("Location"))
		if c.spoil != nil {
			back = c.spoil(w, back)
		}
		code, body, h := w.get(back)
		w.failing = nil
		if _, kept := w.sessions[first]; code != c.code || code == 303 && h.Get("Location") != "/y" || kept != c.kept {
			t.Errorf("%s: %d %s, the former session stays: %t", c.what, code, body, kept)
		}
		if got := strings.TrimPrefix(w.audited(), before); got != c.audit {
			t.Errorf("%s: %q", c.what, got)
		}
		if _, body, _ := w.get("/z"); c.page != "" && !strings.Contains(body, c.page) {
			t.Errorf("%s: %s", c.what, body)
		}
	}
}

// A way that is cut off leads nowhere.
func TestCookieOfTheWay(t *testing.T) {
	g := &Gate{}
	for value, want := range map[string]string{"s.n.v.%2Fx.y": "/x.y", "s.n.v.": "", "s.n.v": "no", "": "no", "t.n.v.%2F": "no"} {
		r, _ := http.NewRequest("GET", "/login/oidc/back?"+url.Values{"state": {"s"}}.Encode(), nil)
		r.AddCookie(&http.Cookie{Name: wayCookie, Value: value})
		got, err := g.way(r)
		if (err != nil) != (want == "no") || err == nil && got != (way{"s", "n", "v", want}) {
			t.Errorf("%q: %+v, %v", value, got, err)
		}
	}
}
