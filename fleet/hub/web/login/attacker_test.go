package login

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// forwarded makes a gate whose visitors come from the addresses that X-Forwarded-For says.
func forwarded(c *Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }

// from logs in from an address, with the cookies of the present browser.
func (w *world) from(addr, name, password string) int {
	w.t.Helper()
	code, _, _ := w.post("/login", url.Values{"name": {name}, "password": {password}, "form": {w.form("/login")}}, "X-Forwarded-For", addr)
	return code
}

// attack tries wrong passwords for a name from an address, in a browser of its own.
func (w *world) attack(addr, name string, attempts int) {
	w.t.Helper()
	mine := w.client
	w.client = w.browser()
	for range attempts {
		w.from(addr, name, "wrong")
	}
	w.client = mine
}

// TestOneAddressLocksNobodyOut: whoever has no login keeps nobody out by mistakes.
func TestOneAddressLocksNobodyOut(t *testing.T) {
	w := newWorld(t, forwarded)
	w.attack("203.0.113.9", "ann", 150)
	if code := w.from("192.0.2.1", "ann", secret); code != 303 {
		t.Errorf("ann, at an address and in a browser that are new: %d", code)
	}
}

// TestManyAddressesLockNoUserOut: not even a hundred addresses keep out who logged in
// before, in that browser or at that address.
func TestManyAddressesLockNoUserOut(t *testing.T) {
	w := newWorld(t, forwarded)
	if code := w.from("192.0.2.1", "ann", secret); code != 303 {
		t.Fatal(code)
	}
	if code, _, _ := w.post("/logout", url.Values{"form": {w.form("/x")}}); code != 303 {
		t.Fatal(code)
	}
	browser := w.client
	for i := range 30 {
		w.attack(fmt.Sprintf("203.0.113.%d", i), "ann", 10)
	}
	w.client = w.browser()
	if code := w.from("198.51.100.7", "ann", secret); code != 429 {
		t.Errorf("a stranger while the name is attacked: %d; its limit does not hold", code)
	}
	if code := w.from("192.0.2.1", "ann", secret); code != 303 {
		t.Errorf("at the address where ann logged in before: %d", code)
	}
	w.client = browser
	if code := w.from("198.51.100.8", "ann", secret); code != 303 {
		t.Errorf("in the browser in which ann logged in before: %d", code)
	}
}

// TestNeighbourLocksNoUserOut: who shares an address with ann (a proxy, a large office)
// does not keep her out of her browser.
func TestNeighbourLocksNoUserOut(t *testing.T) {
	w := newWorld(t, nil)
	if code, _, _ := w.login("ann", secret, "/"); code != 303 {
		t.Fatal(code)
	}
	w.post("/logout", url.Values{"form": {w.form("/x")}})
	w.attack("", "ann", 40)
	w.attack("", "whoever", 40)
	if code, _, _ := w.login("ann", secret, "/"); code != 303 {
		t.Errorf("ann in her browser: %d", code)
	}
	w.post("/logout", url.Values{"form": {w.form("/x")}})
	// The browser is known for ann alone.
	if code, _, _ := w.login("bob", secret, "/"); code != 429 {
		t.Errorf("bob in ann's browser, at an address that is used up: %d", code)
	}
}

// TestStolenBrowserGuessesSlowly: the cookie of a browser that is known is limited, too.
func TestStolenBrowserGuessesSlowly(t *testing.T) {
	w := newWorld(t, forwarded)
	w.from("192.0.2.1", "ann", secret)
	w.post("/logout", url.Values{"form": {w.form("/x")}})
	for i := range 10 {
		w.from(fmt.Sprintf("198.51.100.%d", i), "ann", "wrong")
	}
	if code := w.from("198.51.100.77", "ann", "wrong"); code != 429 {
		t.Errorf("guess 11 in a known browser: %d", code)
	}
}

// TestAttemptsFillNothing: a flood of attempts with names of the attacker's choice is a
// few rows, and what users did stays apart from it.
func TestAttemptsFillNothing(t *testing.T) {
	w := newWorld(t, forwarded)
	w.from("192.0.2.1", "ann", secret)
	for i := range 300 {
		w.attack("203.0.113.9", fmt.Sprintf("ann\n2026-01-01 root log in \x1b[2J%d", i), 1)
	}
	for i := range 300 {
		w.attack(fmt.Sprintf("2001:db8:%x::1", i), "ann", 1)
	}
	time.Sleep(2 * attemptsEach)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.audit) != 1 || w.audit[0].What != "log in" {
		t.Errorf("%d acts: an attempt is none", len(w.audit))
	}
	n, seconds := 0, 10 // that this test may take
	for _, a := range w.attempts {
		n += a.Count
		if strings.ContainsAny(a.Name, "\n\x1b") || utf8.RuneCountInString(a.Name) > 60 {
			t.Errorf("the name %q", a.Name)
		}
	}
	if n != 600 || len(w.attempts) > seconds*(mostPending+2) {
		t.Errorf("%d attempts in %d rows", n, len(w.attempts))
	}
}

// TestRoleOfPasswords: what a user may do, and whether there still is one, is looked up
// for each request.
func TestRoleOfPasswords(t *testing.T) {
	w := newWorld(t, nil)
	w.login("ann", secret, "/")
	ann := w.users["ann"]
	ann.Role = "reader"
	w.users["ann"] = ann
	if _, body, _ := w.get("/x"); !strings.Contains(body, "ann, reader, by password") {
		t.Error(body)
	}
	delete(w.users, "ann")
	if code, body, _ := w.get("/x"); code != 303 {
		t.Errorf("a user who was removed: %d %s", code, body)
	}
}
