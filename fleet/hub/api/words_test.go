package api

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"fettle/engine/trap"
	"fettle/fleet/hub/store"
)

// capturedFile is a capture's file.
func capturedFile(t *testing.T, redacted bool) []byte {
	t.Helper()
	manifest := fmt.Sprintf(`{"format":"fettle-capture","version":1,"fettle":"9","kind":"live","name":"w1","identity":{"time":`+
		`"2026-11-20T01:02:03Z"},"redacted":%v,"answers":[]}`, redacted)
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	head := &tar.Header{Name: "manifest.json", Mode: 0o600, Size: int64(len(manifest)), Typeflag: tar.TypeReg}
	if err := w.WriteHeader(head); err != nil {
		t.Fatal(err)
	}
	_, err = w.Write([]byte(manifest))
	if err = errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestMoment: days, and spans before now.
func TestMoment(t *testing.T) {
	now := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	a := &API{Config: Config{Now: func() time.Time { return now }}}
	for s, want := range map[string]string{
		"0d": "2026-03-05T12:00:00Z", "7d": "2026-02-26T12:00:00Z", "4000d": "2015-03-23T12:00:00Z", "4001d": "", "-1d": "", "d": "",
		"24h": "2026-03-04T12:00:00Z", "0s": "2026-03-05T12:00:00Z", "-1h": "", "2026-02-01": "2026-02-01T00:00:00Z",
		"2026-02-01T02:00:00+02:00": "2026-02-01T00:00:00Z", "": "", "soon": "",
	} {
		got, err := a.moment("since", s)
		if stamp(got) != want || (want == "") != isBad(err) {
			t.Errorf("%q: %s %v, want %q", s, stamp(got), err, want)
		}
	}
}

// TestWorst: a row's severity is the highest that is counted, and on how many hosts it is that.
func TestWorst(t *testing.T) {
	for _, c := range []struct {
		cell  store.Cell
		worst string
		hosts int
	}{
		{store.Cell{}, "", 0}, {store.Cell{Unknown: 2}, "unknown", 0}, {store.Cell{Notice: 1, Unknown: 2}, "notice", 1},
		{store.Cell{Warning: 1, Notice: 3, Unknown: 2}, "warning", 1}, {store.Cell{Critical: 1, Warning: 4, Notice: 3}, "critical", 1},
	} {
		r := Row{TrapSums: store.TrapSums{Cell: c.cell}}
		if r.Worst() != c.worst || r.AtWorst() != c.hosts {
			t.Errorf("%+v: %s on %d", c.cell, r.Worst(), r.AtWorst())
		}
	}
}

// TestProblem: an error as the client sees it; what is the hub's own is in its log alone.
func TestProblem(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		said   string
	}{
		{bad("x %d", 1), 400, "x 1"}, {fmt.Errorf("a: %w", &Forbidden{"no"}), 403, "no"}, {fmt.Errorf("a: %w", store.ErrNone), 404, ""},
		{fmt.Errorf("a: %w", context.Canceled), 499, ""}, {errors.New("secret"), 500, ""},
	} {
		if status, said := Problem(c.err); status != c.status || c.said != "" && said != c.said || strings.Contains(said, "secret") {
			t.Errorf("%v: %d %s", c.err, status, said)
		}
	}
}

// TestBounds: how much one parameter and one question may hold.
func TestBounds(t *testing.T) {
	type question struct {
		Text  string `json:"text"`
		Long  string `json:"long" long:"2000"`
		Most  int    `json:"most" most:"5"`
		Large int    `json:"large"`
	}
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{"text", strings.Repeat("a", 1000), true}, {"text", strings.Repeat("a", 1001), false}, {"text", "a\x00", false},
		{"long", strings.Repeat("a", 2000), true}, {"long", strings.Repeat("a", 2001), false}, {"most", "0", true}, {"most", "5", true},
		{"most", "6", false}, {"most", "-1", false}, {"most", "1.5", false}, {"large", fmt.Sprint(1 << 31), true},
		{"large", fmt.Sprint(1<<31 + 1), false}, {"text", "", true},
	} {
		if _, err := Read[question](url.Values{c.name: {c.value}}); (err == nil) != c.ok || err != nil && !isBad(err) {
			t.Errorf("%s of %d bytes: %v", c.name, len(c.value), err)
		}
	}
	if _, err := Read[Nothing](url.Values{"x": {"y"}}); err == nil || !strings.HasSuffix(err.Error(), "expected none") {
		t.Error(err)
	}
	for s, want := range map[string]string{strings.Repeat("a", 60): strings.Repeat("a", 60),
		strings.Repeat("a", 61): strings.Repeat("a", 60) + "…",
		"a\xff":                 "a?"} {
		if got := clip(s); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
	h := smallFleet(t)
	body := func(n int) string { return `{"text":"` + strings.Repeat(" ", n-11) + `"}` }
	for n, want := range map[int]int{1 << 20: http.StatusBadRequest, 1<<20 + 1: http.StatusBadRequest, 900_000: http.StatusOK} {
		w := h.ask(ann, "/api/v1/why", body(n))
		if large := strings.Contains(w.Body.String(), "larger than 1 MiB"); w.Code != want || large != (n > 1<<20) {
			t.Errorf("a body of %d bytes: %d %s", n, w.Code, w.Body)
		}
	}
}

// TestServed: methods, forms and roles, as a client meets them.
func TestServed(t *testing.T) {
	h := smallFleet(t)
	for _, c := range []struct {
		as         Who
		path, body string
		status     int
		says       string
	}{
		{ann, "/api/v1/hosts?format=json", "", 200, `{"hosts":[`},
		{ann, "/api/v1/hosts?format=xml", "", 400, `format \"xml\": expected json or csv`},
		{ann, "/api/v1/fleet?format=csv", "", 400, `unknown parameter \"format\"`},
		{ann, "/api/v1/fleet?format=json", "", 400, `unknown parameter \"format\"`},
		{ann, "/api/v1/hosts?a=%zz", "", 400, "the query cannot be read"},
		{ann, "/api/v1/hosts/w1?id=w2", "", 200, `"name":"web1"`},
		{ann, "/api/v1/nothing", "", 404, "no such operation"},
		{ann, "/api/openapi.json", "", 200, `"openapi":"3.1.0"`},
		{ann, "/api/v1/why", `[]`, 400, "expected a JSON object"},
		{ann, "/api/v1/why", `{"text":["a"]}`, 400, "text: expected text, a number, true or false"},
		{ann, "/api/v1/accepted/rules/1/remove", `{"id":"x"}`, 404, "no such object"},
		{nobody, "/api/v1/why", `{"text":"no space left on device"}`, 200, `"trap":"disk-full"`},
		{nobody, "/api/v1/audit", "", 403, "this needs the role operator"},
		{nobody, "/api/v1/captures/1", "", 403, "this needs the role operator"},
		{nobody, "/api/v1/ask", "{}", 403, "this needs the role operator"},
		{wes, "/api/v1/audit", "", 403, "all groups"},
		{wes, "/api/v1/attempts", "", 403, "all groups"},
		{wes, "/api/v1/packs", "", 403, "all groups"},
		{wes, "/api/v1/packs/acme/hosts", "", 403, "all groups"},
		{ann, "/api/v1/packs/acme/hosts", "", 404, "no such object"},
		{ann, "/api/v1/changes?since=soon", "", 400, `since \"soon\"`},
		{ann, "/api/v1/restarts?until=soon", "", 400, `until \"soon\"`},
		{ann, "/api/v1/restarts?since=1h&until=1h", "", 400, "until must be after since"},
		{ann, "/api/v1/hosts?label==x", "", 400, "expected NAME=VALUE"},
	} {
		w := h.ask(c.as, c.path, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s by %q: %d %.200s", c.path, c.as.Name, w.Code, w.Body)
		}
	}
	for _, o := range Operations() {
		if got, want := o.Operator, o.Method == http.MethodPost && !strings.HasSuffix(o.Path, "/why"); got != want &&
			!slices.Contains([]string{"/api/v1/audit", "/api/v1/attempts", "/api/v1/captures/{id}"}, o.Path) {
			t.Errorf("%s %s: for operators alone: %v", o.Method, o.Path, got)
		}
	}
}

// TestSides: what a side of a comparison says.
func TestSides(t *testing.T) {
	found, unknown := found("a", "b", trap.Warning), unknown("a")
	for want, o := range map[string]*trap.Outcome{
		"not checked": nil, "warning: a b": &found, "unknown: denied": &unknown, "not found": {Status: trap.Clear},
	} {
		if got := Said(o); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
}
