package notify

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/internal/config"
	"fettle/internal/means"
	"fettle/internal/schematest"
	"fettle/report"
)

var began = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

func found(subject string, sev trap.Severity, summary string) trap.Outcome {
	return trap.Outcome{Trap: "a", Subject: subject, Status: trap.Found, Severity: sev, Summary: summary}
}

func runOf(outcomes ...trap.Outcome) Run {
	return Run{
		Meta:    report.Meta{Host: "web1", Kind: host.KindLive, Version: "1", Started: began},
		Results: []trap.Result{{Trap: "a", Outcomes: outcomes}},
		Took:    time.Second,
	}
}

// script is a program of a few lines of shell.
func script(t *testing.T, text string) string {
	t.Helper()
	return means.Script(t, filepath.Join(t.TempDir(), "program"), text)
}

// TestChangesAlone: one message a run, none where nothing changed; what could
// not be told is told the next time.
func TestChangesAlone(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(t.TempDir(), "mail")
	works := Sender{Timeout: time.Minute, Sendmail: script(t, "cat >> "+out+"\n")}
	broken := Sender{Timeout: time.Minute, Sendmail: script(t, "echo no queue >&2; exit 75\n")}
	channels := []config.Channel{{Mail: config.Words{"root"}}}
	accepted := found("x", trap.Warning, "one")
	accepted.Accepted = &trap.Acceptance{Reason: "known"}
	clear := trap.Outcome{Trap: "a", Subject: "x", Status: trap.Clear}
	blind := trap.Outcome{Trap: "a", Status: trap.Unknown, Reason: "denied"}
	for i, c := range []struct {
		sender Sender
		run    Run
		want   string // subject; "" for no message
		fails  bool
	}{
		{works, runOf(clear), "", false},
		{works, runOf(found("x", trap.Warning, "one"), found("y", trap.Critical, "two")), "fettle: web1: 2 new (1 critical, 1 warning)", false},
		{works, runOf(found("x", trap.Warning, "one"), found("y", trap.Critical, "two")), "", false},
		{broken, runOf(found("x", trap.Warning, "one")), "", true},
		{works, runOf(found("x", trap.Warning, "one")), "fettle: web1: 1 resolved", false},
		{works, runOf(blind), "", false},                           // nobody could look
		{works, runOf(found("x", trap.Warning, "one")), "", false}, // so it is not new
		{works, runOf(accepted), "", false},                        // neither new nor resolved
		{works, runOf(found("x", trap.Critical, "one")), "fettle: web1: 1 new (1 critical)", false},
		{works, runOf(clear), "fettle: web1: 1 resolved", false},
		{works, runOf(found("n", trap.Notice, "slight")), "fettle: web1: 1 new (1 notice)", false},
	} {
		os.Remove(out)
		err := c.sender.Tell(t.Context(), dir, channels, c.run)
		if (err != nil) != c.fails || c.fails && !strings.Contains(err.Error(), "telling mail to root: ") ||
			c.fails && !strings.Contains(err.Error(), "no queue") {
			t.Errorf("run %d: error %v", i, err)
		}
		b, _ := os.ReadFile(out)
		got := ""
		if len(b) > 0 {
			m, err := mail.ReadMessage(strings.NewReader(string(b)))
			if err != nil {
				t.Fatalf("run %d: %v\n%s", i, err, b)
			}
			got = m.Header.Get("Subject")
		}
		if got != c.want {
			t.Errorf("run %d: message %q, want %q", i, got, c.want)
		}
	}
}

// TestLeast: what is too slight for a channel is neither new nor, when it has
// become so, resolved.
func TestLeast(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(t.TempDir(), "mail")
	s := Sender{Timeout: time.Minute, Sendmail: script(t, "cat >> "+out+"\n")}
	for i, c := range []struct {
		sev  trap.Severity
		told bool
	}{{trap.Notice, false}, {trap.Warning, true}, {trap.Notice, false}} {
		os.Remove(out)
		if err := s.Tell(t.Context(), dir, []config.Channel{{Mail: config.Words{"root"}, Severity: "warning"}},
			runOf(found("x", c.sev, "one"))); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(out); (err == nil) != c.told {
			t.Errorf("run %d: told %v", i, err == nil)
		}
	}
}

// nasty is what somebody on the host may have named something.
const nasty = "x\r\nBcc: all@example.org\r\n.\r\n<b>&\x1b[2J\u202e\xff"

// TestMailForReal sends through msmtp's sendmail to an SMTP server on loopback.
func TestMailForReal(t *testing.T) {
	msmtp := means.Tool(t, "msmtp")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan []string, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			got <- smtp(c)
		}
	}()
	conf := filepath.Join(t.TempDir(), "msmtprc")
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := os.WriteFile(conf, fmt.Appendf(nil, "account default\nhost "+
		"127.0.0.1\nport %s\nfrom nobody@example.org\n", port), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Sender{Timeout: time.Minute, Sendmail: script(t, "exec "+msmtp+" -C "+conf+" \"$@\"\n")}
	c := config.Channel{Mail: config.Words{"ops@example.org", "root@example.org"}, From: "fettle@example.org"}
	r := runOf(found(nasty, trap.Critical, "it says "+nasty))
	r.Meta.Host = nasty
	if err := s.Tell(t.Context(), t.TempDir(), []config.Channel{c}, r); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(<-got, "\n")
	for _, want := range []string{"MAIL FROM:<fettle@example.org>", "RCPT TO:<ops@example.org>", "RCPT TO:<root@example.org>",
		"Subject: fettle: x\\r\\nBcc", "1 new (1 critical)", `CRITICAL a on x\r\nBcc`, "Auto-Submitted: auto-generated"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	for line := range strings.Lines(said) {
		if strings.HasPrefix(strings.ToLower(line), "bcc:") || strings.Contains(line, "\x1b") {
			t.Errorf("a name got through as a line of its own: %q", line)
		}
	}
	if strings.Contains(said, "RCPT TO:<all@") {
		t.Error("a name became a recipient")
	}
}

// smtp takes one mail (RFC 5321) and returns the lines that came.
func smtp(c net.Conn) (lines []string) {
	defer c.Close()
	fmt.Fprint(c, "220 test\r\n")
	in := bufio.NewScanner(c)
	data := false
	for in.Scan() {
		l := strings.TrimRight(in.Text(), "\r")
		lines = append(lines, l)
		switch {
		case data && l == ".":
			data = false
			fmt.Fprint(c, "250 kept\r\n")
		case data:
		case strings.HasPrefix(l, "DATA"):
			data = true
			fmt.Fprint(c, "354 go on\r\n")
		case strings.HasPrefix(l, "QUIT"):
			fmt.Fprint(c, "221 bye\r\n")
			return lines
		default:
			fmt.Fprint(c, "250 ok\r\n")
		}
	}
	return lines
}

type got struct {
	method, path string
	header       http.Header
	body         string
}

// receiver is an HTTP server that keeps what it is sent.
func receiver(t *testing.T, status int) (*httptest.Server, func() []got) {
	var mu sync.Mutex
	var all []got
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, got{r.Method, r.URL.Path, r.Header, string(b)})
		mu.Unlock()
		if status/100 == 3 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s, func() []got { mu.Lock(); defer mu.Unlock(); return all }
}

func TestWebhooks(t *testing.T) {
	curl := means.Tool(t, "curl")
	srv, received := receiver(t, 200)
	dir := t.TempDir()
	write := func(name, text string) string {
		f := filepath.Join(dir, name)
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return f
	}
	argv := filepath.Join(dir, "argv")
	s := Sender{Timeout: time.Minute, Curl: script(t, `echo "$@" >> `+argv+"\nexec "+curl+" \"$@\"\n")}
	secretURL := write("url", srv.URL+"/hooks/s3cret\n")
	token := write("token", "t0ken\n")
	r := runOf(found(nasty, trap.Critical, "a \"quoted\" \\ summary"))
	for i, c := range []config.Channel{
		{Webhook: secretURL},
		{Webhook: secretURL, Template: "slack"},
		{Webhook: srv.URL + "/_matrix/client/v3/rooms/!r:example.org/send/m.room.message", Template: "matrix", Token: token},
		{Webhook: srv.URL + "/topic", Template: "ntfy", Token: token},
	} {
		if err := s.Tell(t.Context(), dir, []config.Channel{c}, r); err != nil {
			t.Fatal(err)
		}
		if n := len(received()); n != i+1 {
			t.Fatalf("channel %d: %d requests", i, n)
		}
	}
	all := received()
	if err := schematest.Valid([]byte(all[0].body)); err != nil || all[0].method != "POST" || all[0].path != "/hooks/s3cret" ||
		all[0].header.Get("Content-Type") != "application/json" {
		t.Errorf("json: %v %+v", err, all[0])
	}
	var m Message
	if err := json.Unmarshal([]byte(all[0].body), &m); err != nil || len(m.New) != 1 || m.New[0].Severity != "critical" ||
		m.Counts.Found != 1 {
		t.Errorf("json: %v %s", err, all[0].body)
	}
	var slack struct{ Text string }
	if err := json.Unmarshal([]byte(all[1].body), &slack); err != nil || !strings.HasPrefix(slack.Text, "web1: 1 new (1 critical)\n") ||
		strings.Contains(slack.Text, "<b>") ||
		!strings.Contains(slack.Text, "&lt;b&gt;&amp;") {
		t.Errorf("slack: %v %q", err, slack.Text)
	}
	var matrix struct{ Msgtype, Body string }
	if err := json.Unmarshal([]byte(all[2].body), &matrix); err != nil || matrix.Msgtype != "m.text" ||
		!strings.Contains(matrix.Body, "CRITICAL a on x") ||
		all[2].method != "PUT" ||
		!strings.HasPrefix(all[2].path, "/_matrix/client/v3/rooms/!r:example.org/send/m.room.message/fettle") ||
		all[2].header.Get("Authorization") != "Bearer t0ken" {
		t.Errorf("matrix: %v %+v", err, all[2])
	}
	if n := all[3]; n.header.Get("Title") != "web1: 1 new (1 critical)" || n.header.Get("Priority") != "high" ||
		!strings.Contains(n.body, "CRITICAL a on x") {
		t.Errorf("ntfy: %+v", n)
	}
	b, err := os.ReadFile(argv)
	if err != nil || strings.Contains(string(b), "s3cret") || strings.Contains(string(b), "t0ken") {
		t.Errorf("secrets stand on curl's command line: %v %s", err, b)
	}
}

// TestWebhookFailures: no status but 2xx is delivered, and no redirect followed;
// the error names the host and no secret.
func TestWebhookFailures(t *testing.T) {
	curl := means.Tool(t, "curl")
	for status, want := range map[int]string{301: "answered with status 301", 403: "403", 500: "500"} {
		srv, received := receiver(t, status)
		err := Sender{Timeout: time.Minute,
			Curl: curl,
		}.Tell(
			t.Context(),
			t.TempDir(),
			[]config.Channel{{Webhook: srv.URL + "/s3cret"}},
			runOf(found("x", trap.Warning, "one")),
		)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), srv.URL) ||
			strings.Contains(err.Error(), "s3cret") ||
			len(received()) != 1 {
			t.Errorf("%d: %v, %d requests", status, err, len(received()))
		}
	}
	err := Sender{Timeout: time.Minute,
		Curl: "/nonexistent/curl",
	}.Tell(
		t.Context(),
		t.TempDir(),
		[]config.Channel{{Webhook: "http://127.0.0.1:1/"}},
		runOf(found("x", trap.Warning, "one")),
	)
	if err == nil || !strings.Contains(err.Error(), "install the package curl") {
		t.Errorf("without curl: %v", err)
	}
}

func TestTextfile(t *testing.T) {
	f := filepath.Join(t.TempDir(), "fettle.prom")
	c := []config.Channel{{Textfile: f}}
	for _, r := range []Run{runOf(found("x", trap.Warning, "one")), runOf(found("x", trap.Warning, "one"))} { // each run, changed or not
		os.Remove(f)
		if err := (Sender{}).Tell(t.Context(), t.TempDir(), c, r); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(f); err != nil ||
			!strings.Contains(string(b), `fettle_finding{trap="a",subject="x",severity="warning",state="open"} 1`) {
			t.Errorf("%v\n%s", err, b)
		}
	}
}

// TestManyFindings: a message stays one that receivers take.
func TestManyFindings(t *testing.T) {
	var all []trap.Outcome
	for i := range 5000 {
		all = append(all, found(fmt.Sprintf("subject-%d-%s", i, strings.Repeat("x", 300)), trap.Warning, strings.Repeat("y", 3000)))
	}
	r := runOf(all...)
	m := messageOf(r.Meta, r.Results)
	if n := len(short(m.body(60), 3500)); n > 3600 {
		t.Errorf("ntfy: %d bytes", n)
	}
	for line := range strings.Lines(string(mailText(&config.Channel{Mail: config.Words{"root"}}, m))) {
		if len(line) > 998 {
			t.Errorf("a line of %d octets", len(line))
		}
	}
	if n := strings.Count(m.body(76), "WARNING"); n != named {
		t.Errorf("%d findings named", n)
	}
}
