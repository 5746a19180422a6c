// Package web is the hub's page: HTML made by the server, which works without
// scripts, and gains live figures, filters, keys and curves where they run.
// It shows what package api answers, and nothing else.
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
}

type site struct {
	cfg    Config
	api    *api.API
	pages  *template.Template
	assets map[string]asset
	live   *announcer
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

func (s *site) routes() http.Handler {
	mux := http.NewServeMux()
	for path, page := range map[string]func(*http.Request) (*page, error){
		"GET /{$}": s.fleet, "GET /changes": s.changes, "GET /traps": s.traps, "GET /foreign": s.foreign, "GET /trap/{id}": s.trap,
		"GET /hosts": s.hosts, "GET /host/{id}": s.host, "GET /coverage": s.coverage, "GET /compare": s.compare,
		"GET /search": s.search, "GET /paste": s.paste, "POST /paste": s.paste, "GET /accepted": s.accepted, "GET /api/{$}": s.apiPage,
	} {
		mux.HandleFunc(path, s.show(page))
	}
	mux.HandleFunc("GET /audit", s.operators(s.show(s.audit)))
	mux.HandleFunc("GET /attempts", s.operators(s.show(s.attempts)))
	mux.HandleFunc("POST /accept", s.operators(act(s, s.api.Accept, afterAccept, "host", "trap", "subject", "reason", "until")))
	mux.HandleFunc("POST /unaccept", s.operators(act(s, s.api.Unaccept, afterUnaccept, "host", "trap", "subject")))
	mux.HandleFunc("POST /ask", s.operators(act(s, s.api.Ask, afterAsk, "host")))
	mux.HandleFunc("POST "+attachPath, s.operators(s.attach))
	mux.HandleFunc("POST /detach", s.operators(s.detach))
	mux.HandleFunc("POST /theme", s.theme)
	mux.HandleFunc("GET /feed/changes.atom", s.feed)
	mux.HandleFunc("GET /live", s.live.serve)
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /assets/{name}", s.asset)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.assets["icon.svg"].href, http.StatusFound)
	})
	mux.Handle("/api/", s.programs())
	mux.HandleFunc("/", s.show(func(*http.Request) (*page, error) { return nil, store.ErrNone }))
	return mux
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
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := s.cfg.DB.Pulse(ctx); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "the database does not answer")
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
