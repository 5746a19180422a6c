package login

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub/store"
)

var errFire = errors.New("disk on fire")

// Where the database fails, nobody comes in by it and nobody is told why; what is only noted keeps nobody out.
func TestDatabaseFailsAtOnePlace(t *testing.T) {
	for _, c := range []struct {
		method   string
		err      error
		code     int
		said     string
		sessions int
	}{
		{"LoggedInBefore", errFire, 503, "The hub's database does not answer", 0},
		{"User", errFire, 503, "The hub's database does not answer", 0},
		{"PutSession", errFire, 503, "could not keep the session", 0},
		{"PutSession", store.ErrNone, 401, "password was changed meanwhile", 0},
		{"PutDevice", errFire, 303, "", 1},
		{"AddAudit", errFire, 303, "", 1},
		{"AddAttempts", errFire, 303, "", 1},
	} {
		w := newWorld(t, nil)
		w.failing = map[string]error{c.method: c.err}
		code, body, h := w.login("ann", secret, "/x")
		if code != c.code || !strings.Contains(body, c.said) || strings.Contains(body, "fire") || len(w.sessions) != c.sessions ||
			strings.Contains(strings.Join(h.Values("Set-Cookie"), " "), sessionCookie) != (c.sessions > 0) {
			t.Errorf("%s: %d %s, %d sessions", c.method, code, body, len(w.sessions))
		}
		if logged := strings.Contains(w.log.String(), errFire.Error()); c.method != "AddAttempts" && logged != (c.err == errFire) {
			t.Errorf("%s: logged is %q", c.method, w.log)
		}
	}
	w := newWorld(t, nil)
	ann := w.users["ann"]
	ann.Password = "$argon2id$damaged"
	w.users["ann"] = ann
	if code, body, _ := w.login("ann", secret, "/"); code != 503 || len(w.sessions) != 0 {
		t.Errorf("a hash that is damaged: %d %s", code, body)
	}
}

// The same for who is logged in: a session ends where the hub says so, or not at all.
func TestDatabaseFailsLater(t *testing.T) {
	for _, c := range []struct {
		method string
		page   int
		logout int
		ended  bool
	}{
		{"Session", 503, 503, false},
		{"User", 503, 503, false},
		{"TouchSession", 200, 303, true},
		{"AddAudit", 200, 303, true},
		{"DropSession", 200, 503, false},
	} {
		w := newWorld(t, nil)
		w.login("ann", secret, "/")
		form := w.form("/x")
		w.now = w.now.Add(time.Hour)
		w.failing = map[string]error{c.method: errFire}
		if code, body, _ := w.get("/x"); code != c.page || strings.Contains(body, "fire") {
			t.Errorf("%s: %d %s", c.method, code, body)
		}
		code, _, h := w.post("/logout", url.Values{"form": {form}})
		gone := strings.Contains(strings.Join(h.Values("Set-Cookie"), "\n"), sessionCookie+"=; Path=/; Max-Age=0")
		if code != c.logout || (len(w.sessions) == 0) != c.ended || gone != c.ended {
			t.Errorf("%s: the log-out: %d, %d sessions, cookies %q", c.method, code, len(w.sessions), h.Values("Set-Cookie"))
		}
		if !strings.Contains(w.log.String(), errFire.Error()) {
			t.Errorf("%s: logged is %q", c.method, w.log)
		}
	}
	w := newWorld(t, nil)
	w.login("ann", secret, "/")
	w.failing = map[string]error{"DropSession": errFire}
	if code, _, _ := w.post("/login", url.Values{"name": {"bob"}, "password": {secret}, "form": {w.form("/x")}}); code != 303 {
		t.Errorf("another login while the former session stays: %d", code)
	}
	if !strings.Contains(w.log.String(), errFire.Error()) {
		t.Errorf("logged is %q", w.log)
	}
	w.failing = nil
	w.now = w.now.Add(time.Hour)
	w.get("/x")
	w.attack("", "ann", 1)
	w.tried(t, "map[127.0.0.1 name or password:1]")
	if w.mu.Lock(); len(w.short) > 0 {
		t.Errorf("%v had less than ten seconds", w.short)
	}
	w.mu.Unlock()
}

// Where passwords are turned off, the right one is of no use.
func TestNoPasswords(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.NoPasswords = true })
	if _, body, _ := w.get("/login"); !strings.Contains(body, "passwords=false provider=") {
		t.Error(body)
	}
	if code, body, _ := w.login("ann", secret, "/"); code != 403 || !strings.Contains(body, "takes no passwords") || len(w.sessions) != 0 {
		t.Errorf("%d %s", code, body)
	}
	w = newWorld(t, func(c *Config) { c.OIDC = &OIDC{Name: "Example"} })
	if _, body, _ := w.get("/login"); !strings.HasSuffix(body, "passwords=true provider=Example") {
		t.Error(body)
	}
}

// Where strangers, and who is logged in, are led, and what programs are told.
func TestWhereStrangersAreLed(t *testing.T) {
	w := newWorld(t, nil)
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/assets/x", 200}, {"GET", "/healthz", 200}, {"GET", "/login", 200}, {"GET", "/login/x", 200},
		{"GET", "/assetsx", 303}, {"GET", "/healthzx", 303}, {"GET", "/loginx", 303}, {"GET", "/", 303}, {"GET", "/api/", 303},
		{"GET", "/feed", 303}, {"GET", "/livex", 303}, {"HEAD", "/x", 303}, {"OPTIONS", "/x", 303}, {"GET", "/api/x", 401},
		{"GET", "/feed/x", 401}, {"GET", "/live", 401}, {"PUT", "/x", 401}, {"DELETE", "/x", 401}, {"PATCH", "/x", 401},
	} {
		req, _ := http.NewRequest(c.method, w.server.URL+c.path, nil)
		if code, body, _ := w.do(req); code != c.code || code == 401 && !strings.Contains(body, "log in first, or give a token") {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
		}
	}
	w.login("ann", secret, "/")
	for _, method := range []string{"HEAD", "OPTIONS"} {
		req, _ := http.NewRequest(method, w.server.URL+"/x", nil)
		if code, _, _ := w.do(req); code != 200 {
			t.Errorf("%s, logged in: %d", method, code)
		}
	}
	if code, _, h := w.get("/login?next=/hosts"); code != 303 || h.Get("Location") != "/hosts" {
		t.Errorf("the log-in page for who is logged in: %d %s", code, h.Get("Location"))
	}
}

// Operators send large files where there are some to send, and nobody else anywhere.
func TestUploads(t *testing.T) {
	uploads := func(c *Config) { c.Uploads = func(r *http.Request) bool { return r.URL.Path == "/file" } }
	for _, c := range []struct {
		who, path string
		size      int
		change    func(*Config)
		code      int
	}{
		{"ann", "/file", 2 << 20, uploads, 200},
		{"ann", "/file", MaxUpload, uploads, 400},
		{"ann", "/x", 2 << 20, uploads, 400},
		{"ann", "/file", 2 << 20, nil, 400},
		{"bob", "/file", 2 << 20, uploads, 400},
	} {
		w := newWorld(t, c.change)
		w.login(c.who, secret, "/")
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		_ = m.WriteField("form", w.form("/x"))
		f, err := m.CreateFormFile("file", "pack")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write(make([]byte, c.size))
		_ = m.Close()
		req, _ := http.NewRequest(http.MethodPost, w.server.URL+c.path, &b)
		req.Header.Set("Content-Type", m.FormDataContentType())
		res, err := w.client.Do(req)
		if err != nil {
			if c.code == 400 {
				continue // the hub hung up before all was sent
			}
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.code && (c.code != 400 || res.StatusCode != 403) {
			t.Errorf("%s sends %d bytes to %s: %d", c.who, c.size, c.path, res.StatusCode)
		}
	}
}

// cookie is a cookie that an answer sets, with its attributes.
func cookie(h http.Header, name string) *http.Cookie {
	for _, c := range (&http.Response{Header: h}).Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Cookies last as long as what they are for, and have secrets of ours.
func TestCookies(t *testing.T) {
	w := newWorld(t, nil)
	_, _, h := w.get("/login")
	if c := cookie(h, formCookie); c == nil || c.MaxAge != 31536000 || len(c.Value) < 26 {
		t.Errorf("the form's: %+v", c)
	}
	_, _, h = w.login("ann", secret, "/")
	for name, age := range map[string]int{sessionCookie: 604800, deviceCookie: 31536000} {
		if c := cookie(h, name); c == nil || c.MaxAge != age || len(c.Value) != 43 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	w.post("/logout", url.Values{"form": {w.form("/x")}})
	if _, _, h = w.login("ann", secret, "/"); cookie(h, deviceCookie) != nil {
		t.Error("a browser that is known gets another cookie")
	}
	for n, kept := range map[int]bool{0: false, 25: false, 26: true, 100: true, 101: false} {
		w.client = w.browser()
		if _, _, h := w.get("/login", "Cookie", formCookie+"="+strings.Repeat("a", n)); (cookie(h, formCookie) == nil) != kept {
			t.Errorf("a form's cookie of %d letters: %q", n, h.Values("Set-Cookie"))
		}
	}
	if _, _, h := w.post("/login", nil); cookie(h, formCookie) != nil {
		t.Error("a form without a cookie is answered by one")
	}
}

// A session ends at the moment that is said, its role too, and its use is noted by the minute.
func TestMoments(t *testing.T) {
	oidc := func(c *Config) { c.OIDC = &OIDC{Name: "Example"} }
	var later []func()
	for _, c := range []struct {
		what    string
		how     string
		change  func(*Config)
		age     time.Duration // since it was seen and confirmed
		left    time.Duration
		code    int
		to      string
		touched bool
	}{
		{"a day without use", "password", nil, idle, time.Hour, 200, "", true},
		{"more than a day", "password", nil, idle + 1, time.Hour, 303, "/login?next=%2Fx", false},
		{"its last moment", "password", nil, 0, 1, 200, "", false},
		{"its end", "password", nil, 0, 0, 303, "/login?next=%2Fx", false},
		{"a minute", "password", nil, time.Minute, time.Hour, 200, "", false},
		{"more than a minute", "password", nil, time.Minute + 1, time.Hour, 200, "", true},
		{"a role of ten minutes", "oidc", oidc, 10 * time.Minute, time.Hour, 200, "", true},
		{"a role of more", "oidc", oidc, 10*time.Minute + 1, time.Hour, 303, "/login/oidc?next=%2Fx", false},
		{"no provider any more", "oidc", nil, 0, time.Hour, 303, "/login?next=%2Fx", false},
		{"a token by a cookie", "token", nil, 0, time.Hour, 303, "/login?next=%2Fx", false},
	} {
		later = nil
		w := newWorld(t, func(cfg *Config) {
			cfg.Later = func(f func()) { later = append(later, f) }
			if c.change != nil {
				c.change(cfg)
			}
		})
		s, hash := NewSecret()
		w.sessions[hash] = store.Session{Hash: hash, User: "ann", Role: store.Reader, Sees: store.AllGroups, How: c.how,
			Seen: w.now.Add(-c.age), Confirmed: w.now.Add(-c.age), Expires: w.now.Add(c.left)}
		for range 2 { // the second request does not note what the first is about to
			if code, _, h := w.get("/x", "Cookie", sessionCookie+"="+s); code != c.code || h.Get("Location") != c.to {
				t.Errorf("%s: %d to %q", c.what, code, h.Get("Location"))
			}
		}
		if (len(later) == 1) != c.touched || len(later) > 1 {
			t.Errorf("%s: noted %d times", c.what, len(later))
		}
		for _, f := range later {
			f()
		}
		if c.touched && !w.sessions[hash].Seen.Equal(w.now) {
			t.Errorf("%s: seen %s", c.what, w.sessions[hash].Seen)
		}
	}
}

// What a gate does that is told nothing else.
func TestUsualGate(t *testing.T) {
	w := newWorld(t, nil)
	g, err := New(Config{Store: w.memory})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool, 1)
	g.cfg.Later(func() { done <- true })
	if !<-done || time.Since(g.cfg.Now()) > time.Minute || !strings.HasPrefix(g.dummy, "$argon2id$v=19$m=65536,t=3,p=1$") {
		t.Errorf("it compares with %s", g.dummy)
	}
}

// Addresses are counted each for itself up to a number, and what counts already goes on.
func TestAttemptsOfManyAddresses(t *testing.T) {
	var kept []store.Attempt
	a := &attempts{keep: func(_ context.Context, list []store.Attempt) error { kept = append(kept, list...); return nil }}
	at := time.Unix(1e9, 0)
	for i := range mostPending + 2 {
		a.add(fmt.Sprint(i), wrongPassword, "ann", at)
	}
	a.add("0", wrongPassword, "bob", at.Add(time.Millisecond))
	a.flush()
	counts := map[string]store.Attempt{}
	for _, one := range kept {
		counts[one.From] = one
	}
	if first := counts["0"]; len(kept) != mostPending+1 || counts["other addresses"].Count != 2 || first.Count != 2 || first.Name != "bob" ||
		!first.First.Equal(at) || !first.Last.Equal(at.Add(time.Millisecond)) || counts[fmt.Sprint(mostPending-1)].Count != 1 {
		t.Errorf("%d rows: %+v, %+v", len(kept), counts["0"], counts["other addresses"])
	}
}

// How long to wait is until the next attempt may be made; a clock that goes back takes nothing away.
func TestLimitWaits(t *testing.T) {
	l, now := newLimit(2, time.Minute), time.Unix(1e9, 0)
	for _, c := range []struct {
		after, wait time.Duration
	}{{0, 0}, {0, 0}, {0, time.Minute}, {45 * time.Second, 15 * time.Second}, {60 * time.Second, 0}, {60 * time.Second, time.Minute},
		{30 * time.Second, time.Minute}, {90 * time.Second, 30 * time.Second}, {24 * time.Hour, 0}, {24 * time.Hour, 0},
		{24 * time.Hour, time.Minute}} {
		if wait := l.take("k", now.Add(c.after)); wait.Round(time.Millisecond) != c.wait {
			t.Errorf("after %s: %s, want %s", c.after, wait, c.wait)
		}
	}
	for range 5 {
		l.back("k", now.Add(24*time.Hour))
	}
	for i, want := range []bool{true, true, false} {
		if got := l.take("k", now.Add(24*time.Hour)) == 0; got != want {
			t.Errorf("attempt %d after five were given back: %t", i, got)
		}
	}
}

// Room is made first of those who may try as before, then of those who tried once; and in the end of anybody.
func TestWhoIsForgotten(t *testing.T) {
	now := time.Unix(1e9, 0)
	fill := func(l *limit, name string, keys, times int, at time.Time) {
		for i := range keys {
			for range times {
				l.take(fmt.Sprint(name, i), at)
			}
		}
	}
	left := func(l *limit, name string) (n int) {
		for key := range l.buckets {
			if strings.HasPrefix(key, name) {
				n++
			}
		}
		return n
	}
	l := newLimit(3, time.Minute)
	l.most = 8
	fill(l, "long ago", 4, 3, now.Add(-time.Hour))
	fill(l, "once", 4, 1, now)
	fill(l, "new", 1, 1, now)
	if left(l, "long ago") != 0 || left(l, "once") != 4 || left(l, "new") != 1 {
		t.Errorf("who may try as before: %v", l.buckets)
	}
	l = newLimit(3, time.Minute)
	l.most = 8
	fill(l, "attacked", 4, 3, now)
	for i := range 100 {
		fill(l, fmt.Sprint("once", i, "x"), 1, 1, now)
	}
	if left(l, "attacked") != 4 || len(l.buckets) > 8 {
		t.Errorf("who tried once: %v", l.buckets)
	}
	fill(l, "attacked too", 40, 3, now)
	if len(l.buckets) > 8 {
		t.Errorf("it remembers %d keys that are attacked", len(l.buckets))
	}
}

// Only those are believed who say for another where he comes from that the hub is told of.
func TestForwarded(t *testing.T) {
	elsewhere := func(c *Config) { c.Proxy = &Proxy{From: within192(), Header: "X-Remote-User"} }
	here := func(c *Config) { forwarded(c); elsewhere(c) }
	for _, c := range []struct {
		change func(*Config)
		header []string
		from   string
	}{
		{nil, []string{"192.0.2.9"}, "127.0.0.1"},
		{elsewhere, []string{"192.0.2.9"}, "127.0.0.1"},
		{forwarded, []string{"192.0.2.9"}, "192.0.2.9"},
		{here, []string{"192.0.2.9"}, "192.0.2.9"},
		{forwarded, []string{"10.0.0.1", "10.0.0.2, ::ffff:192.0.2.9"}, "192.0.2.9"},
		{forwarded, []string{"192.0.2.9, unknown"}, "127.0.0.1"},
		{forwarded, nil, "127.0.0.1"},
	} {
		w := newWorld(t, c.change)
		w.login("ann", secret, "/")
		var header []string
		for _, h := range c.header {
			header = append(header, "X-Forwarded-For", h)
		}
		if _, body, _ := w.get("/x", header...); !strings.Contains(body, " from "+c.from+" ") {
			t.Errorf("%q: %s", c.header, body)
		}
	}
	if a := peer(&http.Request{RemoteAddr: "@"}); a.IsValid() {
		t.Errorf("no address is %s", a)
	}
}
