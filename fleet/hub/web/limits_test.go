package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/internal/exposition"
	"fettle/internal/means"
	"fettle/traps"
)

// pipes is a listener whose connections are given to it.
type pipes struct {
	conns chan net.Conn
	done  chan bool
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// TestSlowBrowsers: a browser has ten seconds for its headers, a minute for all, and two without a request; as the hub
// ends, whoever is in the midst of a page has five seconds more.
func TestSlowBrowsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{make(chan net.Conn), make(chan bool)}
		ctx, cancel := context.WithCancel(t.Context())
		hangs := make(chan bool)
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(ctx, p, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/hangs" {
					<-hangs
				}
				_, err := io.Copy(io.Discard, r.Body)
				fmt.Fprint(w, err)
			}))
		}()
		for _, c := range []struct {
			sends, answer string
			after         time.Duration
		}{
			{"GET / HTTP/1.1\r\nHost: x\r\n", "", 10 * time.Second},
			{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc", "timeout", time.Minute},
			{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "<nil>", 2 * time.Minute},
		} {
			conn, start := p.dial(), time.Now()
			go io.WriteString(conn, c.sends)
			b, _ := io.ReadAll(conn)
			if took := time.Since(start).Round(time.Second); took != c.after || !strings.Contains(string(b), c.answer) {
				t.Errorf("%q: ended after %s with %q, want %s", c.sends, took, b, c.after)
			}
		}
		conn := p.dial()
		go io.WriteString(conn, "GET /"+strings.Repeat("x", 80<<10)+" HTTP/1.1\r\n\r\n")
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "431") {
			t.Errorf("headers without end: %q, %v", line, err)
		}
		conn.Close()
		slow := p.dial()
		go io.WriteString(slow, "GET /hangs HTTP/1.1\r\nHost: x\r\n\r\n")
		synctest.Wait()
		start := time.Now()
		cancel()
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) || time.Since(start).Round(time.Second) != 5*time.Second {
			t.Errorf("it ended after %s: %v", time.Since(start), err)
		}
		close(hangs)
		slow.Close()
	})
	broken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken.Close()
	means.Ends(t)
	if err := Serve(t.Context(), broken, nil); err == nil {
		t.Error("it serves where nobody listens")
	}
}

// tab is a browser's page that listens: what it is sent, and until when that may take.
type tab struct {
	*httptest.ResponseRecorder
	mu       sync.Mutex
	deadline time.Time
	broken   string // what fails
}

func (b *tab) SetWriteDeadline(t time.Time) error {
	if b.deadline = t; b.broken == "deadline" {
		return errors.New("gone")
	}
	return nil
}

func (b *tab) Write(p []byte) (int, error) {
	if b.broken == "write" {
		return 0, errors.New("gone")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ResponseRecorder.Write(p)
}

// heard is what came since the last time.
func (b *tab) heard() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.Body.Reset()
	return b.Body.String()
}

func (b *tab) FlushError() error {
	if b.broken == "flush" {
		return errors.New("gone")
	}
	return nil
}

// TestLiveStream: a page that listens hears at once what was stored, within two seconds, and a sign of life each twenty;
// it ends after a quarter of an hour, or with the page, or with the hub. Where nobody listens, nothing is asked.
func TestLiveStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &beats{}
		ctx, end := context.WithCancel(t.Context())
		a := newAnnouncer(ctx, db)
		open := func(broken string) (b *tab, leave func(), closed chan bool) {
			b, closed = &tab{ResponseRecorder: httptest.NewRecorder(), broken: broken}, make(chan bool)
			ctx, leave := context.WithCancel(context.Background())
			go func() {
				a.serve(b, httptest.NewRequest(http.MethodGet, "/live", nil).WithContext(ctx))
				close(closed)
			}()
			return b, leave, closed
		}
		over := func(closed chan bool) bool {
			synctest.Wait()
			select {
			case <-closed:
				return true
			default:
				return false
			}
		}
		start := time.Now()
		b, leave, closed := open("")
		said := func(at time.Duration, want string) {
			t.Helper()
			time.Sleep(time.Until(start.Add(at)))
			synctest.Wait()
			if got := b.heard(); got != want {
				t.Errorf("after %s: %q, want %q", at, got, want)
			}
		}
		said(0, "retry: 5000\n\n")
		if h := b.Header(); h.Get("Content-Type") != "text/event-stream; charset=utf-8" || h.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%v", h)
		}
		if in := time.Until(b.deadline); in != 10*time.Second {
			t.Errorf("it may take %s to be sent", in)
		}
		said(3*time.Second, "")
		db.n.Store(7)
		said(4*time.Second-1, "")
		said(4*time.Second+1, "event: changed\ndata: 7\n\n")
		said(19*time.Second, "")
		said(21*time.Second, ": alive\n\n")
		said(41*time.Second, ": alive\n\n")
		other, leaveOther, otherClosed := open("")
		if over(otherClosed) || db.asked.Load() != 21 {
			t.Errorf("asked %d times in 41 seconds", db.asked.Load())
		}
		leaveOther()
		if !over(otherClosed) || !strings.HasPrefix(other.heard(), "retry") {
			t.Error("a page that left is sent more")
		}
		said(15*time.Minute-time.Second, strings.Repeat(": alive\n\n", 42))
		if over(closed) {
			t.Error("it ended too soon")
		}
		time.Sleep(2 * time.Second)
		if !over(closed) || strings.Count(b.heard(), "\n\n") > 1 { // both may be due at once
			t.Error("it goes on after a quarter of an hour")
		}
		time.Sleep(3 * time.Second)
		asked := db.asked.Load()
		if time.Sleep(time.Minute); db.asked.Load() != asked {
			t.Error("the database is asked for nobody")
		}
		leave()
		for _, broken := range []string{"deadline", "write", "flush"} {
			if _, leave, closed := open(broken); !over(closed) {
				t.Errorf("a page whose %s fails listens on", broken)
				leave()
			}
		}
		db.n.Store(8)
		b, leave, closed = open("")
		defer leave()
		if over(closed) {
			t.Error("a page that comes later is sent away")
		}
		time.Sleep(3 * time.Second)
		if got := b.heard(); got != "retry: 5000\n\n" {
			t.Errorf("what was stored before it listened is told: %q", got)
		}
		end()
		if !over(closed) {
			t.Error("it goes on while the hub ends")
		}
	})
}

// TestPulseFails: a page goes on listening while the database does not answer.
func TestPulseFails(t *testing.T) {
	out := listen(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		a := newAnnouncer(ctx, &beats{err: errors.New("disk on fire")})
		c := a.listen(store.AllGroups)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := strings.Count(out.String(), "disk on fire"); n != 2 || len(c) != 0 {
			t.Errorf("said %d times in 3 seconds: %s", n, out)
		}
		end()
		synctest.Wait()
		if n := strings.Count(out.String(), "disk on fire"); n != 2 || a.running {
			t.Errorf("it goes on while the hub ends: %s", out)
		}
	})
}

// TestEachPageRefuses: what a page does not know, or cannot take, is an error that says so, on each page.
func TestEachPageRefuses(t *testing.T) {
	h := ofHosts(t, 3)
	a, err := api.New(api.Config{DB: h.db, Traps: traps.All(), SilentAfter: time.Hour, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{cfg: Config{DB: h.db, Now: time.Now}, api: a}
	for _, c := range []struct {
		name  string
		page  func(*http.Request) (*page, error)
		query string // what it needs besides
		takes string // what is refused then
	}{
		{"fleet", s.fleet, "", "label offset limit"}, {"traps", s.traps, "", "label offset limit"}, {"changes", s.changes, "", "label limit"},
		{"restarts", s.restarts, "", "label"}, {"trap", s.trap, "", "label offset limit"}, {"hosts", s.hosts, "", "label offset limit"},
		{"host", s.host, "", "offset limit"}, {"coverage", s.coverage, "", "label offset limit"}, {"compare", s.compare, "a=x&b=y&", ""},
		{"search", s.search, "q=web&", ""}, {"accepted", s.accepted, "", "label offset limit"}, {"audit", s.audit, "", "offset limit"},
		{"foreign", s.foreign, "", "offset limit"}, {"attempts", s.attempts, "", "offset limit"}, {"packs", s.packs, "", ""},
		{"pack", s.pack, "", "offset limit"},
	} {
		for _, bad := range append([]string{"bogus"}, strings.Fields(c.takes)...) {
			r := httptest.NewRequest(http.MethodGet, "/x?"+c.query+bad+"=%3D", nil)
			if slices.Contains([]string{"trap", "host", "pack"}, c.name) {
				r.SetPathValue("id", "bridge-mtu")
			}
			r = r.WithContext(api.As(r.Context(), api.Who{Name: "ann", Sees: store.AllGroups}))
			p, err := c.page(r)
			if status, said := api.Problem(err); err == nil || status != http.StatusBadRequest || p != nil && c.takes == "" {
				t.Errorf("%s with %s: %+v, %v, %d %s", c.name, bad, p, err, status, said)
			}
		}
	}
}

// TestWhatMetricsSay: each number of the hub, as it is.
func TestWhatMetricsSay(t *testing.T) {
	_, alone := hubs(t)
	read := func() string {
		t.Helper()
		_, body, h := alone.get("/metrics")
		if got := h.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
			t.Error(got)
		}
		body = regexp.MustCompile(`(database_bytes) [1-9][0-9]+`).ReplaceAllString(body, "$1 some")
		return regexp.MustCompile(`(?m)^#.*\n|fettle_hub_`).ReplaceAllString(body, "")
	}
	alone.login("ann")
	want := `hosts{state="reporting"} 2
hosts{state="silent"} 0
hosts{state="cloned"} 0
hosts{state="failed"} 1
findings{severity="critical",old="false"} 0
findings{severity="warning",old="false"} 1
findings{severity="notice",old="false"} 0
findings{severity="critical",old="true"} 0
findings{severity="warning",old="true"} 0
findings{severity="notice",old="true"} 0
outcomes_unknown 2
findings_accepted 3
newest_message_timestamp_seconds ` + itoa(alone.now.Add(-100*time.Minute).Unix()) + `
storing 1
database_bytes some
channels_failing 0
`
	if got := read(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	alone.now = alone.now.Add(2 * time.Hour) // since then, both are silent
	want = strings.NewReplacer(`"reporting"} 2`, `"reporting"} 0`, `"silent"} 0`, `"silent"} 2`, `"warning",old="false"} 1`,
		`"warning",old="false"} 0`, `"warning",old="true"} 0`, `"warning",old="true"} 1`).Replace(want)
	if got := read(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestExports: what a page offers to download is there, each link of it.
func TestExports(t *testing.T) {
	w := ofHosts(t, 3)
	w.login("ann")
	found := 0
	for _, page := range []string{"/", "/changes", "/hosts", "/coverage", "/accepted", "/restarts", "/audit", "/foreign", "/traps",
		"/trap/" + w.aFinding(w.aHost()).Trap} {
		_, body, _ := w.get(page)
		for _, m := range regexp.MustCompile(`href="(/api/v1/[^"]+)"`).FindAllStringSubmatch(body, -1) {
			found++
			if code, said, _ := w.get(html.UnescapeString(m[1])); code != http.StatusOK {
				t.Errorf("%s leads to %s: %d %.200s", page, m[1], code, said)
			}
		}
	}
	if found < 5 {
		t.Errorf("%d links are offered", found)
	}
}

// TestQueueInMetrics: how many messages wait is told where that is known.
func TestQueueInMetrics(t *testing.T) {
	for _, c := range []struct {
		queue func(context.Context) (int64, error)
		want  string
	}{
		{func(context.Context) (int64, error) { return 7, nil }, "fettle_hub_queue_messages 7\n"},
		{func(context.Context) (int64, error) { return 7, errors.New("not open") }, ""}, {nil, ""},
	} {
		s := &site{cfg: Config{DB: storetest.SQLite(t), Queue: c.queue}}
		var x exposition.Text
		s.ownMetrics(t.Context(), &x, store.Measured{})
		if got := regexp.MustCompile(`(?m)^fettle_hub_queue.*\n`).FindString(x.String()); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestWordsOfTemplates: a time ahead is told in whole minutes, and a query is joined to one that is there.
func TestWordsOfTemplates(t *testing.T) {
	now := time.Now()
	for d, want := range map[time.Duration]string{90*time.Minute + 59*time.Second: "in 1 h 30 min", 61 * time.Second: "in 1 min",
		time.Minute: "just now"} {
		if got := ago(now, now.Add(d)); got != want {
			t.Errorf("%s ahead: %q, want %q", d, got, want)
		}
	}
	join := (&site{}).words()["and_"].(func(template.URL) template.URL)
	if got := join("") + " " + join("a=1"); got != " &a=1" {
		t.Errorf("%q", got)
	}
}

// TestWhatTheFeedSays: an entry for each change, with its time, its host's page and what it is.
func TestWhatTheFeedSays(t *testing.T) {
	_, alone := hubs(t)
	alone.login("ann")
	_, body, _ := alone.get("/feed/changes.atom?trap=tmp-sticky&kind=all&group=web")
	var f atom
	if err := xml.Unmarshal([]byte(body), &f); err != nil {
		t.Fatal(err, body)
	}
	at := func(ago int) string { return alone.now.Add(time.Duration(-ago) * time.Hour).Format(time.RFC3339) }
	const query = "?trap=tmp-sticky&kind=all&group=web"
	var got []string
	for _, e := range f.Entries {
		id := regexp.MustCompile(`\d+$`).ReplaceAllString(e.ID, "N")
		got = append(got, strings.Join([]string{id, e.Title, e.Updated, e.Link.Rel, e.Link.Href, e.Summary}, " "))
	}
	var want []string
	for _, h := range [][2]string{{"2", "seen"}, {"1", "visible"}} {
		for i, kind := range []string{"resolved", "new"} {
			want = append(want, fmt.Sprintf("urn:fettle:change:h%[1]s:N %[2]s: tmp-sticky (of-%[3]s) on web%[1]s %[4]s alternate "+
				"https://hub.example/host/h%[1]s critical: s", h[0], kind, h[1], at(2+i)))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if f.ID != "https://hub.example/feed/changes.atom"+query || f.Title != "fettle: changes of tmp-sticky" || f.Updated != at(2) ||
		!slices.Equal(f.Links, []atomLink{{"self", f.ID}, {"alternate", "https://hub.example/changes" + query}}) {
		t.Errorf("%+v", f)
	}
	_, body, _ = alone.get("/changes?kind=all&trap=tmp-sticky&limit=1&after=1.1&since=7d&severity=")
	if !strings.Contains(body, `href="/feed/changes.atom?kind=all&amp;trap=tmp-sticky"`) {
		t.Errorf("of a page of changes, the feed is not that of its filters alone:\n%s", body)
	}
	if code, body, _ := alone.get("/feed/changes.atom?bogus=1"); code != http.StatusBadRequest || !strings.Contains(body, "unknown param") {
		t.Errorf("%d %s", code, body)
	}
	if _, body, _ := alone.get("/feed/changes.atom?trap=nothing"); !strings.Contains(body, "<updated>"+alone.now.Format(time.RFC3339)) {
		t.Errorf("without a change: %s", body)
	}
}

// listen is what is logged until the test ends.
func listen(t *testing.T) *bytes.Buffer {
	out, was := &bytes.Buffer{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(out, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	return out
}
