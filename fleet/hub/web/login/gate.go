// Package login decides who sees the hub's page and who may act on it: local
// passwords, OpenID Connect, or a header of a named proxy. It keeps sessions,
// form tokens, the limits of log-ins and the headers that confine the page.
package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"fettle/fleet/hub/store"
)

// Store is what the gate keeps in the hub's database.
type Store interface {
	User(ctx context.Context, name string) (store.User, error) // store.ErrNone
	Session(ctx context.Context, hash string) (store.Session, error)
	PutSession(ctx context.Context, s store.Session) error
	TouchSession(ctx context.Context, hash string, seen time.Time) error
	DropSession(ctx context.Context, hash string) error
	ConfirmSession(ctx context.Context, hash string, role store.Role, sees store.Rights, at time.Time) error
	AddAudit(ctx context.Context, a store.Audit) error
	AddAttempts(ctx context.Context, list []store.Attempt) error
	LoggedInBefore(ctx context.Context, user, hash, from string) (browser, address bool, err error)
	PutDevice(ctx context.Context, d store.Device) error
}

// Config says who may come in, and how.
type Config struct {
	Store Store
	// Secure: the page is reached by https, so cookies are for https alone.
	Secure bool
	// Proxies are addresses whose X-Forwarded-For is believed.
	Proxies []netip.Prefix
	Proxy   *Proxy // nil: no log-in by a header
	OIDC    *OIDC  // nil: no OpenID Connect
	// NoPasswords turns local passwords off.
	NoPasswords bool
	// Uploads tells requests with which operators send files; nil: there are none.
	Uploads func(*http.Request) bool
	// Render shows the log-in page.
	Render func(w http.ResponseWriter, r *http.Request, p Page)
	Now    func() time.Time // nil: time.Now
	Effort Effort           // of an unknown user's hash; zero: Usual
	Later  func(func())     // does what no answer waits for; nil: at once, beside it
}

// Page is what the log-in page shows.
type Page struct {
	Error     string
	Name      string // as it was typed
	Next      string // where to go then
	Passwords bool
	OIDC      string // what the provider is called; empty: none
	Status    int
}

// Gate guards all pages.
type Gate struct {
	cfg     Config
	dummy   string // what an unknown user's password is compared with
	limits  limits
	refused attempts
	// touching: a session's use is being noted.
	touching atomic.Bool
	hashing  map[bool]chan struct{} // hashes at a time: each takes its memory. Known browsers wait for no stranger.
	cross    *http.CrossOriginProtection
}

// New makes a gate.
func New(cfg Config) (*Gate, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Later == nil {
		cfg.Later = func(f func()) { go f() }
	}
	if cfg.Effort == (Effort{}) {
		cfg.Effort = Usual
	}
	dummy, err := Hash(rand.Text(), cfg.Effort)
	if err != nil {
		return nil, err
	}
	return &Gate{
		cfg: cfg, dummy: dummy, cross: http.NewCrossOriginProtection(), limits: newLimits(), refused: attempts{keep: cfg.Store.AddAttempts},
		hashing: map[bool]chan struct{}{false: make(chan struct{}, 2), true: make(chan struct{}, 1)},
	}, nil
}

// Visitor is who made a request.
type Visitor struct {
	Name string
	Role store.Role
	Sees store.Rights
	How  string
	From string // the address
	// Form is the token that forms carry.
	Form string

	session string // its hash
	// stale is the session of somebody whose role must be looked up again, who is nobody until then.
	stale *store.Session
}

// Operator reports whether the visitor may act.
func (v Visitor) Operator() bool { return v.Role == store.Operator }

type key struct{}

// Who is the visitor of a request that the gate let through.
func Who(ctx context.Context) Visitor {
	v, _ := ctx.Value(key{}).(Visitor)
	return v
}

// open are the paths that everybody may see.
func open(path string) bool {
	return strings.HasPrefix(path, "/assets/") || path == "/healthz" || path == "/login" || strings.HasPrefix(path, "/login/")
}

// Wrap is next behind the gate.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login", g.page)
	mux.HandleFunc("POST /login", g.password)
	mux.HandleFunc("POST /logout", g.logout)
	if g.cfg.OIDC != nil {
		mux.HandleFunc("GET /login/oidc", g.oidcStart)
		mux.HandleFunc("GET /login/oidc/back", g.oidcBack)
	}
	mux.Handle("/", next)
	return g.cross.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		confine(w.Header(), g.cfg.Secure)
		v, token, err := g.identify(r)
		if errors.Is(err, errIdentity) {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err != nil {
			slog.Error("log-in", "err", err)
			http.Error(w, "the hub's database does not answer", http.StatusServiceUnavailable)
			return
		}
		if v.Name == "" && !open(r.URL.Path) {
			g.refuse(w, r, v)
			return
		}
		v.Form = g.formToken(w, r, v)
		r = r.WithContext(context.WithValue(r.Context(), key{}, v))
		if changes(r) && !token && !g.formIsOurs(w, r, v) {
			return
		}
		mux.ServeHTTP(w, r)
	}))
}

func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// refuse sends people to the log-in page, and tells programs.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, v Visitor) {
	if changes(r) || r.Header.Get("X-Fettle-Part") != "" || strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/api/" ||
		strings.HasPrefix(r.URL.Path, "/feed/") ||
		r.URL.Path == "/live" {
		w.Header().Set("WWW-Authenticate", `Basic realm="fettle-hub", charset="UTF-8"`)
		said := "log in first, or give a token"
		if v.stale != nil {
			said = "your role must be looked up again: load a page of the hub, go back, and send this once more"
		}
		http.Error(w, said, http.StatusUnauthorized)
		return
	}
	where := "/login"
	if v.stale != nil {
		where = "/login/oidc"
	}
	http.Redirect(w, r, where+"?next="+escape(r.URL.RequestURI()), http.StatusSeeOther)
}

// identify finds out who makes a request. token: by a secret that no browser
// sends by itself, so that forms need no token of their own.
func (g *Gate) identify(r *http.Request) (v Visitor, token bool, err error) {
	v.From = g.from(r).String()
	if id, err := g.cfg.Proxy.user(r); err != nil || id.name != "" {
		v.Name, v.Role, v.Sees, v.How = id.name, id.role, id.sees, "proxy"
		return v, false, err
	}
	secret, token := bearer(r)
	if !token {
		if c, err := r.Cookie(g.cookie(sessionCookie)); err == nil {
			secret = c.Value
		}
	}
	if secret == "" {
		return v, token, nil
	}
	s, err := g.session(r.Context(), secret, token)
	if errors.Is(err, store.ErrNone) {
		return v, token, nil
	}
	if errors.Is(err, errStale) {
		v.stale, v.session = &s, s.Hash
		return v, token, nil
	}
	if err != nil {
		return v, token, err
	}
	v.Name, v.Role, v.Sees, v.How, v.session = s.User, s.Role, s.Sees, s.How, s.Hash
	return v, token, nil
}

// bearer is the secret of a request's Authorization: a bearer's, or Basic's
// password, for feed readers that know nothing else.
func bearer(r *http.Request) (string, bool) {
	if _, secret, ok := r.BasicAuth(); ok {
		return secret, true
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(secret), strings.EqualFold(scheme, "Bearer")
}

// from is the address of whoever asks.
func (g *Gate) from(r *http.Request) netip.Addr {
	a := peer(r)
	if !within(g.cfg.Proxies, a) && !(g.cfg.Proxy != nil && within(g.cfg.Proxy.From, a)) {
		return a
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if said, err := netip.ParseAddr(strings.TrimSpace(hops[len(hops)-1])); err == nil {
		return said.Unmap()
	}
	return a
}

func peer(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

func within(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// fail counts a login that was refused.
func (g *Gate) fail(r *http.Request, why, name string) {
	g.refused.add(neighbours(g.from(r)), why, name, g.cfg.Now())
}

// audit records an act; what cannot be recorded is at least logged.
func (g *Gate) audit(r *http.Request, who, what, details string) {
	a := store.Audit{At: g.cfg.Now(), Who: clip(who), From: g.from(r).String(), What: what, Details: clip(details)}
	if err := g.cfg.Store.AddAudit(r.Context(), a); err != nil {
		slog.Error("audit", "what", what, "who", a.Who, "err", err)
	}
}

// clip is a text from outside as the database takes it: short, valid UTF-8, no NUL.
func clip(s string) string {
	const most = 200
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// NewSecret is a secret for a cookie or a token, and what the database knows of it.
func NewSecret() (secret, hash string) {
	b := make([]byte, 32)
	rand.Read(b)
	secret = base64.RawURLEncoding.EncodeToString(b)
	return secret, hashOf(secret)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
