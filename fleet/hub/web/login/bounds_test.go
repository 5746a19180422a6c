package login

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"fettle/fleet/hub/store"
)

// Guesses come at the pace that is said: after a burst, one in 30 s from an address,
// one in 8 s from the network of a customer, one in 5 s for a name.
func TestPaceOfGuesses(t *testing.T) {
	for _, c := range []struct {
		name  string
		burst int
		from  func(i int) string
		user  func(i int) string
		pace  time.Duration
	}{
		{"an address", 10, func(int) string { return "192.0.2.7" }, func(i int) string { return fmt.Sprint("u", i) }, 30 * time.Second},
		{"a network", 40, func(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i+1) },
			func(i int) string { return fmt.Sprint("u", i) }, 8 * time.Second},
		{"a name", 100, func(i int) string { return fmt.Sprintf("10.1.%d.1", i) }, func(int) string { return "ann" }, 5 * time.Second},
	} {
		w := newWorld(t, forwarded)
		guess := func(i int) int { return w.from(c.from(i), c.user(i), "wrong") }
		for i := range c.burst {
			if code := guess(i); code != http.StatusUnauthorized {
				t.Fatalf("%s: guess %d: %d", c.name, i, code)
			}
		}
		for i, wait := range []time.Duration{0, c.pace - time.Second} {
			w.now = w.now.Add(wait)
			if code := guess(c.burst + i); code != http.StatusTooManyRequests {
				t.Errorf("%s: a guess more after %s: %d", c.name, wait, code)
			}
		}
		w.now = w.now.Add(time.Second)
		if code := guess(c.burst + 2); code != http.StatusUnauthorized {
			t.Errorf("%s: a guess after %s: %d", c.name, c.pace, code)
		}
	}
}

// A session ends after a week, and after a day without use.
func TestWeekAndDay(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name       string
		each, last time.Duration // used so often, until then
		after      time.Duration
		code       int
	}{
		{"used each hour for almost a week", time.Hour, 7*day - time.Hour, 59 * time.Minute, 200},
		{"used each hour for a week", time.Hour, 7*day - time.Hour, 61 * time.Minute, 303},
		{"left for almost a day", time.Hour, time.Hour, day - time.Minute, 200},
		{"left for a day", time.Hour, time.Hour, day + time.Minute, 303},
	} {
		w := newWorld(t, nil)
		w.login("bob", secret, "/")
		for used := time.Duration(0); used < c.last; used += c.each {
			w.now = w.now.Add(c.each)
			if code, _, _ := w.get("/"); code != 200 {
				t.Fatalf("%s: %d after %s", c.name, code, used)
			}
		}
		w.now = w.now.Add(c.after)
		if code, _, _ := w.get("/"); code != c.code {
			t.Errorf("%s: %d, want %d", c.name, code, c.code)
		}
	}
}

// Logging in again in the same browser leaves no session behind.
func TestFormerSessionEnds(t *testing.T) {
	w := newWorld(t, nil)
	_, _, h := w.login("ann", secret, "/")
	former := ""
	for _, c := range h.Values("Set-Cookie") {
		if strings.HasPrefix(c, "fettle_session=") {
			former = strings.Split(c, ";")[0]
		}
	}
	if code, body, _ := w.get("/x"); code != 200 || !strings.Contains(body, "is ann") || former == "" {
		t.Fatalf("ann: %d %s, cookie %q", code, body, former)
	}
	if code, _, _ := w.post("/login", map[string][]string{"name": {"bob"}, "password": {secret}, "form": {w.form("/x")}}); code != 303 {
		t.Fatalf("bob: %d", code)
	}
	w.client = w.browser()
	if code, body, _ := w.get("/x", "Cookie", former); code != 303 {
		t.Errorf("ann's session after bob logged in: %d %s", code, body)
	}
}

// A secret of any length but ours is nobody's, whatever the database has.
func TestLongSecret(t *testing.T) {
	w := newWorld(t, nil)
	for n, code := range map[int]int{200: 200, 201: 401} {
		token := strings.Repeat("a", n)
		w.sessions[hashOf(token)] = store.Session{Hash: hashOf(token), User: "ci", How: "token", Expires: w.now.Add(time.Hour)}
		if got, _, _ := w.get("/api/x", "Authorization", "Bearer "+token); got != code {
			t.Errorf("a token of %d bytes: %d, want %d", n, got, code)
		}
	}
}

// A password that is too long is not hashed to find out.
func TestLongPassword(t *testing.T) {
	for n, want := range map[int]bool{1024: true, 1025: false} {
		password, salt := strings.Repeat("p", n), []byte("0123456789abcdef")
		b64 := base64.RawStdEncoding.EncodeToString
		hash := fmt.Sprintf("$argon2id$v=%d$m=8,t=1,p=1$%s$%s", argon2.Version, b64(salt), b64(argon2.IDKey([]byte(password), salt, 1, 8, 1, 32)))
		if ok, err := matches(password, hash); ok != want || err != nil {
			t.Errorf("a password of %d bytes: %t, %v", n, ok, err)
		}
	}
}

// Two strangers' passwords are hashed at a time, which bounds the memory that they
// take; a known browser does not wait for them.
func TestHashesAtATime(t *testing.T) {
	w := newWorld(t, nil)
	g, err := New(Config{Store: w.memory, Effort: cheap})
	if err != nil {
		t.Fatal(err)
	}
	g.hashing[false] <- struct{}{}
	g.hashing[false] <- struct{}{}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 20 {
		r, _ := http.NewRequestWithContext(gone, http.MethodPost, "/login", nil)
		if _, err := g.check(r, "ann", false); !errors.Is(err, context.Canceled) {
			t.Fatalf("a third stranger's password was hashed: %v", err)
		}
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "/login", nil)
	if _, err := g.check(r, "ann", true); !errors.Is(err, errRefused) {
		t.Errorf("a known browser: %v", err)
	}
}

// Logins that succeed use up nothing: neither of the address nor of the name.
func TestSuccessCostsNothing(t *testing.T) {
	w := newWorld(t, forwarded)
	for i := range 15 {
		w.client = w.browser()
		if code := w.from("192.0.2.7", "ann", secret); code != http.StatusSeeOther {
			t.Fatalf("login %d from an address: %d", i+1, code)
		}
	}
	for i := range 102 {
		w.client = w.browser()
		if code := w.from(fmt.Sprintf("10.1.%d.1", i), "bob", secret); code != http.StatusSeeOther {
			t.Fatalf("login %d of a name: %d", i+1, code)
		}
	}
}

// A login by single sign-on may take ten minutes.
func TestTimeForSingleSignOn(t *testing.T) {
	p := newProvider(t)
	w := newWorld(t, func(c *Config) {
		c.OIDC = &OIDC{Name: "Example", Issuer: p.URL, ClientID: "hub", Client: p.Client()}
	})
	_, _, h := w.get("/login/oidc")
	for _, c := range h.Values("Set-Cookie") {
		if strings.HasPrefix(c, wayCookie+"=") && strings.Contains(c+";", "; Max-Age=600;") {
			return
		}
	}
	t.Errorf("cookies of a login on its way: %q", h.Values("Set-Cookie"))
}

// A name is at most 200 bytes long, and is shown to nameShown letters.
func TestLongNames(t *testing.T) {
	for n, want := range map[int]bool{1: true, 200: true, 201: false} {
		if got := Plausible(strings.Repeat("a", n)); got != want {
			t.Errorf("a name of %d bytes is plausible: %t", n, got)
		}
	}
	for n, whole := range map[int]bool{nameShown: true, nameShown + 1: false} {
		name := strings.Repeat("é", n)
		if got := tried(name); (got == name) != whole || !whole && got != strings.Repeat("é", nameShown)+"…" {
			t.Errorf("a name of %d letters is shown as %q", n, got)
		}
	}
}

// A provider that does not answer is an error, not an empty answer.
func TestProviderGone(t *testing.T) {
	gone := errors.New("gone")
	c := http.Client{Transport: little{roundTrip(func(*http.Request) (*http.Response, error) { return nil, gone })}}
	if _, err := c.Get("http://provider.example/"); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
