package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// saying is a desk whose fettle prints a text and ends with a status; args are those of its last run.
func saying(t *testing.T, text string, exit int) (d *desk, args func() string) {
	t.Helper()
	dir := t.TempDir()
	for name, s := range map[string]string{
		"out": text, "fettle": fmt.Sprintf("#!/bin/sh\necho \"$@\" > %s/args\ncat %[1]s/out\nexit %d\n", dir, exit),
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(s), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &desk{Config{Fettle: dir + "/fettle", Hosts: []string{"root@web1"}, Paths: []string{dir}}}, func() string {
		b, _ := os.ReadFile(dir + "/args")
		os.Remove(dir + "/args")
		return strings.TrimSpace(string(b))
	}
}

const aReport = `{"traps":[{"id":"a","title":"Title of a"}],"results":[{"trap":"a","outcomes":[` +
	`{"trap":"a","status":"clear","subject":"c"},{"trap":"a","status":"unknown","reason":"denied"},` +
	`{"trap":"a","status":"found","severity":"notice","subject":"n","summary":"slight","detail":"d","evidence":[1]},` +
	`{"trap":"a","status":"not-applicable"},{"trap":"b","status":"found","severity":"critical","fixable":true}]},` +
	`{"trap":"c","outcomes":[{"trap":"c","status":"found","severity":"warning"},{"trap":"c","status":"clear"}]}]}`

// entries are an answer's in short.
func entries(t *testing.T, v any) string {
	t.Helper()
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		m, _ := e.(map[string]any)
		s := fmt.Sprintf("%v %v", m["trap"], m["status"])
		for _, k := range []string{"title", "severity", "subject", "summary", "reason", "fixable", "detail", "evidence"} {
			if m[k] != nil {
				s += fmt.Sprintf(" %v", m[k])
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// TestCheckAnswers: the worst first, then what is unknown; the rest and the evidence on request.
func TestCheckAnswers(t *testing.T) {
	const worst = "b found critical true; c found warning; a found Title of a notice n slight; a unknown Title of a denied"
	d, args := saying(t, aReport, 1)
	for _, c := range []struct {
		in         checkInput
		want, args string
	}{
		{checkInput{}, worst, "check --format=json --"},
		{checkInput{Traps: []string{"a", "b-2"}}, worst, "check --format=json -- a b-2"},
		{checkInput{target: target{Host: "root@web1"}}, worst, "check --format=json --host=root@web1 --"},
		{checkInput{target: target{Root: d.Paths[0]}}, worst, "check --format=json --root=" + d.Paths[0] + " --"},
		{checkInput{All: true}, worst + "; a clear Title of a c; a not-applicable Title of a; c clear", "check --format=json --"},
		{checkInput{Evidence: true}, strings.Replace(worst, "slight", "slight d [1]", 1), "check --format=json --"},
	} {
		a, err := d.check(t.Context(), nil, c.in)
		if got := entries(t, a.HostSays); err != nil || got != c.want || a.Says != "3 found, 1 unknown, 2 clear, 1 not applicable" {
			t.Errorf("%+v: %q, %q, %v", c.in, got, a.Says, err)
		}
		if got := args(); got != c.args {
			t.Errorf("%+v: ran fettle %s", c.in, got)
		}
	}
	a, err := d.check(t.Context(), nil, checkInput{paged: paged{Limit: 1}})
	if err != nil || a.Cursor != "1" {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = d.check(t.Context(), nil, checkInput{paged: paged{Cursor: "3"}}); err != nil || a.Cursor != "" ||
		entries(t, a.HostSays) != "a unknown Title of a denied" {
		t.Errorf("%+v, %v", a, err)
	}
	for text, why := range map[string]string{
		`{"hosts":[{"report":` + aReport + `}]}`: "", `{"hosts":[{"error":"no way"}]}`: "no way", `{"hosts":[]}`: "the host sent no report",
		`[]`: "did not print JSON", ``: "did not print JSON",
	} {
		d, _ := saying(t, text, 0)
		a, err := d.check(t.Context(), nil, checkInput{})
		if why == "" && (err != nil || entries(t, a.HostSays) != worst) || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%.30s: %+v, %v", text, a, err)
		}
	}
	for _, in := range []target{{Host: "root@web1", Root: "/"}, {Host: "root@web1", Capture: "/"}, {Root: "/", Capture: "/"}} {
		if _, err := d.check(t.Context(), nil, checkInput{target: in}); !errors.Is(err, errOneTarget) {
			t.Errorf("%+v: %v", in, err)
		}
	}
	args()
	if _, err := d.check(t.Context(), nil, checkInput{Traps: []string{"a", "B"}}); err == nil || args() != "" {
		t.Errorf("a trap that is none: %v", err)
	}
}

// TestPathsBelow: a folder that is allowed, what is below it, and nothing beside it.
func TestPathsBelow(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"/a/b", "/ab"} {
		if err := os.MkdirAll(top+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := &desk{Config{Paths: []string{top + "/none", top + "/a"}}}
	for name, ok := range map[string]bool{"/a": true, "/a/": true, "/a/b": true, "/ab": false, "": false, "/a/../ab": false, "/a/c": false} {
		if got, err := d.allowedPath(top + name); (err == nil) != ok || ok && got != strings.TrimSuffix(top+name, "/") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	d.Paths = []string{"/"}
	if _, err := d.allowedPath(top + "/a"); err != nil {
		t.Errorf("below /: %v", err)
	}
	t.Chdir(top)
	if _, err := d.allowedPath("a"); err == nil {
		t.Error("a path that is not absolute")
	}
	if _, err := (&desk{}).allowedPath(top); err == nil {
		t.Error("no path is allowed")
	}
}

// TestAnswersOfVerbs: what tools run, and what they say of it.
func TestAnswersOfVerbs(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x ", n/2) }
	type ask func(context.Context, *desk) (Answer, error)
	why := func(in whyInput) ask {
		return func(ctx context.Context, d *desk) (Answer, error) { return d.why(ctx, nil, in) }
	}
	plan := func(trap, subject string) ask {
		return func(ctx context.Context, d *desk) (Answer, error) { return d.plan(ctx, nil, planInput{trap, subject}) }
	}
	measure := func(what, on string, seconds int) ask {
		return func(ctx context.Context, d *desk) (Answer, error) {
			return d.measure(ctx, nil, measureInput{what, on, seconds})
		}
	}
	diff := func(from, to string) ask {
		return func(ctx context.Context, d *desk) (Answer, error) { return d.diff(ctx, nil, diffInput{from, to}) }
	}
	before := func(ctx context.Context, d *desk) (Answer, error) { return d.beforeReboot(ctx, nil, restartInput{}) }
	after := func(ctx context.Context, d *desk) (Answer, error) { return d.afterReboot(ctx, nil, nothing{}) }
	history := func(run string) ask {
		return func(ctx context.Context, d *desk) (Answer, error) { return d.history(ctx, nil, historyInput{Run: run}) }
	}
	list := func(word string) ask {
		return func(ctx context.Context, d *desk) (Answer, error) { return d.list(ctx, nil, listInput{Search: word}) }
	}
	const traps = `{"traps":[{"id":"a","title":"Bridge"},{"id":"bridge-b","title":"x"},{"id":"c","title":"y"}]}`
	for i, c := range []struct {
		prints     string
		exit       int
		ask        ask
		says, args string // says begins with ! where it is refused
		command    string
	}{
		{`{"matches":[1]}`, 0, why(whyInput{Text: "x"}), "1 known trap matches", "why --format=json --no-check", ""},
		{`{"matches":[1,2]}`, 0, why(whyInput{Text: text(maxPaste)}), "2 known traps match", "why --format=json --no-check", ""},
		{`{}`, 1, why(whyInput{Text: "x"}), "no known trap matches; what stands out in a log is no diagnosis",
			"why --format=json --no-check", ""},
		{`{}`, 0, why(whyInput{Text: text(maxPaste) + "x"}), "!text has 1048577 bytes", "", ""},
		{`{}`, 0, why(whyInput{}), "!give text or unit", "", ""},
		{`{}`, 0, why(whyInput{Text: "x", Unit: "y"}), "!give text or unit", "", ""},
		{`{}`, 0, why(whyInput{Unit: "a b"}), "!unit ", "", ""},
		{`{"plan":{"digest":"d1"}}`, 0, plan("a", ""), "the plan; a person applies it", "fix --plan --format=json -- a",
			"sudo fettle fix a --as-planned d1"},
		{`{"plan":{"digest":"d1"}}`, 0, plan("a", "it's /"), "the plan; a person applies it", "fix --plan --format=json --on=it's / -- a",
			`sudo fettle fix a --on 'it'\''s /' --as-planned d1`},
		{`{"plan":{"digest":""}}`, 0, plan("a", text(400)), "no plan: ", "fix --plan --format=json --on=" + text(400) + " -- a", ""},
		{`{}`, 0, plan("a", "x"), "no plan: ", "fix --plan --format=json --on=x -- a", ""},
		{`{}`, 0, plan("a", text(400)+"x"), "!unknown subject", "", ""},
		{`{}`, 0, plan("a", "x\ny"), "!unknown subject", "", ""},
		{`{}`, 0, plan("A", ""), "!trap ", "", ""},
		{`{}`, 3, plan("a", ""), "!", "fix --plan --format=json -- a", ""},
		{`{"verdict":"comes-back"}`, 0, before, "it comes back, and nothing is lost", "before reboot --no-snapshot --format=json", ""},
		{`{"hosts":[{"verdict":"does-not-come-back"}]}`, 1, before, "it does not come back",
			"before reboot --no-snapshot --format=json", ""},
		{`{"hosts":[{"error":"no way"}]}`, 0, before, "!no way", "before reboot --no-snapshot --format=json", ""},
		{`{}`, 0, after, "all is as it was", "after --format=json", ""},
		{`{}`, 1, after, "something did not come back", "after --format=json", ""},
		{`{}`, 4, after, "nothing is missing, but not everything could be compared", "after --format=json", ""},
		{`{"runs":[]}`, 0, history(""), "recorded runs, the newest first", "history --format=json", ""},
		{aReport, 0, history("20261122T0600"), "what the run found", "history --format=json -- 20261122T0600", ""},
		{`{}`, 0, history("x"), "!run ", "", ""},
		{`{}`, 0, diff("", ""), "no difference", "diff --format=json --", ""},
		{`{}`, 1, diff("last", "now"), "they differ", "diff --format=json -- last now", ""},
		{`{}`, 0, diff("2", ""), "no difference", "diff --format=json -- 2", ""},
		{`{}`, 0, diff("", "now"), "!to needs from", "", ""},
		{`{}`, 0, diff("2", "x"), "!run ", "", ""},
		{traps, 0, list(""), "3 of 3 traps", "list --format=json", ""},
		{traps, 0, list("BRIDGE"), "2 of 3 traps", "list --format=json", ""},
		{`{}`, 0, measure("ksm", "", 0), "measured", "measure ksm --format=json --for=10s --interval=2s", ""},
		{`{}`, 0, measure("ksm", "", 2), "measured", "measure ksm --format=json --for=2s --interval=1s", ""},
		{`{}`, 0, measure("counters", "", 120), "measured", "measure counters --format=json --for=120s --interval=24s", ""},
		{`{}`, 0, measure("counters", "eth0", 5), "measured", "measure counters --format=json --for=5s --interval=1s -- eth0", ""},
		{`{}`, 0, measure("counters", "eth 0", 5), "!interface ", "", ""},
		{`{}`, 0, measure("disks", "", 7), "measured", "measure disks --format=json --interval=7s", ""},
		{`{}`, 0, measure("login", "root@web1", 7), "measured", "measure login --format=json -- root@web1", ""},
		{`{}`, 0, measure("login", "web2", 7), "!host web2 is not allowed", "", ""},
		{`{}`, 0, measure("ksm", "", 1), "!seconds is 1", "", ""},
		{`{}`, 0, measure("ksm", "", 121), "!seconds is 121", "", ""},
		{`{}`, 0, measure("x", "", 7), "!what is ", "", ""},
	} {
		d, args := saying(t, c.prints, c.exit)
		a, err := c.ask(t.Context(), d)
		says, refused := strings.CutPrefix(c.says, "!")
		switch {
		case refused && (err == nil || !strings.HasPrefix(err.Error(), says)), !refused && (err != nil || !strings.HasPrefix(a.Says, says)),
			a.Command != c.command:
			t.Errorf("%d: %+v, %v, want %q", i, a, err, c.says)
		}
		if got := args(); got != strings.TrimSpace(c.args) {
			t.Errorf("%d: ran fettle %.200q, want %.200q", i, got, c.args)
		}
	}
	d, _ := saying(t, `{"verdict":"comes-back","report":`+aReport+`}`, 0)
	a, err := before(t.Context(), d)
	said, _ := a.HostSays.(map[string]any)
	if _, twice := said["report"]; err != nil || twice || !strings.HasPrefix(entries(t, said["findings"]), "b found critical") {
		t.Errorf("%+v, %v", a, err)
	}
	d, _ = saying(t, `{"hosts":[{"verdict":"comes-back","found":[{"trap":"a","status":"found"}]}]}`, 0)
	a, err = before(t.Context(), d)
	if said, _ = a.HostSays.(map[string]any); err != nil || entries(t, said["findings"]) != "a found" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestOutput: what a program prints, unless it failed; then what it said.
func TestOutput(t *testing.T) {
	t.Setenv("HOME", "/home/x")
	t.Setenv("FETTLE_SECRET", "s3cret")
	for _, c := range []struct {
		text, out string
		exit      int
		why       string // empty: no error
	}{
		{"cat", "in", 0, ""}, {"pwd", "/\n", 0, ""}, {"echo x; exit 1", "x\n", 1, ""}, {"exit 1", "", 1, ""},
		{"echo x; echo y >&2; exit 4", "x\n", 4, ""}, {"echo y >&2; exit 1", "", 1, "y"},
		{"echo x; echo y >&2; exit 2", "", 2, "y"}, {"echo x; echo y >&2; exit 3", "", 3, "y"},
		{"exec yes", "", 0, "it printed more than 16 MiB: ask for less"},
	} {
		b, exit, err := output(t.Context(), "in", []string{script(t, c.text)})
		if string(b) != c.out || exit != c.exit || (err == nil) != (c.why == "") || err != nil && err.Error() != c.why {
			t.Errorf("%s: %.30q, %d, %v", c.text, b, exit, err)
		}
	}
	if b, _, err := output(t.Context(), "", []string{script(t, "env")}); err != nil || !strings.Contains(string(b), "HOME=/home/x\n") ||
		strings.Contains(string(b), "s3cret") {
		t.Errorf("%s, %v", b, err)
	}
	if _, _, err := output(t.Context(), "", []string{"/nonexistent"}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	if _, _, err := output(ctx, "", []string{script(t, "exit 0")}); err == nil || err.Error() != "gone" {
		t.Error(err)
	}
	b := &bounded{left: 3}
	for _, c := range []struct {
		s    string
		n    int
		over bool
	}{{"ab", 2, false}, {"c", 1, false}, {"", 0, false}, {"d", 0, true}} {
		if n, err := b.Write([]byte(c.s)); n != c.n || err != nil || b.over != c.over {
			t.Errorf("%q: %d, %v, over %v", c.s, n, err, b.over)
		}
	}
	if b.buf.String() != "abc" {
		t.Errorf("%q", b.buf.String())
	}
}

// TestBoundsOfAnswers: how much of what a host says is handed on.
func TestBoundsOfAnswers(t *testing.T) {
	for _, c := range []struct {
		s, want string
		limit   int
	}{
		{"abc", "abc", 3}, {"abcd", "abc… (1 more bytes)", 3}, {"aé", "a… (2 more bytes)", 2}, {"é", "… (2 more bytes)", 1},
		{"a\tb\nc", "a    b\nc", 9}, {"\xff", "\uFFFD", 9},
	} {
		if got := visible(c.s, c.limit); got != c.want {
			t.Errorf("%q of at most %d: %q", c.s, c.limit, got)
		}
	}
	list := func(n int) []any { return slices.Repeat([]any{"x"}, n) }
	for n, want := range map[int]string{0: "[]", 2: "[x x]"} {
		if got := fmt.Sprint(foreign(list(n), 0)); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for n, last := range map[int]string{maxList: "x", maxList + 1: "… (1 more)", maxList + 2: "… (2 more)"} {
		got := foreign(list(n), 0).([]any)
		if len(got) != min(n, maxList+1) || got[len(got)-1] != last {
			t.Errorf("%d entries: %d, the last is %v", n, len(got), got[len(got)-1])
		}
	}
	for deep, cut := range map[int]bool{maxDeep: false, maxDeep + 1: true} {
		var l, m any = "x", "x"
		for range deep {
			l, m = []any{l}, map[string]any{"a": m}
		}
		for _, v := range []any{l, m} {
			if got := fmt.Sprint(foreign(v, 0)); strings.Contains(got, "…") != cut {
				t.Errorf("%d deep: %s", deep, got)
			}
		}
	}
	for _, c := range []struct {
		cursor      string
		limit, n    int
		next        string
		entries     []any
		unknownHere bool
	}{
		{"", 0, maxList, "200", list(300), false}, {"", maxList, maxList, "200", list(300), false},
		{"", maxList + 1, maxList, "200", list(300), false}, {"", -1, maxList, "200", list(300), false},
		{"", 1, 1, "1", list(2), false}, {"1", 1, 1, "", list(2), false},
		{"2", 0, 0, "", list(2), false}, {"3", 0, 0, "", list(2), true}, {"0", 2, 2, "", list(2), false},
	} {
		out, next, err := page(c.entries, c.cursor, c.limit)
		if len(out) != c.n || next != c.next || (err != nil) != c.unknownHere {
			t.Errorf("%q, %d: %d entries, next %q, %v", c.cursor, c.limit, len(out), next, err)
		}
	}
	small := map[string]any{"a": list(150)}
	if got := trimmed(small); len(got.(map[string]any)["a"].([]any)) != 150 {
		t.Errorf("what fits is shortened: %v", got)
	}
	long := map[string]any{"a": slices.Repeat([]any{strings.Repeat("y", 400)}, 150)}
	a := trimmed(long).(map[string]any)["a"].([]any)
	if b, _ := json.Marshal(a); len(b) > maxAnswer || len(a) != 51 || a[50] != "… (51 more)" {
		t.Errorf("%d bytes, %d entries, the last is %.20q", len(b), len(a), a[len(a)-1])
	}
	if got := fmt.Sprintf("%v %v %v", shorter([]any{"a", "b"}, 2), shorter([]any{"a", "b"}, 1), shorter("a", 0)); got !=
		"[a b] [a … (1 more)] a" {
		t.Error(got)
	}
	many := map[string]any{}
	for i := range 1000 {
		many[fmt.Sprint(i)] = strings.Repeat("z", 100)
	}
	if got, _ := trimmed(many).(map[string]any)["cut"].(string); got == "" || len(got) > maxAnswer {
		t.Errorf("%d bytes are left of what has no lists", len(got))
	}
	for s, want := range map[string]string{"": "''", "a/b-1": "a/b-1", "a b": "'a b'", "a'b": `'a'\''b'`, "$x": "'$x'"} {
		if got := quoted(s); got != want {
			t.Errorf("%q: %s", s, got)
		}
	}
}

// TestNames: what tools take for names.
func TestNames(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct {
		is   *regexp.Regexp
		good []string
		bad  []string
	}{
		{trapName, []string{"a", "bridge-mtu", "9p", long(64)}, []string{"", "A", "-a", "a_b", long(65)}},
		{unitName, []string{"ssh.service", `a\x2db@1:2.mount`, long(255)}, []string{"", "a b", "-a", "a/b", long(256)}},
		{ifaceName, []string{"eth0", "a.b_c@d-1", long(15)}, []string{"", "-eth0", "a/b", long(16)}},
		{runName, []string{"now", "last", "1", "9999", "20261122", "20261122T0600", "20261122T060000.123Z"},
			[]string{"", "12345", "now ", "T06", "-1"}},
		{agentName, []string{"k3vq2xw5ab7d", "h0000001", long(64)}, []string{"", "-a", "a/b", "a b", "..", long(65)}},
		{cursor, []string{"0", "50", "1764000000000.7"}, []string{"", ".", "1.", ".1", "-1", "1.2.3", "x", strings.Repeat("1", 20)}},
	} {
		for _, s := range c.good {
			if err := named("x", c.is, s); err != nil {
				t.Error(err)
			}
		}
		for _, s := range c.bad {
			if named("x", c.is, s) == nil {
				t.Errorf("%s takes %q", c.is, s)
			}
		}
	}
}

// TestLoopback: the names and addresses of this machine alone.
func TestLoopback(t *testing.T) {
	for s, want := range map[string]bool{
		"localhost": true, "localhost:80": true, "127.0.0.1": true, "127.8.8.8:1": true, "[::1]": true, "[::1]:80": true, "::1": true,
		"localhost.example": false, "example:80": false, "192.0.2.1": false, "0.0.0.0:80": false, "": false, ":80": false, "[::2]:80": false,
	} {
		if got := loopback(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
		for _, scheme := range []string{"http", "https"} {
			if got := fromLoopback(scheme + "://" + s); got != want && s != "::1" {
				t.Errorf("%s://%s: %v", scheme, s, got)
			}
		}
	}
	for _, s := range []string{"ftp://localhost", "localhost", "null", "://", "file://localhost/x"} {
		if fromLoopback(s) {
			t.Errorf("%s is taken", s)
		}
	}
}

// TestServerLimits: who sends no header is not waited for long; who is between two calls keeps the
// connection.
func TestServerLimits(t *testing.T) {
	s := Server(http.NotFoundHandler())
	if s.ReadHeaderTimeout < time.Second || s.ReadHeaderTimeout > time.Minute || s.IdleTimeout < time.Minute || s.MaxHeaderBytes > 1<<20 {
		t.Errorf("%+v", s)
	}
}

// TestHubThatFails: what a hub answers that is no answer is an error, and not handed on.
func TestHubThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		why    string
	}{
		"refuses": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no\x1b[2J", http.StatusForbidden) },
			`the hub answers 403 Forbidden: no\x1b[2J`},
		"is no hub": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "the hub's answer is not JSON"},
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			fmt.Fprint(w, "{")
		},
			"asking the hub: "},
		"never ends": {func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte(" "), maxOutput+1)) }, "larger than 16 MiB"},
		"as much as": {func(w http.ResponseWriter, _ *http.Request) {
			w.Write(append(bytes.Repeat([]byte(" "), maxOutput-2), "{}"...))
		}, ""},
		"says little": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"next":"x"}`) }, ""},
	} {
		s := httptest.NewServer(c.answer)
		a, err := (&desk{Config{Hub: s.URL}}).fleet(t.Context(), nil, fleetInput{Question: "overview"})
		if (err == nil) != (c.why == "") || err != nil && !strings.HasPrefix(err.Error(), c.why) && !strings.Contains(err.Error(), "larger") ||
			a.Cursor != "" {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		s.Close()
	}
	if _, err := (&desk{Config{Hub: "http://127.0.0.1:1"}}).fleet(t.Context(), nil, fleetInput{Question: "overview"}); err == nil {
		t.Error("no hub, and no error")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestAudit: each call is a line, with who asked what of which host, and whether it was answered; what
// cannot be written down is not answered.
func TestAudit(t *testing.T) {
	d, _ := saying(t, aReport, 0)
	var log bytes.Buffer
	cs := real(t, Config{Fettle: d.Fettle, Hosts: d.Hosts, Audit: &log, Transport: "memory"})
	ask(t, cs, "check", map[string]any{"host": "root@web1"})
	ask(t, cs, "check", map[string]any{"root": "/secret"})
	ask(t, cs, "why", map[string]any{"text": "s3cret"})
	if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fettle://trap/a"}); err != nil {
		t.Error(err)
	}
	if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "fettle://trap/A"}); err == nil {
		t.Error("an article of no trap")
	}
	if _, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "explain-log"}); err != nil {
		t.Error(err)
	}
	if _, err := cs.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Time.IsZero() || e.Took == "" || e.Client != `test\x1b[31m 1` ||
			e.Transport != "memory" || e.User == "" {
			t.Errorf("%s, %v", line, err)
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(e.Method, " ", e.What, " ", e.Outcome, " ", e.Host)))
	}
	want := []string{"tools/call check ok root@web1", "tools/call check refused /secret", "tools/call why ok this host",
		"resources/read fettle://trap/a ok", "resources/read fettle://trap/A refused", "prompts/get explain-log ok"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	cs = real(t, Config{Fettle: d.Fettle, Audit: fullDisk{}})
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "list"})
	if err == nil || !strings.Contains(err.Error(), "the audit cannot be written") {
		t.Errorf("%+v, %v", res, err)
	}
	e := &entry{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &audit{w: &log}
	log.Reset()
	_, err = a.middleware(func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, context.Canceled })(ctx, "tools/call",
		&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "list"}})
	if json.Unmarshal(log.Bytes(), e) != nil || e.Outcome != "cancelled" || !errors.Is(err, context.Canceled) {
		t.Errorf("%s, %v", log.String(), err)
	}
}
