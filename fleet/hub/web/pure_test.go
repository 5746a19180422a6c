package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// TestNumbers: how pages write numbers and times.
func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000",
		123456: "123,456", 1234567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		if got := digits(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for n, want := range map[int]string{0: "0 hosts", 1: "1 host", 2: "2 hosts", 1000: "1,000 hosts"} {
		if got := count(n, "host", "hosts"); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", time.Minute: "1 minute ago", 59 * time.Minute: "59 minutes ago", time.Hour: "1 hour ago",
		47*time.Hour + 59*time.Minute: "47 hours ago", 48 * time.Hour: "2 days ago", 72 * time.Hour: "3 days ago", -time.Minute: "just now",
		-3 * time.Minute: "in 3 min",
	} {
		if got := ago(now, now.Add(-d)); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
	if got := ago(now, time.Time{}); got != "never" {
		t.Error(got)
	}
	for _, c := range []struct{ s, want string }{{"äbc", "äbc"}, {"äbcd", "äbc…"}, {"", ""}} {
		if got := clip(c.s, 3); got != c.want {
			t.Errorf("%s: %s", c.s, got)
		}
	}
	if got := queryOf("a", "x y", "b", "", "c", 0, "d", 1000, "e", int64(0), "f", int64(7), "odd"); got != "a=x+y&d=1000&f=7" {
		t.Error(got)
	}
	for kind, want := range map[string]string{"returned": "came back", "seen": "can be seen again", "unseen": "cannot be seen", "new": "new"} {
		if got := kindWord(kind); got != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
	for s, want := range map[string]string{"a+b%21": "a b!", "%zz": "", strings.Repeat("a", 500): strings.Repeat("a", 500),
		strings.Repeat("a", 501): ""} {
		if got := unescape(s); got != want {
			t.Errorf("%.9q: %.9q", s, got)
		}
	}
}

// TestPager: which part of a list is shown, and where the others are.
func TestPager(t *testing.T) {
	for _, c := range []struct {
		query                string
		offset, shown, count int
		want                 string
	}{
		{"", 0, 50, 50, "1-50 < >"}, {"", 0, 50, 51, "1-50 < >/hosts?offset=50"}, {"q=a", 50, 1, 51, "51-51 </hosts?q=a >"},
		{"offset=50", 50, 50, 150, "51-100 </hosts >/hosts?offset=100"}, {"limit=10&offset=20", 20, 10, 31, "21-30 </hosts?limit=10&offset=10 >" +
			"/hosts?limit=10&offset=30"}, {"limit=0", 60, 50, 200, "61-110 </hosts?limit=0&offset=10 >/hosts?limit=0&offset=110"},
		{"offset=9", 9, 0, 20, "10-9 </hosts >"},
		{"offset=500", 500, 0, 120, "501-500 </hosts?offset=70 >"}, {"before=1.2&after=3.4", 10, 5, 20, "11-15 </hosts >/hosts?offset=15"},
	} {
		p := pagesOf(httptest.NewRequest(http.MethodGet, "/hosts?"+c.query, nil), c.offset, 50, c.shown, c.count)
		if got := fmt.Sprintf("%d-%d <%s >%s", p.First, p.Last, p.Prev, p.Next); got != c.want || p.Count != c.count {
			t.Errorf("%+v: %s", c, got)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/changes?trap=a&before=9.9", nil)
	for _, c := range []struct {
		prev, next  string
		count, most int
		want        string
	}{
		{"", "", 9, 10, "9 false < >"}, {"1.2", "", 10, 10, "10 true </changes?after=1.2&trap=a >"},
		{"", "3.4", 11, 10, "11 true < >/changes?before=3.4&trap=a"},
	} {
		p := along(r, c.prev, c.next, c.count, c.most)
		if got := fmt.Sprintf("%d %v <%s >%s", p.Count, p.Most, p.Prev, p.Next); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestForms: what is read of a form, and where it leads.
func TestForms(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/accept", nil)
	r.PostForm = url.Values{"host": {"w1"}, "subject": {"a%2Fb+c"}, "other": {"x"}, "trap": {""}}
	if got := fields(r, "host", "subject", "trap", "reason").Encode(); got != "host=w1&subject=a%2Fb+c&trap=" {
		t.Error(got)
	}
	r.PostForm = url.Values{"subject": {"%zz"}}
	if got := fields(r, "subject").Get("subject"); got != "%zz" {
		t.Error(got)
	}
	if got := without(url.Values{"a": {""}, "b": {"1"}, "c": {"", "2"}, "d": {"3"}}, "d").Encode(); got != "b=1&c=&c=2" {
		t.Error(got)
	}
	for _, c := range []struct {
		q    api.AskQuery
		want string
	}{
		{api.AskQuery{Host: "w/1"}, "/host/w%2F1 The host was asked to check now."}, {api.AskQuery{}, "/? All hosts were asked to check now."},
		{api.AskQuery{Group: "web"}, "/?group=web The hosts were asked to check now."},
		{api.AskQuery{Label: "a=b"}, "/?label=a%3Db The hosts were asked to check now."},
	} {
		if next, said := afterAsk(c.q); next+" "+said != c.want {
			t.Errorf("%+v: %s %s", c.q, next, said)
		}
	}
	for path, want := range map[string]bool{
		"/attach": true, "/attachx": false, "/api/v1/hosts/w1/captures": true, "/api/v1/hosts/w1": false, "/api/v1/captures": false,
		"/x/api/v1/hosts/w1/captures": false,
	} {
		if got := uploads(httptest.NewRequest(http.MethodPost, path, nil)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	for name, want := range map[string]string{"a.css": "text/css", "a.js": "text/javascript", "a.svg": "image/svg+xml",
		"a.unknown": "text/plain"} {
		if got := kindOf(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

type beats struct {
	n     atomic.Int64
	asked atomic.Int64
	err   error
}

func (b *beats) Pulse(context.Context, store.Scope) (int64, error) {
	b.asked.Add(1)
	return b.n.Load(), b.err
}

// TestAnnouncer: who listens hears of what changed since, once, and of hosts that he sees; there is a
// bound to how many listen.
func TestAnnouncer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it polls by itself no more
	a := newAnnouncer(ctx, &beats{})
	all, web := a.listen(store.AllGroups), a.listen(store.OnlyGroups("web"))
	hears := func(c chan int64) string {
		select {
		case n := <-c:
			return fmt.Sprint(n)
		default:
			return "-"
		}
	}
	clear(a.last)
	for _, c := range []struct {
		all, web int64
		want     string
	}{
		{5, 7, "- -"}, {5, 7, "- -"}, {6, 7, "6 -"}, {6, 8, "- 8"}, {7, 9, "7 9"},
	} {
		a.announce(map[store.Rights]int64{store.AllGroups: c.all, store.OnlyGroups("web"): c.web})
		if got := hears(all) + " " + hears(web); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	a.announce(map[store.Rights]int64{store.AllGroups: 8})
	a.announce(map[store.Rights]int64{store.AllGroups: 9}) // it has one waiting
	if got := hears(all) + hears(all); got != "8-" {
		t.Error(got)
	}
	if r := a.rights(); len(r) != 2 || !slices.Contains(r, store.AllGroups) {
		t.Errorf("%q", r)
	}
	a.leave(all)
	if r := a.rights(); len(r) != 1 || r[0] != store.OnlyGroups("web") {
		t.Errorf("%q", r)
	}
	for range mostTabs - 1 {
		if a.listen(store.AllGroups) == nil {
			t.Fatal("too many, too soon")
		}
	}
	if a.listen(store.AllGroups) != nil {
		t.Error("one too many")
	}
	w := httptest.NewRecorder()
	a.serve(w, httptest.NewRequest(http.MethodGet, "/live", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestHealthIsRemembered: the database is asked again only after a while; what the stream says counts
// at once.
func TestHealthIsRemembered(t *testing.T) {
	means.Ends(t)
	db := storetest.SQLite(t)
	cfg := &Config{DB: db}
	var h health
	if why := h.of(t.Context(), cfg); why != "" {
		t.Fatal(why)
	}
	first := h.at
	if h.of(t.Context(), cfg); !h.at.Equal(first) {
		t.Error("the database is asked each time")
	}
	h.at = time.Now().Add(-healthLasts - time.Second)
	old := h.at
	if h.of(t.Context(), cfg); h.at.Equal(old) {
		t.Error("the database is not asked again")
	}
	cfg.Storing = func() error { return nil }
	if why := h.of(t.Context(), cfg); why != "" {
		t.Error(why)
	}
	cfg.Storing = func() error { return errors.New("full") }
	if why := h.of(t.Context(), cfg); why != "agents' messages cannot be stored" {
		t.Error(why)
	}
}

// TestPrefixes: addresses and networks, and never the whole world.
func TestPrefixes(t *testing.T) {
	for s, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "192.0.2.7/24": "192.0.2.0/24", "2001:db8::1": "2001:db8::1/128", "0.0.0.0/0": "", "::/0": "", "x": "",
		"":          "",
		"0.0.0.0/1": "0.0.0.0/1",
	} {
		got, err := prefixes("from", []string{s})
		if (err == nil) != (want != "") || err == nil && (len(got) != 1 || got[0].String() != want) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}

// TestSettingsTogether: what goes together, what excludes each other, and what follows from it.
func TestSettingsTogether(t *testing.T) {
	yes, no := true, false
	proxy := func(p proxyLogin) Settings { return Settings{Proxy: &p} }
	oidc := func(url string, o oidcLogin) Settings { return Settings{URL: url, OIDC: &o} }
	for _, c := range []struct {
		s   Settings
		why string // empty: they are good
	}{
		{Settings{}, ""}, {Settings{URL: "https://hub.example"}, ""}, {Settings{URL: "http://hub.example/"}, ""},
		{Settings{URL: "ftp://hub.example"}, "url"}, {Settings{URL: "https://"}, "url"}, {Settings{URL: "https://h/x"}, "url"},
		{Settings{URL: "https://h?x"}, "url"}, {Settings{URL: "h"}, "url"}, {Settings{Forwarders: []string{"x"}}, "forwarders"},
		{Settings{TLS: tlsFile{Cert: "a"}}, "tls: cert and key"}, {Settings{TLS: tlsFile{Key: "a"}}, "tls: cert and key"},
		{Settings{TLS: tlsFile{Cert: "a", Key: "b"}}, ""}, {Settings{TLS: tlsFile{Cert: "a", Key: "b", ACME: []string{"h"}}}, "tls: either"},
		{proxy(proxyLogin{Header: "X"}), "proxy: needs"}, {proxy(proxyLogin{From: []string{"192.0.2.1"}}), "proxy: needs"},
		{proxy(proxyLogin{Header: "X", From: []string{"192.0.2.1"}}), ""}, {proxy(proxyLogin{Header: "X", From: []string{"x"}}), "proxy: from"},
		{proxy(proxyLogin{Header: "X", From: []string{"192.0.2.1"}, Sees: sees{"a": nil}}), "proxy: sees"},
		{oidc("https://h", oidcLogin{Issuer: "https://i", ClientID: "c"}), ""},
		{oidc("", oidcLogin{Issuer: "https://i", ClientID: "c"}), "oidc: needs url"},
		{oidc("https://h", oidcLogin{Issuer: "https://i"}), "oidc: needs issuer"},
		{oidc("https://h", oidcLogin{ClientID: "c"}), "oidc: needs issuer"},
		{oidc("https://h", oidcLogin{Issuer: "http://i", ClientID: "c"}), "oidc: issuer"},
		{oidc("https://h", oidcLogin{Issuer: "http://127.0.0.1:1", ClientID: "c"}), ""},
		{oidc("https://h", oidcLogin{Issuer: "http://localhost:1", ClientID: "c"}), ""},
		{oidc("https://h", oidcLogin{Issuer: "https://i", ClientID: "c", Sees: sees{"a": nil}}), "oidc: sees"},
	} {
		if err := c.s.valid(); (err == nil) != (c.why == "") || err != nil && !strings.HasPrefix(err.Error(), c.why) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.why)
		}
	}
	for _, c := range []struct {
		s                 Settings
		secure, passwords bool
	}{
		{Settings{}, false, true}, {Settings{URL: "http://h"}, false, true}, {Settings{URL: "https://h"}, true, true},
		{Settings{TLS: tlsFile{Cert: "a", Key: "b"}}, true, true}, {Settings{TLS: tlsFile{ACME: []string{"h"}}, Passwords: &yes}, true, true},
		{Settings{Passwords: &no}, false, false},
	} {
		got, err := c.s.Login()
		if err != nil || got.Secure != c.secure || got.NoPasswords == c.passwords || got.Proxy != nil || got.OIDC != nil {
			t.Errorf("%+v: %+v, %v", c.s, got, err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	for text, ok := range map[string]bool{" s3cret\n": true, "": false} {
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := oidc("https://h/", oidcLogin{Issuer: "https://i", ClientID: "c", SecretFile: secret})
		got, err := s.Login()
		if (err == nil) != ok || ok && (got.OIDC.Secret != "s3cret" || got.OIDC.Name != "single sign-on" ||
			got.OIDC.Redirect != "https://h/login/oidc/back") {
			t.Errorf("%q: %+v, %v", text, got.OIDC, err)
		}
	}
	s := oidc("https://h", oidcLogin{Issuer: "https://i", ClientID: "c", Name: "Acme"})
	if got, err := s.Login(); err != nil || got.OIDC.Name != "Acme" || got.OIDC.Secret != "" {
		t.Errorf("%+v, %v", got.OIDC, err)
	}
}

// TestWhichCertificates: those from files, those by ACME, or none.
func TestWhichCertificates(t *testing.T) {
	get := func(cert, key string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
		if key == "bad" {
			return nil, errors.New("no key")
		}
		return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New(cert + key) }, nil
	}
	for _, c := range []struct {
		tls  tlsFile
		some bool
		why  string
	}{
		{tlsFile{}, false, ""}, {tlsFile{Cert: "a", Key: "b"}, true, ""}, {tlsFile{Cert: "a", Key: "bad"}, false, "no key"},
		{tlsFile{ACME: []string{"hub.example"}, Directory: "http://127.0.0.1:1"}, true, ""},
	} {
		s := &Settings{TLS: c.tls}
		got, err := s.Certificates(t.TempDir(), get)
		if (got != nil) != c.some || (err == nil) != (c.why == "") || got != nil && (got.MinVersion != tls.VersionTLS12 ||
			!slices.Contains(got.NextProtos, "h2")) {
			t.Errorf("%+v: %+v, %v", c.tls, got, err)
		}
		if c.tls.Cert != "" && got != nil {
			if _, err := got.GetCertificate(nil); err == nil || err.Error() != "ab" {
				t.Errorf("of another file: %v", err)
			}
		}
	}
}

// TestWords: what templates say.
func TestWords(t *testing.T) {
	s := &site{cfg: Config{Now: time.Now}, assets: map[string]asset{"a": {href: "/assets/a?1"}}}
	w := s.words()
	if got, err := w["asset"].(func(string) (string, error))("a"); err != nil || got != "/assets/a?1" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := w["asset"].(func(string) (string, error))("b"); err == nil {
		t.Error("an asset that is not there")
	}
	first, more := w["first"].(func(int, any) any), w["more"].(func(int, any) int)
	for n, want := range map[int]string{0: "[] 3", 2: "[a b] 1", 3: "[a b c] 0", 9: "[a b c] 0"} {
		list := []string{"a", "b", "c"}
		if got := fmt.Sprint(first(n, list), more(n, list)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := fmt.Sprint(w["dict"].(func(...string) map[string]string)("a", "1", "b", "2", "c")); got != "map[a:1 b:2]" {
		t.Error(got)
	}
	for d, want := range map[time.Duration]bool{
		2 * time.Minute: false, -2 * time.Minute: false, 3 * time.Minute: true, -3 * time.Minute: true} {
		if got := w["skewed"].(func(time.Duration) bool)(d); got != want {
			t.Errorf("%s: %v", d, got)
		}
	}
}

// TestSearchLeadsOn: the whole name of one host leads to its page.
func TestSearchLeadsOn(t *testing.T) {
	w := ofHosts(t, 40)
	w.login("ann")
	h := w.aHost()
	code, _, head := w.get("/search?q=" + url.QueryEscape(h.Name))
	if code != http.StatusSeeOther || head.Get("Location") != "/host/"+h.Agent {
		t.Errorf("%s: %d %v", h.Name, code, head)
	}
	for q, want := range map[string]string{h.Name[:len(h.Name)-1]: h.Name, "mtu": "bridge-mtu", "": ""} {
		if code, body, _ := w.get("/search?q=" + url.QueryEscape(q)); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%q: %d", q, code)
		}
	}
	for path, status := range map[string]int{
		"/compare?a=" + h.Agent + "&b=nobody": 200, "/host/nobody": 404, "/nothing": 404, "/hosts?limit=x": 400, "/hosts?a=%zz": 400,
		"/trap/nowhere": 404, "/feed/changes.atom?since=x": 400,
	} {
		if code, body, _ := w.get(path); code != status || status == 200 && !strings.Contains(body, "no such object") {
			t.Errorf("%s: %d %.300s", path, code, body)
		}
	}
}
