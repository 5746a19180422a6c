package login

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fettle/fleet/hub/store"
)

const (
	sessionCookie = "fettle_session"
	formCookie    = "fettle_form"

	lasts = 7 * 24 * time.Hour // a session, at most
	idle  = 24 * time.Hour     // a session that nobody uses

	// roleLasts is how long a role is believed that an OpenID provider gave: then the
	// browser asks there again, which its user does not notice while logged in there.
	roleLasts = 10 * time.Minute
)

// cookie is a cookie's name: with https it has the prefix that keeps other
// hosts of the domain from setting it (RFC 6265bis, 4.1.3.2).
func (g *Gate) cookie(name string) string {
	if g.cfg.Secure {
		return "__Host-" + name
	}
	return name
}

func (g *Gate) setCookie(w http.ResponseWriter, name, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie(name), Value: value, Path: "/", MaxAge: int(age / time.Second),
		HttpOnly: true, Secure: g.cfg.Secure, SameSite: http.SameSiteLaxMode,
	})
}

func (g *Gate) dropCookie(w http.ResponseWriter, name string) { g.setCookie(w, name, "", -time.Second) }

// errStale: whether a session's user may still come in must be asked elsewhere.
var errStale = errors.New("the role must be looked up again")

// session is the living session or token of a secret, or store.ErrNone.
func (g *Gate) session(ctx context.Context, secret string, token bool) (store.Session, error) {
	if len(secret) > 200 {
		return store.Session{}, store.ErrNone
	}
	s, err := g.cfg.Store.Session(ctx, hashOf(secret))
	if err != nil {
		return s, err
	}
	now := g.cfg.Now()
	if token != (s.How == "token") || !now.Before(s.Expires) || !token && now.Sub(s.Seen) > idle {
		return store.Session{}, store.ErrNone
	}
	switch s.How {
	case "password":
		u, err := g.cfg.Store.User(ctx, s.User)
		if err != nil {
			return store.Session{}, err
		}
		s.Role, s.Sees = u.Role, u.Sees
	case "oidc":
		if g.cfg.OIDC == nil {
			return store.Session{}, store.ErrNone
		}
		if now.Sub(s.Confirmed) > roleLasts {
			return s, errStale
		}
	}
	if now.Sub(s.Seen) > time.Minute {
		g.touch(ctx, s.Hash, now)
	}
	return s, nil
}

// touch notes that a session was used. No page waits for it, or for who writes meanwhile.
func (g *Gate) touch(ctx context.Context, hash string, now time.Time) {
	if !g.touching.CompareAndSwap(false, true) {
		return // another request does; this session's next one may
	}
	g.cfg.Later(func() {
		defer g.touching.Store(false)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		if err := g.cfg.Store.TouchSession(ctx, hash, now); err != nil {
			slog.Warn("session", "err", err)
		}
	})
}

// begin logs somebody in and leads where they wanted to go.
func (g *Gate) begin(w http.ResponseWriter, r *http.Request, who store.Session, next string) {
	if old := Who(r.Context()).session; old != "" {
		if err := g.cfg.Store.DropSession(r.Context(), old); err != nil {
			slog.Warn("session", "err", err)
		}
	}
	secret, hash := NewSecret()
	now := g.cfg.Now()
	who.Hash, who.Created, who.Seen, who.Confirmed, who.Expires = hash, now, now, now, now.Add(lasts)
	err := g.cfg.Store.PutSession(r.Context(), who)
	if errors.Is(err, store.ErrNone) {
		g.show(w, r, Page{Error: "The password was changed meanwhile. Log in again.", Status: http.StatusUnauthorized, Next: next})
		return
	}
	if err != nil {
		slog.Error("session", "err", err)
		g.show(w, r, Page{Error: "The hub could not keep the session. Try again.", Status: http.StatusServiceUnavailable, Next: next})
		return
	}
	g.audit(r, who.User, "log in", who.How+", "+roleText(who.Role, who.Sees))
	g.setCookie(w, sessionCookie, secret, lasts)
	http.Redirect(w, r, Local(next), http.StatusSeeOther)
}

// roleText is what the audit log says of a visitor's rights.
func roleText(role store.Role, sees store.Rights) string {
	if sees.All() {
		return string(role)
	}
	return string(role) + " of " + sees.String()
}

// confirm goes on with a session whose role was looked up again.
func (g *Gate) confirm(w http.ResponseWriter, r *http.Request, s *store.Session, id identity, next string) {
	if err := g.cfg.Store.ConfirmSession(r.Context(), s.Hash, id.role, id.sees, g.cfg.Now()); err != nil {
		slog.Error("session", "err", err)
		g.show(w, r, Page{Error: "The hub could not keep the session. Try again.", Status: http.StatusServiceUnavailable, Next: next})
		return
	}
	if id.role != s.Role || id.sees != s.Sees {
		g.audit(r, s.User, "role changed", s.How+", "+roleText(id.role, id.sees))
	}
	http.Redirect(w, r, Local(next), http.StatusSeeOther)
}

func (g *Gate) logout(w http.ResponseWriter, r *http.Request) {
	v := Who(r.Context())
	if v.session != "" {
		if err := g.cfg.Store.DropSession(r.Context(), v.session); err != nil {
			slog.Error("log-out", "err", err)
			http.Error(w, "the hub could not end the session; try again", http.StatusServiceUnavailable)
			return
		}
		g.audit(r, v.Name, "log out", "")
	}
	g.dropCookie(w, sessionCookie)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// Local is a path of this hub, whatever was asked for.
func Local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	if open(u.Path) {
		return "/"
	}
	// Once decoded, %2f may have become a slash that names another host.
	if next = u.RequestURI(); strings.HasPrefix(next, "//") {
		return "/"
	}
	return next
}

func escape(s string) string { return url.QueryEscape(s) }

func unescape(s string) string {
	s, _ = url.QueryUnescape(s) // what is no path is taken for none by local
	return s
}
