package web

import (
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/host"
	"fettle/internal/means"
	"fettle/report"
)

// axe judges whether pages are accessible: see testdata/README.md.
//
//go:embed testdata/axe.min.js.zst
var axe []byte

// TestPictures writes pictures of every page, with fleets of several sizes, to the folder FETTLE_PICTURES, for people to
// look at. FETTLE_HOSTS, FETTLE_WIDTHS, FETTLE_THEMES and FETTLE_PAGE choose, by lists with blanks between.
func TestPictures(t *testing.T) {
	dir := os.Getenv("FETTLE_PICTURES")
	if dir == "" {
		means.Left(t, "FETTLE_PICTURES=FOLDER makes it write pictures of the pages")
	}
	chosen := func(name, usual string) []string { return strings.Fields(cmp.Or(os.Getenv(name), usual)) }
	c := newChromium(t)
	for _, size := range chosen("FETTLE_HOSTS", "0 3 60 20000") {
		n, err := strconv.Atoi(size)
		if err != nil {
			t.Fatal(err)
		}
		w, pages := ofHosts(t, n), []string{"/", "/changes", "/traps", "/hosts", "/restarts", "/coverage", "/search?q=web", "/accepted", "/audit"}
		if n > 1 {
			w.withCaptures(w.aHost().Agent)
			pages = w.pages()
		}
		c.look(1280, "light")
		c.open(w.server.URL + "/login")
		c.picture(filepath.Join(dir, "login.png"))
		c.login(w.server.URL, "ann")
		for _, width := range chosen("FETTLE_WIDTHS", "400 800 1280 1920") {
			wide, err := strconv.Atoi(width)
			if err != nil {
				t.Fatal(err)
			}
			for _, theme := range chosen("FETTLE_THEMES", "light dark") {
				c.look(wide, theme)
				for _, p := range chosen("FETTLE_PAGE", strings.Join(pages, " ")) {
					c.open(w.server.URL + p)
					c.js("new Promise(ok => setTimeout(ok, 300))")
					c.picture(filepath.Join(dir, fmt.Sprintf("%05d%s-%s-%s.png", n, slug(p), width, theme)))
				}
			}
		}
	}
	c.clean("pictures")
}

// judge runs axe over the page that is open.
func (c *chromium) judge(where, script string) {
	c.t.Helper()
	c.js(script + ";0")
	out := c.js(
		`axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify({passes: r.passes.length, bad: r.violations.map(v => v.id ` +
			`+ ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary).join(" | "))}))`,
	)
	var text string
	var said struct {
		Passes int
		Bad    []string
	}
	if err := json.Unmarshal([]byte(out), &text); err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		c.t.Fatal(err)
	}
	if said.Passes < 10 {
		c.t.Errorf("%s: axe passed %d rules: did it look?", where, said.Passes)
	}
	for _, b := range said.Bad {
		c.t.Errorf("%s: %s", where, b)
	}
}

// fits complains of a page that is wider than the window.
func (c *chromium) fits(where string) {
	c.t.Helper()
	if got := c.js("document.documentElement.scrollWidth - innerWidth"); got != "0" && !strings.HasPrefix(got, "-") {
		c.t.Errorf("%s is %s pixels wider than the window", where, got)
	}
}

// TestInChromium opens every page in a real browser: log-in, both themes, two
// widths, no complaint on the console, accessible by axe's rules.
func TestInChromium(t *testing.T) {
	means.Long(t, "opens every page in Chromium, four times")
	reader, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	script, err := reader.DecodeAll(axe, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := ofHosts(t, 120)
	h := w.aHost()
	w.withCaptures(h.Agent)
	f := w.aFinding(h)
	if err := w.db.Accept(t.Context(), store.Accepted{Host: store.HostRef{Agent: h.Agent}, Trap: f.Trap, Subject: f.Subject,
		Reason: "known", Who: "ann", At: w.now}, store.Audit{At: w.now, Who: "ann", What: "accept"}); err != nil {
		t.Fatal(err)
	}
	c := newChromium(t)
	c.look(1280, "light")
	c.open(w.server.URL + "/hosts?q=web")
	c.judge("the log-in page", string(script))
	c.login(w.server.URL, "ann")
	for _, width := range []int{1280, 390} {
		for _, theme := range []string{"light", "dark"} {
			c.look(width, theme)
			for _, p := range append(w.pages(), "/nothing") {
				where := fmt.Sprintf("%s at %d, %s", p, width, theme)
				c.open(w.server.URL + p)
				if c.js("document.querySelectorAll('main h1').length") != "1" {
					t.Errorf("%s: no heading", where)
				}
				c.js("document.querySelectorAll('#attach').forEach(d => d.open = true)")
				c.fits(where)
				if p != "/nothing" {
					c.clean(where)
				}
				if theme == "dark" || width == 1280 {
					c.judge(where, string(script))
				}
				c.complaints() // of the missing page's own status
			}
		}
	}
}

// broken lists words that are broken within, and cut the parts of tables that cannot be seen without scrolling sideways.
const (
	broken = `(() => {
		const out = [], walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), range = document.createRange();
		for (let n; (n = walk.nextNode());) {
			if (n.parentElement.closest("pre, textarea, select, .hide") || !n.parentElement.checkVisibility()) continue;
			for (const m of n.data.matchAll(/[^\s\/?-]+/g)) {
				range.setStart(n, m.index); range.setEnd(n, m.index + m[0].length);
				if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) out.push(m[0]);
			}
		}
		return out.slice(0, 5).join(", ");
	})()`
	cut = `[...document.querySelectorAll("main .scroll, main section, main .side > *")].filter((e) => e.scrollWidth > e.clientWidth + 1)
		.map((e) => e.innerText.slice(0, 60)).slice(0, 3).join(" | ")`
	blank = `[...document.querySelectorAll("main tbody tr")].filter((r) => r.checkVisibility() && r.offsetHeight >
			20 + 24 * r.innerText.split("\n").reduce((n, line) => n + Math.ceil(line.length / 34), 0))
		.map((r) => r.offsetHeight + " pixels: " + r.innerText.replace(/\s+/g, " ").slice(0, 80)).slice(0, 3).join(" | ")`
	first = `Math.min(...[...document.querySelectorAll("main tbody tr, main article.finding, main .empty")].filter((e) => e.checkVisibility())
		.map((e) => e.getBoundingClientRect().top + scrollY))`
)

// TestOnATelephone: at 400 pixels lists are there without scrolling, neither wide nor blank, and no word is broken.
func TestOnATelephone(t *testing.T) {
	means.Long(t, "opens pages in Chromium")
	w := ofHosts(t, 60)
	c := newChromium(t)
	c.look(400, "light")
	c.login(w.server.URL, "ann")
	const fold = 640 // of a telephone, below its browser's own bars
	for _, width := range []int{400, 800, 1280} {
		c.look(width, "light")
		for _, p := range w.pages() {
			where := fmt.Sprintf("%s at %d", p, width)
			c.open(w.server.URL + p)
			if s := c.js(broken); s != `""` {
				t.Errorf("%s: broken within: %s", where, s)
			}
			if c.js("document.querySelector('.bar').offsetHeight < 100") != "true" {
				t.Errorf("%s: the bar on top is %s pixels high", where, c.js("document.querySelector('.bar').offsetHeight"))
			}
			if s := c.js(cut); s != `""` {
				t.Errorf("%s: cut: %s", where, s)
			}
			if width > 400 {
				continue
			}
			if s := c.js(blank); s != `""` {
				t.Errorf("%s: rows are mostly blank: %s", where, s)
			}
			if s := c.js("const y = " + first + "; !isFinite(y) || y < " + fmt.Sprint(fold)); s != "true" {
				t.Errorf("%s: the first thing in it is %s pixels down", where, c.js(first))
			}
		}
	}
	c.look(400, "light")
	c.open(w.server.URL + "/")
	if c.js("const y = (e) => document.querySelector(e).getBoundingClientRect().top; y('form[action=\"/ask\"]') < y('main table')") != "true" {
		t.Error("hosts are asked below the list of traps")
	}
	if c.js("[...document.querySelectorAll('[data-curve]')].every((e) => e.dataset.unit)") != "true" {
		t.Error("a chart does not say what it counts")
	}
}

// TestHostileInChromium: texts of hostile hosts run nothing, and push no page
// out of the window.
func TestHostileInChromium(t *testing.T) {
	means.Long(t, "opens pages in Chromium")
	w := hostile(t, storetest.SQLite(t))
	c := newChromium(t)
	c.look(390, "light")
	c.login(w.server.URL, "ann")
	for _, p := range append(w.pages(), "/trap/bridge-mtu", "/changes?kind=all", "/host/h000000a", "/host/h000000b", "/host/h000000n",
		"/coverage") {
		c.open(w.server.URL + p)
		c.fits(p)
		c.clean(p)
		if c.js("document.querySelectorAll('img, main svg, main script, main style').length") != "0" {
			t.Errorf("%s has markup that a host sent", p)
		}
	}
}

// TestScripts: what the pages gain where scripts run.
func TestScripts(t *testing.T) {
	means.Long(t, "works with pages in Chromium")
	w := ofHosts(t, 120)
	c := newChromium(t)
	c.look(1280, "light")
	c.login(w.server.URL, "ann")
	base := w.server.URL

	t.Run("curves", func(t *testing.T) {
		c.until("a curve is drawn", "!!document.querySelector('.curve canvas')")
		c.until("with its legend", "document.querySelector('.u-legend').innerText.includes('critical')")
	})
	t.Run("keys", func(t *testing.T) {
		c.key("j")
		c.key("j")
		c.until("the second row is marked", "[...document.querySelectorAll('main tbody tr')].findIndex(r => r.classList.contains('here')) == 1")
		want := c.js("document.querySelectorAll('main tbody tr')[1].querySelector('a').href")
		c.drain()
		c.key("Enter")
		c.wait()
		if got := c.js("location.href"); got != want {
			t.Errorf("Enter leads to %s, want %s", got, want)
		}
		c.drain()
		c.key("g")
		c.key("h")
		c.wait()
		if got := c.js("location.pathname"); got != `"/hosts"` {
			t.Errorf("g h leads to %s", got)
		}
		c.key("?")
		c.until("? opens the list of keys", "document.getElementById('keys').open")
		c.key("Escape")
		c.until("Escape closes it", "!document.getElementById('keys').open")
		c.key("/")
		c.until("/ is for searching", "document.activeElement.id == 'q'")
		c.write("jjj")
		if c.js("document.querySelectorAll('tr.here').length") != "0" {
			t.Error("what is typed into a field moves rows")
		}
	})
	t.Run("filters", func(t *testing.T) {
		c.open(base + "/hosts")
		if c.js("getComputedStyle(document.querySelector('form.filters button')).display") != `"none"` {
			t.Error("the button is there although it is not needed")
		}
		all := c.js("document.querySelectorAll('#list tbody tr').length")
		c.js("document.querySelector('form.filters [name=q]').focus()")
		c.write("web")
		c.until(
			"the list is filtered",
			"[...document.querySelectorAll('#list tbody tr')].every(r => r.innerText.includes('web')) && location.search == '?q=web'",
		)
		if got := c.js("document.querySelectorAll('#list tbody tr').length"); got == all || got == "0" {
			t.Errorf("%s rows of %s", got, all)
		}
		c.until("it is told to those who do not see it", "document.getElementById('status').innerText == '20 hosts'")
		c.js("const s = document.querySelector('[name=severity]'); s.value = 'critical'; s.dispatchEvent(new Event('input', {bubbles: true}))")
		c.until("both filters are in the address", "location.search == '?q=web&severity=critical'")
		c.open(base + "/hosts?q=web&severity=critical")
		if c.js("document.querySelector('[name=severity]').value") != `"critical"` {
			t.Error("the address does not bring the filters back")
		}
	})
	t.Run("live", func(t *testing.T) { liveTest(t, w, c) })
	t.Run("acts", func(t *testing.T) {
		h := w.aHost()
		c.open(base + "/host/" + h.Agent)
		c.js("document.getElementById('accept-0').open = true; document.querySelector('#accept-0 [name=reason]').value = 'known since spring'")
		c.drain()
		c.js("document.querySelector('#accept-0 button').click()")
		c.wait()
		c.until("it says so", "document.querySelector('.done').innerText.startsWith('Accepted')")
		c.until("and shows why", "document.body.innerText.includes('accepted here by ann: known since spring')")
		c.js(
			`document.getElementById('attach').open = true; const file = new ` +
				`DataTransfer(); file.items.add(new File([Uint8Array.from(atob("` + base64.StdEncoding.EncodeToString(
				packed(t, [2]string{"manifest.json", manifest}),
			) + `"), x => x.charCodeAt(0))], 'web1.tar.zst')); document.querySelector('#attach [name=capture]').files = file.files`,
		)
		c.drain()
		c.js("document.querySelector('#attach button').click()")
		c.wait()
		c.until(
			"the capture is attached",
			"document.querySelector('.done').innerText == 'The capture is attached.' && document.querySelectorAll('#captures li').length == 1",
		)
		c.drain()
		c.js("document.querySelector('form[action=\"/theme\"] button').click()")
		c.wait()
		c.until(
			"the theme is dark",
			"document.documentElement.dataset.theme == 'dark' && getComputedStyle(document.body).backgroundColor == 'rgb(20, 23, 27)'",
		)
		c.drain()
		c.js("document.querySelector('form[action=\"/logout\"] button').click()")
		c.wait()
		c.until("logged out", "location.pathname == '/login'")
	})
	c.clean("scripts")
}

// liveTest: what a host reports appears on a page that is open, without loading it.
func liveTest(t *testing.T, w *world, c *chromium) {
	h := w.aHost()
	c.open(w.server.URL + "/host/" + h.Agent)
	c.js("window.same = true; document.querySelector('#findings details').open = true")
	time.Sleep(2 * pollEvery) // the page listens by then
	d, err := w.db.Document(t.Context(), h.ID)
	if err != nil {
		t.Fatal(err)
	}
	d.Results = append(
		d.Results,
		trap.Result{
			Trap: "made-up",
			Outcomes: []trap.Outcome{
				{Trap: "made-up", Subject: "thing", Status: trap.Found, Severity: trap.Critical, Summary: "this appeared meanwhile"},
			},
		},
	)
	d.Meta = report.Meta{Host: h.Name, Kind: host.KindLive, Version: "1"}
	s := message.StateOf(d)
	m := message.New(message.Whole)
	m.Agent, m.Instance, m.Seq, m.Sent, m.Digest, m.Run = h.Agent, "live", 1, w.now, s.Digest(), &message.Run{
		Meta:    &s.Meta,
		Traps:   s.Traps,
		Results: s.Results,
	}
	if v, err := w.db.Ingest(t.Context(), []store.Item{{Message: m, At: w.now}}); err != nil || v[0].Verdict != store.Taken {
		t.Fatal(v, err)
	}
	c.until("the new finding appears", "document.getElementById('findings').innerText.includes('this appeared meanwhile')")
	if c.js("window.same") != "true" {
		t.Error("the page was loaded anew")
	}
	c.until("it is told", "document.getElementById('status').innerText.startsWith('Updated')")
}

// TestLive is the stream without a browser.
func TestLive(t *testing.T) {
	w := ofHosts(t, 5)
	w.login("bob")
	res, err := w.client.Get(w.server.URL + "/live")
	if err != nil || res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	buf := make([]byte, 200)
	n, err := res.Body.Read(buf)
	if err != nil || !strings.HasPrefix(string(buf[:n]), "retry:") {
		t.Fatal(string(buf[:n]), err)
	}
	time.Sleep(pollEvery / 2) // its first look at the database
	h := w.aHost()
	f := w.aFinding(h)
	if err := w.db.Accept(t.Context(), store.Accepted{Host: store.HostRef{Agent: h.Agent}, Trap: f.Trap, Subject: f.Subject,
		Reason: "x", Who: "ann", At: w.now}, store.Audit{At: w.now}); err != nil {
		t.Fatal(err)
	}
	if n, err = res.Body.Read(buf); err != nil || !strings.HasPrefix(string(buf[:n]), "event: changed\ndata: ") {
		t.Error(string(buf[:n]), err)
	}
}
