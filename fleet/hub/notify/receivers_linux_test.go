package notify_test

import (
	"bufio"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/means"
	deliver "fettle/report/notify"
)

// mailServer takes mail by SMTP (RFC 5321) on the loopback, and says what came.
func mailServer(t *testing.T) (addr string, mails func() []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex
	var got []string
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s := speak(c)
			mu.Lock()
			got = append(got, s)
			mu.Unlock()
		}
	}()
	return l.Addr().String(), func() []string { mu.Lock(); defer mu.Unlock(); return got }
}

func speak(c net.Conn) string {
	defer c.Close()
	r := bufio.NewReader(c)
	fmt.Fprint(c, "220 here\r\n")
	var data strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return data.String()
		}
		switch verb := strings.ToUpper(strings.Fields(line + " x")[0]); verb {
		case "DATA":
			fmt.Fprint(c, "354 go on\r\n")
			for {
				l, err := r.ReadString('\n')
				if err != nil || l == ".\r\n" {
					break
				}
				data.WriteString(l)
			}
		case "QUIT":
			fmt.Fprint(c, "221 bye\r\n")
			return data.String()
		}
		fmt.Fprint(c, "250 ok\r\n")
	}
}

// TestReceivers sends a change and a digest to receivers on the loopback: by SMTP,
// as JSON, to Slack's, Matrix' and ntfy's forms.
func TestReceivers(t *testing.T) {
	means.Tool(t, "curl")
	addr, mails := mailServer(t)
	var mu sync.Mutex
	posts := map[string]string{}
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		path := r.URL.Path
		if r.Method == "PUT" { // a transaction's name, which repeats with the message
			path = filepath.Dir(path)
		}
		posts[path] += r.Method + " " + r.Header.Get("Title") + "\n" + string(b)
	}))
	defer web.Close()
	f := newFleet(t, storetest.SQLite(t), strings.NewReplacer("MAIL", addr, "WEB", web.URL).Replace(`channels:
- {mail: ops@example.org, from: hub@example.org, smtp: "smtp://MAIL"}
- {mail: boss@example.org, from: hub@example.org, smtp: "smtp://MAIL", digest: weekly, at: tue 13:00}
- {webhook: WEB/json}
- {webhook: WEB/slack, template: slack}
- {webhook: WEB/matrix, template: matrix}
- {webhook: WEB/ntfy, template: ntfy}
`))
	f.n.Sender = deliver.System()
	for i := range 8 {
		f.reports(fmt.Sprintf("web%d", i), "web", "", found("a", trap.Critical))
	}
	f.after(0)
	f.now = noon.Add(time.Hour)
	f.round()
	const text = "CRITICAL a on x on web0, web1, web2, web3, web4 and 3 more hosts: a is met"
	for path, contains := range map[string][]string{
		"/json":   {`"on_hosts":8`, `"text":"hub: 8 new (8 critical) on 8 hosts"`, `"web7"`},
		"/slack":  {`{"text":"hub: 8 new`, text},
		"/matrix": {"PUT", `"msgtype":"m.text"`, text},
		"/ntfy":   {"POST hub: 8 new (8 critical) on 8 hosts\n", text},
	} {
		mu.Lock()
		got := posts[path]
		mu.Unlock()
		for _, s := range contains {
			if !strings.Contains(strings.ReplaceAll(got, `": "`, `":"`), s) && !strings.Contains(strings.ReplaceAll(got, `": `, `":`), s) {
				t.Errorf("%s: no %q in %s", path, s, got)
			}
		}
	}
	got := mails()
	if len(got) != 2 {
		t.Fatalf("%d mails: %q", len(got), got)
	}
	m, err := netmail.ReadMessage(strings.NewReader(got[0]))
	if err != nil || m.Header.Get("Subject") != "fettle: hub: 8 new (8 critical) on 8 hosts" || m.Header.Get("Message-ID") == "" {
		t.Errorf("%v: %s", err, got[0])
	}
	if m, err = netmail.ReadMessage(strings.NewReader(got[1])); err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for _, want := range []string{"Groups\n  web: 8 critical", "<h2"} {
		p, err := parts.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(p)
		if !strings.Contains(strings.ReplaceAll(string(b), "\r", ""), want) {
			t.Errorf("no %q in %s", want, b)
		}
	}
}

// TestAlertmanager asks amtool what a real one has of a hub's hosts.
func TestAlertmanager(t *testing.T) {
	amtool := means.Tool(t, "amtool")
	means.Tool(t, "curl")
	addr, log := means.Alertmanager(t)
	f := newFleet(t, storetest.SQLite(t), "channels:\n- alertmanager: http://"+addr+"\n")
	f.now = time.Now()
	f.n.Sender = deliver.System()
	f.n.Now = time.Now
	f.reports("web1", "web", "", found("a", trap.Warning))
	trial, to := []deliver.Alert{{Name: "Trial", Host: "x"}}, &f.n.Settings.Channels[0].Channel
	for i := 0; f.n.Sender.Alerts(t.Context(), to, trial, time.Now()) != nil; i++ {
		if i > 100 {
			t.Fatalf("alertmanager does not answer:\n%s", log.Bytes())
		}
		time.Sleep(100 * time.Millisecond)
	}
	alerts := func() string {
		f.round()
		out, err := exec.Command(amtool, "--alertmanager.url=http://"+addr, "alert", "query", "-o", "json", "alertname=FettleFinding").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(out), `": "`, `":"`)
	}
	if got := alerts(); strings.Count(got, `"fingerprint"`) != 1 || !strings.Contains(got, `"group":"web"`) ||
		!strings.Contains(got, `"severity":"warning"`) {
		t.Error("new:", got)
	}
	f.reports("web1", "web", "", found("a", trap.Critical))
	if got := alerts(); strings.Count(got, `"fingerprint"`) != 1 || !strings.Contains(got, `"severity":"critical"`) {
		t.Error("regraded:", got)
	}
	f.reports("web1", "web", "")
	if got := alerts(); strings.Contains(got, `"fingerprint"`) {
		t.Error("resolved:", got)
	}
}
