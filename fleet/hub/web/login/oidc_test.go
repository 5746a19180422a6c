package login

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// provider is one of OpenID Connect, in which nobody needs to log in.
type provider struct {
	*httptest.Server
	t         *testing.T
	key       *rsa.PrivateKey
	claims    map[string]any // beside those that every token has
	challenge string
	nonce     string
	signWith  *rsa.PrivateKey
	sign      func(p *provider, body []byte) string // nil: as it should
}

// providerKey is the key of all providers: drawing one takes a while.
var providerKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := providerKey()
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key, signWith: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.json(
			w,
			map[string]any{
				"issuer":                                p.URL,
				"authorization_endpoint":                p.URL + "/auth",
				"token_endpoint":                        p.URL + "/token",
				"jwks_uri":                              p.URL + "/keys",
				"id_token_signing_alg_values_supported": []string{"RS256"},
			},
		)
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.json(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("/token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}

// authorise is what a user does at the provider: the address to come back to.
func (p *provider) authorise(location string) string {
	p.t.Helper()
	u, err := url.Parse(location)
	if err != nil || !strings.HasPrefix(location, p.URL+"/auth?") {
		p.t.Fatalf("led to %s", location)
	}
	q := u.Query()
	if q.Get("client_id") != "hub" || q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" {
		p.t.Fatalf("asked the provider for %s", location)
	}
	p.challenge, p.nonce = q.Get("code_challenge"), q.Get("nonce")
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		p.t.Fatal(err)
	}
	return back.Path + "?code=thecode&state=" + q.Get("state")
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if r.FormValue("code") != "thecode" || base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	claims := map[string]any{
		"iss":   p.URL,
		"aud":   "hub",
		"sub":   "1",
		"exp":   time.Now().Add(time.Minute).Unix(),
		"iat":   time.Now().Unix(),
		"nonce": p.nonce,
	}
	for k, v := range p.claims {
		claims[k] = v
		if v == nil {
			delete(claims, k)
		}
	}
	body, err := json.Marshal(claims)
	if err != nil {
		p.t.Error(err)
	}
	if p.sign != nil {
		p.json(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": p.sign(p, body)})
		return
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.signWith}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
	if err != nil {
		p.t.Error(err)
		return
	}
	signed, err := signer.Sign(body)
	if err != nil {
		p.t.Error(err)
		return
	}
	raw, err := signed.CompactSerialize()
	if err != nil {
		p.t.Error(err)
	}
	p.json(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": raw})
}

func TestOIDC(t *testing.T) {
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	groups := func(g ...any) map[string]any { return map[string]any{"preferred_username": "ann", "groups": g} }
	for _, c := range []struct {
		what   string
		claims map[string]any
		claim  string
		spoil  func(p *provider, back string) string
		code   int
		want   string // on the page, or of the log-in page
	}{
		{"a reader", groups("staff"), "", nil, 303, "ann, reader, by oidc"},
		{"an operator", groups("staff", "sre"), "", nil, 303, "ann, operator, by oidc"},
		{"in no group", groups("guests"), "", nil, 403, "in no group that"},
		{"groups of another kind", map[string]any{"preferred_username": "ann", "groups": "sre"}, "", nil, 403, "in no group that"},
		{"no name", map[string]any{"groups": []any{"sre"}}, "", nil, 401, "failed"},
		{"a name with a line end", map[string]any{"preferred_username": "a\nb", "groups": []any{"sre"}}, "", nil, 401, "failed"},
		{"mail", map[string]any{"email": "a@b.example", "email_verified": true, "groups": []any{"sre"}}, "email", nil, 303,
			"a@b.example, operator"},
		{"mail that nobody verified", map[string]any{"email": "a@b.example", "groups": []any{"sre"}}, "email", nil, 401, "failed"},
		{"another's state", groups("sre"), "", func(_ *provider, back string) string { return back + "x" }, 401, "failed"},
		{"another's code", groups("sre"), "",
			func(_ *provider, back string) string { return strings.Replace(back, "thecode", "other", 1) }, 401, "failed"},
		{"another's nonce", groups("sre"), "", func(p *provider, back string) string { p.nonce = "x"; return back }, 401, "failed"},
		{"another's verifier", groups("sre"), "", func(p *provider, back string) string { p.challenge = "x"; return back }, 401, "failed"},
		{"another's key", groups("sre"), "", func(p *provider, back string) string { p.signWith = stranger; return back }, 401, "failed"},
		{"for another client", map[string]any{"preferred_username": "ann", "groups": []any{"sre"}, "aud": "mail"}, "", nil, 401, "failed"},
		{"old", map[string]any{"preferred_username": "ann", "groups": []any{"sre"}, "exp": 1}, "", nil, 401, "failed"},
		{"the provider refuses", groups("sre"), "", func(_ *provider, back string) string { return back + "&error=access_denied" }, 401,
			"failed"},
	} {
		t.Run(c.what, func(t *testing.T) {
			p := newProvider(t)
			p.claims = c.claims
			o := &OIDC{
				Name:      "Example",
				Issuer:    p.URL,
				ClientID:  "hub",
				Secret:    "s",
				Redirect:  "http://hub.invalid/login/oidc/back",
				Claim:     c.claim,
				Readers:   []string{"staff"},
				Operators: []string{"sre"},
				Client:    p.Client(),
			}
			w := newWorld(t, func(cfg *Config) { cfg.OIDC = o })
			code, _, h := w.get("/login/oidc?next=" + url.QueryEscape("/trap/x?a=b"))
			if code != 303 {
				t.Fatalf("the start: %d", code)
			}
			back := p.authorise(h.Get("Location"))
			if c.spoil != nil {
				back = c.spoil(p, back)
			}
			code, body, h := w.get(back)
			if code != c.code {
				t.Fatalf("coming back: %d %s\n%s", code, body, w.audited())
			}
			if code == 303 {
				if h.Get("Location") != "/trap/x?a=b" {
					t.Errorf("then to %s", h.Get("Location"))
				}
				_, body, _ = w.get("/x")
			} else if len(w.sessions) != 0 {
				t.Error("a session was begun")
			}
			if !strings.Contains(body, c.want) {
				t.Errorf("%s, want %s", body, c.want)
			}
			if code, _, _ := w.get(back); code == 303 {
				t.Error("the same answer logs in twice")
			}
		})
	}
}

func TestOIDCProviderDown(t *testing.T) {
	p := newProvider(t)
	p.Close()
	w := newWorld(t, func(c *Config) { c.OIDC = &OIDC{Name: "Example", Issuer: p.URL, ClientID: "hub"} })
	if code, body, _ := w.get("/login/oidc"); code != 502 || !strings.Contains(body, "Example does not answer") {
		t.Error(code, body)
	}
	if code, _, _ := w.login("ann", secret, "/"); code != 303 {
		t.Error("passwords go on working:", code)
	}
}

// TestOIDCWhoSeesNothing: somebody who may log in, and whose groups see no group of hosts, is told so.
func TestOIDCWhoSeesNothing(t *testing.T) {
	for group, want := range map[string]int{"web team": 303, "staff": 403} {
		p := newProvider(t)
		p.claims = map[string]any{"preferred_username": "ann", "groups": []any{group}}
		w := newWorld(t, func(cfg *Config) {
			cfg.OIDC = &OIDC{Name: "Example", Issuer: p.URL, ClientID: "hub", Secret: "s", Redirect: "http://hub.invalid/login/oidc/back",
				Sees: map[string][]string{"web team": {"web"}}, Client: p.Client()}
		})
		_, _, h := w.get("/login/oidc")
		code, body, _ := w.get(p.authorise(h.Get("Location")))
		if code != want || (len(w.sessions) == 1) != (want == 303) || want == 403 && !strings.Contains(body, "in no group that") {
			t.Errorf("%s: %d with %d sessions, want %d: %s", group, code, len(w.sessions), want, body)
		}
	}
}

// TestRoleIsLookedUpAgain: who is no longer an operator, or no longer anybody, at the
// provider, is soon none here; the others notice nothing.
func TestRoleIsLookedUpAgain(t *testing.T) {
	p := newProvider(t)
	p.claims = map[string]any{"preferred_username": "ann", "groups": []any{"staff", "sre"}}
	o := &OIDC{Name: "Example", Issuer: p.URL, ClientID: "hub", Secret: "s", Redirect: "http://hub.invalid/login/oidc/back",
		Readers: []string{"staff"}, Operators: []string{"sre"}, Client: p.Client()}
	w := newWorld(t, func(cfg *Config) { cfg.OIDC = o })
	_, _, h := w.get("/login/oidc?next=/x")
	w.get(p.authorise(h.Get("Location")))
	if _, body, _ := w.get("/x"); !strings.Contains(body, "ann, operator, by oidc") {
		t.Fatal(body)
	}
	again := func() (int, string) {
		t.Helper()
		w.now = w.now.Add(11 * time.Minute)
		code, body, h := w.get("/trap/x?a=b")
		if code != 303 || h.Get("Location") != "/login/oidc?next=%2Ftrap%2Fx%3Fa%3Db" {
			t.Fatalf("11 minutes later: %d %q %s", code, h.Get("Location"), body)
		}
		for _, path := range []string{"/api/v1/hosts", "/live"} {
			if code, _, _ := w.get(path); code != 401 {
				t.Errorf("a program at %s meanwhile: %d", path, code)
			}
		}
		if code, _, _ := w.get("/x", "X-Fettle-Part", "1"); code != 401 {
			t.Errorf("a page that looks for news: %d", code)
		}
		if code, _, _ := w.post("/x", nil); code != 401 {
			t.Errorf("an act meanwhile: %d", code)
		}
		_, _, h = w.get(h.Get("Location"))
		code, _, h = w.get(p.authorise(h.Get("Location")))
		if code != 303 {
			return code, ""
		}
		_, body, _ = w.get(h.Get("Location"))
		return code, body
	}
	if code, body := again(); code != 303 || !strings.Contains(body, "ann, operator, by oidc") || len(w.sessions) != 1 {
		t.Errorf("nothing has changed: %d %s, %d sessions", code, body, len(w.sessions))
	}
	p.claims["groups"] = []any{"staff"}
	if code, body := again(); code != 303 || !strings.Contains(body, "ann, reader, by oidc") {
		t.Errorf("no longer an operator: %d %s", code, body)
	}
	if got := w.audited(); got != "ann: log in (oidc, operator)\nann: role changed (oidc, reader)\n" {
		t.Error(got)
	}
	p.claims["groups"] = []any{"former"}
	if code, _ := again(); code != 403 || len(w.sessions) != 0 {
		t.Errorf("no longer staff: %d, %d sessions", code, len(w.sessions))
	}
}
