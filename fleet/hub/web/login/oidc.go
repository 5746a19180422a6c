package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"fettle/fleet/hub/store"
)

// OIDC logs in by a provider of OpenID Connect, with PKCE, state and nonce.
type OIDC struct {
	Name     string // what the button says
	Issuer   string
	ClientID string
	Secret   string
	Redirect string // https://hub.example/login/oidc/back
	// Claim is the user's name: "preferred_username" unless set; an "email" is
	// believed only if the provider says that it is verified.
	Claim string
	// Groups is the claim with the groups: "groups" unless set.
	Groups string
	// Readers are the groups that may come in; empty: everybody whom the provider knows.
	Readers []string
	// Operators are as in Proxy.
	Operators []string
	Client    *http.Client // nil: one with a time limit

	mu       sync.Mutex
	provider *oidc.Provider
}

const (
	wayCookie = "fettle_way" // state, nonce and verifier of a log-in on its way
	wayLasts  = 10 * time.Minute
)

// ready asks the provider for its addresses and keys, once: a hub starts also
// while its provider is down.
func (o *OIDC) ready(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider == nil {
		// The provider keeps this context for fetching keys later.
		p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.client()), o.Issuer)
		if err != nil {
			return nil, nil, fmt.Errorf("asking %s: %w", o.Issuer, err)
		}
		o.provider = p
	}
	return o.provider, &oauth2.Config{ClientID: o.ClientID, ClientSecret: o.Secret, Endpoint: o.provider.Endpoint(), RedirectURL: o.Redirect,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", "groups"}}, nil
}

func (o *OIDC) client() *http.Client {
	if o.Client != nil {
		return o.Client
	}
	return &http.Client{Timeout: 10 * time.Second}
}

func (g *Gate) oidcStart(w http.ResponseWriter, r *http.Request) {
	_, conf, err := g.cfg.OIDC.ready(r.Context())
	if err != nil {
		slog.Error("OIDC", "err", err)
		g.show(w, r, Page{Error: g.cfg.OIDC.Name + " does not answer. Try again.", Status: http.StatusBadGateway})
		return
	}
	state, nonce, verifier := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	g.setCookie(w, wayCookie, strings.Join([]string{state, nonce, verifier, escape(Local(r.URL.Query().Get("next")))}, "."), wayLasts)
	http.Redirect(w, r, conf.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), http.StatusSeeOther)
}

func (g *Gate) oidcBack(w http.ResponseWriter, r *http.Request) {
	g.dropCookie(w, wayCookie)
	way, err := g.way(r)
	if err == nil {
		var id identity
		if id, err = g.cfg.OIDC.redeem(r.Context(), r.URL.Query().Get("code"), way); err == nil {
			if s := Who(r.Context()).stale; s != nil && s.User == id.name {
				g.confirm(w, r, s, id.role, way.next)
				return
			}
			g.begin(w, r, store.Session{User: id.name, Role: id.role, How: "oidc"}, way.next)
			return
		}
	}
	if s := Who(r.Context()).stale; s != nil && errors.Is(err, errNoGroup) {
		if derr := g.cfg.Store.DropSession(r.Context(), s.Hash); derr != nil {
			slog.Error("session", "err", derr)
		}
	}
	slog.Warn("OIDC", "err", err)
	g.fail(r, byProvider, "")
	p := Page{Error: "The log-in by " + g.cfg.OIDC.Name + " failed. Try again.", Status: http.StatusUnauthorized}
	if errors.Is(err, errNoGroup) {
		p.Error, p.Status = "You are logged in at "+g.cfg.OIDC.Name+", but in no group that may see this hub.", http.StatusForbidden
	}
	g.show(w, r, p)
}

type way struct{ state, nonce, verifier, next string }

// way is what this browser took along, if it is the one that comes back.
func (g *Gate) way(r *http.Request) (way, error) {
	if e := r.URL.Query().Get("error"); e != "" {
		return way{}, fmt.Errorf("the provider says: %s", clip(e))
	}
	c, err := r.Cookie(g.cookie(wayCookie))
	if err != nil {
		return way{}, errors.New("no log-in is on its way in this browser, or it took over ten minutes")
	}
	parts := strings.SplitN(c.Value, ".", 4)
	if len(parts) != 4 || subtle.ConstantTimeCompare([]byte(parts[0]), []byte(r.URL.Query().Get("state"))) != 1 {
		return way{}, errors.New("the answer belongs to another log-in")
	}
	return way{parts[0], parts[1], parts[2], unescape(parts[3])}, nil
}

type identity struct {
	name string
	role store.Role
}

var errNoGroup = errors.New("in no group that may log in")

// redeem exchanges the code for the provider's signed word on who this is.
func (o *OIDC) redeem(ctx context.Context, code string, way way) (identity, error) {
	provider, conf, err := o.ready(ctx)
	if err != nil {
		return identity{}, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, o.client()), 15*time.Second)
	defer cancel()
	token, err := conf.Exchange(ctx, code, oauth2.VerifierOption(way.verifier))
	if err != nil {
		return identity{}, fmt.Errorf("exchanging the code: %w", err)
	}
	raw, _ := token.Extra("id_token").(string)
	signed, err := provider.Verifier(&oidc.Config{ClientID: o.ClientID}).Verify(ctx, raw)
	if err != nil {
		return identity{}, err
	}
	if subtle.ConstantTimeCompare([]byte(signed.Nonce), []byte(way.nonce)) != 1 {
		return identity{}, errors.New("the token belongs to another log-in")
	}
	var claims map[string]any
	if err := signed.Claims(&claims); err != nil {
		return identity{}, err
	}
	return o.read(claims)
}

func (o *OIDC) read(claims map[string]any) (identity, error) {
	claim := or(o.Claim, "preferred_username")
	name, _ := claims[claim].(string)
	if !Plausible(name) {
		return identity{}, fmt.Errorf("the token has no usable claim %s", claim)
	}
	if verified, _ := claims["email_verified"].(bool); claim == "email" && !verified {
		return identity{}, errors.New("the provider has not verified the mail address")
	}
	var groups []string
	list, _ := claims[or(o.Groups, "groups")].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			groups = append(groups, s)
		}
	}
	role := roleOf(name, groups, o.Operators)
	if len(o.Readers) > 0 && role != store.Operator &&
		!slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(o.Readers, g) }) {
		return identity{}, fmt.Errorf("%s: %w", name, errNoGroup)
	}
	return identity{name, role}, nil
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
