package assistant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

// published are the paths of the hub's API, as its schema has them.
func published(t *testing.T) []*regexp.Regexp {
	t.Helper()
	b, err := os.ReadFile("../docs/schema/hub-1.openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	var out []*regexp.Regexp
	for path, methods := range doc.Paths {
		if methods["get"] != nil {
			out = append(out, regexp.MustCompile("^"+regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "[^/]+")+"$"))
		}
	}
	return out
}

// Questions to a hub go to paths that its schema has, with the token, and what comes back is the hosts'.
func TestFleet(t *testing.T) {
	paths := published(t)
	asked := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		known := false
		for _, p := range paths {
			known = known || p.MatchString(r.URL.Path)
		}
		if !known || r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer t0ken" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		if r.URL.Query().Get("q") == "lead-on" {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
			return
		}
		var hosts []string
		for i := range fleetPage {
			hosts = append(hosts, fmt.Sprintf(`{"name":"h%d\u001b[31m"}`, i))
		}
		next := "100"
		switch {
		case strings.HasSuffix(r.URL.Path, "/changes"):
			next = `"1764000000000.7"`
		case r.URL.Query().Get("q") == "last":
			next = "0"
		}
		fmt.Fprintf(w, `{"hosts":[%s],"count":120,"next":%s}`, strings.Join(hosts, ","), next)
	}))
	defer s.Close()
	d := &desk{Config{Hub: s.URL, Token: "t0ken"}}
	for _, c := range []struct {
		in   fleetInput
		want string
	}{
		{fleetInput{Question: "overview"}, "/api/v1/fleet?"},
		{fleetInput{Question: "hosts", Search: "web", Group: "a b"}, "/api/v1/hosts?group=a+b&limit=50&q=web"},
		{fleetInput{Question: "hosts", Cursor: "50"}, "/api/v1/hosts?limit=50&offset=50"},
		{fleetInput{Question: "host", Host: "k3vq2xw5ab7d"}, "/api/v1/hosts/k3vq2xw5ab7d?limit=50"},
		{fleetInput{Question: "changes", Host: "k3vq2xw5ab7d", Cursor: "1764000000000.7"},
			"/api/v1/changes?before=1764000000000.7&host=k3vq2xw5ab7d&limit=50"},
		{fleetInput{Question: "trap", Trap: "bridge-mtu"}, "/api/v1/traps/bridge-mtu/hosts?limit=50"},
		{fleetInput{Question: "changes", Trap: "bridge-mtu", Since: "2026-11-26T00:00:00Z"},
			"/api/v1/changes?limit=50&since=2026-11-26T00%3A00%3A00Z&trap=bridge-mtu"},
	} {
		a, err := d.fleet(t.Context(), nil, c.in)
		b, _ := json.Marshal(a.HostSays)
		if err != nil || asked != c.want || strings.Contains(string(b), `\u001b`) || !strings.Contains(string(b), "h49") {
			t.Errorf("%+v: asked %s, %v, %.200s", c.in, asked, err, b)
		}
	}
	for _, c := range []struct {
		in   fleetInput
		want string
	}{{fleetInput{Question: "hosts", Cursor: "50"}, "100"}, {fleetInput{Question: "changes"}, "1764000000000.7"},
		{fleetInput{Question: "hosts", Search: "last"}, ""}} {
		if a, err := d.fleet(t.Context(), nil, c.in); err != nil || a.Cursor != c.want {
			t.Errorf("%+v: the cursor is %q, %v", c.in, a.Cursor, err)
		}
	}
	for _, in := range []fleetInput{
		{}, {Question: "drop"}, {Question: "host", Host: "../../x"}, {Question: "host"}, {Question: "trap", Trap: "../hosts"},
		{Question: "hosts", Cursor: "-1"}, {Question: "hosts", Search: "lead-on"},
	} {
		if a, err := d.fleet(t.Context(), nil, in); err == nil {
			t.Errorf("%+v: %+v", in, a)
		}
	}
}
