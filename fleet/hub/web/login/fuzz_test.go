package login

import (
	"net/url"
	"strings"
	"testing"

	"fettle/internal/means"
)

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzLocal: wherever somebody is to be led after the log-in, it is here.
func FuzzLocal(f *testing.F) {
	for _, s := range []string{"/hosts?q=a", "//evil.example", `/\evil.example`, "https://evil.example", "/%2f/evil", "/\tx", "/login",
		"/a#b", "/..//evil"} {
		f.Add(s)
	}
	base, err := url.Parse("https://hub.example/login")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Local(s)
		u, err := base.Parse(got)
		if err != nil || u.Host != "hub.example" || u.Scheme != "https" || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") ||
			strings.ContainsAny(got, "\\\r\n\t") {
			t.Errorf("%q leads to %q", s, got)
		}
	})
}

// FuzzMatches: no text in the database's place of a hash does harm.
func FuzzMatches(f *testing.F) {
	good, err := Hash(secret, cheap)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, hash string) {
		if strings.Count(hash, "m=8,t=1,p=1") != 1 {
			return // others may cost what they say
		}
		if ok, err := matches("another password", hash); ok || err != nil && ok {
			t.Errorf("%q", hash)
		}
	})
}
