package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
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
	// Sees are the groups of hosts that members of a group see: "*" is all, "-" hosts without
	// a group. Who is in none of these groups may not come in. Nil: everybody sees all.
	Sees   map[string][]string
	Client *http.Client // nil: one with a time limit

	patience time.Duration // with one answer; 0: 10 s

	mu       sync.Mutex
	provider *oidc.Provider
	failed   error // of the last try to reach it, at
	at       time.Time
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
	if o.provider == nil && o.failed != nil && time.Since(o.at) < failureLasts {
		return nil, nil, o.failed
	}
	if o.provider == nil {
		// The provider keeps this context for fetching keys later.
		p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.client()), o.Issuer)
		if err == nil {
			err = o.usable(p)
		}
		if err != nil {
			o.failed, o.at = fmt.Errorf("asking %s: %w", o.Issuer, err), time.Now()
			return nil, nil, o.failed
		}
		o.provider = p
	}
	return o.provider, &oauth2.Config{ClientID: o.ClientID, ClientSecret: o.Secret, Endpoint: o.provider.Endpoint(), RedirectURL: o.Redirect,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email", "groups"}}, nil
}

// failureLasts is how long, after a request timed out, later ones fail at once.
const failureLasts = 5 * time.Second

// usable refuses a provider that would have secrets sent in the clear.
func (o *OIDC) usable(p *oidc.Provider) error {
	var says struct {
		Keys string `json:"jwks_uri"`
	}
	if err := p.Claims(&says); err != nil {
		return err
	}
	for _, address := range []string{p.Endpoint().AuthURL, p.Endpoint().TokenURL, says.Keys} {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || strings.HasPrefix(o.Issuer, "https:")) {
			return fmt.Errorf("it names %.100q as one of its addresses", address)
		}
	}
	return nil
}

// client asks the provider, who may be somebody else than he was: for a while, for little,
// and nobody to whom he leads.
func (o *OIDC) client() *http.Client {
	c := http.Client{Timeout: o.patience, CheckRedirect: stays}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if o.Client != nil {
		c.Transport = o.Client.Transport
	}
	c.Transport = little{c.Transport}
	return &c
}

func stays(to *http.Request, from []*http.Request) error {
	first := from[0].URL
	if to.Method != http.MethodGet || len(from) > 3 || to.URL.Host != first.Host || to.URL.Scheme != first.Scheme {
		return fmt.Errorf("%s redirects to %s, which is not followed", first.Host, to.URL.Host)
	}
	return nil
}

// little keeps answers to a megabyte.
type little struct{ http.RoundTripper }

const mostSaid = 1 << 20

func (l little) RoundTrip(r *http.Request) (*http.Response, error) {
	rt := l.RoundTripper
	if rt == nil {
		rt = http.DefaultTransport
	}
	res, err := rt.RoundTrip(r)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, mostSaid)
	}
	return res, err
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
				g.confirm(w, r, s, id, way.next)
				return
			}
			g.begin(w, r, store.Session{User: id.name, Role: id.role, Sees: id.sees, How: "oidc"}, way.next)
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
	sees store.Rights
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
	if len(signed.Audience) > 1 && authorised(signed) == "" {
		return identity{}, errors.New("the token is for several, and does not say for whom it was made")
	}
	if by := authorised(signed); by != "" && by != o.ClientID {
		return identity{}, fmt.Errorf("the token was made for %.100q", by)
	}
	var claims map[string]any
	if err := signed.Claims(&claims); err != nil {
		return identity{}, err
	}
	return o.read(claims)
}

// authorised is for whom a token was made (OpenID Connect Core 1.0, 2, azp).
func authorised(t *oidc.IDToken) string {
	var c struct {
		Party any `json:"azp"`
	}
	if err := t.Claims(&c); err != nil || c.Party == nil {
		return ""
	}
	return fmt.Sprint(c.Party)
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
	sees := rightsOf(name, groups, o.Sees)
	if !sees.All() && len(sees.Groups()) == 0 {
		return identity{}, fmt.Errorf("%s: %w", name, errNoGroup)
	}
	return identity{name, role, sees}, nil
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
