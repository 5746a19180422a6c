package bus

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
)

// What nats-config prints makes a server trust these keys: it names the operator, and both
// accounts with what they may.
func TestServerConfig(t *testing.T) {
	k, err := LoadKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text := k.ServerConfig()
	f := strings.Fields(text)
	value := func(key string) string {
		for i := range f {
			if f[i] == key+":" {
				return f[i+1]
			}
		}
		t.Fatalf("no %s in %s", key, text)
		return ""
	}
	if op, err := jwt.DecodeOperatorClaims(value("operator")); err != nil || op.SystemAccount != public(k.system) {
		t.Errorf("%+v, %v", op, err)
	}
	if value("system_account") != public(k.system) || value("resolver") != "MEMORY" {
		t.Error(text)
	}
	account, err := jwt.DecodeAccountClaims(value(public(k.account)))
	if err != nil || account.Issuer != public(k.operator) || !account.SigningKeys.Contains(public(k.signing)) ||
		len(account.Revocations) != 0 {
		t.Errorf("%+v, %v", account, err)
	}
	if system, err := jwt.DecodeAccountClaims(value(public(k.system))); err != nil || system.Name != "SYS" {
		t.Errorf("%+v, %v", system, err)
	}
}

// A hub joins a cluster that trusts its keys. One that does not is an error which says what
// to do, and a server that is not there is one that names it.
func TestConnectTo(t *testing.T) {
	s, k := serving(t)
	other, err := LoadKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	url, conf := "tls://"+s.Addr(), &tls.Config{InsecureSkipVerify: true}
	log := func(string) {}
	nc, err := ConnectTo(url, k, conf, log)
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if o := nc.Opts; o.ReconnectWait != time.Second || o.MaxReconnect >= 0 || o.RetryOnFailedConnect {
		t.Errorf("tried again each %s, %d times", o.ReconnectWait, o.MaxReconnect)
	}
	for what, c := range map[string]struct {
		url  string
		keys *Keys
		conf *tls.Config
		want string
	}{
		"strange keys": {url, other, conf,
			url + ": nats: Authorization Violation; put what fettle-hub nats-config prints into its configuration"},
		"nobody there": {"tls://127.0.0.1:1", k, conf, "tls://127.0.0.1:1: nats: no servers"},
		"not trusted":  {url, k, nil, url + ": nats: tls error: tls: failed to verify certificate"},
	} {
		if nc, err := ConnectTo(c.url, c.keys, c.conf, log); err == nil {
			nc.Close()
			t.Errorf("%s: connected", what)
		} else if !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestLittleSpace: servers whose max_file is less than the stream reserves are named with
// what to change.
func TestLittleSpace(t *testing.T) {
	s, _ := serving(t)
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_, err = OpenStream(t.Context(), nc, 4<<30, 1)
	says(t, "a stream that is too large", err, "the stream FETTLE: nats: API error: code=500 err_code=10047")
	for _, want := range []string{"insufficient storage", "4 GiB", "max_file", "--nats-store"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, without %q", err, want)
		}
	}
}
