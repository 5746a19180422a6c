// Package web is the hub's page: HTML made by the server, which works without scripts; with
// them it has live figures, filters, keys and charts. It shows what package api answers, and
// nothing else.
package web

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/web/login"
	"fettle/internal/build"
)

// Config is what the page needs.
type Config struct {
	DB    *store.DB
	Traps []*trap.Trap
	Asker api.Asker // nil: nobody can be asked
	// Login says who may come in; its Store and Render are set here.
	Login login.Config
	// URL is how the hub is reached from outside, for feeds: "https://hub.example".
	URL string
	// SilentAfter is how long a host may say nothing.
	SilentAfter time.Duration
	Now         func() time.Time // nil: time.Now
	// Storing tells why agents' messages cannot be kept; nil where they can, or where nobody knows.
	Storing func() error
	// Queue is how many messages wait to be stored; nil: nobody knows.
	Queue func(context.Context) (int64, error)
}

type site struct {
	cfg    Config
	api    *api.API
	pages  *template.Template
	assets map[string]asset
	live   *announcer
	health health
}

// New makes the handler of the page and of the API. It works until ctx ends.
func New(ctx context.Context, cfg Config) (http.Handler, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	a, err := api.New(api.Config{DB: cfg.DB, Traps: cfg.Traps, Asker: cfg.Asker, SilentAfter: cfg.SilentAfter, Now: cfg.Now})
	if err != nil {
		return nil, err
	}
	s := &site{cfg: cfg, api: a}
	if s.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if s.pages, err = template.New("").Funcs(s.words()).ParseFS(templateFiles, "templates/*.html"); err != nil {
		return nil, fmt.Errorf("the hub's own templates: %w", err)
	}
	s.live = newAnnouncer(ctx, cfg.DB)
	gate := cfg.Login
	gate.Store, gate.Render, gate.Now, gate.Uploads = cfg.DB, s.login, cfg.Now, uploads
	g, err := login.New(gate)
	if err != nil {
		return nil, err
	}
	return g.Wrap(s.routes()), nil
}

// routes are all paths of the page; the API's are its own.
func (s *site) routes() http.Handler {
	mux := http.NewServeMux()
	for path, h := range s.handlers() {
		mux.Handle(path, h)
	}
	return mux
}

func (s *site) handlers() map[string]http.Handler {
	out := map[string]http.Handler{}
	for path, page := range map[string]func(*http.Request) (*page, error){
		"GET /{$}": s.fleet, "GET /changes": s.changes, "GET /traps": s.traps, "GET /foreign": s.foreign, "GET /trap/{id}": s.trap,
		"GET /hosts": s.hosts, "GET /host/{id}": s.host, "GET /coverage": s.coverage, "GET /restarts": s.restarts, "GET /compare": s.compare,
		"GET /search": s.search, "GET /paste": s.paste, "POST /paste": s.paste, "GET /accepted": s.accepted, "GET /api/{$}": s.apiPage,
		"GET /packs": s.packs, "GET /pack/{id}": s.pack,
		"/": func(*http.Request) (*page, error) { return nil, store.ErrNone },
	} {
		out[path] = s.show(page)
	}
	for path, act := range map[string]http.HandlerFunc{
		"GET /audit":         s.show(s.audit),
		"GET /attempts":      s.show(s.attempts),
		"POST /accept":       act(s, s.api.Accept, afterAccept, "host", "trap", "subject", "reason", "until"),
		"POST /unaccept":     act(s, s.api.Unaccept, afterUnaccept, "host", "trap", "subject"),
		"POST /rule":         act(s, s.api.AcceptRule, afterRule, "trap", "group", "label", "severity", "reason", "until"),
		"POST /unrule":       act(s, s.api.RemoveRule, afterRemoveRule, "id"),
		"POST /set":          s.setHosts,
		"POST /ask":          act(s, s.api.Ask, afterAsk, "host", "group", "label"),
		"POST " + attachPath: s.attach,
		"POST /detach":       s.detach,
	} {
		out[path] = s.operators(act)
	}
	for path, h := range map[string]http.HandlerFunc{
		"POST /theme": s.theme, "GET /feed/changes.atom": s.feed, "GET /live": s.live.serve, "GET /healthz": s.healthz, "GET /metrics": s.metrics,
		"GET /assets/{name}": s.asset,
		"GET /favicon.ico": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, s.assets["icon.svg"].href, http.StatusFound)
		},
	} {
		out[path] = h
	}
	out["/api/"] = s.programs()
	return out
}

// operators keeps readers from what changes something.
func (s *site) operators(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !login.Who(r.Context()).Operator() {
			s.write(
				w,
				r,
				http.StatusForbidden,
				&page{Title: "Not allowed", template: "problem", Error: "This needs the role operator; yours is reader."},
			)
			return
		}
		next(w, r)
	}
}

// healthz tells a load balancer whether this hub can answer.
func (s *site) healthz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if why := s.health.of(r.Context(), &s.cfg); why != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, why)
		return
	}
	fmt.Fprintln(w, "ok")
}

// theme remembers light or dark for this browser.
func (s *site) theme(w http.ResponseWriter, r *http.Request) {
	theme := r.PostForm.Get("theme")
	if theme != "dark" && theme != "light" {
		theme = ""
	}
	http.SetCookie(
		w,
		&http.Cookie{
			Name:     "fettle_theme",
			Value:    theme,
			Path:     "/",
			MaxAge:   365 * 24 * 3600,
			SameSite: http.SameSiteLaxMode,
			HttpOnly: true,
			Secure:   s.cfg.Login.Secure,
		},
	)
	http.Redirect(w, r, login.Local(r.PostForm.Get("next")), http.StatusSeeOther)
}

func version() string { return strings.TrimSpace(build.Version()) }

// programs is the API, where acts are recorded as the visitor's.
func (s *site) programs() http.Handler {
	h := s.api.Handler(func(ctx context.Context) bool { return login.Who(ctx).Operator() })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r.WithContext(acting(r))) })
}
