package login

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// lied is what a provider that lies, or somebody between, puts into a token: claims over
// those of a good one, and how it is signed.
type lied struct {
	what   string
	claims map[string]any
	sign   func(p *provider, body []byte) string
	in     bool // it is believed, as it may be
}

func compact(t *testing.T, alg jose.SignatureAlgorithm, key any, body []byte, header map[string]any) string {
	t.Helper()
	o := &jose.SignerOptions{}
	for k, v := range header {
		o = o.WithHeader(jose.HeaderKey(k), v)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign(body)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func unsigned(alg string) func(*provider, []byte) string {
	return func(_ *provider, body []byte) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+alg+`","kid":"k"}`)) + "." + base64.RawURLEncoding.EncodeToString(body) + "."
	}
}

// publicPEM is the provider's public key as an attacker has it, who signs with it as with a
// shared secret.
func publicPEM(p *provider) []byte {
	der, err := x509.MarshalPKIXPublicKey(&p.key.PublicKey)
	if err != nil {
		p.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func shared(alg jose.SignatureAlgorithm, key func(*provider) []byte) func(*provider, []byte) string {
	return func(p *provider, body []byte) string {
		return compact(p.t, alg, key(p), body, map[string]any{"kid": "k"})
	}
}

func lies(t *testing.T) []lied {
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	of := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	return []lied{
		{"nothing", nil, nil, true},
		{"alg none", nil, unsigned("none"), false},
		{"alg None", nil, unsigned("None"), false},
		{"alg empty", nil, unsigned(""), false},
		{"RS256 without a signature", nil, unsigned("RS256"), false},
		{"the public key as a shared secret", nil, shared(jose.HS256, publicPEM), false},
		{"the modulus as a shared secret", nil, shared(jose.HS256, func(p *provider) []byte { return p.key.N.Bytes() }), false},
		{"the client's secret as the key", nil, shared(jose.HS256, func(*provider) []byte { return []byte(strings.Repeat("s", 32)) }), false},
		{"a key in the token's own header", nil, func(p *provider, body []byte) string {
			return compact(p.t, jose.RS256, stranger, body, map[string]any{"jwk": jose.JSONWebKey{Key: &stranger.PublicKey}})
		}, false},
		{"an address of keys in the header", nil, func(p *provider, body []byte) string {
			return compact(p.t, jose.RS256, stranger, body, map[string]any{"jku": "http://127.0.0.1:1/keys", "kid": "x"})
		}, false},
		{"PS256, which was not offered", nil, func(p *provider, body []byte) string {
			return compact(p.t, jose.PS256, p.key, body, map[string]any{"kid": "k"})
		}, false},
		{"three parts of rubbish", nil, func(*provider, []byte) string { return "a.b.c" }, false},
		{"no token", nil, func(*provider, []byte) string { return "" }, false},
		{"another issuer", of("iss", "https://other.example"), nil, false},
		{"an issuer that begins alike", of("iss", "http://127.0.0.1"), nil, false},
		{"issuer a list", of("iss", []any{"x"}), nil, false},
		{"no audience", of("aud", nil), nil, false},
		{"audience a number", of("aud", 7), nil, false},
		{"audience that begins alike", of("aud", "hub2"), nil, false},
		{"an empty list of audiences", of("aud", []any{}), nil, false},
		{"for another, and for us by the way", of("aud", []any{"mail", "hub"}, "azp", "mail"), nil, false},
		{"for several, by us", of("aud", []any{"mail", "hub"}, "azp", "hub"), nil, true},
		{"for us, but handed to another", of("azp", "mail"), nil, false},
		{"no nonce", of("nonce", nil), nil, false},
		{"an empty nonce", of("nonce", ""), nil, false},
		{"nonce a list", of("nonce", []any{"x"}), nil, false},
		{"expired", of("exp", 1), nil, false},
		{"no time of expiry", of("exp", nil), nil, false},
		{"expiry a text", of("exp", "never"), nil, false},
		{"valid from tomorrow", of("nbf", time.Now().Add(24*time.Hour).Unix()), nil, false},
		{"the name a list", of("preferred_username", []any{"ann"}), nil, false},
		{"the name a number", of("preferred_username", 7), nil, false},
		{"no name", of("preferred_username", nil), nil, false},
		{"a name of 300 letters", of("preferred_username", strings.Repeat("a", 300)), nil, false},
		{"an invisible letter in the name", of("preferred_username", "an\u200bn"), nil, false},
		{"a name that turns round", of("preferred_username", "\u202enna"), nil, false},
		{"a name with a control character of C1", of("preferred_username", "ann\u009b2J"), nil, false},
		{"a no-break space in the name", of("preferred_username", "ann\u00a0"), nil, false},
		{"a name in letters of other alphabets", of("preferred_username", "Σωκράτης"), nil, true},
		{"groups an object", of("groups", map[string]any{"staff": true}), nil, false},
		{"groups a text", of("groups", "staff"), nil, false},
		{"groups a text with commas", of("groups", "staff,sre"), nil, false},
		{"groups in a list in a list", of("groups", []any{[]any{"staff"}}), nil, false},
		{"groups numbers", of("groups", []any{1, 2}), nil, false},
		{"groups null", of("groups", nil), nil, false},
		{"a group with a blank", of("groups", []any{"staff "}), nil, false},
		{"a group in capitals", of("groups", []any{"STAFF"}), nil, false},
		{"a hundred thousand groups", of("groups", make([]any, 100_000)), nil, false},
	}
}

// lying makes a provider whose tokens are as l says, and a hub that trusts it.
func lying(t *testing.T, l lied, operators ...string) (*provider, *world) {
	p := newProvider(t)
	p.claims = map[string]any{"preferred_username": "eve", "groups": []any{"staff"}}
	for k, v := range l.claims {
		p.claims[k] = v
	}
	p.sign = l.sign
	o := &OIDC{Name: "Example", Issuer: p.URL, ClientID: "hub", Secret: "s", Redirect: "http://hub.invalid/login/oidc/back",
		Readers: []string{"staff"}, Operators: operators, Client: p.Client(), patience: time.Second}
	return p, newWorld(t, func(cfg *Config) { cfg.OIDC = o })
}

// TestLyingProvider: of 48 tokens, only those that say what they must log in.
func TestLyingProvider(t *testing.T) {
	for _, l := range lies(t) {
		t.Run(l.what, func(t *testing.T) {
			p, w := lying(t, l, "sre")
			_, _, h := w.get("/login/oidc?next=/x")
			code, body, _ := w.get(p.authorise(h.Get("Location")))
			if in := code == 303; in != l.in || in != (len(w.sessions) == 1) {
				t.Errorf("%d %s, %d sessions", code, body, len(w.sessions))
			}
		})
	}
}

// TestGroupNamedAsAUser: who may name his own groups at the provider is no operator by a
// group that is called as the settings write a user.
func TestGroupNamedAsAUser(t *testing.T) {
	p, w := lying(t, lied{claims: map[string]any{"groups": []any{"staff", "user:ann"}}}, "user:ann")
	_, _, h := w.get("/login/oidc?next=/x")
	w.get(p.authorise(h.Get("Location")))
	if _, body, _ := w.get("/x"); !strings.Contains(body, "eve, reader, by oidc") {
		t.Error(body)
	}
	proxy := Proxy{From: nil, Operators: []string{"user:ann"}}
	if role := roleOf("eve", []string{"user:ann"}, proxy.Operators); role != "reader" {
		t.Errorf("by the proxy's header: %s", role)
	}
}

// TestEndlessProvider: a provider whose answers do not end takes no memory for it.
func TestEndlessProvider(t *testing.T) {
	for _, where := range []string{"/.well-known/openid-configuration", "/keys", "/token"} {
		t.Run(where[1:], func(t *testing.T) {
			p, w := lying(t, lied{})
			var sent atomic.Int64
			real := p.Config.Handler
			p.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != where {
					real.ServeHTTP(rw, r)
					return
				}
				rw.Header().Set("Content-Type", "application/json")
				b := []byte(strings.Repeat(" ", 64<<10))
				for sent.Load() < 256<<20 && r.Context().Err() == nil {
					n, err := rw.Write(b)
					sent.Add(int64(n))
					if err != nil {
						return
					}
				}
			})
			code, _, h := w.get("/login/oidc?next=/x")
			if code == 303 {
				code, _, _ = w.get(p.authorise(h.Get("Location")))
			}
			if code == 303 || len(w.sessions) > 0 {
				t.Errorf("it logged in: %d", code)
			}
			// What lies in the sockets' buffers was sent and not read.
			if n := sent.Load(); n > 32<<20 {
				t.Errorf("%d MiB were taken", n>>20)
			}
		})
	}
}

// TestProviderLeadsElsewhere: the provider's addresses are asked as they stand: a redirect of
// them carries the client's secret and the user's code nowhere.
func TestProviderLeadsElsewhere(t *testing.T) {
	for _, where := range []string{"/.well-known/openid-configuration", "/keys", "/token"} {
		t.Run(where[1:], func(t *testing.T) {
			var asked atomic.Int64
			inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
			defer inside.Close()
			p, w := lying(t, lied{})
			real := p.Config.Handler
			p.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == where {
					http.Redirect(rw, r, inside.URL+"/admin", http.StatusTemporaryRedirect)
					return
				}
				real.ServeHTTP(rw, r)
			})
			code, _, h := w.get("/login/oidc?next=/x")
			if code == 303 {
				code, _, _ = w.get(p.authorise(h.Get("Location")))
			}
			if code == 303 || asked.Load() > 0 {
				t.Errorf("%d; a service that the provider named was asked %d times", code, asked.Load())
			}
		})
	}
}

// TestWhereToGoThen: whatever comes along as the page to go to, it is one of this hub's.
func TestWhereToGoThen(t *testing.T) {
	for _, next := range []string{
		"https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "/%2fevil.example", "/%5cevil.example",
		"javascript:alert(1)", "/login/../..//evil.example", "/\t/evil.example", "/x\r\nLocation: https://evil.example", "///evil.example",
		"/.//evil.example", "https:evil.example", "/;@evil.example", "?next=//evil.example", "/x/../../../evil", " //evil.example",
	} {
		p, w := lying(t, lied{}, "sre")
		_, _, h := w.get("/login/oidc?next=" + url.QueryEscape(next))
		code, _, h := w.get(p.authorise(h.Get("Location")))
		to, err := url.Parse(h.Get("Location"))
		base, _ := url.Parse("https://hub.example/login/oidc/back")
		if code != 303 || err != nil || base.ResolveReference(to).Host != "hub.example" || strings.HasPrefix(h.Get("Location"), "//") {
			t.Errorf("%q leads to %q (%d)", next, h.Get("Location"), code)
		}
	}
}

// TestProviderThatHangs: while the provider gives no answer, the log-in page does.
func TestProviderThatHangs(t *testing.T) {
	p, w := lying(t, lied{})
	stop := make(chan struct{})
	p.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	defer close(stop)
	for range 20 {
		go func() {
			res, err := http.Get(w.server.URL + "/login/oidc")
			if err == nil {
				res.Body.Close()
			}
		}()
	}
	time.Sleep(100 * time.Millisecond)
	begun := time.Now()
	if code, _, _ := w.get("/login"); code != 200 {
		t.Error(code)
	}
	if code, _, _ := w.get("/login/oidc"); code != 502 {
		t.Error(code)
	}
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("the last waits %s", d)
	}
}
