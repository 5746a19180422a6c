package notify

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/internal/config"
	"fettle/report"
)

// TestTogether: what is the same on several hosts is said once, since when it was first found, the
// most severe first.
func TestTogether(t *testing.T) {
	at := func(h int) time.Time { return began.Add(time.Duration(h) * time.Hour) }
	m := Fleet("1", "hub", began, []Change{
		{Host: "w1", Trap: "a", Subject: "x", Severity: trap.Notice, Summary: "n", Since: at(2)},
		{Host: "w2", Trap: "a", Subject: "x", Severity: trap.Notice, Summary: "n", Since: at(1)},
		{Host: "w3", Trap: "a", Subject: "x", Severity: trap.Notice, Summary: "n", Since: at(3)},
		{Host: "w1", Trap: "b", Subject: "x", Severity: trap.Critical, Summary: "c", Since: at(1)},
		{Host: "w1", Trap: "b", Subject: "y", Severity: trap.Critical, Summary: "c", Since: at(1)},
		{Host: "w1", Trap: "b", Subject: "x", Severity: trap.Warning, Summary: "c", Since: at(1)},
		{Host: "w1", Trap: "b", Subject: "x", Severity: trap.Warning, Summary: "c", Since: at(1), Restarted: true},
	}, []Change{{Host: "w4", Trap: "c", Severity: trap.Warning}}, report.Counts{})
	var got []string
	for _, f := range m.New {
		got = append(got, fmt.Sprintf("%s %s:%s %v %d of %d since %d %v", f.Severity, f.Trap, f.Subject, f.Hosts, f.Count, f.OnHosts,
			f.Since.Sub(began)/time.Hour, f.Restarted))
	}
	want := []string{"critical b: [w1] 2 of 1 since 1 false", "warning b:x [w1] 1 of 1 since 1 false",
		"warning b:x [w1] 1 of 1 since 1 true",
		"notice a:x [w1 w2 w3] 3 of 3 since 1 false"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if want := "hub: 7 new (2 critical, 2 warning, 3 notice), 1 resolved on 4 hosts"; m.Text != want || m.Counts.Resolved != 1 {
		t.Errorf("%q, %d resolved, want %q", m.Text, m.Counts.Resolved, want)
	}
	for n, want := range map[int]string{
		0: "", 1: " on h0", 5: " on h0, h1, h2, h3, h4", 6: " on h0, h1, h2, h3, h4 and 1 more host",
		1001: " on h0, h1, h2, h3, h4 and 996 more hosts",
	} {
		var list []Change
		for i := range n {
			list = append(list, Change{Host: fmt.Sprint("h", i), Trap: "a", Severity: trap.Notice})
		}
		f := append(Fleet("1", "hub", began, list, nil, report.Counts{}).New, Finding{})[0]
		if got := f.on(); got != want || f.OnHosts != n || len(f.Hosts) != min(n, 1000) {
			t.Errorf("%d hosts: %q, %d of %d listed", n, got, len(f.Hosts), f.OnHosts)
		}
	}
}

// TestBody: a message for people names two hundred findings of each kind, with what to run.
func TestBody(t *testing.T) {
	for n, want := range map[int]string{200: "", 201: "  and 1 more\n", 203: "  and 3 more\n"} {
		m := &Message{URL: "https://hub.example"}
		for i := range n {
			m.New = append(m.New, Finding{Trap: "a", Subject: fmt.Sprint("s", i), Severity: "warning", Summary: "is so"})
		}
		m.New[0].Command, m.New[0].Restarted = "fettle fix a", true
		got := m.body(76)
		if strings.Count(got, "WARNING a on s") != 200 || want == "" && strings.Contains(got, "more") || !strings.Contains(got, want) {
			t.Errorf("%d findings: %.300s", n, got)
		}
		if !strings.HasPrefix(got, "New:\n  WARNING a on s0, after a restart: is so\n    fettle fix a\n  WARNING a on s1: is so\n") ||
			strings.Contains(got, "Resolved") || !strings.HasSuffix(got, "\nhttps://hub.example\n") {
			t.Errorf("%d findings: %.200s", n, got)
		}
	}
	m := &Message{Resolved: []Finding{{Trap: "a", Severity: "warning", Summary: "was so"}}}
	if got := m.body(76); !strings.HasPrefix(got, "Resolved:\n  a: was so\n\nNow: ") {
		t.Errorf("%q", got)
	}
	if got := (&Message{Plain: "a digest", URL: "x"}).body(76); got != "a digest" {
		t.Errorf("%q", got)
	}
}

// TestMessageOf: what was told before is not new, yet counts; what could not be looked at is no
// finding.
func TestMessageOf(t *testing.T) {
	known := found("k", trap.Critical, "old")
	known.Known = true
	r := trap.Result{Trap: "a", Outcomes: []trap.Outcome{found("n", trap.Notice, "slight"), known, found("w", trap.Warning, "bad"),
		{Trap: "a", Status: trap.Unknown, Reason: "denied"}}, Resolved: []trap.Resolved{{Subject: "n", Said: "notice: gone", Since: began},
		{Subject: "c", Said: "critical: gone: too"}}}
	m := messageOf(report.Meta{Host: "web1", Started: began}, []trap.Result{r})
	var got []string
	for _, f := range append(m.New, m.Resolved...) {
		got = append(got, f.Severity+" "+f.ID()+" "+f.Summary)
	}
	want := []string{"warning a:w bad", "notice a:n slight", "critical a:c gone: too", "notice a:n gone"}
	if c := m.Counts.Severities; !slices.Equal(got, want) || c.Critical != 1 || c.Warning != 1 || c.Notice != 1 || m.Counts.Unknown != 1 ||
		m.Counts.Resolved != 2 {
		t.Errorf("%q, %+v", got, m.Counts)
	}
	if m.worst() != trap.Warning || m.Empty() || !r.Outcomes[1].Known {
		t.Errorf("%s, empty %v", m.worst(), m.Empty())
	}
	for _, m := range []*Message{{New: m.New}, {Resolved: m.Resolved}} {
		if m.Empty() {
			t.Errorf("%+v is empty", m)
		}
	}
	if none := messageOf(report.Meta{Host: "web1"}, nil); !none.Empty() || none.worst() != 0 || none.Text != "web1: nothing changed" {
		t.Errorf("%+v", none)
	}
}

// TestBounds: what is too long for a channel is cut, and not before.
func TestBounds(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct{ what, got, want string }{
		{"text that fits", short("one\ntwo\n", 8), "one\ntwo\n"},
		{"text that does not", short("one\ntwo\n", 7), "one\n(shortened)\n"},
		{"text of one line", short("one", 2), "(shortened)\n"},
		{"a header that fits", ascii(a(200)), a(200)},
		{"a header that does not", ascii(a(201)), a(200)},
		{"a header's characters", ascii(" ~\x7f\x1fé\t"), " ~????"},
		{"a host in a Message-ID", atom(".Hub-1.exämple_é."), "Hub-1.ex-mple--.fettle"},
		{"its letters", atom("azAZ09"), "azAZ09.fettle"},
		{"a URL's address", asked("https://user:secret@hub.example/secret?x"), "https://hub.example"},
		{"no URL", asked("://secret"), "the URL"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	for n, want := range map[int]int{990: 990, 991: 990} {
		var b bytes.Buffer
		if lines(&b, a(n)+"\nb\n"); b.String() != a(want)+"\nb\n" {
			t.Errorf("a line of %d: %d bytes", n, b.Len())
		}
	}
	said := &tail{}
	for n, want := range map[int]int{1500: 1500, 2000: 2000, 2001: 2000} {
		*said = tail{}
		io.WriteString(said, "b"+a(n-2))
		io.WriteString(said, "c")
		if len(said.b) != want || said.b[want-1] != 'c' || (said.b[0] == 'b') != (n == want) {
			t.Errorf("of %d bytes %d are kept", n, len(said.b))
		}
	}
}

// TestMailText: the parts of a mail, and the headers that tell it apart.
func TestMailText(t *testing.T) {
	read := func(c *config.Channel, m *Message) (*mail.Message, string) {
		t.Helper()
		got, err := mail.ReadMessage(bytes.NewReader(mailText(c, m)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		return got, string(b)
	}
	plain, body := read(&config.Channel{Mail: config.Words{"a", "b"}}, &Message{Host: "web1", Started: began, Text: "t", Plain: "p\n"})
	if h := plain.Header; h.Get("From") != "" || h.Get("To") != "a, b" || h.Get("Message-ID") != "" || h.Get("Subject") != "fettle: t" ||
		h.Get("Auto-Submitted") != "auto-generated" || body != "p\n" {
		t.Errorf("%v %q", h, body)
	}
	if at, err := plain.Header.Date(); err != nil || time.Since(at) > time.Hour {
		t.Errorf("the date is %s, %v: want now", at, err)
	}
	rich, body := read(&config.Channel{From: "f@x", Mail: config.Words{"a"}},
		&Message{ID: "7", Host: "hub", Started: began, Plain: "p\n", HTML: "<p>"})
	if at, err := rich.Header.Date(); err != nil || !at.Equal(began) || rich.Header.Get("From") != "f@x" ||
		rich.Header.Get("Message-ID") != "<7@hub.fettle>" {
		t.Errorf("%v, %v", rich.Header, err)
	}
	kind, params, err := mime.ParseMediaType(rich.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatal(kind, err)
	}
	parts := multipart.NewReader(strings.NewReader(body), params["boundary"])
	for _, want := range []string{"text/plain p\n", "text/html <p>\n"} {
		p, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(p)
		kind, _, _ := strings.Cut(p.Header.Get("Content-Type"), ";")
		if got := kind + " " + string(b); err != nil || strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if _, err := parts.NextRawPart(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestSecrets: a file with a token or a URL has one line without blanks; what is wrong is said
// without it.
func TestSecrets(t *testing.T) {
	file := func(s string) string {
		t.Helper()
		f := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(f, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for text, want := range map[string]string{
		" abc\n": "abc", "!~": "!~", "": "", "\n": "", "a b": "", "a\nb": "", "a\x7fb": "", "a\xffb": "", "a\x00b": "",
		strings.Repeat("a", 64<<10): strings.Repeat("a", 64<<10), strings.Repeat("a", 64<<10+1): "",
	} {
		got, err := secret(file(text))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%.20q: %.20q, %v", text, got, err)
		}
	}
	for text, ok := range map[string]bool{
		"https://hooks.example/s3cret": true, "http://hooks.example": true, "ftp://hooks.example/s3cret": false, "https:///s3cret": false,
		"s3cret": false, "://s3cret": false,
	} {
		got, err := address(file(text + "\n"))
		if (err == nil) != ok || ok && got != text || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if got, err := address("https://hooks.example/x"); err != nil || got != "https://hooks.example/x" {
		t.Errorf("%q, %v", got, err)
	}
	r := request{}
	if err := authorize(&r, ""); err != nil || r.headers != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if err := authorize(&r, file("tok")); err != nil || fmt.Sprint(r.headers) != "[[Authorization Bearer tok]]" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestJournalEntry: one entry says what changed, as severe as the worst of it.
func TestJournalEntry(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	findings := func(n int, sev string) (list []Finding) {
		for i := range n {
			list = append(list, Finding{Trap: "a", Subject: fmt.Sprint(sev[:1], i), Severity: sev})
		}
		return list
	}
	for _, c := range []struct {
		m                 Message
		message, priority string
		traps             int
	}{
		{Message{Text: "t"}, "t", "6", 0},
		{Message{Text: "t", New: findings(1, "notice")}, "t; a:n0", "5", 1},
		{Message{Text: "t", New: findings(2, "warning"), Resolved: findings(3, "notice")}, "t; a:w0, a:w1, a:n0, a:n1, a:n2", "4", 5},
		{Message{Text: "t", New: findings(2, "critical"), Resolved: findings(5, "notice")},
			"t; a:c0, a:c1, a:n0, a:n1, a:n2, and 2 more", "2", 7},
		{Message{Text: "t", Resolved: findings(201, "warning")}, "t; a:w0, a:w1, a:w2, a:w3, a:w4, and 196 more", "6", 200},
	} {
		if err := (Sender{Journal: socket}).journal(&c.m); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 64<<10)
		n, err := l.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Split(string(b[:n]), "\n")
		if !slices.Contains(fields, "MESSAGE="+c.message) || !slices.Contains(fields, "PRIORITY="+c.priority) ||
			!slices.Contains(fields, "MESSAGE_ID="+MessageID) || strings.Count(string(b[:n]), "FETTLE_TRAP=a\n") != c.traps {
			t.Errorf("%.300q, want %q, priority %s, %d traps", b[:n], c.message, c.priority, c.traps)
		}
	}
	if err := (Sender{Journal: socket + "x"}).journal(&Message{}); err == nil {
		t.Error("a journal that is not there takes an entry")
	}
}
