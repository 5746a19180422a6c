package web

import (
	"encoding/xml"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/host"
	"fettle/report"
)

// evil are texts that a hostile host reports wherever a report takes text.
var evil = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`,
	`</title></textarea></pre><svg/onload=alert(1)>`, `{{.Visitor.Form}}`,
	"\u202egnp.exe\u2066 turned", "\x1b[31mred\x1b[0m\x07", "a\u0000b", "line\nbreak\r\n\ttab", "=cmd|' /C calc'!A0",
	"\ufeff\u200bhidden\u00ad", "\U000e0041tags", strings.Repeat("W", 3000), strings.Repeat("\u0301", 500), "&lt;b&gt;&#60;",
}

// hostile is a world of hosts that report such things, one after the other.
func hostile(t *testing.T, db *store.DB) *world {
	t.Helper()
	now := time.Now()
	for i, s := range evil {
		agent := "h" + strings.Repeat("0", 6) + string(rune('a'+i))
		hash := "token" + agent
		named := strings.ReplaceAll(s, "\x00", "") // neither an argument nor a message has one
		if err := db.AddToken(t.Context(), store.Token{Hash: hash, Created: now, Expires: now.Add(time.Hour), Uses: 1, Group: named,
			Labels: map[string]string{"label": s, s: "x"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.JoinByToken(t.Context(), hash, store.Joining{Agent: agent, Host: named, Key: "U" + agent, How: "token"}); err != nil {
			t.Fatal(err)
		}
		ev := []trap.Evidence{{Source: s, Value: s}, {Source: s, Value: s}}
		outcome := trap.Outcome{
			Trap:     "bridge-mtu",
			Subject:  s,
			Status:   trap.Found,
			Severity: trap.Critical,
			Summary:  s,
			Detail:   trap.Prose(s),
			Evidence: ev,
			ByHand:   s,
			Accepted: &trap.Acceptance{Reason: s, By: s, Until: "2030-01-01"},
		}
		fixable := trap.Outcome{
			Trap:     "bridge-mtu",
			Subject:  "-" + s,
			Status:   trap.Found,
			Severity: trap.Warning,
			Summary:  s,
			Evidence: ev,
			Fixable:  true,
		}
		unknown := trap.Outcome{Trap: "not-" + string(rune('a'+i)), Status: trap.Unknown, Reason: s}
		meta := report.Meta{
			Host:     s,
			Kind:     host.KindLive,
			Version:  s,
			Started:  now,
			Warning:  s,
			Identity: host.Identity{Hostname: s, Release: s, Machine: s, BootID: s},
		}
		meta.Machine.Distribution, meta.Machine.Kind = s, s
		state := message.StateOf(
			report.NewDocument(
				meta,
				nil,
				[]trap.Result{
					{Trap: "bridge-mtu", Outcomes: []trap.Outcome{outcome, fixable}},
					{Trap: unknown.Trap, Outcomes: []trap.Outcome{unknown}},
				},
				time.Second,
			),
		)
		state.Traps = append(state.Traps, report.TrapInfo{ID: unknown.Trap, Title: named})
		for seq := range int64(2) {
			m := message.New(message.Whole)
			m.Agent, m.Instance, m.Seq, m.Sent = agent, "i", seq+1, now
			if seq == 1 { // the second report resolves one, so that there are changes of all kinds
				state.Results[0].Outcomes = state.Results[0].Outcomes[:1]
			}
			m.Digest, m.Run = state.Digest(), &message.Run{Meta: &state.Meta, Traps: state.Traps, Results: state.Results}
			if v, err := db.Ingest(t.Context(), []store.Item{{Message: m, Key: "U" + agent, At: now}}); err != nil || v[0].Verdict != store.Taken {
				t.Fatalf("%q: %v %v", s, v, err)
			}
		}
		if err := db.Bad(t.Context(), agent, 1, named); err != nil {
			t.Fatal(err)
		}
	}
	return over(t, db, now)
}

// brought names the markup in a page that a text brought along: elements and
// attributes that no template has.
func brought(t *testing.T, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if slices.Contains([]string{"img", "svg", "iframe", "object", "embed", "style", "base", "meta", "script"}, n.Data) {
			own := n.Data == "script" && strings.HasPrefix(attribute(n, "src"), "/assets/") && n.FirstChild == nil ||
				n.Data == "meta" && n.Parent.Data == "head" && attribute(n, "http-equiv") == ""
			if !own {
				return "<" + n.Data + ">"
			}
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
				return n.Data + " " + a.Key
			}
			if slices.Contains([]string{"href", "src", "action", "formaction"}, a.Key) && !strings.HasPrefix(a.Val, "/") &&
				!strings.HasPrefix(a.Val, "#") ||
				strings.HasPrefix(a.Val, "//") {
				return n.Data + " " + a.Key + "=" + a.Val
			}
		}
	}
	return ""
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func TestHostileFindings(t *testing.T) { storetest.Each(t, hostileFindings) }

func hostileFindings(t *testing.T, db *store.DB) {
	w := hostile(t, db)
	w.login("ann")
	hosts, err := w.db.Hosts(t.Context(), store.HostQuery{Scope: store.Everything, Limit: 100})
	if err != nil || len(hosts) != len(evil) {
		t.Fatal(len(hosts), err)
	}
	paths := append(
		w.pages(),
		"/changes?kind=all",
		"/trap/bridge-mtu",
		"/trap/not-a",
		"/search?q="+url.QueryEscape(evil[0]),
		"/hosts?q="+url.QueryEscape(evil[1]),
		"/compare?a="+url.QueryEscape(evil[2])+"&b=x",
		"/changes?trap="+url.QueryEscape(evil[4]),
	)
	accepted := 0
	for i, h := range hosts {
		paths = append(paths, "/host/"+h.Agent, "/compare?a="+h.Agent+"&b="+hosts[0].Agent)
		f := w.aFinding(h)
		if f.Severity == "unknown" {
			continue
		}
		accepted++
		if code, _, _ := w.send("/", "/accept",
			url.Values{"host": {h.Agent}, "trap": {f.Trap}, "subject": {url.QueryEscape(f.Subject)},
				"reason": {evil[i%4]}}); code != http.StatusSeeOther {
			t.Errorf("accepting %.40q on %s: %d", f.Subject, h.Agent, code)
		}
	}
	if accepted < 5 {
		t.Errorf("%d findings could be accepted", accepted)
	}
	for _, p := range append(paths, "/accepted", "/audit") {
		code, body, _ := w.get(p)
		if code != http.StatusOK && code != http.StatusBadRequest && code != http.StatusSeeOther {
			t.Errorf("%s: %d", p, code)
		}
		if m := brought(t, body); m != "" {
			t.Errorf("%.80s has %q", p, m)
		}
		if i := strings.IndexFunc(body, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%.80s hides %q", p, body[max(0, i-20):min(len(body), i+20)])
		}
		if strings.Contains(body, "ZgotmplZ") {
			t.Errorf("%.80s: a template puts text where it may not be", p)
		}
	}
	_, body, _ := w.get("/api/v1/hosts?format=csv&limit=100")
	if m := brought(t, "<title>x</title><a href='javascript:x'>"); m == "" {
		t.Error("the test sees no markup")
	}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "=") || strings.Contains(line, ",=") {
			t.Errorf("a formula in a sheet: %s", line)
		}
	}
	_, feed, _ := w.get("/feed/changes.atom?kind=all&limit=1000")
	var f atom
	if err := xml.Unmarshal([]byte(feed), &f); err != nil || len(f.Entries) < len(evil) {
		t.Errorf("the feed: %d entries, %v", len(f.Entries), err)
	}
	for _, name := range evil {
		if code, _, _ := stranger(w).send("/login", "/login", url.Values{"name": {name}, "password": {name}}); code != http.StatusUnauthorized &&
			code != http.StatusTooManyRequests {
			t.Errorf("logging in as %.40q: %d", name, code)
		}
	}
	code, body, _ := w.send("/paste", "/paste", url.Values{"text": {strings.Join(evil[:8], "\n")}})
	if m := brought(t, body); code != http.StatusOK || m != "" {
		t.Errorf("paste: %d %q", code, m)
	}
}

// stranger is the same world with a browser that is not logged in.
func stranger(w *world) *world {
	other := *w
	client := *w.client
	client.Jar, _ = cookiejar.New(nil)
	other.client = &client
	return &other
}

// TestPlain: what hides or turns text around is written out, and nothing else.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"<p>plain\n\tüñ — 日本</p>": "<p>plain\n\tüñ — 日本</p>", "a\u202eb": `a\u202eb`, "\x1b[31m": `\x1b[31m`,
		"a\xffb": `a\xffb`, "\u200b": `\u200b`, "a\r\n": "a\\r\n", "\ufffd": "\ufffd",
	} {
		if got := string(plain([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFeed(t *testing.T) {
	w := ofHosts(t, 20)
	w.login("bob")
	code, body, h := w.get("/feed/changes.atom?since=60d&limit=7&kind=new")
	var f atom
	if err := xml.Unmarshal([]byte(body), &f); err != nil || code != http.StatusOK ||
		!strings.HasPrefix(h.Get("Content-Type"), "application/atom+xml") {
		t.Fatal(code, err, body)
	}
	if len(f.Entries) != 7 || f.Updated != f.Entries[0].Updated || !strings.HasPrefix(f.ID, "https://hub.example/feed/changes.atom?") ||
		!strings.HasPrefix(f.Entries[0].Title, "new: ") {
		t.Errorf("%+v", f)
	}
	ids := map[string]bool{}
	for _, e := range f.Entries {
		ids[e.ID] = true
		path := strings.TrimPrefix(e.Link.Href, "https://hub.example")
		if code, _, _ := w.get(path); code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
	}
	if len(ids) != 7 {
		t.Error("two entries have one id")
	}
	if code, _, _ := w.get("/feed/changes.atom?since=never"); code != http.StatusBadRequest {
		t.Error(code)
	}
}
