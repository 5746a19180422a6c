package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"fettle/engine/trap"
)

// pathOf is an operation's path for an object that is there.
func pathOf(o op) string {
	return strings.NewReplacer("hosts/{id}", "hosts/w1", "traps/{id}", "traps/disk-full", "packs/{id}", "packs/acme",
		"captures/{id}", "captures/1", "rules/{id}", "rules/1").Replace(o.path)
}

// TestEachParameter: each operation refuses a parameter that it does not know, one that is given twice, and each of its
// own that says something impossible or is missing, by its name.
func TestEachParameter(t *testing.T) {
	h := newHub(t)
	ask := func(o op, query string, body map[string]any) (int, string) {
		b := ""
		if o.method == http.MethodPost && o.takes == "" {
			p, err := json.Marshal(body)
			h.must(err)
			b, query = string(p), ""
		}
		r := httptest.NewRequest(o.method, pathOf(o)+query, strings.NewReader(b))
		w := httptest.NewRecorder()
		h.handler.ServeHTTP(w, r.WithContext(As(r.Context(), ann)))
		return w.Code, w.Body.String()
	}
	for _, o := range operations {
		query, body := "?", map[string]any{} // what it needs besides
		for _, p := range o.params {
			if p.required && !strings.Contains(o.path, "{"+p.name+"}") {
				body[p.name] = "w1"
				query += p.name + "=w1&"
			}
		}
		refused := func(name, value string, given any) {
			t.Helper()
			with := maps.Clone(body)
			with[name] = given
			query := strings.Replace(query, name+"=w1&", "", 1) + name + "=" + value
			if code, said := ask(o, query, with); code != http.StatusBadRequest || !strings.Contains(said, name) {
				t.Errorf("%s with %s=%.60s: %d %.200s", o.id, name, value, code, said)
			}
		}
		refused("nonsense", "1", 1)
		for _, p := range o.params {
			if strings.Contains(o.path, "{"+p.name+"}") {
				continue
			}
			if p.required {
				refused(p.name, "", "")
			}
			if o.method == http.MethodGet {
				query := strings.Replace(query, p.name+"=w1&", "", 1) + p.name + "=1&" + p.name + "=2"
				if code, said := ask(o, query, nil); code != http.StatusBadRequest || !strings.Contains(said, "given 2 times") {
					t.Errorf("%s with %s twice: %d %s", o.id, p.name, code, said)
				}
			}
			switch {
			case p.kind == reflect.Bool:
				refused(p.name, "perhaps", "perhaps")
			case p.kind == reflect.Int:
				refused(p.name, "-1", -1)
				refused(p.name, strconv.Itoa(p.most+1), p.most+1)
				refused(p.name, "x", "x")
			case len(p.one) > 0:
				refused(p.name, "nonsense", "nonsense")
			case p.kind == reflect.String:
				refused(p.name, strings.Repeat("x", p.long+1), strings.Repeat("x", p.long+1))
			}
			if p.name == "label" {
				refused("label", "%3Dx", "=x")
			}
		}
	}
}

// failing is a context with which the database cannot be asked once, at the nth question.
type failing struct {
	context.Context
	left int // questions until then
}

var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done is closed where package database/sql looks before it takes a connection, for that question alone.
func (f *failing) Done() <-chan struct{} {
	var pcs [6]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var in runtime.Frame
		if in, more = frames.Next(); strings.HasSuffix(in.Function, "sql.(*DB).conn") {
			if f.left--; f.left == -1 {
				return over
			}
			break
		}
	}
	return nil
}

func (f *failing) Err() error {
	if f.left < 0 {
		return errors.New("a fault of the database")
	}
	return nil
}

// TestEachQuestionCounts: whichever one question to the database fails, an answer is an error, and an act is not called
// done; without a fault it is as it always is.
func TestEachQuestionCounts(t *testing.T) {
	h := manyRows(t)
	quiet(t)
	good := string(capturedFile(t, true))
	asks := map[string]string{ // and what is sent
		"/api/v1/why": `{"text":"no space left on device"}`, "/api/v1/hosts?label=env": "", "/api/v1/fleet?label=env": "",
		"/api/v1/matrix?group=web": "", "/api/v1/changes?host=w1": "", "/api/v1/hosts/w1/captures": good, "/api/v1/captures/1": "",
		"/api/v1/hosts/same": "", "/api/v1/traps/web-own": "",
		"/api/v1/accept":         `{"host":"w2","trap":"disk-full","subject":"/c","reason":"known"}`,
		"/api/v1/unaccept":       `{"host":"w2","trap":"disk-full","subject":"/b"}`,
		"/api/v1/accepted/rules": `{"trap":"late-clock","group":"web","reason":"x"}`, "/api/v1/accepted/rules/1/remove": `{}`,
		"/api/v1/hosts/set": `{"hosts":"w1,w2","group":"x"}`, "/api/v1/ask": `{"group":"db"}`, "/api/v1/captures/2/remove": `{}`,
	}
	for _, o := range operations {
		if o.method == http.MethodGet && o.id != "capture" {
			asks[pathOf(o)+map[string]string{"compare": "?a=w1&b=w2", "search": "?q=web"}[o.id]] = ""
		}
	}
	for range 2 {
		_, err := h.Attach(As(t.Context(), ann), AttachQuery{ID: "w1"}, []byte(good))
		h.must(err)
	}
	for path, body := range asks {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		for n := 0; ; n++ {
			ctx := &failing{context.Background(), n}
			w := httptest.NewRecorder()
			h.handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(As(ctx, ann)))
			said := w.Body.String()
			if ctx.left >= 0 {
				known := w.Code == http.StatusOK || path == "/api/v1/hosts/same" && w.Code == http.StatusBadRequest ||
					strings.HasSuffix(path, "rules/1/remove") && w.Code == http.StatusNotFound // done, before a fault
				if !known || strings.Contains(said, `"done":false`) || n == 0 {
					t.Errorf("%s without a fault, of %d questions: %d %.200s", path, n, w.Code, said)
				}
				break
			}
			if w.Code != http.StatusInternalServerError || !strings.Contains(said, "the hub could not answer") {
				t.Errorf("%s when question %d fails: %d %.200s", path, n, w.Code, said)
			}
			if n > 100 {
				t.Fatalf("%s asks without end", path)
			}
		}
	}
}

// TestAskFails: where hosts could not be asked, they were not; an article that cannot be read is no empty one.
func TestAskFails(t *testing.T) {
	h := smallFleet(t)
	quiet(t)
	h.API.Asker = deaf{}
	if w := h.ask(ann, "/api/v1/ask", `{"host":"w1"}`); w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h.API.traps["odd"] = &trap.Trap{Lore: "---\nid: [\n---\n"}
	if w := h.ask(ann, "/api/v1/traps/odd", ""); w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type deaf struct{}

func (deaf) Ask(context.Context, []string) error { return errors.New("nobody hears") }

// TestSinceYesterday: a day is today and yesterday, from midnight on, a week is seven days.
func TestSinceYesterday(t *testing.T) {
	h := newHub(t)
	for i, ago := range []time.Duration{time.Hour, 36 * time.Hour, 36*time.Hour + time.Second, 156 * time.Hour, 156*time.Hour + time.Second} {
		id := fmt.Sprint("h", i)
		h.join(id, "", nil)
		h.reports(id, id, ago, nil, found("disk-full", "/", trap.Notice))
	}
	f, err := h.Fleet(As(t.Context(), ann), FleetQuery{})
	if err != nil || f.Day.New != 2 || f.Week.New != 4 {
		t.Errorf("%d in a day, %d in a week, %v", f.Day.New, f.Week.New, err)
	}
}

// TestFacts: of two hosts, what differs of their identity is told, and nothing else.
func TestFacts(t *testing.T) {
	h := smallFleet(t)
	for q, want := range map[CompareQuery]string{
		{"w1", "d1"}: "[{group web db} {kernel 6.w1 6.d1}]", {"w1", "w2"}: "[{kernel 6.w1 6.w2}]", {"w1", "w1"}: "[]",
	} {
		if c, err := h.Compare(As(t.Context(), ann), q); err != nil || fmt.Sprint(c.Facts) != want {
			t.Errorf("%+v: %v, %v, want %s", q, c.Facts, err, want)
		}
	}
}

// TestFollowing: who follows from page to page comes to an end, also where rows went meanwhile.
func TestFollowing(t *testing.T) {
	for _, c := range [][4]int{{0, 2, 5, 2}, {2, 2, 5, 4}, {4, 1, 5, 0}, {3, 2, 5, 0}, {2, 0, 5, 0}, {0, 0, 0, 0}, {9, 0, 5, 0}} {
		if got := following(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("after %d from %d of %d: %d, want %d", c[1], c[0], c[2], got, c[3])
		}
	}
}
