package hub

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

// run runs one command line in this process.
func run(t *testing.T, ctx context.Context, stdin string, args ...string) (int, string, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := mainWith(ctx, args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// waiting is what a program says, until a line matches.
type waiting struct{ means.Said }

func (w *waiting) find(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for range 300 {
		if m := re.FindStringSubmatch(w.String()); m != nil {
			return m[1]
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s is never said:\n%s", pattern, w.String())
	return ""
}

// TestThePage: a hub that serves, its first user, a log-in, a token, the end.
func TestThePage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	conf := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(conf, []byte("forwarders: [127.0.0.1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said := &waiting{}
	ended := make(chan int, 1)
	go func() {
		ended <- mainWith(ctx, []string{"--state", dir, "serve", "--listen", "127.0.0.1:0", "--web", "127.0.0.1:0", "--web-config", conf},
			strings.NewReader(""), io.Discard, said)
	}()
	base := said.find(t, `the page is at (http://\S+)`)
	said.find(t, `(nobody can log in yet)`)
	with := func(args ...string) []string { return append([]string{"--state", dir}, args...) }
	const password = "correct horse battery"
	for _, c := range []struct {
		stdin string
		args  []string
		code  int
		says  string
	}{
		{password + "\n", with("users", "add", "ann", "--role", "operator"), 0, ""},
		{"short\n", with("users", "add", "bob"), 2, "15 characters"},
		{password, with("users", "add", "bob", "--role", "king"), 2, "reader or operator"},
		{password, with("users", "add", "a b"), 2, "without blanks"},
		{"", with("users", "list"), 0, "ann   operator"},
		{password, with("users", "add", "olga", "--group", "web", "--group", "-"), 0, ""},
		{"", with("users", "list"), 0, "olga  reader    no group, web"},
		{password, with("users", "add", "bob", "--group", "a,b"), 2, "a comma"},
		{"", with("hosts", "--label", "=x"), 2, "expected NAME=VALUE"},
		{"", with("host", "set", "web1", "--group", "web"), 2, "no host has the name"},
		{"", with("ask"), 2, "--group or --label, or --all"},
		{"", with("ask", "--group", "web"), 2, "there is no such host"},
		{"", with("invite", "--label", "a b=c"), 2, "label name"},
		{"", with("serve", "--tls-key", "credential:x"), 2, "LoadCredential=x:FILE"},
		{"", with("users", "remove", "bob"), 2, "no user"},
		{"", with("token", "remove", "abcdefgh"), 2, "no token"},
		{"", with("token", "add", "ci", "--days", "0"), 2, "above zero"},
		{"", []string{"--state", t.TempDir(), "users", "list"}, 2, "no hub has served"},
		{"", with("attach", "web1", conf), 2, "no host has the name or id \"web1\""},
		{"", with("serve", "--web", "nowhere"), 2, "--web nowhere"},
		{"", with("serve", "--web-config", dir+"/nothing"), 2, "--web-config"},
		{"", with("serve", "--web", ":0"), 2, "passwords, tokens and session cookies could be read on the way"},
		{"", with("serve", "--web", "0.0.0.0:0", "--web-config", conf), 2, "--insecure-web"},
	} {
		code, out, errs := run(t, t.Context(), c.stdin, c.args...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("%q: %d %s%s", c.args, code, out, errs)
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: 30 * time.Second}
	get := func(req *http.Request, err error) (int, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	_, body := get(http.NewRequest(http.MethodGet, base+"/hosts", nil))
	token := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(body)
	if token == nil {
		t.Fatal(body)
	}
	form := url.Values{"form": token[1:], "name": {"ann"}, "password": {password}, "next": {"/hosts"}}
	req, err := http.NewRequest(http.MethodPost, base+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if code, body := get(req, nil); code != http.StatusOK || !strings.Contains(body, "<h1>Hosts</h1>") {
		t.Errorf("the log-in: %d %s", code, body)
	}
	if code, out, errs := run(t, t.Context(), "", with("users", "logout", "ann")...); code != 0 || out != "1 ended\n" {
		t.Errorf("users logout: %d %s%s", code, out, errs)
	}
	if _, body := get(http.NewRequest(http.MethodGet, base+"/hosts", nil)); !strings.Contains(body, "Password<input") {
		t.Errorf("after users logout: %s", body)
	}
	code, secret, errs := run(t, t.Context(), "", with("token", "add", "ci")...)
	if code != 0 {
		t.Fatal(errs)
	}
	bearer := func() int {
		req, err := http.NewRequest(http.MethodGet, base+"/api/v1/fleet", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(secret))
		code, _ := get(req, nil)
		return code
	}
	if code := bearer(); code != http.StatusOK {
		t.Errorf("the token: %d", code)
	}
	_, list, _ := run(t, t.Context(), "", with("token", "list")...)
	id := regexp.MustCompile(`(?m)^([0-9a-f]{12})  ci`).FindStringSubmatch(list)
	if id == nil || strings.Contains(list, strings.TrimSpace(secret)) {
		t.Fatal(list)
	}
	if code, _, errs := run(t, t.Context(), "", with("token", "remove", id[1])...); code != 0 {
		t.Error(errs)
	}
	if code := bearer(); code != http.StatusUnauthorized {
		t.Errorf("the token that was removed: %d", code)
	}
	stop()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("the end: %d %s", code, said.String())
		}
	case <-time.After(means.Patience):
		t.Error("the hub does not end")
	}
}
