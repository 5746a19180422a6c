package login

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fettle/fleet/hub/store"
)

func (g *Gate) show(w http.ResponseWriter, r *http.Request, p Page) {
	p.Passwords = !g.cfg.NoPasswords
	if g.cfg.OIDC != nil {
		p.OIDC = g.cfg.OIDC.Name
	}
	if p.Status == 0 {
		p.Status = http.StatusOK
	}
	g.cfg.Render(w, r, p)
}

func (g *Gate) page(w http.ResponseWriter, r *http.Request) {
	next := r.URL.Query().Get("next")
	if Who(r.Context()).Name != "" {
		http.Redirect(w, r, Local(next), http.StatusSeeOther)
		return
	}
	g.show(w, r, Page{Next: Local(next)})
}

// password logs in by name and password. An unknown name, a wrong password and
// a user without one get the same answer, in the same time.
func (g *Gate) password(w http.ResponseWriter, r *http.Request) {
	name, next := clip(strings.TrimSpace(r.PostForm.Get("name"))), Local(r.PostForm.Get("next"))
	back := Page{Name: name, Next: next}
	if g.cfg.NoPasswords {
		back.Error, back.Status = "This hub takes no passwords.", http.StatusForbidden
		g.show(w, r, back)
		return
	}
	now := g.cfg.Now()
	a, err := g.attempt(r, name)
	if err != nil {
		g.trouble(w, r, back, err)
		return
	}
	if wait := a.take(now); wait > 0 {
		g.fail(r, tooMany, name)
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		back.Error, back.Status = "Too many attempts. Wait half a minute, then try again.", http.StatusTooManyRequests
		g.show(w, r, back)
		return
	}
	u, err := g.check(r, name, a.known)
	if err != nil && !errors.Is(err, errRefused) {
		g.trouble(w, r, back, err)
		return
	}
	if err != nil {
		g.fail(r, wrongPassword, name)
		back.Error, back.Status = "Name or password is wrong.", http.StatusUnauthorized
		g.show(w, r, back)
		return
	}
	a.succeeded(now)
	g.remember(w, r, a)
	g.begin(w, r, store.Session{User: u.Name, Role: u.Role, Sees: u.Sees, How: "password", Password: u.Password}, next)
}

func (g *Gate) trouble(w http.ResponseWriter, r *http.Request, back Page, err error) {
	slog.Error("log-in", "err", err)
	back.Error, back.Status = "The hub's database does not answer. Try again.", http.StatusServiceUnavailable
	g.show(w, r, back)
}

var errRefused = errors.New("name or password is wrong")

func (g *Gate) check(r *http.Request, name string, known bool) (store.User, error) {
	u, err := g.cfg.Store.User(r.Context(), name)
	mayBe := err == nil && u.Password != ""
	if err != nil && !errors.Is(err, store.ErrNone) {
		return u, err
	}
	hash := g.dummy
	if mayBe {
		hash = u.Password
	}
	select {
	case g.hashing[known] <- struct{}{}:
	case <-r.Context().Done():
		return u, r.Context().Err()
	}
	ok, err := matches(r.PostForm.Get("password"), hash)
	<-g.hashing[known]
	if err != nil {
		return u, err
	}
	if !mayBe || !ok {
		return u, errRefused
	}
	return u, nil
}
