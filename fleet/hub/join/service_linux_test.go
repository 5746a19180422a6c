package join

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/ssh"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
)

// desk is a hub's side, with an empty database.
type desk struct {
	testing.TB
	*Service
	known    string
	replaced int
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	dir := storetest.Dir(t)
	keys, err := bus.LoadKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{TB: t, known: filepath.Join(dir, "known_hosts")}
	d.Service = &Service{
		DB:       storetest.SQLite(t),
		Keys:     keys,
		URLs:     []string{"tls://hub:4222"},
		Group:    "ssh",
		Log:      func(string) {},
		Replaced: func() { d.replaced++ },
	}
	return d
}

// token creates a token for a number of uses, valid for a time.
func (d *desk) token(tok store.Token, life time.Duration) string {
	d.Helper()
	secret := NewToken()
	tok.Hash, tok.Created, tok.Expires = Hash(secret), time.Now(), time.Now().Add(life)
	if err := d.DB.AddToken(d.Context(), tok); err != nil {
		d.Fatal(err)
	}
	return secret
}

func (d *desk) ask(r Request) Reply {
	d.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		d.Fatal(err)
	}
	return d.answer(d.Context(), b)
}

// refused wants a refusal that says why, and gives nothing away.
func (d *desk) refused(what string, got Reply, why string) {
	d.Helper()
	if !strings.Contains(got.Error, why) || got.Agent != "" || got.JWT != "" || got.Challenge != "" {
		d.Errorf("%s: %+v, want %q", what, got, why)
	}
}

// admitted wants credentials of the key that asked.
func (d *desk) admitted(what string, got Reply, key string) *store.Host {
	d.Helper()
	c, err := jwt.DecodeUserClaims(got.JWT)
	if got.Error != "" || err != nil || c.Subject != key || c.Name != got.Agent || !message.IsID(got.Agent) {
		d.Fatalf("%s: %+v, %v", what, got, err)
	}
	h, err := d.DB.HostByAgent(d.Context(), got.Agent)
	if err != nil {
		d.Fatal(err)
	}
	return h
}

func (d *desk) hosts(want int) {
	d.Helper()
	if all, err := d.DB.HostsFrom(d.Context(), store.Everything, "", "", 100); err != nil || len(all) != want {
		d.Errorf("%d hosts, %v, want %d", len(all), err, want)
	}
}

func newKey(t *testing.T) string {
	t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestHostileRequests: what no agent asks is refused, and uses nothing up.
func TestHostileRequests(t *testing.T) {
	d := newDesk(t)
	token, key := d.token(store.Token{Uses: 1}, time.Hour), newKey(t)
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	accountKey, _ := account.PublicKey()
	const damaged, name, noKey, noToken = "the request is damaged", "the host's name is invalid", "the key is no user's NKey",
		"the token is not valid"
	for what, c := range map[string]struct {
		raw string // instead of the request
		r   Request
		why string
	}{
		"nothing":  {raw: " ", why: damaged},
		"no JSON":  {raw: "\x00\xff", why: damaged},
		"an array": {raw: `[1]`, why: damaged},
		"too deep": {raw: strings.Repeat("[", 12_000), why: damaged},
		"too large": {raw: `{"version":1,"host":"a","key":"` + key + `","token":"` + token + `","x":"` + strings.Repeat("x",
			16<<10) + `"}`, why: damaged},
		"newer":               {r: Request{Version: 2, Host: "a", Key: key, Token: token}, why: "newer than the hub"},
		"no name":             {r: Request{Version: 1, Key: key, Token: token}, why: name},
		"a long name":         {r: Request{Version: 1, Host: strings.Repeat("a", 256), Key: key, Token: token}, why: name},
		"a name in two":       {r: Request{Version: 1, Host: "a b", Key: key, Token: token}, why: name},
		"a name of lines":     {r: Request{Version: 1, Host: "a\nroot joined", Key: key, Token: token}, why: name},
		"a name that deletes": {r: Request{Version: 1, Host: "a\x7f", Key: key, Token: token}, why: name},
		"a name that paints":  {r: Request{Version: 1, Host: "a\x1b[2J", Key: key, Token: token}, why: name},
		"no key":              {r: Request{Version: 1, Host: "a", Token: token}, why: noKey},
		"an account's key":    {r: Request{Version: 1, Host: "a", Key: accountKey, Token: token}, why: noKey},
		"a key and more":      {r: Request{Version: 1, Host: "a", Key: key + ".>", Token: token}, why: noKey},
		"another's token":     {r: Request{Version: 1, Host: "a", Key: key, Token: NewToken()}, why: noToken},
		"a token's hash":      {r: Request{Version: 1, Host: "a", Key: key, Token: Hash(token)}, why: noToken},
		"a token and more":    {r: Request{Version: 1, Host: "a", Key: key, Token: token + " "}, why: noToken},
		"a token in capitals": {r: Request{Version: 1, Host: "a", Key: key, Token: strings.ToUpper(token)}, why: noToken},
		"SQL":                 {r: Request{Version: 1, Host: "a", Key: key, Token: "' OR '1'='1"}, why: noToken},
		"a wild card":         {r: Request{Version: 1, Host: "a", Key: key, Token: "%"}, why: noToken},
		"neither":             {r: Request{Version: 1, Host: "a", Key: key}, why: "does not admit hosts by ssh host key"},
	} {
		if c.raw != "" {
			d.refused(what, d.answer(t.Context(), []byte(c.raw)), c.why)
		} else {
			d.refused(what, d.ask(c.r), c.why)
		}
	}
	d.hosts(0)
	// A name may be odd; what shows it knows how.
	odd := `<b>'"\` + strings.Repeat("a", 255-len(`<b>'"\`))
	h := d.admitted("after all that", d.ask(Request{Version: 1, Host: odd, Key: key, Token: token}), key)
	if h.Name != odd {
		t.Errorf("%+v", h)
	}
}

// TestTokens: a token admits as often and as long as it says, to the place that
// it says.
func TestTokens(t *testing.T) {
	d := newDesk(t)
	const invalid = "the token is not valid"
	ask := func(token, host string) (Reply, string) {
		key := newKey(t)
		return d.ask(Request{Version: 1, Host: host, Key: key, Token: token}), key
	}
	twice := d.token(store.Token{Uses: 2, Group: "web", Labels: map[string]string{"site": "b"}}, time.Hour)
	for i := range 2 {
		got, key := ask(twice, fmt.Sprintf("web%d", i))
		if h := d.admitted("within its uses", got, key); h.Group != "web" || h.Labels["site"] != "b" || h.Name != fmt.Sprintf("web%d", i) {
			t.Errorf("%+v", h)
		}
	}
	got, _ := ask(twice, "web2")
	d.refused("used up", got, invalid)
	// The answer was lost, and the same host asks once more.
	once := d.token(store.Token{Uses: 1, Group: "web"}, time.Hour)
	lost, lostKey := ask(once, "web3")
	d.admitted("at first", lost, lostKey)
	if again := d.ask(Request{Version: 1, Host: "web3", Key: lostKey, Token: once}); again.Agent != lost.Agent {
		t.Errorf("once more: %+v", again)
	}
	got, _ = ask(d.token(store.Token{Uses: 1}, -time.Second), "late")
	d.refused("expired", got, invalid)
	soon := d.token(store.Token{Uses: 2}, time.Second)
	first, key := ask(soon, "in-time")
	d.admitted("before its end", first, key)
	time.Sleep(1100 * time.Millisecond)
	got, _ = ask(soon, "too-late")
	d.refused("after its end", got, invalid)
	d.hosts(4)

	// In the place of a host that was reinstalled, and never of one that does not exist.
	before := key
	got, key = ask(d.token(store.Token{Uses: 1, Agent: first.Agent}, time.Hour), "in-time")
	d.admitted("anew", got, key)
	if gone, err := d.DB.Revoked(t.Context()); err != nil || len(gone) != 1 || gone[0] != before || got.Agent != first.Agent ||
		d.replaced != 1 {
		t.Errorf("%+v; revoked %v, %v; told %d times", got, gone, err, d.replaced)
	}
	nobody := d.token(store.Token{Uses: 1, Agent: "nobody"}, time.Hour)
	got, _ = ask(nobody, "x")
	d.refused("nobody's place", got, "trouble with its database")
	d.hosts(4)
}

// TestLateAnswer: whoever asks again because the answer was late gets the same answer; a token
// that admits others too loses nothing by it.
func TestLateAnswer(t *testing.T) {
	d := newDesk(t)
	two := d.token(store.Token{Uses: 2}, time.Hour)
	key := newKey(t)
	r := Request{Version: 1, Host: "web1", Key: key, Token: two}
	first := d.ask(r)
	d.admitted("at first", first, key)
	for range 3 {
		if again := d.ask(r); again.Agent != first.Agent || again.JWT == "" {
			t.Errorf("once more: %+v", again)
		}
	}
	key = newKey(t)
	d.admitted("another", d.ask(Request{Version: 1, Host: "web2", Key: key, Token: two}), key)
	d.hosts(2)
}

// TestTokenAtOnce: of many that come at the same moment with a token for one, one
// is admitted.
func TestTokenAtOnce(t *testing.T) {
	d := newDesk(t)
	token := d.token(store.Token{Uses: 1}, time.Hour)
	var in atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		r := Request{Version: 1, Host: fmt.Sprintf("h%d", i), Key: newKey(t), Token: token}
		all.Go(func() {
			if d.ask(r).Error == "" {
				in.Add(1)
			}
		})
	}
	all.Wait()
	if in.Load() != 1 {
		t.Errorf("%d were admitted", in.Load())
	}
	d.hosts(1)
}

func hostKeys(t *testing.T) (ed, other, big ssh.Signer) {
	t.Helper()
	signer := func(key any, err error) ssh.Signer {
		if err != nil {
			t.Fatal(err)
		}
		s, err := ssh.NewSignerFromKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	_, a, err := ed25519.GenerateKey(rand.Reader)
	ed = signer(a, err)
	_, b, err := ed25519.GenerateKey(rand.Reader)
	other = signer(b, err)
	c, err := rsa.GenerateKey(rand.Reader, 2048)
	return ed, other, signer(c, err)
}

// TestHostKeys: who answers the challenge with the key that known_hosts names
// for the host is admitted, and nobody with any of that from elsewhere.
func TestHostKeys(t *testing.T) {
	d := newDesk(t)
	mine, other, big := hostKeys(t)
	revoked, _, _ := hostKeys(t)
	line := func(prefix string, s ssh.Signer) string {
		return prefix + " " + string(ssh.MarshalAuthorizedKey(s.PublicKey()))
	}
	known := line("web1", mine) + line("web2", big) + line("@revoked web3", revoked) + line("web3", revoked) + line("!web5,web5*", mine)
	if err := os.WriteFile(d.known, []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	d.KnownHosts = d.known
	begin := func(host string, s ssh.Signer) Request {
		return Request{Version: 1, Host: host, Key: newKey(t), HostKey: s.PublicKey().Marshal()}
	}
	signed := func(r Request, s ssh.Signer) Request {
		sig, err := Sign(s, r.Challenge, r.Key)
		if err != nil {
			t.Fatal(err)
		}
		r.Signature = sig
		return r
	}
	challenged := func(r Request) Request {
		t.Helper()
		got := d.ask(r)
		if got.Error != "" || got.Challenge == "" || got.JWT != "" {
			t.Fatalf("%+v", got)
		}
		r.Challenge = got.Challenge
		return r
	}
	const notNamed, old, notSigned = "does not name this key for", "the challenge is too old, or another's", "the signature is not of this key"
	for host, s := range map[string]ssh.Signer{"web1": other, "web3": revoked, "web5": mine, "web1:22": mine} {
		d.refused("the key of "+host, d.ask(begin(host, s)), notNamed)
	}
	broken := begin("web1", mine)
	broken.HostKey = broken.HostKey[:10]
	d.refused("half a key", d.ask(broken), "the ssh host key is damaged")

	r := challenged(begin("web1", mine))
	elsewhere := challenger{secret: []byte("another hub's"), now: time.Now}
	aged := challenger{secret: d.Keys.Secret(), now: func() time.Time { return time.Now().Add(-challengeLife - time.Second) }}
	ahead := challenger{secret: d.Keys.Secret(), now: func() time.Time { return time.Now().Add(2 * time.Minute) }}
	raw, err := base64.RawURLEncoding.DecodeString(r.Challenge)
	if err != nil {
		t.Fatal(err)
	}
	raw[7]++ // its time
	for what, challenge := range map[string]string{"another hub's": elsewhere.make(r), "too old": aged.make(r),
		"of tomorrow": ahead.make(r), "bent": base64.RawURLEncoding.EncodeToString(raw), "short": r.Challenge[:10], "none such": "%"} {
		bent := r
		bent.Challenge = challenge
		d.refused("a challenge that is "+what, d.ask(signed(bent, mine)), old)
	}
	stolen := begin("web1", mine) // the thief's own NKey
	stolen.Challenge = r.Challenge
	d.refused("another's challenge", d.ask(signed(stolen, mine)), old)
	moved := r
	moved.Host = "web2"
	moved.HostKey = big.PublicKey().Marshal()
	d.refused("another host's challenge", d.ask(signed(moved, big)), old)
	d.refused("another's signature", d.ask(signed(r, other)), notSigned)
	d.refused("no signature", d.ask(r), notSigned)
	// The signature that ssh itself makes for another purpose.
	plain, err := mine.Sign(rand.Reader, []byte(r.Challenge+"\n"+r.Key))
	if err != nil {
		t.Fatal(err)
	}
	wrong := r
	wrong.Signature = ssh.Marshal(plain)
	d.refused("a signature of something else", d.ask(wrong), notSigned)
	d.hosts(0)

	first := d.ask(signed(r, mine))
	if h := d.admitted("the host itself", first, r.Key); h.Name != "web1" || h.Group != "ssh" {
		t.Errorf("%+v", h)
	}
	if again := d.ask(signed(r, mine)); again.Agent != first.Agent || d.replaced != 0 {
		t.Errorf("once more, for the answer was lost: %+v, told %d times", again, d.replaced)
	}
	r = challenged(begin("web1", mine))
	if again := d.ask(signed(r, mine)); again.Agent != first.Agent || d.replaced != 1 {
		t.Errorf("again: %+v, told %d times", again, d.replaced)
	}
	// RSA by SHA-512; by SHA-1 never.
	r = challenged(begin("web2", big))
	weak, err := big.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, signedBytes(r), ssh.KeyAlgoRSA)
	if err != nil {
		t.Fatal(err)
	}
	sha1 := r
	sha1.Signature = ssh.Marshal(weak)
	d.refused("a signature with SHA-1", d.ask(sha1), notSigned)
	d.admitted("by RSA", d.ask(signed(r, big)), r.Key)
	d.hosts(2)
}

func signedBytes(r Request) []byte { return signed(r.Challenge, r.Key) }

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzRequest: whatever is asked without a token is not admitted.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"version":1,"host":"a","key":"UA","token":"t"}`))
	f.Add([]byte(`{"version":1,"host":"a","key":"UA","host_key":"AAAA","challenge":"AAAA","signature":"AAAA"}`))
	f.Add([]byte("{"))
	d := newDesk(f)
	d.KnownHosts = os.DevNull
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := d.answer(t.Context(), b); got.Error == "" || got.JWT != "" {
			t.Errorf("%q: %+v", b, got)
		}
	})
}
