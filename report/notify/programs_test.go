package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/internal/means"
	"fettle/report"
	"fettle/report/accept"
)

// TestPrograms: what a program says is in the error; it knows no more of its caller than it needs.
func TestPrograms(t *testing.T) {
	t.Setenv("https_proxy", "http://proxy:3128")
	t.Setenv("no_proxy", "")
	t.Setenv("FETTLE_SECRET", "s3cret")
	run := func(text string) (string, error) {
		return started(t.Context(), script(t, text), []string{"a b", "c"}, []byte("body"), nil, "install it")
	}
	if got, err := run(`echo "$#:$1:$2"; cat; echo; pwd; echo no >&2`); err != nil || got != "2:a b:c\nbody\n/\nno\n" {
		t.Errorf("%q, %v", got, err)
	}
	got, err := run("env")
	if err != nil || !strings.Contains(got, "https_proxy=http://proxy:3128\n") || strings.Contains(got, "s3cret") ||
		strings.Contains(got, "no_proxy") || !strings.Contains(got, "LC_ALL=C.UTF-8\n") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := run("echo no\necho '  queue' >&2; exit 75"); err == nil || !strings.HasSuffix(err.Error(), "exit status 75: no queue") {
		t.Error(err)
	}
	if _, err := started(t.Context(), "/nonexistent/program", nil, nil, nil, "install it"); err == nil ||
		err.Error() != "/nonexistent/program is not there; install it" {
		t.Error(err)
	}
	// A child that says something after its program has ended is waited for, for a moment.
	if got, err := run("(sleep 0.05; echo late) & echo soon"); err != nil || got != "soon\nlate\n" {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := Sender{Timeout: time.Nanosecond}.limited(t.Context())
	defer cancel()
	<-ctx.Done()
	if _, err := started(ctx, script(t, ""), nil, nil, nil, ""); err == nil || !strings.HasSuffix(err.Error(), ": took longer than 1ns") {
		t.Error(err)
	}
}

// shamCurl writes down what curl(1) is given, and answers a status.
func shamCurl(t *testing.T, status string) (s Sender, given func() string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "given")
	s = Sender{Timeout: time.Minute, Curl: script(t, `{ cat <&3; echo "$@"; cat; echo; } >> `+out+"; printf %s "+status+"\n")}
	return s, func() string {
		b, _ := os.ReadFile(out)
		os.Remove(out)
		return string(b)
	}
}

// TestSMTP: TLS is demanded unless the server is this machine; a password goes through the pipe, and
// lines end as RFC 5321 has it.
func TestSMTP(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("fettle:s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		url string
		tls bool
	}{
		{"smtp://mail.example:587/", true}, {"smtp://192.0.2.1", true}, {"smtp://localhost:25", false}, {"smtp://127.0.0.2", false},
		{"smtp://[::1]:25", false}, {"smtp://localhost.example", true},
	} {
		s, given := shamCurl(t, "")
		ch := &config.Channel{SMTP: c.url, From: "f@x", Mail: config.Words{"a@x", "b@x"}, Token: password}
		if err := s.Deliver(t.Context(), ch, &Message{Text: "t", Plain: "p\n"}); err != nil {
			t.Fatal(err)
		}
		got := given()
		config, rest, _ := strings.Cut(got, "--disable")
		want := fmt.Sprintf("url = \"%s\"\nmail-from = \"f@x\"\nmail-rcpt = \"a@x\"\nmail-rcpt = \"b@x\"\nuser = \"fettle:s3cret\"\n",
			strings.TrimRight(c.url, "/"))
		if config != want || strings.Contains(rest, "s3cret") || strings.Contains(rest, " --ssl-reqd") != c.tls ||
			!strings.Contains(rest, "\r\n\r\np\r\n") {
			t.Errorf("%s: %s", c.url, got)
		}
	}
	s, given := shamCurl(t, "; exit 67")
	ch := &config.Channel{SMTP: "smtp://mail.example", Mail: config.Words{"a"}}
	if err := s.Deliver(t.Context(), ch, &Message{}); err == nil || !strings.HasPrefix(err.Error(), "mail by mail.example: ") {
		t.Error(err)
	}
	given()
	ch.Token = password + "x"
	if err := s.Deliver(t.Context(), ch, &Message{}); !errors.Is(err, os.ErrNotExist) || given() != "" {
		t.Errorf("a password that is not there: %v", err)
	}
}

// TestNotSent: whatever is missing, nothing is sent, and the channel's error says so.
func TestNotSent(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "x")
	for _, c := range []config.Channel{
		{Webhook: missing}, {Webhook: "https://hooks.example", Token: missing}, {Alertmanager: "https://am.example", Token: missing},
		{Textfile: missing + "/y/z"},
	} {
		s, given := shamCurl(t, "200")
		err := s.Tell(t.Context(), t.TempDir(), []config.Channel{c}, runOf(found("x", trap.Warning, "one")))
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%+v: %v", c, err)
		}
		if got := given(); got != "" {
			t.Errorf("%+v: sent %s", c, got)
		}
	}
	if err := (Sender{}).deliver(t.Context(), &config.Channel{Textfile: "x"}, &Message{}); err == nil {
		t.Error("a textfile takes a message")
	}
	state := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := shamCurl(t, "200")
	hook := []config.Channel{{Webhook: "https://hooks.example"}}
	if err := s.Tell(t.Context(), state, hook, runOf(found("x", trap.Warning, "one"))); err == nil {
		t.Error("what was told cannot be kept, and nobody says so")
	}
	for status, ok := range map[string]bool{"200": true, "204": true, "302": false, "199": false} {
		s, _ := shamCurl(t, status)
		if err := s.Tell(t.Context(), t.TempDir(), hook, runOf(found("x", trap.Warning, "one"))); (err == nil) != ok {
			t.Errorf("status %s: %v", status, err)
		}
	}
}

// TestTest: each channel is tried; what only writes files is looked at.
func TestTest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, given := shamCurl(t, "200")
	s.Sendmail = script(t, "exit 1")
	channels := []config.Channel{{Webhook: "https://hooks.example"}, {Alertmanager: "https://am.example/"}, {Mail: config.Words{"root"}},
		{Textfile: file + "/x.prom"}, {Textfile: file + ".prom"}}
	var got []bool
	s.Test(t.Context(), channels, report.Meta{Host: "web1"}, func(_ string, err error) { got = append(got, err == nil) })
	if want := []bool{true, true, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if sent := given(); !strings.Contains(sent, `"text":"web1: a test message of fettle notify"`) ||
		!strings.Contains(sent, `url = "https://am.example/api/v2/alerts"`) || !strings.Contains(sent, "\n[]\n") {
		t.Errorf("%s", sent)
	}
}

// TestAlerts: what is open lasts until the channel's time is over, what has ended ends now; five
// hundred go with one request.
func TestAlerts(t *testing.T) {
	srv, received := receiver(t, http.StatusOK)
	s := Sender{Timeout: time.Minute, Curl: means.Tool(t, "curl")}
	c := &config.Channel{Alertmanager: srv.URL + "/"}
	list := []Alert{
		{Name: "FettleSilent", Host: "w\xff1", Group: "web", Severity: "warning", Summary: "s\x1b", Command: "c", Since: began},
		{Host: "w2", Trap: "a", Subject: "x", Ended: true},
	}
	for range 999 {
		list = append(list, Alert{Host: "w3"})
	}
	if err := s.Alerts(t.Context(), c, list, began); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	var all []alert
	for _, r := range received() {
		var some []alert
		if err := json.Unmarshal([]byte(r.body), &some); err != nil {
			t.Fatal(err)
		}
		sizes, all = append(sizes, len(some)), append(all, some...)
	}
	if !slices.Equal(sizes, []int{500, 500, 1}) {
		t.Fatalf("%v alerts by request", sizes)
	}
	want := fmt.Sprint(map[string]string{"alertname": "FettleSilent", "instance": "w\uFFFD1", "group": "web", "severity": "warning"})
	if a := all[0]; fmt.Sprint(a.Labels) != want || len(a.Annotations) != 2 || strings.Contains(a.Annotations["summary"], "\x1b") ||
		!a.StartsAt.Equal(began) || !a.EndsAt.Equal(began.Add(c.Lasting())) {
		t.Errorf("%+v", a)
	}
	want = fmt.Sprint(map[string]string{"alertname": "FettleFinding", "instance": "w2", "trap": "a", "subject": "x"})
	if a := all[1]; fmt.Sprint(a.Labels) != want || len(a.Annotations) != 0 || !a.EndsAt.Equal(began) {
		t.Errorf("%+v", a)
	}
	srv.Close()
	if err := s.Alerts(t.Context(), c, list, began); err == nil {
		t.Error("no Alertmanager, and no error")
	}
}

// TestSuperseded: an alert ends where its finding is accepted, too slight or regraded; one that is as
// it was goes on.
func TestSuperseded(t *testing.T) {
	open := func(dir string) *accept.Seen {
		t.Helper()
		seen, err := accept.OpenSeen(dir, "live", "web1", began)
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	dir := t.TempDir()
	seen := open(dir)
	for _, s := range []string{"same", "accepted", "slight", "regraded", "unknown"} {
		r := trap.Result{Trap: "a", Outcomes: []trap.Outcome{found(s, trap.Warning, "one")}}
		r.Trap += s
		r.Outcomes[0].Trap = r.Trap
		seen.Mark(&r)
	}
	if err := seen.Save(); err != nil {
		t.Fatal(err)
	}
	seen = open(dir)
	for _, c := range []struct {
		subject string
		sev     trap.Severity
		least   trap.Severity
		ends    bool
	}{
		{"same", trap.Warning, trap.Warning, false}, {"accepted", trap.Warning, trap.Notice, true},
		{"slight", trap.Warning, trap.Critical, true}, {"regraded", trap.Critical, trap.Notice, true},
		{"unknown", trap.Warning, trap.Critical, false}, {"new", trap.Warning, trap.Critical, false},
	} {
		o := found(c.subject, c.sev, "one")
		o.Trap += c.subject
		switch c.subject {
		case "accepted":
			o.Accepted = &trap.Acceptance{Reason: "known"}
		case "unknown":
			o.Status = trap.Unknown
		}
		got := superseded(seen, &trap.Result{Trap: o.Trap, Outcomes: []trap.Outcome{o}}, c.least)
		if (len(got) == 1) != c.ends || c.ends && (got[0].Subject != c.subject || got[0].Said != "warning: one") {
			t.Errorf("%s: %+v", c.subject, got)
		}
	}
}
