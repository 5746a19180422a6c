package login

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"fettle/fleet/hub/store"
)

// deviceCookie names a browser in which somebody logged in (OWASP: "Slow Down Online
// Guessing Attacks with Device Cookies"): it proves nothing but that.
const (
	deviceCookie = "fettle_device"
	deviceLasts  = 365 * 24 * time.Hour
)

// limits bound guessing. Whoever has no login must not use up what keeps a user out, so
// an attempt counts where it comes from: in a browser that is known for this name, there
// alone; else at its address. A name's own limit is for guesses from very many addresses,
// and does not hold where its user logged in before.
type limits struct {
	byBrowser *limit
	byFrom    *limit
	byNet     *limit // of IPv6, the /48 that one customer has
	byName    *limit
}

func newLimits() limits {
	return limits{
		byBrowser: newLimit(10, 30*time.Second), byFrom: newLimit(10, 30*time.Second), byNet: newLimit(40, 8*time.Second),
		byName: newLimit(100, 5*time.Second),
	}
}

// attempt is a login by password that is being made.
type attempt struct {
	name    string
	from    string // the address, as attempts are counted
	browser string // the hash of its cookie
	known   bool   // for this name
	counts  []count
}

type count struct {
	*limit
	key string
}

// attempt finds out where an attempt counts.
func (g *Gate) attempt(r *http.Request, name string) (*attempt, error) {
	addr := g.from(r)
	a := &attempt{name: name, from: neighbours(addr)}
	if c, err := r.Cookie(g.cookie(deviceCookie)); err == nil && len(c.Value) < 200 {
		a.browser = hashOf(c.Value)
	}
	browser, address, err := g.cfg.Store.LoggedInBefore(r.Context(), name, a.browser, a.from)
	if err != nil {
		return nil, err
	}
	if a.known = browser; browser {
		a.counts = []count{{g.limits.byBrowser, a.browser + " " + name}}
		return a, nil
	}
	a.counts = []count{{g.limits.byFrom, a.from}}
	if addr.Is6() {
		a.counts = append(a.counts, count{g.limits.byNet, network(addr)})
	}
	if !address {
		a.counts = append(a.counts, count{g.limits.byName, name})
	}
	return a, nil
}

func network(a netip.Addr) string {
	p, _ := a.WithZone("").Prefix(48) // of IPv6 there is always one
	return p.String()
}

// take counts an attempt, or says how long to wait: then it counts nowhere.
func (a *attempt) take(now time.Time) time.Duration {
	for i, c := range a.counts {
		if wait := c.take(c.key, now); wait > 0 {
			for _, taken := range a.counts[:i] {
				taken.back(taken.key, now)
			}
			return wait
		}
	}
	return 0
}

// succeeded gives an attempt back.
func (a *attempt) succeeded(now time.Time) {
	for _, c := range a.counts {
		c.back(c.key, now)
	}
}

// remember notes the browser and the address of a user who logged in.
func (g *Gate) remember(w http.ResponseWriter, r *http.Request, a *attempt) {
	if a.browser == "" {
		secret, hash := NewSecret()
		a.browser = hash
		g.setCookie(w, deviceCookie, secret, deviceLasts)
	}
	d := store.Device{Hash: a.browser, User: a.name, From: a.from, At: g.cfg.Now()}
	if err := g.cfg.Store.PutDevice(r.Context(), d); err != nil {
		slog.Warn("remembering a browser", "err", err)
	}
}
