package fetch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A keyserver that sends who asks to a service that trusts this host.
func TestRedirects(t *testing.T) {
	reached := ""
	inner := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached = r.URL.String() }))
	defer inner.Close()
	var to string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			reached = "here"
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer server.Close()
	for _, c := range []struct{ to, want string }{
		{inner.URL + "/admin?delete=all", ""},
		{strings.Replace(inner.URL, "127.0.0.1", "localhost", 1), ""},
		{"file:///etc/passwd", ""},
		{"ftp://127.0.0.1/", ""},
		{"/pks/again", ""}, // in a circle
		{"/here", "here"},
	} {
		reached, to = "", c.to
		client := Client{Servers: []string{server.URL}, Folder: t.TempDir(), Left: 5}
		if _, err := client.ByID(context.Background(), "0123456789ABCDEF"); err == nil {
			t.Errorf("%s: no error", c.to)
		}
		if reached != c.want {
			t.Errorf("a redirect to %s reached %q", c.to, reached)
		}
	}
}

func TestNear(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"example.org", "www.example.org", true}, {"www.Example.org", "example.org", true}, {"example.org", "example.org", true},
		{"example.org", "localhost", false}, {"example.org", "evil.org", false}, {"org", "example.org", false},
	} {
		if near(c.from, c.to) != c.want {
			t.Errorf("%s to %s: %v", c.from, c.to, !c.want)
		}
	}
}
